"""Tensors that remember how they were computed, and the gradients that follow from that."""

from .engine import grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .tensor import Tensor

__all__ = [
    "Function",
    "Tensor",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
