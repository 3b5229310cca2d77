"""Batch normalisation on Arrays (N, C, ...): statistics, the normalised values, and the input's gradient.

What is computed of a channel, a vector (C,), is in the type that x is computed in: float32 for float16. Vectors that
are given may be of that type or of x's.
"""

from __future__ import annotations

import math
from typing import Any

from ..array import Array
from ..dtypes import computed_in
from ..program import Kernel
from .checks import check_array, check_float, check_out, check_same
from .elementwise import cast
from .reduce import reduce
from .tuning import tuned

_SQUARE = Kernel("batch_norm.cl", "batch_norm_square", x="in N C S", mean="in C", out="out N C S")
_NORM = Kernel(
    "batch_norm.cl", "batch_norm", x="in N C S", mean="in C", var="in C", weight="in C", bias="in C", y="out N C S"
)  # fmt: skip
_PRODUCT = Kernel("batch_norm.cl", "batch_norm_product", g="in N C S", x="in N C S", mean="in C", out="out N C S")
_BACKWARD = Kernel(
    "batch_norm.cl", "batch_norm_backward", g="in N C S", x="in N C S", mean="in C", var="in C", weight="in C",
    sum_g="in C", sum_gx="in C", dx="out N C S",
)  # fmt: skip
_FOLLOW = Kernel(
    "batch_norm.cl", "batch_norm_follow", running_mean="inout C", running_var="inout C", mean="in C", var="in C"
)  # fmt: skip


def batch_norm_moments(x: Array) -> tuple[Array, Array]:
    """The mean and the (biased) variance of each channel of x (N, C, ...): two Arrays (C,).

    The variance is the mean of (x - mean)^2, so it keeps its digits where the mean is large.
    """
    _check("batch_norm_moments", x)
    mean = _over_channels("mean", x)
    square = Array.empty(x.shape, mean.dtype, x.device)
    _rows(_SQUARE, x, x, mean, square)
    return mean, _over_channels("mean", square)


def batch_norm(
    x: Array,
    mean: Array,
    var: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
) -> Array:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of x (N, C, ...); the vectors are (C,)."""
    _check("batch_norm", x, mean=mean, var=var, weight=weight, bias=bias)
    out = check_out("batch_norm", out, x.shape, x.dtype, x.device)
    settings = (float(eps), int(weight is not None), int(bias is not None))
    vectors = [_wide(v) for v in (mean, var, mean if weight is None else weight, mean if bias is None else bias)]
    _rows(_NORM, x, x, *vectors, out, after=settings)
    return out


def batch_norm_product_sum(grad_output: Array, x: Array, mean: Array) -> Array:
    """sum(g (x - mean)) over each channel: an Array (C,)."""
    _check("batch_norm_product_sum", x, mean=mean)
    _check_grad("batch_norm_product_sum", grad_output, x)
    product = Array.empty(x.shape, computed_in(x.dtype), x.device)
    _rows(_PRODUCT, x, grad_output, x, _wide(mean), product)
    return _over_channels("sum", product)


def batch_norm_backward_input(
    grad_output: Array,
    x: Array,
    mean: Array,
    var: Array,
    sum_g: Array,
    sum_gx: Array,
    weight: Array | None = None,
    eps: float = 1e-5,
    *,
    out: Array | None = None,
) -> Array:
    """The gradient of x, where mean and var are those of x itself, from the channels' sums of g and g (x - mean)."""
    _check("batch_norm_backward_input", x, mean=mean, var=var, weight=weight, sum_g=sum_g, sum_gx=sum_gx)
    _check_grad("batch_norm_backward_input", grad_output, x)
    out = check_out("batch_norm_backward_input", out, x.shape, x.dtype, x.device)
    settings = (float(eps), int(weight is not None), float(math.prod(x.shape[2:], start=x.shape[0])))
    vectors = [_wide(v) for v in (mean, var, mean if weight is None else weight, sum_g, sum_gx)]
    _rows(_BACKWARD, x, grad_output, x, *vectors, out, after=settings)
    return out


def batch_norm_follow(
    running_mean: Array, running_var: Array, mean: Array, var: Array, momentum: float, count: int
) -> None:
    """Move running statistics by `momentum` towards those of a batch with `count` numbers a channel, in place."""
    for name, a in (("running_mean", running_mean), ("running_var", running_var), ("mean", mean), ("var", var)):
        check_array("batch_norm_follow", name, a, 1)
        if a.shape != mean.shape:
            raise ValueError(f"batch_norm_follow: {name} has shape {a.shape}, and mean {mean.shape}; all are alike")
    check_same("batch_norm_follow", mean=mean, var=var)
    check_same("batch_norm_follow", running_mean=running_mean, running_var=running_var)
    _check_vector("batch_norm_follow", "mean", mean, running_mean)
    if count < 2:
        raise ValueError(f"batch_norm_follow: count is {count}; a variance needs 2 numbers or more")
    n, unbias = mean.size, count / (count - 1)
    _FOLLOW.launch(
        running_mean.dtype, (n,), (64,), running_mean, running_var, mean, var, n, float(momentum), unbias,
        defines=_defines(mean),
    )  # fmt: skip


def _defines(like: Array) -> tuple[tuple[str, str], ...]:
    return (("RUN", str(tuned("elementwise run", like.device))),)


def batch_norm_sum(grad_output: Array) -> Array:
    """sum(g) over each channel of g (N, C, ...): an Array (C,)."""
    _check("batch_norm_sum", grad_output)
    return _over_channels("sum", grad_output)


def _over_channels(op: str, x: Array) -> Array:
    """A sum or a mean over each channel, in the type that is computed in."""
    out = Array.empty(x.shape[1:2], computed_in(x.dtype), x.device)
    return reduce(op, x, (0, *range(2, x.ndim)), out=out)


def _rows(kernel: Kernel, like: Array, *arrays: Array, after: tuple[Any, ...] = ()) -> None:
    """Launch over the rows of `like`, in runs."""
    rows, width = like.shape[0] * like.shape[1], math.prod(like.shape[2:])
    runs = -(-width // tuned("elementwise run", like.device))
    local = tuned("batch_norm group" if width >= 64 else "batch_norm group, short rows", like.device)
    kernel.launch(
        like.dtype, (runs, rows), local, *arrays, rows, like.shape[1], width, *after, defines=_defines(like)
    )  # fmt: skip


def _check(function: str, x: Any, **vectors: Array | None) -> None:
    check_array(function, "x", x)
    check_float(function, "x", x)
    if x.ndim < 2:
        raise ValueError(f"{function}: x has shape {x.shape}; it must be (N, C, ...)")
    for name, vector in vectors.items():
        if vector is not None:
            check_array(function, name, vector)
            if vector.shape != x.shape[1:2]:
                raise ValueError(
                    f"{function}: {name} has shape {vector.shape}; x has shape {x.shape}, so it must be {x.shape[1:2]}"
                )
            _check_vector(function, name, vector, x)


def _check_vector(function: str, name: str, vector: Array, x: Array) -> None:
    """`vector` is on x's device, and of x's dtype or of what x is computed in."""
    if vector.dtype != computed_in(x.dtype):
        check_same(function, x=x, **{name: vector})
    elif vector.device is not x.device:
        raise ValueError(f"{function}: {name} is on {vector.device}, x on {x.device}; put both on one")


def _wide(a: Array) -> Array:
    """`a` in the type that it is computed in."""
    computed = computed_in(a.dtype)
    return a if a.dtype == computed else cast(a, computed)


def _check_grad(function: str, grad_output: Any, x: Array) -> None:
    check_array(function, "grad_output", grad_output)
    if grad_output.shape != x.shape:
        raise ValueError(f"{function}: grad_output has shape {grad_output.shape}; it must be x's, {x.shape}")
    check_same(function, x=x, grad_output=grad_output)
