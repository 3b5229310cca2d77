"""Characters to tokens. Every token knows where it stands in the text that the student wrote.

A backslash at the end of a line joins it to the next; positions are counted in the unjoined text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from .errors import SourceError, Unsupported

TOKEN = re.compile(
    r"""(?P<newline>\n) | (?P<space>[ \t\r\f\v]+ | //[^\n]* | /\*.*?\*/)
      | (?P<num>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*) | (?P<id>[^\W\d]\w*)
      | (?P<str>"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
      | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\#\#|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]\#])""",
    re.X | re.S,
)


@dataclass(slots=True)
class Token:
    """`start` and `end` are offsets into the source. A token out of a macro's body has those of the
    outermost call, and that macro's name in `macro`; one out of an argument keeps its own."""

    kind: str  # id num str op pragma end
    text: str
    start: int
    end: int
    line: int
    macro: str = ""
    first: bool = False  # first on its line
    spaced: bool = False  # white space before it
    hidden: frozenset[str] = frozenset()  # macros that must not expand it again

    def hiding(self, macros: frozenset[str]) -> Token:
        """The same token, with these macros hidden too. (dataclasses.replace takes four times as long.)"""
        return Token(
            self.kind, self.text, self.start, self.end, self.line, self.macro, self.first, self.spaced,
            self.hidden | macros,
        )  # fmt: skip


class Source:
    """A kernel's text, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]

    def line(self, pos: int) -> int:
        return bisect_right(self.starts, pos)

    def column(self, pos: int) -> int:
        return pos - self.starts[self.line(pos) - 1] + 1

    def code(self, line: int) -> str:
        return self.text[self.starts[line - 1] :].split("\n", 1)[0]

    def error(self, reason: str, token: Token, kind: type[SourceError] = SourceError) -> SourceError:
        line = self.line(token.start)
        return kind(reason, line, self.column(token.start), self.code(line), token.end - token.start)

    def unsupported(self, reason: str, token: Token) -> SourceError:
        return self.error(reason, token, Unsupported)


def tokenize(source: Source) -> list[Token]:
    """All tokens of the text, preprocessor lines included, and an `end` token."""
    joins = [(m.start(), m.end()) for m in re.finditer(r"\\[ \t]*\r?\n", source.text)]
    text, cuts, shifts, removed, last = "", [], [], 0, 0
    for a, b in joins:
        text += source.text[last:a]
        removed, last = removed + b - a, b
        cuts.append(len(text))
        shifts.append(removed)
    text += source.text[last:]

    def origin(i: int) -> int:
        k = bisect_right(cuts, i)
        return i + (shifts[k - 1] if k else 0)

    tokens: list[Token] = []
    i, first, spaced = int(text.startswith("\ufeff")), True, False  # the mark that some editors begin a file with
    while i < len(text):
        m = TOKEN.match(text, i)
        kind = m.lastgroup if m else None
        start = origin(i)
        if m is None or kind is None or (text.startswith("/*", i) and kind != "space"):
            what = (
                "a comment that never ends" if text.startswith("/*", i) else f"a character C does not know, {text[i]!r}"
            )
            raise source.error(f"found {what}", Token("op", text[i], start, start + 1, source.line(start)))
        if kind == "newline":
            first = True
        elif kind == "space":
            spaced = True
        else:
            end = origin(m.end() - 1) + 1
            tokens.append(Token(kind, m.group(), start, end, source.line(start), "", first, spaced or first))
            first = spaced = False
        i = m.end()
    n = len(source.text)
    tokens.append(Token("end", "", n, n, source.line(n), "", True))
    return tokens
