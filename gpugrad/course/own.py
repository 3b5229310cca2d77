"""The kernels of lesson 14: yours for each family whose exercise is solved, else the first rung of the package.

A file of progress may be old, changed by hand, or broken, so that a saved kernel is checked again before it is used.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..kernels.ladder import variants
from ..words import WIDTH, folded
from . import progress
from .catalog import exercise


class Family(NamedTuple):
    """A kernel family, the exercise in which its first rung is written, and the name of the first rung's kernel."""

    name: str
    exercise: str
    kernel: str


FAMILIES = (
    Family("im2col", "05.6", "im2col_naive"),
    Family("col2im", "07.5", "col2im_gather"),
    Family("max_pool2d", "08.6", "max_pool_window"),
    Family("reduce", "14.3", "reduce_serial"),
    Family("gemm", "14.4", "gemm_naive"),
    Family("max_pool2d_backward", "14.5", "max_pool_backward_gather"),
    Family("adam", "14.6", "adam"),
)


class Mine(Mapping[str, Any]):
    """What `course.mine` found: family -> your kernel, or the name of the first rung, as `gg.use_kernels` takes them.

    Printed, it is a table that says for each family which of the two it is, and why. `yours` are the families that run
    a kernel of yours; `whose(name)` says whose the kernel of a launch is.
    """

    def __init__(self, kernels: dict[str, Any], reasons: dict[str, str], trouble: str):
        self._kernels, self._reasons, self._trouble = kernels, reasons, trouble

    def __getitem__(self, family: str) -> Any:
        return self._kernels[family]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    @property
    def yours(self) -> list[str]:
        return [family for family, kernel in self.items() if not isinstance(kernel, str)]

    def whose(self, name: str) -> str:
        """'yours', 'first rung' or 'package': whose is the kernel with this name, while these are in use?"""
        if any(name == self[family].name for family in self.yours):
            return "yours"
        return "first rung" if any(name == f.kernel and f.name not in self.yours for f in FAMILIES) else "package"

    def __repr__(self) -> str:
        rows = [f"{f.name:20} {f.exercise}  {self._reasons[f.name]}" for f in FAMILIES]
        count = f"{len(self.yours)} of {len(self)} kernels are yours."
        return "\n".join([*([self._trouble] if self._trouble else []), *rows, count])


def mine() -> Mine:
    """Your kernels for the network, from your progress; for `gg.use_kernels(**course.mine())`.

    Each family for which you have solved the exercise gets your kernel, which is checked once more; the others, and
    those whose saved kernel fails now, get the first rung of their ladder. The table says which, and why.
    """
    known, trouble = _known()
    kernels, reasons = {}, {}
    for f in FAMILIES:
        text = known.get(f.exercise, {}).get("passed")
        why = "your progress cannot be read" if trouble else f"{f.exercise} is not solved"
        kernels[f.name], reasons[f.name] = _choose(f, text, why)
    return Mine(kernels, reasons, trouble)


def _known() -> tuple[dict[str, dict[str, Any]], str]:
    """What the file of progress says, and a sentence if it cannot be read."""
    try:
        return progress.read(progress.path()), ""
    except (OSError, ValueError) as error:
        return {}, f"(Your progress cannot be read: {error})"


def _choose(family: Family, text: Any, missing: str) -> tuple[Any, str]:
    """The kernel for a family, or its first rung's name; and the reason, which is `missing` where there is no text."""
    rung, asked = variants(family.name)[0], exercise(family.exercise)
    if text is None:
        return rung, f"first rung ({family.kernel}), as {missing}"
    try:
        verdict = asked.examine(text)
        if verdict.right:
            return _built(text, asked), "yours"
        said = verdict.text
    except Exception as error:  # whatever a file holds that somebody changed, the lesson goes on
        said = f"{type(error).__name__}: {error}"
    return rung, f"first rung ({family.kernel}), as your saved kernel fails now:\n{_indented(said)}"


def _indented(text: str) -> str:
    return textwrap.indent(folded(text, WIDTH - 4), "    ")


def _built(text: str, asked: Any) -> Any:
    from ..custom import kernel

    return kernel(text, asked.kernel)
