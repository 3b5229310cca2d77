"""How the wrong answers in tests/course are written: each with what the check must say about it.

A module there has WRONG, a dict from an exercise to its wrong answers, at least three:

    WRONG = {
        "00.1": [Wrong("rounded down", [960, 64, 64], says="rounded down")],
        "00.3": [Wrong("off by one", change("n - 1 - i", "n - i"), says="OUT OF BOUNDS, line 3")],
    }

and may have ANOTHER_WAY, a dict from an exercise to an answer that is right and not the solution.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wrong:
    """`mistake` names it; `answer` is the answer, or a change to the solution; `says` is part of the verdict."""

    mistake: str
    answer: Any
    says: str

    def given(self, solution: Any) -> Any:
        return self.answer(solution) if callable(self.answer) else self.answer


def change(*replacements: str) -> Any:
    """The solution with texts replaced: change("i < n", "i <= n"), or more pairs."""

    def changed(solution: str) -> str:
        for old, new in zip(replacements[::2], replacements[1::2], strict=True):
            assert old in solution, f"the solution has no {old!r} to change"
            solution = solution.replace(old, new)
        return solution

    return changed
