"""Max-pooling against plain loops in float64: every variant, any geometry, its indices and its gradient."""

import numpy as np
import pytest
from hypothesis import given
from pools import CASES, FLOATS, MAX, MAX_BACK, cases, fits, max_gradient, max_reference
from samples import examples

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.array import Array


def check_max(x, c, variant):
    values, indices = max_reference(x, c)
    got, places = K.max_pool2d(Array.from_numpy(x), *c.max_args, variant=variant)
    assert got.dtype == x.dtype and places.dtype == np.int32
    np.testing.assert_array_equal(got.numpy(), values, err_msg=f"{variant} {c}")
    np.testing.assert_array_equal(places.numpy(), indices, err_msg=f"{variant} {c}")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*MAX, None])
@pytest.mark.parametrize("c", CASES, ids=str)
def test_max_of_every_window_and_its_place(device, rng, c, variant, dtype):
    if fits(variant, c):
        # Few different values: many windows have several largest elements. All are far below 0.
        check_max(rng.integers(-9, 3, (2, 3, *c.size)).astype(dtype) - 1000, c, variant)


@examples
@given(c=cases(dilated=True))
def test_max_in_any_geometry(device, c):
    x = np.random.default_rng(5).integers(-3, 4, (1, 2, *c.size)).astype(np.float32)
    for variant in filter(lambda v: fits(v, c), MAX):
        check_max(x, c, variant)


@pytest.mark.parametrize("variant", MAX)
@pytest.mark.parametrize("c", [CASES[2], CASES[6], CASES[13]], ids=str)
def test_a_nan_is_the_maximum_and_the_first_one_counts(device, rng, c, variant):
    if fits(variant, c):
        x = rng.standard_normal((2, 2, *c.size)).astype(np.float32)
        x[rng.random(x.shape) < 0.2] = np.nan
        x[rng.random(x.shape) < 0.2] = np.inf
        check_max(x, c, variant)


@pytest.mark.parametrize("variant", MAX)
@pytest.mark.parametrize("c", [CASES[2], CASES[6], CASES[13]], ids=str)
def test_of_minus_infinities_the_first_in_the_image_counts_and_padding_never(device, c, variant):
    if fits(variant, c):
        check_max(np.full((1, 2, *c.size), -np.inf, np.float32), c, variant)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*MAX_BACK, None])
@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_gradient_of_max_goes_to_the_winners(device, rng, c, variant, dtype):
    x = rng.integers(-9, 3, (2, 3, *c.size)).astype(dtype)
    out, indices = K.max_pool2d(Array.from_numpy(x), *c.max_args)
    g = rng.integers(-9, 10, out.shape).astype(dtype)  # whose sums are exact
    got = K.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, *c.max_args, variant=variant)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), max_gradient(g, indices.numpy(), c))


@examples
@given(c=cases(dilated=True))
def test_the_gradient_of_max_in_any_geometry(device, c):
    rng = np.random.default_rng(6)
    x = Array.from_numpy(rng.integers(-3, 4, (1, 2, *c.size)).astype(np.float32))
    out, indices = K.max_pool2d(x, *c.max_args)
    g = rng.integers(-9, 10, out.shape).astype(np.float32)
    for variant in MAX_BACK:
        got = K.max_pool2d_backward(Array.from_numpy(g), indices, x.shape, *c.max_args, variant=variant).numpy()
        np.testing.assert_array_equal(got, max_gradient(g, indices.numpy(), c), err_msg=variant)


@pytest.mark.large  # when it is recorded
def test_an_element_asks_the_windows_that_see_it_and_no_others_whether_it_won(device, rng):
    c = CASES[6]
    x = Array.from_numpy(rng.standard_normal((1, 1, *c.size)).astype(np.float32))
    out, indices = K.max_pool2d(x, *c.max_args)
    with gg.trace() as t:
        K.max_pool2d_backward(out, indices, x.shape, *c.max_args, variant="gather")
    asked = t.launches[0].select(kind="load", buffer="indices")["work_item"]
    rows, columns = (
        [sum(0 <= i - start < k for start in starts) for i in range(n)]
        for n, k, starts in zip(c.size, c.kernel, c.starts)
    )
    np.testing.assert_array_equal(np.bincount(asked), np.outer(rows, columns).ravel())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("c", CASES, ids=str)
def test_picking_the_maxima_of_another_array(device, rng, c, dtype):
    x, h = (Array.from_numpy(rng.standard_normal((2, 3, *c.size)).astype(dtype)) for _ in range(2))
    out, indices = K.max_pool2d(x, *c.max_args)
    places = indices.numpy()
    expected = np.zeros(out.shape, dtype)
    for at in np.ndindex(out.shape):
        if places[at] >= 0:
            expected[at] = h.numpy()[at[:2]].flat[places[at]]
    np.testing.assert_array_equal(K.max_pool2d_pick(h, indices).numpy(), expected)


@pytest.mark.parametrize("variant", MAX_BACK)
def test_indices_out_of_the_plane_reach_nowhere(device, variant):
    g = Array.from_numpy(np.ones((1, 2, 1, 2), np.float32))
    indices = Array.from_numpy(np.array([[[[-1, 16]], [[3, 99]]]], np.int32))
    got = K.max_pool2d_backward(g, indices, (1, 2, 2, 8), 2, (2, 4), variant=variant).numpy()
    assert (got[0, 0] == 0).all() and got.sum() <= 1
    x = Array.from_numpy(np.full((1, 2, 2, 8), 5, np.float32))
    np.testing.assert_array_equal(K.max_pool2d_pick(x, indices).numpy(), [[[[0, 0]], [[5, 0]]]])
