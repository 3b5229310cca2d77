"""The source pass: OpenCL C text in, OpenCL C text out, with tables of what it found. It touches no device.

`parse` tells the kernels of a text and their signatures, `lower_half` lets a kernel store half on any device,
`instrument` makes a kernel record every access to memory. Read in the order lexer, macros, preprocess, layout,
tree, cursor, expressions, declarations, parser, surely, writer, statements, half, votes, provenance, reach, helpers,
record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import surely, tree
from .errors import Mistake, Recursion, Refused, SourceError, Unsupported
from .half import Lowered, enables_half, lower, lower_half
from .record import PARAMETERS, Instrumented, instrument
from .tables import KINDS, Argument, Buffer, Signature, Site
from .unit import Unit
from .votes import Votes

__all__ = [
    "KINDS", "PARAMETERS", "Argument", "Buffer", "Instrumented", "Lowered", "Memory", "Mistake", "Recursion",
    "Refused", "Signature", "Site", "SourceError", "Unsupported", "enables_half", "instrument", "lower", "lower_half",
    "parse", "survey",
]  # fmt: skip


def parse(
    text: str, defines: Mapping[str, str] | None = None, extensions: frozenset[str] = frozenset()
) -> dict[str, Signature]:
    """The kernels of the text and their parameters, by name. Raises SourceError where it does not parse."""
    return Unit(text, defines or {}, extensions, not enables_half(text)).kernels


class Memory(NamedTuple):
    """Bytes that a kernel and the functions it calls declare."""

    local: int  # of a work-group
    private: int  # of a work-item


def survey(text: str, kernel: str, extensions: frozenset[str] = frozenset()) -> Memory:
    """How much memory the kernel declares.

    Raises Refused for what must not be built at all (Recursion where a function it calls calls itself), and Mistake for
    what compiles and is surely wrong.
    """
    unit = Unit(text, {}, extensions, not enables_half(text))
    called = unit.reachable([unit.kernel(kernel)])
    functions = [f for f in unit.functions.values() if f.name in called]
    surely.refuse(unit, functions)
    votes = Votes(unit)
    for f in functions:
        votes.refuse_backwards(f)
    bodies = [f.body for f in unit.functions.values() if f.name in called and f.body]
    declared = [d.variable for body in bodies for d in tree.walk(body) if isinstance(d, tree.Declarator)]
    sizes = {space: sum(v.type.size for v in declared if v.space == space) for space in ("local", "private")}
    return Memory(**sizes)
