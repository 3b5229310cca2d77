"""Exercises of lesson 12: bits and gaps of half, rounding, squares that overflow, masters, the rule of the scale."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up, whole
from ..python_exercise import PythonExercise
from ..spec import Lesson, Prediction

ADD_UP = """
__kernel void add_up(__global half *sum, float x, int n) {
  for (int i = 0; i < n; i++)
    sum[0] = sum[0] + x;
}
"""


def _from_bits() -> float:
    return float(np.array([0b0_10001_0100000000], np.uint16).view(np.float16)[0])


def _three_sums() -> list[float]:
    import gpugrad as gg

    a, b = gg.tensor([2050, 4096, 4096], dtype=gg.float16), gg.tensor([1, 1, 3], dtype=gg.float16)
    found: list[float] = (a + b).tolist()
    return found


def _hundredths() -> float:
    import gpugrad as gg

    total = gg.zeros(1, dtype=gg.float16)
    gg.kernel(ADD_UP)(total, 0.01, 10000, global_size=1, local_size=1)
    return float(total.item())


def _bits(half: int) -> str:
    """A half's sixteen bits, in its three parts: 0 01111 0000000000."""
    word = f"{int(half) & 0xFFFF:016b}"
    return f"{word[0]} {word[1:6]} {word[6:]}" if half == int(half) & 0xFFFF else str(half)


def _to_half(rng: np.random.Generator) -> Iterator[Case]:
    gap = 2.0**-10  # of halves from 1 to 2
    # exact; cut off; up; a tie down to even; a tie up to even; a little more than a tie; a carry; a sign
    awkward = [
        1, 1 + 0.4 * gap, 1 + 0.7 * gap, 1 + 2.5 * gap, 1 + 3.5 * gap, 1 + 2.5 * gap + 2.0**-23, 2 - 0.3 * gap, -0.1
    ]  # fmt: skip
    ends = [65504, -65504, 2.0**-14, 65519]
    sizes = 2.0 ** rng.integers(-14, 16, 290)
    ties = 1 + (rng.integers(0, 1024, 290) + 0.5) * gap
    many = np.where(rng.random(290) < 0.5, ties, 1 + rng.random(290)) * sizes * rng.choice([-1, 1], 290)
    for x in (np.array(awkward), np.array(ends), np.clip(many, -65504, 65504)):
        x32 = x.astype("f4")
        n, bits = len(x32), x32.astype("f2").view("u2").astype("i4")
        yield Case(f"with n = {n}", (x32, Out(bits, shown=_bits), n), (rounded_up(n, 8),), (8,))


def _sgd_step(rng: np.random.Generator) -> Iterator[Case]:
    for n in (7, 1, 301):
        # Steps of up to half a gap from masters between the halves: all powers of two, so nothing is rounded in float.
        master = (1 + whole(rng, n, most=9000) * 2.0**-14).astype("f4")
        g, inverse, lr = (whole(rng, n) * 8).astype("f2"), 2.0**-14, 0.5
        after = master - g.astype("f4") * np.float32(inverse * lr)
        args = (Out(after.astype("f2")), Out(after, before=master), g, inverse, lr, n)
        yield Case(f"with n = {n}", args, (rounded_up(n, 8),), (8,))


def _lengths(rng: np.random.Generator) -> Iterator[Case]:
    # Rows whose length is a whole number, times powers of two: float's root of it, rounded to half, is exact.
    triples = np.array([[2, 3, 6], [1, 4, 8], [2, 6, 9], [4, 4, 7], [1, 2, 2]])
    sizes = 2.0 ** np.array([0, 12, -24, 6, -20])
    few = (rng.permuted(triples, axis=1) * sizes[:, None]).astype("f2")
    yield Case("with 5 rows of 3", (few, Out((np.array([7, 9, 11, 9, 3]) * sizes).astype("f2")), 5, 3), (8,), (4,))
    one = np.array([[-300.0]], "f2")
    yield Case("with 1 row of 1", (one, Out(np.array([300], "f2")), 1, 1), (4,), (4,))
    long = np.array([[1], [-16]], "f2") * np.ones(4096, "f2")
    yield Case("with 2 rows of 4096", (long, Out(np.array([64, 1024], "f2")), 2, 4096), (4,), (4,))


def _update(update: Any) -> str:
    cases = [(1024.0, 0, True, 3), (1024.0, 2, True, 3), (8.0, 0, False, 3), (8.0, 1, False, 3), (8.0, 2, False, 3)]
    cases += [(65536.0, 0, False, 1), (65536.0, 1998, False, 2000), (65536.0, 1999, False, 2000), (1.0, 0, True, 2000)]
    for scale, good, overflow, interval in cases:
        if overflow:
            right = (scale / 2, 0)
        else:
            right = (scale * 2, 0) if good + 1 == interval else (scale, good + 1)
        found = update(scale, good, overflow, interval)
        if not isinstance(found, tuple | list) or len(found) != 2:
            return f"return two numbers, the scale and the count; got {found!r}."
        if tuple(found) != right:
            called = f"update({scale:g}, {good}, {overflow}, {interval})"
            return f"{called} gives {found[0]!r} and {found[1]!r}, and should give {right[0]!r} and {right[1]!r}."
    return ""


LESSON = Lesson(
    "12_half",
    "Half precision: two bytes for a number",
    "How much can you halve before something breaks?",
    exercises=(
        Prediction(
            "12.1", "predict", "A number from its bits",
            hints=(
                "10001 is 16 + 1, so e is 17. 0100000000 is 256, a quarter of 1024.",
                "2 to the power of 17 - 15, times 1 + 256 / 1024.",
            ),
            truth=_from_bits,
            why="4, and a quarter of the way to 8.",
            misconceptions=(
                (1.25, "That is the fraction's part; the exponent says to which power of two it belongs."),
                (4, "That is the power of two; the fraction says how far it is from there to the next one."),
                (4.25, "The quarter is one of the way from 4 to 8, so it is 1."),
                (163840, "15 is taken off the exponent, so that there are small numbers as well as large ones."),
                (1, "With the fraction alone, the 1 in front is missing: 1 + f / 1024."),
            ),
        ),
        Prediction(
            "12.2", "predict", "Three sums",
            hints=(
                "From 2048 to 4096 the gap is 2, from 4096 to 8192 it is 4. Between which two halves is each sum?",
                "Take the nearer one. 2051 is in the middle of 2050 and 2052: which is even, counted in gaps?",
                "2050 is 1025 gaps, 2052 is 1026.",
            ),
            truth=_three_sums,
            why="2050 + 1 is a tie, and goes to the even one, which lies above. 4097 is nearer to 4096, 4099 to 4100.",
            misconceptions=(
                ([2051, 4097, 4099], "None of these is a half: the gap is 2 there, and then 4."),
                ([2050, 4096, 4096], "Nothing is cut off: the nearer one is taken."),
                (
                    [2050, 4096, 4100],
                    "2051 is a tie. It goes to the one whose last bit is 0: 2050 is 1025 gaps of 2, 2052 is 1026.",
                ),
                ([2052, 4100, 4100], "4097 is nearer to 4096 than to 4100."),
            ),
        ),
        Prediction(
            "12.3", "predict", "Where a sum of hundredths stops",
            hints=(
                "It stops where 0.01 is less than half a gap.",
                "Between 2**k and 2**(k + 1) the gap is 2**k / 1024. For which k is half of it more than 0.01?",
                "From 32 to 64 the gap is 1/32, and half of that is about 0.016. From 16 to 32 half a gap is 0.008.",
            ),
            truth=_hundredths,
            why="From 32 on, half a gap is 1/64, which is more than 0.01: every sum is rounded back.",
            misconceptions=(
                (100, "That is the right sum; but a half cannot go on so far in steps of 0.01."),
                (2048, "That is where steps of 1 end. These are smaller."),
                (20.48, "Gaps change at powers of two only, so that is where a sum stops."),
                (64, "At 64 half a gap is 1/32. Is 0.01 not too small before that already?"),
                (16, "From 16 to 32 half a gap is 1/128, which is less than 0.01: each step is rounded up, to 1/64."),
            ),
        ),
        KernelExercise(
            "12.4", "fill in", "Round to nearest, ties to even",
            hints=(
                "If rest is more than half a gap, the next half is nearer.",
                "If rest is exactly half a gap, look at the last bit of h: h & 1. Where it is 1, h is odd.",
                "rest > 4096 || (rest == 4096 && (h & 1)), where || is \"or\" and && is \"and\".",
            ),
            kernel="to_half", cases=_to_half,
            done="That is what happens at every store. The sign needs no thought: sizes are rounded, and it stays.",
        ),
        KernelExercise(
            "12.5", "write a kernel", "A step with a master",
            hints=(
                "Guard first: there may be more work-items than weights.",
                "A float variable for the new master: master[i] - lr * inverse * g[i].",
                "Write it twice: master[i] = m; w[i] = m; the second is rounded by being stored.",
            ),
            kernel="sgd_step", cases=_sgd_step,
            done="w is never read: what a step needs to know is in the master.",
        ),
        KernelExercise(
            "12.6", "find the bug", "Squares that do not fit",
            hints=(
                "The length of (300, 400) is 500. Which numbers on the way there does a half hold, and which not?",
                "The sum of the squares lies in out[row], a half: 90000 is too much for it, 0.0000000009 too little.",
                "float sum = 0; then sum += x[row * n + i] * x[row * n + i]; and at the end out[row] = sqrt(sum);",
            ),
            kernel="lengths", cases=_lengths,
            done="What is stored may be half. What is on the way should be float, as private variables are here.",
        ),
        PythonExercise(
            "12.7", "write Python", "The rule of the scale",
            hints=(
                "Three cases: an overflow; a good step that completes the interval; any other good step.",
                "if overflow: return scale / 2, 0",
                "Then good + 1 == interval gives scale * 2 and 0, and everything else scale and good + 1.",
            ),
            function="update", complaint=_update,
            done="That is GradScaler.update, but for the names.",
        ),
    ),
    minutes=60,
)  # fmt: skip
