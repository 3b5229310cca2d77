"""What an exercise is, and what checking an answer says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .asked import same_text

KINDS = ("predict", "fill in", "write a kernel", "find the bug", "make it faster", "write Python")
MOST = 1000  # numbers of a prediction that are kept; none has so many


@dataclass(frozen=True)
class Verdict:
    """What checking an answer found: `right`, and `text`, one sentence; when wrong, lines that show where."""

    right: bool
    text: str


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson. `id` is "LESSON.NUMBER", such as "02.3"; hints go from a nudge to nearly the answer.

    Subclasses say what an answer is: a value (Prediction), OpenCL C (kernel_exercise.py), Python (python_exercise.py).
    """

    id: str
    kind: str
    title: str
    hints: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"exercise {self.id}: kind is {self.kind!r}; it is one of {', '.join(KINDS)}")

    def is_open(self, answer: Any) -> bool:
        """Is this the lesson's own text, or its dots, with nothing put in their place?"""
        if isinstance(answer, str):
            return not answer.strip() or same_text(self.id, answer)
        return answer is ... or answer is None

    def examine(self, answer: Any) -> Verdict:
        """Check an answer that is not open."""
        raise NotImplementedError

    def several(self, answers: tuple[Any, ...]) -> str:
        """What to say to those who give several answers in place of one."""
        return f"{self.id} takes one answer, a text; you gave {len(answers)}."

    def plain(self, answer: Any) -> Any:
        """The answer as numbers, text and lists, for the file of progress; of anything else, its repr."""
        return answer if isinstance(answer, str) else shown(answer)


@dataclass(frozen=True)
class Prediction(Exercise):
    """What will happen? The answer is a number, a word, or several in a list.

    `truth` computes it, from a real run where it can. `why` is said when the answer is right. `misconceptions` are
    (answer, sentence) pairs: what to say to those who give a wrong answer for an understandable reason. In an answer
    that is a list, `...` stands for anything: the reason is in the other elements.
    """

    truth: Callable[[], Any]
    why: str
    misconceptions: Sequence[tuple[Any, str]] = field(default=())

    def several(self, answers: tuple[Any, ...]) -> str:
        form, given = _form(np.asarray(self.truth())), ", ".join(map(repr, answers))
        listed = "list" in form
        how = f'. A list stands in brackets: course.check("{self.id}", [{given}])' if listed else ""
        return f"{self.id} takes one answer, {form}; you gave {len(answers)}{how}."

    def plain(self, answer: Any) -> Any:
        try:
            given = np.asarray(answer)
            if given.size > MOST:
                return shown(answer)
            kept = given.tolist()
            json.dumps(kept)
        except Exception:  # a ragged list, a set, a complex number, an object that cannot be asked
            return shown(answer)
        return kept

    def examine(self, answer: Any) -> Verdict:
        truth = np.asarray(self.truth())
        try:
            given = np.asarray(answer)
        except ValueError:
            return Verdict(False, f"{self.id}: give {_form(truth)}; the lists in your answer differ in length.")
        except Exception:  # an object of the student's own may raise anything
            return Verdict(False, f"{self.id}: give {_form(truth)}; your answer is {shown(answer)}.")
        plain = given.dtype.kind in "biufU"
        if plain and _fits(given, truth):
            return Verdict(True, f"{self.id} is right. {self.why}")
        for wrong, sentence in self.misconceptions:
            if plain and _fits(given, wrong):
                return Verdict(False, f"{self.id}: not what happens. {sentence}")
        if _is_text(given) != _is_text(truth) or not plain:
            mend = _mend(given, truth)
            return Verdict(False, f"{self.id}: give {_form(truth)}; your answer is {shown(answer)}.{mend}")
        if given.shape != truth.shape:
            return Verdict(False, f"{self.id}: give {_form(truth)}; your answer is {_form(given)}.")
        if given.ndim:
            first = np.argwhere(~_same(given, truth))[0]
            place = ", ".join(map(str, first))
            return Verdict(False, f"{self.id}: not what happens; look at element {place} of your answer again.")
        return Verdict(False, f"{self.id}: {given.item()!r} is not what happens. {nudge(self.id)}")


def shown(answer: Any) -> str:
    """An answer as Python writes it, if it can be written, and not too long."""
    try:
        text = repr(answer)
    except Exception:  # a number of thousands of digits, a list in a list in a list ..., an object's own mistake
        return f"an object of type {type(answer).__name__} that cannot be written"
    return text if len(text) <= 300 else f"{text[:300]} ..."


def _fits(given: np.ndarray, wrong: Any) -> bool:
    """Is the given answer this wrong one?"""
    if isinstance(wrong, list) and ... in wrong:
        chosen = [i for i, w in enumerate(wrong) if w is not ...]
        return given.shape == (len(wrong),) and _fits(given[chosen], [wrong[i] for i in chosen])
    other = np.asarray(wrong)
    return given.shape == other.shape and _is_text(given) == _is_text(other) and bool(np.all(_same(given, other)))


def _same(given: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Element by element: words in any case, counts exactly, other numbers to four digits."""
    if _is_text(truth):
        return np.char.lower(np.char.strip(given)) == np.char.lower(np.char.strip(truth))
    if truth.dtype.kind in "biu":
        return np.asarray(given == truth)
    return np.isclose(given.astype("f8"), truth.astype("f8"), rtol=1e-4, atol=1e-12, equal_nan=True)


def _is_text(a: np.ndarray) -> bool:
    return a.dtype.kind == "U"


def _form(a: np.ndarray) -> str:
    what = "word" if _is_text(a) else "True or False" if a.dtype.kind == "b" else "number"
    if a.ndim == 0:
        return what if what == "True or False" else f"one {what}"
    if a.ndim == 1:
        return f"a list of {a.size} {what}{'s' if a.size != 1 and what != 'True or False' else ''}"
    return f"nested lists of shape {a.shape}"


def _mend(given: np.ndarray, truth: np.ndarray) -> str:
    """What to change in an answer of another kind, where that shows."""
    if _is_text(given) and not _is_text(truth):
        return " Numbers stand without quotes."
    if given.dtype.kind == "O" and any(each is ... for each in given.flat):
        return " A `...` is left in it: put your own in its place."
    return ""


def nudge(number: str) -> str:
    """Where to go on for those who are stuck."""
    return f'course.hint("{number}") helps.'


@dataclass(frozen=True)
class Lesson:
    """A lesson: its notebook's name without the ending, its title, and the question it answers."""

    notebook: str
    title: str
    question: str
    exercises: tuple[Exercise, ...]
    minutes: int = 45

    @property
    def number(self) -> str:
        return self.notebook[:2]
