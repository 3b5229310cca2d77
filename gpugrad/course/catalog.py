"""All lessons and their exercises: one module for each lesson in exercises/, its answers in solutions/."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from . import exercises, solutions
from .spec import Exercise, Lesson


@cache
def lessons() -> tuple[Lesson, ...]:
    """The lessons, in order."""
    found = [importlib.import_module(f"{exercises.__name__}.{m}").LESSON for m in _modules(exercises)]
    return tuple(sorted(found, key=lambda lesson: lesson.number))


@cache
def _all() -> dict[str, Exercise]:
    return {e.id: e for lesson in lessons() for e in lesson.exercises}


def exercise(number: str) -> Exercise:
    """The exercise with that number, such as "02.3"."""
    found = _all().get(number) if isinstance(number, str) else None
    if found is None:
        raise ValueError(f"there is no exercise {number!r}; {_meant(str(number))}")
    return found


def _meant(number: str) -> str:
    """The exercise that somebody may have meant; else those of the lesson, or all."""
    lesson, _, place = number.strip("\"' ").partition(".")
    lesson = lesson and lesson.zfill(2)
    if f"{lesson}.{place}" in _all():
        return f'write "{lesson}.{place}"'
    near = [x for x in lessons() if x.number == lesson] or lessons()
    there = ", ".join(f"{x.number}.1 to {x.exercises[-1].id}" for x in near)
    return f'exercises are named like "02.3", and there are: {there}'


@cache
def _solutions() -> dict[str, Any]:
    every: dict[str, Any] = {}
    for m in _modules(solutions):
        every.update(importlib.import_module(f"{solutions.__name__}.{m}").SOLUTIONS)
    return every


def solution(number: str) -> Any:
    """The answer that the course itself gives to an exercise."""
    return _solutions()[exercise(number).id]


def _modules(package: Any) -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__))
