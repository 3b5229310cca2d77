"""Element-wise operations on Arrays: arithmetic, functions, comparisons, casts, where, clamp, fill and copy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..array import Array
from ..dtypes import C_NAME, as_dtype, bool_, float16, is_float, uint8
from ..program import Define, Kernel
from .broadcast import Shape, broadcast_shape, collapse, in_three
from .checks import check_array, check_out, check_same

_UNARY = Kernel("elementwise.cl", "unary", x="in", out="out")
_BINARY = Kernel("elementwise.cl", "binary", x="in", y="in", out="out")
_RIGHT = Kernel("elementwise.cl", "binary_right", x="in", out="out")
_LEFT = Kernel("elementwise.cl", "binary_left", y="in", out="out")
_BROADCAST = Kernel("elementwise.cl", "binary_broadcast", x="in D0 D1 D2", y="in D0 D1 D2", out="out D0 D1 D2")
_WHERE = Kernel(
    "elementwise.cl", "where", condition="in D0 D1 D2", x="in D0 D1 D2", y="in D0 D1 D2", out="out D0 D1 D2"
)
_CLAMP = Kernel("elementwise.cl", "clamp_to", x="in", out="out")
_CLAMP_BACKWARD = Kernel("elementwise.cl", "clamp_backward", g="in", x="in", out="out")
_FILL = Kernel("elementwise.cl", "fill", out="out")

_LOCAL = (64,)
_LOCAL_3D = (64, 1, 1)

# What each operation computes, in OpenCL C, and the kinds of dtypes it takes: f floating point, i integers, b bool.
# fmax and fmin drop NaN, so maximum and minimum are comparisons: a != a holds for NaN only.
UNARY = {
    "copy": ("(a)", "fib"),
    "neg": ("(-(a))", "fi"),
    "abs": ("((a) < 0 ? -(a) : (a) + 0)", "fi"),
    "sign": ("((a) > 0 ? 1 : (a) < 0 ? -1 : (a) != (a) ? (a) : 0)", "fi"),
    "square": ("((a) * (a))", "fi"),
    "reciprocal": ("(1 / (a))", "f"),
    "exp": ("(exp(a))", "f"),
    "log": ("(log(a))", "f"),
    "sqrt": ("(sqrt(a))", "f"),
    "sin": ("(sin(a))", "f"),
    "cos": ("(cos(a))", "f"),
    "tanh": ("(tanh(a))", "f"),
    "erf": ("(erf(a))", "f"),
    "sigmoid": ("((a) < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-(a))))", "f"),
    "relu": ("((a) < 0 ? 0 : (a))", "fi"),
    "gelu": ("((A)0.5 * (a) * erfc((a) * (A)-0.70710678118654752440))", "f"),
    "logical_not": ("(!(a))", "fib"),
}

BINARY = {
    "add": ("((a) + (b))", "fib"),
    "sub": ("((a) - (b))", "fi"),
    "mul": ("((a) * (b))", "fib"),
    "div": ("((a) / (b))", "f"),
    "pow": ("(pow(a, b))", "fi"),
    "maximum": ("((a) > (b) || (a) != (a) ? (a) : (b))", "fib"),
    "minimum": ("((a) < (b) || (a) != (a) ? (a) : (b))", "fib"),
    # how much of the gradient of maximum(a, b) goes to a: half of it in a tie
    "maximum_share": ("((a) < (b) ? (A)0 : (a) == (b) ? (A)0.5 : (A)1)", "f"),
    "minimum_share": ("((a) > (b) ? (A)0 : (a) == (b) ? (A)0.5 : (A)1)", "f"),
    # gradients, of the incoming gradient a and the function's result (relu, sigmoid, tanh) or input b
    "relu_backward": ("((b) <= 0 ? 0 : (a))", "f"),
    "sigmoid_backward": ("((a) * (b) * (1 - (b)))", "f"),
    "tanh_backward": ("((a) * (1 - (b) * (b)))", "f"),
}

COMPARE = {
    "eq": ("((a) == (b))", "fib"),
    "ne": ("((a) != (b))", "fib"),
    "lt": ("((a) < (b))", "fib"),
    "le": ("((a) <= (b))", "fib"),
    "gt": ("((a) > (b))", "fib"),
    "ge": ("((a) >= (b))", "fib"),
    "logical_and": ("((a) && (b))", "fib"),
    "logical_or": ("((a) || (b))", "fib"),
    "logical_xor": ("(!(a) != !(b))", "fib"),
}


class _Plan(NamedTuple):
    """What one operation on one dtype compiles with, and the dtype it gives."""

    defines: tuple[Define, ...]
    result: np.dtype


_plans: dict[tuple[str, np.dtype], _Plan] = {}


def _plan(op: str, dtype: np.dtype) -> _Plan:
    found = _plans.get((op, dtype))
    if found is None:
        found = _plans[(op, dtype)] = _make_plan(op, dtype)
    return found


def _make_plan(op: str, dtype: np.dtype) -> _Plan:
    macro = "UNARY(a)" if op in UNARY else "BINARY(a, b)"
    text, kinds = UNARY.get(op) or BINARY.get(op) or COMPARE[op]
    if not (dtype.kind in kinds or (dtype.kind == "u" and "i" in kinds)):
        raise TypeError(f"{op}: the operand is {dtype}; {op} needs {_needed(kinds)}: convert with .to(...)")
    if op == "pow" and not is_float(dtype):
        text = "(int_power(a, b))"
    if op in COMPARE or op == "logical_not":
        return _Plan(((macro, text), ("R", "uchar")), bool_)
    if dtype == bool_:
        text = f"({text} != 0)"
    return _Plan(((macro, text), ("R", C_NAME[dtype])), dtype)


def _needed(kinds: str) -> str:
    return {"f": "floating point", "fi": "floating point or integers"}[kinds]


# The functions below trust their arguments: ops have checked theirs. `elementwise` checks and calls them.


def unary(op: str, x: Array, out: Array | None = None) -> Array:
    """out[i] = op(x[i])"""
    plan = _plan(op, x.dtype)
    if out is None:
        out = Array.empty(x.shape, plan.result, x.device)
    _UNARY.launch(x.dtype, (x.size,), _LOCAL, x, out, x.size, defines=plan.defines)
    return out


def binary(op: str, x: Any, y: Any, out: Array | None = None) -> Array:
    """out = op(x, y) with broadcasting; either operand may be a Python number."""
    if x.__class__ is not Array:
        plan = _plan(op, y.dtype)
        if out is None:
            out = Array.empty(y.shape, plan.result, y.device)
        _LEFT.launch(y.dtype, (y.size,), _LOCAL, x, y, out, y.size, defines=plan.defines)
        return out
    plan = _plan(op, x.dtype)
    if y.__class__ is not Array:
        if out is None:
            out = Array.empty(x.shape, plan.result, x.device)
        _RIGHT.launch(x.dtype, (x.size,), _LOCAL, x, y, out, x.size, defines=plan.defines)
    elif x.shape == y.shape:
        if out is None:
            out = Array.empty(x.shape, plan.result, x.device)
        _BINARY.launch(x.dtype, (x.size,), _LOCAL, x, y, out, x.size, defines=plan.defines)
    else:
        shape = broadcast_shape(op, x.shape, y.shape)
        if out is None:
            out = Array.empty(shape, plan.result, x.device)
        (x, y), sizes, (xs, ys) = _aligned(shape, x, y)
        _BROADCAST.launch(x.dtype, sizes[::-1], _LOCAL_3D, x, y, out, *sizes, *xs, *ys, defines=plan.defines)
    return out


def _aligned(shape: Shape, *operands: Array) -> tuple[tuple[Array, ...], Shape, tuple[Shape, ...]]:
    """Operands, the sizes of three axes, and each operand's strides along them.

    Where three axes are not enough, operands are first repeated to the full shape.
    """
    sizes, strides = collapse(shape, *[a.shape for a in operands])
    if len(sizes) > 3:
        operands = tuple(broadcast_to(a, shape) for a in operands)
        sizes, strides = collapse(shape, *[a.shape for a in operands])
    return (operands, *in_three(sizes, strides))


def broadcast_to(x: Array, shape: Shape) -> Array:
    """`x` repeated to `shape`, one axis after another; `x` itself where it has that shape."""
    x = x.reshape((1,) * (len(shape) - x.ndim) + x.shape)
    for axis, size in enumerate(shape):
        if x.shape[axis] != size:
            wider = x.shape[:axis] + (size,) + x.shape[axis + 1 :]
            _, sizes, (xs,) = _aligned(wider, x)
            out = Array.empty(wider, x.dtype, x.device)
            defines = (("BINARY(a, b)", "(a)"), ("R", C_NAME[x.dtype]))
            _BROADCAST.launch(x.dtype, sizes[::-1], _LOCAL_3D, x, x, out, *sizes, *xs, *xs, defines=defines)
            x = out
    return x


def fill(out: Array, value: float | int | bool) -> Array:
    """Set every element of `out` to a number."""
    check_array("fill", "out", out)
    _FILL.launch(out.dtype, (out.size,), _LOCAL, out, value, out.size, defines=(("FILL", "1"),))
    return out


def copy(x: Array, out: Array | None = None) -> Array:
    """A copy of `x` in memory of its own, or in `out`."""
    check_array("copy", "x", x)
    return unary("copy", x, check_out("copy", out, x.shape, x.dtype, x.device))


def cast(x: Array, dtype: Any, out: Array | None = None) -> Array:
    """`x` converted to another dtype."""
    check_array("cast", "x", x)
    dtype = as_dtype(dtype)
    out = check_out("cast", out, x.shape, dtype, x.device)
    if float16 in (x.dtype, dtype):
        raise TypeError(f"cast: {x.dtype} to {dtype} is not supported yet; gpugrad computes in float32 and float64")
    if dtype.itemsize == 8 and not x.device.has_float64:
        raise TypeError(f"cast: {x.device} has no float64; use float32")
    if dtype == bool_:
        text = "((a) != 0)"
    elif (dtype == uint8 and is_float(x.dtype)) or (is_float(x.dtype) and not is_float(dtype)):
        text = "(convert_int_sat(a))"
    else:
        text = "(a)"
    defines = (("UNARY(a)", text), ("R", C_NAME[dtype]))
    _UNARY.launch(x.dtype, (x.size,), _LOCAL, x, out, x.size, defines=defines)
    return out


def where(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    """condition ? x : y for each element, with broadcasting."""
    check_array("where", "condition", condition)
    check_array("where", "x", x)
    check_array("where", "y", y)
    check_same("where", x=x, y=y)
    if condition.dtype != bool_:
        raise TypeError(f"where: condition is {condition.dtype}; it must be bool, as a comparison gives it")
    if condition.device is not x.device:
        raise ValueError(f"where: condition is on {condition.device}, x on {x.device}; put both on one")
    shape = broadcast_shape("where", condition.shape, x.shape, y.shape)
    out = check_out("where", out, shape, x.dtype, x.device)
    (condition, x, y), sizes, (cs, xs, ys) = _aligned(shape, condition, x, y)
    args = (condition, x, y, out, *sizes, *cs, *xs, *ys)
    _WHERE.launch(x.dtype, sizes[::-1], _LOCAL_3D, *args, defines=(("WHERE", "1"),))
    return out


def elementwise(op: str, *args: Any, out: Array | None = None) -> Array:
    """Any operation of this family by its name, checked: `elementwise("add", x, y)`.

    Operands are Arrays of one dtype and device, of shapes that broadcast; one of two may be a Python number.
    `out` takes the result (and may be an operand of the result's shape). Comparisons give bool.
    """
    count = 1 if op in UNARY else 2 if op in BINARY or op in COMPARE else 0
    if count == 0:
        raise ValueError(f"elementwise: op is {op!r}; there is {', '.join([*UNARY, *BINARY, *COMPARE])}")
    if len(args) != count:
        raise TypeError(f"elementwise: {op} takes {count} operand{'s' * (count > 1)}, got {len(args)}")
    arrays = {f"operand {i}": a for i, a in enumerate(args, 1) if not isinstance(a, (bool, int, float))}
    if not arrays:
        raise TypeError(f"elementwise: {op}: no operand is an Array")
    for name, a in arrays.items():
        check_array(f"elementwise: {op}", name, a)
    check_same(f"elementwise: {op}", **arrays)
    shape = broadcast_shape(op, *[a.shape for a in arrays.values()])
    first = next(iter(arrays.values()))
    plan = _plan(op, first.dtype)
    if out is not None:
        check_out(f"elementwise: {op}", out, shape, plan.result, first.device)
    return unary(op, *args, out=out) if count == 1 else binary(op, *args, out=out)
