"""Cross-entropy with class numbers as targets, fused with log-softmax, and its gradient."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..array import Array, Shape
from ..dtypes import C_NAME, computed_in, int32, uint8
from ..guards import guard
from ..program import Kernel
from .checks import check_array, check_float, check_same, integer, real
from .elementwise import cast
from .reduce import reduce

_FORWARD = Kernel(
    "cross_entropy.cl",
    "cross_entropy",
    x="in N C inner",
    target="in N inner",
    weight="in C",
    terms="out 2 (N inner)",
    logs="out 2 (N inner)",
    mass="out (N inner)",
    fault="partial",
)
_MEAN = Kernel("cross_entropy.cl", "cross_entropy_mean", totals="in", mean="out", share="out")
_BACKWARD = Kernel(
    "cross_entropy.cl",
    "cross_entropy_backward",
    g="in",
    x="in N C inner",
    target="in N inner",
    weight="in C",
    logs="in 2 (N inner)",
    mass="in (N inner)",
    share="in",
    gx="out N C inner",
)
_CLASSES = Kernel(
    "cross_entropy.cl",
    "class_weights",
    target="in N inner",
    weight="in C",
    classes="out N inner",
    weights="out N inner",
    fault="partial",
)

_LOCAL = (64,)
REDUCTIONS = ("mean", "sum", "none")


class Options(NamedTuple):
    """How losses count: the class that doesn't, how they are put together, and how much every class gets."""

    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class CrossEntropy(NamedTuple):
    """What `cross_entropy` gives: the loss, and what its gradient needs.

    `logs` (2, positions): each position's largest score, and the log of the sum of exp(score - largest). `mass`
    (target's shape): what its classes count together. `share` (): what a loss counts in the mean; only of a mean.
    These three are in the type that is computed in (float32 for float16), the loss is in the scores'.
    """

    loss: Array
    logs: Array
    mass: Array
    share: Array | None


def cross_entropy(x: Array, target: Array, weight: Array | None = None, options: Options | None = None) -> CrossEntropy:
    """The cross-entropy of scores x, (N, C) or (N, C, d1, ...), with class numbers, (N) or (N, d1, ...).

    target is int32 or uint8; weight (C,) is what each class counts (1 each without it). The mean divides by the sum
    of the weights of the targets that count. A target that is no class raises IndexError when the host next reads
    something. Error: relative (p + 10) eps of each position's loss, with p = min(C, 256) + C / 256, and exp's own, plus
    2 eps of its largest distance between scores; then that of a sum (see `reduce`).
    """
    options = check_options("cross_entropy", options or Options())
    _check("cross_entropy", x, target, weight)
    C, inner = x.shape[1], math.prod(x.shape[2:])
    means, n = options.reduction == "mean", target.size
    computed = computed_in(x.dtype)
    terms = Array.empty((2, n) if means else target.shape, computed, x.device)
    logs, mass = Array.empty((2, n), computed, x.device), Array.empty(target.shape, computed, x.device)
    flag, code = _guard("cross_entropy", x, C, options.ignore_index)
    _FORWARD.launch(
        x.dtype,
        (n,),
        _LOCAL,
        *(x, target, *_or_any(weight, x), terms, logs, mass, flag, code),
        *(C, inner, options.ignore_index, options.label_smoothing, int(means), n),
        defines=_label(target),
    )
    if not means:
        loss = terms if options.reduction == "none" else reduce("sum", terms)
        return CrossEntropy(loss if loss.dtype == x.dtype else cast(loss, x.dtype), logs, mass, None)
    mean, share = Array.empty((), x.dtype, x.device), Array.empty((), computed, x.device)
    totals = reduce("sum", terms, 1)
    _MEAN.launch(x.dtype, (1,), (1,), totals, mean, share, defines=_label(target))
    return CrossEntropy(mean, logs, mass, share)


def cross_entropy_backward(
    g: Array, x: Array, target: Array, weight: Array | None, found: CrossEntropy, options: Options | None = None
) -> Array:
    """The gradient with respect to x, from the gradient g of the loss and what `cross_entropy` found."""
    options = check_options("cross_entropy_backward", options or Options())
    _check("cross_entropy_backward", x, target, weight)
    check_array("cross_entropy_backward", "g", g)
    check_same("cross_entropy_backward", x=x, g=g)
    each = options.reduction == "none"
    wanted: Shape = target.shape if each else ()
    if g.shape != wanted:
        raise ValueError(
            f"cross_entropy_backward: g has shape {g.shape}; with {options.reduction!r} it must be {wanted}"
        )
    gx = Array.empty(x.shape, x.dtype, x.device)
    C, inner = x.shape[1], math.prod(x.shape[2:])
    share = found.mass if found.share is None else found.share
    _BACKWARD.launch(
        x.dtype,
        (gx.size,),
        _LOCAL,
        *(g, x, target, *_or_any(weight, x), found.logs, found.mass, share, gx),
        *(C, inner, options.ignore_index, options.label_smoothing),
        *(int(each), int(found.share is not None), target.size, gx.size),
        defines=_label(target),
    )
    return gx


def class_weights(x: Array, target: Array, weight: Array | None, ignore_index: int) -> tuple[Array, Array]:
    """(classes, weights) of targets for scores x: the class number or -1 for none, and its weight or 0."""
    _check("nll_loss", x, target, weight)
    classes = Array.empty(target.shape, int32, x.device)
    weights = Array.empty(target.shape, x.dtype, x.device)
    flag, code = _guard("nll_loss", x, x.shape[1], ignore_index)
    args = (target, *_or_any(weight, x), classes, weights, flag, code, x.shape[1], ignore_index, target.size)
    _CLASSES.launch(x.dtype, (target.size,), _LOCAL, *args, defines=_label(target))
    return classes, weights


def _guard(name: str, x: Array, C: int, ignore_index: int) -> tuple[Array, int]:
    sentence = f"{name}: target is {{value}} at position {{position}}; input has the classes 0..{C - 1}"
    return guard(x.device, f"{sentence} (and ignore_index is {ignore_index})")


def _label(target: Array) -> tuple[tuple[str, str], ...]:
    return (("L", C_NAME[target.dtype]),)


def _or_any(weight: Array | None, x: Array) -> tuple[Array, int]:
    """The kernel's weight, and whether there is one; nobody reads x as weights."""
    return (x, 0) if weight is None else (weight, 1)


def _check(name: str, x: Array, target: Array, weight: Array | None) -> None:
    check_array(name, "input", x)
    check_float(name, "input", x)
    check_array(name, "target", target)
    if x.ndim < 2 or x.shape[1] == 0:
        raise ValueError(f"{name}: input has shape {x.shape}; it must be (N, C) or (N, C, d1, ...), with C 1 or more")
    if target.dtype not in (int32, uint8):
        raise TypeError(f"{name}: target is {target.dtype}; it must be class numbers, int32 or uint8")
    wanted = (x.shape[0], *x.shape[2:])
    if target.shape != wanted:
        raise ValueError(
            f"{name}: target has shape {target.shape}; input is (N, C, ...) = {x.shape}, so it must be {wanted}"
        )
    if target.device is not x.device:
        raise ValueError(f"{name}: target is on {target.device}, input on {x.device}; put both on one")
    if weight is not None:
        check_array(name, "weight", weight)
        check_same(name, input=x, weight=weight)
        if weight.shape != (x.shape[1],):
            raise ValueError(
                f"{name}: weight has shape {weight.shape}; input has {x.shape[1]} classes, one weight each"
            )


def check_options(name: str, options: Options) -> Options:
    """`options` with each of them checked."""
    if not isinstance(options, Options):
        raise TypeError(f"{name}: options is {options!r}; they are cross_entropy.Options(ignore_index, reduction, ...)")
    ignored = integer(name, "ignore_index", options.ignore_index)
    if not -(2**31) <= ignored < 2**31:
        raise ValueError(f"{name}: ignore_index is {ignored}; it must fit in int32")
    if options.reduction not in REDUCTIONS:
        raise ValueError(f"{name}: reduction is {options.reduction!r}; it must be 'mean', 'sum' or 'none'")
    return Options(ignored, options.reduction, real(name, "label_smoothing", options.label_smoothing, 0, 1))
