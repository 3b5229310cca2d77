"""Convolution layers, and the sliding windows that they are made of."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.ops import zeros
from ..autograd.tensor import Tensor
from ..kernels.checks import boolean, integer, pair
from ..kernels.geometry import window
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Conv(Module):
    """What convolution and its transpose share: the settings, a weight and a bias."""

    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
    ):
        super().__init__()
        name = type(self).__name__
        self.in_channels = integer(name, "in_channels", in_channels, 1)
        self.out_channels = integer(name, "out_channels", out_channels, 1)
        self.kernel_size = pair(name, "kernel_size", kernel_size, 1)
        self.stride = pair(name, "stride", stride, 1)
        self.padding: Any = padding if isinstance(padding, str) else pair(name, "padding", padding, 0)
        self.dilation = pair(name, "dilation", dilation, 1)
        self.groups = integer(name, "groups", groups, 1)
        for channels in ("in_channels", "out_channels"):
            if getattr(self, channels) % self.groups:
                raise ValueError(
                    f"{name}: {channels} is {getattr(self, channels)}; it must be a multiple of groups, {self.groups}"
                )
        if padding_mode != "zeros":
            raise ValueError(f"{name}: padding_mode is {padding_mode!r}; there is only 'zeros'")
        self.weight = Parameter(zeros(*self._weight_size(), *self.kernel_size))
        has_bias = boolean(name, "bias", bias)
        self.register_parameter("bias", Parameter(zeros(self.out_channels)) if has_bias else None)
        self.reset_parameters()

    def _weight_size(self) -> tuple[int, int]:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(fan_in), as in PyTorch."""
        bound = 1 / math.sqrt(init.fans(type(self).__name__, self.weight)[0])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", (0, 0)), ("dilation", (1, 1)), ("output_padding", (0, 0)), ("groups", 1)):
            if getattr(self, name, usual) != usual:
                text += f", {name}={getattr(self, name)!r}"
        return text + ("" if self.bias is not None else ", bias=False")


class Conv2d(_Conv):
    """Convolution of (N, in_channels, H, W) with `weight` (out_channels, in_channels / groups, KH, KW), plus bias."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ):
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Conv2d: padding is {padding!r}; it must be a number, a pair, 'same' or 'valid'")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        if padding == "same" and self.stride != (1, 1):
            raise ValueError(f"Conv2d: padding is 'same' and stride {self.stride}; 'same' needs a stride of 1")

    def _weight_size(self) -> tuple[int, int]:
        return self.out_channels, self.in_channels // self.groups

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose2d(_Conv):
    """The adjoint of a convolution: it enlarges. `weight` is (in_channels, out_channels / groups, KH, KW)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
    ):
        if isinstance(padding, str):
            raise TypeError(f"ConvTranspose2d: padding is {padding!r}; it must be a number or a pair")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        self.output_padding = pair("ConvTranspose2d", "output_padding", output_padding, 0)

    def _weight_size(self) -> tuple[int, int]:
        return self.in_channels, self.out_channels // self.groups

    def forward(self, input: Tensor) -> Tensor:
        return F.conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )


class Unfold(Module):
    """im2col: the windows of (N, C, H, W) as the columns of (N, C KH KW, L)."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        window("Unfold", kernel_size, stride, padding, dilation)
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """col2im: columns (N, C KH KW, L) added up where their windows lie in (N, C, *output_size)."""

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        pair("Fold", "output_size", output_size, 1)
        window("Fold", kernel_size, stride, padding, dilation)
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
