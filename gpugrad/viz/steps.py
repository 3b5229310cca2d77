"""From a recorded launch to what the stepper draws: each work-item's steps, the buffers, the lines of the source.

A step is a load, a store, an atomic, a barrier, or a watched variable that gets a value that is no index. The browser
builds the same steps from the same columns (static/recording.js); here they are for `describe()` and the first frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..source import KINDS
from ..trace.events import ASSIGN, ATOMIC, BARRIER, LOAD, OUTSIDE, PRIVATE, ROW, SKEW, STORE, values
from ..trace.launch import LaunchTrace
from .lines import kept_lines
from .page import quoted
from .words import (
    bracket,
    by_shape,
    counted,
    listed,
    num,
    numbers,
    pack_integers,
    pack_numbers,
    trimmed,
    work_items,
)

VERB = {"load": "reads", "store": "writes", "atomic": "updates", "assign": "sets"}
FLOATS = ("float", "double", "half")
MAX_CELLS = 40_000  # of a buffer whose contents are sent; of larger ones only what was touched is known
CLAMPED = 128  # a bit beside OUTSIDE: the index is so far out that the event holds only the largest there is
MAX_TEXT = 750_000  # characters of arrays and events sent at once; the rest group by group, when somebody looks there


@dataclass
class Step:
    """One step of a work-item: what it did (`kind`), where in the source, which cells with which values."""

    kind: str
    site: int
    buffer: int
    index: list[int]
    value: list[float]
    phase: int
    fault: int
    seq: int
    reads: list[Step] = field(default_factory=list, repr=False)
    was: float | None = None
    before: dict[str, float] = field(default_factory=dict, repr=False)


def outer(step: Step) -> str:
    """An index outside its buffer: as it was, or the largest that an event holds."""
    i = step.index[0]
    return f"{i} or {'more' if i > 0 else 'less'}" if step.fault & CLAMPED else str(i)


class Steps:
    """A launch as steps, for a figure of this name."""

    def __init__(self, launch: LaunchTrace, function: str = "stepper") -> None:
        self.t = launch
        c = launch.columns
        if not len(c):
            raise ValueError(
                f"{function}: the launch of {launch.kernel} holds no events: its work-items touched no memory, or none "
                "of them was recorded (groups=, work_items=)"
            )
        wrong = np.isin(c.kind, (ROW, PRIVATE)) & (c.flags & OUTSIDE != 0)
        keep = np.flatnonzero((c.kind <= BARRIER) | (c.kind == ASSIGN) | wrong)
        order = keep[np.lexsort((c.lane[keep], c.seq[keep], c.item[keep]))]
        self.c = c.take(order)
        self.value = self._values()
        self.ends = np.searchsorted(self.c.item, np.arange(self.items + 1))
        self.by_group = np.argsort(self.c.group, kind="stable")
        self.groups = self.c.group[self.by_group]
        self.seen: tuple[int, list[Step]] = -1, []  # the work-item that was looked at last

    def _values(self) -> np.ndarray:
        """Each event's value as its buffer's type has it: an atomic on the bits of a float is a float again."""
        out = values(self.c, self.t.sites)
        for b, info in enumerate(self.t.buffers):
            width = info.dtype.itemsize
            if info.dtype.kind == "f":
                rows = np.flatnonzero((self.c.buffer == b) & (self.c.kind == ATOMIC) & (self.c.size == width))
                raw = np.ascontiguousarray(self.c.bits[rows]).astype("<u8").view("u1").reshape(-1, 8)
                out[rows] = np.ascontiguousarray(raw[:, :width]).view(info.dtype)[:, 0]
        return out

    @cached_property
    def all_values(self) -> np.ndarray:
        """Values in the order of the launch's columns."""
        return values(self.t.columns, self.t.sites)

    # ---- sizes and names

    @cached_property
    def items(self) -> int:
        return int(np.prod(self.t.global_size))

    @cached_property
    def sizes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Global size, local size and number of groups, without trailing ones."""
        g = trimmed(self.t.global_size)
        l = self.t.local_size[: len(g)]
        return g, l, tuple(a // b for a, b in zip(g, l, strict=True))

    def who(self, item: int) -> str:
        return f"work-item {numbers(item, self.sizes[0])}"

    def group_of(self, item: int) -> int:
        flat, at, times = item, 0, 1
        g, l, n = self.sizes
        for size, local, groups in zip(g, l, n, strict=True):
            at += flat % size // local * times
            flat //= size
            times *= groups
        return at

    def group(self, g: int) -> str:
        return f"group {numbers(g, self.sizes[2])}"

    def shape(self, b: int) -> tuple[int, ...]:
        return self.t.buffers[b].shape or (1,)

    def size(self, b: int) -> int:
        info = self.t.buffers[b]
        return info.nbytes // info.dtype.itemsize

    def element(self, row: int) -> int:
        b = int(self.c.buffer[row])
        return int(self.c.offset[row]) // (self.t.element_sizes[b] if b >= 0 else 1)

    @cached_property
    def faults(self) -> np.ndarray:
        """OUTSIDE, SKEW and CLAMPED of each event."""
        flags = self.c.flags & (OUTSIDE | SKEW)
        clamped = (flags & OUTSIDE != 0) & np.isin(self.c.offset, (2**31 - 1, -(2**31)))
        return np.where(clamped, flags | CLAMPED, flags)

    # ---- steps

    def of(self, item: int) -> list[Step]:
        """The steps of a work-item, in its own order."""
        if self.seen[0] != item:
            self.seen = item, self._steps(item)
        return self.seen[1]

    def _steps(self, item: int) -> list[Step]:
        out: list[Step] = []
        known: dict[str, float] = {}
        reads: list[Step] = []
        last = (-1, -1, -1)  # site, component of a vector, place
        for row in range(self.ends[item], self.ends[item + 1]):
            kind, site = KINDS[self.c.kind[row]], int(self.c.site[row])
            lane, seq = int(self.c.lane[row]), int(self.c.seq[row])
            fault = int(self.faults[row])
            value, name = float(self.value[row]), self.t.sites[site].name
            if kind == "assign" and self.t.sites[site].scalar not in FLOATS:
                known[name] = value
                continue
            more = last[0] == site and last[1] < lane and last[2] == seq - 1
            last = (site, lane, seq)
            if out and more:  # another component of a vector
                out[-1].index.append(self.element(row))
                out[-1].value.append(value)
                continue
            step = Step(
                kind, site, int(self.c.buffer[row]), [self.element(row)], [value], int(self.c.phase[row]), fault, seq
            )
            if kind == "load":
                reads.append(step)
            else:
                step.reads, reads = reads, []
            if kind == "assign":
                step.was = known.get(name)
                known[name] = value
            step.before = dict(known)
            out.append(step)
        return out

    @cached_property
    def does(self) -> np.ndarray:
        """For each work-item: 0 nothing recorded, 1 it touches memory, 2 it writes global memory."""
        out = np.zeros(self.items, "u1")
        c = self.c
        touch = c.kind <= ATOMIC
        out[c.item[touch]] = 1
        space = np.array([b.space == "global" for b in self.t.buffers] + [False])
        out[c.item[touch & (c.kind != LOAD) & space[c.buffer] & (c.flags & OUTSIDE == 0)]] = 2
        return out

    def first(self) -> int:
        """The work-item that a figure opens with: the first that writes a result, else the first with events."""
        for wanted in (2, 1):
            found = np.flatnonzero(self.does == wanted)
            if len(found):
                return int(found[0])
        return int(self.c.item[0])

    # ---- in words

    def idle(self, item: int) -> str:
        """A work-item without steps, in words."""
        other = ", or was not recorded" if self.t.left_out else ""
        return f"W{self.who(item)[1:]} touches no memory{other}."

    def cell(self, step: Step, k: int = 0, value: bool = True) -> str:
        if step.buffer < 0:
            return "an address in no buffer"
        name, i = self.t.buffers[step.buffer].name, step.index[k]
        text = f"{name}[{outer(step)}]" if step.fault else bracket(name, i, self.shape(step.buffer))
        if len(step.index) > 1:
            text += f" to [{step.index[-1]}]"
        return text + (f" = {', '.join(map(num, step.value))}" if value else "")

    def writer(self, step: Step, item: int) -> tuple[int, int] | None:
        """Who wrote the cell of local memory that a load reads, as far as barriers tell: (work-item, phase)."""
        if step.kind != "load" or step.buffer < 0 or step.fault:
            return None
        local = self.t.buffers[step.buffer].space == "local"
        c = self.c
        element = c.offset // self.t.element_sizes[step.buffer]
        rows = (c.buffer == step.buffer) & ((c.kind == STORE) | (c.kind == ATOMIC)) & (element == step.index[0])
        rows &= (c.group == self.group_of(item)) & (c.flags & (OUTSIDE | SKEW) == 0)
        own = rows & (c.item == item) & (c.seq < step.seq)
        found = np.flatnonzero(own | (rows & (c.phase < step.phase) & local))
        if not len(found):
            return None
        row = found[np.lexsort((c.seq[found], c.item[found], c.phase[found]))[-1]]
        return int(c.item[row]), int(c.phase[row])

    def sentence(self, item: int, n: int) -> str:
        """The n-th step of a work-item in words; names no device."""
        step = self.of(item)[n]
        who = "W" + self.who(item)[1:]
        if step.kind == "barrier":
            count = int(np.prod(self.sizes[1]))
            whom = f"for all {count} of" if count > 1 else "alone in"
            group = self.group(self.group_of(item))
            return f"{who} waits at the barrier {whom} {group}. Phase {step.phase} ends here."
        if step.kind in ("row", "private") or step.fault or (step.buffer < 0 and step.kind != "assign"):
            return self._fault(step, who)
        site = self.t.sites[step.site]
        reads = listed(self.cell(r) for r in step.reads) if len(step.reads) <= 3 else f"{len(step.reads)} reads"
        if step.kind == "assign":
            was = "" if step.was is None else f" (was {num(step.was)})"
            text = f"{who} sets {site.name} to {', '.join(map(num, step.value))}{was}"
            return text + (f", from {reads}." if reads else ".") + self._overflow(step)
        if step.kind == "load":
            by = self.writer(step, item)
            if not by:
                return f"{who} reads {self.cell(step)} from {self.t.buffers[step.buffer].space} memory."
            origin = "which it wrote itself" if by[0] == item else f"written in phase {by[1]} by {self.who(by[0])}"
            return f"{who} reads {self.cell(step)}, {origin}."
        what = [", ".join(map(num, step.value)), self.cell(step, value=False)]
        text = f"{who} {VERB[step.kind]} " + " to ".join(reversed(what) if step.kind == "atomic" else what)
        return text + (f", from {reads}." if reads else ".") + self._overflow(step)

    def _fault(self, step: Step, who: str) -> str:
        site = self.t.sites[step.site]
        if step.kind == "private" and site.name == "pointer":
            n = int(step.value[0])
            where = f"it goes to element {step.index[0]} of {n}" if n else "its pointer leads to no variable"
            return f"{who} leaves private memory in {site.text}: {where}. The access was left out."
        if step.kind in ("row", "private"):
            return f"{who} uses index {step.index[0]} in {site.text}, which is outside."
        end = "Nothing was read: 0 was used." if step.kind == "load" else "Nothing was written."
        verb = VERB[step.kind]
        if step.buffer < 0:
            return f"{who} {verb} an address that is in no buffer. {end}"
        name, n = self.t.buffers[step.buffer].name, self.size(step.buffer)
        if step.fault & OUTSIDE:
            which = f" (0 to {n - 1})" if n else ""
            return f"{who} {verb} {name}[{outer(step)}], but {name} has {counted(n, 'element')}{which}. {end}"
        return f"{who} {verb} {name} at a misaligned address. {end}"

    def _overflow(self, step: Step) -> str:
        """Where a value leaves the numbers: it is infinite or NaN, and what it was made from was not."""
        made_of = [v for r in step.reads for v in r.value]
        if step.was is not None:
            made_of.append(step.was)
        if np.isfinite(step.value).all() or not np.isfinite(made_of).all() or not made_of:
            return ""
        if np.isinf(step.value).any():
            return " It overflows: the result is larger than any number of its type."
        return " That is no number."

    # ---- for the browser

    def data(self, title: str, lead: str, where: str) -> dict[str, Any]:
        t, g = self.t, self.sizes
        head = {
            "title": title, "lead": lead, "caption": self.caption(where), "source": t.source,
            "keep": kept_lines(t), "kernel": t.kernel, "global": g[0], "local": g[1], "groups": g[2],
            "sites": [self.site(i) for i in range(len(t.sites))],
            "buffers": [self.buffer(b) for b in range(len(t.buffers))],
            "does": pack_integers(self.does), "left_out": t.left_out,
        }  # fmt: skip
        room = MAX_TEXT - len(quoted(head))
        groups = np.unique(self.groups).astype("i8")
        chunks: dict[str, dict[str, Any]] = {}
        for group in groups.tolist():
            chunk = self.chunk(group)
            room -= len(quoted(chunk))
            if chunks and room < 0:
                break
            chunks[str(group)] = chunk
        missing = np.diff(groups[len(chunks) :], prepend=0)  # each by how much it is above the one before
        return {**head, "chunks": chunks, "missing": pack_integers(missing)}

    def site(self, i: int) -> dict[str, Any]:
        """A place of the source; `data`: what it assigns is no index, so that it is a step of its own."""
        s = self.t.sites[i]
        data = s.scalar in FLOATS
        return {"kind": s.kind, "start": s.start, "end": s.end, "name": s.name, "text": s.text, "data": data}

    def before(self, b: int) -> np.ndarray | None:
        """What a buffer held before the launch, flat; None where that is not known, or means nothing (an output)."""
        info = self.t.buffers[b]
        if info.role == "out" or info.before is None or info.before.dtype.kind not in "fiub":
            return None
        return info.before.reshape(-1)

    @cached_property
    def written(self) -> set[int]:
        """The buffers that the recorded work-items write."""
        return set(self.c.buffer[(self.c.kind == STORE) | (self.c.kind == ATOMIC)].tolist())

    def buffer(self, b: int) -> dict[str, Any]:
        info = self.t.buffers[b]
        shape = self.shape(b)
        role = info.role or ("scratch" if info.space == "local" else "inout" if b in self.written else "in")
        before = self.before(b)
        contents = None if before is None or before.size > MAX_CELLS else pack_numbers(before)
        known = "" if before is None or contents else "; of so many cells, those that were touched are known"
        return {
            "name": info.name, "space": info.space, "shape": list(shape), "axes": list(info.axes), "role": role,
            "note": f"{by_shape(shape)}, {info.space}{known}", "values": contents, "size": self.size(b),
        }  # fmt: skip

    def chunk(self, group: int) -> dict[str, Any]:
        """The events of one group, work-item after work-item."""
        first, last = np.searchsorted(self.groups, [group, group + 1])
        rows = self.by_group[first:last]
        c = self.c.take(rows)
        sizes = np.array([*self.t.element_sizes, 1])[c.buffer]
        items, counts = np.unique(c.item, return_counts=True)
        return {
            "items": pack_integers(items), "counts": pack_integers(counts), "site": pack_integers(c.site),
            "buffer": pack_integers(np.where(c.buffer < 0, -1, c.buffer)), "index": pack_integers(c.offset // sizes),
            "value": pack_numbers(self.value[rows]), "phase": pack_integers(c.phase), "lane": pack_integers(c.lane),
            "fault": pack_integers(self.faults[rows]),
        }  # fmt: skip

    def loads(self) -> dict[str, int]:
        """How often the launch read and wrote elements of each memory."""
        space = np.array([b.space for b in self.t.buffers] + [""])[self.c.buffer]
        out = {}
        for where in ("global", "local"):
            for name, kinds in (("loads", (LOAD,)), ("stores", (STORE, ATOMIC))):
                out[f"{where} {name}"] = int((np.isin(self.c.kind, kinds) & (space == where)).sum())
        return out

    def caption(self, where: str) -> str:
        """Where the data came from. `where` names the device, or is empty: committed texts name none."""
        t, (g, l, n) = self.t, self.sizes
        groups = int(np.prod(n))
        size = f"{work_items(g)} in {counted(groups, 'group')} of {by_shape(l)}"
        on = f" on {where}" if where else ""
        file = t.file.strip("<>") or "your kernel"
        text = f"Recorded{on}: one launch of {t.kernel} ({file}), {size}, {counted(len(t.columns), 'event')}."
        if t.left_out:
            text += f" {counted(t.left_out, 'work-item')} {'was' if t.left_out == 1 else 'were'} not recorded."
        if t.lost:
            text += f" {counted(t.lost, 'more event')} found no room."
        return text
