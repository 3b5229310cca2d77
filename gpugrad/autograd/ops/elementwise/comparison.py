"""Comparisons and logic, which give bool tensors, and `where`, which takes them."""

from __future__ import annotations

from typing import Any

from ....kernels.elementwise import binary, unary
from ....kernels.elementwise import where as where_kernel
from ...function import Function
from ...tensor import Tensor
from ..creation import full
from .operands import Operand, array_of, check_tensor, dtype_of, is_tensor, pair, sum_to


def _compare(op: str, input: Operand, other: Operand) -> Tensor:
    x, y = pair(op, input, other)
    return Tensor._wrap(binary(op, array_of(x), array_of(y)))


def eq(input: Operand, other: Operand) -> Tensor:
    """input == other, element by element, as bool"""
    return _compare("eq", input, other)


def ne(input: Operand, other: Operand) -> Tensor:
    """input != other, element by element, as bool"""
    return _compare("ne", input, other)


def lt(input: Operand, other: Operand) -> Tensor:
    """input < other, element by element, as bool"""
    return _compare("lt", input, other)


def le(input: Operand, other: Operand) -> Tensor:
    """input <= other, element by element, as bool"""
    return _compare("le", input, other)


def gt(input: Operand, other: Operand) -> Tensor:
    """input > other, element by element, as bool"""
    return _compare("gt", input, other)


def ge(input: Operand, other: Operand) -> Tensor:
    """input >= other, element by element, as bool"""
    return _compare("ge", input, other)


def logical_and(input: Operand, other: Operand) -> Tensor:
    """Whether both are true (not 0), as bool"""
    return _compare("logical_and", input, other)


def logical_or(input: Operand, other: Operand) -> Tensor:
    """Whether at least one is true (not 0), as bool"""
    return _compare("logical_or", input, other)


def logical_xor(input: Operand, other: Operand) -> Tensor:
    """Whether exactly one is true (not 0), as bool"""
    return _compare("logical_xor", input, other)


def logical_not(input: Tensor) -> Tensor:
    """Whether it is false (0), as bool"""
    return Tensor._wrap(unary("logical_not", check_tensor("logical_not", input).array))


class Where(Function):
    @staticmethod
    def forward(ctx: Any, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        ctx.shapes = x.shape, y.shape
        ctx.save_for_backward(condition)
        return Tensor._wrap(where_kernel(condition.array, x.array, y.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (_, need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        (condition,) = ctx.saved_tensors
        g_x = sum_to(where(condition, g, 0.0), x_shape) if need_x else None
        g_y = sum_to(where(condition, 0.0, g), y_shape) if need_y else None
        return None, g_x, g_y


def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """`input` where `condition` (bool) holds, else `other`; all three broadcast, the last two may be numbers."""
    check_tensor("where", condition, "condition")
    device = condition.device
    x, y = input, other
    if not is_tensor(x) and not is_tensor(y):
        x = full((), x, device=device)
    x, y = pair("where", x, y)
    dtype = dtype_of(x, y)
    # A number becomes a tensor of one element, which broadcasts.
    x, y = (v if is_tensor(v) else full((), v, dtype=dtype, device=device) for v in (x, y))
    return Where.apply(condition, x, y)
