"""Picking by index: index_select and its gradient (naive; sorted), one_hot.

Indices are checked on the device: a bad one raises IndexError when the host next reads something.
"""

from __future__ import annotations

import math
from typing import Any

from ..array import Array
from ..dtypes import int32
from ..guards import guard
from ..program import Kernel
from .checks import axis, check_array, check_float, check_out, integer
from .elementwise import cast
from .ladder import launch_first, resolve, variant
from .strided import geometry

_SELECT = Kernel(
    "index.cl", "index_select", x="in outer D inner", index="in J", out="out outer J inner", fault="partial"
)
_SUM_NAIVE = Kernel("index.cl", "sum_naive", g="in outer J inner", index="in J", out="out outer D inner")
_SORT = Kernel("index.cl", "sort_blocks", index="in J", key="out J", position="out J")
_MERGE = Kernel("index.cl", "merge_runs", key="in J", position="in J", key_out="out J", position_out="out J")
_STARTS = Kernel("index.cl", "run_starts", key="in J", start="out D+1")
_SUM_RUNS = Kernel(
    "index.cl", "sum_runs", g="in outer J inner", position="in J", start="in D+1", out="out outer D inner"
)
_ONE_HOT = Kernel("index.cl", "one_hot", label="in N", out="out N C", fault="partial")

_BLOCK = 32  # as in index.cl


def index_select(x: Array, dim: int, index: Array, *, out: Array | None = None) -> Array:
    """The elements of `x` along `dim` whose numbers stand in `index` (1-d, int32 or uint8, any order, repeats allowed).

    A negative number does not count from the end: it is as wrong as one that is too large, and raises IndexError
    when the host next reads a result.
    """
    check_array("index_select", "x", x)
    d, J = _check("index_select", x, dim, index), index.size
    out = check_out("index_select", out, x.shape[:d] + (J,) + x.shape[d + 1 :], x.dtype, x.device, x, index)
    D = x.shape[d]
    message = f"index_select: index {{value}} at position {{position}} is not in 0..{D - 1}; x is {x.shape}, dim {d}"
    fault, code = guard(x.device, message)
    outer, inner = math.prod(x.shape[:d]), math.prod(x.shape[d + 1 :])
    if out.size:
        defines, size, local = geometry(x.device, (1, outer, J, inner))
        _SELECT.launch(x.dtype, size, local, x, _int32(index), out, fault, code, D, J, inner, defines=defines)
    return out


def index_select_backward(
    grad_output: Array, dim: int, index: Array, size: int, *, variant: str | None = None, out: Array | None = None
) -> Array:
    """The gradient of index_select for an x of `size` elements along `dim`: sums of what was picked several times.

    It adds in the order of `index`, so every run gives the same digits. Indices outside 0..size-1 add nothing
    (index_select has reported them).
    """
    check_array("index_select_backward", "grad_output", grad_output)
    check_float("index_select_backward", "grad_output", grad_output)
    d, J = _check("index_select_backward", grad_output, dim, index), index.size
    if grad_output.shape[d] != J:
        raise ValueError(
            f"index_select_backward: grad_output has shape {grad_output.shape}; along dim {d} it must have as many "
            f"elements as index, {J}"
        )
    D = integer("index_select_backward", "size", size, 0)
    shape = grad_output.shape[:d] + (D,) + grad_output.shape[d + 1 :]
    out = check_out("index_select_backward", out, shape, grad_output.dtype, grad_output.device, grad_output, index)
    if out.size:
        run, custom = resolve("index_select_backward", variant, "sorted")
        run(custom, grad_output, _int32(index), out, math.prod(shape[:d]), D, J, math.prod(shape[d + 1 :]))
    return out


@variant("index_select_backward", "naive")
def _naive(kernel: Any, g: Array, index: Array, out: Array, outer: int, D: int, J: int, inner: int) -> None:
    launch_first(_SUM_NAIVE, kernel, g.dtype, (inner, D, outer), (4, 16, 1), g, index, out, D, J, inner)


@variant("index_select_backward", "sorted")
def _sorted(kernel: Any, g: Array, index: Array, out: Array, outer: int, D: int, J: int, inner: int) -> None:
    key, position = sorted_positions(index)
    start = Array.empty((D + 1,), int32, g.device)
    _STARTS.launch(int32, (D + 1,), (64,), key, start, D, J)
    defines, size, local = geometry(g.device, (1, outer, D, inner))
    _SUM_RUNS.launch(g.dtype, size, local, g, position, start, out, D, J, inner, defines=defines)


def sorted_positions(index: Array) -> tuple[Array, Array]:
    """`index` (1-d int32) in ascending order, and where each element stood; equal ones keep their order.

    A merge sort: log2(J / 32) launches after the first.
    """
    J = index.size
    key, position = (Array.empty((J,), int32, index.device) for _ in range(2))
    _SORT.launch(int32, (J,), (64,), index, key, position, J)
    length = _BLOCK
    while length < J:
        merged = [Array.empty((J,), int32, index.device) for _ in range(2)]
        _MERGE.launch(int32, (J,), (64,), key, position, *merged, length, J)
        key, position = merged
        length *= 2
    return key, position


def one_hot(label: Array, num_classes: int, *, out: Array | None = None) -> Array:
    """int32 of label's shape and one more axis: 1 at the label, 0 elsewhere.

    Labels are int32 or uint8, in 0..num_classes-1; another one raises IndexError when the host next reads a result.
    """
    check_array("one_hot", "label", label)
    if label.dtype.kind not in "iu":
        raise TypeError(f"one_hot: label is {label.dtype}; labels are integers")
    C = integer("one_hot", "num_classes", num_classes, 1)
    out = check_out("one_hot", out, label.shape + (C,), int32, label.device, label)
    message = f"one_hot: label {{value}} at position {{position}} is not in 0..{C - 1}"
    fault, code = guard(label.device, message)
    _ONE_HOT.launch(int32, (C, label.size), (4, 16), _int32(label), out, fault, code, label.size, C)
    return out


def _int32(index: Array) -> Array:
    return index if index.dtype == int32 else cast(index, int32)


def _check(function: str, x: Array, dim: Any, index: Array) -> int:
    """`dim` from the front, after checks of all three."""
    check_array(function, "index", index, ndim=1)
    if index.dtype.kind not in "iu":
        raise TypeError(f"{function}: index is {index.dtype}; indices are int32 or uint8")
    if index.device is not x.device:
        raise ValueError(f"{function}: index is on {index.device}, the input on {x.device}; put both on one")
    if x.ndim == 0:
        raise ValueError(f"{function}: the input is 0-d; there is no axis to pick along")
    return axis(function, dim, x.ndim)
