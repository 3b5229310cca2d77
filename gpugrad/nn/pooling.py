"""Pooling layers, and Flatten, which ends them."""

from __future__ import annotations

from typing import Any

from ..autograd.tensor import Tensor
from ..kernels.checks import boolean, integer
from ..kernels.geometry import window
from . import functional as F
from .module import Module


class MaxPool2d(Module):
    """The largest of each window of (N, C, H, W). `stride` is kernel_size unless given."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        window("MaxPool2d", kernel_size, self.stride, padding, dilation)
        self.return_indices = boolean("MaxPool2d", "return_indices", return_indices)
        self.ceil_mode = boolean("MaxPool2d", "ceil_mode", ceil_mode)

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W). `stride` is kernel_size unless given."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.divisor_override = padding, divisor_override
        window("AvgPool2d", kernel_size, self.stride, padding, 1)
        self.ceil_mode = boolean("AvgPool2d", "ceil_mode", ceil_mode)
        self.count_include_pad = boolean("AvgPool2d", "count_include_pad", count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class Flatten(Module):
    """The dimensions start_dim to end_dim as one: (N, C, H, W) to (N, C H W)."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim = integer("Flatten", "start_dim", start_dim)
        self.end_dim = integer("Flatten", "end_dim", end_dim)

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
