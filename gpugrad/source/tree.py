"""The syntax tree. A node covers the tokens t0 .. t1-1; an expression knows its type and where its object lives.

`space` is None for a value, else the address space of the object that the expression names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from .layout import UNKNOWN, Type


@dataclass(eq=False)
class Node:
    t0: int
    t1: int


@dataclass(eq=False)
class Variable:
    name: str
    type: Type
    space: str
    value: int | None = None  # of an enumerator or a constant int
    buffer: int | None = None  # its buffer number, for arguments and local arrays
    object: int | None = None  # its number among the private variables that pointers may lead to
    shadow: str = ""  # the C variable that says which buffer (or private object) this pointer points into


# ---- expressions


@dataclass(eq=False)
class Expr(Node):
    type: Type = field(default=UNKNOWN, kw_only=True)
    space: str | None = field(default=None, kw_only=True)
    floats: int | None = field(default=None, kw_only=True)  # what operations.py found of it, so that it asks once


@dataclass(eq=False)
class Name(Expr):
    name: str
    variable: Variable | None


@dataclass(eq=False)
class Literal(Expr):
    text: str


@dataclass(eq=False)
class SizeOf(Expr):
    bytes: int | None


@dataclass(eq=False)
class Paren(Expr):
    e: Expr


@dataclass(eq=False)
class Unary(Expr):  # - + ! ~
    op: str
    e: Expr


@dataclass(eq=False)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Comma(Expr):
    left: Expr
    right: Expr


@dataclass(eq=False)
class Conditional(Expr):
    test: Expr
    yes: Expr
    no: Expr


@dataclass(eq=False)
class Assign(Expr):
    op: str  # "=" or "+=" ...
    left: Expr
    right: Expr


@dataclass(eq=False)
class Increment(Expr):
    op: str  # "++" or "--"
    prefix: bool
    e: Expr


@dataclass(eq=False)
class Deref(Expr):
    e: Expr


@dataclass(eq=False)
class AddressOf(Expr):
    e: Expr


@dataclass(eq=False)
class Index(Expr):
    base: Expr
    index: Expr


@dataclass(eq=False)
class Lane(Expr):  # v[i] of a vector
    e: Expr
    index: Expr


@dataclass(eq=False)
class Member(Expr):  # s.x of a struct; p->x is the member of (*p)
    e: Expr
    name: str


@dataclass(eq=False)
class Swizzle(Expr):  # v.xy
    e: Expr
    name: str
    lanes: list[int]


@dataclass(eq=False)
class Cast(Expr):
    open_end: int  # the tokens t0 .. open_end-1 are "(type)"
    e: Expr


@dataclass(eq=False)
class VectorLiteral(Expr):
    open_end: int
    items: list[Expr]


@dataclass(eq=False)
class InitList(Expr):
    items: list[Expr]
    designators: list[tuple[int, int]]  # token ranges, empty where an item has none


@dataclass(eq=False)
class Call(Expr):
    name: str
    args: list[Expr]
    function: Function | None


# ---- statements


@dataclass(eq=False)
class Compound(Node):
    body: list[Node]


@dataclass(eq=False)
class ExprStatement(Node):
    e: Expr


@dataclass(eq=False)
class Declarator(Node):
    variable: Variable
    name_end: int  # t0 .. name_end-1 are the declarator without its initialiser
    init: Expr | None


@dataclass(eq=False)
class Declaration(Node):
    spec_end: int
    declarators: list[Declarator]


@dataclass(eq=False)
class Typedef(Node):
    name: str
    type: Type


@dataclass(eq=False)
class If(Node):
    test: Expr
    then: Node
    other: Node | None


@dataclass(eq=False)
class Loop(Node):
    word: str  # for while do
    init: Node | None
    test: Expr | None
    step: Expr | None
    body: Node


@dataclass(eq=False)
class Switch(Node):
    test: Expr
    body: Node


@dataclass(eq=False)
class Return(Node):
    e: Expr | None


@dataclass(eq=False)
class Jump(Node):
    word: str  # break continue goto
    back: int | None = None  # of a goto backwards: the token of its label


@dataclass(eq=False)
class Verbatim(Node):
    """Empty statements, and pragmas outside functions: written out as they stand."""


@dataclass(eq=False)
class Prefixed(Node):
    """A statement after a label, an attribute or a pragma (`#pragma unroll` belongs to the loop behind it)."""

    open_end: int  # t0 .. open_end-1 are the prefix
    body: Node


@dataclass(eq=False)
class Parameter(Node):
    name: str
    type: Type


@dataclass(eq=False)
class Function(Node):
    name: str
    name_at: int  # the token of the name
    returns: Type
    params: list[Parameter]
    kernel: bool
    variables: dict[str, Variable]
    body: Compound | None = None  # None: a prototype


@cache
def _parts(kind: Any) -> tuple[str, ...]:
    """The attributes that can hold nodes."""
    plain = {"t0", "t1", "type", "space", "floats", "name", "op", "word", "back", "variable", "variables", "text",
             "lanes", "designators"}  # fmt: skip
    return tuple(f.name for f in fields(kind) if f.name not in plain)


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, in the order of the text (not into called functions)."""
    left = [node]  # a generator within a generator would take a long expression's depth for every node of it
    while left:
        node = left.pop()
        yield node
        left += reversed(below(node))


def below(node: Node) -> list[Node]:
    """The nodes right below one, in the order of the text."""
    kind: Any = type(node)
    values = (getattr(node, name) for name in _parts(kind))
    every = [child for value in values for child in (value if isinstance(value, list) else (value,))]
    return [x for x in every if isinstance(x, Node) and not isinstance(x, Function)]


def chain(e: Binary) -> tuple[Expr, list[Binary]]:
    """`a + b - c` -> a, and the operators in the order in which they apply: a sum of thousands needs no recursion."""
    found: list[Binary] = []
    first: Expr = e
    while isinstance(first, Binary):
        found.append(first)
        first = first.left
    return first, found[::-1]


def bare(e: Expr) -> Expr:
    """The expression without the parentheses around it."""
    while isinstance(e, Paren):
        e = e.e
    return e
