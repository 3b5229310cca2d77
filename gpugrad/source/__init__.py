"""The source pass: OpenCL C text in, OpenCL C text out, with tables of what it found. It touches no device.

`parse` tells the kernels of a text and their signatures, `lower_half` lets a kernel store half on any device,
`instrument` makes a kernel record every access to memory. Read in the order lexer, macros, preprocess, layout,
tree, cursor, expressions, declarations, parser, writer, statements, half, votes, provenance, helpers, record.
"""

from __future__ import annotations

from collections.abc import Mapping

from .errors import SourceError, Unsupported
from .half import Lowered, enables_half, lower, lower_half
from .record import PARAMETERS, Instrumented, instrument
from .tables import KINDS, Argument, Buffer, Signature, Site
from .unit import Unit

__all__ = [
    "KINDS", "PARAMETERS", "Argument", "Buffer", "Instrumented", "Lowered", "Signature", "Site", "SourceError",
    "Unsupported", "enables_half", "instrument", "lower", "lower_half", "parse",
]  # fmt: skip


def parse(
    text: str, defines: Mapping[str, str] | None = None, extensions: frozenset[str] = frozenset()
) -> dict[str, Signature]:
    """The kernels of the text and their parameters, by name. Raises SourceError where it does not parse."""
    return Unit(text, defines or {}, extensions, not enables_half(text)).kernels
