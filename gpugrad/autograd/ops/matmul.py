"""Matrix products, with PyTorch's rules for vectors, matrices and batches of them."""

from __future__ import annotations

import math
from typing import Any

from ... import kernels as K
from ...kernels.broadcast import broadcast_shape
from ...kernels.checks import check_float, check_same
from ..function import Function
from ..tensor import Tensor
from .elementwise.operands import check_tensor, sum_to


class MatMul(Function):
    """op(a) @ op(b), where op transposes the last two axes or does nothing; batch axes broadcast.

    A gradient is such a product again, so no transposed copy is ever made: with C = A B, dA = dC B^T and dB = A^T dC.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
        need_a, need_b = ctx.needs_input_grad[:2]
        ctx.shapes, ctx.transposes = (a.shape, b.shape), (transpose_a, transpose_b)
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        return Tensor._wrap(K.gemm(a.array, b.array, transpose_a=transpose_a, transpose_b=transpose_b))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        (a_shape, b_shape), (need_a, need_b, *_) = ctx.shapes, ctx.needs_input_grad
        t_a, t_b = ctx.transposes
        g_a = g_b = None
        if need_a:
            # Of op(a) it is g op(b)^T; of a that is transposed, the transpose of this.
            g_a = product(b, g, t_b, True) if t_a else product(g, b, False, not t_b)
            g_a = sum_to(g_a, a_shape)
        if need_b:
            g_b = product(g, a, True, t_a) if t_b else product(a, g, not t_a, False)
            g_b = sum_to(g_b, b_shape)
        return g_a, g_b, None, None


def product(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """op(a) @ op(b) for tensors of two axes or more."""
    return MatMul.apply(a, b, transpose_a, transpose_b)


class Linear(Function):
    """x W^T + b, with the bias added into the product's own memory."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        need_x, need_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if need_weight else None, weight if need_x else None)
        out = K.gemm(x.array, weight.array, transpose_b=True)
        return Tensor._wrap(K.bias_activation(out, bias.array, out=out))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        need_x, need_weight, need_bias = ctx.needs_input_grad
        g_x = product(g, weight) if need_x else None
        g_weight = product(g, x, True, False) if need_weight else None
        g_bias = g.sum(0) if need_bias else None
        return g_x, g_weight, g_bias


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, as in PyTorch: (M, K) @ (K, N) is (M, N).

    A 1-D `input` is a row and a 1-D `other` a column, which the result then lacks; two of them give their dot
    product. Axes in front of the last two are batches and broadcast. Both are floating point and of one dtype.
    Errors as `gpugrad.kernels.gemm` states them.
    """
    a, b = _factors("matmul", input, other)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul: shapes are {a.shape} and {b.shape}; a scalar has no matrix product: use *")
    K_a, K_b = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if K_a != K_b:
        raise ValueError(
            f"matmul: input {a.shape} has {K_a} columns, other {b.shape} has {K_b} rows; these must be equal"
        )
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = a.reshape(1, K_a)
    if column:
        b = b.reshape(K_b, 1)
    lead = a.shape[:-1]
    if b.ndim == 2 and a.ndim > 2:
        # One matrix for all: the batch's rows are those of one tall matrix, and other's gradient one product.
        out = product(a.reshape(math.prod(lead), K_a), b).reshape(lead + b.shape[-1:])
    else:
        broadcast_shape("matmul", a.shape[:-2], b.shape[:-2])
        out = product(a, b)
    if row or column:
        shape = out.shape[:-2] + (() if row else out.shape[-2:-1]) + (() if column else out.shape[-1:])
        out = out.reshape(shape)
    return out


def dot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product of two 1-D tensors of the same size."""
    a, b = _factors("dot", input, other)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"dot: shapes are {a.shape} and {b.shape}; it takes two 1-D tensors of one size, matmul more")
    return matmul(a, b)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight^T + bias: input (..., in), weight (out, in), bias (out,), the result (..., out)."""
    x, w = _factors("linear", input, weight, "weight")
    if w.ndim != 2 or x.ndim == 0 or x.shape[-1] != w.shape[1]:
        raise ValueError(
            f"linear: input has shape {x.shape}, weight {w.shape}; weight must be (out, in), and input (..., in)"
        )
    lead = x.shape[:-1]
    flat = x if x.ndim == 2 else x.reshape(math.prod(lead), x.shape[-1])
    if bias is None:
        out = product(flat, w, False, True)
    else:
        _factors("linear", x, bias, "bias")
        if bias.shape != w.shape[:1]:
            raise ValueError(f"linear: bias has shape {bias.shape}, weight {w.shape}; bias must be ({w.shape[0]},)")
        out = Linear.apply(flat, w, bias)
    return out if x.ndim == 2 else out.reshape(lead + w.shape[:1])


def _factors(name: str, a: Any, b: Any, b_name: str = "other") -> tuple[Tensor, Tensor]:
    check_tensor(name, a)
    check_tensor(name, b, b_name)
    check_float(name, "input", a)
    check_same(name, **{"input": a, b_name: b})
    return a, b
