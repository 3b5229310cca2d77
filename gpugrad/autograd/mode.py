"""Whether operations are recorded: a context variable, so that each thread has its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_enabled: ContextVar[bool] = ContextVar("gpugrad_grad_enabled", default=True)


def is_grad_enabled() -> bool:
    return _enabled.get()


class set_grad_enabled(contextlib.ContextDecorator):
    """Record operations, or not, in a `with` block or a decorated function."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self._tokens: list[Any] = []

    def __enter__(self) -> None:
        self._tokens.append(_enabled.set(self.mode))

    def __exit__(self, *exc: object) -> None:
        _enabled.reset(self._tokens.pop())


class no_grad(set_grad_enabled):
    """`with no_grad():` (or `@no_grad()`) does not record operations: results need no gradient."""

    def __init__(self) -> None:
        super().__init__(False)

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        # Also as a bare decorator, as in PyTorch.
        if function is None:
            return super().__new__(cls)
        return cls()(function)


class enable_grad(set_grad_enabled):
    """`with enable_grad():` records operations inside a `no_grad` block."""

    def __init__(self) -> None:
        super().__init__(True)
