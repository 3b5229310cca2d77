"""The course: exercises of the lessons, checked, with hints.

In a notebook, `from gpugrad import course` brings two cell magics along: `%%kernel` takes the OpenCL C text below it as
a kernel, or, given an exercise's number, as its answer; `%%answer` does so with Python text.

spec.py, kernel_exercise.py and python_exercise.py say what an exercise is and check answers; exercises/ holds those of
each lesson, solutions/ their answers; progress.py remembers; own.py brings back your kernels for lesson 14; listing.py
shows kernels from their files, glossary.md explains words, pictures.py draws recorded launches, timing.py measures,
lab.py opens the lessons, grade.py goes through a class's notebooks.
"""

from __future__ import annotations

from typing import Any

from ..words import folded
from . import magics, progress
from .catalog import exercise, lessons
from .catalog import solution as _solution
from .glossary import meaning
from .listing import show
from .own import mine
from .pictures import curves, phases, readers, writers
from .spec import Verdict, nudge
from .timing import seconds

__all__ = [
    "check", "curves", "exercise", "explain", "hint", "lessons", "mine", "phases", "readers", "saved", "seconds",
    "show", "solution", "writers",
]  # fmt: skip

_hinted: dict[str, int] = {}


def check(number: str, answer: Any = ..., *more: Any) -> None:
    """Check an answer to an exercise and print what came of it: `course.check("02.1", [3, 5])`.

    The answer to a prediction is a value; to the others it is text, best given by a cell that begins with
    `%%kernel 02.3` (OpenCL C) or `%%answer 09.4` (Python). There is one answer: with `more` it is told how to write it.
    """
    asked = exercise(number)
    if more:
        _say(asked.several((answer, *more)))
        return
    if asked.is_open(answer):
        print(f"{number} is open. Put your answer in, and run this cell again. {nudge(number)}")
        return
    verdict: Verdict = asked.examine(answer)
    _say(verdict.text)
    try:
        progress.note(progress.path(), number, asked.plain(answer), verdict.right)
    except (OSError, ValueError) as error:
        print(f"(Your progress was not saved: {error})")


def hint(number: str) -> None:
    """Print the next hint for an exercise; after the last one, where the solution is."""
    hints = exercise(number).hints
    n = _hinted.get(number, 0)
    if n < len(hints):
        _hinted[number] = n + 1
        _say(f"Hint {n + 1} of {len(hints)}: {hints[n]}")
    else:
        print(f'That was the last hint. course.solution("{number}") shows a solution; try once more before you look.')


def solution(number: str) -> None:
    """Print the course's own answer to an exercise."""
    print(_solution(number))


def explain(word: str = "") -> None:
    """Print what a word means, from the glossary: `course.explain("work-group")`. Without one: every word there is."""
    _say(meaning(word))


def saved(number: str) -> Any:
    """Your answer to an exercise that last passed its check, or None."""
    exercise(number)
    return progress.read(progress.path()).get(number, {}).get("passed")


def _say(text: str) -> None:
    print(folded(text))


magics.register()
