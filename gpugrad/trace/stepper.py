"""The text stepper: one work-item's way through a kernel, a step at a time, in any terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .launch import LaunchTrace

SAYS = {
    "load": "reads", "store": "writes", "atomic": "updates", "barrier": "waits at the barrier", "branch": "decides",
    "assign": "sets", "row": "leaves a row", "private": "leaves private memory", "fuel": "was still looping",
}  # fmt: skip

draw: Callable[[LaunchTrace, int, int], bool] | None = None
"""What gpugrad.viz puts here when it is imported: draws the steps and says True, or False where it cannot."""


def play(launch: LaunchTrace, work_item: int, start: int, stop: int | None) -> None:
    """Print the steps; where a person sits at a terminal, wait for Enter between them (q ends it).

    In a notebook, with gpugrad.viz imported, the drawn stepper comes instead.
    """
    if draw is not None and stop is None and draw(launch, work_item, start):
        return
    waits = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    shown = 0
    for n, (row, variables) in enumerate(launch.steps(work_item)):
        if n < start or (stop is not None and n >= stop):
            continue
        print(step_text(launch, n, row, variables))
        shown += 1
        if waits and input("Enter: next   q: end ").strip().lower() == "q":
            return
    if not shown:
        print(f"work-item {work_item} of {launch.kernel} has no recorded step there")


def step_text(launch: LaunchTrace, n: int, row: np.void, variables: dict[str, float]) -> str:
    """One step: what was done to which cell, the watched variables, and the source line with the place underlined."""
    kind = str(row["kind"])
    text = f"step {n}, phase {row['phase']}: {SAYS[kind]}"
    if kind in ("load", "store", "atomic"):
        text += f" {cell(launch, row)} = {number(row)}"
    elif kind == "assign":
        text += f" {row['buffer']} = {number(row)}"
    elif kind == "branch":
        text += f": {'yes' if row['value'] else 'no'}"
    elif kind in ("row", "private"):
        text += f" {astray(launch, row)}"
    elif row["fault"]:
        text += f"   ({row['fault']}: not done)"
    if variables:
        text += "   [" + "  ".join(f"{k} = {v:.6g}" for k, v in variables.items()) + "]"
    code = launch.source.split("\n")[int(row["line"]) - 1].expandtabs(1)
    column, end = int(row["column"]), min(int(row["end"]), len(code) + 1)
    mark = " " * (column - 1) + "^" * max(1, end - column)
    return f"{text}\n  {int(row['line']):4d} | {code}\n       | {mark}"


def astray(launch: LaunchTrace, row: np.void) -> str:
    """An index outside a row or a private array, or a pointer out of private memory; and what was done about it."""
    site, n = launch.sites[row["site"]], int(row["bits"])
    if row["kind"] == "row":
        end = "it lands in another row"
    else:
        end = "not done" if site.name == "pointer" else "element 0 was used instead"
    where = f"index {row['index']} of {n}" if n else "it leads to no variable"
    return f"in {site.text}: {where}   (outside: {end})"


def cell(launch: LaunchTrace, row: np.void) -> str:
    """The cell as one would write it in Python: `out[3, 2]`."""
    if not row["buffer"]:
        return "an address outside every buffer"
    (index,) = launch.nd_index(np.array([row]))
    return f"{row['buffer']}[{', '.join(map(str, index))}]"


def number(row: np.void) -> str:
    value = float(row["value"])
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.7g}"
