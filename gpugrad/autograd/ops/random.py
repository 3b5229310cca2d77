"""Random tensors, and dropout. Everything draws from `gpugrad.manual_seed`'s generator unless given another."""

from __future__ import annotations

from typing import Any

from ...array import MAX_ELEMENTS
from ...device import Device, current_device
from ...dtypes import float32, is_float
from ...generator import Generator, default_generator
from ...kernels import random as K
from ...kernels.checks import boolean
from ..function import Function
from ..tensor import Tensor
from .creation import _shape, by_name
from .elementwise import check_tensor


def rand(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
    device: Device | None = None,
) -> Tensor:
    """Numbers uniform in [0, 1): `rand(2, 3)` or `rand((2, 3))`. The same seed gives the same ones on every device."""
    shape = _shape("rand", by_name("rand", sizes, size))
    array = K.uniform(shape, float32 if dtype is None else dtype, device, generator=generator)
    return Tensor._wrap(array).requires_grad_(requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
    device: Device | None = None,
) -> Tensor:
    """Standard normal numbers: `randn(2, 3)` or `randn((2, 3))`. Devices agree within 4 units in the last place."""
    shape = _shape("randn", by_name("randn", sizes, size))
    array = K.normal(shape, float32 if dtype is None else dtype, device, generator=generator)
    return Tensor._wrap(array).requires_grad_(requires_grad)


def rand_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Numbers uniform in [0, 1), in the shape, dtype and device of `input`."""
    dtype = check_tensor("rand_like", input).dtype if dtype is None else dtype
    return rand(input.shape, dtype=dtype, requires_grad=requires_grad, device=input.device)


def randn_like(input: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal numbers, in the shape, dtype and device of `input`."""
    dtype = check_tensor("randn_like", input).dtype if dtype is None else dtype
    return randn(input.shape, dtype=dtype, requires_grad=requires_grad, device=input.device)


def randperm(n: int, *, generator: Generator | None = None, device: Device | None = None) -> Tensor:
    """The integers from 0 to n - 1 in random order (int32)."""
    from .creation import tensor

    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"randperm: n is {n!r}; it must be an integer")
    if n < 0:
        raise ValueError(f"randperm: n is {n}; it must be 0 or more")
    if n > MAX_ELEMENTS:
        raise ValueError(f"randperm: n is {n}; {MAX_ELEMENTS:,} elements are the most")
    return tensor((generator or default_generator).permutation(int(n)), device=device or current_device())


class Dropout(Function):
    """y = mask * x / (1 - p). It is linear in x and its own adjoint; the mask is recomputed from (seed, offset)."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, p: float, seed: int, offset: int) -> Tensor:
        ctx.mask = (p, seed, offset)
        return Tensor._wrap(K.dropout(input.array, p, seed, offset))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return Dropout.apply(grad, *ctx.mask), None, None, None


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Each element becomes 0 with probability p, and the others are divided by 1 - p; unchanged if not training.

    The mean stays what it was. Srivastava et al., "Dropout: a simple way to prevent neural networks from
    overfitting" (2014).
    """
    check_tensor("dropout", input)
    if not is_float(input.dtype):
        raise TypeError(f"dropout: input is {input.dtype}; it must be floating point: use .to(gpugrad.float32)")
    K.threshold("dropout", p)
    if not boolean("dropout", "training", training) or p == 0:
        return input
    return Dropout.apply(input, float(p), *default_generator.take(K.dropout_blocks(input.array.size)))
