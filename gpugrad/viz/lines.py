"""Which lines of a file a figure shows: the functions that ran, and what they need."""

from __future__ import annotations

import re

from ..trace.launch import LaunchTrace

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def kept_lines(t: LaunchTrace) -> list[int]:
    """The lines of the source to show: the functions that ran, the comment above the kernel, macros that they use."""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), t.source)
    lines, bare = t.source.split("\n"), text.split("\n")
    if len(lines) <= 34 and text.count("__kernel") + text.count("kernel void") <= 2:
        return list(range(1, len(lines) + 1))
    keep: set[int] = set()
    for name in {t.kernel, *(s.function for s in t.sites if s.function)}:
        span = function_span(text, name)
        if span is None:
            continue
        first, last = (t.source.count("\n", 0, at) + 1 for at in span)
        keep |= set(range(first, last + 1))
        if name == t.kernel:
            above = first - 1
            while above >= 1 and lines[above - 1].strip() and not bare[above - 1].strip() and first - above <= 8:
                keep.add(above)
                above -= 1
            if above >= 1 and not any(lines[n - 1].lstrip().startswith(("/*", "//")) for n in range(above + 1, first)):
                keep -= set(range(above + 1, first))  # only the end of a long comment: none of it
    body = "\n".join(bare[n - 1] for n in sorted(keep))
    for n, line in enumerate(bare, 1):
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and re.search(rf"\b{macro[1]}\b", body):
            keep.add(n)
    return sorted(keep) or list(range(1, len(lines) + 1))


def function_span(text: str, name: str) -> tuple[int, int] | None:
    """Where a function's definition begins and ends in a text without comments."""
    for m in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        close = matching(text, m.end() - 1, "(", ")")
        body = re.compile(r"\s*\{").match(text, close + 1) if close else None
        if body:
            end = matching(text, body.end() - 1, "{", "}")
            start = max(text.rfind(stop, 0, m.start()) for stop in ("}", ";")) + 1
            directive = text.rfind("\n#", 0, m.start())
            if directive >= start:
                start = text.index("\n", directive + 1) + 1
            start += len(text[start:]) - len(text[start:].lstrip())
            return (start, end) if end else None
    return None


def matching(text: str, at: int, opening: str, closing: str) -> int | None:
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] == opening) - (text[k] == closing)
        if depth == 0:
            return k
    return None
