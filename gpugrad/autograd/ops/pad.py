"""Padding with a constant. The gradient cuts off what was put on, and that again is padding, by negative numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels.checks import number_for
from ...kernels.pad import Pads, check_mode, pad_axes, pairs
from ..function import Function
from ..tensor import Tensor
from .elementwise import check_tensor


class Pad(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, pads: Pads, value: float | int | bool) -> Tensor:
        ctx.pads = pads
        return Tensor._wrap(pad_axes(x.array, pads, value))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        back = tuple([(-before, -after) for before, after in ctx.pads])
        return Pad.apply(g, back, 0), None, None


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = 0) -> Tensor:
    """`input` with `value` (None: 0) put around it.

    pad: how many elements before and after, for the last axis first: (left, right), (left, right, top, bottom) ...
    A negative number cuts elements off. ValueError for a mode other than "constant".
    """
    check_tensor("pad", input)
    check_mode(mode)
    pads = pairs("pad", pad, input.shape)
    return Pad.apply(input, pads, number_for("pad", "value", 0 if value is None else value, input.dtype))
