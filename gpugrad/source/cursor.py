"""A place in the token stream, the names in scope there, and how to complain about it."""

from __future__ import annotations

import re
from typing import NoReturn

from . import opencl
from .layout import BASES, Type
from .lexer import Source, Token
from .tree import Variable


class Cursor:
    def __init__(self, source: Source, tokens: list[Token], half_is_storage: bool = False) -> None:
        self.source, self.tokens, self.i = source, tokens, 0
        self.half_is_storage = half_is_storage
        self.types: dict[str, Type] = dict(BASES)
        self.scopes: list[dict[str, Variable]] = [{}]

    @property
    def current(self) -> str:
        return self.tokens[self.i].text

    def peek(self, k: int = 1) -> str:
        return self.tokens[min(self.i + k, len(self.tokens) - 1)].text

    def advance(self) -> None:
        if self.i < len(self.tokens) - 1:
            self.i += 1

    def fail(self, reason: str) -> NoReturn:
        found = repr(self.current) if self.current else "the end of the text"
        raise self.source.error(f"{reason}, found {found}", self.tokens[self.i])

    def refuse(self, reason: str, at: int | None = None) -> NoReturn:
        raise self.source.unsupported(reason, self.tokens[self.i if at is None else at])

    def eat(self, text: str) -> None:
        if not self.accept(text):
            if text in ";)]" and self.i and self.tokens[self.i].first:  # it is missing at the end of the line before
                last = self.tokens[self.i - 1]
                raise self.source.error(f"expected {text!r} after {last.text!r}", last)
            self.fail(f"expected {text!r}")

    def accept(self, text: str) -> bool:
        if self.current != text or self.tokens[self.i].kind in ("end", "str"):
            return False
        self.i += 1
        return True

    def identifier(self, what: str) -> str:
        if self.tokens[self.i].kind != "id":
            self.fail(f"expected {what}")
        self.check_word()
        self.i += 1
        return self.tokens[self.i - 1].text

    def check_word(self) -> None:
        """Refuse words whose meaning the pass does not know, and the names that it makes up itself."""
        if self.tokens[self.i].kind != "id":
            return
        if self.current in opencl.FORBIDDEN_WORDS:
            self.refuse(f"{self.current} is not supported: {opencl.FORBIDDEN_WORDS[self.current]}")
        if re.match(r"gg(_|$)", self.current):
            self.refuse(f"gg and names that begin with gg_ are the tracer's own; rename {self.current}")

    def lookup(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def skip_parentheses(self) -> None:
        """Past a balanced ( ... )."""
        self.eat("(")
        depth = 1
        while depth:
            if self.tokens[self.i].kind == "end":
                self.fail("expected ')'")
            depth += (self.current == "(") - (self.current == ")")
            self.i += 1
