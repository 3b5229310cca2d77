"""Dropout, as a module."""

from __future__ import annotations

from ..autograd.tensor import Tensor
from . import functional as F
from .module import Module


class Dropout(Module):
    """While training, each element becomes 0 with probability p, and the others are divided by 1 - p."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise TypeError(f"Dropout: p is {p!r}; it must be a number")
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p is {p}; a probability lies between 0 and 1")
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
