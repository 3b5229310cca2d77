"""Exercises of lesson 03: softmax that does not overflow, online sums, the gradient of cross-entropy."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace

COUNT_MAXIMA = """
__kernel void count_maxima(__global const float *x, __global int *out, int n) {
  float m = -INFINITY;
  for (int i = 0; i < n; i++)
    if (x[i] > m) {
      m = x[i];
      out[0]++;
    }
}
"""

# A row's sum is rounded at most n times, and exp is off by a few units in the last place: for n up to 150, below 2e-5.
NEAR = 2e-5


def _of_equals() -> list[float]:
    import gpugrad as gg

    p = gg.kernels.softmax(gg.full((1, 4), 100.0).array, 1, variant="stable").numpy()
    return [float(1 / p[0, 0]), float(p[0, 0])]


def _maxima() -> int:
    import gpugrad as gg

    x, out = gg.tensor([3, 1, 4, 1, 5, 9, 2, 6], dtype=gg.float32), gg.zeros(1, dtype=gg.int32)
    gg.kernel(COUNT_MAXIMA)(x, out, 8, global_size=1)
    return int(out.item())


def _logs(x: np.ndarray) -> np.ndarray:
    """log-softmax of each row, in float64."""
    shifted = x.astype("f8") - x.max(1, keepdims=True)
    logs: np.ndarray = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return logs


def _scores(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Rows around 0, around 300 and around -300, in turn: the formula without the maximum fails in two of three."""
    middle = np.array([0, 300, -300], "f4")[np.arange(rows) % 3, None]
    return 3 * rng.standard_normal((rows, n)).astype("f4") + middle


SIZES = ((3, 5), (1, 1), (4, 4), (5, 97))


def _softmax(rng: np.random.Generator) -> Iterator[Case]:
    for rows, n in SIZES:
        x = _scores(rng, rows, n)
        args = (x, Out(np.exp(_logs(x)).astype("f4"), NEAR), rows, n)
        yield Case(f"with {rows} rows of {n}", args, (rounded_up(rows, 4),), (4,))


def _log_softmax(rng: np.random.Generator) -> Iterator[Case]:
    for rows, n in SIZES:
        x = 60 * rng.standard_normal((rows, n)).astype("f4")
        x[0, 0] = -250
        args = (x, Out(_logs(x).astype("f4"), NEAR), rows, n)
        yield Case(f"with {rows} rows of {n}", args, (rounded_up(rows, 4),), (4,))


def _log_sums(rng: np.random.Generator) -> Iterator[Case]:
    for rows, n in SIZES:
        x = _scores(rng, rows, n)
        x[0::2].sort(1)  # each score is a new maximum; in the other rows most are none
        args = (x, Out((x[:, 0] - _logs(x)[:, 0]).astype("f4"), NEAR), rows, n)
        yield Case(f"with {rows} rows of {n}", args, (rounded_up(rows, 4),), (4,))


def _twice(rng: np.random.Generator) -> Iterator[Case]:
    def sparing(launch: "LaunchTrace") -> str:
        n, count = int(np.prod(launch.buffer("x").shape)), loads(launch, "x")
        if loads(launch, "out"):
            return "right, but it reads out, which is as far away as x."
        return "" if count <= 2 * n else f"right, but it reads x {count} times; twice {n} elements are {2 * n}."

    for rows, n in SIZES:
        x = _scores(rng, rows, n)
        x[0::2, 0] -= 200  # neither the first score of a row nor the last does in the place of the maximum
        x[1::2, -1] -= 200
        args = (x, Out(np.exp(_logs(x)).astype("f4"), NEAR), rows, n)
        yield Case(f"with {rows} rows of {n}", args, (rounded_up(rows, 4),), (4,), demand=sparing)


def _gradient(rng: np.random.Generator) -> Iterator[Case]:
    for N, C in ((3, 5), (1, 2), (4, 4), (7, 10)):
        p = np.exp(_logs(rng.standard_normal((N, C)).astype("f4")))
        target = rng.integers(0, C, N).astype("i4")
        target[-1] = C - 1
        expected = (p - np.eye(C)[target]) / N
        args = (p.astype("f4"), target, Out(expected.astype("f4"), 1e-6), N, C)  # two roundings
        yield Case(f"with N = {N}, C = {C}", args, (rounded_up(N * C, 8),), (8,))


LESSON = Lesson(
    "03_softmax",
    "Softmax and the loss",
    "How do scores become probabilities, when their exponentials are too large for a float?",
    exercises=(
        Prediction(
            "03.1", "predict", "Equal scores",
            hints=(
                "What is m here? Then what is exp(x - m) for each of the four?",
                "s is the sum of four ones.",
            ),
            truth=_of_equals,
            why="Only distances from the maximum count, and they are 0: four times exp(0).",
            misconceptions=(
                ([400, 0.25], "s adds up powers, not scores."),
                ([np.inf, np.nan], "That is what the naive kernel gives. This one subtracts the maximum first."),
                ([0, 0.25], "The distances are 0, but exp(0) is 1."),
                ([1, 1], "The largest power is 1, but there are four of them."),
            ),
        ),
        Prediction(
            "03.2", "predict", "New maxima",
            hints=(
                "m changes when a score is larger than all before it.",
                "3 is the first. 1 is no larger. 4 is. Go on.",
            ),
            truth=_maxima,
            why="At 3, 4, 5 and 9: only there is the sum so far multiplied by something.",
            misconceptions=(
                (3, "The first score counts too: it is larger than minus infinity."),
                (8, "Scores below the largest so far leave m as it is."),
                (5, "After the 9 nothing is larger."),
            ),
        ),
        KernelExercise(
            "03.3", "fill in", "Stable softmax",
            hints=(
                "Each power is that of the distance from m.",
                "s += exp(x[row * n + i] - m);",
                "The result is the same power, divided by s.",
            ),
            kernel="softmax", cases=_softmax,
            done="Scores of 300 and of -300 give the same probabilities as scores around 0.",
        ),
        KernelExercise(
            "03.4", "write a kernel", "Log-softmax",
            hints=(
                "Maximum and sum are as in 03.3.",
                "Do not divide and take the logarithm; work it out on paper first.",
                "out[row * n + i] = x[row * n + i] - m - log(s);",
            ),
            kernel="log_softmax", cases=_log_softmax,
            done="A probability too small for a float still has its logarithm.",
        ),
        KernelExercise(
            "03.5", "find the bug", "A sum measured from the wrong place",
            hints=(
                "Go through the row 1, 2, 3 by hand. What is m - a in the line that rescales?",
                "The old maximum is needed in that line. When is it lost?",
            ),
            kernel="log_sum_exp", cases=_log_sums,
            done="First rescale by the old maximum, then forget it. The sanitizer cannot find that, a test can.",
        ),
        KernelExercise(
            "03.6", "make it faster", "Softmax in two readings",
            hints=(
                "One reading for maximum and sum together, one for the result.",
                "float a = x[row * n + i]; if (a > m) rescale s, add 1, and set m; else add exp(a - m).",
                "exp(m - a) with m = -INFINITY is 0, so the first score needs no case of its own.",
            ),
            kernel="softmax", cases=_twice,
            done="Two readings, as the naive kernel, and it does not overflow: this is the online rung.",
        ),
        KernelExercise(
            "03.7", "write a kernel", "The gradient of cross-entropy",
            hints=(
                "Element i belongs to image i / C and to class i % C.",
                "Probability minus truth: truth is 1 where the class is the image's target, else 0.",
                "dx[i] = (p[i] - (i % C == target[i / C])) / N; a comparison in C is 1 or 0.",
            ),
            kernel="cross_entropy_gradient", cases=_gradient,
            done="With this line the backward pass of every classifier begins.",
        ),
    ),
)  # fmt: skip
