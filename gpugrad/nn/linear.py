"""The fully connected layer."""

from __future__ import annotations

import math

from ..autograd.ops import zeros
from ..autograd.tensor import Tensor
from ..kernels.checks import boolean, integer
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) to (..., out_features). `weight` is (out_features, in_features)."""

    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        self.in_features = integer("Linear", "in_features", in_features, 1)
        self.out_features = integer("Linear", "out_features", out_features, 1)
        self.weight = Parameter(zeros(self.out_features, self.in_features))
        has_bias = boolean("Linear", "bias", bias)
        self.register_parameter("bias", Parameter(zeros(self.out_features)) if has_bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(in_features), as in PyTorch."""
        bound = 1 / math.sqrt(self.in_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
