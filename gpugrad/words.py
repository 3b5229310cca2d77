"""Sentences for the screen."""

from __future__ import annotations

import textwrap

WIDTH = 96  # characters: JupyterLab breaks longer lines of printed text in the middle of a word


def folded(text: str, width: int = WIDTH) -> str:
    """A text with its sentences broken between words; lines of source, which are indented, stay whole."""
    lines = (
        line if line.startswith(" ") else textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )
    return "\n".join(lines)
