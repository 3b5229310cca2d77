"""Average pooling against plain loops in float64: every variant, any geometry; its gradient as its adjoint."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import AVG, AVG_BACK, CASES, FLOATS, avg_gradient, avg_reference, cases
from samples import examples

from gpugrad import kernels as K
from gpugrad.array import Array


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*AVG, None])
@pytest.mark.parametrize("c", [c for c in CASES if c.dilation == (1, 1)], ids=str)
def test_average_of_every_window(device, rng, c, variant, dtype, include_pad):
    x = rng.standard_normal((2, 3, *c.size)).astype(dtype)
    for divisor in (None, 7, -2):
        got = K.avg_pool2d(Array.from_numpy(x), *c.avg_args, include_pad, divisor, variant=variant).numpy()
        assert got.dtype == dtype
        # at most 12 additions of numbers up to 4, and a division
        tolerance = 60 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, avg_reference(x, c, include_pad, divisor), rtol=0, atol=tolerance)


@pytest.mark.parametrize("include_pad", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", [*AVG_BACK, None])
@pytest.mark.parametrize("c", [c for c in CASES if c.dilation == (1, 1)], ids=str)
def test_the_gradient_of_an_average_is_shared_out(device, rng, c, variant, dtype, include_pad):
    shape = (2, 3, *map(len, c.starts))
    g = rng.standard_normal(shape).astype(dtype)
    for divisor in (None, 7, -2):
        args = (2, 3, *c.size), *c.avg_args, include_pad, divisor
        got = K.avg_pool2d_backward(Array.from_numpy(g), *args, variant=variant).numpy()
        tolerance = 60 * np.finfo(dtype).eps  # as above
        np.testing.assert_allclose(got, avg_gradient(g, c, include_pad, divisor), rtol=0, atol=tolerance)


@examples
@given(c=cases(dilated=False), include_pad=st.booleans(), divisor=st.sampled_from([None, 3]))
def test_average_and_its_gradient_in_any_geometry(device, c, include_pad, divisor):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, 2, *c.size))
    expected = avg_reference(x, c, include_pad, divisor)
    g = rng.standard_normal(expected.shape)
    options = *c.avg_args, include_pad, divisor
    for variant in AVG:
        got = K.avg_pool2d(Array.from_numpy(x), *options, variant=variant).numpy()
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14, err_msg=variant)
    for variant in AVG_BACK:
        got = K.avg_pool2d_backward(Array.from_numpy(g), x.shape, *options, variant=variant).numpy()
        np.testing.assert_allclose(got, avg_gradient(g, c, include_pad, divisor), rtol=0, atol=1e-14, err_msg=variant)
        # adjoint: <avg x, g> = <x, backward g>
        assert abs((expected * g).sum() - (x * got).sum()) < 1e-12


@pytest.mark.parametrize("variant", AVG)
def test_a_nan_spoils_the_averages_of_its_windows_only(device, variant):
    x = np.zeros((1, 1, 6, 6), np.float32)
    x[0, 0, 2, 3] = np.nan
    got = K.avg_pool2d(Array.from_numpy(x), 2, variant=variant).numpy()
    assert np.isnan(got[0, 0, 1, 1]) and np.isnan(got).sum() == 1
