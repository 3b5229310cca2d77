"""The element-wise operations by name: what each computes, in OpenCL C, for the kinds of dtypes that have it.

`a` and `b` are of the type that is computed in (A: float, double or int). An operation without a text for a kind
does not take it.
"""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """What an operation computes of floating-point numbers, integers and booleans."""

    floats: str | None = None
    ints: str | None = None
    bools: str | None = None

    def text(self, kind: str) -> str | None:
        """The expression for a dtype of NumPy's kind f, i, u or b."""
        return {"f": self.floats, "b": self.bools}.get(kind, self.ints)


def _everything(text: str) -> Operation:
    return Operation(text, text, text)


UNARY = {
    "copy": _everything("a"),
    "neg": Operation("-a", "-a"),
    "abs": Operation("fabs(a)", "abs(a)"),
    "sign": Operation("(0 < a) - (a < 0)", "(0 < a) - (a < 0)"),
    "square": Operation("a * a", "a * a"),
    "cube": Operation("a * a * a", "a * a * a"),
    "reciprocal": Operation("1 / a"),
    "exp": Operation("exp(a)"),
    "log": Operation("log(a)"),
    "sqrt": Operation("sqrt(a)"),
    "rsqrt": Operation("1 / sqrt(a)"),
    "sin": Operation("sin(a)"),
    "cos": Operation("cos(a)"),
    # a < 0 is false for NaN, which stays; fmax would lose it
    "relu": Operation("a < 0 ? 0 : a", "a < 0 ? 0 : a"),
    # where exp(-a) overflows to infinity, the quotient is 0
    "sigmoid": Operation("1 / (1 + exp(-a))"),
    "tanh": Operation("tanh(a)"),
    "gelu": Operation("(A)0.5 * a * (1 + erf(a * (A)0.70710678118654752440))"),
    "gelu_slope": Operation(
        "(A)0.5 * (1 + erf(a * (A)0.70710678118654752440)) + a * (A)0.39894228040143267794 * exp((A)-0.5 * a * a)"
    ),
    "logical_not": _everything("!a"),
}

BINARY = {
    "add": Operation("a + b", "a + b", "a || b"),
    "sub": Operation("a - b", "a - b"),
    "mul": Operation("a * b", "a * b", "a && b"),
    "div": Operation("a / b"),
    "pow": Operation("pow(a, b)", "int_power(a, b)"),
    # a != a holds for NaN only: NaN wins
    "maximum": Operation("a > b || a != a ? a : b", "a > b ? a : b", "a || b"),
    "minimum": Operation("a < b || a != a ? a : b", "a < b ? a : b", "a && b"),
    # what goes to a of the gradient of maximum(a, b): half of it in a tie
    "maximum_share": Operation("a < b ? (A)0 : a == b ? (A)0.5 : (A)1"),
    "minimum_share": Operation("a > b ? (A)0 : a == b ? (A)0.5 : (A)1"),
    # b is the slope on the negative side
    "leaky_relu": Operation("a > 0 ? a : a * b"),
    "leaky_relu_slope": Operation("a > 0 ? (A)1 : b"),
    # an activation of x + bias, in one pass over memory
    "add_relu": Operation("a + b < 0 ? 0 : a + b"),
    "add_sigmoid": Operation("1 / (1 + exp(-(a + b)))"),
    "add_tanh": Operation("tanh(a + b)"),
    # gradients: a is the incoming one, b the function's result
    "relu_backward": Operation("b <= 0 ? 0 : a"),
    "sigmoid_backward": Operation("a * b * (1 - b)"),
    "tanh_backward": Operation("a * (1 - b * b)"),
}

COMPARE = {
    "eq": _everything("a == b"),
    "ne": _everything("a != b"),
    "lt": _everything("a < b"),
    "le": _everything("a <= b"),
    "gt": _everything("a > b"),
    "ge": _everything("a >= b"),
    "logical_and": _everything("a && b"),
    "logical_or": _everything("a || b"),
    "logical_xor": _everything("!a != !b"),
}

OPERATIONS = {**UNARY, **BINARY, **COMPARE}
