"""The shape arithmetic of matrix products: from the shapes of two arrays to strides that every kernel of gemm takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ..array import Array, Shape
from ..dtypes import computed_in
from ..program import Kernel
from .broadcast import broadcast_shape, collapse

_COMBINE = {
    role: Kernel("gemm.cl", "gemm_combine", partials="in batch parts (M N)", c=f"{role} batch (M N)")
    for role in ("out", "inout")
}


def role_of_c(beta: float) -> str:
    """What a kernel does with C: where beta is 0 it only writes it."""
    return "out" if beta == 0 else "inout"


class Strides(NamedTuple):
    """How far apart, in elements, matrices lie along the batch's two axes, and elements along a matrix's two."""

    outer: int
    inner: int
    row: int
    column: int

    @property
    def transposed(self) -> Strides:
        return Strides(self.outer, self.inner, self.column, self.row)


class Product(NamedTuple):
    """outer x inner products of an M x K and a K x N matrix; where `summed`, those along inner are added into one."""

    M: int
    N: int
    K: int
    outer: int
    inner: int
    summed: bool
    a: Strides
    b: Strides

    @property
    def results(self) -> int:
        return self.outer if self.summed else self.outer * self.inner

    @property
    def transposed(self) -> Product:
        """The same by C^T = op(B)^T @ op(A)^T."""
        return self._replace(M=self.N, N=self.M, a=self.b.transposed, b=self.a.transposed)


@lru_cache(4096)
def product(
    function: str, a: Shape, b: Shape, transpose_a: bool, transpose_b: bool, summed: bool
) -> tuple[Product | None, Shape]:
    """op(A) @ op(B) for arrays of these shapes, and the shape of the result; ValueError where they don't fit.

    `summed`: the first axis of both is added up. None instead of a Product where the batch takes more axes than
    kernels have: the arrays must be expanded to the whole batch first.
    """
    M, K = a[:-3:-1] if transpose_a else a[-2:]
    K_of_b, N = b[:-3:-1] if transpose_b else b[-2:]
    if K_of_b != K:
        raise ValueError(
            f"{function}: {_op('a', transpose_a)} is {M} x {K}, {_op('b', transpose_b)} is {K_of_b} x {N} (shapes {a} "
            f"and {b}); the first must have as many columns as the second has rows"
        )
    first = int(summed)
    if a[:first] != b[:first]:
        raise ValueError(f"{function}: a has {a[0]} matrices to add up, b has {b[0]} (along their first axis)")
    batch = broadcast_shape(function, a[first:-2], b[first:-2])
    shape = batch + (M, N)
    sizes, (a_steps, b_steps) = collapse(batch, a[first:-2], b[first:-2])
    missing = 2 - first - len(sizes)
    if missing < 0:
        return None, shape
    sizes, a_steps, b_steps = (1,) * missing + sizes, (0,) * missing + a_steps, (0,) * missing + b_steps
    if summed:
        # The axis to add up becomes the inner one, though it is the slowest in memory.
        sizes += a[:1]
        a_steps += (math.prod(a[1:-2]),)
        b_steps += (math.prod(b[1:-2]),)
    elif sizes[0] == 1 and b_steps[1] == 0 and not transpose_a:
        # One B for the rows of all A's: they are the rows of one tall A.
        M, sizes, a_steps = M * sizes[1], (1, 1), (0, 0)
    outer, inner = sizes
    matrices_a, matrices_b = _strides(a, a_steps, transpose_a), _strides(b, b_steps, transpose_b)
    return Product(M, N, K, outer, inner, summed and inner != 1, matrices_a, matrices_b), shape


def _strides(shape: Shape, steps: Shape, transposed: bool) -> Strides:
    """Of op(x), for an x of `shape` that goes on by `steps` matrices along the batch's two axes."""
    rows, columns = shape[-2:]
    found = Strides(steps[0] * rows * columns, steps[1] * rows * columns, columns, 1)
    return found.transposed if transposed else found


def _op(name: str, transposed: bool) -> str:
    return f"{name} transposed" if transposed else name


class Split(NamedTuple):
    """Each result in `parts` parts: sums of `summed` neighbours among `inner` products, K deep, the last one last_K.

    Where one long sum is split along K, its parts are the inner products, and `along_K` is set.
    """

    parts: int
    inner: int
    summed: int
    K: int
    last_K: int
    along_K: bool

    def strides(self, s: Strides, step: int) -> Strides:
        """`s` with its inner stride from part to part; `step` leads from k to k + 1."""
        return s._replace(inner=self.K * step) if self.along_K else s


def split(p: Product, wanted: int, least_depth: int) -> Split:
    """Split the sums of `p` in about `wanted` parts, but along K in parts of `least_depth` or more."""
    if p.summed:
        summed = -(-p.inner // min(max(wanted, 1), p.inner))
        return Split(-(-p.inner // summed), p.inner, summed, p.K, p.K, False)
    depth = max(least_depth, -(-p.K // max(wanted, 1)))
    if p.inner > 1 or depth >= p.K:
        return Split(1, p.inner, 1, p.K, p.K, False)
    parts = -(-p.K // depth)
    return Split(parts, parts, 1, depth, p.K - (parts - 1) * depth, True)


Launch = Callable[[Array, float, float], None]


def in_parts(p: Product, parts: int, launch: Launch, c: Array, alpha: float, beta: float) -> None:
    """Compute each result in `parts` parts and add them up; `launch(to, alpha, beta)` computes them all.

    For results that are few and deep: their work-groups alone would leave most of the device idle. `to` is of c's
    dtype or, for parts of float16, float32.
    """
    if parts == 1:
        launch(c, alpha, beta)
        return
    partials = Array.empty((p.results, parts, p.M * p.N), computed_in(c.dtype), c.device)
    launch(partials, 1, 0)
    size = (p.M * p.N, p.results)
    _COMBINE[role_of_c(beta)].launch(c.dtype, size, (64, 1), partials, c, size[0], parts, alpha, beta)
