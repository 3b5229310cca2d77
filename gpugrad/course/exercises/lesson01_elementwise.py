"""Exercises of lesson 01: one element for each work-item, broadcasting, fused kernels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace


def _shape() -> list[int]:
    return list((np.zeros((4, 1, 3)) + np.zeros((5, 1))).shape)


def _strides() -> list[int]:
    import gpugrad as gg

    x, b = gg.zeros(4, 5, 3), gg.zeros(5, 1)
    with gg.trace() as t:
        _ = x + b
    return [t[0].args[name] for name in ("y0", "y1", "y2")]


def _rows(rng: np.random.Generator) -> Iterator[Case]:
    for rows, columns in ((3, 5), (1, 4), (4, 4), (101, 7)):
        x, b = (rng.standard_normal(s).astype("f4") for s in ((rows, columns), rows))
        n = rows * columns
        args = (x, b, Out(x + b[:, None]), rows, columns)
        yield Case(f"with {rows} rows of {columns}", args, (rounded_up(n, 8),), (8,))


def _relu(rng: np.random.Generator) -> Iterator[Case]:
    for n in (7, 1, 1003):
        x = rng.standard_normal(n).astype("f4")
        x[-1] = np.nan
        if n > 7:
            x[:3] = np.inf, -np.inf, 0
        yield Case(f"with n = {n}", (x, Out(np.where(x < 0, np.float32(0), x)), n), (rounded_up(n, 8),), (8,))


def _outer(rng: np.random.Generator) -> Iterator[Case]:
    for rows, columns in ((3, 5), (1, 9), (8, 8), (61, 13)):
        a, b = (rng.standard_normal(n).astype("f4") for n in (rows, columns))
        size = (rounded_up(columns, 8), rounded_up(rows, 4))
        yield Case(f"with {rows} rows and {columns} columns", (a, b, Out(np.outer(a, b)), rows, columns), size, (8, 4))


def _bias(rng: np.random.Generator) -> Iterator[Case]:
    for N, C, L in ((2, 3, 5), (1, 4, 4), (4, 4, 4), (3, 7, 29)):
        x, bias = rng.standard_normal((N, C, L)).astype("f4"), rng.standard_normal(C).astype("f4")
        args = (x, bias, Out(x + bias[:, None]), N, C, L)
        yield Case(f"with N = {N}, C = {C}, L = {L}", args, (rounded_up(x.size, 8),), (8,))


def _fused(rng: np.random.Generator) -> Iterator[Case]:
    def once(launch: "LaunchTrace") -> str:
        n = int(launch.args["n"])
        written = len(launch.select(buffer="out", kind="store"))
        if loads(launch, "out"):
            return "right, but it reads out, which it has written before: keep the number in a variable instead."
        if written > n:
            return f"right, but it writes out {written} times for {n} elements; once for each is enough."
        most = max(loads(launch, "x"), loads(launch, "y"))
        return "" if most <= n else f"right, but it reads an input {most} times for {n} elements: use a variable."

    for n in (5, 1, 515):
        x, y = rng.standard_normal((2, n)).astype("f4")
        expected = np.maximum(0, np.float64(1.5) * x + y).astype("f4")
        # a product and a sum, rounded once or twice
        args = (x, y, Out(expected, tolerance=1e-6), 1.5, n)
        yield Case(f"with n = {n}", args, (rounded_up(n, 8),), (8,), demand=once)


LESSON = Lesson(
    "01_elementwise",
    "Element-wise kernels and broadcasting",
    "How does one row of numbers add itself to a thousand rows, without being copied?",
    exercises=(
        Prediction(
            "01.1", "predict", "The shape of a sum",
            hints=(
                "Write the shapes below each other, aligned at the right: (4, 1, 3) and (   5, 1).",
                "In each column the sizes are equal, or one of them is 1 or missing; the larger one wins.",
            ),
            truth=_shape,
            why="Aligned at the right, 1 and 5 give 5, and 3 and 1 give 3.",
            misconceptions=(
                ([4, 5, 1], "In the last column 3 meets 1: the one element serves for all three."),
                ([5, 1, 3], "Shapes are aligned at the right, not at the left."),
                ([4, 1, 3], "The second operand's 5 meets the first one's 1, which stretches."),
            ),
        ),
        Prediction(
            "01.2", "predict", "Strides of a broadcast operand",
            hints=(
                "b's five elements lie side by side: going one on along its first axis is one step in memory.",
                "Which axis of the result is that? Along the other two, the same element serves for all: 0 steps.",
            ),
            truth=_strides,
            why="Where an operand has one element for all, its neighbour is itself, 0 steps away.",
            misconceptions=(
                ([15, 3, 1], "These are the strides of the result, which has all its elements."),
                ([5, 1, 1], "Along the last axis b has one element, which serves for all three."),
                ([1, 1, 0], "Along the first axis b has nothing of its own: every step leads to the same element."),
                ([1, 0, 0], "Shapes are aligned at the right: b's five elements belong to the middle axis."),
                ([0, 3, ...], "3 steps lead to the next row of the result; b has one number for each row."),
                ([0, 5, ...], "5 is how many elements b has there; the stride is how far its next one is."),
                ([0, 0, ...], "Along the middle axis b has five elements of its own, side by side."),
                ([0, 1, ...], "Along the last axis b has one element, which serves for all three."),
                ([..., 1, 0], "Along the first axis b has nothing of its own: every step leads to the same element."),
            ),
        ),
        KernelExercise(
            "01.3", "fill in", "One number for each row",
            hints=(
                "In row-major order, element i lies in row i / columns and in column i % columns.",
                "b has one number for each row, so its index is the row.",
                "out[i] = x[i] + b[i / columns];",
            ),
            kernel="add_column", cases=_rows,
            done="Division finds the row: between whole numbers, C's / drops the fraction.",
        ),
        KernelExercise(
            "01.4", "write a kernel", "ReLU that keeps NaN",
            hints=(
                "condition ? a : b is a where the condition holds, else b.",
                "Every comparison with NaN is false. Which way round must the question be, so that NaN stays?",
                "x[i] < 0 ? 0 : x[i]",
            ),
            kernel="relu", cases=_relu,
            done="A NaN in the data shows up in the result, instead of turning into an innocent 0.",
        ),
        KernelExercise(
            "01.5", "write a kernel", "Every product of two lists",
            hints=(
                "Each work-item has two numbers: c = get_global_id(0) and r = get_global_id(1).",
                "Guard both: there may be work-items beyond the last column and beyond the last row.",
                "Row r of out begins at r * columns.",
            ),
            kernel="outer", cases=_outer,
            done="Two global ids save the division, and the guard has two parts.",
        ),
        KernelExercise(
            "01.6", "find the bug", "A bias for each channel",
            hints=(
                "The report says which index is too large. Which work-item is it, and in which image?",
                "i / L counts channels through all images: 0, 1, 2, 3, 4, 5 for two images of three channels.",
                "It should begin again at each image: i / L % C.",
            ),
            kernel="add_bias", cases=_bias,
            done="i / L % C: leave out the position, then what belongs to the image.",
        ),
        KernelExercise(
            "01.7", "make it faster", "One pass instead of three",
            hints=(
                "Compute a * x[i] + y[i] into a variable: float v = ...;",
                "Then write v, or 0 where it is negative, once.",
            ),
            kernel="scale_add_relu", cases=_fused,
            done="Each number is fetched once and written once: the least that is possible.",
        ),
    ),
)  # fmt: skip
