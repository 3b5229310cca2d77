"""Kernels as they stand in their files, for lessons to show."""

from __future__ import annotations

import importlib.resources
import re


class Listing:
    """Some lines of a text, with their numbers."""

    def __init__(self, file: str, text: str, first: int) -> None:
        self.file, self.text, self.first = file, text, first

    def __repr__(self) -> str:
        numbered = [f"{self.first + i:4d} | {line}".rstrip() for i, line in enumerate(self.text.split("\n"))]
        return "\n".join([f"kernels/{self.file}", *numbered])


def show(file: str, name: str | None = None, part: str | None = None) -> Listing:
    """A kernel of the package with the comment above it, from its file: `course.show("reduce.cl", "reduce_serial")`.

    A function that kernels call is shown in the same way. Without a name, the file's head comment. With `part`, a piece
    of a line such as "for (int k", only the block that this line opens: a long kernel's heart.
    """
    from ..program import source_text

    if name is not None and not isinstance(name, str):
        raise TypeError(f"show: name is {name!r}; it is the name of a kernel, such as 'reduce_serial'")
    there = sorted(p.name for p in importlib.resources.files("gpugrad.kernels").iterdir() if p.name.endswith(".cl"))
    if file not in there:
        raise ValueError(f"show: file is {file!r}; the files of kernels are {', '.join(there)}")
    text = source_text(file)
    lines = text.split("\n")
    if name is None:
        start, end = 0, next((i for i, line in enumerate(lines) if line.rstrip().endswith("*/")), 0)
    else:
        at = [i for i, line in enumerate(lines) if re.match(rf"(__kernel|inline|void)\b.*\b{re.escape(name)}\(", line)]
        if not at:
            kernels = re.findall(r"^__kernel void (\w+)", text, re.MULTILINE)
            raise ValueError(f"show: {file} has no kernel {name!r}; it has {', '.join(kernels)}")
        start = at[0]
        end = next(i for i in range(start, len(lines)) if lines[i] == "}")
        if start and lines[start - 1].rstrip().endswith("*/"):
            start -= 1
            while not lines[start].lstrip().startswith("/*"):
                start -= 1
    if part is not None:
        start, end = _block(lines, start, end, part)
    return Listing(file, "\n".join(lines[start : end + 1]), start + 1)


def _block(lines: list[str], start: int, end: int, part: str) -> tuple[int, int]:
    """The first line from `start` on with `part` in it, and the line that closes the block it opens."""
    found = [i for i in range(start, end) if str(part) in lines[i] and lines[i].endswith("{")]
    if not found:
        raise ValueError(
            f'show: part is {part!r}; it must be a piece of a line that opens a block, as "for (int k" does'
        )
    indent = len(lines[found[0]]) - len(lines[found[0]].lstrip())
    closing = " " * indent + "}"
    return found[0], next(i for i in range(found[0], end + 1) if lines[i].startswith(closing))
