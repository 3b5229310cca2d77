"""What element-wise operations do with their operands: check them, bring them to one dtype, sum their gradients.

Two tensors are promoted as in PyTorch. A Python number takes the tensor's dtype; only a float beside integers makes
them float32, and an integer beside booleans int32.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ....array import Shape
from ....dtypes import bool_, float32, int32, result_type
from ....kernels.checks import as_float
from ...function import _tensor_classes
from ...tensor import Tensor

#: A tensor or a Python number.
Operand = Any


def is_tensor(x: Any) -> bool:
    return x.__class__ in _tensor_classes


def check_tensor(name: str, x: Any, argument: str = "input") -> Tensor:
    """`x`, which must be a tensor."""
    if x.__class__ not in _tensor_classes:
        raise TypeError(f"{name}: {argument} is {type(x).__name__}; it must be a tensor{_hint(x)}")
    return x


def floating(name: str, x: Any) -> Tensor:
    """The operand of a function such as exp: integers become float32."""
    check_tensor(name, x)
    return x if x.array.dtype.kind == "f" else x.to(float32)


def array_of(x: Operand) -> Any:
    """What a kernel takes for an operand: the tensor's Array, or the number."""
    return x.array if x.__class__ in _tensor_classes else x


def shape_of(x: Operand) -> Shape | None:
    """A tensor's shape; None for a number."""
    return x.array.shape if x.__class__ in _tensor_classes else None


def dtype_of(x: Operand, y: Operand) -> np.dtype:
    """The dtype that `pair` brought both to."""
    return x.array.dtype if x.__class__ in _tensor_classes else y.array.dtype


def pair(name: str, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Two operands, checked and of one dtype; at least one is a tensor."""
    if x.__class__ in _tensor_classes:
        if y.__class__ in _tensor_classes:
            a, b = x.array, y.array
            if a.device is not b.device:
                a.device.check_alive()
                b.device.check_alive()
                raise ValueError(f"{name}: input is on {a.device}, other on {b.device}; move one: .to(device)")
            if a.dtype is b.dtype or a.dtype == b.dtype:
                return x, y
            dtype = result_type(a.dtype, b.dtype, a.ndim, b.ndim)
            return x.to(dtype), y.to(dtype)
        return beside(name, x, "other", y)
    if y.__class__ in _tensor_classes:
        t, value = beside(name, y, "input", x)
        return value, t
    raise TypeError(f"{name}: input is {type(x).__name__}, other is {type(y).__name__}; one of them must be a tensor")


def beside(name: str, t: Tensor, argument: str, value: Any) -> tuple[Tensor, Any]:
    """A tensor and a number, the one cast or the other converted so that they go together."""
    dtype = t.array.dtype
    if value.__class__ is float:
        return (t if dtype.kind == "f" else t.to(float32)), value
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: {argument} is {type(value).__name__}; it must be a tensor or a number{_hint(value)}")
    if dtype.kind == "f":
        return t, as_float(name, argument, value)
    if isinstance(value, bool):
        return t, int(value)
    if not isinstance(value, numbers.Integral):
        return t.to(float32), float(value)
    value = int(value)
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name}: {argument} is {value}; beside a tensor of {dtype} it must fit in int32")
    return (t.to(int32) if dtype == bool_ else t), value


def _hint(value: Any) -> str:
    return "; gpugrad.tensor(...) makes one of it" if isinstance(value, (np.ndarray, list, tuple)) else ""


def keep(ctx: Any, *values: Operand) -> None:
    """Save operands for backward: tensors with their versions, numbers as they are; None for what is not needed."""
    ctx.numbers = [None if v.__class__ in _tensor_classes else v for v in values]
    ctx.save_for_backward(*[v if v.__class__ in _tensor_classes else None for v in values])


def kept(ctx: Any) -> list[Any]:
    """What `keep` saved."""
    return [n if t is None else t for t, n in zip(ctx.saved_tensors, ctx.numbers, strict=True)]


def sum_to(gradient: Tensor, shape: Shape) -> Tensor:
    """`gradient` summed over the axes along which an operand of `shape` was repeated."""
    if gradient.array.shape == shape:
        return gradient
    missing = gradient.ndim - len(shape)
    padded = (1,) * missing + shape
    dims = tuple(i for i, (n, m) in enumerate(zip(gradient.shape, padded, strict=True)) if m == 1 and n != 1)
    if dims:
        gradient = gradient.sum(dims, keepdim=True)
    return gradient.reshape(shape)
