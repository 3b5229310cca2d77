"""Addition to powers, and the larger and the smaller of two."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from ....dtypes import bool_, float32
from ....kernels.checks import as_float
from ....kernels.elementwise import binary, unary
from ...function import Function, _tensor_classes
from ...tensor import Tensor
from ..creation import zeros_like
from .comparison import eq, ge, logical_and, where
from .functions import log
from .operands import Operand, array_of, check_tensor, dtype_of, is_tensor, keep, kept, pair, shape_of, sum_to


class Add(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        ctx.shapes = shape_of(x), shape_of(y)
        return Tensor._wrap(binary("add", array_of(x), array_of(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        g_x = sum_to(g, x_shape) if need_x else None
        g_y = sum_to(g, y_shape) if need_y else None
        return g_x, g_y


class Sub(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        ctx.shapes = shape_of(x), shape_of(y)
        return Tensor._wrap(binary("sub", array_of(x), array_of(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        g_x = sum_to(g, x_shape) if need_x else None
        g_y = neg(sum_to(g, y_shape)) if need_y else None
        return g_x, g_y


class Mul(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        ctx.shapes = shape_of(x), shape_of(y)
        need_x, need_y = ctx.needs_input_grad
        keep(ctx, x if need_y else None, y if need_x else None)
        return Tensor._wrap(binary("mul", array_of(x), array_of(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        x, y = kept(ctx)
        g_x = sum_to(mul(g, y), x_shape) if need_x else None
        g_y = sum_to(mul(g, x), y_shape) if need_y else None
        return g_x, g_y


class Div(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        out = Tensor._wrap(binary("div", array_of(x), array_of(y)))
        ctx.shapes = shape_of(x), shape_of(y)
        keep(ctx, y, out if ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        y, out = kept(ctx)
        g_x = sum_to(div(g, y), x_shape) if need_x else None
        # g / y may overflow where out is 0, and 0 times infinity is NaN.
        g_y = neg(sum_to(mul(g, div(out, y)), y_shape)) if need_y else None
        return g_x, g_y


# Exponents for which there is something quicker and more exact than the general power.
_POWERS = {1: "copy", 2: "square", 3: "cube", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


class Pow(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        simple = _POWERS.get(y) if y.__class__ is float else None
        out = Tensor._wrap(unary(simple, x.array) if simple else binary("pow", array_of(x), array_of(y)))
        ctx.shapes = shape_of(x), shape_of(y)
        keep(ctx, x, y, out if ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        x, y, out = kept(ctx)
        g_x = sum_to(_pow_by_base(g, x, y), x_shape) if need_x else None
        g_y = sum_to(_pow_by_exponent(g, x, y, out), y_shape) if need_y else None
        return g_x, g_y


def _pow_by_base(g: Tensor, x: Tensor, y: Operand) -> Tensor:
    """g y x^(y - 1); where y is 0 the power is constant, and x^-1 not asked for."""
    if not is_tensor(y):
        if y == 0:
            return zeros_like(g)
        return mul(g, mul(x if y == 2 else pow(x, y - 1), y))
    return where(eq(y, 0.0), 0.0, mul(g, mul(pow(x, sub(y, 1.0)), y)))


def _pow_by_exponent(g: Tensor, x: Operand, y: Tensor, out: Tensor) -> Tensor:
    """g x^y log(x); where x is 0 and y is not negative the power does not change with y."""
    slope: Any
    if not is_tensor(x):
        slope = math.log(x) if x > 0 else -math.inf if x == 0 else math.nan
        flat = ge(y, 0.0) if x == 0 else None
    else:
        slope = log(x)
        flat = logical_and(eq(x, 0.0), ge(y, 0.0))
    g = mul(g, mul(out, slope))
    return g if flat is None else where(flat, 0.0, g)


class Extremum(Function):
    """maximum or minimum; in a tie each operand gets half of the gradient, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, op: str, x: Operand, y: Operand) -> Tensor:
        ctx.op, ctx.shapes = op, (shape_of(x), shape_of(y))
        keep(ctx, x, y)
        return Tensor._wrap(binary(op, array_of(x), array_of(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x_shape, y_shape), (_, need_x, need_y) = ctx.shapes, ctx.needs_input_grad
        x, y = (array_of(v) for v in kept(ctx))
        share = ctx.op + "_share"
        g_x = sum_to(mul(g, Tensor._wrap(binary(share, x, y))), x_shape) if need_x else None
        g_y = sum_to(mul(g, Tensor._wrap(binary(share, y, x))), y_shape) if need_y else None
        return None, g_x, g_y


class Neg(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return Tensor._wrap(unary("neg", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return neg(g)


class Abs(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("abs", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return mul(g, Tensor._wrap(unary("sign", x.array)))


def times_alpha(name: str, alpha: Any, input: Operand, other: Operand) -> Operand:
    """alpha * other, where `other` is to be added to `input`: whole numbers take a whole alpha, as in PyTorch."""
    if isinstance(alpha, np.generic):
        alpha = alpha.item()
    if not isinstance(alpha, numbers.Real):
        raise TypeError(f"{name}: alpha is {type(alpha).__name__}; it must be a number")
    as_float(name, "alpha", alpha)  # raises where none holds it
    x, y = pair(name, input, other)
    if not isinstance(alpha, numbers.Integral):
        for v in (x, y):
            if v.__class__ in _tensor_classes and v.dtype.kind != "f":
                raise TypeError(f"{name}: alpha is {alpha}; beside {v.dtype} it must be an integer")
    return mul(y, alpha) if y.__class__ in _tensor_classes else y * alpha


def add(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """input + alpha * other; of booleans it is "or"."""
    if alpha != 1:
        other = times_alpha("add", alpha, input, other)
    x, y = pair("add", input, other)
    return Add.apply(x, y)


def sub(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """input - alpha * other; of booleans there is no difference, as in PyTorch."""
    for which, v in (("input", input), ("other", other)):
        if v.__class__ in _tensor_classes and v.dtype.kind == "b":
            raise TypeError(f"sub: {which} is bool; it must be a number: use .to(gpugrad.int32), or ~ for 'not'")
    if alpha != 1:
        other = times_alpha("sub", alpha, input, other)
    x, y = pair("sub", input, other)
    return Sub.apply(x, y)


def mul(input: Operand, other: Operand) -> Tensor:
    """input * other; of booleans it is "and"."""
    x, y = pair("mul", input, other)
    return Mul.apply(x, y)


def div(input: Operand, other: Operand) -> Tensor:
    """input / other; float32 where both are integers."""
    x, y = pair("div", input, other)
    if dtype_of(x, y).kind != "f":
        x, y = (v.to(float32) if v.__class__ in _tensor_classes else float(v) for v in (x, y))
    return Div.apply(x, y)


def pow(input: Operand, exponent: Operand) -> Tensor:
    """input ** exponent. Integers stay integers, and a negative number is refused as their exponent.

    The gradient to a negative base's exponent is NaN, as no logarithm exists there; to the base it is
    exponent * input ** (exponent - 1).
    """
    x, y = pair("pow", input, exponent)
    if y.__class__ is int and y < 0:
        raise ValueError(f"pow: exponent is {y}, and input is {x.dtype}; integers have no negative powers: use {y}.0")
    return Pow.apply(x, y)


def maximum(input: Operand, other: Operand) -> Tensor:
    """The larger of the two, element by element; NaN where either is NaN. In a tie both get half of the gradient."""
    x, y = pair("maximum", input, other)
    return Extremum.apply("maximum", x, y)


def minimum(input: Operand, other: Operand) -> Tensor:
    """The smaller of the two, element by element; NaN where either is NaN. In a tie both get half of the gradient."""
    x, y = pair("minimum", input, other)
    return Extremum.apply("minimum", x, y)


def neg(input: Tensor) -> Tensor:
    """-input"""
    return Neg.apply(check_tensor("neg", input))


def abs(input: Tensor) -> Tensor:
    """|input|; the gradient at 0 is 0."""
    check_tensor("abs", input)
    if input.dtype == bool_:
        raise TypeError("abs: input is bool; it must be a number: use .to(gpugrad.int32)")
    return Abs.apply(input)
