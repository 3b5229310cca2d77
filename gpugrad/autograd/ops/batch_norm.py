"""Batch normalisation: fused kernels for values and first gradients, and the same formulas in ops for further ones."""

from __future__ import annotations

import math
from typing import Any

from ... import kernels as K
from ...dtypes import computed_in, is_float
from ...kernels.checks import boolean, real
from ...kernels.elementwise import copy
from ..function import Function
from ..mode import is_grad_enabled
from ..tensor import Tensor
from .creation import full
from .elementwise import check_tensor


class BatchNorm(Function):
    """y = (x - mean) / sqrt(var + eps) * weight + bias; with `training`, mean and var are functions of x."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, training: bool, eps: float
    ) -> Tensor:
        ctx.training, ctx.eps, ctx.bias_dtype = training, eps, None if bias is None else bias.dtype
        saved = mean, var
        if not training and True in ctx.needs_input_grad:  # a batch in training changes them, in place
            saved = Tensor._wrap(copy(mean.array)), Tensor._wrap(copy(var.array))
        ctx.save_for_backward(x, weight, *saved)
        return Tensor._wrap(K.batch_norm(x.array, mean.array, var.array, _array(weight), _array(bias), eps))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, weight, mean, var = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad[:3]
        if is_grad_enabled() or not ctx.training:
            # In the type that is computed in: squares of halves soon are more than half can hold.
            wide: list[Any] = [None if t is None else t.to(computed_in(t.dtype)) for t in (g, x, weight, mean, var)]
            found = _gradients(wide, ctx.training, ctx.eps, ctx.needs_input_grad[:3])
            dtypes = (x.dtype, None if weight is None else weight.dtype, ctx.bias_dtype)
            narrow = [None if t is None else t.to(dtype) for t, dtype in zip(found, dtypes)]
            return *narrow, None, None, None, None
        sum_g: Any = K.batch_norm_sum(g.array) if need_x or need_bias else None
        sum_gx: Any = K.batch_norm_product_sum(g.array, x.array, mean.array) if need_x or need_weight else None
        g_x = g_weight = None
        if need_x:
            g_x = Tensor._wrap(
                K.batch_norm_backward_input(
                    g.array, x.array, mean.array, var.array, sum_g, sum_gx, _array(weight), ctx.eps
                )
            )
        if need_weight:
            g_weight = (Tensor._wrap(sum_gx) / (var + ctx.eps).sqrt()).to(weight.dtype)
        g_bias = Tensor._wrap(sum_g).to(ctx.bias_dtype) if need_bias else None
        return g_x, g_weight, g_bias, None, None, None, None


def _gradients(given: list[Any], training: bool, eps: float, needs: tuple[bool, ...]) -> tuple[Any, Any, Any]:
    """The gradients of x, weight and bias, from g, x, weight, mean and var, in ops that can be differentiated again."""
    g, x, weight, mean, var = given
    dims, column = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    if training:
        centred = x - x.mean(dims, keepdim=True)
        spread = (centred * centred).mean(dims, keepdim=True) + eps
    else:
        centred, spread = x - mean.reshape(column), var.reshape(column) + eps
    deviation = spread.sqrt()
    sum_g: Any = g.sum(dims, keepdim=True) if training or needs[2] else None
    sum_gx: Any = (g * centred).sum(dims, keepdim=True) if training or needs[1] else None
    g_x = g_weight = g_bias = None
    if needs[0]:
        g_x = g
        if training:
            count = math.prod(x.shape[2:], start=x.shape[0])
            g_x = g - sum_g / count - centred * (sum_gx / (spread * count))
        g_x = g_x / deviation if weight is None else g_x * (weight.reshape(column) / deviation)
    if needs[1]:
        g_weight = (sum_gx / deviation).reshape(-1)
    if needs[2]:
        g_bias = sum_g.reshape(-1)
    return g_x, g_weight, g_bias


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias for each channel of (N, C, ...).

    In training, mean and (biased) variance are the batch's, and the running ones, where given, move by `momentum`
    towards them (towards the unbiased variance), in place; otherwise they are the running ones. The four vectors have
    shape (C,). Ioffe and Szegedy, "Batch normalization" (2015).
    """
    _check(input, running_mean, running_var, weight, bias)
    momentum, eps = real("batch_norm", "momentum", momentum), real("batch_norm", "eps", eps, 0)
    if not boolean("batch_norm", "training", training):
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: without training it needs running_mean and running_var")
        return BatchNorm.apply(input, weight, bias, running_mean, running_var, False, float(eps))
    count = math.prod(input.shape[2:], start=input.shape[0])
    if count == 1:
        raise ValueError(f"batch_norm: input has shape {input.shape}; one value a channel has no variance")
    if not count:  # nothing has no mean: it is NaN, which weight's gradient, a sum over nothing, must not become
        none, one = (full((input.shape[1],), v, dtype=computed_in(input.dtype), device=input.device) for v in (0, 1))
        return BatchNorm.apply(input, weight, bias, none, one, False, float(eps))
    mean, var = K.batch_norm_moments(input.array)
    if running_mean is not None and running_var is not None:
        K.batch_norm_follow(running_mean.array, running_var.array, mean, var, momentum, count)
    return BatchNorm.apply(input, weight, bias, Tensor._wrap(mean), Tensor._wrap(var), True, float(eps))


def _check(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any) -> None:
    check_tensor("batch_norm", input)
    if not is_float(input.dtype):
        raise TypeError(f"batch_norm: input is {input.dtype}; it must be floating point")
    if input.ndim < 2:
        raise ValueError(f"batch_norm: input has shape {input.shape}; it must be (N, C, ...)")
    if (running_mean is None) != (running_var is None):
        raise ValueError("batch_norm: running_mean and running_var go together; give both or neither")
    channels = input.shape[1]
    vectors = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, vector in vectors.items():
        if vector is None:
            continue
        if not isinstance(vector, Tensor):
            raise TypeError(f"batch_norm: {name} is {type(vector).__name__}; it must be a tensor or None")
        if vector.shape != (channels,):
            raise ValueError(
                f"batch_norm: {name} has shape {vector.shape}; input has {channels} channels: it must be ({channels},)"
            )


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.array
