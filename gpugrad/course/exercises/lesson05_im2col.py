"""Exercises of lesson 05: sizes and places of windows, and the kernel that copies them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up
from ..spec import Lesson, Prediction

Pair = tuple[int, int]


def _sizes() -> list[int]:
    import gpugrad as gg
    from gpugrad.kernels import im2col

    x = gg.zeros(1, 1, 28, 28).array
    options: tuple[dict[str, Any], ...] = (
        {"kernel_size": 5, "padding": 2},
        {"kernel_size": 5, "stride": 2},
        {"kernel_size": 3, "dilation": 2},
    )
    return [int(np.sqrt(im2col(x, **o).shape[2])) for o in options]


def _place() -> list[int]:
    import gpugrad as gg
    from gpugrad.kernels import im2col

    x = np.arange(16, dtype="f4").reshape(4, 4)
    pixel = im2col(gg.tensor(x[None, None]).array, 3).numpy()[0, 7, 3]
    return [int(i) for i in np.argwhere(x == pixel)[0]]


def _growth() -> int:
    from gpugrad.kernels import im2col_scratch_bytes

    return im2col_scratch_bytes((1, 16, 14, 14), 3, padding=1) // (16 * 14 * 14 * 4)


def columns(x: np.ndarray, K: Pair, S: Pair = (1, 1), P: Pair = (0, 0), D: Pair = (1, 1)) -> np.ndarray:
    """im2col by slices: for each place in the window, the pixels it sees, in all positions of the window."""
    N, C, H, W = x.shape
    OH, OW = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((H, W), K, S, P, D))
    padded = np.pad(x, ((0, 0), (0, 0), (P[0], P[0]), (P[1], P[1])))
    col = np.empty((N, C, *K, OH, OW), x.dtype)
    for kh in range(K[0]):
        for kw in range(K[1]):
            h, w = kh * D[0], kw * D[1]
            col[:, :, kh, kw] = padded[:, :, h : h + S[0] * (OH - 1) + 1 : S[0], w : w + S[1] * (OW - 1) + 1 : S[1]]
    return col.reshape(N, C * K[0] * K[1], OH * OW)


def _plain(rng: np.random.Generator) -> Iterator[Case]:
    for H, W, KH, KW in ((4, 6, 2, 3), (3, 3, 3, 3), (9, 7, 1, 2), (5, 5, 2, 2)):
        x = rng.standard_normal((H, W)).astype("f4")
        col = columns(x[None, None], (KH, KW))[0]
        OH, OW = H - KH + 1, W - KW + 1
        size = (rounded_up(OH * OW, 8), KH * KW)
        yield Case(f"with {H} x {W}, window {KH} x {KW}", (x, Out(col), H, W, KH, KW, OH, OW), size, (8, 1))


def _padded(rng: np.random.Generator) -> Iterator[Case]:
    for H, W, K, P in ((3, 5, 3, 1), (4, 4, 3, 1), (2, 6, 1, 2), (5, 3, 5, 2)):
        x = rng.standard_normal((H, W)).astype("f4")
        col = columns(x[None, None], (K, K), P=(P, P))[0]
        OH, OW = H + 2 * P - K + 1, W + 2 * P - K + 1
        size = (rounded_up(OH * OW, 8), K * K)
        yield Case(f"with {H} x {W}, window {K} x {K}, padding {P}", (x, Out(col), H, W, K, P, OH, OW), size, (8, 1))


def _everything(rng: np.random.Generator) -> Iterator[Case]:
    for shape, K, S, P, D in (
        ((2, 3, 5, 7), (3, 2), (2, 1), (1, 0), (1, 2)),
        ((1, 1, 4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
        ((1, 2, 9, 6), (1, 3), (3, 2), (0, 2), (1, 1)),
        ((3, 4, 6, 5), (2, 2), (1, 2), (2, 1), (3, 1)),  # several images, and C is not KH
    ):
        x = rng.standard_normal(shape).astype("f4")
        col = columns(x, K, S, P, D)
        N, C, H, W = shape
        OH, OW = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((H, W), K, S, P, D))
        args = (x, Out(col), C, H, W, *K, *S, *P, *D, OH, OW)
        about = f"with x {shape}, window {K}, stride {S}, padding {P}, dilation {D}"
        yield Case(about, args, (rounded_up(OH * OW, 64), col.shape[1], N), (64, 1, 1))


LESSON = Lesson(
    "05_im2col",
    "im2col: windows become columns",
    "How does a convolution turn into a matrix product?",
    exercises=(
        Prediction(
            "05.1", "predict", "How many positions",
            hints=(
                "Without stride and dilation, a window of K fits into n + 2P pixels at n + 2P - K + 1 positions.",
                "A stride of 2 takes every second position: divide what is left over by 2, round down, add 1.",
                "With a dilation of 2 a window of 3 reaches over 5 pixels: it sees the first, third and fifth.",
            ),
            truth=_sizes,
            why="(28 + 2P - D(K - 1) - 1) / S + 1, rounded down.",
            misconceptions=(
                ([784, ..., ...], "The question is for one axis; the whole output has as many rows as columns."),
                ([24, ..., ...], "For the first: a padding of 2 adds two pixels on either side, 32 in all."),
                ([26, ..., ...], "For the first: a padding of 2 adds two pixels on either side, not one."),
                ([32, ..., ...], "For the first: 32 is the padded image; a window of 5 cannot begin at its last 4."),
                ([..., 24, ...], "For the second: a stride of 2 takes every second position only."),
                ([..., 14, ...], "For the second: the window must lie within the image; halve what it leaves, 23."),
                ([..., 11, ...], "For the second: (28 - 5) / 2 is 11 and a half: positions 0, 2, up to 22. How many "
                                 "are there?"),
                ([..., ..., 26], "For the third: with a dilation of 2 the window of 3 reaches over 5 pixels, not 3."),
                ([..., ..., 23], "For the third: the window sees the first, third and fifth pixel: it reaches over 5, "
                                 "not 6."),
                ([..., ..., 12], "For the third: a dilation parts the window's pixels; the window still moves by 1."),
            ),
        ),
        Prediction(
            "05.2", "predict", "Where an element comes from",
            hints=(
                "Row 7 of a 3 x 3 window is kh = 7 / 3 and kw = 7 % 3.",
                "The output is 2 x 2 here, so column 3 is oh = 1, ow = 1.",
                "h = oh + kh and w = ow + kw.",
            ),
            truth=_place,
            why="Row 7 is (kh, kw) = (2, 1), column 3 is (oh, ow) = (1, 1), and their sum is the pixel.",
            misconceptions=(
                ([2, 3], "Exchanged: kh goes with the row of the image, kw with its column."),
                ([2, 1], "That is the place within the window; the window itself has moved."),
                ([1, 1], "That is where the window is; add the place within the window."),
                ([1, 3], "Row 7 is not pixel 7: it is a place in the window, row 7 / 3 and column 7 % 3 of it."),
                ([7, 3], "That is the element of col; the question is which pixel of the image was copied there."),
                ([3, 1], "The row is right. The columns of col go through 2 x 2 positions: number 3 is the last one."),
                ([3, ...], "The row is right. The pixel's column is the window's, plus that of the place within it."),
                ([..., 2], "The column is right. The pixel's row is the window's, plus that of the place within it."),
            ),
        ),
        Prediction(
            "05.3", "predict", "What it costs",
            hints=(
                "How many columns are there, compared with pixels?",
                "One column for each pixel here, and each column has 3 x 3 numbers for each channel.",
            ),
            truth=_growth,
            why="A window for each pixel, and 9 numbers of each channel in it: pixels, or zeros over the edge. "
            "How many channels there are makes no difference.",
            misconceptions=(
                (144, "That counts the numbers of a window in all 16 channels; x has 16 channels, too."),
                (1, "The windows overlap, and each of them gets its own copy."),
                (3, "A window is 3 high and 3 wide."),
            ),
        ),
        KernelExercise(
            "05.4", "fill in", "Copy one number",
            hints=(
                "The window stands at row oh and column ow of the image.",
                "Within it you are kh rows further down and kw columns further right.",
                "x[(oh + kh) * W + ow + kw]",
            ),
            kernel="windows", cases=_plain,
            done="Position of the window plus place in the window: that is all of im2col.",
        ),
        KernelExercise(
            "05.5", "find the bug", "Padding with something else",
            hints=(
                "The report names an index past the last pixel. Which h and w give it, and which test is missing?",
                "w may be W. In the last row that is outside x; in every other row it is the next row's first pixel.",
                "There are four edges: h >= 0 && h < H && w >= 0 && w < W",
            ),
            kernel="padded_windows", cases=_padded,
            done="An index within the buffer can still be the wrong one. Only comparing the numbers shows that.",
        ),
        KernelExercise(
            "05.6", "write a kernel", "All of im2col",
            hints=(
                "Take l, k and n apart: oh, ow from l; c, kh, kw from k = (c * KH + kh) * KW + kw.",
                "h = oh * SH - PH + kh * DH, and likewise w; outside the image the value is 0.",
                "x lies at ((n * C + c) * H + h) * W + w, col at (n * C * KH * KW + k) * OH * OW + l.",
            ),
            kernel="my_im2col", cases=_everything,
            done="It has the signature of the package's own first rung: in lesson 14 your network trains on it.",
        ),
    ),
)  # fmt: skip
