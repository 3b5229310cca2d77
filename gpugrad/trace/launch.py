"""What is known about one recorded launch: its events, what memory held before and after, and questions about them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..source import KINDS, Buffer, Site
from .events import ATOMIC, OUTSIDE, SCALARS, SKEW, STORE, Columns, table

if TYPE_CHECKING:
    from .report import Report

Size = tuple[int, ...]
PIECE = 1 << 18  # events whose bytes are looked at in one go


@dataclass(frozen=True)
class BufferInfo:
    """A buffer as the launch saw it: an argument, a local array or a constant.

    `shape` and `dtype` are the array's; `axes` and `role` as the kernel declares them, if it does. `writer` says who
    wrote the argument before: "host", the number of a launch, or None (nobody). Arguments in one block of memory have
    the same `block`, and begin `start` bytes into it (block -1: memory of its own). `before` and `after` hold its
    contents on the host (None for local memory, and where the budget did not reach).
    """

    buffer: Buffer
    shape: tuple[int, ...]
    dtype: np.dtype
    nbytes: int
    role: str = ""
    axes: tuple[str, ...] = ()
    writer: Any = "host"
    block: int = -1
    start: int = 0
    before: np.ndarray | None = None
    after: np.ndarray | None = None

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def space(self) -> str:
        return self.buffer.space


@dataclass
class LaunchTrace:
    """A recorded launch.

    Attributes: `kernel` (its name), `source` (the text as its author wrote it), `args` (the scalars by name),
    `global_size`, `local_size`, `buffers`, `sites`, `events`; `operations` (floating-point ones that the recorded
    work-items did: see source/operations.py); `lost` (events for which there was no room), `left_out`
    (work-items that were not asked for), `repeatable` (counting and recording met the same number of events), and
    `options` (the build's).
    """

    kernel: str
    source: str
    args: dict[str, Any]
    global_size: Size
    local_size: Size
    sites: tuple[Site, ...]
    buffers: tuple[BufferInfo, ...]
    columns: Columns
    number: int = 0
    device: str = ""
    file: str = ""
    options: tuple[str, ...] = ()
    operations: int = 0
    lost: int = 0
    left_out: int = 0
    repeatable: bool = True
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        lost = f", {self.lost} lost" if self.lost else ""
        size = f"{self.global_size} in groups of {self.local_size}"
        return f"<launch of {self.kernel}, {size}: {len(self.columns)} events{lost}>"

    # ---- the events

    @cached_property
    def events(self) -> np.ndarray:
        """One row for each event (events.table_dtype), by group, phase, work-item and its own order.

        Order between work-items within a phase is not observable; this one is only one of those that can be.
        """
        return table(self.columns, self.sites, tuple(b.buffer for b in self.buffers), self.element_sizes)

    @property
    def element_sizes(self) -> list[int]:
        return [b.dtype.itemsize for b in self.buffers]

    def select(self, *, line: int | None = None, work_item: int | None = None, group: int | None = None,
               buffer: str | None = None, kind: str | None = None, phase: int | None = None) -> np.ndarray:  # fmt: skip
        """The events that agree with everything given, as rows of `events`. `kind`: load, store, atomic, barrier,
        branch, assign, row, private or fuel."""
        if buffer is not None and buffer not in {b.name for b in self.buffers} | set(self.events["buffer"].tolist()):
            raise ValueError(
                f"select: buffer is {buffer!r}; {self.kernel} has {', '.join(b.name for b in self.buffers)}"
            )
        if kind is not None and kind not in KINDS:
            raise ValueError(f"select: kind is {kind!r}; it is one of {', '.join(KINDS)}")
        for name, number in (("line", line), ("work_item", work_item), ("group", group), ("phase", phase)):
            if number is not None:
                whole("select", name, number)
        keep = np.ones(len(self.columns), bool)
        wanted = {"line": line, "work_item": work_item, "group": group, "buffer": buffer, "kind": kind, "phase": phase}
        for column, value in wanted.items():
            if value is not None:
                keep &= self.events[column] == value
        return self.events[keep]

    def buffer(self, name: str) -> BufferInfo:
        for b in self.buffers:
            if b.name == name:
                return b
        raise ValueError(f"{self.kernel} has no buffer {name!r}; it has {', '.join(b.name for b in self.buffers)}")

    def nd_index(self, rows: np.ndarray) -> list[tuple[int, ...]]:
        """For rows of `events`, the index in the array's own shape: `out[17]` of a (4, 5) array is (3, 2).

        An index outside the array stays flat.
        """
        shapes = {b.name: b.shape for b in self.buffers}
        return [unravel(int(r["index"]), shapes.get(str(r["buffer"]), ())) for r in np.atleast_1d(rows)]

    # ---- memory over time

    def replay(self, name: str, n: int | None = None, group: int = 0) -> np.ndarray:
        """What buffer `name` held after the first `n` events (None: all of them), in the order of `events`.

        Local memory is that of one `group`; cells that nobody had written are NaN, or 0 in integer arrays.
        Where work-items race, or through atomics, other orders than this one can have happened.
        """
        info = self.buffer(name)
        c = self.columns
        if info.before is not None:
            out = np.array(info.before)
        elif info.space == "local":
            out = np.full(info.shape, np.nan if info.dtype.kind == "f" else 0, info.dtype)
        else:
            raise ValueError(f"replay: {_not_kept(info)}")
        n = len(c) if n is None else whole("replay", "n", n)
        if not 0 <= n <= len(c):
            raise ValueError(f"replay: n is {n}; there are {len(c)} events")
        groups = math.prod(self.global_size) // math.prod(self.local_size)
        if not 0 <= whole("replay", "group", group) < groups:
            raise ValueError(f"replay: group is {group}; {self.kernel} ran in {groups}, numbered from 0")
        keep = np.zeros(len(c), bool)
        keep[:n] = True
        if info.space == "local":
            keep &= c.group == group
        raw = out.reshape(-1).view("u1")
        for where, held in self.bytes_written(info, keep):
            raw[where] = held  # of two writes to a byte NumPy keeps the last
        return out

    def bytes_written(self, info: BufferInfo, keep: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Which bytes of a buffer the events in `keep` wrote, also through another argument in the same memory, and
        what they wrote there; in the order of the events, piece by piece."""
        c = self.columns
        same = [b.block == info.block if info.block >= 0 else b is info for b in self.buffers]
        keep = keep & np.array([*same, False])[c.buffer] & ((c.kind == STORE) | (c.kind == ATOMIC))
        rows = np.flatnonzero(keep & (c.flags & (OUTSIDE | SKEW) == 0))
        starts = np.array([b.start - info.start for b in self.buffers] or [0], "i8")
        for part in np.array_split(rows, 1 + len(rows) // PIECE):
            bits = np.ascontiguousarray(c.bits[part]).astype("<u8").view("u1").reshape(-1, 8)
            where = (c.offset[part] + starts[c.buffer[part]])[:, None] + np.arange(8)
            wrote = (np.arange(8) < c.size[part][:, None]) & (where >= 0) & (where < info.nbytes)
            yield where[wrote], bits[wrote]

    def report(self) -> Report:
        """What the sanitizer finds in this launch."""
        from .sanitizer import report_on

        return report_on(self)

    # ---- step by step

    def steps(self, work_item: int = 0) -> Iterator[tuple[np.void, dict[str, float]]]:
        """One work-item's events in its own order, each with the watched variables as they then stood."""
        variables: dict[str, float] = {}
        mine = self.select(work_item=work_item)
        for row in mine[np.argsort(mine["seq"], kind="stable")]:
            if row["kind"] == "assign":
                variables[str(row["buffer"])] = float(row["value"])
            yield row, dict(variables)

    def play(self, work_item: int = 0, start: int = 0, stop: int | None = None) -> None:
        """The text stepper: shows one step of a work-item after another (in a terminal, at the press of Enter)."""
        from .stepper import play

        play(self, work_item, start, stop)


def whole(function: str, name: str, value: Any) -> int:
    """The value as an int, which 2.0 and True are not."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} is {value!r}; give an integer") from None


def _not_kept(info: BufferInfo) -> str:
    if info.buffer.argument is None:
        return f"{info.name} is a constant of the program: it always holds what the text gives it"
    return f"the contents of {info.name} were not kept (the budget did not reach)"


def unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    size = int(np.prod(shape)) if shape else 0
    return tuple(int(i) for i in np.unravel_index(index, shape)) if 0 <= index < size else (index,)


def dtype_of(scalar: str) -> np.dtype:
    return np.dtype(SCALARS.get(scalar, "u1"))
