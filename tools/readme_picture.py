"""Draw docs/_static/digit.png: a digit on its way through the trained network, and a kernel that took it there.

    python tools/readme_picture.py

Every number in the picture was computed by gpugrad's kernels, the convolutions by the kernel whose text it shows.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gpugrad as gg
from gpugrad.models import course_cnn
from gpugrad.viz.plots import INK, LINE, MUTED, PAPER

ROOT = Path(__file__).resolve().parent.parent
KERNEL = "conv2d_direct"
MONO = ["DejaVu Sans Mono"]


def stages(image):
    """The digit after each layer, and the kernels that were launched on the way."""
    launched = []
    watch = gg.on_launch(lambda launch: launched.append(launch.kernel))
    x, after = gg.tensor(image[None]), []
    with gg.no_grad(), gg.use_kernels(conv2d="direct"):
        for layer in course_cnn(pretrained=True):
            x = layer(x)
            after.append(x.numpy()[0])
    watch.remove()
    return after, launched


def kernel_text(launched):
    """The text of the kernel that computed the convolutions, as it stands in its file."""
    (source,) = {kernel.source for kernel in launched if kernel.name == KERNEL}
    start = source.index(f"__kernel void {KERNEL}(")
    return source[start : source.index("\n}\n", start) + 2]


def show(axes, image, x, y, size):
    axes.imshow(image, cmap="gray_r", vmin=0, extent=(x, x + size, y, y + size), interpolation="nearest")


def maps(axes, values, x, columns, size=0.63, gap=0.06):
    """Feature maps in a grid whose upper left corner is (x, 2.7), each scaled to its own maximum."""
    for i, value in enumerate(values):
        show(axes, value, x + i % columns * (size + gap), 2.7 - size - i // columns * (size + gap), size)


def heading(axes, x, title, note):
    axes.text(x, 3.22, title, fontsize=11, fontweight="bold", color=INK, va="bottom")
    axes.text(x, 2.92, note, fontsize=9, color=MUTED, va="bottom")


def arrow(axes, x):
    axes.annotate("", (x + 0.45, 1.35), (x, 1.35), arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.5})


def bars(axes, x, probabilities):
    for digit, p in enumerate(probabilities):
        y = 2.57 - 0.27 * digit
        color = INK if p == probabilities.max() else LINE
        axes.barh(y, max(2.0 * p, 0.02), 0.18, x + 0.25, color=color)
        axes.text(x, y, str(digit), va="center", fontsize=9, color=INK)
        if p >= 0.005:
            axes.text(x + 0.33 + 2.0 * p, y, f"{100 * p:.0f} %", va="center", fontsize=9, color=MUTED)


def draw(image, label):
    after, launched = stages(image)
    probabilities = np.exp(after[-1] - after[-1].max())
    probabilities /= probabilities.sum()
    width, height, unit = 11.0, 6.2, 10.64 / 16.4
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    axes = figure.add_axes((0.18 / width, 1 - (0.1 + 3.7 * unit) / height, 10.64 / width, 3.7 * unit / height))
    axes.set_axis_off()
    heading(axes, 0, f"a {label}", "28 x 28 pixels")
    show(axes, image[0], 0, 0.15, 2.4)
    arrow(axes, 2.55)
    heading(axes, 3.2, "convolution, ReLU", "16 maps of 28 x 28")
    maps(axes, after[1], 3.2, columns=4)
    arrow(axes, 6.1)
    heading(axes, 6.75, "max-pool, convolution, ReLU", "32 maps of 14 x 14")
    maps(axes, after[4], 6.75, columns=8)
    arrow(axes, 12.4)
    heading(axes, 13.05, "max-pool, two products", "the probability of each digit")
    bars(axes, 13.05, probabilities)
    axes.set_xlim(0, 16.4)
    axes.set_ylim(-0.15, 3.55)

    box = figure.add_axes((0.18 / width, 0.15 / height, 10.64 / width, 3.45 / height), facecolor="#f4f5f6")
    box.set_xticks([])
    box.set_yticks([])
    box.spines[:].set_visible(False)
    text = {"transform": box.transAxes, "va": "top", "color": INK}
    box.text(0.015, 0.965, kernel_text(launched), fontsize=8.6, family=MONO, linespacing=1.25, **text)
    box.text(0.6, 0.955, "The kernel you read is the kernel that runs.", fontsize=11, fontweight="bold", **text)
    words = (
        f"{KERNEL}, in kernels/conv.cl, computed every\nmap above: one work-item for each element.\n\n"
        "Faster ones follow, rung by rung, up to the one\nthat training uses."
    )
    box.text(0.6, 0.83, words, fontsize=11, linespacing=1.4, **text)
    return figure


def main():
    images, labels = gg.data.mnist(train=False, source="subset")[:50]
    chosen = int(np.flatnonzero(labels == 2)[0])
    path = ROOT / "docs" / "_static" / "digit.png"
    draw(images[chosen], labels[chosen]).savefig(path, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
