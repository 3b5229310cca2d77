"""Whether operations are recorded: a context variable, so that each thread has its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..kernels.checks import boolean

_enabled: ContextVar[bool] = ContextVar("gpugrad_grad_enabled", default=True)


def is_grad_enabled() -> bool:
    return _enabled.get()


class _Recording(contextlib.ContextDecorator):
    """Recording on or off in a `with` block, or in each call of a decorated function."""

    def __init__(self, mode: bool):
        self.mode = mode
        self._tokens: list[Any] = []

    def _recreate_cm(self) -> _Recording:
        # Each call of a decorated function has a token of its own: two threads may be inside at once.
        return _Recording(self.mode)

    def __enter__(self) -> None:
        self._tokens.append(_enabled.set(self.mode))

    def __exit__(self, *exc: object) -> None:
        _enabled.reset(self._tokens.pop())


class set_grad_enabled(_Recording):
    """Record operations, or not, from here on; in a `with` block or as a decorator, only there."""

    def __init__(self, mode: bool):
        super().__init__(boolean("set_grad_enabled", "mode", mode))
        self._before = _enabled.get()
        _enabled.set(self.mode)

    def __enter__(self) -> None:
        _enabled.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _enabled.set(self._before)

    def __call__(self, function: Any) -> Any:
        _enabled.set(self._before)  # decorating a function changes nothing now
        return super().__call__(function)


class no_grad(_Recording):
    """`with no_grad():` (or `@no_grad()`) does not record operations: results need no gradient."""

    def __init__(self) -> None:
        super().__init__(False)

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        # Also as a bare decorator, as in PyTorch.
        if function is None:
            return super().__new__(cls)
        return cls()(function)


class enable_grad(_Recording):
    """`with enable_grad():` records operations inside a `no_grad` block."""

    def __init__(self) -> None:
        super().__init__(True)
