"""Dropout, as a module."""

from __future__ import annotations

from ..autograd.tensor import Tensor
from ..kernels.checks import real
from . import functional as F
from .module import Module


class Dropout(Module):
    """While training, each element becomes 0 with probability p, and the others are divided by 1 - p."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = real("Dropout", "p", p, 0, 1)

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
