"""Losses of tensors: both derivatives, every kind of target, PyTorch's word."""

import itertools

import numpy as np
import pytest
from samples import Launches

import gpugrad as gg
from gpugrad.autograd import ops
from gpugrad.nn import functional as F

LOSSES = [ops.cross_entropy, ops.nll_loss]
REDUCTIONS = ["mean", "sum", "none"]
SHAPES = [(3, 4), (2, 3, 2), (1, 2, 2, 3), (4,)]


def problem(rng, shape):
    C = shape[1] if len(shape) > 1 else shape[0]
    x = rng.standard_normal(shape)
    target = np.asarray(rng.integers(0, C, () if len(shape) == 1 else (shape[0], *shape[2:])))
    return x, target, rng.uniform(0.5, 2, C)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradcheck_and_gradgradcheck(device, rng, loss, shape, reduction):
    x, target, weight = problem(rng, shape)
    x = gg.tensor(x, requires_grad=True)
    everything = {"weight": gg.tensor(weight)}
    if loss is ops.cross_entropy:
        everything["label_smoothing"] = 0.1
    if target.size > 1 and not (target == target.flat[0]).all():
        everything["ignore_index"] = int(target.flat[0])
    for options in ({}, everything):

        def f(x, options=options):
            return loss(x, target, reduction=reduction, **options)

        assert gg.gradcheck(f, (x,))
        assert gg.gradgradcheck(f, (x,))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_probabilities_and_scores(device, rng, reduction):
    x, _, weight = problem(rng, (2, 3, 4))
    target = gg.tensor(rng.dirichlet(np.ones(3), (2, 4)).swapaxes(1, 2), requires_grad=True)
    x = gg.tensor(x, requires_grad=True)
    for w in (None, gg.tensor(weight)):

        def f(x, target, w=w):
            return ops.cross_entropy(x, target, w, reduction=reduction, label_smoothing=0.2)

        assert gg.gradcheck(f, (x, target))
        assert gg.gradgradcheck(f, (x, target))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_squared_error(device, rng, reduction):
    a, b = (gg.tensor(rng.standard_normal((3, 4)), requires_grad=True) for _ in range(2))
    assert gg.gradcheck(lambda a, b: ops.mse_loss(a, b, reduction=reduction), (a, b))
    assert gg.gradgradcheck(lambda a, b: ops.mse_loss(a, b, reduction=reduction), (a, b))


def test_third_derivatives_of_cross_entropy(device, rng):
    x, target, _ = problem(rng, (3, 4))
    x = gg.tensor(x, requires_grad=True)

    def gradient(x):
        (g,) = gg.grad(ops.cross_entropy(x, target) ** 2, x, create_graph=True)
        return g

    assert gg.gradgradcheck(gradient, (x,))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_targets_that_are_all_ignored_have_derivatives_of_0(device, rng, shape):
    """Their mean is 0 / 0, NaN, and no score changes it."""
    x, target, _ = problem(rng, shape)
    x = gg.tensor(x, requires_grad=True)
    (first,) = gg.grad(ops.cross_entropy(x, np.zeros_like(target), ignore_index=0), x, create_graph=True)
    (second,) = gg.grad(first.sum(), x)
    assert not first.detach().numpy().any() and not second.numpy().any()


def test_cross_entropy_is_nll_loss_of_log_softmax(device, rng):
    x, target, weight = problem(rng, (7, 3, 5))
    x, w = gg.tensor(x), gg.tensor(weight)
    for reduction in REDUCTIONS:
        one = ops.cross_entropy(x, target, w, reduction=reduction, ignore_index=1)
        two = ops.nll_loss(ops.log_softmax(x, 1), target, w, reduction=reduction, ignore_index=1)
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-13)


def test_probabilities_of_one_class_are_that_class(device, rng):
    x, target, weight = problem(rng, (7, 3))
    x = gg.tensor(x)
    sure = gg.tensor(np.eye(3)[target])
    for smoothing in (0.0, 0.3):
        one = ops.cross_entropy(x, target, label_smoothing=smoothing)
        np.testing.assert_allclose(ops.cross_entropy(x, sure, label_smoothing=smoothing).item(), one.item(), rtol=1e-13)
        sums = [ops.cross_entropy(x, t, gg.tensor(weight), reduction="sum").item() for t in (target, sure)]
        np.testing.assert_allclose(*sums, rtol=1e-13)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.int8, np.uint16])
@pytest.mark.parametrize("loss", LOSSES)
def test_any_integers_are_labels(device, rng, loss, kind):
    x, target, _ = problem(rng, (5, 4))
    x = gg.tensor(x)
    expected = loss(x, target).item()
    assert loss(x, target.astype(kind)).item() == expected
    assert loss(x, gg.tensor(target.astype(kind))).item() == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_a_bad_label_raises_when_the_loss_is_read(device, rng, loss):
    x = gg.tensor(rng.standard_normal((3, 4)), requires_grad=True)
    value = loss(x, gg.tensor([0, 4, 1]))
    value.backward()
    with pytest.raises(IndexError, match=rf"{loss.__name__}: target is 4 at position 1; input has the classes 0\.\.3"):
        value.item()
    assert np.isfinite(value.item())
    assert (x.grad.numpy()[1] == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_batch_of_none(device, loss):
    x = gg.zeros(0, 4, requires_grad=True)
    target = np.zeros(0, np.int64)
    assert loss(x, target, reduction="sum").item() == 0
    assert np.isnan(loss(x, target).item())
    loss(x, target).backward()
    assert x.grad.shape == (0, 4)


def test_cross_entropy_takes_four_launches_and_one_for_the_ones_it_starts_from(device, rng):
    x, target, _ = problem(rng, (128, 10))
    x, target = gg.tensor(x, requires_grad=True), gg.tensor(target)
    with Launches() as launches:
        ops.cross_entropy(x, target).backward()
    forward, total, mean, ones, backward = [launch.kernel.name for launch in launches]
    assert (forward, mean, ones, backward) == ("cross_entropy", "cross_entropy_mean", "fill", "cross_entropy_backward")
    assert total.startswith("reduce_")


def test_squared_error(device):
    a, b = gg.tensor([1.0, 2.0, 4.0]), gg.tensor([1.0, 0.0, 5.0])
    assert ops.mse_loss(a, b, reduction="none").tolist() == [0, 4, 1]
    assert ops.mse_loss(a, b, reduction="sum").item() == 5
    assert ops.mse_loss(a, b).item() == np.float32(5 / 3)


def test_squared_error_of_different_shapes_warns(device):
    with pytest.warns(UserWarning, match=r"mse_loss: input has shape \(3, 1\) and target \(3,\)"):
        assert ops.mse_loss(gg.zeros(3, 1), gg.ones(3), reduction="none").shape == (3, 3)


def test_functional_has_them():
    assert (F.cross_entropy, F.nll_loss, F.mse_loss) == (ops.cross_entropy, ops.nll_loss, ops.mse_loss)


def x32(*shape):
    return gg.zeros(*shape)


BAD = [
    (lambda: ops.cross_entropy([1.0], np.array([0])), TypeError, "cross_entropy: input is list; it must be a tensor"),
    (lambda: ops.cross_entropy(x32(2, 3), [0, 1]), TypeError, "cross_entropy: target is list; it must be a tensor"),
    (lambda: ops.nll_loss(x32(2, 3), np.zeros(2)), TypeError, "nll_loss: target is an array of float64; class numbers"),
    (lambda: ops.nll_loss(x32(2, 3), x32(2, 3)), TypeError, "nll_loss: target is float32; it must be class numbers"),
    (lambda: ops.cross_entropy(x32(2, 3), gg.zeros(2) == 0), TypeError, r"target is bool; convert it with \.to"),
    (lambda: ops.cross_entropy(x32(2, 3), x32(2)), ValueError, r"target has shape \(2,\); as probabilities"),
    (
        lambda: ops.cross_entropy(x32(2, 3), np.zeros(3, int)),
        ValueError,
        r"target has shape \(3,\); input is .* \(2,\)",
    ),
    (lambda: ops.cross_entropy(x32(2, 3), x32(2, 3), gg.ones(2)), ValueError, r"weight has shape \(2,\); .* 3 classes"),
    (lambda: ops.cross_entropy(x32(2, 3), x32(2, 3), gg.ones(1)), ValueError, r"weight has shape \(1,\); .* 3 classes"),
    (lambda: ops.cross_entropy(x32(2, 3), x32(2, 3), gg.ones(3, dtype=gg.int32)), TypeError, "weight is int32, input"),
    (lambda: ops.mse_loss(x32(2, 3), x32(2, 4)), ValueError, r"mse_loss: shapes \(2, 3\) and \(2, 4\) do not"),
    (lambda: ops.cross_entropy(x32(2, 3), x32(2, 3), ignore_index=1), ValueError, "ignore_index is for class numbers"),
    (lambda: ops.cross_entropy(x32(2, 3), gg.zeros(2, 3, dtype=gg.float64)), TypeError, "target is float64, input is"),
    (
        lambda: ops.cross_entropy(x32(2, 3), np.zeros(2, int), gg.ones(3, requires_grad=True)),
        TypeError,
        r"weight requires a gradient.*weight\.detach\(\)",
    ),
    (
        lambda: ops.cross_entropy(x32(2, 3), np.zeros(2, int), [1, 1, 1]),
        TypeError,
        "weight is list; it must be a tensor",
    ),
    (lambda: ops.cross_entropy(x32(2, 3), np.array([0, 2**40])), ValueError, "int32 holds"),
    (lambda: ops.mse_loss(x32(2), x32(2), reduction="max"), ValueError, "mse_loss: reduction is 'max'"),
    (lambda: ops.mse_loss(x32(2), 1.0), TypeError, "mse_loss: target is float; it must be a tensor"),
    (
        lambda: ops.mse_loss(x32(2), gg.tensor([1, 2])),
        TypeError,
        "mse_loss: target is int32; it must be floating point",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_pytorch(device, rng, loss, shape):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, target, weight = problem(rng, shape)
    theirs_of = getattr(torch.nn.functional, loss.__name__)
    smoothings = (0.0, 0.1) if loss is ops.cross_entropy else (0.0,)
    for reduction, weighted, ignore, smoothing in itertools.product(REDUCTIONS, (0, 1), (-100, 1), smoothings):
        if ignore == 1 and (target == 1).all():
            continue
        more = {"label_smoothing": smoothing} if smoothing else {}
        more.update(ignore_index=ignore, reduction=reduction)
        ours, theirs = gg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        a = loss(ours, target, gg.tensor(weight) if weighted else None, **more)
        b = theirs_of(theirs, torch.tensor(target), torch.tensor(weight) if weighted else None, **more)
        assert a.shape == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-13)
        g = rng.standard_normal(a.shape)
        a.backward(gg.tensor(g))
        b.backward(torch.tensor(g))
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-14)
