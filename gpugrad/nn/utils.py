"""What training loops do to gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..autograd.mode import no_grad
from ..autograd.ops import minimum, stack, zeros
from ..autograd.tensor import Tensor
from ..dtypes import computed_in, float64
from ..kernels.checks import number_for


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale all gradients, in place, so that their norm together is at most max_norm; gives the norm they had.

    `norm_type`: 2, another positive number, or math.inf for the largest absolute value. Without gradients the norm is
    0. Waits for nothing.
    """
    max_norm = number_for("clip_grad_norm_", "max_norm", max_norm, float64)
    norm_type = number_for("clip_grad_norm_", "norm_type", norm_type, float64)
    if not max_norm >= 0:
        raise ValueError(f"clip_grad_norm_: max_norm is {max_norm}; it must be 0 or more")
    if not norm_type > 0:
        raise ValueError(f"clip_grad_norm_: norm_type is {norm_type}; it must be above 0")
    # Those without elements have nothing to clip, and no largest one.
    grads = [p.grad.detach() for p in _tensors(parameters) if p.grad is not None and p.numel()]
    if not grads:
        return zeros(())
    with no_grad():
        sizes = [g.to(computed_in(g.dtype)).abs() for g in grads]  # squares of halves need float32's room
        if norm_type == math.inf:
            total = stack([s.amax() for s in sizes]).amax()
        else:
            powers = [(s * s if norm_type == 2 else s**norm_type).sum() for s in sizes]
            total = stack(powers).sum() ** (1 / norm_type)
        # The small number keeps 0 / 0 away; a norm below max_norm must not enlarge gradients.
        factor = minimum(max_norm / (total + 1e-6), 1.0)
        for g in grads:
            g.mul_(factor)
    return total


def _tensors(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    if not isinstance(parameters, Iterable):
        hint = "; pass its .parameters()" if hasattr(parameters, "parameters") else ""
        raise TypeError(f"clip_grad_norm_: parameters is {type(parameters).__name__}; it must be tensors{hint}")
    found = list(parameters)
    for i, p in enumerate(found):
        if not isinstance(p, Tensor):
            raise TypeError(f"clip_grad_norm_: parameters[{i}] is {type(p).__name__}; it must be a tensor")
    return found
