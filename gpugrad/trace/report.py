"""What the sanitizer found, in sentences."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..source import Site
from .memory import Traffic, memory_use, traffic

if TYPE_CHECKING:
    from .launch import LaunchTrace

KINDS = (
    "out of bounds", "row overflow", "data race", "barrier divergence", "uninitialised read", "never written",
    "misaligned", "endless loop",
)  # fmt: skip


@dataclass
class Finding:
    """One mistake: its kind (of KINDS), where, what happened, how often, and the events that show it."""

    kind: str
    message: str
    sites: tuple[Site, ...] = ()
    count: int = 1
    events: tuple[int, ...] = ()  # rows of launch.events: of a race, the two that met
    source: str = field(default="", repr=False)

    @property
    def line(self) -> int:
        return self.sites[0].line if self.sites else 0

    def __str__(self) -> str:
        where = f", line {self.line}" if self.line else ""
        text = f"{self.kind.upper()}{where}: {self.message}"
        shown: set[tuple[int, int, int]] = set()
        for s in self.sites:
            if (s.line, s.column, s.end) not in shown:
                shown.add((s.line, s.column, s.end))
                text += "\n" + underlined(self.source, s)
        return text


def underlined(source: str, site: Site) -> str:
    """The source line of a site, with its place marked."""
    code = source.split("\n")[site.line - 1].expandtabs(1)
    width = max(1, min(site.end - site.start, len(code) - site.column + 1))
    return f"  {site.line:4d} | {code}\n       | {' ' * (site.column - 1)}{'^' * width}"


class Report:
    """What the sanitizer has to say about a launch.

    `ok`: nothing was found. `findings`: the mistakes, the most direct first. `notes`: what the report cannot speak for.
    `memory`: how each place of the source uses memory, one dict each; `traffic`: the launch's operations and bytes, and
    its arithmetic intensity (see memory.py). `str()` gives the mistakes as text, `memory_text()` the memory.
    """

    def __init__(self, launch: LaunchTrace, findings: list[Finding], notes: list[str]) -> None:
        self.launch, self.findings, self.notes = launch, findings, notes
        for f in findings:
            f.source = launch.source

    @cached_property
    def memory(self) -> list[dict[str, Any]]:
        return memory_use(self.launch)

    @cached_property
    def traffic(self) -> Traffic:
        return traffic(self.launch, self.memory)

    @property
    def ok(self) -> bool:
        return not self.findings

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __repr__(self) -> str:
        return f"<Report on {self.launch.kernel}: {counted(len(self.findings), 'finding')}>"

    def __str__(self) -> str:
        n = len(self.findings)
        head = f"{self.launch.kernel}: " + (
            "no mistakes found" if not n else "1 mistake" if n == 1 else f"{n} mistakes"
        )
        parts = [head, *map(str, self.findings), *(f"Note: {note}" for note in self.notes)]
        return "\n\n".join(parts)

    def memory_text(self) -> str:
        """How each place of the source uses memory, as a table, and the launch's arithmetic intensity."""
        lines = [f"{'line':>4} {'what':7} {'place':28} {'segments':>9} {'useful':>7} {'conflicts':>9}"]
        for m in self.memory:
            segments = f"{m['segments']:9.2f} {m['useful']:6.0%} " if m["space"] == "global" else f"{'':9} {'':6} "
            conflicts = f"{m['conflicts']:9.2f}" if m["space"] == "local" else ""
            lines.append(f"{m['line']:4d} {m['kind']:7} {m['text'][:28]:28} {segments} {conflicts}".rstrip())
        lost = " Events were lost, so the bytes are too few." if self.launch.lost else ""
        return "\n".join([*lines, str(self.traffic) + lost])

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(str(self).split(chr(10), 1)[0])}</b></p>"]
        for f in self.findings:
            first, _, rest = str(f).partition("\n")
            parts.append(f"<p>{html.escape(first)}</p>" + (f"<pre>{html.escape(rest)}</pre>" if rest else ""))
        parts += [f"<p>Note: {html.escape(note)}</p>" for note in self.notes]
        return "\n".join(parts)


class Speaker:
    """Words for the parts of a launch: who, which cell."""

    def __init__(self, launch: LaunchTrace) -> None:
        self.t, self.c = launch, launch.columns
        self.groups = tuple(g // l for g, l in zip(launch.global_size, launch.local_size, strict=True))

    def who(self, row: int) -> str:
        local = self._numbers(int(self.c.local_id[row]), self.t.local_size)
        return f"work-item {local} of {self.group(row)}"

    def group(self, row: int) -> str:
        return f"group {self._numbers(int(self.c.group[row]), self.groups)}"

    def _numbers(self, flat: int, shape: tuple[int, ...]) -> str:
        """A flat number as OpenCL's dimensions; trailing dimensions of size 1 are left out."""
        while len(shape) > 1 and shape[-1] == 1:
            shape = shape[:-1]
        out = []
        for n in shape:
            out.append(flat % n)
            flat //= n
        return str(out[0]) if len(out) == 1 else "(" + ", ".join(map(str, out)) + ")"

    def site(self, row: int) -> Site:
        return self.t.sites[self.c.site[row]]

    def element(self, row: int) -> int:
        return int(self.c.offset[row]) // self.t.element_sizes[self.c.buffer[row]]

    def cell(self, row: int) -> str:
        """`a[17]`, `tile[3][5]` of an array of arrays, with the index in the argument's shape where it has one."""
        b = self.t.buffers[self.c.buffer[row]]
        i = self.element(row)
        dims = b.buffer.dims
        if b.buffer.argument is None and not dims and b.shape == (1,):
            return b.name
        if b.buffer.argument is None and None not in dims and len(b.shape) == len(dims) and i < int(np.prod(b.shape)):
            return b.name + "".join(f"[{int(k)}]" for k in np.unravel_index(i, b.shape))
        text = f"{b.name}[{i}]"
        if len(b.shape) > 1 and 0 <= i < int(np.prod(b.shape)):
            text += f" (that is {[int(k) for k in np.unravel_index(i, b.shape)]} of {b.shape})"
        return text


def counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def times(n: int, what: str) -> str:
    return f" ({n} {what} like this one.)" if n > 1 else ""
