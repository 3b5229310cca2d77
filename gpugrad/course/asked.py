"""What an exercise looks like before anybody has answered it: its cell in the lesson."""

from __future__ import annotations

import json
from functools import cache

from .lab import shipped


def same_text(number: str, answer: str) -> bool:
    """Is an answer the lesson's own text, but for spaces and line ends?"""
    return answer.split() == _texts(number[:2]).get(number)


@cache
def _texts(lesson: str) -> dict[str, list[str]]:
    """exercise -> the words of its cell below `%%kernel 02.3` or `%%answer 09.4`, for each such cell of a lesson."""
    found = {}
    for path in shipped().glob(f"{lesson}_*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            head, _, below = "".join(cell["source"]).partition("\n")
            magic, _, number = head.partition(" ")
            if magic in ("%%kernel", "%%answer"):
                found[number.strip()] = below.split()
    return found
