"""Integer constant expressions: array lengths, enumerators, `#if`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from . import tree


def number(text: str) -> int | None:
    """The value of an integer or character literal."""
    m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text)
    if m:
        digits = m.group(1)
        return int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits, 8) if digits[0] == "0" else int(digits)
    return ord(text[1]) if re.fullmatch(r"'[^\\']'", text) else None


def _divide(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b),
    "<<": lambda a, b: a << min(b, 64), ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "!": operator.not_,
}  # fmt: skip


def constant(e: tree.Node | None) -> int | None:
    """The value of an integer constant expression, or None where this cannot tell."""
    match e:
        case tree.Literal():
            return number(e.text)
        case tree.Name(variable=v) if v is not None:
            return v.value
        case tree.SizeOf():
            return e.bytes
        case tree.Paren():
            return constant(e.e)
        case tree.Unary():
            x = constant(e.e)
            return None if x is None else int(_UNARY[e.op](x))
        case tree.Conditional():
            x = constant(e.test)
            return None if x is None else constant(e.yes if x else e.no)
        case tree.Binary(op="&&" | "||"):
            x = constant(e.left)
            if x is None or bool(x) == (e.op == "||"):
                return None if x is None else int(bool(x))
            y = constant(e.right)
            return None if y is None else int(bool(y))
        case tree.Binary():
            x, y = constant(e.left), constant(e.right)
            if x is None or y is None or (e.op in "/%" and y == 0) or (e.op in ("<<", ">>") and y < 0):
                return None
            return int(_BINARY[e.op](x, y))
    return None
