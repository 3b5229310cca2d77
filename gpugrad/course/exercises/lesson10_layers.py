"""Exercises of lesson 10: how signals grow, how far a step goes, what optimisers remember, running statistics."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up
from ..python_exercise import NO_RETURN, PythonExercise
from ..spec import Lesson, Prediction


def _ten_layers() -> int:
    """How many times as large the end of ten layers is with weights twice as large: exact, as it is a power of two."""
    import gpugrad as gg

    rng = np.random.default_rng(101)
    once = twice = gg.tensor(rng.standard_normal((20, 20)).astype("f4"))
    for _ in range(10):
        weight = gg.tensor(rng.standard_normal((20, 20)).astype("f4") * 0.3)
        once, twice = (once @ weight).relu(), (twice @ (weight * 2)).relu()
    return round(float(twice.numpy().std() / once.numpy().std()))


def _three_rates() -> list[float]:
    import gpugrad as gg

    ends = []
    for lr in (0.125, 0.25, 0.375):
        p = gg.tensor(1.0, requires_grad=True)
        optimizer = gg.optim.SGD([p], lr=lr)
        for _ in range(3):
            optimizer.zero_grad()
            (4 * p * p).backward()
            optimizer.step()
        ends.append(float(p.item()))
    return ends


def _first_step() -> list[float]:
    import gpugrad as gg

    p = gg.zeros(3, requires_grad=True)
    p.grad = gg.tensor([100, 0.01, -5], dtype=gg.float32)
    gg.optim.Adam([p], lr=0.1).step()
    return [float(v) for v in p.detach().numpy()]


def _running() -> list[float]:
    import gpugrad as gg

    norm, means = gg.nn.BatchNorm2d(1), []
    for _ in range(2):
        norm(gg.full((3, 1, 2, 2), 10.0))
        means.append(float(norm.running_mean.item()))  # type: ignore[union-attr]
    return means


def _kaiming(kaiming: Any) -> str:
    rng = np.random.default_rng(105)
    for shape in ((40, 30), (300, 50), (50, 300), (40, 16, 5, 5)):
        given = kaiming(shape, rng)
        if given is None:
            return NO_RETURN
        weight, again = np.asarray(given), np.asarray(kaiming(shape, rng))
        if weight.shape != shape:
            return f"asked for shape {shape}, it returns one of shape {weight.shape}."
        if np.array_equal(weight, again):
            return "two calls give the same numbers; draw them anew from rng each time."
        first, second = (np.asarray(kaiming(shape, np.random.default_rng(5))) for _ in range(2))
        if not np.array_equal(first, second):
            return "two generators with one seed give different numbers; draw them from rng, and from nothing else."
        fan = int(np.prod(shape[1:]))
        std, wanted, n = float(weight.std()), (2 / fan) ** 0.5, weight.size
        # a sample's mean is off by std / sqrt(n), its std by std / sqrt(2 n): six times that never happens
        if not abs(weight.mean()) < 6 * wanted / n**0.5:
            return f"for shape {shape} the mean is {weight.mean():.2g}; it should be about 0."
        if not abs(std / wanted - 1) < 6 / (2 * n) ** 0.5:
            return (
                f"for shape {shape} the standard deviation is {std:.3g}. Each output has {fan} inputs: it should be "
                f"about {wanted:.3g}."
            )
    return ""


def _momentum(rng: np.random.Generator) -> Iterator[Case]:
    for n, first in ((7, 0), (1, 1), (5, 1), (301, 0)):
        p, g, m = rng.standard_normal((3, n)).astype("f4")
        if first:
            m[:] = np.nan  # what memory holds before anybody has written it
        momentum, lr = 0.75, 0.25
        now = g if first else momentum * m + g
        # a product, a sum, and another of each, of numbers of size 1: rounded four times
        args = (
            Out((p - lr * now).astype("f4"), 5e-7, before=p), g, Out(now.astype("f4"), 5e-7, before=m),
            n, np.float32(lr), np.float32(momentum), first,
        )  # fmt: skip
        about = f"with n = {n}, {'at the first step' if first else 'at a later step'}"
        yield Case(about, args, (rounded_up(n, 8),), (8,))


def _adam(rng: np.random.Generator) -> Iterator[Case]:
    lr, beta1, beta2, eps = 0.25, 0.9, 0.999, 1e-6
    for n, t, size in ((7, 1, 1.0), (1, 2, 1.0), (5, 1, 0.0), (6, 3, 1e-6), (301, 5, 1.0)):
        p, g, m, v = rng.standard_normal((4, n)).astype("f4")
        g, m, v = g * np.float32(size), m * np.float32(size * (t > 1)), (v * size * (t > 1)) ** 2
        kept = [np.float32(x) for x in (lr, beta1, beta2, 1 - beta1**t, 1 - beta2**t, eps)]
        b1, b2, c1, c2 = (float(x) for x in kept[1:5])
        mean = b1 * m.astype("f8") + (1 - b1) * g.astype("f8")
        square = b2 * v.astype("f8") + (1 - b2) * g.astype("f8") ** 2
        moved = p - lr * (mean / c1) / (np.sqrt(square / c2) + float(kept[5]))
        # a dozen roundings, of 6e-8 each, of a step that can be some times lr
        args = (
            Out(moved.astype("f4"), 2e-5, before=p), g, Out(mean.astype("f4"), 2e-6, before=m),
            Out(square.astype("f4"), 2e-6, before=v.astype("f4")), n, *kept,
        )  # fmt: skip
        what = {1.0: "", 0.0: ", all gradients 0", 1e-6: ", tiny gradients"}[size]
        yield Case(f"with n = {n}, t = {t}{what}", args, (rounded_up(n, 8),), (8,))


def _leap(adam: Any) -> str:
    rng = np.random.default_rng(108)
    for lr, n in ((0.5, 1), (0.01, 5)):
        optimizer, m, v = adam(lr), np.zeros(n), np.zeros(n)
        p = expected = rng.standard_normal(n)
        for t in range(1, 8):
            g = rng.standard_normal(n) * 10.0 ** np.arange(n)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            expected = expected - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            given = optimizer.step(p, g)
            if given is None:
                return NO_RETURN
            before, p = p, np.asarray(given)
            # float64 on both sides, a few roundings
            if p.shape != (n,):
                return f"step {t} gives parameters of shape {p.shape}; they had shape {(n,)}."
            wrong = np.flatnonzero(~np.isclose(p, expected, rtol=1e-9, atol=1e-12))
            if len(wrong):
                i = wrong[0]
                found, right = (p - before)[i] / lr, (expected - before)[i] / lr
                form = "+.4f" if abs(found - right) > 1e-3 else "+.12f"  # eps alone is seen in later digits
                return (
                    f"step {t} moves a parameter by {found:{form}} lr, where its gradient is {g[i]:+.4f}; "
                    f"it should be {right:{form}} lr."
                )
    return ""


LESSON = Lesson(
    "10_layers",
    "Layers: where to start, and how to move",
    "Does it matter which random numbers a network starts from?",
    exercises=(
        Prediction(
            "10.1", "predict", "Twice, ten times",
            hints=(
                "What does one layer with weights twice as large do to the numbers that it gives?",
                "The next layer gets numbers twice as large, and doubles them again.",
                "2 ** 10",
            ),
            truth=_ten_layers,
            why="Each layer doubles what the last one has doubled: two to the power of ten.",
            misconceptions=(
                (2, "That is what the first layer does; the others double as well."),
                (20, "Factors of layers in a row are multiplied, not added."),
                (100, "Two ten times as a factor is 2 ** 10, not 10 ** 2."),
                (512, "There are ten layers, and each of them doubles."),
            ),
        ),
        Prediction(
            "10.2", "predict", "Three learning rates",
            hints=(
                "The gradient is 8 * y, so a step makes y - lr * 8 * y of y: it multiplies y by 1 - 8 * lr.",
                "The three factors are 0, -1 and -2.",
                "A factor is applied three times: its third power.",
            ),
            truth=_three_rates,
            why="0 is reached at once, -1 jumps to and fro for ever, and -2 doubles the distance with each step.",
            misconceptions=(
                ([0, -1, -2], "Those are the factors of one step; there are three."),
                ([0, 1, 8], "The factors are negative, and there are three of them: the sign changes three times."),
                ([0.125, 0, -0.125], "The gradient of 4 * y * y is 8 * y: the 2 comes down."),
                ([0, 1, 4], "That is after two steps."),
            ),
        ),
        Prediction(
            "10.3", "predict", "Adam's first step",
            hints=(
                "At the first step the corrected means are the gradient itself and its square.",
                "The root of the square of g is the size of g: what is g divided by its own size?",
                "[-0.1, -0.1, 0.1]",
            ),
            truth=_first_step,
            why="A gradient divided by its own size is 1 or -1. Only its sign counts at the first step.",
            misconceptions=(
                ([-10, -0.001, 0.5], "That is a step of SGD. Adam divides by the size of the gradient."),
                ([0.1, 0.1, -0.1], "The step goes downhill: against the gradient."),
                ([-0.31622777, -0.31622777, 0.31622777], "That is without the correction for the start."),
                ([-1, -1, 1], "g / sqrt(g * g) is 1 in size; the learning rate is a factor of it."),
            ),
        ),
        Prediction(
            "10.4", "predict", "A running mean",
            hints=(
                "The new running mean is nine parts of the old one and one part of the batch's.",
                "0.9 * 0 + 0.1 * 10 is 1. Do it once more.",
            ),
            truth=_running,
            why="It comes near to 10, but takes its time: after few steps, eval is far off.",
            misconceptions=(
                ([10, 10], "That is the batch's mean; the running one takes a tenth of it."),
                ([1, 2], "At the second step a tenth of the old 1 is lost."),
                ([9, 9.9], "Nine parts are the old mean's; the batch has one part."),
                ([5, 7.5], "The parts are not equal: 0.9 and 0.1."),
            ),
        ),
        PythonExercise(
            "10.5", "write Python", "Kaiming's weights",
            hints=(
                "How many inputs reach one output? Look at shape without its first number.",
                "For (OUT, C, KH, KW) it is C * KH * KW: np.prod(shape[1:]) is right for both.",
                "Multiply rng.standard_normal(shape) by the root of 2 / inputs.",
            ),
            function="kaiming", complaint=_kaiming,
            done="A signal keeps its size through layers like this, however many there are.",
        ),
        KernelExercise(
            "10.6", "fill in", "Momentum",
            hints=(
                "At the first step m[i] holds anything, even NaN: it must not be used, not even times 0.",
                "m[i] = first ? g[i] : momentum * m[i] + g[i];",
                "Then p[i] moves against the new m[i], lr times as far.",
            ),
            kernel="momentum_step", cases=_momentum,
            done="One number to remember for each parameter.",
        ),
        KernelExercise(
            "10.7", "write a kernel", "Adam",
            hints=(
                "Guard first. Then four lines: the new mean, the new mean square, both stored, and the step.",
                "float mean = beta1 * m[i] + (1 - beta1) * g[i]; the other one alike, with g[i] * g[i].",
                "p[i] -= lr * (mean / c1) / (sqrt(square / c2) + eps);",
            ),
            kernel="adam_step", cases=_adam,
            done="This is what moves the parameters of most networks today.",
        ),
        PythonExercise(
            "10.8", "find the bug", "An Adam that leaps",
            hints=(
                "m and v started from 0. What must they be divided by at step t?",
                "1 - 0.9 ** t for m, and 1 - 0.999 ** t for v; self.t counts the steps.",
                "Divide in the last line only: what is remembered stays as it is.",
            ),
            function="Adam", complaint=_leap,
            done="Both means are too small at the start, but the root of v much more so: hence the leap.",
        ),
    ),
    minutes=55,
)  # fmt: skip
