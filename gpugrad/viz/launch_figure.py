"""The stepper: any recorded launch, one step of one work-item after another."""

from __future__ import annotations

from typing import Any

import traitlets

from ..trace.launch import LaunchTrace
from ..trace.report import Report
from ..trace.session import Trace, one_launch
from .figure import Figure
from .page import script
from .steps import Steps
from .still import Picture, fit, shape_note, still
from .words import by_shape, counted, num, work_items

SIGN = {"load": "r", "store": "w", "atomic": "a"}


class LaunchView(Figure):
    """A recorded launch, step by step. `work_item` (a flat number) and `step` say where one is."""

    _esm = script(
        "tree.js", "recording.js", "step_words.js", "step_marks.js", "step_grids.js", "step_layout.js", "stepper.js"
    )
    work_item = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)
    position = ("work_item", "step")
    launch: LaunchTrace
    steps: Steps

    def record(self, launch: LaunchTrace, title: str, lead: str, **extra: Any) -> dict[str, Any]:
        """Make this launch the one that is shown -> its data."""
        self.launch, self.steps = launch, Steps(launch)
        return {**self.steps.data(title, lead, launch.device), **extra}

    def asked_group(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        """The browser asks for the events of a group that it does not have."""
        if content.get("ask") == "group":
            group = int(content["group"])
            self.send({"group": group, "chunk": self.steps.chunk(group)})

    @traitlets.validate("work_item")
    def _in_range(self, proposal: Any) -> int:
        value, items = int(proposal["value"]), self.steps.items
        if not 0 <= value < items:
            raise traitlets.TraitError(f"work_item is {value}; the launch has {items} (0 to {items - 1})")
        return value

    def state(self) -> dict[str, Any]:
        """A page holds the steps of the work-item that was chosen, too."""
        state, group = super().state(), self.steps.group_of(self.work_item)
        chunks = {**state["data"]["chunks"], str(group): self.steps.chunk(group)}
        return {**state, "data": {**state["data"], "chunks": chunks}}

    def name(self) -> str:
        return f"Stepper on {self.launch.kernel}"

    def head(self) -> str:
        g, l, _ = self.steps.sizes
        events = counted(len(self.launch.columns), "event")
        return f"{self.name()}, {work_items(g)} in groups of {by_shape(l)}, {events}"

    def describe(self) -> str:
        steps = self.steps.of(self.work_item)
        if not steps:
            return self.steps.idle(self.work_item)
        n = min(self.step, len(steps) - 1)
        return f"Step {n + 1} of {len(steps)}: {self.steps.sentence(self.work_item, n)}"

    def first_frame(self) -> str:
        s, item = self.steps, self.work_item
        steps = s.of(item)
        touched = {(steps[0].buffer, i): SIGN.get(steps[0].kind, "") for i in steps[0].index} if steps else {}
        pictures = [self._picture(b, touched) for b in range(len(self.launch.buffers))]
        sentence = f"Step 1 of {len(steps)}: {s.sentence(item, 0)}" if steps else s.idle(item)
        return still(self.data["title"], f"{self.head()}. {sentence}", pictures, s.caption(""))

    def _picture(self, b: int, touched: dict[tuple[int, int], str]) -> Picture:
        info, shape, before = self.launch.buffers[b], self.steps.shape(b), self.steps.before(b)

        def cell(i: int) -> tuple[str, str]:
            return num(None if before is None else before[i]), touched.get((b, i), "")

        return Picture(info.name, shape_note(shape, info.space), shape, cell, fit([] if before is None else before))


class LaunchFigure(LaunchView):
    """Any recorded launch."""

    def __init__(self, launch: LaunchTrace, title: str, lead: str) -> None:
        data = self.record(launch, title, lead)
        super().__init__(data=data, work_item=self.steps.first(), step=0)
        self.on_msg(self.asked_group)


def stepper(launch: LaunchTrace | Trace | Report, *, title: str | None = None, lead: str | None = None) -> LaunchFigure:
    """Any recorded launch, a step at a time: the source with the running expression marked, the buffers as grids.

    launch: `t.launches[i]` of `with gg.trace() as t:`, a trace of one launch, or a report on one. Record
    with `watch="*"` to see private variables too. Large arrays are cropped, and events beyond some 50,000 are fetched
    when you choose a work-item of their group. `.work_item` and `.step` hold where you are, `.describe()` says it in
    words, `.save("page.html")` writes a page that works without a kernel. ValueError if the launch holds no events.
    """
    launch = one_launch("stepper", launch)
    for name, text in (("title", title), ("lead", lead)):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"stepper: {name} is {text!r}; give a text")
    file = launch.file if launch.file and not launch.file.startswith("<") else "your own text"
    lead = lead or (
        f"One launch of {launch.kernel}, from {file}, as it was recorded. Choose a work-item and follow what it reads, "
        "computes and writes."
    )
    return LaunchFigure(launch, title or f"{launch.kernel}, step by step", lead)
