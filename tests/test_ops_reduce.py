"""Reductions of tensors: values, first and second derivatives, PyTorch's conventions for ties and NaN."""

import math

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.autograd import ops

CASES = {
    "sum": lambda x: x.sum(),
    "sum over an axis": lambda x: x.sum(1),
    "sum over several": lambda x: x.sum((0, 2)),
    "sum, keepdim": lambda x: x.sum((1, -1), keepdim=True),
    "mean": lambda x: x.mean(),
    "mean over an axis": lambda x: x.mean(0),
    "mean over several, keepdim": lambda x: x.mean((0, 2), keepdim=True),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "max over an axis": lambda x: x.max(1).values,
    "max over an axis, keepdim": lambda x: x.max(-1, keepdim=True)[0],
    "min over an axis": lambda x: x.min(0)[0],
    "amax over several": lambda x: x.amax((0, 2)),
    "amin, keepdim": lambda x: x.amin(1, keepdim=True),
    "var": lambda x: x.var(),
    "var over an axis": lambda x: x.var(1, correction=0),
    "var over several, keepdim": lambda x: x.var((0, 1), keepdim=True),
}


def distinct(rng, shape):
    """Numbers no two of which are near each other: a difference of 1e-6 does not change which is the largest."""
    return rng.permutation(np.prod(shape)).reshape(shape) + rng.uniform(0, 0.5, shape)


@pytest.mark.parametrize("name", CASES)
def test_gradcheck_and_gradgradcheck(device, rng, name):
    x = gg.tensor(distinct(rng, (3, 4, 2)), requires_grad=True)
    # Squared, so that the second derivative is not 0 throughout.
    for op in (CASES[name], lambda x: CASES[name](x * x / 10)):
        assert gg.gradcheck(op, (x,))
        assert gg.gradgradcheck(op, (x,))


def numpy_var(a, axis=None, keepdims=False, ddof=1):
    return a.var(axis=axis, keepdims=keepdims, ddof=ddof)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_agree_with_numpy(device, rng, name, dim, keepdim, dtype):
    x = rng.standard_normal((3, 5, 4)).astype(dtype)
    got = getattr(gg.tensor(x), name)(dim, keepdim).numpy()
    reference = numpy_var if name == "var" else getattr(np, name)
    expected = reference(x.astype(np.float64), axis=dim or None if dim == () else dim, keepdims=keepdim)
    assert got.dtype == dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=60 * np.finfo(dtype).eps)  # 60 numbers of about 1


def test_max_along_an_axis_names_values_and_indices(device):
    x = gg.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 0.0]])
    found = x.max(1)
    assert found.values.tolist() == [5, 7] and found.indices.tolist() == [1, 0]
    assert found.indices.dtype == gg.int32 and not found.indices.requires_grad
    values, indices = x.min(dim=0, keepdim=True)
    assert values.tolist() == [[1, 2, 0]] and indices.tolist() == [[0, 1, 1]]
    assert gg.tensor(3.0).max(0) == (3.0, 0)


def test_argmax_along_an_axis_and_of_everything(device):
    x = gg.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 0.0]])
    assert x.argmax().item() == 3 and x.argmax(1).tolist() == [1, 0] and x.argmax(0, True).tolist() == [[1, 0, 0]]
    assert x.argmin().item() == 5 and x.argmin(-1).tolist() == [0, 2]
    assert gg.tensor(3.0).argmax().item() == 0


def test_integers_sum_to_int32_and_have_no_mean(device):
    x = gg.tensor(np.array([[200, 100], [3, 4]], np.uint8))
    assert x.sum().dtype == gg.int32 and x.sum().item() == 307
    assert (x > 50).sum().item() == 2
    assert x.max().item() == 200 and x.max().dtype == gg.uint8
    assert gg.tensor(np.array(7, np.uint8)).sum().dtype == gg.int32
    with pytest.raises(TypeError, match=r"mean: input is uint8.*dtype=gpugrad.float32"):
        x.mean()
    assert x.mean(dtype=gg.float32).item() == 76.75
    assert x.sum(0, dtype=gg.float64).dtype == gg.float64


def gradient(x, op):
    x = gg.tensor(x, requires_grad=True)
    op(x).sum().backward()
    return x.grad.tolist()


def test_along_an_axis_the_first_of_equals_gets_the_gradient(device):
    x = [[1.0, 5.0, 5.0], [7.0, 7.0, 0.0]]
    assert gradient(x, lambda x: x.max(1)[0]) == [[0, 1, 0], [1, 0, 0]]
    assert gradient(x, lambda x: x.min(0)[0]) == [[1, 1, 0], [0, 0, 1]]


def test_over_several_axes_equals_share_the_gradient(device):
    x = [[1.0, 7.0, 5.0], [7.0, 2.0, 7.0]]
    assert gradient(x, lambda x: 3 * x.max()) == [[0, 1, 0], [1, 0, 1]]
    assert gradient(x, lambda x: x.amax(1)) == [[0, 1, 0], [0.5, 0, 0.5]]
    assert gradient(x, lambda x: x.amin(0)) == [[1, 0, 1], [0, 1, 0]]


def test_a_nan_gets_the_gradient_of_max_and_spoils_that_of_amax(device):
    nan = float("nan")
    assert gradient([1.0, nan, 3.0], lambda x: x.max()) == [0, 1, 0]
    assert gradient([1.0, nan, 3.0], lambda x: x.max(0)[0]) == [0, 1, 0]
    assert np.isnan(gradient([1.0, nan, 3.0], lambda x: x.amax(0))).all()


def test_sum_saves_nothing_and_max_only_indices(device):
    x = gg.tensor(np.ones((3, 4)), requires_grad=True)
    assert x.sum().grad_fn.saved_tensors == () and x.mean(0).grad_fn.saved_tensors == ()
    (indices,) = x.max(0).values.grad_fn.saved_tensors
    assert indices.dtype == gg.int32


def test_what_needs_an_element_refuses_an_empty_tensor(device):
    x = gg.zeros(2, 0, 3)
    calls = [x.max, x.min, x.amax, x.amin, x.argmax, x.argmin, lambda: x.max(1), lambda: x.amin((0, 1))]
    for name, call in zip(["max", "min", "amax", "amin", "argmax", "argmin", "max", "amin"], calls):
        with pytest.raises(ValueError, match=rf"{name}: input has shape \(2, 0, 3\) and nothing to choose from"):
            call()
    assert x.amax(0).shape == (0, 3) and x.max(2).values.shape == (2, 0)


def test_over_nothing_a_sum_is_0_and_a_mean_nan_and_gradients_are_empty(device):
    x = gg.zeros(2, 0, requires_grad=True)
    assert x.sum(1).tolist() == [0, 0] and np.isnan(x.mean(1).detach().numpy()).all()
    (x.sum() + x.mean()).backward()
    assert x.grad.shape == (2, 0)


def test_a_variance_without_freedom_is_nan_or_infinite(device):
    assert np.isnan(gg.tensor([2.0]).var().item())
    assert gg.tensor([1.0, 2.0]).var(correction=2).item() == np.inf


def test_a_variance_of_numbers_far_from_0_keeps_its_digits(device):
    x = gg.tensor(np.array([10000.0, 10001.0, 10002.0], np.float32))
    assert x.var().item() == 1  # as mean of squares minus square of mean it would be 0 or 8


BAD = [
    (lambda x: x.sum(3), IndexError, "sum: dim is 3; an input of 2 dimensions has dim -2 to 1"),
    (lambda x: x.mean((0, 0)), ValueError, r"mean: dim is \(0, 0\); it names an axis twice"),
    (lambda x: x.max((0, 1)), TypeError, r"max: dim is \(0, 1\); it must be an integer"),
    (lambda x: x.amax("0"), TypeError, "amax: dim is '0'; it must be an integer"),
    (lambda x: x.argmax(1.5), TypeError, "argmax: dim is 1.5"),
    (lambda x: x.var(correction=10**400), ValueError, "var: correction has 401 digits"),
    (lambda x: x.add(x, alpha=10**400), ValueError, "add: alpha has 401 digits"),
    (lambda x: x.var(correction="1"), TypeError, "var: correction is '1'; it must be a number"),
    (lambda x: x.to(gg.int32).var(), TypeError, "var: input is int32"),
    (lambda x: ops.sum([1, 2]), TypeError, "sum: input is list; it must be a tensor"),
    (lambda x: ops.max(3.0), TypeError, "max: input is float; it must be a tensor"),
    (lambda x: x.max([0]), TypeError, r"max: dim is \[0\]"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call(gg.zeros(2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_pytorch(device, rng, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = rng.integers(-3, 4, (3, 4, 5)).astype(dtype)  # with ties
    for name, call in CASES.items():
        ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        a, b = call(ours), call(theirs)
        assert a.shape == tuple(b.shape), name
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=16 * np.finfo(dtype).eps)
        if name in ("max over an axis", "max over an axis, keepdim", "min over an axis"):
            continue  # which of equals PyTorch takes along an axis is not defined
        g = rng.standard_normal(a.shape).astype(dtype)
        a.backward(gg.tensor(g))
        b.backward(torch.tensor(g))
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=64 * np.finfo(dtype).eps, err_msg=name)


@pytest.mark.parametrize("correction", [math.nan, math.inf])
def test_a_correction_that_is_no_number_of_elements_is_refused(device, correction):
    with pytest.raises(ValueError, match=r"var: correction is .*; it must be finite"):
        gg.ones(3).var(correction=correction)
