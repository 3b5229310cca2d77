"""`gg.profile()`: what ran, on what, for how long, and what it had to do."""

import re
import threading

import numpy as np
import pytest

import gpugrad as gg
import gpugrad.kernels as K
from gpugrad import profiling
from gpugrad.array import Array
from gpugrad.kernels import work
from gpugrad.profiling import Timed
from gpugrad.program import declared

SQUARE = "__kernel void square(__global float *x, int n) { int i = get_global_id(0); if (i < n) x[i] *= x[i]; }"


def array(*shape):
    return Array.from_numpy(np.random.default_rng(0).uniform(1, 2, shape).astype("f4"))


def test_each_launch_of_the_block_is_timed_in_order():
    a, b = array(5, 7), array(7, 3)
    K.gemm(a, b, variant="naive")
    with gg.profile() as p:
        c = K.gemm(a, b, variant="tiled")
        K.softmax(c, 1)
    K.softmax(c, 1)
    assert [t.kernel.split("_")[0] for t in p.launches] == ["gemm", "softmax"]
    first, second = p.launches
    assert (first.family, first.variant) == ("gemm", "tiled")
    assert first.shapes == {"a": (5, 7), "b": (7, 3), "c": (5, 3)}
    assert first.start < first.end <= second.start < second.end
    assert first.flops == 2 * 5 * 7 * 3
    assert first.bytes == 4 * (5 * 7 + 7 * 3 + 5 * 3)
    assert first.gflops == pytest.approx(first.flops / (first.end - first.start))
    assert p.seconds == pytest.approx(first.seconds + second.seconds)
    assert len(p) == 2 and repr(p) == "<Profile of 2 launches>"


def test_results_are_those_without_a_profile_and_the_queue_is_the_old_one_afterwards():
    device = gg.current_device()
    queue, a = device.queue, array(9, 9)
    plain = K.gemm(a, a).numpy()
    with gg.profile(), gg.profile():
        assert device.queue is not queue
        profiled = K.gemm(a, a).numpy()
    assert device.queue is queue
    assert plain.tobytes() == profiled.tobytes()
    with pytest.raises(ZeroDivisionError), gg.profile():
        1 / 0  # noqa: B018
    assert device.queue is queue


def test_launches_can_be_looked_at_within_the_block():
    a = array(3, 3)
    with gg.profile() as p:
        K.gemm(a, a)
        before = len(p)
        K.gemm(a, a)
        assert len(p) > before > 0


def test_times_are_fetched_before_too_many_are_pending(monkeypatch):
    monkeypatch.setattr(profiling, "MOST_PENDING", 3)
    a = array(4)
    with gg.profile() as p:
        for _ in range(8):
            K.elementwise("add", a, a)
        assert len(p._pending) == 2 and len(p._launches) == 6
    assert len(p) == 8


def test_nested_profiles_each_see_their_block():
    a = array(4)
    with gg.profile() as outer:
        K.elementwise("add", a, a)
        with gg.profile() as inner:
            K.elementwise("mul", a, a)
        K.elementwise("sub", a, a)
    assert [t.variant for t in outer.launches] == ["a + b", "a * b", "a - b"]
    assert [t.variant for t in inner.launches] == ["a * b"]


def test_another_thread_is_not_profiled():
    a = array(4)
    with gg.profile() as p:
        other = threading.Thread(target=K.elementwise, args=("add", a, a))
        other.start()
        other.join()
    assert len(p) == 0
    assert str(p) == "no launch happened in the block"


def test_a_kernel_of_ones_own_is_timed_and_a_checked_launch_is_marked():
    x = gg.ones(8)
    k = gg.kernel(SQUARE, x="inout N")
    with gg.profile() as p:
        k(x, 8, global_size=8)
        k(x, 8, global_size=8)
    checked, plain = p.launches
    assert (checked.form, checked.bytes) == ("instrumented", None)
    assert (plain.form, plain.bytes, plain.flops, plain.family) == ("", 64, None, "")
    assert "(instrumented)" in p.table()


def test_an_undeclared_kernel_has_a_time_and_no_rate():
    x = gg.ones(8)
    with gg.profile() as p:
        gg.kernel(SQUARE)(x, 8, global_size=8, checked=False)
    (t,) = p.launches
    assert t.seconds > 0 and t.bytes is None and t.gbytes_per_second is None and t.gflops is None


def timed(kernel, variant, start, end, **more):
    return Timed(kernel, "gemm", variant, {"a": (2, 3)}, (1,), (1,), "a device", start, end, **more)


def test_the_table_has_one_line_for_each_kernel_the_longest_first():
    p = gg.profile()
    p._launches = [
        timed("gemm_naive", "naive", 1000, 3000, bytes=4000, flops=1000),
        timed("pad", "", 4000, 5500, bytes=3000),
        timed("gemm_naive", "naive", 6000, 10000, bytes=8000, flops=5000),
        timed("other", "", 10000, 11500),
    ]
    assert p.table().split("\n") == [
        "kernel      family  variant  launches     ms  share  us each  GB/s  GFLOP/s",
        "gemm_naive  gemm    naive           2  0.006  66.7%      3.0   2.0      1.0",
        "other       gemm                    1  0.002  16.7%      1.5",
        "pad         gemm                    1  0.002  16.7%      1.5   2.0",
        "4 launches, 0.009 ms on a device",
    ]
    assert p.table("launch").split("\n")[:3] == [
        "kernel      family  variant  shapes   at us   us  GB/s  GFLOP/s",
        "gemm_naive  gemm    naive    a[2, 3]    0.0  2.0   2.0      0.5",
        "pad         gemm             a[2, 3]    3.0  1.5   2.0",
    ]
    assert str(p) == p.table()
    with pytest.raises(ValueError, match="by is 'time'"):
        p.table(by="time")


def test_a_block_is_used_once():
    with gg.profile() as p:
        pass
    with pytest.raises(RuntimeError, match="make a new one"), p:
        pass


def test_a_block_that_is_not_open_cannot_end():
    device = gg.current_device()
    queue, p = device.queue, gg.profile()
    with pytest.raises(RuntimeError, match="its block is not open"):
        p.__exit__(None, None, None)
    with p:
        K.elementwise("add", array(4), array(4))
    with pytest.raises(RuntimeError, match="its block is not open"):
        p.__exit__(None, None, None)
    assert device.queue is queue and len(p) == 1


def test_peaks_are_measured_once_and_not_seen_by_a_profile():
    device = gg.current_device()
    device.cache.pop("peaks", None)
    with gg.profile() as p:
        peaks = p.peaks()
    assert len(p) == 0
    assert peaks.gbytes_per_second > 0 and peaks.gflops > 0
    assert profiling.peaks(device) is peaks


# What a launch has to do.


@pytest.mark.parametrize("variant", K.variants("gemm"))
@pytest.mark.parametrize("shape", [(5, 7, 3), (2, 9, 700), (64, 64, 64)])
def test_every_rung_of_gemm_does_the_same_number_of_operations(variant, shape):
    M, N, k = shape
    with gg.profile() as p:
        K.gemm(array(3, M, k), array(3, k, N), variant=variant)
        K.gemm_sum(array(3, M, k), array(3, k, N), variant=variant)
    assert sum(t.flops or 0 for t in p.launches) == 2 * 2 * 3 * M * N * k


@pytest.mark.parametrize("variant", K.variants("conv2d"))
def test_every_way_to_convolve_does_the_same_number_of_operations(variant):
    x, w, dy = array(3, 4, 7, 6), array(6, 2, 3, 2), array(3, 6, 4, 7)
    options = {"stride": (2, 1), "padding": 1, "groups": 2, "variant": variant}
    with gg.profile() as p:
        K.conv2d(x, w, **options)
        K.conv2d_backward_weight(x, w.shape, dy, **options)
    assert sum(t.flops or 0 for t in p.launches) == 2 * 2 * dy.size * 2 * 3 * 2
    with gg.profile() as p:
        K.conv2d_backward_input(x.shape, w, dy, **options)
    if variant == "blocked":  # by a convolution of the gradient, with zeros between where the stride is not 1
        assert sum(t.flops or 0 for t in p.launches) >= 2 * dy.size * 2 * 3 * 2
    else:
        assert sum(t.flops or 0 for t in p.launches) == 2 * dy.size * 2 * 3 * 2


def test_the_table_of_work_names_kernels_that_are_there():
    names = {k.name for k in declared}
    assert set(work.FLOPS) | set(work.BYTES) <= names


def test_bytes_count_what_is_written_and_what_is_read():
    x = gg.tensor(np.ones((6, 8), "f4"))
    with gg.profile() as p:
        _ = x.T.clone(), x[1:3, ::2], x.index_select(0, gg.tensor([1, 1], dtype=gg.int32)), x + 1
    found = {}
    for t in p.launches:
        found.setdefault(t.kernel, t.bytes)
    assert found["copy_region"] in (2 * 4 * 2 * 4, 2 * 4 * 48)  # the slice, or the transpose where it is a copy
    assert found["index_select"] == 2 * 4 * 2 * 8 + 2 * 4
    assert found["binary_right"] == 2 * 4 * 48


def test_an_optimisers_step_reads_and_writes_each_array_it_needs():
    p = gg.nn.Parameter(gg.ones(100))
    p.grad = gg.ones(100)
    for make, times in ((gg.optim.SGD, 3), (gg.optim.Adam, 7)):
        optimiser = make([p], lr=0.1)
        with gg.profile() as seen:
            optimiser.step()
        (t,) = seen.launches
        assert t.bytes == times * 4 * 100, t.kernel


def test_families_and_variants_come_from_the_kernels_names():
    with gg.profile() as p:
        K.im2col(array(1, 2, 5, 5), 3, variant="naive")
        K.conv2d(array(1, 2, 5, 5), array(3, 2, 3, 3), variant="direct")
        K.pad(array(2, 2), (1, 1))
    assert [(t.family, t.variant) for t in p.launches] == [("im2col", "naive"), ("conv", "direct"), ("pad", "")]
    assert all(re.fullmatch(r"[a-z0-9_]+", t.kernel) for t in p.launches)
