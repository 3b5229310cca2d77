"""A data race as a card: two work-items, one cell, and nothing between them that says who comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from ..kernels.checks import integer
from ..trace.events import ATOMIC, STORE
from ..trace.launch import LaunchTrace
from ..trace.races import wrong_fence
from ..trace.report import Report
from ..trace.session import one_launch
from .figure import Figure
from .lines import kept_lines
from .page import script
from .race_pairs import RacePairs
from .steps import Steps
from .still import Picture, still
from .words import bracket, by_shape, num, numbers, trimmed

LEAD = (
    "Two work-items touch one cell, one of them writes, and nothing says who comes first. It can go well a thousand "
    "times, and give other numbers on another device."
)
KIND = {STORE: "store", ATOMIC: "atomic"}
VERB = {"load": "reads", "store": "writes", "atomic": "updates"}
SIGN = {"load": "r", "store": "w", "atomic": "a"}
MOST = 20  # races that are drawn: a kernel that has many more makes one mistake in many places


class Race(Figure):
    """`race` numbers the report's data races, `pair` says which pair is drawn: "harm" (of this run) or "lowest"."""

    _esm = script("links.js", "race.js")
    race = traitlets.Int(0, min=0).tag(sync=True)
    pair = traitlets.Enum(("harm", "lowest"), "harm").tag(sync=True)
    position = ("race", "pair")

    def __init__(self, report: Report) -> None:
        self.report, self.launch = report, report.launch
        self.steps = Steps(self.launch, "race")
        found = [f for f in report if f.kind == "data race" and len(f.events) == 2]
        self.found = len(found)
        self.races = [RacePairs(self.steps, f) for f in found[:MOST]]
        if not self.races:
            raise ValueError(f"race: the report on {self.launch.kernel} holds no data race; it says: {report}")
        file = self.launch.file.strip("<>") or "your kernel"
        events = f"{len(self.launch.columns):,} events"
        super().__init__(data={
            "title": "Data race", "lead": LEAD, "kernel": self.launch.kernel, "source": self.launch.source,
            "keep": kept_lines(self.launch), "races": [self._race(r) for r in self.races],
            "caption": f"Recorded on {self.launch.device}: one launch of {self.launch.kernel} ({file}), {events}. "
            "The pair that did harm is that of this run; reports name the lowest-numbered one.",
        })  # fmt: skip

    @traitlets.validate("race")
    def _a_race(self, proposal: Any) -> int:
        k, n = int(proposal["value"]), len(self.races)
        if k >= n:
            raise traitlets.TraitError(f"race: race is {k}; the report has {n} (0 to {n - 1})")
        return k

    def _race(self, r: RacePairs) -> dict[str, Any]:
        harm = r.harmful()
        info, shape = r.info, list(r.info.shape or (1,))
        note = f"{by_shape(shape)}, {info.space}"
        pairs = {"lowest": self._pair(r, *r.lowest)} | ({"harm": self._pair(r, *harm)} if harm else {})
        return {
            "buffer": {"name": info.name, "space": info.space, "shape": shape, "note": note},
            "cells": sorted(r.cells())[:4096], "pairs": pairs, "why": self._why(r), "fix": self._fix(r),
        }  # fmt: skip

    def _pair(self, r: RacePairs, *rows: int) -> dict[str, Any]:
        """Two accesses: who, where in the source, what they held; and the work-items among which they stand."""
        c, (_, l, n) = self.launch.columns, self.steps.sizes
        ends = []
        for row in rows:
            site = self.launch.sites[c.site[row]]
            group, lane = int(c.group[row]), int(c.local_id[row])
            ends.append({
                "who": self.steps.who(int(c.item[row])), "kind": KIND.get(int(c.kind[row]), "load"),
                "value": num(r.values[row]), "line": site.line, "start": site.start, "end": site.end,
                "phase": int(c.phase[row]), "place": group if r.across else lane,
            })  # fmt: skip
        sizes = n if r.across else l
        among = "Groups" if r.across else f"Group {numbers(int(c.group[rows[0]]), n)}"
        cell = int(c.offset[rows[0]]) // r.info.dtype.itemsize
        said = r.harm(*rows)
        return {
            "ends": ends, "among": {"name": among, "shape": list(sizes[::-1]), "note": by_shape(sizes)}, "cell": cell,
            "said": said and f"In this run {said}",
        }  # fmt: skip

    def _why(self, r: RacePairs) -> str:
        c, (a, b) = self.launch.columns, r.lowest
        if r.across:
            return "They are in different groups, which nothing orders within one launch: either can come first."
        either = f"Both are in phase {int(c.phase[a])}, with no barrier between them: either can come first."
        return wrong_fence(self.launch, a, b, r.info.space) or either

    def _fix(self, r: RacePairs) -> str:
        c, (a, b) = self.launch.columns, r.lowest
        if r.across:
            return "Give each cell one owner, or update it atomically; or make two launches of it."
        fence = f"barrier(CLK_{r.info.space.upper()}_MEM_FENCE)"
        first, second = (a, b) if r.first() == a else (b, a)
        one, two = (self.launch.sites[c.site[row]].line for row in (first, second))
        if one == two:
            return f"Read what is needed into private variables, then {fence}, then write."
        again = " comes round again" if two < one else ""
        return f"Let the whole group wait: {fence} after line {one}, before line {two}{again}."

    def head(self) -> str:
        n = len(self.races)
        of_all = f" of {self.found:,}" if self.found > n else ""
        return f"Data races of {self.launch.kernel}: {n}{of_all}" if n > 1 else f"A data race of {self.launch.kernel}"

    def describe(self) -> str:
        """The lowest-numbered pair, without values: those of a race belong to one run."""
        r, data = self.races[self.race], self.data["races"][self.race]
        a, b = data["pairs"]["lowest"]["ends"]
        cell = bracket(r.info.name, data["pairs"]["lowest"]["cell"], data["buffer"]["shape"])
        count = f" {r.finding.count} cells are affected." if r.finding.count > 1 else ""
        which = f"{self.race + 1} of {len(self.races)}: " if len(self.races) > 1 else ""
        who = a["who"] if which else a["who"].capitalize()
        return (
            f"{which}{who} {VERB[a['kind']]} {cell} (line {a['line']}), and {b['who']} {VERB[b['kind']]} it "
            f"(line {b['line']}). {data['why']}{count}"
        )

    def first_frame(self) -> str:
        data = self.data["races"][0]
        pair, buffer = data["pairs"]["lowest"], data["buffer"]
        a, b = pair["ends"]
        marks = {b["place"]: ("②", SIGN[b["kind"]]), a["place"]: ("①", SIGN[a["kind"]])}
        cells = dict.fromkeys(data["cells"], ("•", "")) | {pair["cell"]: ("✕", "x")}
        among = pair["among"]
        pictures = [
            Picture(among["name"], among["note"], among["shape"], lambda i: marks.get(i, ("", ""))),
            Picture(buffer["name"], buffer["note"], buffer["shape"], lambda i: cells.get(i, ("", ""))),
        ]
        size = by_shape(trimmed(np.array(self.launch.local_size).tolist()))
        note = f"Recorded: one launch of {self.launch.kernel}, work-groups of {size}. {data['fix']}"
        return still(self.data["title"], f"{self.head()}. {self.describe()}", pictures, note)


def race(report: Report | LaunchTrace | Any, number: int = 0) -> Race:
    """A data race as a card: the two work-items, their places in the source, the cell, and what would order them.

    report: what `t.launches[i].report()` or `gg.sanitize` gives, or a recorded launch. number: which of its data races
    to open with. The live card shows, of all pairs at these two places, one that did harm in this run; `describe()` and
    what notebooks keep show the lowest-numbered one. Of many races the first 20 are drawn. ValueError where the report
    holds none.
    """
    if not isinstance(report, Report):
        report = one_launch("race", report).report()
    figure = Race(report)
    number, last = integer("race", "number", number, 0), len(figure.races) - 1
    if number > last:
        raise ValueError(f"race: number is {number}; the figure draws the report's data races 0 to {last}")
    figure.race = number
    return figure
