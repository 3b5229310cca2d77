"""Array: numbers there and back, shapes, and what is refused."""

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra import numpy as hnp

from gpugrad.array import Array, infer_shape
from gpugrad.custom import kernel
from gpugrad.guards import check_guards, guard

DTYPES = [np.float16, np.float32, np.float64, np.int32, np.uint8, np.bool_]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 5)])
def test_numbers_come_back_as_they_went(device, dtype, shape):
    host = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    array = Array.from_numpy(host)
    assert (array.shape, array.dtype, array.size, array.nbytes) == (shape, dtype, host.size, host.nbytes)
    back = array.numpy()
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, host)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(host=hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=6, max_side=4)))
def test_any_float_survives_bit_for_bit(device, host):
    back = Array.from_numpy(host).numpy()
    assert back.tobytes() == host.tobytes()


def test_a_strided_or_foreign_endian_source_is_copied_right(device):
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(Array.from_numpy(host[::2, ::-1]).numpy(), host[::2, ::-1])
    np.testing.assert_array_equal(Array.from_numpy(host.astype(">f4")).numpy(), host)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4", "i8", "u2"])
def test_the_byte_order_of_a_number_is_not_its_type(device, kind):
    little, big = (np.array([1, 2, 3], order + kind) for order in "<>")
    a, b = Array.from_numpy(little), Array.from_numpy(big)
    assert a.dtype == b.dtype
    assert (a.numpy() == b.numpy()).all()


def test_a_mask_is_not_dropped_without_a_word(device):
    for masked in (np.ma.array([1.0, 2.0], mask=[False, True]), np.ma.masked):
        with pytest.raises(TypeError, match=r"masked array .* use its \.filled"):
            Array.from_numpy(masked)
    assert Array.from_numpy(np.ma.array([1.0, 2.0])).numpy().tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.uint32, np.uint64])
def test_other_integers_become_int32(device, dtype):
    array = Array.from_numpy(np.array([0, 1, 100], dtype))
    assert array.dtype == np.int32
    np.testing.assert_array_equal(array.numpy(), [0, 1, 100])


def test_an_integer_that_int32_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="int32 holds -2147483648 to 2147483647"):
        Array.from_numpy(np.array([2**31]))


@pytest.mark.parametrize("data", ["text", [1j], [object()], ["a"], None])
def test_what_is_not_numbers_is_refused(data):
    with pytest.raises(TypeError, match="needs numbers"):
        Array.from_numpy(data)


@pytest.mark.parametrize(("data", "bits"), [(10**100, 333), ([1, 2**64], 65), (-(2**63) - 1, 64)])
def test_an_integer_that_no_type_holds_is_refused_as_what_it_is(data, bits):
    with pytest.raises(ValueError, match=f"an integer of {bits} bits, and int32 holds 32"):
        Array.from_numpy(data)


def test_large_integers_become_floats_where_they_are_asked_for(device):
    assert Array.from_numpy([2**70, 1], np.float32).numpy().tolist() == [2.0**70, 1]
    with pytest.raises(ValueError, match="an integer of 1329 bits"):
        Array.from_numpy(10**400, np.float32)


def test_numbers_in_an_array_of_objects_are_numbers(device):
    assert Array.from_numpy(np.array([1, 2.5], object)).numpy().tolist() == [1, 2.5]
    with pytest.raises(TypeError, match="data with NoneType inside"):
        Array.from_numpy([None, 1])


def test_ragged_data_is_refused():
    with pytest.raises(ValueError, match="ragged"):
        Array.from_numpy([[1, 2], [3]])


def test_2_to_the_31_elements_are_refused_by_name():
    with pytest.raises(ValueError, match=r"\(65536, 32768\) has 2,147,483,648 elements"):
        Array.empty((65536, 32768), np.uint8)


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (0, -1)])
def test_negative_sizes_are_refused(shape):
    with pytest.raises(ValueError, match="cannot be negative"):
        Array.empty(shape)


@pytest.mark.parametrize("dtype", [np.int64, "complex64", "nonsense", None, object])
def test_a_dtype_that_is_not_one_of_the_six_is_refused(dtype):
    with pytest.raises(TypeError, match="gpugrad has float16"):
        Array.empty((2,), dtype)


def test_reshape_shares_memory_and_version():
    a = Array.from_numpy(np.zeros(6, np.float32))
    b = a.reshape(2, -1)
    assert b.shape == (2, 3)
    b.write(np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(a.numpy(), 1)
    assert a.state.version == b.state.version == 2


@pytest.mark.parametrize(
    ("old", "new"), [((6,), (4,)), ((6,), (-1, -1)), ((6,), (-2, 3)), ((6,), (-1, 4)), ((0,), (-1, 0))]
)
def test_a_reshape_that_cannot_be_is_refused(old, new):
    with pytest.raises(ValueError, match="reshape: "):
        infer_shape(old, int(np.prod(old)), new)


def test_reshape_sizes_are_integers():
    with pytest.raises(TypeError, match="sizes are integers"):
        Array.empty((4,)).reshape(2.0, 2)


def test_write_wants_the_same_shape_and_type(device):
    a = Array.empty((2, 3))
    for host in (np.zeros(6, np.float32), np.zeros((2, 3))):
        with pytest.raises(ValueError, match="write: host is"):
            a.write(host)


def test_numpy_asarray_copies(device):
    a = Array.from_numpy(np.ones(3, np.float32))
    host = np.asarray(a)
    host[:] = 5
    np.testing.assert_array_equal(a.numpy(), 1)
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="only have a copy"):
        np.array(a, copy=False)


def test_the_memory_knows_who_wrote_it(device):
    a = Array.empty((3,))
    assert a.state.writer is None
    a.write(np.zeros(3, np.float32))
    assert a.state.writer == "host"


def test_a_flag_raised_by_a_kernel_is_an_indexerror_at_the_next_read(device):
    check = kernel(
        "__kernel void check(__global const int *x, __global int *fault, int code) { int i = get_global_id(0);"
        " if (x[i] > 9 && atomic_cmpxchg(&fault[0], 0, code) == 0) { fault[1] = x[i]; fault[2] = i; } }"
    )
    good, bad = (Array.from_numpy(np.array(v, np.int32)) for v in ([1, 2], [3, 42]))
    for x in (good, bad, good):
        flag, code = guard(device, "check: {value} at position {position} is more than 9")
        check(x, flag, code, global_size=2)
    with pytest.raises(IndexError, match="check: 42 at position 1 is more than 9"):
        good.numpy()
    np.testing.assert_array_equal(good.numpy(), [1, 2])
    check_guards(device)


def test_a_read_between_a_guard_and_its_launch_loses_nothing(device):
    fault = kernel("__kernel void fault(__global int *f, int code) { f[0] = code; f[1] = 7; f[2] = 3; }")
    x = Array.from_numpy(np.zeros(2, np.float32))
    flag, code = guard(device, "late: {value} at position {position}")
    x.numpy()
    fault(flag, code, global_size=1)
    with pytest.raises(IndexError, match="late: 7 at position 3"):
        x.numpy()
    x.numpy()


def in_a_thread(call):
    """What `call` returns or raises in a thread of its own, which has ended then."""
    found = []

    def work():
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


def test_each_thread_is_told_of_its_own_bad_indices(device):
    fault = kernel("__kernel void fault(__global int *f, int code) { f[0] = code; f[1] = code; f[2] = 3; }")
    x = Array.from_numpy(np.zeros(2, np.float32))

    def mistake(name):
        fault(*guard(device, name + ": position {position}"), global_size=1)

    def work():
        mistake("theirs")
        assert isinstance(in_a_thread(x.numpy), np.ndarray)  # another thread reads, and goes on
        with pytest.raises(IndexError, match="theirs: position 3"):
            x.numpy()
        return x.numpy().tolist()

    mistake("ours")
    assert in_a_thread(work) == [0, 0]
    with pytest.raises(IndexError, match="ours: position 3"):
        x.numpy()
    x.numpy()


def test_a_bad_index_of_a_thread_that_has_ended_is_told_to_whoever_reads(device):
    fault = kernel("__kernel void fault(__global int *f, int code) { f[0] = code; f[1] = 7; f[2] = 3; }")
    x = Array.from_numpy(np.zeros(2, np.float32))
    device.cache.pop("guards", None)  # whoever reads may have launched nothing that is guarded
    for name in ("first", "second"):
        in_a_thread(lambda name=name: fault(*guard(device, name + ": {value}"), global_size=1))
    for name in ("first", "second"):
        with pytest.raises(IndexError, match=f"{name}: 7"):
            x.numpy()
    x.numpy()
    assert not device.cache["guards"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e10, -3e10, 2.0**31])
def test_a_float_that_an_integer_cannot_hold_is_refused(bad):
    with pytest.raises(ValueError, match="int32 holds -2147483648 to 2147483647"):
        Array.from_numpy(np.array([0.0, bad]), np.int32)
    with pytest.raises(ValueError, match="uint8 holds 0 to 255"):
        Array.from_numpy([300.0, -1.0], np.uint8)


def test_a_float_is_cut_off_to_an_integer():
    np.testing.assert_array_equal(Array.from_numpy([-1.9, 2147483647.0, 2.5], np.int32).numpy(), [-1, 2**31 - 1, 2])


def test_a_device_by_name_is_refused_with_the_way_to_choose_one():
    with pytest.raises(TypeError, match=r"device is 'cuda'.*use_device"):
        Array.empty((2,), np.float32, "cuda")
