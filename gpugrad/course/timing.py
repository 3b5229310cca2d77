"""Timing for lessons: the least of several runs, as the rest is the machine doing something else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def seconds(run: Callable[[], Any], repeats: int = 7) -> float:
    """How long `run()` takes, until the device has finished: the least of some runs, after one to warm up."""
    from ..device import current_device
    from ..kernels.checks import integer

    if not callable(run):
        raise TypeError(f"seconds: run is {run!r}; it is a function to call, such as lambda: a @ b")
    repeats = integer("seconds", "repeats", repeats, 1)
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
