"""gemm and gemm_sum against the definition, in every variant."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.kernels import gemm_packed, gemm_warp
from gpugrad.kernels.gemm import gemm, gemm_sum
from gpugrad.kernels.gemm_product import Split, product
from gpugrad.kernels.ladder import use_kernels, variants

VARIANTS = variants("gemm")
DTYPES = [np.float32, np.float64]
TRANSPOSES = [(False, False), (False, True), (True, False), (True, True)]
# (M, N, K): tiny, odd, one tile of some kernel exactly, several with edges.
SIZES = [(1, 1, 1), (1, 7, 3), (5, 1, 9), (33, 2, 5), (6, 16, 8), (7, 17, 5), (16, 16, 16), (13, 37, 29), (65, 131, 18)]
# Deep or wide enough for packing one operand or both, and for sums in parts with a shorter last one.
LARGE_SIZES = [(3, 2, 1100), (70, 66, 301), (5, 100, 131), (131, 5, 260), (33, 70, 1030)]


def reference(a, b):
    """a @ b by the definition, in the longest floating-point type there is, one k at a time."""
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*batch, a.shape[-2], b.shape[-1]), np.longdouble)
    for k in range(a.shape[-1]):
        total += a[..., :, k, None] * b[..., None, k, :]
    return total


def tolerance(a, b, depth, dtype, alpha=1, rest=0):
    """The bound that gemm states for products `depth` deep; alpha, beta and rounding C add 3 eps of what they touch."""
    eps = np.finfo(dtype).eps
    magnitude = abs(alpha) * reference(abs(a), abs(b))
    return 2 * eps * np.sqrt(depth) * magnitude + 3 * eps * (magnitude + abs(rest))


def stored(x, transposed):
    """`x` as an Array, its last two axes exchanged in memory where `transposed`."""
    return Array.from_numpy(np.ascontiguousarray(x.swapaxes(-1, -2)) if transposed else x)


def random(rng, *shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


def check_product(rng, size, transposes, variant, dtype):
    M, N, K = size
    a, b = random(rng, M, K, dtype=dtype), random(rng, K, N, dtype=dtype)
    ta, tb = transposes
    got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
    assert got.shape == (M, N) and got.dtype == dtype
    assert (abs(got - reference(a, b)) <= tolerance(a, b, K, dtype)).all()


def test_the_ladder_goes_from_the_definition_to_the_fast_ones():
    assert VARIANTS == ["naive", "tiled", "blocked", "packed", "warp"]


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
def test_terms_that_are_all_alike_round_to_one_side_and_stay_within_the_bound_for_that(device, variant):
    K = 4097
    a, b = np.full((7, K), 0.1, np.float32), np.ones((K, 17), np.float32)
    got = gemm(Array.from_numpy(a), Array.from_numpy(b), variant=variant).numpy()
    true = K * np.float64(np.float32(0.1))
    assert (abs(got - true) <= (K + 2) / 2 * np.finfo(np.float32).eps * true).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
def test_multiplies_matrices_of_any_size_and_transposition(device, rng, transposes, variant, dtype):
    for size in SIZES:
        check_product(rng, size, transposes, variant, dtype)


@pytest.mark.large
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [*VARIANTS, None])
@pytest.mark.parametrize("transposes", TRANSPOSES)
@pytest.mark.parametrize("size", LARGE_SIZES, ids=str)
def test_multiplies_deep_and_wide_matrices(device, rng, size, transposes, variant, dtype):
    if device.is_simulator and size != LARGE_SIZES[0]:
        pytest.skip("too slow in a simulator")
    check_product(rng, size, transposes, variant, dtype)


@pytest.mark.large
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposes", TRANSPOSES)
def test_every_tile_of_the_gpu_kernel_is_right(device, rng, transposes, dtype, monkeypatch):
    for tile in gemm_warp.TILES[np.dtype(dtype).name]:
        monkeypatch.setitem(gemm_warp.TILES, np.dtype(dtype).name, (tile,))
        check_product(rng, (tile.BM + 3, 2 * tile.BN + 5, 19), transposes, "warp", dtype)
        check_product(rng, (tile.BM, tile.BN, 8), transposes, "warp", dtype)


@pytest.mark.large
@pytest.mark.parametrize("columns", [3 * 32 - 1, 2 * 32, 5])
def test_the_gpu_kernel_covers_more_than_a_band_of_tiles(device, rng, columns, monkeypatch):
    monkeypatch.setitem(gemm_warp.TILES, "float32", gemm_warp.TILES["float32"][-1:])  # 32 x 32
    check_product(rng, (9 * 32 + 1, columns, 3), (False, False), "warp", np.float32)


# (inner, summed, K, last_K): the products that a long sum is cut into, how many of them make one part, and depths
# beside the steps of 8 that the GPU's kernel goes along K in.
CUTS = [(4, 1, 16, 15), (2, 1, 9, 1), (3, 2, 8, 8), (3, 2, 9, 7), (3, 3, 7, 16), (2, 2, 8, 1), (7, 3, 17, 5)]


@pytest.mark.parametrize("variant", ["packed", "warp"])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_long_sum_may_be_cut_anywhere(device, rng, cut, variant, monkeypatch):
    inner, summed, K, last_K = cut
    split = Split(-(-inner // summed), inner, summed, K, last_K, True)
    packed = gemm_packed._plan
    monkeypatch.setattr(gemm_packed, "_plan", lambda *given: packed(*given)._replace(split=split))
    monkeypatch.setattr(gemm_warp, "_plan", lambda p, tiles, units: (tiles[-1], split))
    for transposes in [(False, False), (True, True)]:
        check_product(rng, (7, 35, (inner - 1) * K + last_K), transposes, variant, np.float32)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gemm_sum_adds_up_products_of_any_depth(device, rng, variant):
    """Depths before, at and behind the steps that kernels go along K in."""
    for K in (1, 7, 8, 9, 15, 16, 17):
        a, b = random(rng, 5, 7, K, dtype=np.float32), random(rng, 5, K, 18, dtype=np.float32)
        got = gemm_sum(Array.from_numpy(a), Array.from_numpy(b), variant=variant).numpy()
        want, bound = reference(a, b).sum(0), tolerance(a, b, 5 * K, np.float32).sum(0)
        assert (abs(got - want) <= bound).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
def test_products_of_halves_are_summed_in_float32_and_rounded_once(device, rng, transposes, variant):
    ta, tb = transposes
    a, b = (rng.integers(-99, 100, shape).astype(np.float16) for shape in ((13, 19), (19, 37)))
    got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
    np.testing.assert_array_equal(got, reference(a, b).astype(np.float16))  # the sums are integers below 2^24


@pytest.mark.large  # when it is recorded
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_element_of_c_is_written_once(device, variant, monkeypatch):
    monkeypatch.setitem(gemm_warp.TILES, "float32", gemm_warp.TILES["float32"][-1:])
    a, b = Array.from_numpy(np.ones((65, 2), np.float32)), Array.from_numpy(np.ones((2, 3), np.float32))
    with gg.trace() as t:
        gemm(a, b, variant=variant)
    stored = t.launches[-1].select(kind="store", buffer="c")["index"]
    np.testing.assert_array_equal(np.sort(stored), np.arange(65 * 3))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_small_integers_are_exact(device, rng, variant, dtype):
    a, b = rng.integers(-9, 10, (2, 19, 45)).astype(dtype), rng.integers(-9, 10, (2, 45, 23)).astype(dtype)
    got = gemm(Array.from_numpy(a), Array.from_numpy(b), variant=variant).numpy()
    np.testing.assert_array_equal(got, reference(a, b).astype(dtype))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
@pytest.mark.parametrize("alpha, beta", [(2.5, 0), (1, 1), (-0.5, 2), (0, 3)])
@pytest.mark.parametrize("size", [(7, 35, 5), (12, 32, 6), (3, 4, 1100)], ids=str)
def test_alpha_scales_the_product_and_beta_adds_what_out_held(device, rng, size, alpha, beta, transposes, variant):
    M, N, K = size
    dtype, (ta, tb) = np.float32, transposes
    a, b, c = random(rng, M, K, dtype=dtype), random(rng, K, N, dtype=dtype), random(rng, M, N, dtype=dtype)
    out = Array.from_numpy(c)
    got = gemm(
        stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, alpha=alpha, beta=beta, variant=variant, out=out
    )
    assert got is out
    error = abs(out.numpy() - (alpha * reference(a, b) + beta * c.astype(np.longdouble)))
    assert (error <= tolerance(a, b, K, dtype, alpha, beta * c)).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("K", [0, 5, 1100])
def test_with_beta_0_what_out_held_is_not_read(device, rng, K, variant):
    a, b = random(rng, 9, K, dtype=np.float32), random(rng, K, 18, dtype=np.float32)
    out = Array.from_numpy(np.full((9, 18), np.nan, np.float32))
    gemm(Array.from_numpy(a), Array.from_numpy(b), variant=variant, out=out)
    assert (abs(out.numpy() - reference(a, b)) <= tolerance(a, b, K, np.float32)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_batch_of_empty_products_is_zero_throughout(device, variant):
    got = gemm(Array.empty((2, 3, 0)), Array.empty((5, 2, 0, 4)), variant=variant)
    np.testing.assert_array_equal(got.numpy(), np.zeros((5, 2, 3, 4)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_product_to_add_leaves_beta_times_out(device, rng, variant):
    c = random(rng, 3, 4, dtype=np.float32)
    out = Array.from_numpy(c)
    gemm(Array.empty((3, 0)), Array.empty((0, 4)), beta=2, out=out, variant=variant)
    np.testing.assert_array_equal(out.numpy(), 2 * c)
    gemm_sum(Array.empty((0, 3, 5)), Array.empty((0, 5, 4)), beta=0.5, out=out, variant=variant)
    np.testing.assert_array_equal(out.numpy(), c)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "a, b, shape",
    [
        ((0, 3), (3, 4), (0, 4)),
        ((4, 3), (3, 0), (4, 0)),
        ((0, 2, 3), (3, 4), (0, 2, 4)),
        ((2, 1, 3), (0, 3, 4), None),
        ((5, 0, 2, 3), (1, 3, 4), (5, 0, 2, 4)),
    ],
)
def test_empty_results(device, a, b, shape, variant):
    if shape is None:
        with pytest.raises(ValueError, match="broadcast"):
            gemm(Array.empty(a), Array.empty(b), variant=variant)
    else:
        assert gemm(Array.empty(a), Array.empty(b), variant=variant).numpy().shape == shape


BATCHES = [
    ((3,), (3,)),
    ((3,), ()),
    ((), (3,)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((2, 3), (2, 1)),
    ((1, 1), (1,)),
    ((2, 1, 3), (1, 2, 1)),  # more axes than the kernels have
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
@pytest.mark.parametrize("batch_a, batch_b", BATCHES, ids=str)
def test_batches_broadcast(device, rng, batch_a, batch_b, transposes, variant):
    dtype, (ta, tb) = np.float32, transposes
    for M, N, K in [(7, 18, 3), (5, 4, 6)]:
        a, b = random(rng, *batch_a, M, K, dtype=dtype), random(rng, *batch_b, K, N, dtype=dtype)
        got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
        want = reference(a, b)
        assert got.shape == want.shape
        assert (abs(got - want) <= tolerance(a, b, K, dtype)).all()


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
def test_what_a_batch_shares_is_packed_once_and_for_all(device, rng, transposes, variant):
    """Operands so deep that the CPU's kernel packs them, one shared, one not."""
    if device.is_simulator:
        pytest.skip("too slow in a simulator")
    dtype, (ta, tb) = np.float32, transposes
    for batch_a, batch_b in [((2, 1), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (2, 1))]:
        a, b = random(rng, *batch_a, 21, 270, dtype=dtype), random(rng, *batch_b, 270, 35, dtype=dtype)
        got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
        assert (abs(got - reference(a, b)) <= tolerance(a, b, 270, dtype)).all()


@pytest.mark.large
@pytest.mark.parametrize("variant", [*VARIANTS, None])
@pytest.mark.parametrize("transposes", TRANSPOSES)
@pytest.mark.parametrize("beta", [0, 0.5])
@pytest.mark.parametrize(
    "batch_a, batch_b",
    [((), ()), ((2,), (2,)), ((2,), (1,)), ((1, 2), (2, 2)), ((2, 1), (1, 3))],
    ids=str,
)
def test_gemm_sum_adds_up_the_first_axis(device, rng, batch_a, batch_b, beta, transposes, variant):
    dtype, (ta, tb) = np.float32, transposes
    for S, M, N, K in [(1, 3, 4, 5), (5, 7, 18, 3), (67, 2, 3, 2)]:
        a, b = random(rng, S, *batch_a, M, K, dtype=dtype), random(rng, S, *batch_b, K, N, dtype=dtype)
        a_each, b_each = (x.reshape(S, *(1,) * (2 - (x.ndim - 3)), *x.shape[1:]) for x in (a, b))
        want = reference(a_each, b_each).sum(0)
        bound = tolerance(a_each, b_each, S * K, dtype).sum(0)
        shape = (*np.broadcast_shapes(batch_a, batch_b), M, N)
        c = random(rng, *shape, dtype=dtype)
        out = Array.from_numpy(c if beta else np.full_like(c, np.nan))
        arrays = stored(a, ta), stored(b, tb)
        got = gemm_sum(*arrays, transpose_a=ta, transpose_b=tb, beta=beta, out=out, variant=variant).numpy()
        want = want.reshape(shape) + (beta * c if beta else 0)
        assert (abs(got - want) <= bound.reshape(shape) + 3 * np.finfo(dtype).eps * abs(c)).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(data=st.data())
def test_any_shapes_in_any_variant(device, data):
    M, N, K = (data.draw(st.integers(0, 40)) for _ in range(3))
    batch = data.draw(st.lists(st.integers(1, 3), max_size=3))
    kept = [[n if data.draw(st.booleans()) else 1 for n in batch] for _ in range(2)]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((*k, *s)).astype(np.float32) for k, s in zip(kept, [(M, K), (K, N)]))
    ta, tb = data.draw(st.booleans()), data.draw(st.booleans())
    for variant in VARIANTS:
        got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
        assert got.shape == np.broadcast_shapes(*(k[:] for k in map(tuple, kept))) + (M, N)
        assert (abs(got - reference(a, b)) <= tolerance(a, b, K, np.float32)).all(), variant


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("transposes", TRANSPOSES)
def test_nan_and_infinity_reach_their_row_and_column_and_nothing_else(device, rng, transposes, variant):
    M, N, K = 20, 35, 19
    ta, tb = transposes
    a, b = random(rng, M, K, dtype=np.float32), random(rng, K, N, dtype=np.float32)
    a[M - 1, 3], b[5, N - 1] = np.nan, np.inf
    got = gemm(stored(a, ta), stored(b, tb), transpose_a=ta, transpose_b=tb, variant=variant).numpy()
    assert np.isnan(got[M - 1]).all()
    assert np.isinf(got[: M - 1, N - 1]).all()
    assert np.isfinite(got[: M - 1, : N - 1]).all()


@pytest.mark.large
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_numbers_come_out_each_time(device, rng, variant):
    a, b = (Array.from_numpy(random(rng, 30, 30, dtype=np.float32)) for _ in range(2))
    assert gemm(a, b, variant=variant).numpy().tobytes() == gemm(a, b, variant=variant).numpy().tobytes()


def test_a_kernel_of_your_own_takes_the_place_of_the_first(device, rng):
    mine = kernel("""
        __kernel void mine(__global const float *a, __global const float *b, __global float *c, int M, int N, int K,
                           int inner, int a_outer, int a_inner, int a_m, int a_k,
                           int b_outer, int b_inner, int b_k, int b_n, float alpha, float beta) {
          int n = get_global_id(0), m = get_global_id(1), g = get_global_id(2);
          if (m < M && n < N) c[(g * M + m) * N + n] = a[g * a_inner + m * a_m] + b[g * b_inner + n * b_n];
        }""")
    a, b = random(rng, 2, 3, 4, dtype=np.float32), random(rng, 2, 4, 5, dtype=np.float32)
    with use_kernels(gemm=mine):
        got = gemm(stored(a, True), stored(b, False), transpose_a=True).numpy()
    np.testing.assert_array_equal(got, a[:, :, :1] + b[:, :1, :])


# What the plans decide, as far as tests above rely on it.


def plan_of(a, b, ta=False, tb=False, units=2):
    return gemm_packed._plan(product("gemm", a, b, ta, tb, False)[0], 16, units)


def test_a_matrix_is_packed_where_its_layout_is_bad_and_it_is_used_often():
    assert (plan_of((70, 301), (301, 66)).pack_a, plan_of((70, 301), (301, 66)).pack_b) == (False, True)
    assert not plan_of((70, 301)[::-1], (301, 66), ta=True).transposed
    assert plan_of((301, 70), (301, 66), ta=True).pack_a
    assert not plan_of((13, 29), (29, 37)).pack_b
    assert plan_of((13, 29), (29, 5)).pack_b  # fewer columns than a vector


def test_the_smaller_matrix_is_the_one_that_is_packed():
    assert plan_of((20, 50), (90, 50), tb=True).transposed
    assert not plan_of((90, 50), (20, 50), tb=True).transposed
    assert plan_of((50, 20), (90, 50), ta=True, tb=True).transposed


def test_long_sums_are_split_where_results_are_few():
    assert plan_of((3, 1100), (1100, 2)).split.parts > 1
    assert plan_of((500, 1100), (1100, 500)).split.parts == 1


def test_a_tile_is_as_large_as_keeps_the_device_busy_and_is_filled():
    def tile(M, N, K, batch=1):
        p, _ = product("gemm", (batch, M, K), (batch, K, N), False, False, False)
        return gemm_warp._plan(p, gemm_warp.TILES["float32"], 132)[0]

    large, medium, small = gemm_warp.TILES["float32"]
    assert tile(4096, 4096, 64) == large
    assert tile(1024, 1024, 64) == medium
    assert tile(64, 64, 64) == small
    assert tile(16, 784, 25, batch=128) == small


# Wrong input.


def some(*shape, dtype=np.float32):
    return Array.empty(shape, dtype)


@pytest.mark.parametrize("function", [gemm, gemm_sum])
def test_depths_that_differ_are_refused(device, function):
    with pytest.raises(ValueError, match=rf"{function.__name__}: a is 2 x 3, b transposed is 5 x 4 .*as many columns"):
        function(some(1, 2, 3), some(1, 4, 5), transpose_b=True)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: gemm(np.zeros((2, 2)), some(2, 2)), TypeError, "a is a ndarray; it must be an Array"),
        (lambda: gemm(some(2, 2), None), TypeError, "b is None; it must be an Array"),
        (lambda: gemm(some(3), some(3, 4)), ValueError, r"a has shape \(3,\); it needs 2 axes or more"),
        (lambda: gemm(some(3, 3), some()), ValueError, r"b has shape \(\); it needs 2 axes or more"),
        (lambda: gemm_sum(some(3, 3), some(1, 3, 3)), ValueError, r"gemm_sum: a has shape \(3, 3\); it needs 3 axes"),
        (lambda: gemm_sum(some(2, 3, 3), some(4, 3, 3)), ValueError, "a has 2 matrices to add up, b has 4"),
        (lambda: gemm(some(2, 3, 3), some(4, 3, 3)), ValueError, "do not broadcast"),
        (lambda: gemm(some(2, 2), some(2, 2, dtype=np.float64)), TypeError, "b is float64, a is float32"),
        (lambda: gemm(some(2, 2, dtype=np.int32), some(2, 2, dtype=np.int32)), TypeError, "a is int32"),
        (lambda: gemm(some(2, 2), some(2, 2), beta=1), ValueError, "beta is 1.0, .* give out="),
        (lambda: gemm(some(2, 2), some(2, 2), alpha="1"), TypeError, "alpha is a str; it must be a number"),
        (lambda: gemm(some(2, 2), some(2, 2), beta=None), TypeError, "beta is None; it must be a number"),
        (lambda: gemm(some(2, 2), some(2, 2), out=some(2, 3)), ValueError, r"out is float32\(2, 3\); the result is"),
        (lambda: gemm(some(2, 2), some(2, 2), variant="fast"), ValueError, "variant is 'fast'; there is naive, tiled"),
    ],
)
def test_wrong_input_is_named(device, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_out_that_is_also_read_is_refused(device):
    a = some(4, 4)
    with pytest.raises(ValueError, match="out shares memory with an input"):
        gemm(a, some(4, 4), out=a.reshape(4, 4))


def test_float64_is_not_asked_of_a_device_without_it(device):
    if device.has_float64:
        pytest.skip("this device has float64")
    with pytest.raises(TypeError, match="no float64"):
        gemm(some(2, 2, dtype=np.float64), some(2, 2, dtype=np.float64))
