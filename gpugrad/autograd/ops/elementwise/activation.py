"""Activation functions, and the bias that stands before them."""

from __future__ import annotations

import math
from typing import Any

from .... import kernels as K
from ....dtypes import float16, float32, float64
from ....kernels.checks import number_for
from ....kernels.elementwise import ACTIVATIONS, binary, unary
from ...function import Function
from ...tensor import Tensor
from .operands import check_tensor, floating, sum_to


class ReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("relu", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return ReLUBackward.apply(g, out)


class ReLUBackward(Function):
    """g where out > 0, else 0: linear in g, and flat in out."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(out)
        return Tensor._wrap(binary("relu_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        (out,) = ctx.saved_tensors
        return ReLUBackward.apply(gg, out), None


class Sigmoid(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("sigmoid", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return SigmoidBackward.apply(g, out)


class SigmoidBackward(Function):
    """g out (1 - out), in one launch"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(g, out)
        return Tensor._wrap(binary("sigmoid_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        g, out = ctx.saved_tensors
        need_g, need_out = ctx.needs_input_grad
        g_g = SigmoidBackward.apply(gg, out) if need_g else None
        g_out = gg * g * (1.0 - out * 2.0) if need_out else None
        return g_g, g_out


class Tanh(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = Tensor._wrap(unary("tanh", x.array))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        return TanhBackward.apply(g, out)


class TanhBackward(Function):
    """g (1 - out^2), in one launch"""

    @staticmethod
    def forward(ctx: Any, g: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(g, out)
        return Tensor._wrap(binary("tanh_backward", g.array, out.array))

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> Any:
        g, out = ctx.saved_tensors
        need_g, need_out = ctx.needs_input_grad
        g_g = TanhBackward.apply(gg, out) if need_g else None
        g_out = gg * g * (out * -2.0) if need_out else None
        return g_g, g_out


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.slope = slope
        ctx.save_for_backward(x)
        return Tensor._wrap(binary("leaky_relu", x.array, slope))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * Tensor._wrap(binary("leaky_relu_slope", x.array, ctx.slope)), None


class GELU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("gelu", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * GELUSlope.apply(x)


class GELUSlope(Function):
    """gelu'(x) = P(x) + x p(x), with the normal distribution P and its density p; its slope is p(x) (2 - x^2)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return Tensor._wrap(unary("gelu_slope", x.array))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        squared = x * x
        density = (squared * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
        return g * density * (2.0 - squared)


_BACKWARD = {"relu": ReLUBackward, "sigmoid": SigmoidBackward, "tanh": TanhBackward}


class BiasActivation(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, activation: str) -> Tensor:
        out = Tensor._wrap(K.bias_activation(x.array, bias.array, activation))
        ctx.activation, ctx.spread = activation, (bias.shape[0],) + (1,) * (x.ndim - 2)
        if activation != "none":
            ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        need_x, need_bias, _ = ctx.needs_input_grad
        if ctx.activation != "none":
            (out,) = ctx.saved_tensors
            g = _BACKWARD[ctx.activation].apply(g, out)
        g_bias = sum_to(g, ctx.spread).reshape(ctx.spread[:1]) if need_bias else None
        return g if need_x else None, g_bias, None


def relu(input: Tensor) -> Tensor:
    """max(input, 0); the gradient at 0 is 0, and NaN stays NaN."""
    return ReLU.apply(check_tensor("relu", input))


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """input where it is positive, else input * negative_slope."""
    input = floating("leaky_relu", input)
    slope = number_for("leaky_relu", "negative_slope", negative_slope, float64)
    if slope != slope:
        raise ValueError("leaky_relu: negative_slope is NaN; it must be a number")
    return LeakyReLU.apply(input, slope)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """input * P(input), with P the distribution function of the standard normal (Hendrycks and Gimpel, 2016).

    `approximate="tanh"` takes their formula 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as GPT-2 does.
    """
    input = floating("gelu", input)
    if approximate == "none":
        return GELU.apply(input)
    if approximate != "tanh":
        raise ValueError(f"gelu: approximate is {approximate!r}; choose 'none' or 'tanh'")
    x = input.to(float32) if input.dtype is float16 else input  # half would round, or overflow in, each step
    # 1 + tanh(z) as 2 sigmoid(2 z): PoCL's tanh stops one step short of 1, and its slope then never is 0.
    return (x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))).to(input.dtype)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e ** -input)"""
    return Sigmoid.apply(floating("sigmoid", input))


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return Tanh.apply(floating("tanh", input))


def bias_activation(input: Tensor, bias: Tensor, activation: str = "none") -> Tensor:
    """activation(input + bias) in one launch: input (N, C) or (N, C, ...), bias (C,).

    `activation`: "none", "relu", "sigmoid" or "tanh".
    """
    check_tensor("bias_activation", input)
    check_tensor("bias_activation", bias, "bias")
    if activation not in ACTIVATIONS:
        raise ValueError(f"bias_activation: activation is {activation!r}; there is {', '.join(ACTIVATIONS)}")
    return BiasActivation.apply(input, bias, activation)
