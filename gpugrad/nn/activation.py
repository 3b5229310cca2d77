"""Functions of one tensor, as modules."""

from __future__ import annotations

from ..autograd.tensor import Tensor
from ..kernels.checks import integer, real
from . import functional as F
from .module import Module


class Identity(Module):
    """Gives its input back."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class ReLU(Module):
    """max(0, x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class LeakyReLU(Module):
    """x where it is positive, else negative_slope * x."""

    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = real("LeakyReLU", "negative_slope", negative_slope)

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}"


class GELU(Module):
    """x times the probability that a standard normal number is below x; `approximate="tanh"`: a formula near it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate is {approximate!r}; choose 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Softmax(Module):
    """exp(x) over its sum along `dim`."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = integer("Softmax", "dim", dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of the softmax along `dim`."""

    def __init__(self, dim: int):
        super().__init__()
        self.dim = integer("LogSoftmax", "dim", dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
