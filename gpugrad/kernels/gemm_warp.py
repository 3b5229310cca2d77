"""The rung of gemm for GPUs: how large its tiles are, in how many parts a sum is computed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..array import Array
from ..dtypes import C_NAME, computed_in, float64
from ..program import Kernel
from .gemm_product import Product, Split, in_parts, role_of_c, split

_WARP = {
    role: Kernel("gemm_warp.cl", "gemm_warp", a="in batch M K", b="in batch K N", c=f"{role} batch M N")
    for role in ("out", "inout")
}


class Tile(NamedTuple):
    """A work-group computes BM x BN elements, a work-item TM x TN of them."""

    BM: int
    BN: int
    TM: int
    TN: int

    @property
    def group(self) -> int:
        return self.BM // self.TM * (self.BN // self.TN)

    def groups(self, p: Product) -> int:
        return -(-p.M // self.BM) * -(-p.N // self.BN)

    def filled(self, p: Product) -> float:
        """The part of the tiles that lies inside C."""
        return p.M * p.N / (self.groups(p) * self.BM * self.BN)


# Largest first. On an NVIDIA H200 the first computes 37 TFLOP/s at 4096^3 (`gpugrad bench gemm`). float64 has room in
# registers for half as many sums.
TILES = {
    "float32": (Tile(128, 128, 16, 8), Tile(64, 64, 8, 8), Tile(32, 32, 4, 4)),
    "float64": (Tile(128, 64, 8, 8), Tile(32, 32, 4, 4)),
}
_LEAST_FILLED = 0.6  # a smaller tile wastes less at the edges
_LEAST_DEPTH = 64  # of a part of a sum that is split


@lru_cache(4096)
def _plan(p: Product, tiles: tuple[Tile, ...], units: int) -> tuple[Tile, Split]:
    """The largest tile that gives each of `units` compute units a work-group, and sums split where none does."""
    products = p.outer * p.inner
    tile = next((t for t in tiles if t.groups(p) * products >= units and t.filled(p) >= _LEAST_FILLED), tiles[-1])
    return tile, split(p, -(-units // (tile.groups(p) * p.results)), _LEAST_DEPTH)


def warp(kernel: Any, p: Product, a: Array, b: Array, c: Array, alpha: float, beta: float) -> None:
    tile, plan = _plan(p, TILES[computed_in(c.dtype).name], c.device.cl_device.max_compute_units)
    a_at, b_at = plan.strides(p.a, p.a.column), plan.strides(p.b, p.b.row)
    defines = (
        *((("V", "double2"), ("W", "2")) if c.dtype == float64 else (("V", "float4"), ("W", "4"))),
        *((name, str(n)) for name, n in tile._asdict().items()),
    )
    size = (tile.groups(p) * tile.group, 1, p.results * plan.parts)

    def launch(to: Array, alpha: float, beta: float) -> None:
        _WARP[role_of_c(beta)].launch(
            a.dtype, size, (tile.group, 1, 1), a, b, to, p.M, p.N, plan.K, plan.last_K, plan.inner, plan.summed,
            *a_at, *b_at, alpha, beta, defines=(("R", C_NAME[to.dtype]), *defines),
        )  # fmt: skip

    in_parts(p, plan.parts, launch, c, alpha, beta)
