"""The largest and smallest elements along an axis, and where they are."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ..array import Array
from ..device import Device
from ..dtypes import C_NAME, computed_in, int32, is_float
from ..program import Define, Kernel
from .checks import axis, boolean, check_array, check_out
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_RESULTS = {"values": "out outer chunks inner", "indices": "out outer chunks inner"}
_SERIAL = Kernel(
    "argmax.cl", "argmax_serial", x="in outer reduced inner", values="out outer inner", indices="out outer inner"
)
_BLOCKED = Kernel("argmax.cl", "argmax_blocked", x="in outer reduced inner", places="in", **_RESULTS)
_TREE = Kernel("argmax.cl", "argmax_tree", x="in outer reduced inner", places="in", **_RESULTS)

CHUNK = 4096


def extremum(
    op: str,
    x: Array,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    variant: str | None = None,
    name: str = "",
    out: Array | None = None,
) -> tuple[Array, Array]:
    """(values, indices) of the "max" or "min" of x along `dim` (None: of all elements, by their flat index).

    Indices are int32, written to `out` if given. A NaN wins, and of equals the first. ValueError where the axis is
    empty. `name` is what errors call the function.
    """
    name = name or op
    check_array(name, "x", x)
    keepdim = boolean(name, "keepdim", keepdim)
    if dim is None:
        shape = (1,) * x.ndim if keepdim else ()
        outer, reduced, inner = 1, x.size, 1
    else:
        d = axis(name, dim, x.ndim)
        shape = x.shape[:d] + ((1,) if keepdim else ()) + x.shape[d + 1 :] if x.ndim else ()
        outer, inner = math.prod(x.shape[:d]), math.prod(x.shape[d + 1 :])
        reduced = x.shape[d] if x.ndim else 1
    if reduced == 0 and outer * inner:
        raise ValueError(f"{name}: x has shape {x.shape}, so there is nothing to take the {op} of; it needs an element")
    indices = check_out(name, out, shape, int32, x.device, x)
    values = Array.empty(shape, x.dtype, x.device)
    default = default_variant(x.device, reduced, inner)
    run, custom = resolve("argmax", variant, default)
    if custom is not None and op != "max":
        run, custom = resolve("argmax", default, default)
    run(custom, op, x, values, indices, outer, reduced, inner)
    return values, indices


@variant("argmax", "serial")
def _serial(kernel: Any, op: str, x: Array, values: Array, indices: Array, *sizes: int) -> None:
    """One work-item for each result. A kernel of your own finds maxima: (x, values, indices, outer, reduced, inner)."""
    args = (x, values, indices, *sizes)
    launch_first(_SERIAL, kernel, x.dtype, (values.size,), (64,), *args, defines=_defines(op, x, values))


@variant("argmax", "tree")
def _tree(kernel: Any, op: str, x: Array, values: Array, indices: Array, *sizes: int) -> None:
    """One work-group for each chunk, halving in local memory."""
    group = tuned("reduce group", x.device)
    for args, defines, total in _passes(op, x, values, indices, *sizes):
        _TREE.launch(args[0].dtype, (total * group,), (group,), *args, defines=defines)


@variant("argmax", "blocked")
def _blocked(kernel: Any, op: str, x: Array, values: Array, indices: Array, *sizes: int) -> None:
    """One work-item for each chunk."""
    local = (4,) if x.device.kind == "cpu" else (64,)
    for args, defines, total in _passes(op, x, values, indices, *sizes):
        _BLOCKED.launch(args[0].dtype, (total,), local, *args, total, defines=defines)


def _passes(op: str, x: Array, values: Array, indices: Array, outer: int, reduced: int, inner: int) -> Any:
    """The kernel's arguments for each pass, until one chunk is left; then the macros, and how many results."""
    places = indices  # in the first pass nobody reads it
    given = 0
    while True:
        chunks = -(-reduced // CHUNK)
        if chunks <= 1:
            to, to_indices = values, indices
        else:
            to = Array.empty((outer, chunks, inner), computed_in(x.dtype), x.device)
            to_indices = Array.empty((outer, chunks, inner), int32, x.device)
        args = (x, places, given, to, to_indices, reduced, inner, CHUNK, max(chunks, 1))
        yield args, _defines(op, x, to), outer * max(chunks, 1) * inner
        if chunks <= 1:
            return
        x, places, reduced, given = to, to_indices, chunks, 1


def default_variant(device: Device, reduced: int, inner: int) -> str:
    """A tree pays where its work-items read side by side, and there is something to do for each."""
    return tuned("reduce rows", device) if inner == 1 and reduced > 64 else "blocked"


def _defines(op: str, x: Array, values: Array) -> tuple[Define, ...]:
    return _macros(op, is_float(x.dtype), C_NAME[values.dtype], tuned("reduce group", x.device))


@lru_cache(maxsize=256)
def _macros(op: str, computed_float: bool, result: str, group: int) -> tuple[Define, ...]:
    worst = "INFINITY" if computed_float else "INT_MAX"
    return (
        ("BEATS(a, b)", "((a) > (b))" if op == "max" else "((a) < (b))"),
        ("START", f"({worst})" if op == "min" else "(-INFINITY)" if computed_float else "(INT_MIN)"),
        ("R", result),
        ("GROUP", str(group)),
    )
