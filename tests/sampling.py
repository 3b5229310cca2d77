"""Which of many cases that are much alike run every day; `make test-full` takes them all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

#: What only `make test-full` runs.
FULL = [pytest.mark.deep, pytest.mark.full]


def some(cases: Iterable, *, every: int, first: int = 0) -> list:
    """Parameters of a test: every `every`-th case, from number `first` on; the others are left to `make test-full`."""
    return [pytest.param(c, marks=FULL if i % every != first else []) for i, c in enumerate(cases)]
