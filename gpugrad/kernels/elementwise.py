"""Element-wise operations on Arrays: arithmetic, functions, comparisons, casts, where, clamp, fill and copy."""

from __future__ import annotations

import contextlib
import math
import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..array import Array
from ..device import Device
from ..dtypes import C_NAME, as_dtype, bool_, computed_in, float16, is_float
from ..program import Define, Kernel
from .broadcast import Shape, broadcast_shape, collapse, in_three
from .checks import as_float, check_array, check_out, check_same, number_for
from .operations import COMPARE, OPERATIONS, UNARY
from .strided import expand
from .tuning import tuned

_UNARY = Kernel("elementwise.cl", "unary", x="in", out="out")
_BINARY = Kernel("elementwise.cl", "binary", x="in", y="in", out="out")
_RIGHT = Kernel("elementwise.cl", "binary_right", x="in", out="out")
_LEFT = Kernel("elementwise.cl", "binary_left", y="in", out="out")
_BROADCAST = Kernel("elementwise.cl", "binary_broadcast", x="in", y="in", out="out D0 D1 D2")
_WHERE = Kernel("elementwise.cl", "where", condition="in", x="in", y="in", out="out D0 D1 D2")
_CLAMP = Kernel("elementwise.cl", "clamp_to", x="in", out="out")
_CLAMP_BACKWARD = Kernel("elementwise.cl", "clamp_backward", g="in", x="in", out="out")
_FILL = Kernel("elementwise.cl", "fill", out="out")


class _Geometry(NamedTuple):
    """How work is dealt out on a device."""

    run: int  # neighbours that one work-item computes
    local: Shape
    define: Define

    def over(self, n: int) -> Shape:
        """The global size for `n` elements."""
        return (-(-n // self.run),)


def _geometry(device: Device) -> _Geometry:
    found: _Geometry | None = device.cache.get("elementwise")
    if found is None:
        run = tuned("elementwise run", device)
        found = _Geometry(run, (tuned("elementwise group", device),), ("RUN", str(run)))
        device.cache["elementwise"] = found
    return found


class _Plan:
    """One operation on one dtype on one device: what it compiles with, and the dtype it gives."""

    def __init__(self, op: str, dtype: np.dtype, device: Device):
        text = OPERATIONS[op].text(dtype.kind)
        if text is None:
            raise TypeError(f"{op}: the operand is {dtype}; it must be {_kinds(op)}: convert with .to(...)")
        macro = "UNARY(a)" if op in UNARY else "BINARY(a, b)"
        self.dtype, self.device, self.geometry = dtype, device, _geometry(device)
        self.result = bool_ if op in COMPARE or op == "logical_not" else dtype
        #: A number beside halves is compared as a half, as in PyTorch: a tensor filled with 0.1 is equal to 0.1.
        self.rounds = dtype == float16 and op in COMPARE
        self.defines = (self.geometry.define, ("R", C_NAME[self.result]), (macro, text))
        self._compiled: dict[Kernel, Any] = {}

    def kernel(self, kernel: Kernel) -> Any:
        """`kernel` compiled for this operation."""
        found = self._compiled.get(kernel)
        if found is None:
            found = self._compiled[kernel] = kernel.compiled(self.device, self.dtype, self.defines)
        return found


def _plan(op: str, dtype: np.dtype, device: Device) -> _Plan:
    key = ("elementwise", op, dtype)
    found: _Plan | None = device.cache.get(key)
    if found is None:
        found = device.cache[key] = _Plan(op, dtype, device)
    return found


def _kinds(op: str) -> str:
    names = {"f": "floating point", "i": "integer", "b": "bool"}
    return " or ".join(name for kind, name in names.items() if OPERATIONS[op].text(kind))


# The next two trust their arguments: ops have checked theirs. `elementwise` checks and calls them.


def unary(op: str, x: Array, out: Array | None = None) -> Array:
    """out[i] = op(x[i])"""
    plan = _plan(op, x.dtype, x.device)
    if out is None:
        out = Array.empty(x.shape, plan.result, x.device)
    plan.kernel(_UNARY)(plan.geometry.over(x.size), plan.geometry.local, x, out, x.size)
    return out


def binary(op: str, x: Any, y: Any, out: Array | None = None) -> Array:
    """out = op(x, y) with broadcasting; one operand may be a Python number."""
    first = x if x.__class__ is Array else y
    plan = _plan(op, first.dtype, first.device)
    if first is x and y.__class__ is Array and x.shape != y.shape:
        return _binary_broadcast(op, plan, x, y, out)
    if out is None:
        out = Array.empty(first.shape, plan.result, first.device)
    if plan.rounds:
        x, y = (a if a.__class__ is Array else number_for(op, "the number", a, float16) for a in (x, y))
    kernel = _BINARY if y.__class__ is x.__class__ else _RIGHT if first is x else _LEFT
    plan.kernel(kernel)(plan.geometry.over(first.size), plan.geometry.local, x, y, out, first.size)
    return out


def _binary_broadcast(op: str, plan: _Plan, x: Array, y: Array, out: Array | None) -> Array:
    shape = broadcast_shape(op, x.shape, y.shape)
    if out is None:
        out = Array.empty(shape, plan.result, x.device)
    (x, y), sizes, (xs, ys) = _aligned(shape, x, y)
    _launch_rows(_BROADCAST, x.dtype, plan.defines, plan.geometry, sizes, x, y, out, *xs, *ys)
    return out


def _aligned(shape: Shape, *operands: Array) -> tuple[tuple[Array, ...], Shape, tuple[Shape, ...]]:
    """Operands, the sizes of three axes, and each operand's strides along them.

    Where three axes are not enough, operands are first repeated to the full shape.
    """
    sizes, strides = collapse(shape, *[a.shape for a in operands])
    if len(sizes) > 3:
        operands = tuple(a if a.shape == shape else expand(a, shape) for a in operands)
        sizes, strides = collapse(shape, *[a.shape for a in operands])
    return (operands, *in_three(sizes, strides))


def _launch_rows(
    kernel: Kernel, dtype: np.dtype, defines: tuple[Define, ...], geometry: _Geometry, sizes: Shape, *args: Any
) -> None:
    """Launch over the rows of D0 x D1 x D2 elements; the last axis is global id 0."""
    D0, D1, D2 = sizes
    (group,), run = geometry.local, geometry.run
    # A group shares one long row, or takes several short ones.
    wide = group if group * run <= D2 else 8 if run == 1 else 1
    kernel.launch(dtype, (-(-D2 // run), D1, D0), (wide, group // wide, 1), *args, *sizes, defines=defines)


def elementwise(op: str, *args: Any, out: Array | None = None) -> Array:
    """Any operation of this family by its name, checked: `elementwise("add", x, y)`.

    Operands are Arrays of one dtype and one device, of shapes that broadcast by NumPy's rule; one of two may be a
    Python number. `out` takes the result, and may be an operand of the result's shape. Comparisons give bool.

    Error, in ulp of the result: add, sub, mul and what only chooses are correctly rounded; the others are within what
    OpenCL allows their functions: div and reciprocal 2.5, exp, log and sqrt 3, sin and cos 4, tanh 5, sigmoid 6, pow 16
    (measured on PoCL: exp 0.9, log 0.6, tanh 1.1, sin 1.5, sigmoid 2.1, pow 0.8). gelu's is 8 eps of its operand,
    and its slope's 16 eps, as terms cancel in them. A fused sum (add_tanh, ...) is rounded once before the function.
    """
    if not isinstance(op, str):
        raise TypeError(f"elementwise: op is {op!r}; it must be a name: {', '.join(OPERATIONS)}")
    if op not in OPERATIONS:
        raise ValueError(f"elementwise: op is {op!r}; there is {', '.join(OPERATIONS)}")
    count = 1 if op in UNARY else 2
    if len(args) != count:
        raise TypeError(f"elementwise: {op} takes {count} operand{'s' * (count > 1)}, got {len(args)}")
    name = f"elementwise: {op}"
    arrays = {f"operand {i}": a for i, a in enumerate(args, 1) if not isinstance(a, numbers.Real)}
    if not arrays:
        raise TypeError(f"{name}: no operand is an Array; make one with gpugrad.Array.from_numpy(...)")
    for which, a in arrays.items():
        check_array(name, which, a)
    check_same(name, **arrays)
    first = next(iter(arrays.values()))
    operands = [a if isinstance(a, Array) else number(name, "the number", a, first.dtype) for a in args]
    shape = broadcast_shape(op, *[a.shape for a in arrays.values()])
    result = _plan(op, first.dtype, first.device).result
    if out is not None:
        check_out(name, out, shape, result, first.device, *[a for a in arrays.values() if a.shape != shape])
    return unary(op, operands[0], out) if count == 1 else binary(op, operands[0], operands[1], out)


def number(function: str, name: str, value: Any, dtype: np.dtype) -> Any:
    """`value` as the Python number that a kernel on `dtype` takes; TypeError or ValueError where it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{function}: {name} is {value!r}; it must be a number")
    if dtype.kind == "f":
        return as_float(function, name, value)
    if dtype == bool_:
        return int(bool(value))
    if isinstance(value, float):
        raise TypeError(f"{function}: {name} is {value!r}, the Array is {dtype}; use an integer, or cast the Array")
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{function}: {name} is {value}; beside {dtype} it must fit in int32")
    return int(value)


def fill(out: Array, value: Any) -> Array:
    """Set every element of `out` to a number, and return it."""
    check_array("fill", "out", out)
    value = number_for("fill", "value", value, out.dtype)
    geometry = _geometry(out.device)
    defines = (geometry.define, ("FILL", ""))
    _FILL.launch(out.dtype, geometry.over(out.size), geometry.local, out, value, out.size, defines=defines)
    return out


def copy(x: Array, out: Array | None = None) -> Array:
    """A copy of `x`, in memory of its own or in `out`."""
    check_array("copy", "x", x)
    return unary("copy", x, check_out("copy", out, x.shape, x.dtype, x.device))


def cast(x: Array, dtype: Any, out: Array | None = None) -> Array:
    """`x` converted to another dtype.

    Floating point to integers cuts the fraction off; what does not fit in int32 becomes the nearer end of it, and NaN
    0. To uint8 the lowest 8 bits of that stay, as in C. To bool: whether it is not 0. float64 becomes float16 by way of
    float32, as in PyTorch.
    """
    check_array("cast", "x", x)
    dtype = as_dtype(dtype)
    if dtype.itemsize == 8 and not x.device.has_float64:
        raise TypeError(f"cast: {x.device} has no float64; use float32")
    out = check_out("cast", out, x.shape, dtype, x.device)
    text = "a"
    if dtype == bool_:
        text = "a != 0"
    elif is_float(x.dtype) and not is_float(dtype):
        text = "a == a ? convert_int_sat(a) : 0"  # PoCL's makes NaN the lowest integer
    geometry = _geometry(x.device)
    defines = (geometry.define, ("R", C_NAME[dtype]), ("UNARY(a)", text))
    _UNARY.launch(x.dtype, geometry.over(x.size), geometry.local, x, out, x.size, defines=defines)
    return out


@contextlib.contextmanager
def summing(out: Array) -> Iterator[Array]:
    """An Array to add up in, which is rounded into `out` at the end: `out` itself unless it is float16."""
    computed = computed_in(out.dtype)
    sums = out if out.dtype == computed else Array.empty(out.shape, computed, out.device)
    yield sums
    if sums is not out:
        cast(sums, out.dtype, out)


def where(condition: Array, x: Array, y: Array, out: Array | None = None) -> Array:
    """x where `condition` (bool) holds, else y, with broadcasting."""
    for name, a in (("condition", condition), ("x", x), ("y", y)):
        check_array("where", name, a)
    check_same("where", x=x, y=y)
    if condition.dtype != bool_:
        raise TypeError(f"where: condition is {condition.dtype}; it must be bool, which comparisons give")
    if condition.device is not x.device:
        raise ValueError(f"where: condition is on {condition.device}, x on {x.device}; put both on one")
    shape = broadcast_shape("where", condition.shape, x.shape, y.shape)
    apart = [a for a in (condition, x, y) if a.shape != shape]
    out = check_out("where", out, shape, x.dtype, x.device, *apart)
    (condition, x, y), sizes, (cs, xs, ys) = _aligned(shape, condition, x, y)
    geometry = _geometry(x.device)
    args = (condition, x, y, out, *cs, *xs, *ys)
    _launch_rows(_WHERE, x.dtype, (geometry.define, ("WHERE", "")), geometry, sizes, *args)
    return out


def _bounds(name: str, x: Array, min: Any, max: Any) -> tuple[Any, Any]:
    """The ends of a clamp as numbers; what is None becomes an end that no number reaches beyond."""
    if min is None and max is None:
        raise ValueError(f"{name}: min and max are None; give at least one of them")
    if x.dtype == bool_:
        raise TypeError(f"{name}: x is bool; it must be a number: convert with .to(...)")
    info = np.iinfo(np.int32)
    lowest, highest = (-math.inf, math.inf) if is_float(x.dtype) else (int(info.min), int(info.max))
    low = lowest if min is None else number(name, "min", min, x.dtype)
    high = highest if max is None else number(name, "max", max, x.dtype)
    if low != low or high != high:
        raise ValueError(f"{name}: min is {min}, max is {max}; NaN bounds nothing")
    if x.dtype == float16:  # the result can be no other number, and an element that is equal to a bound is within it
        low, high = number_for(name, "min", low, float16), number_for(name, "max", high, float16)
    if x.dtype == np.uint8 and (low > 255 or high < 0):
        raise ValueError(f"{name}: min is {min}, max is {max}; uint8 holds 0 to 255, so that nothing is left of x")
    return low, high


def clamp(x: Array, min: Any = None, max: Any = None, out: Array | None = None) -> Array:
    """`x` brought into min..max (numbers; None for no bound); max where min is larger. NaN stays."""
    check_array("clamp", "x", x)
    low, high = _bounds("clamp", x, min, max)
    out = check_out("clamp", out, x.shape, x.dtype, x.device)
    geometry = _geometry(x.device)
    defines = (geometry.define, ("CLAMP", ""))
    _CLAMP.launch(x.dtype, geometry.over(x.size), geometry.local, x, low, high, out, x.size, defines=defines)
    return out


def clamp_backward(grad_output: Array, x: Array, min: Any = None, max: Any = None, out: Array | None = None) -> Array:
    """The gradient of clamp: `grad_output` where min <= x <= max, else 0."""
    check_array("clamp_backward", "grad_output", grad_output)
    check_array("clamp_backward", "x", x)
    check_same("clamp_backward", x=x, grad_output=grad_output)
    if x.shape != grad_output.shape:
        raise ValueError(f"clamp_backward: grad_output has shape {grad_output.shape}, x {x.shape}; they must be equal")
    low, high = _bounds("clamp_backward", x, min, max)
    out = check_out("clamp_backward", out, x.shape, x.dtype, x.device)
    geometry = _geometry(x.device)
    args = (grad_output, x, low, high, out, x.size)
    defines = (geometry.define, ("CLAMP", ""))
    _CLAMP_BACKWARD.launch(x.dtype, geometry.over(x.size), geometry.local, *args, defines=defines)
    return out


ACTIVATIONS = {"none": "add", "relu": "add_relu", "sigmoid": "add_sigmoid", "tanh": "add_tanh"}


def bias_activation(x: Array, bias: Array, activation: str = "none", out: Array | None = None) -> Array:
    """activation(x + bias) in one pass: x is (N, C) or (N, C, ...), bias (C,); `out` may be x.

    `activation`: "none", "relu", "sigmoid" or "tanh". Its gradient follows from the result y:
    `elementwise("relu_backward", grad_output, y)`, and the like.
    """
    check_array("bias_activation", "x", x)
    check_array("bias_activation", "bias", bias, 1)
    check_same("bias_activation", x=x, bias=bias)
    if activation not in ACTIVATIONS:
        raise ValueError(f"bias_activation: activation is {activation!r}; there is {', '.join(ACTIVATIONS)}")
    if x.ndim < 2 or x.shape[1] != bias.size:
        raise ValueError(
            f"bias_activation: x has shape {x.shape}, bias has {bias.size} elements; x must be (N, {bias.size}, ...)"
        )
    if out is not None:
        check_out("bias_activation", out, x.shape, x.dtype, x.device, bias)
    return binary(ACTIVATIONS[activation], x, bias.reshape((-1,) + (1,) * (x.ndim - 2)), out)
