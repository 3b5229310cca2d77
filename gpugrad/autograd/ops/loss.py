"""Losses: cross-entropy in one kernel each way, negative log-likelihood and squared error.

Those that are composed of other operations compute float16 in float32, and round the result.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...array import Array
from ...dtypes import computed_in, is_float
from ...kernels.broadcast import broadcast_shape
from ...kernels.checks import check_float, check_same
from ...kernels.cross_entropy import CrossEntropy as Found
from ...kernels.cross_entropy import Options, check_options, class_weights, cross_entropy_backward
from ...kernels.cross_entropy import cross_entropy as cross_entropy_kernel
from ..function import Function
from ..tensor import Tensor
from . import elementwise as E
from . import reduce as R
from . import shape as S
from .creation import ones_like
from .pick import Pick
from .softmax import SoftmaxBackward, log_softmax, softmax


class CrossEntropy(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, target: Tensor, weight: Tensor | None, options: Options) -> Tensor:
        ctx.options = options
        found = cross_entropy_kernel(x.array, target.array, _array(weight), options)
        share = None if found.share is None else Tensor._wrap(found.share)
        ctx.save_for_backward(x, target, weight, Tensor._wrap(found.logs), Tensor._wrap(found.mass), share)
        return Tensor._wrap(found.loss)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return CrossEntropyBackward.apply(g, *ctx.saved_tensors, ctx.options), None, None, None


class CrossEntropyBackward(Function):
    """g * share * (softmax(x) * mass - q); see cross_entropy.cl."""

    @staticmethod
    def forward(
        ctx: Any,
        g: Tensor,
        x: Tensor,
        target: Tensor,
        weight: Tensor | None,
        logs: Tensor,
        mass: Tensor,
        share: Tensor | None,
        options: Options,
    ) -> Tensor:
        ctx.options = options
        ctx.save_for_backward(g, x, target, weight, logs, mass, share)
        found = Found(g.array, logs.array, mass.array, _array(share))
        return Tensor._wrap(cross_entropy_backward(g.array, x.array, target.array, _array(weight), found, options))

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> Any:
        g, x, *constants = ctx.saved_tensors
        _, _, _, mass, share = constants
        for_g = for_x = None
        if ctx.needs_input_grad[0]:
            slope = CrossEntropyBackward.apply(ones_like(g), x, *constants, ctx.options)
            for_g = R.sum(E.mul(h, slope), None if g.ndim == 0 else 1)
        if ctx.needs_input_grad[1]:
            factor = E.mul(mass, g)
            if share is not None:
                factor = E.mul(factor, share)
                # Where no target counts, a share is infinite; one that counts nothing still takes no part.
                factor = E.where(E.eq(mass, 0.0), 0.0, factor)
            factor = S.reshape(factor, (x.shape[0], 1, *x.shape[2:]))
            h, y = (E.to(t, mass.dtype) for t in (h, x))
            for_x = E.to(SoftmaxBackward.apply(E.mul(h, factor), softmax(y, 1), 1), x.dtype)
        return for_g, for_x, None, None, None, None, None, None


def cross_entropy(
    input: Tensor,
    target: Any,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """How far scores are from the right classes: minus the log-softmax of the right class, averaged.

    input: scores, (N, C), (N, C, d1, ...) or (C,). target: class numbers, (N,), (N, d1, ...) or (): int32 or uint8, or
    a NumPy array of any integers; or probabilities of each class, a float tensor of input's shape.
    weight (C,): what each class counts; the mean divides by the weights that counted (for probabilities: by the
    number of positions). `ignore_index`: a class number that doesn't count. `reduction`: 'mean', 'sum' or 'none'.
    `label_smoothing`: the part of each target that is spread over all classes.
    A target that is no class raises IndexError when the host next reads something. Error bound: see
    `gpugrad.kernels.cross_entropy`. Label smoothing: Szegedy et al., 2016.
    """
    name = "cross_entropy"
    options = check_options(name, Options(ignore_index, reduction, label_smoothing))
    input, target, weight, alone = _operands(name, input, target, weight)
    if is_float(target.dtype):
        loss = _with_probabilities(input, target, weight, options)
    else:
        loss = CrossEntropy.apply(input, target, weight, options)
    return S.reshape(loss, ()) if alone else loss


def nll_loss(
    input: Tensor, target: Any, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the right class's entry of log-probabilities (what log_softmax gives), averaged.

    Everything is as in `cross_entropy`, which does both in one kernel; but target holds class numbers only.
    """
    options = check_options("nll_loss", Options(ignore_index, reduction))
    input, target, weight, alone = _operands("nll_loss", input, target, weight)
    found = class_weights(input.array, target.array, _array(weight), options.ignore_index)
    classes, weights = (Tensor._wrap(a) for a in found)
    weights = E.to(weights, computed_in(input.dtype))
    losses = E.neg(E.mul(Pick.apply(input, classes, 1), weights))
    if reduction == "mean":
        losses = E.div(R.sum(losses), R.sum(weights))
    elif reduction == "sum":
        losses = R.sum(losses)
    elif alone:
        losses = S.reshape(losses, ())
    return E.to(losses, input.dtype)


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(input - target)**2, averaged over all elements; `reduction` may also be 'sum' or 'none'."""
    check_options("mse_loss", Options(reduction=reduction))
    for name, t in (("input", input), ("target", target)):
        E.check_tensor("mse_loss", t, name)
        check_float("mse_loss", name, t)
    check_same("mse_loss", input=input, target=target)
    broadcast_shape("mse_loss", input.shape, target.shape)
    if input.shape != target.shape:
        # Legal, as in PyTorch, and hardly ever meant: (N, 1) with (N,) gives N * N differences.
        warnings.warn(
            f"mse_loss: input has shape {input.shape} and target {target.shape}; they are broadcast to each other, "
            "which is seldom what is wanted. Make the shapes equal",
            stacklevel=2,
        )
    computed = computed_in(input.dtype)
    difference = E.sub(E.to(input, computed), E.to(target, computed))
    return E.to(_reduced(E.mul(difference, difference), reduction), input.dtype)


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    return R.mean(losses) if reduction == "mean" else R.sum(losses) if reduction == "sum" else losses


def _with_probabilities(input: Tensor, target: Tensor, weight: Tensor | None, options: Options) -> Tensor:
    """Cross-entropy with a probability for each class, composed of other operations."""
    if target.shape != input.shape:
        raise ValueError(
            f"cross_entropy: target has shape {target.shape}; as probabilities (it is {target.dtype}) it needs input's "
            f"shape {input.shape}. Class numbers are integers"
        )
    check_same("cross_entropy", input=input, target=target, weight=weight)
    if weight is not None and weight.shape != (input.shape[1],):
        raise ValueError(
            f"cross_entropy: weight has shape {weight.shape}; input has {input.shape[1]} classes, one weight each"
        )
    if options.ignore_index >= 0:
        raise ValueError("cross_entropy: ignore_index is for class numbers; target holds probabilities")
    dtype, computed = input.dtype, computed_in(input.dtype)
    input, target = E.to(input, computed), E.to(target, computed)
    if options.label_smoothing:
        part = options.label_smoothing / input.shape[1]
        target = E.add(E.mul(target, 1 - options.label_smoothing), part)
    terms = E.mul(log_softmax(input, 1), target)
    if weight is not None:
        terms = E.mul(terms, S.reshape(weight, (-1, *[1] * (input.ndim - 2))))
    return E.to(_reduced(E.neg(R.sum(terms, 1)), options.reduction), dtype)


def _operands(
    name: str, input: Tensor, target: Any, weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None, bool]:
    """The operands as tensors with a batch axis, and whether it had to be added."""
    E.check_tensor(name, input)
    check_float(name, "input", input)
    if isinstance(target, np.ndarray):
        if target.dtype.kind not in "iu":
            raise TypeError(f"{name}: target is an array of {target.dtype}; class numbers are integers")
        target = Tensor._wrap(Array.from_numpy(target, device=input.device))
    E.check_tensor(name, target, "target")
    if target.dtype == np.bool_:
        raise TypeError(f"{name}: target is bool; convert it with .to(gpugrad.int32)")
    if weight is not None:
        E.check_tensor(name, weight, "weight")
        if weight.requires_grad:
            raise TypeError(f"{name}: weight requires a gradient, which is not defined here; pass weight.detach()")
    alone = input.ndim == 1
    if alone:
        input, target = S.unsqueeze(input, 0), S.unsqueeze(target, 0)
    return input, target, weight, alone


def _array(t: Tensor | None) -> Array | None:
    return None if t is None else t.array
