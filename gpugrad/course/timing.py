"""Timing for lessons: the least of several runs, as the rest is the machine doing something else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds(run: Callable[[], Any], repeats: int = 7) -> float:
    """How long `run()` takes, until the device has finished: the least of some runs, after one to warm up."""
    from ..device import current_device

    if not callable(run):
        raise TypeError(f"seconds: run is {run!r}; it is a function to call, such as lambda: a @ b")
    if not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"seconds: repeats is {repeats!r}; it is how often to call, 1 or more")
    queue = current_device().queue
    run()
    best = float("inf")
    for _ in range(repeats):
        queue.finish()
        begun = time.perf_counter()
        run()
        queue.finish()
        best = min(best, time.perf_counter() - begun)
    return best
