"""New tensors: from data, filled with a value, counting up."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array import MAX_ELEMENTS, Array, to_host
from ...device import Device
from ...dtypes import bool_, float32, float64, int32
from ...kernels.elementwise import fill
from ..tensor import Tensor


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, *, device: Device | None = None) -> Tensor:
    """A tensor with a copy of `data`: a number, nested lists, a NumPy array, or a tensor.

    Without `dtype`, Python floats become float32 and integers int32, and arrays keep their dtype.
    """
    if isinstance(data, Tensor):
        data = data.array
    host = to_host(data, dtype)
    if dtype is None and not hasattr(data, "dtype") and host.dtype == float64:
        host = host.astype(float32)
    return Tensor._wrap(Array.from_numpy(host, device=device)).requires_grad_(requires_grad)


def from_numpy(a: np.ndarray) -> Tensor:
    """A tensor with a copy of a NumPy array, of the same dtype (integers other than uint8 become int32)."""
    if not isinstance(a, np.ndarray):
        raise TypeError(f"from_numpy: a is {type(a).__name__}; it must be a NumPy array. gpugrad.tensor takes the rest")
    return Tensor._wrap(Array.from_numpy(a))


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False, device: Device | None = None
) -> Tensor:
    """A tensor of shape `size`, every element `fill_value`; its dtype follows the value unless given."""
    if not isinstance(size, Sequence) or isinstance(size, str):
        raise TypeError(f"full: size is {size!r}; it must be a tuple of integers, such as ({size!r},)")
    value = _number("full", "fill_value", fill_value)
    if dtype is None:
        dtype = bool_ if isinstance(value, bool) else int32 if isinstance(value, int) else float32
    return _filled("full", size, value, dtype, requires_grad, device)


def zeros(
    *sizes: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Device | None = None
) -> Tensor:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`; float32 unless `dtype` says otherwise."""
    sizes = by_name("zeros", sizes, size)
    return _filled("zeros", sizes, 0, float32 if dtype is None else dtype, requires_grad, device)


def ones(
    *sizes: Any, size: Any = None, dtype: Any = None, requires_grad: bool = False, device: Device | None = None
) -> Tensor:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`; float32 unless `dtype` says otherwise."""
    sizes = by_name("ones", sizes, size)
    return _filled("ones", sizes, 1, float32 if dtype is None else dtype, requires_grad, device)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the shape, dtype and device of `input`, every element `fill_value`."""
    value = _number("full_like", "fill_value", fill_value)
    return _filled_like("full_like", input, value, dtype, requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape, dtype and device of `input`."""
    return _filled_like("zeros_like", input, 0, dtype, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the shape, dtype and device of `input`."""
    return _filled_like("ones_like", input, 1, dtype, requires_grad)


def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """start, start + step, ... up to but without `end`, in 1-D; `arange(end)` starts at 0.

    int32 when all three are integers, else float32, unless `dtype` is given.
    """
    if end is None:
        start, end = 0, start
    start, end, step = (
        _number("arange", name, value) for name, value in (("start", start), ("end", end), ("step", step))
    )
    if step == 0:
        raise ValueError("arange: step is 0; it never gets anywhere")
    if any(abs(v) > 2**1023 or v != v for v in (start, end, step)):
        raise ValueError(f"arange: start, end and step are {start}, {end}, {step}; they must be finite")
    if dtype is None:
        dtype = float32 if any(isinstance(v, float) for v in (start, end, step)) else int32
    count = max(0, math.ceil((end - start) / step))
    if (end - start) * step < 0:
        raise ValueError(f"arange: from {start} to {end} there is no way by steps of {step}; turn the sign of step")
    if count > MAX_ELEMENTS:
        raise ValueError(f"arange: from {start} to {end} by {step} there are {count:,} elements, too many")
    host = start + np.arange(count) * step
    return Tensor._wrap(Array.from_numpy(host, dtype)).requires_grad_(requires_grad)


def _filled(name: str, size: Any, value: Any, dtype: Any, requires_grad: bool, device: Device | None) -> Tensor:
    array = Array.empty(_shape(name, size), dtype, device)
    return Tensor._wrap(fill(array, value)).requires_grad_(requires_grad)


def _filled_like(name: str, input: Tensor, value: Any, dtype: Any, requires_grad: bool) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}: input is {type(input).__name__}; it must be a tensor")
    return _filled(name, (input.shape,), value, input.dtype if dtype is None else dtype, requires_grad, input.device)


def by_name(name: str, sizes: tuple[Any, ...], size: Any) -> Any:
    """The sizes of `f(2, 3)`, or of `f(size=(2, 3))`."""
    if size is not None:
        if sizes:
            raise TypeError(f"{name}: size is given twice, by position and by name")
        if not isinstance(size, Sequence) or isinstance(size, str):
            raise TypeError(f"{name}: size is {size!r}; by name it is a tuple of integers")
        return size
    return sizes


def _shape(name: str, size: Any) -> tuple[int, ...]:
    """The shape that `f(2, 3)` and `f((2, 3))` both mean."""
    if len(size) == 1 and isinstance(size[0], Sequence):
        size = size[0]
    for n in size:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"{name}: size is {tuple(size)!r}; sizes are integers")
    return tuple(int(n) for n in size)


def _number(name: str, argument: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: {argument} is {value!r}; it must be a number")
    return value
