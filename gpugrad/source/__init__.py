"""The source pass: OpenCL C text in, OpenCL C text out, with tables of what it found. It touches no device.

`parse` tells the kernels of a text and their signatures, `lower_half` lets a kernel store half on any device,
`instrument` makes a kernel record every access to memory. Read in the order lexer, macros, preprocess, layout,
tree, cursor, expressions, declarations, parser, writer, statements, half, votes, provenance, reach, helpers,
record.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import tree
from .errors import Recursion, SourceError, Unsupported
from .half import Lowered, enables_half, lower, lower_half
from .record import PARAMETERS, Instrumented, instrument
from .tables import KINDS, Argument, Buffer, Signature, Site
from .unit import Unit

__all__ = [
    "KINDS", "PARAMETERS", "Argument", "Buffer", "Instrumented", "Lowered", "Recursion", "Signature", "Site",
    "SourceError", "Unsupported", "enables_half", "instrument", "lower", "lower_half", "parse", "survey",
]  # fmt: skip


def parse(
    text: str, defines: Mapping[str, str] | None = None, extensions: frozenset[str] = frozenset()
) -> dict[str, Signature]:
    """The kernels of the text and their parameters, by name. Raises SourceError where it does not parse."""
    return Unit(text, defines or {}, extensions, not enables_half(text)).kernels


def survey(text: str, kernel: str, extensions: frozenset[str] = frozenset()) -> int:
    """How many bytes of local memory the kernel declares. Raises Recursion where a function it calls calls itself."""
    unit = Unit(text, {}, extensions, not enables_half(text))
    function = unit.kernel(kernel)
    unit.reachable([function])
    declared = [d.variable for d in tree.walk(function.body) if isinstance(d, tree.Declarator)] if function.body else []
    return sum(v.type.size for v in declared if v.space == "local")
