"""The operations of networks as functions: those of `gpugrad.autograd.ops`, and what is composed of them."""

from __future__ import annotations

from typing import Any

from ..autograd.mode import no_grad
from ..autograd.ops import (
    avg_pool2d,
    conv2d,
    conv_transpose2d,
    cross_entropy,
    dropout,
    fold,
    gelu,
    leaky_relu,
    linear,
    log_softmax,
    max_pool2d,
    mse_loss,
    nll_loss,
    one_hot,
    pad,
    relu,
    sigmoid,
    softmax,
    tanh,
    unfold,
)
from ..autograd.tensor import Tensor
from ..dtypes import is_float

__all__ = [
    "avg_pool2d",
    "batch_norm",
    "conv2d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "fold",
    "gelu",
    "leaky_relu",
    "linear",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
    "unfold",
]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias for each channel of (N, C, ...).

    In training, mean and (biased) variance are the batch's, and the running ones, where given, take a share
    `momentum` of them (of the unbiased variance); otherwise they are the running ones. The four vectors have shape
    (C,). Ioffe and Szegedy, "Batch normalization" (2015).
    """
    _check_batch_norm(input, running_mean, running_var, weight, bias)
    dims = (0, *range(2, input.ndim))
    column = (1, -1) + (1,) * (input.ndim - 2)
    if training and input.numel():
        count = input.numel() // input.shape[1]
        if count == 1:
            raise ValueError(
                f"batch_norm: input has shape {input.shape}; the variance of one value a channel says nothing"
            )
        mean = input.mean(dims, keepdim=True)
        centred = input - mean
        var = (centred * centred).mean(dims, keepdim=True)
        with no_grad():
            _follow(running_mean, mean, momentum, 1.0)
            _follow(running_var, var, momentum, count / (count - 1))
    else:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm: without training it needs running_mean and running_var")
        centred, var = input - running_mean.reshape(column), running_var.reshape(column)
    scale = 1.0 / (var + eps).sqrt()
    if weight is not None:
        scale = scale * weight.reshape(column)
    return centred * scale if bias is None else centred * scale + bias.reshape(column)


def _follow(running: Tensor | None, batch: Tensor, momentum: float | Tensor, correction: float) -> None:
    """Move a running statistic towards a batch's."""
    if running is not None:
        running.mul_(1.0 - momentum)
        running.add_(batch.reshape(running.shape) * (momentum * correction))


def _check_batch_norm(input: Any, *vectors: Tensor | None) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"batch_norm: input is {type(input).__name__}; it must be a tensor")
    if not is_float(input.dtype):
        raise TypeError(f"batch_norm: input is {input.dtype}; it must be floating point")
    if input.ndim < 2:
        raise ValueError(f"batch_norm: input has shape {input.shape}; it must be (N, C, ...)")
    for name, vector in zip(("running_mean", "running_var", "weight", "bias"), vectors):
        if vector is not None and vector.shape != (input.shape[1],):
            raise ValueError(
                f"batch_norm: {name} has shape {vector.shape}; input has {input.shape[1]} channels, so it must be "
                f"({input.shape[1]},)"
            )
