"""Tensor: how one is made, what it is on the host, copies, its gradient set by hand, and what it refuses."""

import copy
import io
import math
import pickle

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.nn import Parameter

# Making


@pytest.mark.parametrize(
    "data, dtype",
    [
        (1, "int32"),
        (1.5, "float32"),
        (True, "bool"),
        ([1, 2], "int32"),
        ([1, 2.0], "float32"),
        ([[True], [False]], "bool"),
        ([], "float32"),
        (np.zeros((2, 3)), "float64"),
        (np.float64(2), "float64"),
        (np.zeros(2, np.float32), "float32"),
        (np.zeros(2, np.int64), "int32"),
        (np.zeros(2, np.uint8), "uint8"),
        (np.zeros(2, np.float16), "float16"),
    ],
)
def test_the_dtype_of_data(device, data, dtype):
    x = gg.tensor(data)
    assert x.dtype == dtype and x.device is device
    np.testing.assert_array_equal(x.numpy(), np.asarray(data))


def test_a_tensor_of_a_tensor_is_a_copy(device):
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = gg.tensor(x)
    y.zero_()
    assert not y.requires_grad and x.tolist() == [1, 2]
    a = np.ones(3, np.float32)
    z = gg.from_numpy(a)
    a[0] = 7
    assert z.tolist() == [1, 1, 1]


def test_filled_tensors(device):
    for x, want in (
        (gg.zeros(2, 3), np.zeros((2, 3), np.float32)),
        (gg.zeros((2, 3), dtype=gg.int32), np.zeros((2, 3), np.int32)),
        (gg.ones([4]), np.ones(4, np.float32)),
        (gg.ones(()), np.ones((), np.float32)),
        (gg.full((2,), 7), np.full(2, 7, np.int32)),
        (gg.full((2,), 7.5), np.full(2, 7.5, np.float32)),
        (gg.full((2,), True), np.full(2, True)),
        (gg.full((0, 2), math.nan), np.full((0, 2), np.nan, np.float32)),
        (gg.zeros_like(gg.ones(2, dtype=gg.float64)), np.zeros(2)),
        (gg.ones_like(gg.zeros(2), dtype=gg.uint8), np.ones(2, np.uint8)),
        (gg.full_like(gg.zeros(2), 3), np.full(2, 3, np.float32)),
    ):
        assert x.dtype == want.dtype and x.shape == want.shape
        np.testing.assert_array_equal(x.numpy(), want)
    assert gg.zeros(2, requires_grad=True).requires_grad


@pytest.mark.parametrize("args", [(5,), (2, 7), (1, 8, 3), (8, 1, -3), (0.5,), (0, 1, 0.25), (3, 3), (-2.0, 2)])
def test_arange_counts_as_numpy_does(device, args):
    got, want = gg.arange(*args), np.arange(*args)
    assert got.dtype == (np.int32 if want.dtype.kind == "i" else np.float32)
    np.testing.assert_array_equal(got.numpy(), want.astype(got.dtype))


def test_mistakes_in_making(device):
    cases = [
        (TypeError, "only floating-point tensors have gradients", lambda: gg.tensor([1], requires_grad=True)),
        (ValueError, "ragged", lambda: gg.tensor([[1], [1, 2]])),
        (TypeError, "cannot become a tensor", lambda: gg.tensor("text")),
        (TypeError, "cannot become a tensor", lambda: gg.tensor([1j])),
        (TypeError, "gpugrad has float16", lambda: gg.tensor([1.0], dtype="float128")),
        (ValueError, "int32 holds", lambda: gg.tensor([2**31])),
        (TypeError, "from_numpy: a is list", lambda: gg.from_numpy([1])),
        (TypeError, "zeros: size is .*; sizes are integers", lambda: gg.zeros(2.0)),
        (TypeError, "sizes are integers", lambda: gg.zeros("2")),
        (TypeError, "sizes are integers", lambda: gg.ones(True)),
        (ValueError, "negative", lambda: gg.zeros(-1)),
        (ValueError, "has .* elements", lambda: gg.zeros(2**16, 2**16)),
        (TypeError, "fill_value is", lambda: gg.full((2,), "1")),
        (TypeError, r"full: size is 2; it must be a tuple of integers, such as \(2,\)", lambda: gg.full(2, 1)),
        (ValueError, "uint8 holds 0 to 255", lambda: gg.full((2,), 256, dtype=gg.uint8)),
        (ValueError, "int32 holds", lambda: gg.full((2,), 2**31)),
        (TypeError, "zeros_like: input is list", lambda: gg.zeros_like([1])),
        (ValueError, "step is 0", lambda: gg.arange(0, 1, 0)),
        (ValueError, "sign of step", lambda: gg.arange(0, 5, -1)),
        (ValueError, "must be finite", lambda: gg.arange(0, math.inf)),
        (TypeError, "make one with gpugrad.tensor", lambda: gg.Tensor([1.0])),
        (ValueError, "arange: .* elements", lambda: gg.arange(10**12)),
        (ValueError, "int32 holds", lambda: gg.arange(2**31, 2**31 + 3)),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


# What it is


def test_what_a_tensor_says_of_itself(device):
    x = gg.zeros(2, 3)
    assert (x.shape, x.ndim, x.dim(), x.numel(), x.size(), x.size(1), len(x)) == ((2, 3), 2, 2, 6, (2, 3), 3, 2)
    assert x.is_leaf and x.grad is None and x.grad_fn is None and not x.requires_grad
    y = gg.ones(2, requires_grad=True) * 2
    assert not y.is_leaf and "Mul" in repr(y.grad_fn)
    with pytest.raises(TypeError, match="0-d"):
        len(gg.tensor(1))


def test_requires_grad_is_checked_when_it_is_set(device):
    x = gg.zeros(2)
    x.requires_grad = True
    assert x.requires_grad and (x * 2).requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad and x.requires_grad_().requires_grad
    with pytest.raises(TypeError, match="only floating-point"):
        gg.tensor([1]).requires_grad = True
    with pytest.raises(gg.AutogradError, match=r"\.detach\(\)"):
        (x * 2).requires_grad = False


def test_to_takes_another_tensors_type_and_an_array_is_no_dtype(device):
    x, half = gg.tensor([1, 2]), gg.ones(3, dtype=gg.float16)
    assert x.to(half).dtype == gg.float16
    assert x.to(half).device is half.device
    for wrong in (half, half.array, np.ones(2, np.float32), np.float32(2)):
        with pytest.raises(TypeError, match=f"dtype is a {type(wrong).__name__}; gpugrad has float16"):
            gg.zeros(2, dtype=wrong)
    with pytest.raises(TypeError, match="dtype is a Tensor"):
        gg.tensor([1, 2], half)  # what stands second is the dtype


def test_repr_is_pytorchs_in_form(device):
    assert repr(gg.tensor([1.0, 2.5])) == "tensor([1. , 2.5])"
    assert repr(gg.tensor([1, 2])) == "tensor([1, 2])"
    assert repr(gg.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(gg.tensor(np.zeros(1))) == "tensor([0.], dtype=float64)"
    assert repr(gg.tensor([1.0], requires_grad=True) * 2) == "tensor([2.], grad_fn=<MulBackward>)"
    assert "..." in repr(gg.zeros(1000))


def test_one_element_is_a_number(device):
    x = gg.tensor([[2.5]])
    assert x.item() == 2.5 and float(x) == 2.5 and int(x) == 2 and bool(x)
    assert f"{x:.3f}" == "2.500" and f"{x}" == "tensor([[2.5]])"
    assert [10, 20, 30][gg.tensor(1)] == 20
    assert not gg.tensor(0.0)
    for call in (
        lambda: gg.zeros(2).item(),
        lambda: float(gg.zeros(0)),
        lambda: bool(gg.zeros(2)),
        lambda: f"{gg.zeros(2):.2f}",
    ):
        with pytest.raises(ValueError):
            call()
    for not_an_index in (gg.tensor(1.0), gg.tensor([1, 2])):
        with pytest.raises(TypeError, match="is not an index"):
            [10, 20, 30][not_an_index]


def test_a_tensor_on_the_host(device):
    x = gg.tensor([[1.0, 2.0]])
    assert x.tolist() == [[1.0, 2.0]]
    np.testing.assert_array_equal(np.asarray(x), [[1, 2]])
    assert np.asarray(x, np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.sqrt(x), np.sqrt(np.float32([[1, 2]])))
    x.requires_grad_()
    with pytest.raises(gg.AutogradError, match=r"\.detach\(\)"):
        x.numpy()
    with pytest.raises(gg.AutogradError):
        np.asarray(x)
    assert x.tolist() == [[1.0, 2.0]] and x.detach().numpy().tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match="copy"):
        np.array(x.detach(), copy=False)


def test_tensors_hash_by_identity_and_compare_by_element(device):
    x, y = gg.zeros(2), gg.zeros(2)
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1
    assert (x == y).tolist() == [True, True]
    assert ((x < 1) & ~(y > 1) | (x != 0) ^ (y == 5)).tolist() == [True, True]
    assert ((x < 1) & True).tolist() == (True & (x < 1)).tolist() == [True, True]


def test_iteration_goes_along_the_first_axis(device):
    rows = list(gg.tensor([[1, 2], [3, 4]]))
    assert [r.tolist() for r in rows] == [[1, 2], [3, 4]]
    a, b = gg.tensor([5.0, 6.0])
    assert (a.item(), b.item()) == (5, 6)
    with pytest.raises(TypeError, match="0-d"):
        iter(gg.tensor(1))


# Copies


def test_pickle_and_deepcopy_make_leaves(device):
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.requires_grad and twin.is_leaf and twin.tolist() == [1, 2]
        with gg.no_grad():
            twin.add_(1)
    assert x.tolist() == [1, 2]
    twin = copy.deepcopy(x)
    twin.grad.zero_()
    assert x.grad.tolist() == [2, 4]
    both = copy.deepcopy([x, x])
    assert both[0] is both[1]
    assert pickle.loads(pickle.dumps(gg.tensor([1, 2]))).dtype == gg.int32
    parameter = Parameter(gg.ones(2))
    assert isinstance(copy.deepcopy(parameter), Parameter)
    assert isinstance(pickle.loads(pickle.dumps(parameter)), Parameter)
    for refuse in (copy.deepcopy, lambda t: pickle.dump(t, io.BytesIO())):
        with pytest.raises(gg.AutogradError, match="detach"):
            refuse(x * 2)


# PyTorch's ways of saying it


def test_sizes_and_axes_can_be_given_by_name(device):
    x = gg.ones(2, 3)
    assert [f(size=(2, 3)).shape for f in (gg.zeros, gg.ones, gg.rand, gg.randn)] == [(2, 3)] * 4
    assert x.reshape(shape=(3, 2)).shape == x.view(size=(3, 2)).shape == x.permute(dims=(1, 0)).shape == (3, 2)
    assert x.expand(size=(4, 2, 3)).shape == (4, 2, 3) and x.flip(dims=(0,)).shape == (2, 3)
    for twice in (lambda: x.reshape(6, shape=(6,)), lambda: gg.zeros(2, size=(2,)), lambda: x.permute(0, 1, dims=1)):
        with pytest.raises(TypeError, match="is given twice"):
            twice()
    with pytest.raises(TypeError, match="zeros: size is 3; by name it is a tuple"):
        gg.zeros(size=3)


def test_alpha_is_a_factor_of_the_other(device):
    x, y = gg.tensor([1.0, 2.0]), gg.tensor([10.0, 20.0], requires_grad=True)
    assert gg.add(x, y, alpha=2).tolist() == x.add(y, alpha=2).tolist() == [21, 42]
    assert gg.sub(x, y, alpha=0.5).tolist() == x.sub(y, alpha=0.5).tolist() == [-4, -8]
    assert x.add(3, alpha=2).tolist() == [7, 8]
    with gg.no_grad():
        assert x.clone().add_(y, alpha=-1).tolist() == [-9, -18] and x.clone().sub_(y, alpha=2).tolist() == [-19, -38]
    x.clone().add_(y, alpha=3).sum().backward()
    assert y.grad.tolist() == [3, 3]
    i = gg.tensor([1, 2])
    assert i.add(i, alpha=2).tolist() == [3, 6] and i.add(i, alpha=2).dtype == gg.int32
    with pytest.raises(TypeError, match=r"add: alpha is 0.5; beside int32 it must be an integer"):
        i.add(i, alpha=0.5)
    with pytest.raises(TypeError, match=r"sub_: alpha is str; it must be a number"):
        x.sub_(x, alpha="a")


def test_max_and_min_of_two_tensors_are_maximum_and_minimum(device):
    x, y = gg.tensor([1.0, 5.0]), gg.tensor([3.0, 4.0])
    assert gg.max(x, y).tolist() == x.max(y).tolist() == [3, 5]
    assert gg.min(x, y).tolist() == x.min(y).tolist() == [1, 4]
    with pytest.raises(TypeError, match="max: keepdim is True"):
        gg.max(x, y, True)


def test_a_tensor_is_unequal_to_what_no_element_can_be_compared_with():
    class Anything:
        def __eq__(self, other):
            return "mine"

    x = gg.tensor([1.0, 2.0])
    for other in (None, "1", Anything):
        assert (x == other) is False and (other == x) is False
        assert (x != other) is True and (other != x) is True
    assert (x == Anything()) == "mine" and x in [None, "1", x]
    assert (x == 1).tolist() == [True, False] and (x != np.float32(1)).tolist() == [False, True]
    for data in ([1, 2], (1, 2), np.ones(2)):
        with pytest.raises(TypeError, match=r"gpugrad\.tensor\(\.\.\.\) makes one of it"):
            x == data  # noqa: B015


# Gradients that are set by hand


def test_grad_takes_what_fits_and_adds_to_it(device):
    x = gg.ones(2, 2, requires_grad=True)
    for given in (gg.tensor([[1.0, 2.0], [3.0, 4.0]]).T, gg.ones(3, 2, 2)[1]):
        want = given.numpy() + 5
        x.grad = given
        (x * 5).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), want)
        x.grad.mul_(0)
    kept = gg.zeros(2, 2)
    x.grad = kept
    assert x.grad is kept
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (lambda x: gg.ones(3), ValueError, r"grad: the gradient is float32\(3,\); it must be like .* float32\(2, 2\)"),
        (lambda x: gg.ones(2, 2, dtype=gg.float64), ValueError, "grad: the gradient is float64"),
        (lambda x: np.ones((2, 2)), TypeError, "grad: the gradient is ndarray; it must be a tensor or None"),
        (lambda x: x, ValueError, "its own gradient"),
    ],
)
def test_grad_refuses_what_does_not_fit(device, value, error, match):
    x = gg.ones(2, 2, requires_grad=True)
    with pytest.raises(error, match=match):
        x.grad = value(x)
    assert x.grad is None


@pytest.mark.parametrize("f", [lambda x: x.mean(), lambda x: gg.cat([x, x]).sum(), lambda x: x.T.sum()])
def test_gradients_of_grad_are_the_callers_to_change(device, f):
    x = gg.ones(2, 2, requires_grad=True)
    (g,) = gg.grad(f(x), x)
    before = g.tolist()
    g.add_(1)
    assert g.tolist() == [[v + 1 for v in row] for row in before]


def test_backward_notices_that_a_saved_tensor_was_changed(device):
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(gg.AutogradError, match=r"Mul.*changed in place"):
        z.sum().backward()
    y = x * 1
    z = y + y  # saves nothing
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_lost_device_is_named(device):
    x = gg.zeros(2)
    device.lost = "the context died in this test"
    try:
        for call in (lambda: x + 1, lambda: x.add_(1), lambda: x.numpy(), lambda: x.reshape(2) * x, lambda: x.tolist()):
            with pytest.raises(gg.DeviceLost):
                call()
    finally:
        device.lost = None


# The package


def test_everything_the_stub_offers_is_there():
    for name in gg._OFFERED:
        assert getattr(gg, name) is not None, name
    assert set(gg._OFFERED) <= set(dir(gg))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gg.nothing  # noqa: B018
