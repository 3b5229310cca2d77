"""Exercises of lesson 09: the chain rule, what broadcasting adds up, Functions, and kernels of the way back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up
from ..python_exercise import PythonExercise
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace


def _used_twice() -> list[float]:
    import gpugrad as gg

    a, b = gg.tensor(2.0, requires_grad=True), gg.tensor(3.0, requires_grad=True)
    found: Any = gg.grad((a + b) * a, [a, b])
    return [float(g.item()) for g in found]


def _column_and_row() -> list[float]:
    import gpugrad as gg

    column, row = gg.zeros(3, 1, requires_grad=True), gg.zeros(1, 4, requires_grad=True)
    found: Any = gg.grad((column + row).sum(), [column, row])
    return [float(g.numpy().flat[0]) for g in found]


def _two_derivatives() -> list[float]:
    import gpugrad as gg

    x = gg.tensor(2.0, requires_grad=True)
    first: Any
    second: Any
    (first,) = gg.grad(x**4, [x], create_graph=True)
    (second,) = gg.grad(first, [x])
    return [float(first.item()), float(second.item())]


def _gradients(function: Any, *arguments: np.ndarray) -> str:
    """What gradcheck and gradgradcheck say about a Function; "" where they pass."""
    import gpugrad as gg
    from gpugrad.errors import AutogradError, GradcheckError

    for check, name in ((gg.gradcheck, "gradient"), (gg.gradgradcheck, "second derivative")):
        inputs = [gg.tensor(a.astype("f4"), requires_grad=True) for a in arguments]
        try:
            check(function.apply, inputs)
        except (AutogradError, GradcheckError) as error:
            if "NumPy" in str(error):
                return "backward goes through NumPy, and nobody records that. Use what tensors can do, x.sigmoid() say."
            text = f"the {name} is not right. {error}"
            if name == "gradient":
                return text
            return (
                f"{text} The gradient is right, so look at what backward begins with: forward's inputs and output will "
                "do; what forward computes on its way is not recorded, and NumPy never is."
            )
    return ""


def _swish(swish: Any) -> str:
    import gpugrad as gg

    x = np.array([-3, -0.5, 0, 0.25, 2, 7], "f4")
    found = swish.apply(gg.tensor(x)).numpy()
    # the sigmoid is off by a few roundings
    if not np.allclose(found, x / (1 + np.exp(-x.astype("f8"))), atol=1e-5):
        return "forward does not give x * sigmoid(x)."
    return _gradients(swish, x[:5])


def _scale(scale: Any) -> str:
    import gpugrad as gg

    rng = np.random.default_rng(95)
    for n, c in ((3, 2), (1, 4), (3, 3)):
        x, factors = rng.standard_normal((n, c)), rng.standard_normal(c)
        found = scale.apply(gg.tensor(x.astype("f4")), gg.tensor(factors.astype("f4"))).numpy()
        # one product, of inputs rounded to float32
        if not np.allclose(found, x * factors, atol=1e-5):
            return "forward does not give x * scale."
        complaint = _gradients(scale, x, factors)
        if complaint:
            return f"with x of shape ({n}, {c}): {complaint}"
    return ""


def _bias(rng: np.random.Generator) -> Iterator[Case]:
    for N, C, L in ((2, 3, 5), (1, 1, 1), (4, 4, 4), (3, 10, 49)):
        g = rng.integers(-9, 10, (N, C, L)).astype("f4")  # whole numbers: added without rounding
        args = (g, Out(g.sum(axis=(0, 2))), N, C, L)
        yield Case(f"with N = {N}, C = {C}, L = {L}", args, (rounded_up(C, 4),), (4,))


def _tanh(rng: np.random.Generator) -> Iterator[Case]:
    def once(launch: "LaunchTrace") -> str:
        n = int(launch.args["n"])
        if loads(launch, "x"):
            return "right, but it reads x; out holds tanh(x) already."
        for name in ("out", "g"):
            if loads(launch, name) > n:
                return f"right, but it reads {name} {loads(launch, name)} times for {n} elements: use a variable."
        return ""

    for n in (7, 1, 301):
        x, g = (2 * rng.standard_normal((2, n))).astype("f4")
        out = np.tanh(x)
        expected = (g * (1 - np.tanh(x.astype("f8")) ** 2)).astype("f4")
        # 1 - out^2 cancels: out's rounding, 6e-8, doubled, times g of at most about 8
        args = (x, out, g, Out(expected, tolerance=2e-6), n)
        yield Case(f"with n = {n}", args, (rounded_up(n, 8),), (8,), demand=once)


LESSON = Lesson(
    "09_autograd",
    "Autograd: who has changed what",
    "How does one number at the end tell each parameter at the beginning where to go?",
    exercises=(
        Prediction(
            "09.1", "predict", "Used twice",
            hints=(
                "The product hands g * a to the sum, and g * (a + b) to a. That is 2 and 5.",
                "The sum hands its 2 on to a and to b. What comes from several sides adds up.",
            ),
            truth=_used_twice,
            why="a is told 5 by the product and 2 by the sum, b only 2 by the sum.",
            misconceptions=(
                ([5, 2], "a is used in the sum, too: what it is told there comes on top."),
                ([2, 2], "a is used in the product, too: what it is told there comes on top."),
                ([5, 5], "The sum gets g * a from the product."),
                ([7, 7], "b is used once only, in the sum."),
            ),
        ),
        Prediction(
            "09.2", "predict", "A column and a row",
            hints=(
                "The result has 3 rows of 4. In how many of its elements is the column's first number used?",
                "In a row of 4 elements, and each hands back 1.",
            ),
            truth=_column_and_row,
            why="The column's number is used in 4 elements, the row's in 3; each of them hands back 1.",
            misconceptions=(
                ([3, 4], "Exchanged: the column's number stands in a row of the result, which has 4 elements."),
                ([1, 1], "Each number is used in several elements; what they hand back adds up."),
                ([12, 12], "12 elements in all, but a number is not used in all of them."),
            ),
        ),
        Prediction(
            "09.3", "predict", "Twice",
            hints=(
                "The derivative of x ** n is n * x ** (n - 1).",
                "4 * x ** 3, and then 12 * x ** 2.",
            ),
            truth=_two_derivatives,
            why="4 * 8 is 32, and 12 * 4 is 48.",
            misconceptions=(
                ([16, 32], "16 is y itself; the question is for its first two derivatives."),
                ([32, 32], "The second derivative is the derivative of 4 * x ** 3."),
                ([32, 16], "The 3 of x ** 3 comes down as a factor, too: 4 * 3 * x ** 2."),
                ([8, 12], "Do not forget the 4 that comes down, and that x is 2."),
            ),
        ),
        PythonExercise(
            "09.4", "write Python", "Swish",
            hints=(
                "x * s is a product, and x is in both factors: two terms.",
                "The first is s, the second is x times the derivative of s.",
                "g * (s + x * s * (1 - s))",
            ),
            function="Swish", complaint=_swish,
            done="As backward is made of operations, the second derivative came for free.",
        ),
        PythonExercise(
            "09.5", "find the bug", "A gradient that is too large",
            hints=(
                "A gradient has the shape of what it belongs to. Which of the two has not?",
                "scale was used once for each of the N rows: what the rows hand back adds up.",
                "(g * x).sum(dim=0)",
            ),
            function="Scale", complaint=_scale,
            done="Broadcast forwards, sum backwards.",
        ),
        KernelExercise(
            "09.6", "write a kernel", "The gradient of a bias",
            hints=(
                "Two loops, over the images and over the pixels, and one sum.",
                "Element (n, c, l) lies at (n * C + c) * L + l.",
                "Guard: there may be more work-items than channels.",
            ),
            kernel="bias_gradient", cases=_bias,
            done="No race: each channel has one owner. For long sums the package takes a tree, as in lesson 02.",
        ),
        KernelExercise(
            "09.7", "make it faster", "Use what is there",
            hints=(
                "out[i] is tanh(x[i]).",
                "float y = out[i]; reads it once.",
                "gx[i] = g[i] * (1 - y * y);",
            ),
            kernel="tanh_gradient", cases=_tanh,
            done="That is why tanh keeps its output for backward, and not its input. exp and sigmoid do the same.",
        ),
    ),
)  # fmt: skip
