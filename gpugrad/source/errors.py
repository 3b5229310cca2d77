"""What the source pass says when it cannot go on: always a line, a column and a reason."""

from __future__ import annotations

from ..errors import KernelBuildError


class SourceError(KernelBuildError, ValueError):
    """The kernel's text does not parse. `line` and `column` count from 1; `reason` is one sentence."""

    def __init__(self, reason: str, line: int = 0, column: int = 0, code: str = "", width: int = 1) -> None:
        self.reason, self.line, self.column = reason, line, column
        message = f"kernel source, line {line}, column {column}: {reason}" if line else f"kernel source: {reason}"
        if code.strip():
            code = code.expandtabs(1)
            caret = " " * (column - 1) + "^" * max(1, min(width, len(code) - column + 1))
            message += f"\n  {line:4d} | {code}\n       | {caret}"
        super().__init__(message)


class Unsupported(SourceError):
    """Legal OpenCL C that the source pass does not handle: named, never passed over."""


class Refused(Unsupported):
    """Text that is not even built: a driver would crash on it, or it would run unchecked and may not end."""


class Recursion(Refused):
    """A function that calls itself, directly or not: OpenCL C has none, and drivers that let it pass crash on it."""


class Mistake(SourceError):
    """Text that compiles, and is surely wrong (surely.py)."""
