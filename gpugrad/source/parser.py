"""Statements, functions and the whole text: tokens in, syntax tree out."""

from __future__ import annotations

from .declarations import Declarations
from .layout import Pointer, Type
from .lexer import Source, Token
from .tree import (
    Call,
    Compound,
    Declaration,
    Expr,
    ExprStatement,
    Function,
    If,
    Jump,
    Loop,
    Node,
    Prefixed,
    Return,
    Switch,
    Variable,
    Verbatim,
)  # fmt: skip

LOOPS = ("for", "while", "do")


class Parser(Declarations):
    def __init__(self, source: Source, tokens: list[Token], half_is_storage: bool = False) -> None:
        super().__init__(source, tokens, half_is_storage)
        self.functions: dict[str, Function] = {}
        self.calls: list[Call] = []
        self.labels: dict[str, int] = {}  # of the function at hand, so far: their tokens

    def unit(self) -> list[Node]:
        """The declarations and functions of the text, in order."""
        items: list[Node] = []
        while self.tokens[self.i].kind != "end":
            if self.tokens[self.i].kind == "pragma":
                self.i += 1
                items.append(Verbatim(self.i - 1, self.i))
            elif not self.accept(";"):
                items.append(self.external())
        for call in self.calls:
            call.function = self.functions.get(call.name)
        return items

    def external(self) -> Node:
        start = self.i
        base, space, words = self.specifiers()
        if "typedef" in words:
            return self.typedef(start, base, space, words)
        spec_end = self.i
        if self.current != ";":
            name, t, _ = self.declarator(base, space, words)
            if self.current == "(":
                if not name:
                    self.fail("expected a function's name")
                return self.function(start, name, self.i - 1, t, "kernel" in words)
            self.i = spec_end
        return self.declaration(start, spec_end, base, space, words)

    def function(self, start: int, name: str, name_at: int, returns: Type, kernel: bool) -> Function:
        params = self.parameters()
        for p in params if kernel else []:
            if isinstance(p.type, Pointer) and p.type.space == "private":
                why = "what a kernel is given lies in __global, __constant or __local memory: write one of them first"
                raise self.source.error(f"{p.name or 'a parameter'} points to private memory: {why}", self.tokens[p.t0])
        self.attributes()
        known = {p.name: Variable(p.name, p.type, "private") for p in params if p.name}
        f = Function(start, self.i, name, name_at, self.object_type(returns, "private"), params, kernel, known)
        before = self.functions.get(name)
        if before is not None and before.body is not None:
            raise self.source.error(f"there are two functions named {name}", self.tokens[name_at])
        self.functions[name] = f
        if self.accept(";"):
            return f
        self.scopes.append(known)
        self.labels = {}
        f.body = self.compound()
        self.scopes.pop()
        f.t1 = self.i
        return f

    def compound(self) -> Compound:
        start = self.i
        self.eat("{")
        self.scopes.append({})
        body: list[Node] = []
        while not self.accept("}"):
            if self.tokens[self.i].kind == "end":
                self.fail("expected '}'")
            body.append(self.statement())
        self.scopes.pop()
        return Compound(start, self.i, body)

    def statement(self) -> Node:
        start, word = self.i, self.current
        if self.tokens[start].kind == "pragma":
            self.i += 1
            return self.prefixed(start)
        if word == "{":
            return self.compound()
        if word == "__attribute__":
            self.attributes()
            if self.current in LOOPS:
                return self.prefixed(start)
            self.i = start
        if word == "if":
            self.i += 1
            test = self.parenthesised()
            then = self.statement()
            other = self.statement() if self.accept("else") else None
            return If(start, self.i, test, then, other)
        if word in LOOPS:
            return self.loop(word)
        if word == "switch":
            self.i += 1
            test = self.parenthesised()
            body = self.statement()
            return Switch(start, self.i, test, body)
        if word in ("break", "continue"):
            self.i += 1
            self.eat(";")
            return Jump(start, self.i, word)
        if word == "goto":
            self.i += 1
            back = self.labels.get(self.identifier("a label"))
            self.eat(";")
            return Jump(start, self.i, word, back)
        if word == "return":
            self.i += 1
            e = None if self.current == ";" else self.expression()
            self.eat(";")
            return Return(start, self.i, e)
        if word == "case":
            self.i += 1
            self.conditional()
            self.eat(":")
            return self.prefixed(start)
        if self.tokens[start].kind == "id" and self.peek() == ":":
            self.labels[self.identifier("a label")] = start
            self.eat(":")
            return self.prefixed(start)
        return self.simple()

    def prefixed(self, start: int) -> Node:
        """The statement that belongs to what was just read; nothing is there at the end of a block."""
        opened = self.i
        if self.current == "}":
            return Verbatim(start, opened)
        body = self.statement()
        return Prefixed(start, self.i, opened, body)

    def loop(self, word: str) -> Loop:
        start = self.i
        self.i += 1
        if word == "while":
            test = self.parenthesised()
            body = self.statement()
            return Loop(start, self.i, word, None, test, None, body)
        if word == "do":
            body = self.statement()
            self.eat("while")
            test = self.parenthesised()
            self.eat(";")
            return Loop(start, self.i, word, None, test, None, body)
        self.eat("(")
        self.scopes.append({})
        init = self.simple()
        condition = None if self.current == ";" else self.expression()
        self.eat(";")
        step = None if self.current == ")" else self.expression()
        self.eat(")")
        body = self.statement()
        self.scopes.pop()
        return Loop(start, self.i, word, init, condition, step, body)

    def parenthesised(self) -> Expr:
        self.eat("(")
        e = self.expression()
        self.eat(")")
        return e

    def simple(self) -> Node:
        """A declaration, an expression or nothing, up to its semicolon."""
        start = self.i
        if self.accept(";"):
            return Verbatim(start, self.i)
        if self.is_type():
            base, space, words = self.specifiers()
            if "typedef" in words:
                return self.typedef(start, base, space, words)
            made: Declaration = self.declaration(start, self.i, base, space, words)
            return made
        e = self.expression()
        self.eat(";")
        return ExprStatement(start, self.i, e)
