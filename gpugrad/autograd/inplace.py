"""Changing a tensor in place, recorded: the tensor takes the change as its newest history.

What is recorded is an ordinary Function whose forward writes into its first argument's memory. A tensor that an
earlier operation saved for its backward is not protected; its version tells, when that backward runs.
"""

from __future__ import annotations

from typing import Any

from ..errors import AutogradError
from .function import Function
from .mode import is_grad_enabled
from .tensor import Tensor


def change(name: str, function: type[Function], tensor: Tensor, *args: Any) -> Tensor:
    """Run `function.apply(tensor, *args)`, which writes into `tensor`, and make the result its history.

    AutogradError where that would go wrong without a word: on the copy that a slice or a permutation gave, on a
    leaf that requires a gradient, and, when it is recorded, on memory that another tensor looks at too.
    """
    if tensor._copied_by is not None:
        raise AutogradError(
            f"{name}: this tensor came from {tensor._copied_by}, which copies in gpugrad, so the original would stay "
            "as it is. Write into the original (x[i] = v), or call .clone() on this one to have a copy to change"
        )
    if not is_grad_enabled() or not (tensor.requires_grad or _any_requires_grad(args)):
        function.apply(tensor, *args)
        return tensor
    if tensor.grad_fn is None and tensor.requires_grad:
        raise AutogradError(
            f"{name}: a leaf that requires a gradient is changed in place, which cannot be recorded. Do it under "
            "gpugrad.no_grad(), or work on a .clone()"
        )
    if tensor.array.state.shared:
        raise AutogradError(
            f"{name}: another tensor looks at the same memory (through reshape, view or detach), and would not know of "
            "the change in its history. Work on a .clone()"
        )
    before = Tensor._wrap(tensor.array)
    before.requires_grad, before.grad_fn, before._output = tensor.requires_grad, tensor.grad_fn, tensor._output
    after = function.apply(before, *args)
    tensor.requires_grad, tensor.grad_fn, tensor._output = after.requires_grad, after.grad_fn, after._output
    return tensor


def _any_requires_grad(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, Tensor) and a.requires_grad for a in args)
