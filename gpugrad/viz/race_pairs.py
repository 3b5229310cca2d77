"""The pairs of accesses that one data race is made of, and those whose values show that it did harm in this run."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import numpy as np

from ..trace.cells import pack, spaces, touches
from ..trace.events import ATOMIC, LOAD, STORE
from ..trace.launch import LaunchTrace
from ..trace.report import Finding
from .steps import Steps
from .words import num

MOST_PAIRS = 50_000  # looked at for harm: a race of many work-items on one cell has millions, all alike


@dataclass
class RacePairs:
    """One data race of a launch: two places of the source whose accesses meet on a cell, with nothing between them.

    `lowest` is the pair that every run and device reports: two rows of the launch's columns, the write first.
    """

    steps: Steps
    finding: Finding

    def __post_init__(self) -> None:
        c = self.launch.columns
        self.lowest = self.finding.events[0], self.finding.events[1]
        a, b = self.lowest
        self.info = self.launch.buffers[int(c.buffer[a])]
        self.across = bool(c.group[a] != c.group[b])
        self.values = self.steps.all_values

    @property
    def launch(self) -> LaunchTrace:
        return self.steps.t

    @cached_property
    def _meetings(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each cell (of one phase of one group, unless groups meet): the rows of one place, and of the other."""
        c = self.launch.columns
        touched = touches(self.launch, spaces(self.launch, self.info.space))
        first, second = (int(c.site[row]) for row in self.lowest)
        touched = touched.take(np.isin(c.site[touched.row], (first, second)))
        row, cell = touched.row, (touched.memory, touched.cell)
        phase = c.local_phase if self.info.space == "local" else c.global_phase
        key = pack(*cell) if self.across else pack(*cell, c.group[row], phase[row])
        order = np.argsort(key, kind="stable")
        row, key = row[order], key[order]
        parts = np.split(row, np.flatnonzero(np.diff(key)) + 1)
        both = ((part[c.site[part] == first], part[c.site[part] == second]) for part in parts)
        party = c.group if self.across else c.item
        return [(a, b) for a, b in both if len(a) and len(b) and len(np.unique(party[np.r_[a, b]])) > 1]

    def cells(self) -> set[int]:
        """The elements that are affected, flat."""
        c, size = self.launch.columns, self.info.dtype.itemsize
        return {int(c.offset[a[0]]) // size for a, _ in self._meetings}

    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of two parties that conflict, as rows."""
        c = self.launch.columns
        party = c.group if self.across else c.item
        for one, other in self._meetings:
            for a, b in product(one.tolist(), other.tolist()):
                kinds = {int(c.kind[a]), int(c.kind[b])}
                if party[a] != party[b] and kinds not in ({LOAD}, {ATOMIC}):
                    yield a, b

    def harmful(self) -> tuple[int, int] | None:
        """A pair whose values show that it did harm in this run, if there is one."""
        return next((pair for pair in islice(self.pairs(), MOST_PAIRS) if self.harm(*pair)), None)

    def harm(self, a: int, b: int) -> str:
        """What the values of this run show of two accesses, in words; "" where they show nothing wrong.

        If all work-items kept step, one of the two would come first: a value that contradicts this came too early or
        too late.
        """
        c, who = self.launch.columns, self.steps.who
        kinds = int(c.kind[a]), int(c.kind[b])
        x, y = num(self.values[a]), num(self.values[b])
        if kinds == (STORE, STORE) and c.bits[a] != c.bits[b]:
            return f"{who(int(c.item[a]))} writes {x} and {who(int(c.item[b]))} writes {y}: only one of them can stay."
        if set(kinds) != {LOAD, STORE}:
            return ""
        load, store = (a, b) if kinds[0] == LOAD else (b, a)
        got, put = num(self.values[load]), num(self.values[store])
        same = c.bits[load] == c.bits[store]
        reader, writer = who(int(c.item[load])), who(int(c.item[store]))
        if self._writes_first(store, load):
            return "" if same else f"{reader} read {got}, and not the {put} of {writer}: it came too early."
        if not same or self._held(load) in (None, self.values[load]):
            return ""
        return f"{reader} read {got}, which {writer} had just written over {num(self._held(load))}: it came too late."

    def first(self) -> int:
        """The access of the lowest-numbered pair that would come first, if all kept step."""
        a, b = self.lowest
        kinds = int(self.launch.columns.kind[a]), int(self.launch.columns.kind[b])
        return b if kinds[1] == LOAD and not self._writes_first(a, b) else a

    def _writes_first(self, store: int, load: int) -> bool:
        """Which would come first, if all kept step: a reader that has passed the writing place as often, reads after.

        Where it does not pass that place at all in this phase, the writer's passes of the reading place are counted.
        """
        c = self.launch.columns
        if c.phase[store] != c.phase[load]:
            return bool(c.phase[store] < c.phase[load])

        reached, ever = self._passed(load, int(c.site[store]))
        if ever:
            return self._passed(store, int(c.site[store]))[0] < reached
        reached, ever = self._passed(store, int(c.site[load]))
        if ever:
            return self._passed(load, int(c.site[load]))[0] >= reached
        sites = self.launch.sites
        return sites[c.site[store]].start < sites[c.site[load]].start

    @cached_property
    def _passes(self) -> dict[tuple[int, int, int], list[int]]:
        """When each work-item passes each of the two places in each phase: by its own order."""
        c, found = self.launch.columns, defaultdict(list)
        rows = np.flatnonzero(np.isin(c.site, [c.site[row] for row in self.lowest]))
        for key, seq in zip(
            zip(c.item[rows].tolist(), c.phase[rows].tolist(), c.site[rows].tolist(), strict=True),
            c.seq[rows].tolist(),
            strict=True,
        ):
            found[key].append(seq)  # the columns are in each work-item's own order
        return dict(found)

    def _passed(self, row: int, site: int) -> tuple[int, int]:
        """How often the work-item of a row passes a place in its phase: before the row, and in all."""
        c = self.launch.columns
        mine = self._passes.get((int(c.item[row]), int(c.phase[row]), site), [])
        return bisect_left(mine, int(c.seq[row])), len(mine)

    @cached_property
    def _stored(self) -> dict[tuple[int, int], list[int]]:
        """The rows of the stores to each element of the buffer, by group and offset, in the order of phases."""
        c, found = self.launch.columns, defaultdict(list)
        rows = np.flatnonzero((c.buffer == c.buffer[self.lowest[0]]) & (c.kind == STORE))
        for row, group, offset in zip(rows.tolist(), c.group[rows].tolist(), c.offset[rows].tolist(), strict=True):
            found[group, offset].append(row)
        return dict(found)

    def _held(self, load: int) -> float | None:
        """What a cell held when the phase of a load began, as far as the trace tells."""
        c = self.launch.columns
        stores = self._stored.get((int(c.group[load]), int(c.offset[load])), [])
        before = [row for row in stores if c.phase[row] < c.phase[load]]
        if before:
            return float(self.values[before[-1]])
        contents = self.info.before
        if contents is None or contents.dtype.kind not in "fiub":
            return None
        return float(contents.reshape(-1)[int(c.offset[load]) // self.info.dtype.itemsize])
