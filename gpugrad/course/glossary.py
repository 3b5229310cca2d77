"""The glossary: glossary.md, a definition under each word."""

from __future__ import annotations

import difflib
import importlib.resources
import re
from functools import cache


@cache
def words() -> dict[str, str]:
    """Every word with its definition, in the order of the page."""
    text = importlib.resources.files("gpugrad.course").joinpath("glossary.md").read_text(encoding="utf-8")
    pieces = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return {word.strip(): " ".join(said.split()) for word, said in zip(pieces[::2], pieces[1::2], strict=True)}


def meaning(word: str) -> str:
    """The definition of a word, or the words that come close."""
    if not isinstance(word, str):
        raise TypeError(f'explain: word is {word!r}; it is a word, such as course.explain("barrier")')
    known = {w.lower(): w for w in words()}
    if not word:
        return ", ".join(words())
    asked = word.lower().strip()
    found = known.get(asked) or known.get(asked.removesuffix("s"))
    if found:
        return f"{found}: {words()[found]}"
    near = [w for w in known if asked in w] or difflib.get_close_matches(asked, known, n=3, cutoff=0.7)
    near = (near or [w for w in known if re.search(rf"\b{re.escape(asked)}\b", words()[known[w]].lower())])[:3]
    hint = f"; did you mean {' or '.join(known[w] for w in near)}?" if near else ". course.explain() lists the words."
    return f"{word!r} is not in the glossary{hint}"
