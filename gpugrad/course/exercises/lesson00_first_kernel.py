"""Exercises of lesson 00: launches, guards, a first kernel."""

from collections.abc import Iterator

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up
from ..spec import Lesson, Prediction


def _launched() -> list[int]:
    return [rounded_up(n, 64) for n in (1000, 64, 65)]


def _squares(rng: np.random.Generator) -> Iterator[Case]:
    for n, local in ((5, 4), (1, 4), (64, 64), (1009, 64)):
        x = rng.standard_normal(n).astype("f4")
        squares = Out(x * x, 1e-6)  # pow(x[i], 2) is a square too, and may round its last digit in another way
        yield Case(f"with n = {n} in groups of {local}", (x, squares, n), (rounded_up(n, local),), (local,))


def _reversed(rng: np.random.Generator) -> Iterator[Case]:
    for n, local in ((7, 4), (1, 4), (64, 64), (2003, 64)):
        x = rng.standard_normal(n).astype("f4")
        yield Case(f"with n = {n} in groups of {local}", (x, Out(x[::-1].copy()), n), (rounded_up(n, local),), (local,))


LESSON = Lesson(
    "00_first_kernel",
    "Your device and a first kernel",
    "Who does the work when a GPU computes?",
    minutes=30,
    exercises=(
        Prediction(
            "00.1", "predict", "How many work-items to launch",
            hints=(
                "Groups are whole: a launch has a multiple of 64 work-items here.",
                "How many groups of 64 hold 1000? Divide, and round up. Then multiply by 64 again.",
                "For 1000 it is 1024. Now 64, which fits exactly, and 65, which does not.",
            ),
            truth=_launched,
            why="Divide by the group's size, round up, multiply again: (n + 63) / 64 * 64 in whole numbers.",
            misconceptions=(
                ([1000, 64, 65], "A launch takes whole groups, and 1000 is not a multiple of 64."),
                ([960, 64, 64], "You rounded down: some elements would have no work-item."),
                ([1024, 128, 128], "64 elements fit into one group of 64 exactly."),
                ([16, 1, 2], "These are the groups; the question is for work-items."),
            ),
        ),
        KernelExercise(
            "00.2", "fill in", "Square each element",
            hints=(
                "`if (i < n)` keeps work-items without an element from touching memory.",
                "C has no power operator; multiply x[i] by itself.",
                "The line is: if (i < n) out[i] = x[i] * x[i];",
            ),
            kernel="square", cases=_squares,
            done="Each element has its work-item, and those left over touch nothing.",
        ),
        KernelExercise(
            "00.3", "write a kernel", "Turn an array round",
            hints=(
                "Work-item i writes out[i]. Which element of x belongs there?",
                "Out's first element is x's last. The last index of n elements is n - 1.",
                "out[i] = x[n - 1 - i], behind the guard.",
            ),
            kernel="reverse", cases=_reversed,
            done="Reading and writing need not happen at the same index: each work-item finds its own.",
        ),
    ),
)  # fmt: skip
