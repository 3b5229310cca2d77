"""Preprocessor directives: what the device's compiler would see, as tokens that know their origin.

`#include` is refused (a kernel stands alone), and so is a question about a macro that only the device
can answer: guessing could choose another branch than the plain build takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from . import opencl
from .constants import constant
from .lexer import Source, Token, tokenize
from .macros import Expander, Macro
from .parser import Parser


@lru_cache(4096)
def definition(name: str, value: str) -> list[Token]:
    """The tokens of a macro from outside the text: most are the same for every text. Nobody changes them."""
    return tokenize(Source(f"{name} {value}"))[:-1]


class Preprocessor:
    def __init__(self, source: Source, defines: Mapping[str, str], extensions: frozenset[str]) -> None:
        self.source = source
        self.macros: dict[str, Macro] = {}
        self.extensions = extensions
        for name, value in {**opencl.PREDEFINED, **dict.fromkeys(extensions, "1"), **defines}.items():
            words = definition(name, value)
            self.define(words[0], words)
        self.expander = Expander(source, self.macros)
        # One entry for each open #if: (its token, is this branch live, has any branch been live, seen #else)
        self.conditions: list[list] = []

    def run(self) -> list[Token]:
        out: list[Token] = []
        text: list[Token] = []
        tokens = tokenize(self.source)
        i = 0
        while tokens[i].kind != "end":
            if tokens[i].text == "#" and tokens[i].first:
                j = i + 1
                while not tokens[j].first:
                    j += 1
                line = tokens[i + 1 : j]
                if line:
                    out += self.expander.expand(text)
                    text = []
                    out += self.directive(tokens[i], line)
                i = j
                continue
            if self.live:
                text.append(tokens[i])
            i += 1
        out += self.expander.expand(text)
        if self.conditions:
            raise self.source.error("this #if has no #endif", self.conditions[-1][0])
        for t in out:
            if t.text in ("#", "##") and t.kind == "op":
                raise self.source.error(f"{t.text} outside a macro", t)
        return [*out, tokens[-1]]

    @property
    def live(self) -> bool:
        return not self.conditions or self.conditions[-1][1]  # which says so of those around it, too

    def directive(self, hash_: Token, line: list[Token]) -> list[Token]:
        name, rest = line[0], line[1:]
        if name.text in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self.condition(name, rest)
        elif not self.live:
            pass
        elif name.text == "define":
            self.define(name, rest)
        elif name.text == "undef":
            if len(rest) != 1 or rest[0].kind != "id":
                raise self.source.error("#undef takes one name", name)
            self.macros.pop(rest[0].text, None)
        elif name.text == "pragma":
            end = line[-1].end
            return [Token("pragma", self.source.text[hash_.start : end], hash_.start, end, hash_.line, first=True)]
        elif name.text == "error":
            raise self.source.error("#error " + " ".join(t.text for t in rest), name)
        elif name.text != "warning":
            reason = "a kernel stands alone: paste the text here" if name.text == "include" else "not handled"
            raise self.source.unsupported(f"#{name.text} is not supported ({reason})", name)
        return []

    def define(self, at: Token, rest: list[Token]) -> None:
        if not rest or rest[0].kind != "id":
            raise self.source.error("#define needs a name", at)
        name, params, variadic, body = rest[0].text, None, False, rest[1:]
        if body and body[0].text == "(" and not body[0].spaced:
            words, i = [], 1
            while i < len(body) and body[i].text != ")":
                words.append(body[i].text)
                i += 1
            if i == len(body):
                raise self.source.error(f"the parameters of macro {name} are never closed by ')'", rest[0])
            params, body = words[::2], body[i + 1 :]
            if any(w != "," for w in words[1::2]) or (words and len(words) % 2 == 0):
                raise self.source.error(f"cannot read the parameters of macro {name}", rest[0])
            if params and params[-1] == "...":
                variadic, params[-1] = True, "__VA_ARGS__"
        self.macros[name] = Macro(name, params, variadic, body)

    def condition(self, name: Token, rest: list[Token]) -> None:
        word = name.text
        if word in ("if", "ifdef", "ifndef"):
            take = self.live and self.truth(name, rest)
            self.conditions.append([name, take, take, False])
            return
        if not self.conditions or (self.conditions[-1][3] and word != "endif"):
            raise self.source.error(f"#{word} without #if", name)
        top = self.conditions[-1]
        if word == "endif":
            self.conditions.pop()
            return
        outer = len(self.conditions) < 2 or self.conditions[-2][1]
        top[1] = outer and not top[2] and (word == "else" or self.truth(name, rest))
        top[2], top[3] = top[2] or top[1], word == "else"

    def truth(self, name: Token, rest: list[Token]) -> bool:
        if name.text in ("ifdef", "ifndef"):
            if len(rest) != 1 or rest[0].kind != "id":
                raise self.source.error(f"#{name.text} takes one name", name)
            return self.defined(rest[0]) == (name.text == "ifdef")
        out: list[Token] = []
        i = 0
        while i < len(rest):
            t = rest[i]
            if t.text == "defined":
                shut = 2 if i + 3 < len(rest) + 1 and i + 1 < len(rest) and rest[i + 1].text == "(" else 0
                at = i + 1 + (shut > 0)
                if (
                    at >= len(rest)
                    or rest[at].kind != "id"
                    or (shut and (at + 1 >= len(rest) or rest[at + 1].text != ")"))
                ):
                    raise self.source.error("defined takes one name", t)
                out.append(Token("num", str(int(self.defined(rest[at]))), t.start, t.end, t.line))
                i = at + 1 + (shut > 0)
                continue
            out.append(t)
            i += 1
        words = self.expander.expand(out)
        for t in words:
            if t.kind == "id":
                self.defined(t)
        numbers = [Token("num", "0", t.start, t.end, t.line) if t.kind == "id" else t for t in words]
        parser = Parser(self.source, [*numbers, Token("end", "", name.start, name.end, name.line)])
        value = constant(parser.conditional())
        if value is None or parser.current:
            raise self.source.error("cannot work out this condition", name)
        return value != 0

    def defined(self, t: Token) -> bool:
        if t.text in self.macros or t.text in opencl.HEADER_MACROS:
            return True
        if (t.text.startswith("cl_") and self.extensions) or t.text in opencl.UNDEFINED:
            return False
        if t.text.startswith(("__", "cl_")):
            raise self.source.unsupported(f"whether {t.text} is defined depends on the device; pass it in `defines`", t)
        return False


def preprocess(
    source: Source, defines: Mapping[str, str] = {}, extensions: frozenset[str] = frozenset()
) -> list[Token]:
    """The text's tokens after macros and conditions; an `end` token last, pragmas as single tokens."""
    return Preprocessor(source, defines, extensions).run()
