"""Integer constant expressions: array lengths, enumerators, `#if`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from . import tree


class Unsigned(int):
    """A number that C takes as unsigned: below 0 it goes on at the other end, which lies where its type says."""


def number(text: str) -> int | None:
    """The value of an integer or character literal."""
    m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", text)
    if m:
        digits = m.group(1)
        n = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits, 8) if digits[0] == "0" else int(digits)
        return Unsigned(n) if "u" in m.group(2).lower() else n
    return ord(text[1]) if re.fullmatch(r"'[^\\']'", text) else None


def _divide(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b),
    "<<": lambda a, b: a << min(b, 64), ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
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
            if x is None or (isinstance(x, Unsigned) and (e.op == "~" or (e.op == "-" and x))):
                return None
            return x if e.op == "+" else int(_UNARY[e.op](x))
        case tree.Conditional():
            x = constant(e.test)
            return None if x is None else constant(e.yes if x else e.no)
        case tree.Binary():
            first, found = tree.chain(e)
            x = constant(first)
            for part in found:
                x = None if x is None else _applied(x, part)
            return x
    return None


def _applied(x: int, e: tree.Binary) -> int | None:
    """x op right, x being the value of what is left."""
    if e.op in ("&&", "||") and bool(x) == (e.op == "||"):
        return int(bool(x))
    y = constant(e.right)
    if y is None or e.op in ("&&", "||"):
        return None if y is None else int(bool(y))
    if (e.op in "/%" and y == 0) or (e.op in ("<<", ">>") and y < 0):
        return None
    return _within(x, y, int(_BINARY[e.op](x, y)), e.op)


def _within(x: int, y: int, result: int, op: str) -> int | None:
    """The result of x op y, or None where C's own may be another one, as its types end somewhere."""
    if op in ("<<", ">>"):
        y = 0  # how far says nothing of the type
    unsigned = isinstance(x, Unsigned) or isinstance(y, Unsigned)
    if unsigned and (min(x, y, result) < 0 or result >= 1 << 32):
        return None
    if not -(1 << 63) <= result < 1 << 63:
        return None
    return Unsigned(result) if unsigned and op not in _COMPARISONS else result
