"""Two pictures of a training run: how it went, and what the network still gets wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from .smoothing import smooth
from .still import INK, LINE, MUTED, PAPER


def curve(steps: Sequence[tuple[float, float]], accuracy: Sequence[float], title: str) -> Figure:
    """Loss and test accuracy over the epochs.

    steps: (epochs gone by, training loss of one batch) pairs; accuracy: test accuracy after each epoch, 0 to 1.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained", facecolor=PAPER)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2)
    epochs = max(len(accuracy), 1)

    when, loss = np.array(steps, dtype=float).reshape(-1, 2).T
    left.plot(when, loss, ".", markersize=3, color=LINE)
    left.plot(when, smooth(loss, max(5, len(loss) // 30)), color=INK, linewidth=1.6)
    left.set_title("training loss: a dot for a batch, and their running mean", **_heading())
    if loss.size and loss.min() > 0:
        left.set_yscale("log")
        left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        left.yaxis.set_major_formatter("{x:g}")  # 0.1, not a power of ten
        left.yaxis.set_minor_formatter("")

    at = np.arange(1, len(accuracy) + 1)
    percent = 100 * np.asarray(accuracy, dtype=float)
    right.plot(at, percent, "o-", color=INK, linewidth=1.6, markersize=5)
    for x, y in zip(at, percent, strict=True):
        if epochs <= 12 or x in (1, epochs):
            note = f"{y:.2f} %"
            halo = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.5}
            right.annotate(note, (x, y), (5, -13), textcoords="offset points", fontsize=8, color=INK, bbox=halo)
    right.set_title("accuracy on the test digits, %", **_heading())
    right.margins(y=0.2)
    right.set_xlim(0.5, epochs + 0.9)

    left.set_xlabel("epochs gone by (one is once through the training digits)", fontsize=9, color=MUTED)
    right.set_xlabel("after epoch", fontsize=9, color=MUTED)
    for axes in (left, right):
        axes.tick_params(labelsize=8, colors=MUTED)
        axes.grid(color=LINE, linewidth=0.5, alpha=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(LINE)
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    left.set_xlim(0, epochs)
    return figure


def gallery(images: np.ndarray, labels: np.ndarray, probabilities: np.ndarray, limit: int = 60) -> Figure:
    """The digits that the network gets wrong, those it was surest of first.

    images: (N, H, W); labels: (N,); probabilities: (N, 10), what the network gives each digit.
    """
    said = probabilities.argmax(axis=1)
    wrong = np.flatnonzero(said != labels)
    wrong = wrong[np.argsort(-probabilities[wrong, said[wrong]], kind="stable")]
    shown = wrong[:limit]
    title = f"{len(wrong):,} of {len(labels):,} test digits are wrong"
    if len(shown) < len(wrong):
        title += f"; here are the {len(shown)} that the network was surest of"

    columns, width, height = 10, 1.2, 1.65  # of a cell, where an image is 1 x 1
    rows = -(-len(shown) // columns)
    inches = 9 / (columns * width)
    figure = Figure(figsize=(9, 0.7 + rows * height * inches), facecolor=PAPER)
    top = figure.get_figheight()
    figure.text(0.015, 1 - 0.22 / top, title, va="center", fontsize=11, fontweight="bold", color=INK)
    legend = "what it is → what the network said, and how sure it was" if len(shown) else ""
    figure.text(0.015, 1 - 0.47 / top, legend, va="center", fontsize=9, color=MUTED)
    axes = figure.add_axes((0, 0, 1, 1 - 0.65 / top))
    axes.set_axis_off()
    for place, i in enumerate(shown):
        x, y = place % columns * width, -(place // columns) * height
        axes.imshow(images[i], cmap="gray_r", vmin=0, vmax=255, extent=(x, x + 1, y, y + 1))
        axes.text(x + 0.5, y + 1.06, f"{labels[i]} → {said[i]}", ha="center", va="bottom", fontsize=10, color=INK)
        sure = f"{100 * probabilities[i, said[i]]:.0f} %"
        axes.text(x + 0.5, y - 0.04, sure, ha="center", va="top", fontsize=8, color=MUTED)
    axes.set_xlim(-0.1, columns * width - 0.1)
    axes.set_ylim(1.35 - max(rows, 1) * height, 1.35)
    return figure


def _heading() -> dict[str, object]:
    return {"loc": "left", "fontsize": 9, "color": MUTED}
