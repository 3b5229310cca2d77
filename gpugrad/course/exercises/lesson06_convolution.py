"""Exercises of lesson 06: convolution by its definition, 1 x 1, depthwise, and each pixel read once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up, whole
from ..spec import Lesson, Prediction
from .lesson05_im2col import columns

if TYPE_CHECKING:
    from ...trace import LaunchTrace


def _multiplications() -> int:
    from gpugrad.kernels import im2col_scratch_bytes

    return 32 * im2col_scratch_bytes((1, 16, 14, 14), 5, padding=2) // 4  # each of its numbers, for each channel of y


def _grouped() -> list[int]:
    from gpugrad import nn

    return list(nn.Conv2d(32, 64, 3, groups=32).weight.shape)


def _convolved(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(C, H, W) with (CO, C, KH, KW), without padding, as a matrix product: (CO, OH, OW)."""
    CO, _, KH, KW = weight.shape
    _, H, W = x.shape
    product = weight.reshape(CO, -1) @ columns(x[None], (KH, KW))[0]
    return product.reshape(CO, H - KH + 1, W - KW + 1)


def _direct(rng: np.random.Generator) -> Iterator[Case]:
    for C, H, W, CO, KH, KW in ((2, 4, 6, 3, 2, 3), (1, 3, 3, 1, 3, 3), (3, 9, 7, 2, 1, 2), (2, 5, 5, 2, 2, 2)):
        x, weight = whole(rng, C, H, W, most=5), whole(rng, CO, C, KH, KW, most=5)
        y = _convolved(x, weight)
        OH, OW = y.shape[1:]
        args = (x, weight, Out(y), C, H, W, KH, KW, OH, OW)
        about = f"with {C} channels of {H} x {W}, {CO} windows of {KH} x {KW}"
        yield Case(about, args, (rounded_up(OH * OW, 8), CO), (8, 1))


def _pointwise(rng: np.random.Generator) -> Iterator[Case]:
    for C, CO, L in ((3, 2, 10), (1, 1, 1), (4, 4, 4), (16, 5, 77)):
        x, weight = whole(rng, C, L, most=5), whole(rng, CO, C, most=5)
        about = f"with {C} channels to {CO}, {L} pixels"
        yield Case(about, (x, weight, Out(weight @ x), C, L), (rounded_up(L, 8), CO), (8, 1))


def _flipped(rng: np.random.Generator) -> Iterator[Case]:
    for H, W, K in ((4, 6, 3), (3, 3, 2), (8, 5, 1)):
        x, weight = whole(rng, H, W, most=5), whole(rng, K, K, most=5)
        y = _convolved(x[None], weight[None, None])[0]
        args = (x, weight, Out(y), W, K, *y.shape)
        yield Case(f"with {H} x {W}, window {K} x {K}", args, (rounded_up(y.size, 8),), (8,))


def _four(rng: np.random.Generator) -> Iterator[Case]:
    for C, H, W, K in ((2, 4, 6, 3), (1, 3, 3, 2), (3, 7, 8, 2)):
        x, weight = whole(rng, C, H, W, most=5), whole(rng, 4, C, K, K, most=5)
        y = _convolved(x, weight)
        OH, OW = y.shape[1:]

        def once(launch: "LaunchTrace", least: int = C * K * K * OH * OW) -> str:
            count = loads(launch, "x")
            text = f"right, but it reads x {count} times; {least} are enough: read a pixel once for all four channels."
            return text if count > least else ""

        args = (x, weight, Out(y), C, H, W, K, OH, OW)
        yield Case(f"with {C} channels of {H} x {W}", args, (rounded_up(OH * OW, 8),), (8,), demand=once)


LESSON = Lesson(
    "06_convolution",
    "Convolution: two ways to the same numbers",
    "Why copy an image twenty-five times before multiplying?",
    exercises=(
        Prediction(
            "06.1", "predict", "How many multiplications",
            hints=(
                "How many numbers does the result have? 32 channels of 14 x 14 pixels.",
                "How many products does each of them sum up? One for each weight of a window, in each channel.",
                "32 * 14 * 14 * 16 * 5 * 5",
            ),
            truth=_multiplications,
            why="Each of the 32 * 14 * 14 results is a sum of 16 * 5 * 5 products.",
            misconceptions=(
                (32 * 14 * 14 * 25, "Each window looks at all 16 channels of the input."),
                (14 * 14 * 16 * 25, "That is for one channel of the result; there are 32."),
                (32 * 14 * 14, "That is how many numbers the result has; each is a sum of many products."),
                (32 * 16 * 25, "That is for one pixel of the result; there are 14 x 14."),
            ),
        ),
        Prediction(
            "06.2", "predict", "The weights of a depthwise convolution",
            hints=(
                "The second size is the number of input channels that one output channel sees.",
                "With 32 groups, each group has 32 / 32 input channels and 64 / 32 output channels.",
            ),
            truth=_grouped,
            why="64 output channels, each of which sees one input channel through a window of 3 x 3.",
            misconceptions=(
                ([64, 32, 3, 3], "That is without groups, where each output channel sees all 32."),
                ([32, 1, 3, 3], "There are 64 output channels, two for each group."),
                ([32, 2, 3, 3], "The first size counts output channels, the second the input channels of one group."),
            ),
        ),
        KernelExercise(
            "06.3", "fill in", "The sum of products",
            hints=(
                "The weight lies at ((co * C + c) * KH + kh) * KW + kw.",
                "The pixel lies in channel c, row oh + kh, column ow + kw.",
                "weight[((co * C + c) * KH + kh) * KW + kw] * x[(c * H + oh + kh) * W + ow + kw]",
            ),
            kernel="convolve", cases=_direct,
            done="Three loops and one product: this is the definition.",
        ),
        KernelExercise(
            "06.4", "write a kernel", "A window of one pixel",
            hints=(
                "No window, no neighbours: y[co, l] is a sum over channels only.",
                "for (int c = 0; c < C; c++) sum += weight[co * C + c] * x[c * L + l];",
            ),
            kernel="pointwise", cases=_pointwise,
            done="It is a matrix product of (CO, C) and (C, L), and needs no im2col.",
        ),
        KernelExercise(
            "06.5", "find the bug", "The window stands on its head",
            hints=(
                "It is right for a window that looks the same after half a turn.",
                "Which weight meets the pixel at (oh, ow), the window's first? It should be the first.",
                "weight[kh * K + kw]",
            ),
            kernel="convolve_one", cases=_flipped,
            done="Mathematics turns the window round and calls that convolution; deep learning keeps only the name.",
        ),
        KernelExercise(
            "06.6", "make it faster", "Read a pixel once for four channels",
            hints=(
                "Keep four sums: float sum[4] = {0, 0, 0, 0};",
                "In the innermost place, read the pixel into a variable, then loop over co and use it four times.",
                "After the loops, a last loop over co writes y[co * OH * OW + l] = sum[co].",
            ),
            kernel="convolve_four", cases=_four,
            done="That is what fast kernels do: they use each number they have fetched as often as they can.",
        ),
    ),
)  # fmt: skip
