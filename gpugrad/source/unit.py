"""A kernel's text, read once: tokens, tree, functions; and the signatures of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import tree
from .errors import Recursion, Refused, SourceError
from .layout import Base, Pointer
from .lexer import Source, Token
from .parser import Parser
from .preprocess import preprocess
from .tables import Argument, Signature


class Unit:
    """The parsed text. `half_is_storage`: objects of type half exist only in memory (see half.py)."""

    def __init__(
        self, text: str, defines: Mapping[str, str], extensions: frozenset[str], half_is_storage: bool
    ) -> None:
        self.source = Source(text)
        try:
            tokens = preprocess(self.source, defines, extensions)
        except RecursionError:
            raise Refused("the calls of its macros are nested too deeply: write them in several steps") from None
        parser = Parser(self.source, tokens, half_is_storage)
        try:
            self.items = parser.unit()
        except RecursionError:
            raise self.too_deep(tokens[parser.i]) from None
        self.tokens, self.functions, self.types = parser.tokens, parser.functions, parser.types
        self.local_types = parser.local_types
        self.half_is_storage = half_is_storage

    def too_deep(self, at: Token) -> SourceError:
        """What is not followed cannot be checked, and what is not checked might not end."""
        return self.source.error("the text is nested too deeply here: divide it into several statements", at, Refused)

    @property
    def kernels(self) -> dict[str, Signature]:
        """The kernels of the text by name, in its order."""
        return {f.name: self.signature(f) for f in self.functions.values() if f.kernel and f.body}

    def kernel(self, name: str | None) -> tree.Function:
        """The kernel of that name, or the only one."""
        kernels = self.kernels
        if name is None and len(kernels) == 1:
            name = next(iter(kernels))
        if name not in kernels:
            have = ", ".join(kernels) or "none"
            raise SourceError(f"which kernel? name is {name!r}, and the text has {have}" if kernels else
                              "the text has no kernel: a function that starts with __kernel void")  # fmt: skip
        return self.functions[name]

    def signature(self, f: tree.Function) -> Signature:
        return Signature(f.name, tuple(self.argument(p) for p in f.params), self.tokens[f.name_at].line)

    def argument(self, p: tree.Parameter) -> Argument:
        first, last = self.tokens[p.t0], self.tokens[p.t1 - 1]
        text = " ".join(self.source.text[first.start : last.end].split())
        t = p.type.target if isinstance(p.type, Pointer) else p.type
        space, const = (p.type.space, p.type.const) if isinstance(p.type, Pointer) else ("", True)
        scalar, lanes = (t.scalar, t.lanes) if isinstance(t, Base) else (getattr(t, "name", ""), 1)
        return Argument(p.name, text, space, scalar, lanes, t.size, const or space == "constant")

    def reachable(self, roots: Iterable[tree.Function]) -> set[str]:
        """The names of the functions that these call, directly or not, and of themselves. Recursion is refused."""
        done: set[str] = set()

        def visit(f: tree.Function, above: tuple[str, ...]) -> None:
            for call in tree.walk(f.body) if f.body else ():
                if isinstance(call, tree.Call) and call.function is not None:
                    if call.name in (*above, f.name):
                        raise self.source.error(
                            f"{call.name}() calls itself: OpenCL C has no recursion", self.tokens[call.t0], Recursion
                        )
                    if call.name not in done:
                        visit(call.function, (*above, f.name))
            done.add(f.name)

        for root in roots:
            visit(root, ())
        return done
