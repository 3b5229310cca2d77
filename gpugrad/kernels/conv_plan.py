"""The shapes of a convolution: worked out and checked once, for every variant of its three kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..array import Array, Shape
from .checks import check_array
from .geometry import Window, groups_of, window, windows_in


class Plan(NamedTuple):
    """Sizes, under the names that conv.cl uses."""

    N: int
    C: int
    H: int
    W: int
    CO: int
    w: Window
    OH: int
    OW: int
    G: int

    @property
    def CG(self) -> int:
        """Input channels of a group."""
        return self.C // self.G

    @property
    def COG(self) -> int:
        """Output channels of a group."""
        return self.CO // self.G

    @property
    def K(self) -> int:
        """Elements that one output sees."""
        return self.CG * self.w.KH * self.w.KW

    @property
    def L(self) -> int:
        """Places of the window."""
        return self.OH * self.OW

    @property
    def input(self) -> Shape:
        return self.N, self.C, self.H, self.W

    @property
    def weight(self) -> Shape:
        return self.CO, self.CG, self.w.KH, self.w.KW

    @property
    def output(self) -> Shape:
        return self.N, self.CO, self.OH, self.OW

    @property
    def col(self) -> Shape:
        return self.N, self.C * self.w.KH * self.w.KW, self.L

    @property
    def args(self) -> tuple[int, ...]:
        """What the kernels of conv.cl take."""
        return self.C, self.H, self.W, self.CO, *self.w, self.OH, self.OW, self.G

    def whole_images(self, *arrays: Array) -> int:
        """The number of images after which each of `arrays` may be cut: at a multiple of the device's alignment."""
        unit = arrays[0].device.alignment
        steps = (math.prod(a.shape[1:]) * a.dtype.itemsize for a in arrays)
        return math.lcm(*(unit // math.gcd(unit, step) for step in steps))

    def check_grad(self, function: str, grad_output: Array) -> None:
        check_array(function, "grad_output", grad_output)
        if grad_output.shape != self.output:
            raise ValueError(
                f"{function}: grad_output has shape {grad_output.shape}; the convolution of {self.input} with a weight "
                f"of {self.weight} gives {self.output}"
            )


def plan(
    function: str,
    x: Shape,
    weight: Shape,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
    name: str = "weight",
) -> Plan:
    """The sizes of a convolution of an input of shape `x`; an error in a sentence where something does not fit."""
    if len(weight) != 4:
        raise ValueError(f"{function}: {name} has shape {weight}; it must be (C_out, C_in / groups, KH, KW)")
    N, C, H, W = x
    CO, CG = weight[:2]
    G = groups_of(function, groups, input=C, **{name: CO})
    if CG * G != C:
        raise ValueError(
            f"{function}: {name} has {CG} input channels, but input has {C} channels in {G} group{'s' * (G > 1)}; "
            f"{name} must be (C_out, {C // G}, KH, KW)"
        )
    w = window(function, weight[2:], stride, padding, dilation)
    return Plan(N, C, H, W, CO, w, *windows_in(function, (H, W), w), G)
