"""Exercises of lesson 07: how often a pixel is seen, gather and scatter, the gradient of the weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up, whole
from ..python_exercise import NO_RETURN, PythonExercise
from ..spec import Lesson, Prediction
from .lesson05_im2col import Pair, columns


def _seen(size: int, kernel: int, stride: int, padding: int) -> np.ndarray:
    """How many windows see each pixel, by the kernels of the package."""
    import gpugrad as gg
    from gpugrad.kernels import col2im, im2col

    col = im2col(gg.ones(1, 1, size, size).array, kernel, stride=stride, padding=padding)
    return col2im(col, size, kernel, stride=stride, padding=padding).numpy()[0, 0]


def _three_pixels() -> list[int]:
    seen = _seen(5, 3, 1, 1)
    return [int(seen[0, 0]), int(seen[0, 2]), int(seen[2, 2])]


def _strides() -> list[int]:
    return [int(_seen(4, 2, 2, 0)[1, 1]), int(_seen(5, 3, 2, 0)[2, 2])]


def added_back(col: np.ndarray, C: int, size: Pair, K: Pair, S: Pair, P: Pair, D: Pair) -> np.ndarray:
    """col2im as the transpose of im2col: each element goes to the pixel whose number im2col puts in its place."""
    H, W = size
    numbers = np.arange(1, C * H * W + 1, dtype="f4").reshape(1, C, H, W)
    where = columns(numbers, K, S, P, D).astype(int)[0]  # 0: padding
    x = np.zeros((len(col), C * H * W + 1))
    for image, to in zip(col, x):
        np.add.at(to, where, image)
    return x[:, 1:].reshape(len(col), C, H, W).astype("f4")


def _gathered(rng: np.random.Generator) -> Iterator[Case]:
    for W, K in ((7, 3), (4, 1), (3, 3), (50, 4)):
        OW = W - K + 1
        col = whole(rng, K, OW)
        x = added_back(col[None], 1, (1, W), (1, K), (1, 1), (0, 0), (1, 1)).reshape(W)
        yield Case(f"with {W} pixels, window {K}", (col, Out(x), W, K, OW), (rounded_up(W, 8),), (8,))


def _scattered(rng: np.random.Generator) -> Iterator[Case]:
    for W, K in ((7, 3), (4, 1), (3, 3), (50, 4)):
        OW = W - K + 1
        col = whole(rng, K, OW)
        x = added_back(col[None], 1, (1, W), (1, K), (1, 1), (0, 0), (1, 1)).reshape(W)
        out = Out(x, before=np.zeros(W, "f4"))
        yield Case(f"with {W} pixels, window {K}", (col, out, OW), (rounded_up(OW, 8), K), (8, 1))


def _everything(rng: np.random.Generator) -> Iterator[Case]:
    for shape, K, S, P, D in (
        ((2, 3, 5, 7), (3, 2), (2, 1), (1, 0), (1, 2)),
        ((1, 1, 4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
        ((1, 2, 9, 6), (1, 3), (3, 2), (0, 2), (1, 1)),
        ((3, 4, 6, 5), (2, 2), (1, 2), (2, 1), (3, 1)),  # several images, and C is not KH
    ):
        N, C, H, W = shape
        OH, OW = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((H, W), K, S, P, D))
        col = whole(rng, N, C * K[0] * K[1], OH * OW)
        args = (col, Out(added_back(col, C, (H, W), K, S, P, D)), C, H, W, *K, *S, *P, *D, OH, OW)
        about = f"with x {shape}, window {K}, stride {S}, padding {P}, dilation {D}"
        yield Case(about, args, (rounded_up(H * W, 64), C, N), (64, 1, 1))


def _weight_gradient(f: Any) -> str:
    rng = np.random.default_rng(7)
    for N, CO, K, L in ((2, 3, 4, 5), (1, 1, 2, 3), (3, 2, 6, 6)):
        dy, col = whole(rng, N, CO, L), whole(rng, N, K, L)
        expected = sum(dy[n] @ col[n].T for n in range(N))
        given = f(dy, col)
        if given is None:
            return NO_RETURN
        found = np.asarray(given)
        shapes = f"dy {dy.shape}, col {col.shape}"
        if found.shape != expected.shape:
            return f"for {shapes} the result has shape {found.shape}; the weights, as a matrix, have {expected.shape}."
        if not np.allclose(found, expected):
            r, c = np.argwhere(~np.isclose(found, expected))[0]
            return f"for {shapes} element [{r}, {c}] is {found[r, c]:.7g}, and should be {expected[r, c]:.7g}."
    return ""


LESSON = Lesson(
    "07_col2im",
    "col2im and the gradients of convolution",
    "How does a pixel learn what all the windows that saw it have to say?",
    exercises=(
        Prediction(
            "07.1", "predict", "How many windows see a pixel",
            hints=(
                "With a padding of 1 the window's middle stands on each pixel once.",
                "A pixel in the corner is seen by windows whose middle is on itself or on its 3 neighbours.",
            ),
            truth=_three_pixels,
            why="A corner has 4 pixels in its neighbourhood of 3 x 3, an edge 6, the middle 9.",
            misconceptions=(
                ([1, 3, 9], "That is without padding, where the window never leaves the image."),
                ([9, 9, 9], "Windows beyond the edge do not exist: the corner has fewer neighbours."),
                ([3, 5, 8], "Count the pixel itself, too."),
            ),
        ),
        Prediction(
            "07.2", "predict", "Overlap",
            hints=(
                "With a stride as large as the window, windows lie side by side.",
                "A window of 3 with a stride of 2 starts at 0 and at 2 along each axis. Which of them see pixel 2?",
            ),
            truth=_strides,
            why="Side by side, nothing is added twice. Where windows overlap along both axes, 2 * 2 of them meet.",
            misconceptions=(
                ([4, 9], "That is with stride 1, where every position has a window."),
                ([1, 2], "They overlap along both axes: 2 rows of windows times 2 columns."),
                ([1, 1], "With a window of 3 and a stride of 2, neighbours share a row or a column."),
            ),
        ),
        KernelExercise(
            "07.3", "fill in", "Which window has me there?",
            hints=(
                "Going forth, window ow has pixel w = ow + kw at its place kw.",
                "You know w and kw. Solve for ow.",
            ),
            kernel="gather", cases=_gathered,
            done="A gather asks im2col's question backwards.",
        ),
        KernelExercise(
            "07.4", "find the bug", "Everybody adds",
            hints=(
                "x[...] += ... reads, adds and writes: two work-items may read the same old value.",
                "The function above the kernel adds in one step that nobody gets in between.",
                "atomic_add_float(&x[ow + kw], col[kw * OW + ow]); where & gives the address of an element.",
            ),
            kernel="scatter", cases=_scattered,
            done="Safe, but the order of the additions is up to the device: with fractions, the last digits vary.",
        ),
        KernelExercise(
            "07.5", "write a kernel", "All of col2im",
            hints=(
                "For each kh and kw: top = h + PH - kh * DH must be oh * SH for an oh from 0 to OH - 1. Likewise left.",
                "So: top >= 0, top % SH == 0 and top / SH < OH.",
                "k = (c * KH + kh) * KW + kw, and col lies at ((n * C * KH * KW + k) * OH + oh) * OW + ow.",
            ),
            kernel="my_col2im", cases=_everything,
            done="It has the signature of the package's first rung: in lesson 14 your network learns through it.",
        ),
        PythonExercise(
            "07.6", "write Python", "The gradient of the weights",
            hints=(
                "y = weight @ col for each image. What multiplies weight[co, k]? col[k, l], for all l.",
                "For one image: dy @ col.T. The weights are the same for all images, so add these up.",
                "return sum(dy[n] @ col[n].T for n in range(len(dy)))",
            ),
            function="weight_gradient", complaint=_weight_gradient,
            done="One matrix product for each image, summed up: the package does the same.",
        ),
    ),
)  # fmt: skip
