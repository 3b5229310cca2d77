"""The first frame of a figure as SVG, drawn here: for places that show no widgets, and for comparing notebooks.

It has the look of the live figures on paper (static/tokens.css), a grid for each buffer, and the sentence.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from .words import by_shape, num

INK, MUTED, LINE, PAPER = "#1d2024", "#5f656d", "#cbd0d6", "#ffffff"
READ, WRITE, ATOMIC, FAULT = "#0064a8", "#b84300", "#8f3a7c", "#b00020"
SANS, MONO = "system-ui, 'DejaVu Sans', sans-serif", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CELL, WIDTH, ROWS, COLUMNS = 28, 800, 12, 14
NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # no SVG with one of these is drawn
DASHES = ' stroke-dasharray="4 2"'  # a fault can be told without its colour
SIGNS = {  # fill, opacity, edge, digits
    "r": (READ, 0.2, READ, INK), "w": (WRITE, 1, WRITE, PAPER), "a": (ATOMIC, 1, ATOMIC, PAPER),
    "r0": (READ, 0.15, "none", INK), "w0": (WRITE, 0.2, "none", INK), "me": (INK, 1, INK, PAPER),
    "x": (FAULT, 0.14, FAULT, INK),
}  # fmt: skip


@dataclass
class Picture:
    """A grid: cell(i) gives the text of the i-th element and its sign (a key of SIGNS, or "")."""

    name: str
    note: str
    shape: Sequence[int]
    cell: Callable[[int], tuple[str, str]]
    wide: int = CELL
    columns: int = 0  # how many may be drawn; 0: as many as leave room for a second picture


def escaped(content: str) -> str:
    """Text as it can stand in an SVG."""
    return html.escape(NOT_XML.sub("\ufffd", content))


def text(x: float, y: float, content: str, size: int = 13, fill: str = INK, weight: int = 400, mono: bool = False,
         anchor: str = "start") -> str:  # fmt: skip
    family = MONO if mono else SANS
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" font-weight="{weight}" '
            f'font-family="{family}" text-anchor="{anchor}">{escaped(content)}</text>')  # fmt: skip


def grid(p: Picture, x0: float, y0: float) -> tuple[list[str], float, float]:
    """A picture at (x0, y0) -> its elements, width, height. Of a large one the first rows and columns are drawn."""
    shape = [*[1] * (2 - len(p.shape)), *p.shape]
    H, W = shape[-2:]
    rows, columns = min(H, ROWS), min(W, p.columns or max(1, COLUMNS * CELL // p.wide))
    planes = 1
    for n in shape[:-2]:
        planes *= n
    cut = rows < H or columns < W or planes > 1
    note = p.note + (f", of which {rows}×{columns} are drawn" if cut and H * W else "")
    out = [text(x0, y0 + 12, p.name, weight=650), text(x0, y0 + 28, note, 11, MUTED)]
    top, left = y0 + 52, x0 + 18
    for x in range(columns):
        out.append(text(left + (x + 0.5) * p.wide, top - 6, str(x), 11, MUTED, mono=True, anchor="middle"))
    for y in range(rows):
        out.append(text(left - 5, top + y * CELL + 18, str(y), 11, MUTED, mono=True, anchor="end"))
        for x in range(columns):
            content, sign = p.cell(y * W + x)
            fill, opacity, edge, ink = SIGNS.get(sign, ("none", 1, "none", INK))
            cx, cy = left + x * p.wide, top + y * CELL
            out.append(f'<rect x="{cx}" y="{cy}" width="{p.wide}" height="{CELL}" fill="none" stroke="{LINE}"/>')
            if sign:
                out.append(f'<rect x="{cx + 1.5}" y="{cy + 1.5}" width="{p.wide - 3}" height="{CELL - 3}" rx="2" '
                           f'fill="{fill}" fill-opacity="{opacity}" stroke="{edge}" stroke-width="2.5"'
                           f'{DASHES if sign == "x" else ""}/>')  # fmt: skip
            bold = 700 if sign in ("r", "w", "a", "me") else 400
            out.append(text(cx + p.wide / 2, cy + 18.5, content, 13, ink, bold, True, "middle"))
    width = 18 + max(columns * p.wide, 7 * len(note) - 18)
    return out, width, 52 + rows * CELL


def still(title: str, sentence: str, pictures: Sequence[Picture], note: str) -> str:
    """The whole: title, sentence, grids in rows, and a line about where the data came from."""
    out = [text(16, 28, title, 15, weight=650)]
    y = 52.0
    for line in textwrap.wrap(sentence, 96):
        out.append(text(16, y, line, 13))
        y += 20
    y, x, tallest = y + 8, 16.0, 0.0
    for p in pictures:
        parts, w, h = grid(p, x, y)
        if x > 16 and x + w > WIDTH - 16:
            x, y, tallest = 16.0, y + tallest + 20, 0.0
            parts, w, h = grid(p, x, y)
        out += parts
        x, tallest = x + w + 28, max(tallest, h)
    y += tallest + 30
    for k, line in enumerate(textwrap.wrap(note, 125)):
        y += 16 * (k > 0)
        out.append(text(16, y, line, 11, MUTED))
    return drawing(WIDTH, y + 16, sentence, out)


def drawing(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """The parts on paper, with a label for those who do not see it."""
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    named = f'role="img" aria-label="{escaped(label)}"'
    paper = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {named}>{paper}{"".join(parts)}</svg>'


def fit(values: Iterable[float]) -> int:
    """The cell width in which each of the first values fits."""
    longest = max((len(num(v)) for v in islice(values, 400)), default=3)
    return CELL if longest <= 3 else 8 * longest + 8


def shape_note(shape: Sequence[int], space: str) -> str:
    return f"{by_shape(shape)}, {space}"
