"""softmax and log-softmax along an axis, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array import Array
from ..device import Device
from ..dtypes import float64
from ..program import Define, Kernel
from .checks import axis, check_array, check_float, check_out, check_same
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_LINES = {"x": "in outer n inner", "out": "out outer n inner"}
_NAIVE = Kernel("softmax.cl", "softmax_naive", **_LINES)
_STABLE = Kernel("softmax.cl", "softmax_stable", **_LINES)
_ONLINE = Kernel("softmax.cl", "softmax_online", **_LINES)
_LANES = Kernel("softmax.cl", "softmax_lanes", **_LINES)
_GRADIENTS = {"g": "in outer n inner", "y": "in outer n inner", "gx": "out outer n inner"}
_BACKWARD = Kernel("softmax.cl", "softmax_backward", **_GRADIENTS)
_BACKWARD_TREE = Kernel("softmax.cl", "softmax_backward_tree", **_GRADIENTS)
_BACKWARD_LANES = Kernel("softmax.cl", "softmax_backward_lanes", **_GRADIENTS)

_LOCAL = (16,)


def softmax(x: Array, dim: int, *, variant: str | None = None, out: Array | None = None) -> Array:
    """exp(x) / sum of exp(x) along `dim`, for a float Array of any shape.

    A line of -infinity only, or with +infinity or NaN in it, is NaN. Relative error: at most (p + 8) eps, where the
    axis of n elements is added up in parts, p = min(n, 256) + n / 256, and as much as exp's own. The variant "naive"
    overflows above 88 (float32), and adds up n in one go.
    """
    return _softmax("softmax", x, dim, variant, out)


def log_softmax(x: Array, dim: int, *, variant: str | None = None, out: Array | None = None) -> Array:
    """x - log(sum of exp(x)) along `dim`, for a float Array of any shape. See `softmax`.

    Absolute error: at most (p + 8) eps + 2 eps |x - max|.
    """
    return _softmax("log_softmax", x, dim, variant, out)


def _softmax(name: str, x: Array, dim: int, chosen: str | None, out: Array | None) -> Array:
    outer, n, inner = _lines(name, "x", x, dim)
    out = check_out(name, out, x.shape, x.dtype, x.device, x)
    if out.size == 0:
        return out
    run, custom = resolve("softmax", chosen, _default(n, x.device))
    if custom is not None and name == "log_softmax":
        run, custom = resolve("softmax", "stable", "stable")  # a kernel of your own takes over softmax only
    run(custom, name, x, out, outer, n, inner)
    return out


@variant("softmax", "naive")
def _naive(kernel: Any, name: str, x: Array, out: Array, outer: int, n: int, inner: int) -> None:
    """No maximum subtracted. A kernel of your own gets (x, out, outer, n, inner), one work-item for each line."""
    args = (x, out, outer, n, inner)
    launch_first(_NAIVE, kernel, x.dtype, (outer * inner,), _LOCAL, *args, defines=_defines(name, x.device))


@variant("softmax", "stable")
def _stable(kernel: Any, name: str, x: Array, out: Array, outer: int, n: int, inner: int) -> None:
    """One work-item for each line: maximum, sum, result."""
    _STABLE.launch(x.dtype, (outer * inner,), _LOCAL, x, out, outer, n, inner, defines=_defines(name, x.device))


@variant("softmax", "online")
def _online(kernel: Any, name: str, x: Array, out: Array, outer: int, n: int, inner: int) -> None:
    """One work-group for each line: maximum and sum in one reading."""
    group = tuned("reduce group", x.device)
    size = (outer * inner * group,)
    _ONLINE.launch(x.dtype, size, (group,), x, out, n, inner, defines=_defines(name, x.device))


@variant("softmax", "lanes")
def _lanes(kernel: Any, name: str, x: Array, out: Array, outer: int, n: int, inner: int) -> None:
    """One work-item for some lines side by side, in a vector."""
    vector, work_items = _vector(x.dtype, outer * inner)
    _LANES.launch(x.dtype, work_items, (4,), x, out, outer, n, inner, defines=_defines(name, x.device) + vector)


def softmax_backward(name: str, g: Array, y: Array, dim: int) -> Array:
    """The gradient of `name` ("softmax" or "log_softmax") along `dim`, from its result y and the gradient g of that."""
    if name not in ("softmax", "log_softmax"):
        raise ValueError(f"softmax_backward: name is {name!r}; it is 'softmax' or 'log_softmax'")
    outer, n, inner = _lines("softmax_backward", "y", y, dim)
    check_array("softmax_backward", "g", g)
    check_same("softmax_backward", y=y, g=g)
    if g.shape != y.shape:
        raise ValueError(f"softmax_backward: g has shape {g.shape}, y has {y.shape}; they must be equal")
    gx = Array.empty(y.shape, y.dtype, y.device)
    defines = _defines(name, y.device)
    chosen = _default(n, y.device)
    if chosen == "online":
        group = tuned("reduce group", y.device)
        _BACKWARD_TREE.launch(y.dtype, (outer * inner * group,), (group,), g, y, gx, n, inner, defines=defines)
    elif chosen == "lanes":
        vector, work_items = _vector(y.dtype, outer * inner)
        _BACKWARD_LANES.launch(y.dtype, work_items, (4,), g, y, gx, outer, n, inner, defines=defines + vector)
    else:
        _BACKWARD.launch(y.dtype, (outer * inner,), _LOCAL, g, y, gx, outer, n, inner, defines=defines)
    return gx


def _default(n: int, device: Device) -> str:
    """The variant for lines of n elements."""
    choice: str = "online" if n >= tuned("softmax shared", device) else tuned("softmax", device)
    return choice


def _vector(dtype: np.dtype, lines: int) -> tuple[tuple[Define, ...], tuple[int]]:
    """The vector that lines stand side by side in, as macros, and the work-items that so many lines need."""
    name, lanes = ("double4", 4) if dtype == float64 else ("float8", 8)
    return (("V", name), ("LANES", str(lanes))), (-(-lines // lanes),)


def _lines(function: str, name: str, x: Array, dim: int) -> tuple[int, int, int]:
    """x as outer x n x inner around its axis `dim`."""
    check_array(function, name, x)
    check_float(function, name, x)
    d = axis(function, dim, x.ndim)
    return math.prod(x.shape[:d]), x.shape[d] if x.ndim else 1, math.prod(x.shape[d + 1 :])


def _defines(name: str, device: Device) -> tuple[Define, ...]:
    group = ("GROUP", str(tuned("reduce group", device)))
    return (group, ("LOG", "1")) if name == "log_softmax" else (group,)
