"""Exercises whose answer is a Python function: its text runs on its own, with np, gg and F at hand, and is tried."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .spec import Exercise, Verdict

NO_RETURN = "it returns None: is a return missing?"


@dataclass(frozen=True)
class PythonExercise(Exercise):
    """`function` is the name to define. `complaint` tries it and gives a sentence about what is wrong, or ""."""

    function: str
    complaint: Callable[[Any], str]
    done: str

    def examine(self, answer: Any) -> Verdict:
        if not isinstance(answer, str):
            return Verdict(False, f"{self.id}: the answer is Python text; got {type(answer).__name__}.")
        try:
            names = namespace()
            text = answer.removeprefix("\ufeff")  # how some editors of Windows begin a file
            exec(compile(text, self.id, "exec"), names)
            if not callable(names.get(self.function)):
                return Verdict(False, f"{self.id}: define {self.function}, by that name, as the lesson begins it.")
            complaint = self.complaint(names[self.function])
        except KeyboardInterrupt:  # whoever stops a check wants no verdict
            raise
        except BaseException as error:  # sys.exit(), say: what a student's text raises ends nobody's notebook
            return Verdict(False, f"{self.id}: {_told(error, self.id, answer)}")
        if complaint:
            return Verdict(False, f"{self.id}: {complaint}")
        return Verdict(True, f"{self.id} is right. {self.done}")


def namespace() -> dict[str, Any]:
    """What an answer can use without importing it."""
    import numpy as np

    import gpugrad as gg
    import gpugrad.nn.functional as F

    return {"np": np, "gg": gg, "F": F}


def _no_python(line: str) -> str:
    """What a line is that is no Python, where that shows."""
    if line.lstrip().startswith(("%", "!", "?", "`", "~")):
        return ". A line that begins with % or ! is Jupyter's, one with ``` Markdown's: neither is part of an answer."
    if "__kernel" in line:
        return ". That is OpenCL C: the answer is Python."
    return ""


def _told(error: BaseException, file: str, source: str) -> str:
    """The error at the answer's own line."""
    try:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
    except Exception:  # an error of the student's own, and a mistake in its words
        said = type(error).__name__
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file:
            line = frame.lineno
    if "ellipsis" in said:
        said += ". A `...` is left in the answer: put your own in its place."
    if "unexpected keyword argument 'axis'" in said:
        said += ". A tensor's methods say dim where NumPy says axis."
    if "no attribute 'apply'" in said:
        said += ". It must be a class that builds on gg.autograd.Function, as the lesson begins it."
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):  # that one is a name of its own
        said += ". An answer runs alone: it knows np, gg, F, and what it imports and defines itself."
    lines = source.split("\n")
    if line is None or not 1 <= line <= len(lines):
        return said
    if isinstance(error, SyntaxError):
        said += _no_python(lines[line - 1])
    return f"line {line} raises {said}\n  {line:4d} | {lines[line - 1]}"
