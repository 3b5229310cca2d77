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
    if part is not None and (not isinstance(part, str) or not part.strip()):
        raise TypeError(f"show: part is {part!r}; it is a piece of a line that opens a block, such as 'for (int k'")
    if part is not None and name is None:
        raise ValueError(f"show: part is {part!r}, and name is missing; name the kernel that it is a part of")
    there = sorted(p.name for p in importlib.resources.files("gpugrad.kernels").iterdir() if p.name.endswith(".cl"))
    if file not in there:
        raise ValueError(f"show: file is {file!r}; the files of kernels are {', '.join(there)}")
    lines = source_text(file).split("\n")
    if name is None:
        start, end = 0, next((i for i, line in enumerate(lines) if line.rstrip().endswith("*/")), 0)
    else:
        start, end = _function(lines, file, name)
    if part is not None:
        start, end = _block(lines, start, end, part)
    return Listing(file, "\n".join(lines[start : end + 1]), start + 1)


def _function(lines: list[str], file: str, name: str) -> tuple[int, int]:
    """The first line of the comment above a function, or of the function, and its last."""
    at = [i for i, line in enumerate(lines) if re.match(rf"(__kernel|inline|void)\b.*\b{re.escape(name)}\(", line)]
    if not at:
        kernels = re.findall(r"^__kernel void (\w+)", "\n".join(lines), re.MULTILINE)
        raise ValueError(f"show: {file} has no kernel {name!r}; it has {', '.join(kernels)}")
    start = at[0]
    end = next(i for i in range(start, len(lines)) if lines[i] == "}")
    if start and lines[start - 1].rstrip().endswith("*/"):
        start -= 1
        while not lines[start].lstrip().startswith("/*"):
            start -= 1
    return start, end


def _block(lines: list[str], start: int, end: int, part: str) -> tuple[int, int]:
    """The first line with `part` in it that opens a block, and the line that closes the block, with its else if any."""
    first = next((i for i in range(start, end) if part in lines[i] and lines[i].endswith("{")), None)
    if first is None:
        raise ValueError(f"show: part is {part!r}, and no line with it opens a block; give a piece of one that does")
    last, depth = first, 1
    while depth:
        last += 1
        depth += lines[last].count("{") - lines[last].count("}")
    return first, last
