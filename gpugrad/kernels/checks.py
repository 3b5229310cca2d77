"""Checks that every kernel family makes on its arguments, and the sentences they raise."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import Array
from ..device import Device
from ..dtypes import FLOATS


def check_array(function: str, name: str, a: Any, ndim: int | None = None) -> Array:
    """`a` is an Array (with `ndim` dimensions); TypeError or ValueError otherwise."""
    if not isinstance(a, Array):
        hint = " (use its .array)" if hasattr(a, "array") else "; make one with gpugrad.Array.from_numpy(...)"
        raise TypeError(f"{function}: {name} is {kind(a)}; it must be an Array{hint}")
    if ndim is not None and a.ndim != ndim:
        raise ValueError(f"{function}: {name} has shape {a.shape}; it must have {ndim} dimensions")
    return a


def check_float(function: str, name: str, a: Any) -> None:
    """`a` (an Array or a Tensor) holds floating-point numbers."""
    if a.dtype not in FLOATS:
        raise TypeError(f"{function}: {name} is {a.dtype}; it must be floating point: use .to(gpugrad.float32)")


def check_same(function: str, **arrays: Any) -> None:
    """All arrays (those that are not None) share a device (ValueError) and a dtype (TypeError)."""
    given = [(name, a) for name, a in arrays.items() if a is not None]
    first_name, first = given[0]
    for name, a in given[1:]:
        if a.device is not first.device:
            raise ValueError(f"{function}: {name} is on {a.device}, {first_name} on {first.device}; put both on one")
        if a.dtype != first.dtype:
            raise TypeError(
                f"{function}: {name} is {a.dtype}, {first_name} is {first.dtype}; convert one with .to(...)"
            )


def check_out(
    function: str, out: Array | None, shape: Sequence[int], dtype: np.dtype, device: Device, *apart: Array
) -> Array:
    """`out` as given, when it fits the result and shares no memory with `apart`; a new Array when it is None."""
    shape = tuple(shape)
    if out is None:
        return Array.empty(shape, dtype, device)
    check_array(function, "out", out)
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"{function}: out is {out.dtype}{out.shape}; the result is {dtype}{shape}")
    if out.device is not device:
        raise ValueError(f"{function}: out is on {out.device}, the input on {device}; put both on one")
    if any(out.state is a.state for a in apart):
        raise ValueError(f"{function}: out shares memory with an input, which is read while out is written")
    return out


def integer(function: str, name: str, value: Any, minimum: int | None = None) -> int:
    """`value` as an int (True and 2.0 are none); at least `minimum`."""
    try:
        if value.__class__ is int:
            n = value
        elif isinstance(value, (bool, np.bool_)):
            raise TypeError
        else:
            n = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} is {value!r}; it must be an integer") from None
    if minimum is not None and n < minimum:
        raise ValueError(f"{function}: {name} is {n}; it must be {minimum} or more")
    return n


def boolean(function: str, name: str, value: Any) -> bool:
    """`value`, which is True or False: "no" would count as true, and 1 may be an argument in the wrong place."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    raise TypeError(f"{function}: {name} is {_given(value)}; it must be True or False")


def as_float(function: str, name: str, value: Any) -> float:
    """A Python number as a float; ValueError for an integer that none holds."""
    try:
        return float(value)
    except OverflowError:
        digits = math.floor(math.log10(abs(int(value)))) + 1  # str() counts to 4300
        raise ValueError(f"{function}: {name} has {digits} digits, too many for a float") from None


def number_for(function: str, name: str, value: Any, dtype: np.dtype) -> float | int | bool:
    """`value` as a number that `dtype` holds; integers drop a fraction, as in PyTorch."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{function}: {name} is {kind(value)}; it must be a number")
    if dtype == np.bool_:
        return bool(value)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(as_float(function, name, value)).item()  # too large for the dtype: rounded to infinity
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not low <= value <= high:  # NaN is not, either
        raise ValueError(f"{function}: {name} is {value}; {dtype} holds {low} to {high}")
    return int(value)


def real(
    function: str, name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, below: float = math.inf
) -> float:
    """`value` as a finite float from `low` to `high`, and less than `below`; True and False are none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{function}: {name} is {_given(value)}; it must be a number")
    number = as_float(function, name, value)
    if not (low <= number <= high and number < below and math.isfinite(number)):
        most = f"{high:g}" if high < math.inf else f"below {below:g}" if below < math.inf else ""
        needs = f"from {low:g} to {most}" if most else f"{low:g} or more, and finite" if low > -math.inf else "finite"
        raise ValueError(f"{function}: {name} is {number}; it must be {needs}")
    return number


def pair(function: str, name: str, value: Any, minimum: int) -> tuple[int, int]:
    """An int, or a pair of them (height, width), as a pair; each at least `minimum`."""
    if value.__class__ is not int and isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise ValueError(f"{function}: {name} is {value!r}; give one integer or a pair (height, width)")
        height, width = value
    else:
        height = width = value
    return integer(function, name, height, minimum), integer(function, name, width, minimum)


def axis(function: str, dim: Any, ndim: int) -> int:
    """`dim` as an index from the front; a negative one counts from the end, and a 0-d array has 0 and -1."""
    d = integer(function, "dim", dim)
    n = max(ndim, 1)
    if not -n <= d < n:
        raise IndexError(f"{function}: dim is {d}; an input of {ndim} dimensions has dim {-n} to {n - 1}")
    return d % n


def axes(function: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """`dim` (an int, several, or None or () for all) as sorted indices from the front."""
    if dim is None:
        return tuple(range(ndim))
    if dim.__class__ is int or not isinstance(dim, Sequence) or isinstance(dim, str):
        found = [axis(function, dim, ndim)]
    elif len(dim) == 0:
        return tuple(range(ndim))
    else:
        found = [axis(function, d, ndim) for d in dim]
    if len(set(found)) != len(found):
        raise ValueError(f"{function}: dim is {tuple(dim)!r}; it names an axis twice")
    return tuple(sorted(found)) if ndim else ()


def _given(value: Any) -> str:
    return repr(value) if isinstance(value, (str, int, float)) else kind(value)


def kind(a: Any) -> str:
    """What a wrong argument is, for a sentence: "a list"."""
    name = type(a).__name__
    return "None" if a is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
