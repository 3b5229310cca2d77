"""Changing a tensor in place: into its memory, and, when that is recorded, as its newest history.

A tensor that an earlier operation saved for its backward is not protected; its version tells, when that backward
runs. What would go wrong without a word is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import float32, result_type
from ..errors import AutogradError
from ..kernels.broadcast import broadcast_shape
from ..kernels.elementwise import binary, copy
from . import ops
from .function import Function
from .mode import is_grad_enabled
from .ops.elementwise.operands import array_of, beside
from .sharing import seen_elsewhere
from .tensor import Tensor


def change(name: str, function: type[Function], tensor: Tensor, *args: Any) -> Tensor:
    """Run `function.apply(tensor, *args)`, whose forward writes into `tensor`, and make the result its history."""
    if not _recorded(name, tensor, args):
        function.apply(tensor, *args)
        return tensor
    return _take_history(tensor, function.apply(_before(tensor), *args))


def assign(name: str, tensor: Tensor, value: Any) -> Tensor:
    """Overwrite all of `tensor` with a number, or with a tensor, which is cast and repeated."""
    if not isinstance(value, Tensor) and name == "copy_":
        raise TypeError(f"{name}: src is {type(value).__name__}; it must be a tensor")
    ops.setitem(tensor, ..., value, name=name)
    return tensor


def update(name: str, op: str, tensor: Tensor, other: Any) -> Tensor:
    """tensor = op(tensor, other), in tensor's memory; `op` is "add", "sub", "mul" or "div"."""
    other = _fitted(name, op, tensor, other)
    if not _recorded(name, tensor, (other,)):
        binary(op, tensor.array, array_of(other), out=tensor.array)
        return tensor
    before = _before(tensor)
    if isinstance(other, Tensor) and other.requires_grad:
        before.array = copy(tensor.array)  # other's gradient may need what is overwritten
    after = getattr(ops, op)(before, before if other is tensor else other)
    copy(after.array, out=tensor.array)
    return _take_history(tensor, after)


def _fitted(name: str, op: str, tensor: Tensor, other: Any) -> Any:
    """The other operand as a number or a tensor of the dtype of `tensor`, and of a shape that fits into its."""
    dtype = tensor.dtype
    if not isinstance(other, Tensor):
        cast, other = beside(name, tensor, "other", other)
        wider = cast.dtype
    else:
        if other.device is not tensor.device:
            raise ValueError(f"{name}: other is on {other.device}, the tensor on {tensor.device}; put both on one")
        wider = result_type(dtype, other.dtype, tensor.ndim, other.ndim)
        if broadcast_shape(name, tensor.shape, other.shape) != tensor.shape:
            raise ValueError(f"{name}: other has shape {other.shape}; it does not fit into the tensor's {tensor.shape}")
    if op == "div" and wider.kind != "f":
        wider = float32
    if _category(wider) != _category(dtype):
        raise TypeError(
            f"{name}: the result is {wider}, which a tensor of {dtype} cannot hold; cast it first, or make a new tensor"
        )
    return other.to(dtype) if isinstance(other, Tensor) else other


def _category(dtype: np.dtype) -> str:
    return "i" if dtype.kind == "u" else dtype.kind


def refuse_copy(name: str, tensor: Tensor) -> None:
    """Raise AutogradError for what a slice, permute, transpose, .T or expand gave: a change would go nowhere."""
    if tensor._copied_by is not None:
        raise AutogradError(
            f"{name}: this tensor came from {tensor._copied_by}, which copies in gpugrad, so the original would stay "
            "as it is. Write into the original (x[i] = v), or call .clone() on this one to have a copy to change"
        )


def _recorded(name: str, tensor: Tensor, args: tuple[Any, ...]) -> bool:
    """Whether a change must be recorded; AutogradError where it must not be made."""
    refuse_copy(name, tensor)
    if not is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in (tensor, *args)):
        return False
    if tensor.grad_fn is None and tensor.requires_grad:
        raise AutogradError(
            f"{name}: a leaf that requires a gradient is changed in place, which cannot be recorded. Do it under "
            "gpugrad.no_grad(), or work on a .clone()"
        )
    if seen_elsewhere(tensor):
        raise AutogradError(
            f"{name}: another tensor looks at the same memory (through reshape, view or detach), and would not know of "
            "the change in its history. Work on a .clone()"
        )
    return True


def _before(tensor: Tensor) -> Tensor:
    """`tensor` as it is now, with the history it has now."""
    return tensor._of_its_own()


def _take_history(tensor: Tensor, after: Tensor) -> Tensor:
    tensor._requires_grad, tensor.grad_fn, tensor._output = after._requires_grad, after.grad_fn, after._output
    return tensor
