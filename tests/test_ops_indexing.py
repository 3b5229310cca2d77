"""Indexing of tensors, recorded and not: values and both derivatives against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, Launches, check_linear, examples, keys, same, sample, shapes

import gpugrad as gg
from gpugrad.autograd import ops

KEYS = {
    "an integer": 1,
    "integers": (0, -1, 2),
    "a slice": np.s_[1:],
    "steps": np.s_[::2, 1::2, ::3],
    "dots": np.s_[..., 1],
    "a new axis": np.s_[:, None, 2, None],
    "nothing": np.s_[2:1],
    "everything": np.s_[...],
}


@pytest.mark.parametrize("name", KEYS)
def test_reading_and_both_derivatives(device, name):
    key = KEYS[name]
    check_linear(lambda x: x[key], lambda x: np.asarray(x[key]), (2, 3, 4))


@pytest.mark.parametrize("name", KEYS)
def test_reading_passes_gradcheck(device, name):
    x = gg.tensor(sample((2, 3, 4), np.float64), requires_grad=True)
    assert gg.gradcheck(lambda x: x[KEYS[name]], (x,))
    assert gg.gradgradcheck(lambda x: x[KEYS[name]], (x,))


def written(key):
    """x with x[key] = v, recorded, and the same in NumPy."""

    def op(x, v):
        y = x * 1.0
        y[key] = v
        return y

    def reference(x, v):
        y = x.copy()
        y[key] = v
        return y

    return op, reference


@pytest.mark.parametrize("name", KEYS)
def test_writing_and_both_derivatives(device, name):
    key = KEYS[name]
    check_linear(*written(key), (2, 3, 4), np.zeros((2, 3, 4))[key].shape)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 3, 4), (1, 1, 1)])
def test_a_written_value_that_was_repeated_gets_the_sum(device, shape):
    check_linear(*written(1), (2, 3, 4), shape)


def test_writing_passes_gradcheck(device):
    x, v = (gg.tensor(sample(s, np.float64), requires_grad=True) for s in ((2, 3, 4), (3, 1)))
    op, _ = written(np.s_[1, :, ::2])
    assert gg.gradcheck(op, (x, v))
    assert gg.gradgradcheck(op, (x, v))


def test_what_a_number_overwrote_has_no_gradient(device):
    op, reference = written(np.s_[:, 1])
    check_linear(lambda x: op(x, 5.0), lambda x: reference(x, 5), (2, 3, 4))


@examples
@given(shape=shapes(0, 5, 4), data=st.data())
def test_any_key_is_read_and_written(device, shape, data):
    key = data.draw(keys(shape))
    x, t = sample(shape), gg.tensor(sample(shape))
    same(t[key], np.asarray(x[key]))
    value = sample(np.shape(x[key]), seed=1)
    x[key] = value
    t[key] = gg.tensor(value)
    same(t, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_cast_to_the_tensors_dtype(device, dtype):
    t = gg.tensor(np.zeros((2, 2), dtype))
    t[0] = gg.tensor(np.array([1.7, 0.0]))
    t[1] = [0, 1]
    expected = np.zeros((2, 2), dtype)
    expected[0], expected[1] = [1.7, 0], [0, 1]
    same(t, expected)


def test_a_list_is_cast_before_it_goes_to_the_device(device):
    """A device may have no float64, which NumPy makes of Python's floats."""
    x = gg.zeros(2, 2)
    with Launches() as launches:
        x[0] = [1.5, 2.5]
    assert len(launches) == 1 and x.tolist() == [[1.5, 2.5], [0, 0]]
    i = gg.zeros(2, dtype=gg.int32)
    i[:] = [1.9, -1.9]
    assert i.tolist() == [1, -1]


def test_an_integer_tensor_of_no_axes_is_an_index(device):
    x = gg.tensor(sample((3, 4)))
    same(x[gg.tensor(1), gg.tensor(0) :], sample((3, 4))[1])


def test_a_tensor_is_a_sequence_of_its_rows(device):
    rows = list(gg.tensor(sample((3, 2))))
    assert len(rows) == 3
    same(rows[2], sample((3, 2))[2])
    with pytest.raises(TypeError, match="0-d tensor cannot be iterated"):
        list(gg.tensor(1.0))


def test_reading_launches_once_and_its_gradient_twice(device):
    x = gg.tensor(sample((3, 4)), requires_grad=True)
    with Launches() as launches:
        y = x[1:]
    assert len(launches) == 1
    with Launches() as launches:
        gg.grad(y, x, y.detach())
    assert [launch.kernel.name for launch in launches] == ["fill", "copy_region"]


# In place


def test_a_leaf_is_written_under_no_grad_only(device):
    x = gg.tensor(sample((3,)), requires_grad=True)
    with pytest.raises(gg.AutogradError, match=r"a leaf that requires a gradient is changed in place.*no_grad"):
        x[0] = 1
    with gg.no_grad():
        x[0] = 1
    assert x.is_leaf and x.requires_grad and x.detach().numpy()[0] == 1


def test_a_plain_tensor_gets_the_history_of_what_is_written_into_it(device):
    buffer, x = gg.zeros(3, 2), gg.tensor(sample((2,)), requires_grad=True)
    for i in range(3):
        buffer[i] = x * float(i)
    assert buffer.requires_grad and not buffer.is_leaf
    buffer.sum().backward()
    same(x.grad, np.full(2, 3, np.float32))


def test_a_row_can_be_computed_from_the_row_before(device):
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = gg.zeros(4, 2)
    y[0] = x
    for i in range(1, 4):
        y[i] = y[i - 1] * 2.0
    y[3].sum().backward()
    same(x.grad, np.full(2, 8, np.float32))


def test_overlapping_parts_of_one_tensor_are_copied_as_they_were(device):
    x = gg.tensor(sample((6,)))
    x[1:] = x[:-1]
    same(x, np.concatenate([sample((6,))[:1], sample((6,))[:-1]]))


def test_a_saved_tensor_that_is_written_to_is_found_out(device):
    x = gg.tensor(sample((3,)), requires_grad=True)
    y = x * 2.0
    z = y * y
    y[0] = 1.0
    with pytest.raises(gg.AutogradError, match=r"changed in place .*version"):
        z.sum().backward()


def test_a_recorded_change_of_shared_memory_is_refused(device):
    x = gg.tensor(sample((4,)), requires_grad=True)
    y = x * 2.0
    z = y.reshape(2, 2)
    with pytest.raises(gg.AutogradError, match=r"another tensor looks at the same memory.*\.clone\(\)"):
        y[0] = 1.0
    with pytest.raises(gg.AutogradError, match="another tensor"):
        z[0] = 1.0
    with gg.no_grad():
        z[0] = 1.0
    same(y.detach()[:2], np.ones(2, np.float32))


def test_writing_into_a_slice_is_refused_with_the_remedy(device):
    x = gg.tensor(sample((3, 4)))
    for part in (x[0], x[0][1:], x[1:].reshape(-1), x[...]):
        with pytest.raises(gg.AutogradError, match=r"came from indexing, which copies .*x\[i\] = v"):
            part[0] = 1
    same(x, sample((3, 4)))


@pytest.mark.parametrize(
    "write, error, message",
    [
        (lambda x: x.__setitem__(3, 0), IndexError, "assignment: index 3 is outside axis 0, which has 3 elements"),
        (lambda x: x.__setitem__(0, gg.zeros(3)), ValueError, "assignment: value has shape \\(3,\\)"),
        (lambda x: x.__setitem__(0, "a"), TypeError, "assignment: value is a str"),
        (lambda x: x.__setitem__(0, None), TypeError, "assignment: value is None"),
        (lambda x: x.__setitem__(0, [[1, 2], [3]]), ValueError, "ragged"),
        (lambda x: x.__setitem__(x > 0, 1), TypeError, "holds a mask.*where"),
        (lambda x: x.__setitem__(gg.tensor([0, 1]), 1), TypeError, "holds Tensor of indices; x.index_select"),
        (lambda x: x[x > 0], TypeError, "indexing: the key holds a mask"),
        (lambda x: x[gg.tensor(1.0)], TypeError, "it takes integers"),
        (lambda x: x[::-1], ValueError, "use flip"),
        (lambda x: x[3], IndexError, "indexing: index 3"),
    ],
)
def test_what_is_refused(device, write, error, message):
    x = gg.tensor(sample((3, 4)))
    with pytest.raises(error, match=message):
        write(x)
    same(x, sample((3, 4)))


# index_select and one_hot


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_select_and_both_derivatives(device, dim):
    index = [1, 0, 1, 1]
    check_linear(lambda x: x.index_select(dim, gg.tensor(index)), lambda x: np.take(x, index, dim), (2, 3, 4))


def test_index_select_of_nothing(device):
    check_linear(lambda x: x.index_select(0, []), lambda x: x[:0], (2, 3))


def test_index_select_of_a_number_says_that_there_is_no_axis(device):
    for index in ([0], gg.tensor([0])):
        with pytest.raises(ValueError, match="index_select: the input is 0-d"):
            gg.tensor(3.0).index_select(0, index)


def test_index_select_passes_gradcheck(device):
    x, index = gg.tensor(sample((4, 3), np.float64), requires_grad=True), gg.tensor([3, 0, 3, 3, 1])
    assert gg.gradcheck(lambda x: x.index_select(0, index), (x,))
    assert gg.gradgradcheck(lambda x: x.index_select(0, index), (x,))


@pytest.mark.parametrize("index", [[2, 0], (2, 0), np.array([2, 0]), np.array([2, 0], np.uint8), range(2, -1, -2)])
def test_index_select_takes_what_holds_integers(device, index):
    same(gg.tensor(sample((3, 4))).index_select(0, index), sample((3, 4))[[2, 0]])


@pytest.mark.parametrize("bad", [-1, 3])
def test_a_bad_index_is_told_at_once_from_the_host_and_at_the_next_read_from_the_device(device, bad):
    x = gg.tensor(sample((3, 4)))
    with pytest.raises(IndexError, match=rf"index_select: index {bad} at position 1 is not in 0\.\.2"):
        x.index_select(0, [0, bad])
    y = x.index_select(0, gg.tensor([0, bad]))
    with pytest.raises(IndexError, match=rf"index_select: index {bad} at position 1 is not in 0\.\.2"):
        y.numpy()


def test_an_index_changed_before_the_backward_is_found_out(device):
    x, index = gg.tensor(sample((3,)), requires_grad=True), gg.tensor([0, 1])
    y = x.index_select(0, index)
    index[0] = 2
    with pytest.raises(gg.AutogradError, match="changed in place"):
        y.sum().backward()


def test_index_select_refuses(device):
    x = gg.tensor(sample((3, 4)))
    with pytest.raises(TypeError, match="index holds float64; indices are integers"):
        x.index_select(0, [0.5])
    with pytest.raises(TypeError, match="index is bool"):
        x.index_select(0, x[:, 0] > 0)
    with pytest.raises(ValueError, match="index has shape"):
        x.index_select(0, [[0]])
    with pytest.raises(IndexError, match="dim is 2"):
        x.index_select(2, [0])


def test_one_hot_counts_the_classes_itself(device):
    same(ops.one_hot(gg.tensor([[0, 2], [1, 0]])), np.eye(3, dtype=np.int32)[[[0, 2], [1, 0]]])
    same(ops.one_hot(gg.tensor([0, 1]), num_classes=4), np.eye(4, dtype=np.int32)[[0, 1]])
    with pytest.raises(ValueError, match="no labels to count; give num_classes"):
        ops.one_hot(gg.tensor(np.zeros(0, np.int32)))
    with pytest.raises(IndexError, match=r"one_hot: label -3 at position 0 is not in 0\.\.0"):
        ops.one_hot(gg.tensor([-3])).numpy()


def test_parity_with_pytorch(device, rng):
    torch = pytest.importorskip("torch", reason="PyTorch is what results are compared with")
    x, v = (rng.standard_normal(s).astype(np.float32) for s in ((4, 5, 6), (2, 1)))

    def steps(t, v, index):
        y = t * 2.0
        y[1:3, 2, ::2] = v
        y[0] = y[1].clone() * y[2].clone()  # PyTorch's slices are views, which the next writes would spoil
        return y[:, 1:, ::3].index_select(1, index)

    ours = [gg.tensor(a, requires_grad=True) for a in (x, v)]
    theirs = [torch.tensor(a, requires_grad=True) for a in (x, v)]
    a = steps(*ours, gg.tensor([0, 2, 2]))
    b = steps(*theirs, torch.tensor([0, 2, 2]))
    same(a.detach(), b.detach().numpy())
    (a * a).sum().backward()
    (b * b).sum().backward()
    for o, t in zip(ours, theirs):
        # products and sums of a few numbers below 100
        np.testing.assert_allclose(o.grad.numpy(), t.grad.numpy(), rtol=2**-20, atol=100 * 2**-24)
