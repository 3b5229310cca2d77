"""Reductions over any axes against plain loops in float64; argmax; picking along an axis."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import DTYPES, examples, sample

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels.argmax import extremum
from gpugrad.kernels.pick import pick, place
from gpugrad.kernels.reduce import COLUMN_CHUNK, ROW_CHUNK, reduce

VARIANTS = K.variants("reduce")
FLOATS = [np.float32, np.float64]

#: (shape, axes): rows, columns, several axes that touch or don't, axes of size 1, and lengths around each kernel's
#: chunks (4096 in a row, 256 in a column), lanes (32), strips (16) and work-groups (64).
CASES = [
    ((), None),
    ((1,), None),
    ((7,), None),
    ((33,), 0),
    ((3, 5), 0),
    ((3, 5), 1),
    ((3, 5), (0, 1)),
    ((2, 3, 4, 5), (0, 2, 3)),  # a convolution's bias gradient
    ((2, 3, 4, 5), (1, 3)),
    ((2, 3, 4, 5), (0, 2)),
    ((3, 1, 4), 1),
    ((1, 5, 1), (0, 2)),
    ((2, 130), 1),
    ((3, ROW_CHUNK + 1), 1),
    ((2, 2 * ROW_CHUNK - 33), 1),
    ((COLUMN_CHUNK + 1, 3), 0),
    ((2 * ROW_CHUNK + 1, 3), 0),
    ((2, 300, 17), 1),
    ((2, 5, 32), 1),
    ((2, 5, 31), -2),
]


def dims_of(shape, dim):
    dims = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    return sorted(d % len(shape) for d in dims)


def reference(op, x, dim=None, keepdim=False):
    """One element after another, in float64 (or Python integers)."""
    dims = dims_of(x.shape, dim)
    kept = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
    groups = {index: [] for index in np.ndindex(kept)}
    for index in np.ndindex(x.shape):
        groups[tuple(0 if d in dims else i for d, i in enumerate(index))].append(x[index].item())
    fold = {"sum": sum, "mean": lambda v: sum(v) / len(v), "max": largest, "min": lambda v: -largest([-a for a in v])}
    out = np.array([fold[op](v) for v in groups.values()]).reshape(kept)
    return out if keepdim else out.reshape([n for d, n in enumerate(x.shape) if d not in dims])


def largest(values):
    best = values[0]
    for v in values[1:]:
        if v > best or v != v:
            best = v
        if best != best:
            break
    return best


def whole(rng, shape, dtype):
    """Small integers, whose sums are exact in every type."""
    return rng.integers(-9, 10, shape).astype(dtype)


def test_the_ladder_starts_with_the_one_to_read():
    assert VARIANTS[0] == "serial" and K.variants("argmax") == VARIANTS


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_a_sum_is_exact_where_every_partial_sum_is(device, rng, shape, dim, variant, dtype):
    x = whole(rng, shape, dtype)
    got = reduce("sum", Array.from_numpy(x), dim, variant=variant).numpy()
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, reference("sum", x, dim), strict=False)
    assert got.shape == reference("sum", x, dim).shape


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("op", ["sum", "max"])
def test_a_column_so_long_that_it_takes_three_passes(device, rng, variant, op):
    x = whole(rng, (COLUMN_CHUNK**2 + 1, 2), np.float32)
    x[-1] = 1000  # only the last pass sees it
    np.testing.assert_array_equal(reduce(op, Array.from_numpy(x), 0, variant=variant).numpy(), getattr(x, op)(0))


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_an_extremum_is_one_of_the_elements(device, rng, shape, dim, variant, op):
    # All far below 0 (or above it, for min): whoever starts from a finite number gives that.
    x = (rng.standard_normal(shape) - (1e30 if op == "max" else -1e30)).astype(np.float32)
    x = np.asarray(x * rng.uniform(1, 2, shape).astype(np.float32))
    got = reduce(op, Array.from_numpy(x), dim, variant=variant).numpy()
    np.testing.assert_array_equal(got, reference(op, x, dim).astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("shape", "dim"), CASES[3:10], ids=str)
def test_a_mean_is_the_sum_over_the_number_of_elements(device, rng, shape, dim, variant, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    got = reduce("mean", Array.from_numpy(x), dim, variant=variant).numpy()
    # 60 additions at most, and one division.
    np.testing.assert_allclose(got, reference("mean", x, dim), rtol=0, atol=64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "argmax", "argmin"])
def test_keepdim_leaves_axes_of_size_1(device, rng, op):
    x = Array.from_numpy(whole(rng, (2, 3, 4), np.float32))
    for dim in (0, 1, -1, None):
        kept, dropped = (reduce(op, x, dim, keepdim=k).numpy() for k in (True, False))
        assert kept.shape == tuple(1 if dim is None or d == dim % 3 else n for d, n in enumerate(x.shape))
        np.testing.assert_array_equal(kept.ravel(), dropped.ravel())


@examples
@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=5).map(tuple), data=st.data())
def test_any_axes_in_any_variant(device, shape, data):
    dims = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    x = np.random.default_rng(0).integers(-9, 10, shape).astype(np.float32)
    array = Array.from_numpy(x)
    for op in ("sum", "max"):
        expected = reference(op, x, tuple(dims))
        for variant in VARIANTS:
            got = reduce(op, array, tuple(dims), variant=variant).numpy()
            np.testing.assert_array_equal(got, expected, err_msg=f"{op} {variant}")


# Integers


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_a_sum_of_integers_is_int32(device, dtype, variant):
    x = sample((5000, 3), np.uint8).astype(dtype)
    for dim in (0, 1, None):
        got = reduce("sum", Array.from_numpy(x), dim, variant=variant).numpy()
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, x.sum(dim, dtype=np.int64))


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_an_extremum_of_integers_keeps_the_dtype(device, dtype, variant):
    x = np.concatenate([sample((5000, 3), dtype), sample((1, 3), dtype, seed=1)])
    if dtype == np.int32:
        x = x // 2 - 2**30  # all negative
    for op in ("max", "min"):
        for dim in (0, 1, None):
            got = reduce(op, Array.from_numpy(x), dim, variant=variant).numpy()
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, getattr(x, op)(dim))


def test_a_sum_of_int32_wraps_around(device):
    x = Array.from_numpy(np.array([2**31 - 1, 1], np.int32))
    assert reduce("sum", x).numpy() == -(2**31)


def test_a_mean_of_integers_is_refused_by_name(device):
    with pytest.raises(TypeError, match=r"mean: x is int32.*\.to\(gpugrad\.float32\)"):
        reduce("mean", Array.from_numpy(np.array([1, 2], np.int32)))


# Rounding: |error| <= 260 passes eps/2 sum|x|, as reduce's docstring says.


def bound(x, passes):
    return 260 * passes * np.finfo(x.dtype).eps / 2 * np.abs(x).astype(np.float64).sum()


@pytest.mark.large
@pytest.mark.parametrize("variant", ["tree", "blocked"])
def test_ten_million_ones_are_counted(device, variant):
    x = np.ones(10**7, np.float32)
    # A plain loop stops at 2^24 = 16,777,216 at the latest; each partial sum here is exact.
    assert reduce("sum", Array.from_numpy(x * 3), variant=variant).numpy() == 3e7


@pytest.mark.large
@pytest.mark.parametrize("variant", ["tree", "blocked"])
def test_the_mean_of_many_equal_numbers_is_that_number(device, variant):
    x = np.full(300_000, 0.1, np.float32)
    got = reduce("mean", Array.from_numpy(x), variant=variant).numpy()
    assert abs(got - x[0].astype(np.float64)) <= bound(x, 2) / x.size
    # and in fact far better: a plain loop is 1e-4 off
    assert abs(got - x[0]) < 1e-7


@pytest.mark.large
@pytest.mark.parametrize("variant", ["tree", "blocked"])
@pytest.mark.parametrize("shape", [(200_000,), (66_000, 3)], ids=str)
def test_big_and_small_numbers_in_turn(device, shape, variant):
    x = np.ones(shape, np.float32)
    x.reshape(-1)[::2] = 2.0**24  # adding 1 to this changes nothing
    x.reshape(-1)[1::4] = -(2.0**24)
    exact = x.astype(np.float64).sum(0)
    got = reduce("sum", Array.from_numpy(x), 0, variant=variant).numpy()
    for i, column in enumerate(x.reshape(len(x), -1).T):
        assert abs(got.reshape(-1)[i] - exact.reshape(-1)[i]) <= bound(column, 3)


@pytest.mark.large
@pytest.mark.parametrize("variant", ["tree", "blocked"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_random_numbers_stay_within_the_bound(device, rng, variant, dtype):
    x = rng.uniform(0, 1, 100_003).astype(dtype)
    exact = math.fsum(x.tolist())
    got = reduce("sum", Array.from_numpy(x), variant=variant).numpy()
    assert abs(got - exact) <= bound(x, 2)
    # What is seen of it: the errors of so many additions mostly cancel.
    assert abs(got - exact) <= 20 * np.finfo(dtype).eps * exact


# NaN, infinity, nothing


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", [(7, 1), (40, 1), (ROW_CHUNK + 50, 1), (300, 3)], ids=str)
def test_a_nan_anywhere_wins(device, op, variant, shape):
    n = shape[0]
    for at in (0, 1, n // 2, n - 1):
        x = np.ones(shape, np.float32)
        x[at, -1] = np.nan
        got = reduce(op, Array.from_numpy(x), 0, variant=variant).numpy()
        assert np.isnan(got[-1]) and not np.isnan(got[:-1]).any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_infinities_are_numbers_like_others(device, variant):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 2]], np.float32)
    np.testing.assert_array_equal(reduce("max", Array.from_numpy(x), 1, variant=variant).numpy(), [-np.inf, np.inf, 2])
    np.testing.assert_array_equal(reduce("min", Array.from_numpy(x), 1, variant=variant).numpy(), [-np.inf, 1, -np.inf])


@pytest.mark.parametrize("variant", VARIANTS)
def test_over_nothing_a_sum_is_0_and_a_mean_nan(device, variant):
    x = Array.empty((2, 0, 3))
    np.testing.assert_array_equal(reduce("sum", x, 1, variant=variant).numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(reduce("mean", x, 1, variant=variant).numpy(), np.full((2, 3), np.nan))
    assert reduce("sum", x, variant=variant).numpy() == 0


@pytest.mark.parametrize("op", ["max", "min", "argmax", "argmin"])
def test_an_extremum_of_nothing_is_refused(device, op):
    for dim in (1, None):
        with pytest.raises(ValueError, match=rf"{op}: x has shape \(2, 0, 3\).*needs an element"):
            reduce(op, Array.empty((2, 0, 3)), dim)


@pytest.mark.parametrize("op", ["sum", "mean", "max", "argmax"])
def test_of_no_results_there_are_none(device, op):
    assert reduce(op, Array.empty((2, 0, 3)), 2).numpy().shape == (2, 0)


# argmax


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((1,), 0), ((10,), None), ((4, 7), 0), ((4, 7), 1), ((3, 5, 4), 1), ((2, ROW_CHUNK + 70), 1), ((9000, 2), 0)],
    ids=str,
)
def test_argmax_and_its_value_the_first_of_equals(device, op, variant, dtype, shape, dim):
    x = np.random.default_rng(3).integers(0, 4, shape)
    x = (x - 2 * (np.dtype(dtype).kind in "fi")).astype(dtype)  # many equal ones, of both signs
    array = Array.from_numpy(x)
    values, indices = extremum(op, array, dim, variant=variant)
    expected = np.empty(indices.shape, np.int32)
    lines = x.reshape(1, -1) if dim is None else np.moveaxis(x, dim, -1)
    for index in np.ndindex(lines.shape[:-1]):
        line = lines[index].tolist()
        best = max(line) if op == "max" else min(line)
        expected.reshape(lines.shape[:-1])[index] = line.index(best)
    assert indices.dtype == np.int32 and values.dtype == dtype
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), getattr(x, op)(dim))
    np.testing.assert_array_equal(reduce(f"arg{op}", array, dim, variant=variant).numpy(), expected)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", [(1, 5), (1, 200), (1, ROW_CHUNK * 2), (2, 5000)], ids=str)
def test_argmax_finds_the_first_nan(device, op, variant, shape):
    n = shape[1]
    for places in ([0], [n - 1], [n // 2, n - 1], [1, 2, 3]):
        x = np.linspace(-1, 1, n * shape[0], dtype=np.float32).reshape(shape)
        x[-1, 0] = -np.inf if op == "max" else np.inf
        x[-1, places] = np.nan
        values, indices = extremum(op, Array.from_numpy(x), 1, variant=variant)
        assert indices.numpy()[-1] == places[0] and np.isnan(values.numpy()[-1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_argmax_of_infinities_only_is_the_first(device, variant):
    for op, x in (("argmax", -np.inf), ("argmin", np.inf)):
        assert reduce(op, Array.from_numpy(np.full((2, 300), x, np.float32)), 1, variant=variant).numpy().max() == 0


def test_argmax_takes_one_axis(device):
    with pytest.raises(TypeError, match=r"argmax: dim is \(0, 1\); it must be an integer"):
        reduce("argmax", Array.empty((2, 3)), (0, 1))


# Picking along an axis


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 5, 3), 1), ((0, 3), 1)], ids=str)
def test_pick_and_place_are_adjoint_and_skip_what_is_no_index(device, rng, shape, dim, dtype):
    x = rng.standard_normal(shape).astype(dtype)
    n, rest = shape[dim], shape[:dim] + shape[dim + 1 :]
    indices = rng.integers(-1, n + 1, rest).astype(np.int32)  # -1 and n stand for none
    g = rng.standard_normal(rest).astype(dtype)
    picked, placed = np.zeros(rest, dtype), np.zeros(shape, dtype)
    for index in np.ndindex(rest):
        at = int(indices[index])
        if 0 <= at < n:
            full = (*index[:dim], at, *index[dim:])
            picked[index], placed[full] = x[full], g[index]
    on_device = Array.from_numpy(indices)
    np.testing.assert_array_equal(pick(Array.from_numpy(x), on_device, dim).numpy(), picked)
    np.testing.assert_array_equal(place(Array.from_numpy(g), on_device, dim, shape).numpy(), placed)


# The call


def test_out_takes_the_result(device, rng):
    x = Array.from_numpy(whole(rng, (3, 300), np.float32))
    for op, dtype in (("sum", np.float32), ("mean", np.float32), ("max", np.float32), ("argmax", np.int32)):
        out = Array.empty((3,), dtype)
        assert reduce(op, x, 1, out=out) is out
        np.testing.assert_array_equal(out.numpy(), reduce(op, x, 1).numpy())


def test_a_kernel_of_your_own_takes_over_sums(device, rng):
    source = """
        __kernel void rows(__global const float *x, __global float *out, int outer, int reduced, int inner) {
          int k = get_global_id(0);
          if (k < outer * inner) {
            float sum = 100;
            for (int r = 0; r < reduced; r++) sum += x[(k / inner * reduced + r) * inner + k % inner];
            out[k] = sum;
          }
        }"""
    x = whole(rng, (3, 5, 70), np.float32)
    with K.use_kernels(reduce=kernel(source)):
        np.testing.assert_array_equal(reduce("sum", Array.from_numpy(x), 1).numpy(), x.sum(1) + 100)
        np.testing.assert_array_equal(reduce("max", Array.from_numpy(x), 1).numpy(), x.max(1))


def test_a_kernel_of_your_own_takes_over_argmax(device, rng):
    source = """
        __kernel void last(__global const float *x, __global float *values, __global int *indices,
                           int outer, int reduced, int inner) {
          int k = get_global_id(0);
          if (k < outer * inner) {
            indices[k] = reduced - 1;
            values[k] = 0;
          }
        }"""
    x = Array.from_numpy(whole(rng, (3, 5), np.float32))
    with K.use_kernels(argmax=kernel(source)):
        np.testing.assert_array_equal(reduce("argmax", x, 1).numpy(), [4, 4, 4])
        np.testing.assert_array_equal(reduce("argmin", x, 1).numpy(), x.numpy().argmin(1))


BAD = [
    (lambda x: reduce(x, "sum"), TypeError, r"reduce: op is Array; the name comes first \(sum,"),
    (lambda x: reduce("median", x), ValueError, "reduce: op is 'median'; there is sum, mean, max"),
    (lambda x: reduce("sum", [1, 2]), TypeError, "sum: x is a list; it must be an Array"),
    (lambda x: reduce("sum", x, 2), IndexError, "sum: dim is 2; an input of 2 dimensions has dim -2 to 1"),
    (lambda x: reduce("max", x, -3), IndexError, "max: dim is -3"),
    (lambda x: reduce("sum", x, (0, -2)), ValueError, "sum: dim is .* names an axis twice"),
    (lambda x: reduce("sum", x, 0.5), TypeError, "sum: dim is 0.5; it must be an integer"),
    (lambda x: reduce("sum", x, True), TypeError, "sum: dim is True"),
    (lambda x: reduce("sum", x, variant="fast"), ValueError, "reduce: variant is 'fast'; there is serial"),
    (lambda x: reduce("sum", x, 0, out=Array.empty((2,))), ValueError, r"sum: out is float32\(2,\); the result is"),
    (lambda x: reduce("sum", x, (), out=x), ValueError, r"out is float32\(2, 3\)"),
    (lambda x: reduce("sum", x.reshape(1, 6), 0, out=x.reshape(6)), ValueError, "out shares memory with an input"),
    (lambda x: reduce("argmax", x, 0, out=Array.empty((3,))), ValueError, "argmax: out is float32"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call(Array.from_numpy(np.zeros((2, 3), np.float32)))
