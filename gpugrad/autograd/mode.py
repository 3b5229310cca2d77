"""Whether operations are recorded: a context variable, so that each thread has its own."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator
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
        self._before: list[bool] = []

    def _recreate_cm(self) -> _Recording:
        # Each call of a decorated function has a token of its own: two threads may be inside at once.
        return _Recording(self.mode)

    def __enter__(self) -> None:
        self._before.append(_enabled.get())
        _enabled.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        # Not by a token: a block that a coroutine or a thread's task begins may end in another context.
        _enabled.set(self._before.pop())

    def __call__(self, function: Any) -> Any:
        if inspect.isgeneratorfunction(function):
            return _around_each_part(function, self._recreate_cm)
        return super().__call__(function)


class set_grad_enabled(_Recording):
    """Record operations, or not, from here on; in a `with` block or as a decorator, only there."""

    def __init__(self, mode: bool):
        super().__init__(boolean("set_grad_enabled", "mode", mode))
        self._first = _enabled.get()
        _enabled.set(self.mode)

    def __enter__(self) -> None:
        _enabled.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _enabled.set(self._first)

    def __call__(self, function: Any) -> Any:
        _enabled.set(self._first)  # decorating a function changes nothing now
        return super().__call__(function)


class _AlsoBare(_Recording):
    """A mode without arguments, which decorates with and without brackets, as in PyTorch."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        if function is None:
            return super().__new__(cls)
        return cls()(function)


class no_grad(_AlsoBare):
    """`with no_grad():` (or `@no_grad`) does not record operations: results need no gradient."""

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_AlsoBare):
    """`with enable_grad():` (or `@enable_grad`) records operations inside a `no_grad` block."""

    def __init__(self) -> None:
        super().__init__(True)


def _around_each_part(function: Callable[..., Any], mode: Callable[[], Any]) -> Callable[..., Any]:
    """A generator function whose body runs inside `mode()`, and whoever takes its values outside."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        go_on: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with mode():
                    value = go_on()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                with mode():
                    generator.close()
                raise
            except BaseException as error:
                go_on = functools.partial(generator.throw, error)
            else:
                go_on = functools.partial(generator.send, sent)

    return generate
