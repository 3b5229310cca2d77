"""The transpose of matrices in a batch: naive, blocked for a CPU's cache, tiled through a GPU's local memory."""

from __future__ import annotations

from typing import Any

from ..array import Array
from ..program import Kernel
from .checks import check_array, check_out
from .ladder import launch_first, resolve, variant
from .tuning import tuned

_NAIVE = Kernel("transpose.cl", "transpose_naive", x="in N R C", out="out N C R")
_BLOCKED = Kernel("transpose.cl", "transpose_blocked", x="in N R C", out="out N C R")
_TILED = Kernel("transpose.cl", "transpose_tiled", x="in N R C", out="out N C R")

BLOCK_R, BLOCK_C = 16, 64  # 16 rows to read, each of 4 cache lines; 64 rows to write, each of 1
TILE, ROWS = 32, 8  # a warp of 32 reads one row of the tile; 8 rows at a time


def transpose(x: Array, *, variant: str | None = None, out: Array | None = None) -> Array:
    """`x` (..., R, C) with its last two axes swapped: (..., C, R)."""
    check_array("transpose", "x", x)
    if x.ndim < 2:
        raise ValueError(f"transpose: x has shape {x.shape}; it must have 2 dimensions or more")
    R, C = x.shape[-2:]
    out = check_out("transpose", out, x.shape[:-2] + (C, R), x.dtype, x.device, x)
    if x.size:
        run, custom = resolve("transpose", variant, tuned("transpose", x.device))
        run(custom, x, out, x.size // (R * C), R, C)
    return out


@variant("transpose", "naive")
def _naive(kernel: Any, x: Array, out: Array, N: int, R: int, C: int) -> None:
    launch_first(_NAIVE, kernel, x.dtype, (C, R, N), (16, 16, 1), x, out, R, C)


@variant("transpose", "blocked")
def _blocked(kernel: Any, x: Array, out: Array, N: int, R: int, C: int) -> None:
    blocks = (-(-C // BLOCK_C), -(-R // BLOCK_R), N)
    defines = (("BLOCK_R", str(BLOCK_R)), ("BLOCK_C", str(BLOCK_C)))
    _BLOCKED.launch(x.dtype, blocks, (1, 1, 1), x, out, R, C, defines=defines)


@variant("transpose", "tiled")
def _tiled(kernel: Any, x: Array, out: Array, N: int, R: int, C: int) -> None:
    tiles = (-(-C // TILE) * TILE, -(-R // TILE) * ROWS, N)
    defines = (("TILE", str(TILE)), ("ROWS", str(ROWS)))
    _TILED.launch(x.dtype, tiles, (TILE, ROWS, 1), x, out, R, C, defines=defines)
