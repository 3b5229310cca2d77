"""Still pictures for lessons, drawn from recorded launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..trace import LaunchTrace

INK, MUTED, LINE = "#1d2024", "#5f656d", "#cbd0d6"
TINTS = ("#ffffff", "#e3ecf7")  # of neighbouring groups


def writers(launch: LaunchTrace, buffer: str) -> None:
    """Draw a buffer of one or two axes: in each cell its value, and the work-item that wrote it last.

    Cells of different work-groups differ in tint, and a thick line parts them.
    """
    import matplotlib.pyplot as plt

    info = launch.buffer(buffer)
    if len(info.shape) > 2 or info.after is None or info.after.size > 256:
        raise ValueError(f"writers: {buffer} is {info.shape}; this picture takes one or two axes and 256 elements")
    item, group = _last_writers(launch, buffer)
    values = np.atleast_2d(info.after)
    rows, columns = values.shape
    _, axes = plt.subplots(figsize=(min(9, 0.62 * columns + 0.4), 0.62 * rows + 0.55), layout="constrained")
    _heading(axes, f"{buffer}, and the work-item that wrote each element")
    for (r, c), value in np.ndenumerate(values):
        who, which = item.reshape(values.shape)[r, c], group.reshape(values.shape)[r, c]
        axes.add_patch(plt.Rectangle((c, -r), 1, 1, facecolor=TINTS[which % 2] if who >= 0 else "none", edgecolor=LINE))
        axes.text(c + 0.5, 0.6 - r, f"{value:.4g}", ha="center", va="center", fontsize=11, color=INK)
        label = str(who) if who >= 0 else "nobody"
        axes.text(c + 0.5, 0.2 - r, label, ha="center", va="center", fontsize=8, color=MUTED)
    _borders(axes, group.reshape(values.shape))
    axes.set(xlim=(-0.05, columns + 0.05), ylim=(0.95 - rows, 1.05), aspect="equal")
    axes.set_axis_off()
    plt.show()


def _last_writers(launch: LaunchTrace, buffer: str) -> tuple[np.ndarray, np.ndarray]:
    """For each element the work-item that wrote it last, and its group; -1 where nobody did."""
    stores = launch.select(buffer=buffer)
    stores = stores[(stores["kind"] != "load") & (stores["fault"] == "")]
    item = np.full(launch.buffer(buffer).shape, -1).reshape(-1)
    group = item.copy()
    item[stores["index"]], group[stores["index"]] = stores["work_item"], stores["group"]
    return item, group


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


def curves(lines: dict[str, tuple[Any, Any]], x: str, y: str, title: str) -> None:
    """Measured curves on logarithmic axes: name -> (x values, y values)."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    _heading(axes, title)
    for (name, (xs, ys)), style in zip(lines.items(), ("o-", "s--", "^:", "d-.", "v-")):
        axes.loglog(xs, ys, style, color=INK, label=name, markersize=5, linewidth=1.4)
    axes.set_xlabel(x, fontsize=9, color=MUTED)
    axes.set_ylabel(y, fontsize=9, color=MUTED)
    axes.tick_params(labelsize=8, colors=MUTED)
    axes.grid(color=LINE, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, frameon=False)
    plt.show()


def _heading(axes: Any, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, color=INK)
