"""Expressions. Only what reaches memory gets a type; the device's compiler types ordinary arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from . import opencl
from .cursor import Cursor
from .layout import BASES, UNKNOWN, Array, Base, Pointer, Record, Type, component_numbers, decay
from .tree import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Cast,
    Comma,
    Conditional,
    Deref,
    Expr,
    Function,
    Increment,
    Index,
    InitList,
    Lane,
    Literal,
    Member,
    Name,
    Paren,
    SizeOf,
    Swizzle,
    Unary,
    VectorLiteral,
)  # fmt: skip

LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
RANK = {op: rank for rank, level in enumerate(LEVELS) for op in level.split()}
ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])


class Expressions(Cursor, ABC):
    functions: dict[str, Function]
    calls: list[Call]
    tags: dict[str, Record]

    @abstractmethod
    def is_type(self) -> bool:
        """Does a type begin here?"""

    @abstractmethod
    def type_name(self, stored: bool = False) -> Type:
        """A type without a name, as in a cast; `stored`: as it is in memory, for sizeof."""

    def make(self, node: type[Any], start: int, *args: Any, type: Type = UNKNOWN, space: str | None = None) -> Any:
        return node(start, self.i, *args, type=type, space=space)

    def expression(self) -> Expr:
        start, e = self.i, self.assignment()
        while self.accept(","):
            right = self.assignment()
            e = self.make(Comma, start, e, right, type=decay(right.type, right.space))
        return e

    def assignment(self) -> Expr:
        start, e = self.i, self.conditional()
        if self.current in ASSIGNMENTS:
            op = self.current
            self.i += 1
            e = self.make(Assign, start, op, e, self.assignment(), type=e.type)
        return e

    def conditional(self) -> Expr:
        start, test = self.i, self.binary(0)
        if not self.accept("?"):
            return test
        yes = self.expression()
        self.eat(":")
        no = self.conditional()
        a, b = decay(yes.type, yes.space), decay(no.type, no.space)
        return self.make(Conditional, start, test, yes, no, type=a if isinstance(a, Pointer | Record) else b)

    def binary(self, lowest: int) -> Expr:
        """Operators of at least that rank."""
        start, e = self.i, self.unary()
        while (rank := RANK.get(self.current, -1)) >= lowest:
            op = self.current
            self.i += 1
            right = self.binary(rank + 1)
            a, b = decay(e.type, e.space), decay(right.type, right.space)
            ours: Type = UNKNOWN
            if op in "+-" and isinstance(a, Pointer) != isinstance(b, Pointer):
                ours = a if isinstance(a, Pointer) else b
            e = self.make(Binary, start, op, e, right, type=ours)
        return e

    def unary(self) -> Expr:
        start, op = self.i, self.current
        if op in ("++", "--"):
            self.i += 1
            e = self.unary()
            return self.make(Increment, start, op, True, e, type=e.type)
        if op == "*":
            self.i += 1
            e = self.unary()
            p = decay(e.type, e.space)
            if not isinstance(p, Pointer):
                self.refuse("cannot tell what this pointer points to; put it in a variable of pointer type", start)
            return self.make(Deref, start, e, type=p.target, space=p.space)
        if op == "&":
            self.i += 1
            e = self.unary()
            return self.make(AddressOf, start, e, type=Pointer(e.type, e.space or "private"))
        if op in ("-", "+", "!", "~"):
            self.i += 1
            return self.make(Unary, start, op, self.unary())
        if op == "sizeof":
            return self.size_of()
        if op == "(":
            self.i += 1
            if self.is_type():
                return self.cast(start)
            self.i = start
        return self.postfix(self.primary(), start)

    def size_of(self) -> Expr:
        start = self.i
        self.i += 1
        if self.current == "(":
            self.i += 1
            if self.is_type():
                measured = self.type_name(stored=True)
                self.eat(")")
                return self.make(SizeOf, start, measured.size or None)
            self.i -= 1
        e = self.unary()
        return self.make(SizeOf, start, e.type.size or None)

    def cast(self, start: int) -> Expr:
        to = self.type_name()
        self.eat(")")
        opened = self.i
        if self.current == "{":
            return self.postfix(self.make(Cast, start, opened, self.initializer(), type=to), start)
        if self.current == "(" and isinstance(to, Base) and to.lanes > 1:  # (float4)(a, b, c, d)
            self.i += 1
            items = [self.assignment()]
            while self.accept(","):
                items.append(self.assignment())
            self.eat(")")
            return self.postfix(self.make(VectorLiteral, start, opened, items, type=to), start)
        return self.make(Cast, start, opened, self.unary(), type=to)

    def initializer(self) -> Expr:
        start = self.i
        if not self.accept("{"):
            return self.assignment()
        items: list[Expr] = []
        designators: list[tuple[int, int]] = []
        while not self.accept("}"):
            before = self.i
            while self.current in (".", "["):
                if self.accept("."):
                    self.identifier("a field's name")
                else:
                    self.i += 1
                    self.conditional()
                    self.eat("]")
            if self.i > before:
                self.eat("=")
            designators.append((before, self.i))
            items.append(self.initializer())
            if not self.accept(","):
                self.eat("}")
                break
        return self.make(InitList, start, items, designators)

    def primary(self) -> Expr:
        start, token = self.i, self.tokens[self.i]
        if self.accept("("):
            if self.current == "{":
                self.refuse("a statement inside an expression is not OpenCL C")
            e = self.expression()
            self.eat(")")
            return self.make(Paren, start, e, type=e.type, space=e.space)
        if token.kind == "id":
            name = self.identifier("an expression")
            v = self.lookup(name)
            return self.make(Name, start, name, v, type=v.type if v else UNKNOWN, space=v.space if v else None)
        if token.kind not in ("num", "str"):
            self.fail("expected an expression")
        self.i += 1
        while token.kind == "str" and self.tokens[self.i].kind == "str":
            self.i += 1
        return self.make(Literal, start, token.text)

    def postfix(self, e: Expr, start: int) -> Expr:
        while True:
            op = self.current
            if op == "[":
                e = self.subscript(e, start)
            elif op in (".", "->"):
                e = self.field(e, start, op)
            elif op in ("++", "--"):
                self.i += 1
                e = self.make(Increment, start, op, False, e, type=e.type)
            elif op == "(" and isinstance(e, Name):
                e = self.call(e, start)
            else:
                return e

    def subscript(self, e: Expr, start: int) -> Expr:
        self.eat("[")
        i = self.expression()
        self.eat("]")
        if not isinstance(decay(e.type, e.space), Pointer) and isinstance(i.type, Pointer | Array):
            e, i = i, e  # n[p] is p[n]
        p = decay(e.type, e.space)
        if isinstance(p, Pointer):
            return self.make(Index, start, e, i, type=p.target, space=p.space)
        if isinstance(e.type, Base) and e.type.lanes > 1:
            return self.make(Lane, start, e, i, type=BASES[e.type.scalar], space=e.space)
        self.refuse("cannot tell what is indexed here; put it in a variable first", start)

    def field(self, e: Expr, start: int, op: str) -> Expr:
        self.i += 1
        name = self.identifier("a field's name")
        if op == "->":
            p = decay(e.type, e.space)
            if not isinstance(p, Pointer):
                self.refuse("cannot tell what -> points to; put the pointer in a variable first", start)
            e = Deref(start, e.t1, e, type=p.target, space=p.space)
        t = e.type
        if isinstance(t, Record):
            t = self.tags.get(t.name.split(" ")[-1], t) if not t.fields else t  # declared before it was defined
            found = dict(t.fields).get(name)
            if found is None:
                raise self.source.error(f"{t.name or 'this struct'} has no field {name}", self.tokens[self.i - 1])
            return self.make(Member, start, e, name, type=found, space=e.space)
        lanes = component_numbers(name, t.lanes) if isinstance(t, Base) and t.lanes > 1 else []
        if isinstance(t, Base) and t.lanes > 1 and (not lanes or max(lanes) >= t.lanes + (t.lanes == 3)):
            raise self.source.error(f"a {t.name} has no component {name}", self.tokens[self.i - 1])
        if not lanes and e.space is not None:
            raise self.source.error(
                f"only structs and vectors have parts, so .{name} is nothing", self.tokens[self.i - 1]
            )
        size = "" if len(lanes) == 1 else str(len(lanes))
        made = BASES.get(t.scalar + size, UNKNOWN) if lanes and isinstance(t, Base) else UNKNOWN
        return self.make(Swizzle, start, e, name, lanes, type=made, space=e.space)

    def call(self, e: Name, start: int) -> Expr:
        why = opencl.refused(e.name) if e.name not in self.functions else ""
        if why:
            self.refuse(f"{e.name}() is not supported: {why}", start)
        self.eat("(")
        args: list[Expr] = []
        while self.current != ")":
            args.append(self.assignment())
            if not self.accept(","):
                break
        self.eat(")")
        f = self.functions.get(e.name)
        made = self.make(Call, start, e.name, args, f, type=f.returns if f else UNKNOWN)
        self.calls.append(made)
        return made
