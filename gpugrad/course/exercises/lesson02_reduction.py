"""Exercises of lesson 02: trees, starting values, barriers."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up, whole
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace

ONE_ROUND = """
__kernel void one_round(__global float *part) {
  int lane = get_local_id(0), width = 4;
  if (lane < width)
    part[lane] += part[lane + width];
}
"""


def _rounds() -> int:
    width, rounds = 1024 // 2, 0
    while width > 0:
        width, rounds = width // 2, rounds + 1
    return rounds


def _after_one_round() -> list[float]:
    import gpugrad as gg

    part = gg.tensor([3, 1, 4, 1, 5, 9, 2, 6], dtype=gg.float32)
    gg.kernel(ONE_ROUND)(part, global_size=8, local_size=8)
    found: list[float] = part.tolist()
    return found


def _maxima(rng: np.random.Generator) -> Iterator[Case]:
    for rows, n in ((3, 5), (1, 1), (5, 97)):
        # all below zero, each row below the one before, and the last below every finite number
        x = -1 - rng.random((rows, n)).astype("f4") - np.arange(rows, dtype="f4")[:, None]
        x[1:][-1:] = -np.inf
        yield Case(f"with {rows} rows of {n}", (x, Out(x.max(1)), rows, n), (rounded_up(rows, 4),), (4,))


def _mended(rng: np.random.Generator) -> Iterator[Case]:
    for groups in (2, 1, 33):
        x = whole(rng, groups, 8)
        yield Case(f"with {groups} groups of 8", (x, Out(x.sum(1))), (groups * 8,), (8,))


def _row_sums(rng: np.random.Generator) -> Iterator[Case]:
    for rows, n in ((3, 100), (2, 5), (1, 64), (4, 1001)):
        # as few lanes as there are, if none has more to do than it must: in every 64th element, or a run of them
        x, sharing = whole(rng, rows, n), rows * math.ceil(n / math.ceil(n / 64))

        def shared(launch: "LaunchTrace", sharing: int = sharing) -> str:
            reading = len(np.unique(launch.select(buffer="x", kind="load")["work_item"]))
            text = f"right, but only {reading} lanes read x, where {sharing} could. Let each add up a share."
            return text if reading < sharing else ""

        yield Case(f"with {rows} rows of {n}", (x, Out(x.sum(1)), n), (rows * 64,), (64,), demand=shared)


def _low_and_high(rng: np.random.Generator) -> Iterator[Case]:
    def once(launch: "LaunchTrace") -> str:
        n, count = int(np.prod(launch.buffer("x").shape)), loads(launch, "x")
        return "" if count <= n else f"right, but it reads x {count} times, and x has {n} elements."

    for rows, n in ((3, 5), (1, 1), (6, 61)):
        x = rng.standard_normal((rows, n)).astype("f4") + 5 * (-1) ** np.arange(rows, dtype="f4")[:, None]
        if rows > 1:  # beyond every finite number, on either side
            x[-2:] = [[np.inf], [-np.inf]]
        args = (x, Out(x.min(1)), Out(x.max(1)), rows, n)
        yield Case(f"with {rows} rows of {n}", args, (rounded_up(rows, 4),), (4,), demand=once)


LESSON = Lesson(
    "02_reduction",
    "Reduction: many numbers become one",
    "How do workers who may not wait for each other add up a million numbers?",
    exercises=(
        Prediction(
            "02.1", "predict", "Rounds of a tree",
            hints=(
                "In each round the width halves: 512, 256, and so on, down to 1.",
                "Count the widths. Doubling 1 how often gives 1024?",
            ),
            truth=_rounds,
            why="1024 is 2 to the power of 10. A thousand times as many numbers take ten more rounds.",
            misconceptions=(
                (1023, "That is how many additions there are; but in each round many happen at once."),
                (1024, "That is how many turns a loop takes. In a round of the tree, many additions happen at once."),
                (512, "That is the width of the first round."),
                (9, "The last round, of width 1, counts too."),
                (11, "The last round has the width 1; with 0 nothing is left to do."),
            ),
        ),
        Prediction(
            "02.2", "predict", "After one round",
            hints=(
                "Only lanes 0 to 3 work. Lane 0 adds part[4] to part[0].",
                "Elements 4 to 7 are read, and stay as they were.",
            ),
            truth=_after_one_round,
            why="The lower half has taken over the upper half, which still lies there, but is not needed any more.",
            misconceptions=(
                ([8, 10, 6, 7], "The memory still has eight cells: the upper four stay as they were."),
                ([4, 1, 5, 1, 14, 9, 8, 6], "That adds neighbours. Here lane 0 takes over part[0 + width]."),
                ([8, 10, 6, 7, 0, 0, 0, 0], "Nobody clears the upper half."),
            ),
        ),
        KernelExercise(
            "02.3", "fill in", "Where a maximum begins",
            hints=(
                "If best begins with 0, what comes out for a row of negative numbers?",
                "It has to be a number that every other one beats, or one of the row's own.",
                "-INFINITY is such a number; x[row * n] is the row's first.",
            ),
            kernel="row_max", cases=_maxima,
            done="The starting value of a reduction must change nothing: 0 for sums, minus infinity for maxima.",
        ),
        KernelExercise(
            "02.4", "find the bug", "A barrier for some",
            hints=(
                "Which work-items reach the barrier in the first round? All of them have to.",
                "Close the if before the barrier.",
            ),
            kernel="parted", cases=_mended,
            done="Guard the work, not the barrier.",
        ),
        KernelExercise(
            "02.5", "write a kernel", "A group for each row",
            hints=(
                "First each lane adds up its own share: elements lane, lane + 64, lane + 128, and so on below n.",
                "for (int i = lane; i < n; i += 64) sum += x[row * n + i]; then part[lane] = sum and a barrier.",
                "Then the tree with widths 32, 16, down to 1, a barrier in each round; lane 0 writes out[row].",
            ),
            kernel="row_sum", cases=_row_sums,
            done="Each lane brings its share, then the tree: this is the package's kernel for GPUs.",
        ),
        KernelExercise(
            "02.6", "make it faster", "Minimum and maximum in one pass",
            hints=(
                "One loop, two variables: a row's element is read once and compared with both.",
                "float v = x[row * n + i]; then low and high each look at v.",
                "Begin with INFINITY for the minimum and -INFINITY for the maximum.",
            ),
            kernel="row_range", cases=_low_and_high,
            done="Comparing is cheap, fetching is not: one pass gives both.",
        ),
    ),
)  # fmt: skip
