"""Which cells a launch read for which cell that it wrote: the map behind im2col, pooling, broadcasting, convolution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..trace.events import ATOMIC, LOAD, OUTSIDE, SKEW
from ..trace.launch import LaunchTrace
from .words import by_shape, pack_integers, pack_numbers, trimmed, work_items

MAX_CELLS = 20_000  # of all buffers together, and of pairs: what a page of under 1 MB holds
MAX_PAIRS = 40_000


def check_room(function: str, *shapes: tuple[int, ...], reads: int = 0) -> None:
    """Raise ValueError where arrays alone are more than the picture can hold: recording them could take for ever.

    `reads` is at most how many there will be: padding is not read, so it may be far above the limit of `check_size`.
    """
    if reads > 10 * MAX_PAIRS:
        raise ValueError(
            f"{function}: the picture would hold up to {reads:,} reads; the limit is {MAX_PAIRS:,}. Show fewer "
            "channels or images, or a part of each"
        )
    cells = sum(math.prod(shape) for shape in shapes)
    if cells > MAX_CELLS:
        raise ValueError(
            f"{function}: the picture would hold {cells:,} cells and more; the limit is {MAX_CELLS:,}. Show fewer "
            "channels or images, or a part of each"
        )


@dataclass
class Relation:
    """Pairs (output cell, input buffer, input cell) of one launch, in the order in which each cell's were read.

    For each write, its inputs are the loads that its work-item had made since it last wrote another cell. Where a work-
    item writes a cell again (a compare-and-swap that had to try again), the cell keeps what it has.
    """

    launch: LaunchTrace
    inputs: tuple[str, ...]
    output: str

    def __post_init__(self) -> None:
        t = self.launch
        names = [b.name for b in t.buffers]
        b_in, b_out = [names.index(n) for n in self.inputs], names.index(self.output)
        c = t.columns
        good = (c.kind <= ATOMIC) & (c.flags & (OUTSIDE | SKEW) == 0)
        read, written = np.isin(c.buffer, b_in) & (c.kind == LOAD), (c.buffer == b_out) & (c.kind != LOAD)
        rows = np.flatnonzero(good & (read | written))
        rows = rows[np.lexsort((c.lane[rows], c.seq[rows], c.item[rows]))]
        item, kind = c.item[rows], c.kind[rows]
        sizes = np.array([*t.element_sizes, 1])[c.buffer[rows]]
        cell = c.offset[rows].astype("i8") // sizes
        write = kind != LOAD
        self.atomic = bool((kind == ATOMIC).any())
        if self.atomic:
            # An atomic addition reads its own cell again and again; only the last write of a row to one cell counts.
            same = np.zeros(len(rows), bool)
            same[1:] = write[1:] & write[:-1] & (item[1:] == item[:-1]) & (cell[1:] == cell[:-1])
            rows, item, kind, cell, write = (a[~same] for a in (rows, item, kind, cell, write))
        # The write that each load belongs to: the next one in its work-item.
        at = np.flatnonzero(write)
        following = np.searchsorted(at, np.arange(len(rows)))
        loads = np.flatnonzero(~write & (following < len(at)))
        target = at[following[loads]] if len(at) else loads
        mine = item[target] == item[loads] if len(at) else np.zeros(0, bool)
        loads, target = loads[mine], target[mine]
        self.to, self.at = cell[target], cell[loads]
        order = np.argsort(self.to, kind="stable")
        self.to, self.at = self.to[order], self.at[order]
        slot = {b: k for k, b in enumerate(b_in)}
        self.buffer = np.array([slot[int(b)] for b in c.buffer[rows[loads]]], "u1")[order]
        self.writers = dict(zip(cell[write].tolist(), item[write].tolist(), strict=True))

    @cached_property
    def values(self) -> list[np.ndarray]:
        """What the inputs held before the launch, and the output after it."""
        before = [self._flat(self.launch.buffer(n).before) for n in self.inputs]
        return [*before, self._flat(self.launch.buffer(self.output).after)]

    def _flat(self, array: np.ndarray | None) -> np.ndarray:
        if array is None:
            raise ValueError(f"the contents of {self.launch.kernel}'s arrays were not kept: raise budget= of gg.trace")
        return array.reshape(-1)

    def sources(self, cell: int) -> list[tuple[int, int]]:
        """The inputs of an output cell, in the order in which they were read: (which input, which cell)."""
        first, last = np.searchsorted(self.to, [cell, cell + 1])
        return list(zip(self.buffer[first:last].tolist(), self.at[first:last].tolist(), strict=True))

    @property
    def size(self) -> str:
        """How the launch was cut: "work-groups of 64×1×1"."""
        return f"work-groups of {by_shape(trimmed(self.launch.local_size))}"

    def check_size(self, function: str) -> None:
        cells = sum(v.size for v in self.values)
        if cells > MAX_CELLS or len(self.to) > MAX_PAIRS:
            raise ValueError(
                f"{function}: the picture would hold {cells:,} cells and {len(self.to):,} reads; the limits are "
                f"{MAX_CELLS:,} and {MAX_PAIRS:,}. Show fewer channels or images, or a part of each"
            )

    def data(self, shapes: list[tuple[int, ...]], names: list[str] | None = None) -> dict[str, Any]:
        """For the browser. `shapes` of the inputs and the output, which need not be those of the launch."""
        infos = [self.launch.buffer(n) for n in (*self.inputs, self.output)]
        buffers = [
            {"name": n, "shape": list(s), "axes": list(i.axes), "note": by_shape(s), "values": pack_numbers(v)}
            for n, i, s, v in zip(names or [i.name for i in infos], infos, shapes, self.values, strict=True)
        ]
        pairs = {"to": pack_integers(self.to), "at": pack_integers(self.at), "buffer": pack_integers(self.buffer)}
        return {"buffers": buffers, "pairs": pairs, "atomic": self.atomic}

    def caption(self, where: str) -> str:
        t = self.launch
        on = f" on {where}" if where else ""
        g = work_items(trimmed(t.global_size))
        return (
            f"Recorded{on}: one launch of {t.kernel} ({t.file}), {g} in {self.size}. Which cell went where "
            "is read from its loads and stores, the numbers from its buffers."
        )
