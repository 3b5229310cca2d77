"""Reductions: sum, mean, max, min, argmax and argmin over any axes of an Array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..array import Array, Shape
from ..dtypes import C_NAME, computed_in, int32, is_float
from ..program import Define, Kernel
from .argmax import default_variant, extremum
from .checks import axes, boolean, check_array, check_out
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_SERIAL = Kernel("reduce.cl", "reduce_serial", x="in outer reduced inner", out="out outer inner")
_TREE = Kernel("reduce.cl", "reduce_tree", x="in outer reduced inner", out="out outer chunks inner")
_ROWS = Kernel("reduce.cl", "reduce_rows", x="in outer reduced", out="out outer chunks")
_STRIPS = Kernel("reduce.cl", "reduce_strips", x="in outer reduced inner", out="out outer chunks inner")
_DIVIDE = Kernel("reduce.cl", "reduce_divide", x="in", out="out")

LANES = 32  # results side by side in reduce_rows
ROW_CHUNK = 4096  # 128 roundings for each of the 32 lanes, then 5
COLUMN_CHUNK = 256

# COMBINE for each operation. A comparison with a NaN is false, so max and min name it: NaN wins.
_COMBINE = {
    "sum": "((a) + (b))",
    "max": "((b) > (a) || (b) != (b) ? (b) : (a))",
    "min": "((b) < (a) || (b) != (b) ? (b) : (a))",
}
_START = {
    "sum": ("0", "0"),
    "max": ("-INFINITY", "INT_MIN"),
    "min": ("INFINITY", "INT_MAX"),
}
OPERATIONS = ("sum", "mean", "max", "min", "argmax", "argmin")


def reduce(
    op: str,
    x: Array,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """`op` ("sum", "mean", "max", "min", "argmax" or "argmin") over the axes `dim`: one, several, or None for all.

    keepdim leaves reduced axes in place with size 1. A sum of int32, uint8 or bool is int32 and wraps around at
    2^31; mean takes floating point only; max and min keep the dtype, and a NaN wins. argmax and argmin take one axis,
    or None for the flat index; they give int32, the first of equals. Over no elements a sum is 0, a mean NaN, and the
    others raise ValueError.

    Rounding: a sum's error is at most 260 passes eps/2 sum|x|, where a pass shortens the axis by 256 or more
    (so 3 passes for 10 million elements); the variant "serial" loses n eps/2 sum|x| for n elements. float16 is summed
    in float32, then rounded once, or not at all where `out` is float32.
    """
    if not isinstance(op, str):
        raise TypeError(f"reduce: op is {type(op).__name__}; the name comes first ({', '.join(OPERATIONS)}), then x")
    if op not in OPERATIONS:
        raise ValueError(f"reduce: op is {op!r}; there is {', '.join(OPERATIONS)}")
    check_array(op, "x", x)
    if op == "mean" and not is_float(x.dtype):
        raise TypeError(f"mean: x is {x.dtype}; a mean is a fraction, convert with .to(gpugrad.float32) first")
    if op in ("argmax", "argmin"):
        _, indices = extremum(op[3:], x, dim, keepdim, variant=variant, name=op, out=out)  # type: ignore[arg-type]
        return indices
    return reduce_axes(op, x, axes(op, dim, x.ndim), boolean(op, "keepdim", keepdim), variant, out)


def reduce_axes(
    op: str, x: Array, dims: tuple[int, ...], keepdim: bool, variant: str | None = None, out: Array | None = None
) -> Array:
    """`reduce` for arguments that are checked: dims count from the front, in ascending order; not argmax or argmin."""
    shape, groups, count = _plan(x.shape, dims, keepdim)
    if count == 0 and op in ("max", "min") and 0 not in shape:
        raise ValueError(f"{op}: x has shape {x.shape}, so there is nothing to take the {op} of; it needs an element")
    folded, computed = "sum" if op == "mean" else op, computed_in(x.dtype)
    wide = is_float(x.dtype) and getattr(out, "dtype", None) == computed
    out = check_out(op, out, shape, computed if wide else result_dtype(op, x.dtype), x.device, x)
    # A sum that is still to be divided may be more than half can hold.
    total = out if op != "mean" or out.dtype == computed else Array.empty(shape, computed, x.device)
    for i, (outer, reduced, inner) in enumerate(groups):
        last = i == len(groups) - 1
        to = total if last else Array.empty((outer, inner), computed, x.device)
        _fold(folded, x, to, outer, reduced, inner, variant)
        x = to
    if op == "mean":
        _DIVIDE.launch(computed, (out.size,), (64,), total, out, out.size, count, defines=_defines("sum", total, out))
    return out


def result_dtype(op: str, dtype: np.dtype) -> np.dtype:
    """What `op` of a `dtype` Array holds."""
    return int32 if op == "sum" and not is_float(dtype) else dtype


@lru_cache(maxsize=1024)
def _plan(shape: Shape, reduced: tuple[int, ...], keepdim: bool) -> tuple[Shape, tuple[Any, ...], int]:
    """The result's shape, the passes as (outer, reduced, inner), and how many elements go into each result.

    Neighbouring axes that share a fate become one; each pass then takes the innermost reduced one.
    """
    result = tuple(1 if d in reduced else n for d, n in enumerate(shape) if keepdim or d not in reduced)
    runs: list[list[Any]] = []  # [is reduced, size], from the outermost in
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if runs and runs[-1][0] == (d in reduced):
            runs[-1][1] *= n
        else:
            runs.append([d in reduced, n])
    groups = []
    while any(is_reduced for is_reduced, _ in runs):
        at = max(i for i, (is_reduced, _) in enumerate(runs) if is_reduced)
        outer = math.prod(n for _, n in runs[:at])
        groups.append((outer, runs[at][1], math.prod(n for _, n in runs[at + 1 :])))
        runs = [*runs[:at], *runs[at + 1 :]]
    if not groups:
        groups = [(1, 1, math.prod(shape))]  # a copy
    return result, tuple(groups), math.prod(shape[d] for d in reduced)


def _fold(op: str, x: Array, out: Array, outer: int, reduced: int, inner: int, name: str | None) -> None:
    """One pass: x as outer x reduced x inner into out as outer x inner."""
    default = default_variant(x.device, reduced, inner)
    run, custom = resolve("reduce", name, default)
    if custom is not None and op != "sum":
        run, custom = resolve("reduce", default, default)  # a kernel of your own takes over sums, not the rest
    run(custom, op, x, out, outer, reduced, inner)


@variant("reduce", "serial")
def _serial(kernel: Any, op: str, x: Array, out: Array, outer: int, reduced: int, inner: int) -> None:
    """One work-item for each result. A kernel of your own gets (x, out, outer, reduced, inner) and sums."""
    args = (x, out, outer, reduced, inner)
    launch_first(_SERIAL, kernel, x.dtype, (outer * inner,), (64,), *args, defines=_defines(op, x, out))


@variant("reduce", "tree")
def _tree(kernel: Any, op: str, x: Array, out: Array, outer: int, reduced: int, inner: int) -> None:
    """One work-group for each result, halving in local memory."""
    group = tuned("reduce group", x.device)
    for a, to, n, chunks in _passes(x, out, outer, reduced, inner, ROW_CHUNK):
        size = outer * chunks * inner * group
        _TREE.launch(a.dtype, (size,), (group,), a, to, n, inner, ROW_CHUNK, chunks, defines=_defines(op, a, to))


@variant("reduce", "blocked")
def _blocked(kernel: Any, op: str, x: Array, out: Array, outer: int, reduced: int, inner: int) -> None:
    """One work-item for each chunk of a row, or of a strip of columns."""
    strip = tuned("reduce strip", x.device)
    local = (4,) if x.device.kind == "cpu" else (64,)
    chunk = ROW_CHUNK if inner == 1 else COLUMN_CHUNK
    for a, to, n, chunks in _passes(x, out, outer, reduced, inner, chunk):
        total, defines = outer * chunks * -(-inner // strip), _defines(op, a, to)
        if inner == 1:
            _ROWS.launch(a.dtype, (total,), local, a, to, n, chunk, chunks, total, defines=defines)
        else:
            _STRIPS.launch(a.dtype, (total,), local, a, to, n, inner, chunk, chunks, total, defines=defines)


def _passes(x: Array, out: Array, outer: int, reduced: int, inner: int, chunk: int) -> Any:
    """(from, to, length of the reduced axis, chunks it is cut into) of each pass, until one chunk is left."""
    while True:
        chunks = max(-(-reduced // chunk), 1)
        if chunks == 1:
            yield x, out, reduced, chunks
            return
        partial = Array.empty((outer, chunks, inner), computed_in(x.dtype), x.device)
        yield x, partial, reduced, chunks
        x, reduced = partial, chunks


def _defines(op: str, x: Array, out: Array) -> tuple[Define, ...]:
    group, strip = tuned("reduce group", x.device), tuned("reduce strip", x.device)
    return _macros(op, is_float(x.dtype), C_NAME[out.dtype], group, strip)


@lru_cache(maxsize=256)
def _macros(op: str, computed_float: bool, result: str, group: int, strip: int) -> tuple[Define, ...]:
    return (
        ("COMBINE(a, b)", _COMBINE[op]),
        ("START", f"({_START[op][0 if computed_float else 1]})"),
        ("R", result),
        ("GROUP", str(group)),
        ("STRIP", str(strip)),
        ("LANES", str(LANES)),
    )
