"""gemm: matrix products, of single matrices and of batches of them."""

from __future__ import annotations

from typing import Any

from ..array import Array
from ..dtypes import computed_in
from ..program import Kernel
from .checks import boolean, check_array, check_float, check_out, check_same, number_for
from .elementwise import cast
from .gemm_packed import packed
from .gemm_product import Product, in_parts, product, role_of_c
from .gemm_warp import warp
from .ladder import resolve
from .ladder import variant as rung
from .strided import expand
from .tuning import tuned


def gemm(
    a: Array,
    b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1,
    beta: float = 0,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """alpha * op(a) @ op(b) + beta * out, where op transposes the last two axes or does nothing.

    a: (..., M, K), or (..., K, M) with `transpose_a`; b: (..., K, N), or (..., N, K). The batch axes in front broadcast
    as in NumPy; the result is (..., M, N). float32 and float64 are accumulated in the same, float16 in float32. `out`
    takes the result (of float16 also in float32); it is read only where beta is not 0, and needed then. K = 0 gives
    beta * out.

    |error| <= 2 * eps * sqrt(K) * (|a| @ |b|) where the K rounded additions err to both sides, as with most data; where
    all terms are alike they can all err to one, and the bound is (K + 2) / 2 * eps * (|a| @ |b|). Of float16, eps is
    float32's, and then the result is rounded once. Products of integers are exact while all sums stay below 2^24
    (float64: 2^53).

    ValueError for shapes that don't fit, TypeError for other dtypes. Goto and van de Geijn, 2008, "Anatomy of
    high-performance matrix multiplication"; Volkov and Demmel, 2008, "Benchmarking GPUs to tune dense linear algebra".
    """
    return _gemm("gemm", a, b, transpose_a, transpose_b, alpha, beta, variant, out, summed=False)


def gemm_sum(
    a: Array,
    b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1,
    beta: float = 0,
    variant: str | None = None,
    out: Array | None = None,
) -> Array:
    """alpha * sum over n of op(a[n]) @ op(b[n]) + beta * out: gemm, with the batch's first axis added up.

    a: (S, ..., M, K), b: (S, ..., K, N), the result (..., M, N); all else as in `gemm`, with S * K in the place of K.
    The gradient of a convolution's weight is such a sum, over the images of a batch.
    """
    return _gemm("gemm_sum", a, b, transpose_a, transpose_b, alpha, beta, variant, out, summed=True)


def _gemm(
    function: str,
    a: Array,
    b: Array,
    transpose_a: bool,
    transpose_b: bool,
    alpha: Any,
    beta: Any,
    variant: str | None,
    out: Array | None,
    summed: bool,
) -> Array:
    check_array(function, "a", a)
    check_array(function, "b", b)
    check_float(function, "a", a)
    check_same(function, a=a, b=b)
    transpose_a = boolean(function, "transpose_a", transpose_a)
    transpose_b = boolean(function, "transpose_b", transpose_b)
    axes = 2 + summed
    for name, x in (("a", a), ("b", b)):
        if len(x.shape) < axes:
            raise ValueError(f"{function}: {name} has shape {x.shape}; it needs {axes} axes or more, use .reshape(...)")
    computed = computed_in(a.dtype)
    alpha, beta = (number_for(function, name, x, computed) for name, x in (("alpha", alpha), ("beta", beta)))
    p, shape = product(function, a.shape, b.shape, transpose_a, transpose_b, summed)
    if beta != 0 and out is None:
        raise ValueError(f"{function}: beta is {beta}, which multiplies what out holds; give out=")
    wide = out is not None and getattr(out, "dtype", None) == computed
    c = check_out(function, out, shape, computed if wide else a.dtype, a.device, a, b)
    if c.size == 0:
        return c
    if p is None:
        first = a.shape[:1] if summed else ()
        a, b = (expand(x, first + shape[:-2] + x.shape[-2:]) for x in (a, b))
        p, _ = product(function, a.shape, b.shape, transpose_a, transpose_b, summed)
        assert p is not None
    run, custom = resolve("gemm", variant, tuned("gemm", a.device))
    if p.K == 0 or p.inner == 0:  # nothing to add up: beta * out is left
        run, custom, p = _naive, None, p._replace(K=0, inner=1 if p.summed else p.inner, summed=False)
    run(custom, p, a, b, c, alpha, beta)
    return c


def _simple(name: str) -> dict[str, Kernel]:
    buffers = {"a": "in batch M K", "b": "in batch K N"}
    return {role: Kernel("gemm.cl", name, **buffers, c=f"{role} batch M N") for role in ("out", "inout")}


_NAIVE, _TILED, _BLOCKED = _simple("gemm_naive"), _simple("gemm_tiled"), _simple("gemm_blocked")
_TILE, _EACH = 16, 4  # as in gemm.cl


def _naive(kernel: Any, p: Product, a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    """A kernel of your own gets the arguments of gemm_naive.

    Its work-items: get_global_id(0) is n, (1) m, both padded to multiples of 16; (2) the product in the batch.
    """
    _launch(_NAIVE, 1, kernel, p, a, b, c, alpha, beta)


def _tiled(kernel: Any, p: Product, a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    _launch(_TILED, 1, None, p, a, b, c, alpha, beta)


def _blocked(kernel: Any, p: Product, a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    _launch(_BLOCKED, _EACH, None, p, a, b, c, alpha, beta)


def _launch(
    kernels: dict[str, Kernel],
    each: int,
    custom: Any,
    p: Product,
    a: Array,
    b: Array,
    c: Array,
    alpha: float,
    beta: float,
) -> None:
    """One of the simple rungs, whose work-items compute each x each elements."""
    local = (_TILE, _TILE, 1)
    side = _TILE * each
    size = (-(-p.N // side) * _TILE, -(-p.M // side) * _TILE, p.outer * p.inner)

    def launch(to: Array, alpha: float, beta: float) -> None:
        if custom is None:
            x, y = (a, b) if to.dtype == a.dtype else (cast(a, to.dtype), cast(b, to.dtype))
            args = (x, y, to, p.M, p.N, p.K, p.inner, *p.a, *p.b, alpha, beta)
            kernels[role_of_c(beta)].launch(to.dtype, size, local, *args)
            return
        # A kernel of your own reads and writes one type.
        own = to if to.dtype == a.dtype else cast(to, a.dtype)
        custom(a, b, own, p.M, p.N, p.K, p.inner, *p.a, *p.b, alpha, beta, global_size=size, local_size=local)
        if own is not to:
            cast(own, to.dtype, to)

    in_parts(p, p.inner if p.summed else 1, launch, c, alpha, beta)


for _name, _run in (("naive", _naive), ("tiled", _tiled), ("blocked", _blocked), ("packed", packed), ("warp", warp)):
    rung("gemm", _name)(_run)
