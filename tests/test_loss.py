"""Cross-entropy's kernels against plain loops in float64; labels that are no class."""

import itertools
import math

import numpy as np
import pytest

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.kernels.cross_entropy import Options, class_weights, cross_entropy, cross_entropy_backward

FLOATS = [np.float32, np.float64]
SHAPES = [(1, 1), (7, 5), (130, 3), (3, 4, 6), (2, 3, 5, 7), (1, 70)]


def labels(rng, shape, dtype=np.int32):
    return rng.integers(0, shape[1], (shape[0], *shape[2:])).astype(dtype)


def reference(x, target, weight, ignore, smoothing):
    """(losses, weights that count, gradients of losses) in float64, one position after another."""
    x = x.astype(np.float64)
    C = x.shape[1]
    w = np.ones(C) if weight is None else weight.astype(np.float64)
    losses, counted, gradients = np.zeros(target.shape), np.zeros(target.shape), np.zeros(x.shape)
    for position in np.ndindex(target.shape):
        at = (position[0], slice(None), *position[1:])
        scores, t = x[at], int(target[position])
        if t == ignore:
            continue
        m = max(scores)
        log_s = math.log(math.fsum(math.exp(a - m) for a in scores))
        log_p = [a - m - log_s for a in scores]
        q = [smoothing / C * w[c] + (1 - smoothing) * w[t] * (c == t) for c in range(C)]
        losses[position] = -math.fsum(a * b for a, b in zip(q, log_p))
        counted[position] = w[t]
        gradients[at] = [math.exp(log_p[c]) * math.fsum(q) - q[c] for c in range(C)]
    return losses, counted, gradients


def together(losses, counted, reduction):
    """The loss, and what each position's loss counts in it."""
    if reduction == "none":
        return losses, np.ones(losses.shape)
    if reduction == "sum":
        return losses.sum(), np.ones(losses.shape)
    return losses.sum() / counted.sum(), np.full(losses.shape, 1 / counted.sum())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_gradient_agree_with_the_definition(device, rng, shape, reduction, dtype):
    x = (3 * rng.standard_normal(shape)).astype(dtype)
    eps, C = np.finfo(dtype).eps, shape[1]
    for weighted, ignore, smoothing, kind in itertools.product((0, 1), (-100, 0), (0.0, 0.2), (np.int32, np.uint8)):
        target = labels(rng, shape, kind)
        if C == 1 and ignore == 0:
            continue  # nothing would count
        if ignore == 0 and not target.any():
            target.flat[0] = 1
        weight = rng.uniform(0.5, 2, C).astype(dtype) if weighted else None
        options = Options(ignore, reduction, smoothing)
        on_device = [Array.from_numpy(a) if a is not None else None for a in (x, target, weight)]
        found = cross_entropy(*on_device, options)
        losses, counted, gradients = reference(x, target, weight, ignore, smoothing)
        loss, share = together(losses, counted, reduction)
        # Of each loss C + 10 roundings, exp's own 4, 2 of the distance between its scores; 16 of a tree's sum
        atol = 2 * eps * np.ptp(x, 1).max() * counted.max() * (target.size if reduction == "sum" else 1)
        np.testing.assert_allclose(found.loss.numpy(), loss, rtol=(C + 14 + 16) * eps, atol=atol)
        assert found.loss.dtype == dtype

        g = np.asarray(rng.standard_normal(loss.shape), dtype)
        got = cross_entropy_backward(Array.from_numpy(g), *on_device, found, options).numpy()
        factor = np.expand_dims(np.broadcast_to(g * share, target.shape), 1)
        np.testing.assert_allclose(got, gradients * factor, rtol=0, atol=(2 * C + 100) * eps * np.abs(factor).max())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ignored_positions_count_nothing_whatever_is_there(device, reduction):
    x = np.array([[1, 2, 3], [np.nan, np.inf, 0], [3, 2, 1]], np.float32)
    target = np.array([0, 1, 2], np.int32)
    options = Options(1, reduction)
    arrays = Array.from_numpy(x), Array.from_numpy(target), None
    found = cross_entropy(*arrays, options)
    losses, counted, _ = reference(x[[0, 2]], target[[0, 2]], None, 1, 0)
    expected = np.insert(losses, 1, 0) if reduction == "none" else together(losses, counted, reduction)[0]
    np.testing.assert_allclose(found.loss.numpy(), expected, rtol=1e-6)  # 8 roundings
    g = Array.from_numpy(np.ones(found.loss.shape, np.float32))
    gx = cross_entropy_backward(g, *arrays, found, options).numpy()
    assert (gx[1] == 0).all() and np.isfinite(gx).all()


def test_mass_is_what_the_classes_count_together_and_0_where_nothing_counts(device):
    target, weight = np.array([0, 7, 2, 1], np.int32), np.array([1, 2, 4], np.float32)
    arrays = [Array.from_numpy(a) for a in (np.zeros((4, 3), np.float32), target, weight)]
    found = cross_entropy(*arrays, Options(ignore_index=7, label_smoothing=0.25))
    # 3/4 of the target's weight, and a quarter of the mean weight, 7 / 3
    expected = np.array([0.75, 0, 3, 1.5]) + 7 / 12 * (target != 7)
    np.testing.assert_allclose(found.mass.numpy(), expected, rtol=1e-6)


def test_the_mean_of_no_losses_is_nan_and_their_sum_0(device):
    x, target = Array.empty((0, 3)), Array.empty((0,), np.int32)
    assert np.isnan(cross_entropy(x, target).loss.numpy())
    assert cross_entropy(x, target, None, Options(reduction="sum")).loss.numpy() == 0
    assert cross_entropy(x, target, None, Options(reduction="none")).loss.numpy().shape == (0,)
    everything = Array.from_numpy(np.zeros(2, np.int32))
    assert np.isnan(
        cross_entropy(Array.from_numpy(np.zeros((2, 3), np.float32)), everything, None, Options(0)).loss.numpy()
    )


def test_huge_scores_neither_overflow_nor_lose_their_digits(device):
    x = np.array([[1e4, 1e4 - 1, -1e4], [2e38, 0, -1e38], [0, -200, 0], [-1e4, -1e4 - 1, -1e5]], np.float32)
    target = np.array([1, 0, 1, 0], np.int32)
    found = cross_entropy(Array.from_numpy(x), Array.from_numpy(target), None, Options(reduction="none"))
    losses, _, gradients = reference(x, target, None, -100, 0)
    np.testing.assert_allclose(found.loss.numpy(), losses, rtol=1e-6)
    g = Array.from_numpy(np.ones(4, np.float32))
    gx = cross_entropy_backward(
        g, Array.from_numpy(x), Array.from_numpy(target), None, found, Options(reduction="none")
    )
    np.testing.assert_allclose(gx.numpy(), gradients, atol=1e-6)


def test_minus_infinity_rules_a_class_out(device):
    x = Array.from_numpy(np.array([[0, -np.inf, 1]], np.float32))
    assert cross_entropy(x, Array.from_numpy(np.array([1], np.int32))).loss.numpy() == np.inf
    found = cross_entropy(x, Array.from_numpy(np.array([0], np.int32)))
    np.testing.assert_allclose(found.loss.numpy(), math.log(1 + math.e), rtol=1e-6)


@pytest.mark.large
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_mean_of_many_equal_losses_is_that_loss(device, dtype):
    n = 100_003
    x = Array.from_numpy(np.zeros((n, 2), dtype))
    got = cross_entropy(x, Array.from_numpy(np.zeros(n, np.int32))).loss.numpy()
    assert abs(got - math.log(2)) <= 8 * np.finfo(dtype).eps  # a plain loop in float32 is 1e-5 off


@pytest.mark.large
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_many_classes_with_equal_scores_keep_their_digits(device, smoothing):
    C = 200_003
    x = np.full((1, C), -0.1, np.float32)
    x[0, 7] = 0
    found = cross_entropy(
        Array.from_numpy(x), Array.from_numpy(np.array([7], np.int32)), None, Options(label_smoothing=smoothing)
    )
    log_s = math.log(1 + (C - 1) * math.exp(float(x[0, 0])))
    expected = log_s - smoothing * (C - 1) / C * float(x[0, 0])
    # log makes the sum's relative error an absolute one; the smoothed share of the loss is a sum of C terms itself
    roundings = (256 + C / 256 + 14) * (1 + smoothing * expected) + 4 * expected
    assert abs(found.loss.numpy() - expected) <= roundings * np.finfo(np.float32).eps


# Labels that are no class


@pytest.mark.parametrize(("bad", "kind"), [(5, np.int32), (-1, np.int32), (2**31 - 1, np.int32), (200, np.uint8)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_bad_label_is_told_at_the_next_read_and_then_forgotten(device, rng, bad, kind, reduction):
    x = Array.from_numpy(rng.standard_normal((3, 5, 2)).astype(np.float32))
    target = labels(rng, (3, 5, 2), kind)
    target[1, 1] = bad
    options = Options(reduction=reduction, label_smoothing=0.1)
    found = cross_entropy(x, Array.from_numpy(target), None, options)
    with pytest.raises(IndexError, match=f"cross_entropy: target is {bad} at position 3; input has the classes 0..4"):
        x.numpy()
    assert np.isfinite(found.loss.numpy()).all()  # the next read works, and the bad position counted nothing
    g = Array.from_numpy(np.ones(found.loss.shape, np.float32))
    gx = cross_entropy_backward(g, x, Array.from_numpy(target), None, found, options).numpy()
    assert (gx[1, :, 1] == 0).all() and np.isfinite(gx).all()


def test_a_bad_label_does_not_reach_into_the_weights(device, rng):
    x = Array.from_numpy(rng.standard_normal((2, 3)).astype(np.float32))
    target = Array.from_numpy(np.array([3, -7], np.int32))
    weight = Array.from_numpy(np.ones(3, np.float32))
    found = cross_entropy(x, target, weight, Options(reduction="none", label_smoothing=0.5))
    with pytest.raises(IndexError):
        x.numpy()
    np.testing.assert_array_equal(found.loss.numpy(), [0, 0])


@pytest.mark.parametrize("kind", [np.int32, np.uint8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_class_weights_are_those_of_the_labels_and_0_for_none(device, rng, dtype, kind):
    x = Array.empty((70, 4, 2), dtype)
    target = labels(rng, x.shape, kind)
    target[3, 1] = 9
    weight = rng.uniform(1, 2, 4).astype(dtype)
    for w in (weight, None):
        classes, weights = class_weights(
            x, Array.from_numpy(target), None if w is None else Array.from_numpy(w), ignore_index=2
        )
        with pytest.raises(IndexError, match="nll_loss: target is 9 at position 7"):
            classes.numpy()
        none = (target == 2) | (target == 9)
        np.testing.assert_array_equal(classes.numpy(), np.where(none, -1, target.astype(int)))
        expected = (np.ones(4, dtype) if w is None else w)[np.where(none, 0, target)]
        np.testing.assert_array_equal(weights.numpy(), np.where(none, 0, expected))


X, TARGET = np.zeros((2, 3, 4), np.float32), np.zeros((2, 4), np.int32)


def call(x=X, target=TARGET, weight=None, **options):
    arrays = [Array.from_numpy(a) if isinstance(a, np.ndarray) else a for a in (x, target, weight)]
    return cross_entropy(*arrays, Options(**options))


BAD = [
    ({"x": [1.0]}, TypeError, "cross_entropy: input is a list; it must be an Array"),
    ({"x": X.astype(np.int32)}, TypeError, "cross_entropy: input is int32; it must be floating point"),
    ({"x": X[0, 0]}, ValueError, r"input has shape \(4,\); it must be \(N, C\)"),
    ({"x": X[:, :0]}, ValueError, "with C 1 or more"),
    ({"target": TARGET.astype(np.float32)}, TypeError, "target is float32; it must be class numbers, int32 or uint8"),
    ({"target": TARGET.astype(bool)}, TypeError, "target is bool"),
    ({"target": TARGET[:, :3]}, ValueError, r"target has shape \(2, 3\); input is .* so it must be \(2, 4\)"),
    ({"target": TARGET[0]}, ValueError, r"target has shape \(4,\)"),
    ({"weight": np.ones(4, np.float32)}, ValueError, r"weight has shape \(4,\); input has 3 classes"),
    ({"weight": np.ones(3)}, TypeError, "weight is float64, input is float32"),
    ({"reduction": "max"}, ValueError, "reduction is 'max'; it must be 'mean', 'sum' or 'none'"),
    ({"reduction": None}, ValueError, "reduction is None"),
    ({"label_smoothing": 1.5}, ValueError, "label_smoothing is 1.5; it must be from 0 to 1"),
    ({"label_smoothing": float("nan")}, ValueError, "label_smoothing is nan"),
    ({"label_smoothing": "0.1"}, TypeError, "label_smoothing is '0.1'; it must be a number"),
    ({"ignore_index": 0.5}, TypeError, "ignore_index is 0.5; it must be an integer"),
    ({"ignore_index": 2**31}, ValueError, "ignore_index is 2147483648; it must fit in int32"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_arguments_are_told_in_a_sentence(device, arguments, error, message):
    with pytest.raises(error, match=message):
        call(**arguments)


def test_a_gradient_of_another_shape_is_refused(device):
    found = call()
    arrays = Array.from_numpy(X), Array.from_numpy(TARGET)
    with pytest.raises(ValueError, match=r"g has shape \(2, 4\); with 'mean' it must be \(\)"):
        cross_entropy_backward(Array.empty((2, 4)), *arrays, None, found)


def test_the_kernels_are_public():
    assert K.cross_entropy is cross_entropy and K.cross_entropy_backward is cross_entropy_backward
