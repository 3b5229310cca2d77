"""Element-wise operations: each forward beside its backward, which is written with the same operations.

Operands broadcast by NumPy's rule; a gradient is then summed over what was repeated (`sum_to`). Two tensors are
promoted as in PyTorch; a Python number takes the tensor's type, except that a float makes integers float32.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from ...array import Shape
from ...dtypes import as_dtype, bool_, float32, int32, promote
from ...kernels.elementwise import binary, cast, copy, unary
from ...kernels.elementwise import where as where_kernel
from ..function import Function, _tensor_classes
from ..tensor import Tensor

Operand = Any  # a Tensor or a Python number


# Checks and promotion


def operands(name: str, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Both operands checked, and of one dtype: tensors are cast, numbers are fitted to the other's dtype."""
    if x.__class__ in _tensor_classes:
        if y.__class__ in _tensor_classes:
            if x.device is not y.device:
                x.device.check_alive()
                y.device.check_alive()
                raise ValueError(f"{name}: input is on {x.device}, other on {y.device}; put both on one device")
            if x.dtype is not y.dtype and x.dtype != y.dtype:
                dtype = promote(x.dtype, y.dtype)
                return to(x, dtype), to(y, dtype)
            return x, y
        return _with_number(name, "other", x, y)
    if y.__class__ in _tensor_classes:
        y, x = _with_number(name, "input", y, x)
        return x, y
    raise TypeError(f"{name}: neither operand is a tensor ({type(x).__name__}, {type(y).__name__})")


def _with_number(name: str, argument: str, t: Tensor, value: Any) -> tuple[Tensor, Any]:
    dtype = t.dtype
    if value.__class__ is float:
        return (t, value) if dtype.kind == "f" else (to(t, float32), value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return t, value
    if not isinstance(value, numbers.Real):
        hint = "; gpugrad.tensor(...) makes a tensor of it" if isinstance(value, (np.ndarray, list, tuple)) else ""
        raise TypeError(f"{name}: {argument} is {type(value).__name__}; it must be a tensor or a number{hint}")
    if not isinstance(value, numbers.Integral):
        return (t, float(value)) if dtype.kind == "f" else (to(t, float32), float(value))
    value = int(value)
    if dtype.kind == "f":
        return t, float(value)
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name}: {argument} is {value}; with a tensor of {dtype} it must fit in int32")
    return (to(t, int32) if dtype == bool_ else t), value


def check_tensor(name: str, x: Any, argument: str = "input") -> Tensor:
    if x.__class__ not in _tensor_classes:
        raise TypeError(f"{name}: {argument} is {type(x).__name__}; it must be a tensor")
    return x


def _floating(name: str, x: Any) -> Tensor:
    """The operand of a function such as exp: integers become float32."""
    check_tensor(name, x)
    return x if x.dtype.kind == "f" else to(x, float32)


def _array(x: Operand) -> Any:
    return x.array if x.__class__ in _tensor_classes else x


def _shape(x: Operand) -> Shape | None:
    return x.array.shape if x.__class__ in _tensor_classes else None


# Broadcasting backwards


def sum_to(gradient: Tensor, shape: Shape) -> Tensor:
    """`gradient` summed over the axes along which an operand of `shape` was repeated."""
    if gradient.array.shape == shape:
        return gradient
    from .. import ops
    sum = getattr(ops, "sum", None)
    reshape = getattr(ops, "reshape", lambda g, s: Tensor._wrap(g.array.reshape(s)))

    missing = gradient.ndim - len(shape)
    padded = (1,) * missing + shape
    dims = tuple(i for i, (n, m) in enumerate(zip(gradient.shape, padded, strict=True)) if m == 1 and n != 1)
    # Axes of size 1 that were added in front need no sum, only the reshape.
    if dims and sum is None:
        host = gradient.array.numpy().sum(dims, keepdims=True).reshape(shape).astype(gradient.dtype)
        return Tensor._wrap(type(gradient.array).from_numpy(host))
    if dims:
        gradient = sum(gradient, dims)
    return gradient if gradient.shape == shape else reshape(gradient, shape)


# What a backward needs


def _keep(ctx: Any, *values: Operand) -> None:
    """Save operands for backward: tensors with their versions, numbers as they are, None for none."""
    ctx.numbers = [None if v.__class__ in _tensor_classes else v for v in values]
    ctx.save_for_backward(*[v if v.__class__ in _tensor_classes else None for v in values])


def _kept(ctx: Any) -> list[Any]:
    return [n if t is None else t for t, n in zip(ctx.saved_tensors, ctx.numbers, strict=True)]


# Arithmetic


class Add(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        ctx.shapes = _shape(x), _shape(y)
        return Tensor._wrap(binary("add", _array(x), _array(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        return (sum_to(g, x_shape) if need_x else None, sum_to(g, y_shape) if need_y else None)


class Sub(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        ctx.shapes = _shape(x), _shape(y)
        return Tensor._wrap(binary("sub", _array(x), _array(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        return (sum_to(g, x_shape) if need_x else None, neg(sum_to(g, y_shape)) if need_y else None)


class Mul(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        need_x, need_y = ctx.needs_input_grad
        ctx.shapes = _shape(x), _shape(y)
        _keep(ctx, x if need_y else None, y if need_x else None)
        return Tensor._wrap(binary("mul", _array(x), _array(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        x, y = _kept(ctx)
        return (sum_to(mul(g, y), x_shape) if need_x else None, sum_to(mul(g, x), y_shape) if need_y else None)


class Div(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        out = Tensor._wrap(binary("div", _array(x), _array(y)))
        ctx.shapes = _shape(x), _shape(y)
        _keep(ctx, y, out if ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        y, out = _kept(ctx)
        share = div(g, y)
        return (
            sum_to(share, x_shape) if need_x else None,
            sum_to(neg(mul(share, out)), y_shape) if need_y else None,
        )


class Pow(Function):
    @staticmethod
    def forward(ctx: Any, x: Operand, y: Operand) -> Tensor:
        out = Tensor._wrap(binary("pow", _array(x), _array(y)))
        ctx.shapes = _shape(x), _shape(y)
        _keep(ctx, x, y, out if ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        x, y, out = _kept(ctx)
        g_x = g_y = None
        if need_x:
            # y * x^(y - 1); where y is 0 that would be 0 * inf at x = 0
            if _shape(y) is None:
                g_x = mul(g, 0.0) if y == 0 else mul(g, mul(pow(x, y - 1), y))
            else:
                g_x = where(eq(y, 0.0), 0.0, mul(g, mul(pow(x, sub(y, 1.0)), y)))
            g_x = sum_to(g_x, x_shape)
        if need_y:
            # x^y * log(x); at x = 0 with y >= 0 the power is flat in y
            if _shape(x) is None:
                g_y = mul(g, mul(out, math.log(x) if x > 0 else math.nan if x < 0 else -math.inf))
                if x == 0:
                    g_y = where(ge(y, 0.0), 0.0, g_y)
            else:
                g_y = where(logical_and(eq(x, 0.0), ge(y, 0.0)), 0.0, mul(g, mul(out, log(x))))
            g_y = sum_to(g_y, y_shape)
        return g_x, g_y


class Extremum(Function):
    """maximum or minimum of two; in a tie each gets half of the gradient, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, op: str, x: Operand, y: Operand) -> Tensor:
        ctx.op, ctx.shapes = op, (_shape(x), _shape(y))
        _keep(ctx, x, y)
        return Tensor._wrap(binary(op, _array(x), _array(y)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        _, need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        x, y = (_array(v) for v in _kept(ctx))
        share = ctx.op + "_share"
        return (
            None,
            sum_to(mul(g, Tensor._wrap(binary(share, x, y))), x_shape) if need_x else None,
            sum_to(mul(g, Tensor._wrap(binary(share, y, x))), y_shape) if need_y else None,
        )


def add(input: Operand, other: Operand) -> Tensor:
    """input + other"""
    x, y = operands("add", input, other)
    return Add.apply(x, y)


def sub(input: Operand, other: Operand) -> Tensor:
    """input - other"""
    x, y = operands("sub", input, other)
    return Sub.apply(x, y)


def mul(input: Operand, other: Operand) -> Tensor:
    """input * other"""
    x, y = operands("mul", input, other)
    return Mul.apply(x, y)


def div(input: Operand, other: Operand) -> Tensor:
    """input / other; of integers it is float32."""
    x, y = operands("div", input, other)
    if _dtype(x, y).kind != "f":
        x, y = (to(v, float32) if v.__class__ in _tensor_classes else float(v) for v in (x, y))
    return Div.apply(x, y)


def pow(input: Operand, exponent: Operand) -> Tensor:
    """input ** exponent; integers stay integers, and a negative number is no exponent for them."""
    x, y = operands("pow", input, exponent)
    return Pow.apply(x, y)


def maximum(input: Operand, other: Operand) -> Tensor:
    """The larger of the two; NaN where either is NaN. In a tie each gets half of the gradient."""
    x, y = operands("maximum", input, other)
    return Extremum.apply("maximum", x, y)


def minimum(input: Operand, other: Operand) -> Tensor:
    """The smaller of the two; NaN where either is NaN. In a tie each gets half of the gradient."""
    x, y = operands("minimum", input, other)
    return Extremum.apply("minimum", x, y)


def _dtype(x: Operand, y: Operand) -> np.dtype:
    return x.dtype if x.__class__ in _tensor_classes else y.dtype


# Comparisons, which have no gradient


def _compare(op: str, input: Operand, other: Operand) -> Tensor:
    x, y = operands(op, input, other)
    return Tensor._wrap(binary(op, _array(x), _array(y)))


def eq(input: Operand, other: Operand) -> Tensor:
    """input == other, as bool"""
    return _compare("eq", input, other)


def ne(input: Operand, other: Operand) -> Tensor:
    """input != other, as bool"""
    return _compare("ne", input, other)


def lt(input: Operand, other: Operand) -> Tensor:
    """input < other, as bool"""
    return _compare("lt", input, other)


def le(input: Operand, other: Operand) -> Tensor:
    """input <= other, as bool"""
    return _compare("le", input, other)


def gt(input: Operand, other: Operand) -> Tensor:
    """input > other, as bool"""
    return _compare("gt", input, other)


def ge(input: Operand, other: Operand) -> Tensor:
    """input >= other, as bool"""
    return _compare("ge", input, other)


def logical_and(input: Operand, other: Operand) -> Tensor:
    """Whether both are true (not 0)."""
    return _compare("logical_and", input, other)


def logical_or(input: Operand, other: Operand) -> Tensor:
    """Whether either is true (not 0)."""
    return _compare("logical_or", input, other)


def logical_not(input: Tensor) -> Tensor:
    """Whether it is false (0)."""
    return Tensor._wrap(unary("logical_not", check_tensor("logical_not", input).array))


# Functions of one tensor


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


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("exp", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return mul(g, out)


class Log(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("log", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return div(g, x)


class Sqrt(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("sqrt", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return div(g, mul(out, 2.0))


class ReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("relu", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return ReLUBackward.apply(g, out)


class ReLUBackward(Function):
    """g where out > 0, else 0; linear in g, and flat in out."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(out)
        return Tensor._wrap(binary("relu_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        (out,) = ctx.saved_tensors
        return ReLUBackward.apply(gg, out), None


class Sigmoid(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("sigmoid", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return SigmoidBackward.apply(g, out)


class SigmoidBackward(Function):
    """g * out * (1 - out), in one launch"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(g, out)
        return Tensor._wrap(binary("sigmoid_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        g, out = ctx.saved_tensors
        return SigmoidBackward.apply(gg, out), mul(mul(gg, g), sub(1.0, mul(out, 2.0)))


class Tanh(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("tanh", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return TanhBackward.apply(g, out)


class TanhBackward(Function):
    """g * (1 - out^2), in one launch"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(g, out)
        return Tensor._wrap(binary("tanh_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        g, out = ctx.saved_tensors
        return TanhBackward.apply(gg, out), mul(mul(gg, g), mul(out, -2.0))


def neg(input: Tensor) -> Tensor:
    """-input"""
    return Neg.apply(check_tensor("neg", input))


def abs(input: Tensor) -> Tensor:
    """|input|; the gradient at 0 is 0."""
    return Abs.apply(check_tensor("abs", input))


def exp(input: Tensor) -> Tensor:
    """e ** input"""
    return Exp.apply(_floating("exp", input))


def log(input: Tensor) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below."""
    return Log.apply(_floating("log", input))


def sqrt(input: Tensor) -> Tensor:
    """The square root: NaN below 0; the gradient at 0 is inf."""
    return Sqrt.apply(_floating("sqrt", input))


def relu(input: Tensor) -> Tensor:
    """max(input, 0); the gradient at 0 is 0, and NaN stays NaN."""
    return ReLU.apply(check_tensor("relu", input))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e ** -input), without overflow"""
    return Sigmoid.apply(_floating("sigmoid", input))


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return Tanh.apply(_floating("tanh", input))


# Choosing, copying, converting


class Where(Function):
    @staticmethod
    def forward(ctx: Any, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        ctx.shapes = x.shape, y.shape
        ctx.save_for_backward(condition)
        return Tensor._wrap(where_kernel(condition.array, x.array, y.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (condition,) = ctx.saved_tensors
        _, need_x, need_y = ctx.needs_input_grad
        x_shape, y_shape = ctx.shapes
        return (
            None,
            sum_to(where(condition, g, 0.0), x_shape) if need_x else None,
            sum_to(where(condition, 0.0, g), y_shape) if need_y else None,
        )


class Clone(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return Tensor._wrap(copy(x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


class To(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: np.dtype) -> Tensor:
        ctx.dtype = x.dtype
        return Tensor._wrap(cast(x.array, dtype))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return to(g, ctx.dtype), None


def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """input where condition holds, else other; the three broadcast, and either of the last two may be a number."""
    from .creation import full

    check_tensor("where", condition, "condition")
    x, y = input, other
    if x.__class__ not in _tensor_classes and y.__class__ not in _tensor_classes:
        x = full((), x, device=condition.device)
    x, y = operands("where", x, y)
    dtype = _dtype(x, y)
    x, y = (v if v.__class__ in _tensor_classes else full((), v, dtype=dtype, device=condition.device) for v in (x, y))
    return Where.apply(condition, x, y)


def clone(input: Tensor) -> Tensor:
    """A copy in memory of its own, with the same history."""
    return Clone.apply(check_tensor("clone", input))


def to(input: Tensor, dtype: Any) -> Tensor:
    """`input` converted to `dtype`; itself where it has that dtype."""
    check_tensor("to", input)
    dtype = as_dtype(dtype)
    return input if input.dtype == dtype else To.apply(input, dtype)
