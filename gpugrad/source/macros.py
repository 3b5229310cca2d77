"""Macro expansion, as the C standard has it: arguments first, then the body, then the result again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .errors import Refused
from .lexer import Source, Token, tokenize

MOST = 1 << 17  # tokens that the macros of a text may make: a hundred times what unrolled kernels do


@dataclass(slots=True)
class Macro:
    name: str
    params: list[str] | None  # None: an object-like macro
    variadic: bool
    body: list[Token]


class Expander:
    def __init__(self, source: Source, macros: dict[str, Macro]) -> None:
        self.source, self.macros = source, macros
        self.made = 0

    def expand(self, tokens: list[Token]) -> list[Token]:
        out: list[Token] = []
        work = tokens[::-1]
        while work:
            t = work.pop()
            macro = self.macros.get(t.text) if t.kind == "id" and t.text not in t.hidden else None
            if t.kind == "id" and t.text == "__LINE__":
                out.append(replace(t, kind="num", text=str(t.line)))
            elif macro is None:
                out.append(t)
            elif macro.params is None:
                work += self.substitute(macro, t, t, [], t.hidden)[::-1]
            elif work and work[-1].text == "(":
                args, close = self.arguments(macro, t, work)
                work += self.substitute(macro, t, close, args, t.hidden & close.hidden)[::-1]
            else:
                out.append(t)
        return out

    def arguments(self, macro: Macro, name: Token, work: list[Token]) -> tuple[list[list[Token]], Token]:
        """Takes `( ... )` off `work`; gives the arguments and the closing parenthesis."""
        work.pop()
        args: list[list[Token]] = [[]]
        params = macro.params or []
        depth = 0
        while True:
            if not work or work[-1].kind == "end":
                raise self.source.error(f"the call of macro {macro.name} is never closed by ')'", name)
            t = work.pop()
            if t.text == ")" and depth == 0:
                break
            if t.text == "," and depth == 0 and not (macro.variadic and len(args) >= len(params)):
                args.append([])
                continue
            depth += (t.text == "(") - (t.text == ")")
            args[-1].append(t)
        if not params and args == [[]]:
            args = []
        if macro.variadic and len(args) == len(params) - 1:
            args.append([])
        if len(args) != len(params):
            raise self.source.error(f"macro {macro.name} takes {len(params)} arguments, but got {len(args)}", name)
        return args, t

    def substitute(
        self, macro: Macro, name: Token, close: Token, args: list[list[Token]], hidden: frozenset[str]
    ) -> list[Token]:
        start, end = min(name.start, close.start), max(name.end, close.end)

        def made(t: Token, kind: str, text: str) -> Token:
            """A token of the body, as one of the call."""
            return Token(kind, text, start, end, name.line, name.macro or macro.name, False, t.spaced, t.hidden)

        given = dict(zip(macro.params or [], args))
        out: list[Token] = []
        body, i, empty = macro.body, 0, False  # empty: the left operand of the next ## has no tokens
        while i < len(body):
            b, before = body[i], len(out)
            pasted = i + 1 < len(body) and body[i + 1].text == "##"
            if b.text == "##" and 0 < i < len(body) - 1:
                i += 1
                right = given.get(body[i].text, [made(body[i], body[i].kind, body[i].text)])
                if empty or not right:
                    out += right
                else:
                    out[-1:] = [self.paste(out[-1], right[0]), *right[1:]]
                empty = empty and not right
            elif b.text == "#" and macro.params is not None and i + 1 < len(body) and body[i + 1].text in given:
                i += 1
                words = "".join((" " if t.spaced else "") + t.text for t in given[body[i].text]).strip()
                words = words.replace("\\", "\\\\").replace('"', '\\"')
                out.append(made(b, "str", f'"{words}"'))
            elif b.text in given:
                arg = given[b.text]
                out += arg if pasted else self.expand(arg)
            else:
                out.append(made(b, b.kind, b.text))
            if b.text != "##":
                empty = len(out) == before
            i += 1
        self.made += len(out) + 1
        if self.made > MOST:
            raise self.source.error(
                f"macro {name.macro or macro.name} grows without end: the macros of this text make more than {MOST:,} "
                "tokens, which no compiler takes in good time; write a loop",
                name, Refused,
            )  # fmt: skip
        hide = hidden | {macro.name}
        return [t.hiding(hide) for t in out]

    def paste(self, a: Token, b: Token) -> Token:
        made = tokenize(Source(a.text + b.text))
        if len(made) != 2:
            raise self.source.error(f"## makes {a.text + b.text!r}, which is not one token", a)
        return replace(a, kind=made[0].kind, text=made[0].text, start=min(a.start, b.start), end=max(a.end, b.end))
