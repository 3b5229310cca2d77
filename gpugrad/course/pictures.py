"""Still pictures for lessons, drawn from recorded launches; and the curves of what a lesson measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..trace.session import one_launch
from ..viz.still import INK, LINE, MUTED, PAPER

if TYPE_CHECKING:
    from ..trace import LaunchTrace

TINT, WRITTEN = "#e3ecf7", "#f6d9b8"  # every second group; written in this phase
MOST = 256  # cells in a picture


def writers(launch: LaunchTrace, buffer: str) -> None:
    """Draw a buffer of one or two axes: in each cell its value, and below it the work-item that wrote it last.

    Cells of different work-groups differ in tint, and a thick line parts them.
    """
    launch = one_launch("writers", launch)
    values = _contents(launch, buffer, "writers")
    stores = launch.select(buffer=buffer)
    stores = stores[(stores["kind"] != "load") & (stores["fault"] == "")]
    item, group = np.full(values.size, -1), np.full(values.size, -1)
    item[stores["index"]], group[stores["index"]] = stores["work_item"], stores["group"]
    labels = [str(i) if i >= 0 else "nobody" for i in item]
    _grid(values, f"{buffer}, and the work-item that wrote each element", labels, group)


def readers(launch: LaunchTrace, buffer: str) -> None:
    """Draw a buffer of one or two axes: in each cell its value, and below it how often the launch reads it."""
    launch = one_launch("readers", launch)
    values = _contents(launch, buffer, "readers")
    reads = launch.select(buffer=buffer, kind="load")
    times = np.bincount(reads["index"][reads["fault"] == ""], minlength=values.size)
    labels, one = [f"{n} ×" for n in times], np.zeros(values.size, int)
    _grid(values, f"{buffer}, and how often each element is read", labels, one)


def phases(launch: LaunchTrace, buffer: str, group: int = 0) -> None:
    """Draw what local memory holds after each phase, one row for each: what is written in it is coloured.

    A phase is what lies between two barriers. Cells that nobody has written yet are empty.
    """
    import matplotlib.pyplot as plt

    launch = one_launch("phases", launch)
    info = launch.buffer(buffer)
    groups = int(np.prod(launch.global_size) // np.prod(launch.local_size))
    if group not in range(groups):
        raise ValueError(f"phases: group is {group!r}; the groups of this launch are 0 to {groups - 1}")
    size = int(np.prod(info.shape))
    c, b = launch.columns, launch.buffers.index(info)
    mine = (c.buffer == b) & (c.group == group)
    stores = launch.events["kind"] == "store"
    shown = sorted({int(p) for p in c.phase[mine & stores]})
    if size * len(shown) > MOST:
        raise ValueError(f"phases: {buffer} has {size} cells and {len(shown)} phases; this picture takes {MOST} in all")
    _, axes = plt.subplots(figsize=(min(9, 0.62 * size + 1.2), 0.5 * len(shown) + 0.5), layout="constrained")
    _heading(axes, f"{buffer} in local memory, phase after phase")
    written_before = np.zeros(size, bool)
    for row, phase in enumerate(shown):
        now = np.zeros(size, bool)
        now[launch.events["index"][mine & stores & (c.phase == phase)]] = True
        last = int(np.flatnonzero((c.group == group) & (c.phase == phase))[-1]) + 1
        values = launch.replay(buffer, last, group).reshape(-1)
        written_before |= now
        axes.text(-0.25, 0.5 - row, f"phase {phase}", ha="right", va="center", fontsize=9, color=MUTED)
        for i in range(size):
            colour = WRITTEN if now[i] else PAPER
            axes.add_patch(plt.Rectangle((i, -row), 1, 1, facecolor=colour, edgecolor=LINE))
            if written_before[i]:
                weight = "bold" if now[i] else "normal"
                text = f"{values[i]:.4g}"
                axes.text(i + 0.5, 0.5 - row, text, ha="center", va="center", fontsize=11, color=INK, weight=weight)
    axes.set(xlim=(-1.6, size + 0.05), ylim=(0.95 - len(shown), 1.05))
    axes.set_axis_off()
    plt.show()


def curves(lines: dict[str, tuple[Any, Any]], x: str, y: str, title: str) -> None:
    """Measured curves on logarithmic axes: name -> (x values, y values)."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    _heading(axes, title)
    for (name, (xs, ys)), style in zip(lines.items(), ("o-", "s--", "^:", "d-.", "v-")):
        axes.loglog(xs, ys, style, color=INK, label=name, markersize=5, linewidth=1.4)
    axes.set_xlabel(x, fontsize=9, color=MUTED)
    axes.set_ylabel(y, fontsize=9, color=MUTED)
    axes.tick_params(which="both", labelsize=8, colors=MUTED)
    axes.grid(color=LINE, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False)
    plt.show()


def _contents(launch: LaunchTrace, buffer: str, picture: str) -> np.ndarray:
    """The buffer's contents; axes of one element are left out, as those of one image with one channel."""
    info = launch.buffer(buffer)
    values = None if info.after is None else np.atleast_1d(info.after.squeeze())
    if values is None or values.ndim > 2 or not 1 <= values.size <= MOST:
        raise ValueError(f"{picture}: {buffer} is {info.shape}; this picture takes one or two axes and {MOST} elements")
    return values


def _grid(values: np.ndarray, title: str, labels: list[str], group: np.ndarray) -> None:
    """Cells with a value and a label; `group` (-1: none) says what belongs together."""
    import matplotlib.pyplot as plt

    values = np.atleast_2d(values)
    rows, columns = values.shape
    group = group.reshape(values.shape)
    _, axes = plt.subplots(figsize=(min(9, 0.62 * columns + 0.4), 0.62 * rows + 0.55), layout="constrained")
    _heading(axes, title)
    for n, ((r, c), value) in enumerate(np.ndenumerate(values)):
        colour = TINT if group[r, c] % 2 == 1 and group[r, c] > 0 else PAPER
        axes.add_patch(plt.Rectangle((c, -r), 1, 1, facecolor=colour, edgecolor=LINE))
        text = f"{value:.4g}"
        size = 11 if len(text) <= 6 else 9
        axes.text(c + 0.5, 0.6 - r, text, ha="center", va="center", fontsize=size, color=INK)
        axes.text(c + 0.5, 0.2 - r, labels[n], ha="center", va="center", fontsize=8, color=MUTED)
    _borders(axes, group)
    axes.set(xlim=(-0.05, columns + 0.05), ylim=(0.95 - rows, 1.05), aspect="equal")
    axes.set_axis_off()
    plt.show()


def _borders(axes: Any, group: np.ndarray) -> None:
    """A thick line wherever two neighbouring cells belong to different groups, and around all."""
    rows, columns = group.shape
    for r in range(rows):
        for c in range(columns):
            if c + 1 == columns or group[r, c] != group[r, c + 1]:
                axes.plot([c + 1, c + 1], [-r, 1 - r], color=INK, linewidth=1.8)
            if r + 1 == rows or group[r, c] != group[r + 1, c]:
                axes.plot([c, c + 1], [-r, -r], color=INK, linewidth=1.8)
    axes.plot([0, 0, columns], [1 - rows, 1, 1], color=INK, linewidth=1.8)


def _heading(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, color=INK)
