"""Watching kernels run: `with gg.trace() as t:` records every access to memory that the launches inside make.

session.py is the block, recorder.py records one launch, events.py says what an event is, launch.py answers questions
about a recorded launch, stepper.py walks through it as text, storage.py saves and loads. The sanitizer
(sanitizer.py) reads a recorded launch for mistakes: faults.py, races.py and unwritten.py find them, report.py says
them, memory.py measures how memory is used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .launch import BufferInfo, LaunchTrace
from .report import Finding, Report
from .sanitizer import KernelFault, sanitize, sanitizer
from .session import Session, Trace, trace
from .storage import load

__all__ = [
    "BufferInfo", "Finding", "KernelFault", "LaunchTrace", "Report", "Session", "Trace", "load", "sanitize",
    "sanitizer", "trace",
]  # fmt: skip

trace.load = load  # type: ignore[attr-defined]  # `gpugrad.trace` is the function where its name was looked up


class _Callable(ModuleType):
    """`gpugrad.trace` is both this package and the function of that name: importing the package binds the module
    to the name, so calling it must work."""

    def __call__(self, **options: Any) -> Session:
        return trace(**options)


sys.modules[__name__].__class__ = _Callable
