"""How many floating-point operations does an expression do? Known when compiling, but for what it may leave out.

One for each + - * / of floats and for each call of a built-in function (two for fma and mad), times the components of
a vector. Comparisons, conversions, moves and arithmetic of integers count as none. The recording form adds up what it
really evaluates: what stands behind `?:`, `&&` and `||` is counted there.
"""

from __future__ import annotations

import re

from . import tree
from .layout import BASES, Base, Pointer, Type, decay
from .tree import Expr, bare, chain
from .writer import ExpressionWriter

FLOATING = ("float", "double", "half")
_FLOAT_NUMBER = re.compile(r"0[xX].*[pP.]|(?!0[xX]).*[.eE]|(?!0[xX])\d+[fF]$")
_FLOAT_MACRO = re.compile(r"(FLT|DBL)_(MAX|MIN|EPSILON)|M_\w+|MAXFLOAT|HUGE_VALF?|INFINITY|NAN")
_NO_ARITHMETIC = re.compile(
    r"(convert|as|get|is|atomic|atom|vload|vstore|vloada|vstorea)_?\w*\d*$|select$|bitselect$|shuffle2?$|any$|all$|"
    r"signbit$|nan$|prefetch$|printf$|\w*mem_fence$|barrier$|work_group_barrier$"
)
_INTEGER = re.compile(r"(get|is|atomic|atom)_?\w+|any|all|signbit|ilogb|printf")
_ONE_NUMBER = ("dot", "length", "distance", "fast_length", "fast_distance")


def components(t: Type) -> int:
    """Of a floating-point type; 0 for all others."""
    return t.lanes if isinstance(t, Base) and t.scalar in FLOATING else 0


def floats(e: Expr) -> int:
    """The components of the floating-point value that `e` has; 0 where it has another one, or none."""
    e = bare(e)
    if e.floats is None:
        for part in chain(e)[1] if isinstance(e, tree.Binary) else ():  # the innermost first: each asks the one before
            part.floats = _floats(part) if part.floats is None else part.floats
        e.floats = _floats(e)
    return e.floats


def _floats(e: Expr) -> int:
    match e:
        case tree.Literal():
            return int(bool(_FLOAT_NUMBER.match(e.text)))
        case tree.Name(variable=None):
            return int(bool(_FLOAT_MACRO.fullmatch(e.name)))
        case tree.Unary():
            return floats(e.e) if e.op in "+-" else 0
        case tree.Binary():
            return max(floats(e.left), floats(e.right)) if e.op in "+-*/" else 0
        case tree.Comma():
            return floats(e.right)
        case tree.Conditional():
            return max(floats(e.yes), floats(e.no))
        case tree.Call(function=None):
            return _called(e)
    return components(e.type)


def _called(e: tree.Call) -> int:
    if m := re.fullmatch(r"(?:convert|as)_([a-z]+\d*)(?:_sat)?(?:_rt[ezpn])?", e.name):
        return components(BASES[m[1]]) if m[1] in BASES else 0
    if m := re.fullmatch(r"vloada?(_half)?(\d*)(_\w+)?", e.name):
        p = decay(e.args[-1].type, e.args[-1].space) if e.args else None
        moved = isinstance(p, Pointer) and components(p.target) > 0
        return int(m[2] or 1) if moved or m[1] else 0
    if e.name in _ONE_NUMBER:
        return 1
    return 0 if _INTEGER.fullmatch(e.name) else max(map(floats, e.args), default=0)


def operations(e: Expr) -> int:
    """What evaluating `e` does for certain: not what it may leave out, nor what called functions do."""
    e = bare(e)
    match e:
        case tree.Unary() | tree.Member() | tree.Swizzle() | tree.Cast() | tree.Deref() | tree.AddressOf():
            return operations(e.e)
        case tree.Binary():
            first, found = chain(e)
            own = sum(floats(x) for x in found if x.op in "+-*/")
            return own + operations(first) + sum(operations(x.right) for x in found if x.op not in ("&&", "||"))
        case tree.Comma():
            return operations(e.left) + operations(e.right)
        case tree.Conditional():
            return operations(e.test)
        case tree.Assign():
            own = components(e.left.type) if e.op in ("+=", "-=", "*=", "/=") else 0
            return own + operations(e.left) + operations(e.right)
        case tree.Increment():
            return components(e.e.type) + operations(e.e)
        case tree.Index():
            return operations(e.base) + operations(e.index)
        case tree.Lane():
            return operations(e.e) + operations(e.index)
        case tree.VectorLiteral():
            return sum(map(operations, e.items))
        case tree.Call():
            return sum(map(operations, e.args)) + (_built_in(e) if e.function is None else 0)
    return 0  # a list of initial values counts for each of them


def _built_in(e: tree.Call) -> int:
    if _NO_ARITHMETIC.match(e.name):
        return 0
    lanes = max(map(floats, e.args), default=0)
    if e.name == "dot":
        return max(2 * lanes - 1, 0)
    return lanes * (2 if e.name in ("fma", "mad") else 1)


class Counting(ExpressionWriter):
    """A mixin before a writer: what the code does, it adds to the work-item's count."""

    counting = False

    def counted(self, e: Expr, text: str) -> str:
        """`text`, which evaluates `e`, and before it the count."""
        n = operations(e) if self.counting else 0
        return f"(gg_did(gg, {n}u), {text})" if n else text

    def value_Conditional(self, e: tree.Conditional) -> str:
        yes, no = self.counted(e.yes, self.value(e.yes)), self.counted(e.no, self.value(e.no))
        return f"{self.value(e.test)} ? {yes} : {no}"

    def right(self, e: tree.Binary) -> str:
        text = super().right(e)
        return self.counted(e.right, text) if e.op in ("&&", "||") else text

    def value_InitList(self, e: tree.InitList) -> str:
        items = (self.counted(x, self.value(x)) for x in e.items)
        return "{" + ", ".join(self.text(a, b) + " " * (b > a) + x for x, (a, b) in zip(items, e.designators)) + "}"
