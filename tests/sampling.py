"""Which of many cases that are much alike `make test-deep` takes; `make test-full` takes them all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def some(cases: Iterable, *, every: int, first: int = 0) -> list:
    """Parameters of a deep test: from number `first` on every `every`-th one, and the others marked as full."""
    return [pytest.param(c, marks=[pytest.mark.full] * (i % every != first)) for i, c in enumerate(cases)]
