"""The ladder of each kernel family: its variants, simplest first, and which one runs.

A variant is a function that takes a family's checked arguments and launches. `gpugrad.use_kernels` swaps another
variant, or a kernel of your own, in for a block.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..program import Define, Kernel
from .geometry import round_up

_ladders: dict[str, dict[str, Callable[..., Any]]] = {}
_swapped: ContextVar[dict[str, Any]] = ContextVar("gpugrad_swapped_kernels", default={})  # noqa: B039


def variant(family: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the next rung of a family's ladder."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _ladders.setdefault(family, {})[name] = function
        return function

    return register


def variants(family: str) -> list[str]:
    """The names of a family's variants, simplest first: the first is for reading, a later one is what training uses."""
    return list(_ladder(family))


def families() -> list[str]:
    """The kernel families that have a ladder."""
    return list(_ladders)


def resolve(family: str, name: str | None, default: str) -> tuple[Callable[..., Any], Any]:
    """The variant to run, and the kernel swapped in for the first rung's own (None: its own).

    `name` is what the caller asked for; else what `use_kernels` says; else `default`.
    """
    ladder = _ladder(family)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{family}: variant is {name!r}; it is a name ({', '.join(ladder)}), use_kernels takes kernels")
    chosen = name if name is not None else _swapped.get().get(family, default)
    if isinstance(chosen, str):
        if chosen not in ladder:
            raise ValueError(f"{family}: variant is {chosen!r}; there is {', '.join(ladder)}")
        return ladder[chosen], None
    return next(iter(ladder.values())), chosen


def launch_first(
    own: Kernel,
    custom: Any,
    dtype: np.dtype,
    global_size: tuple[int, ...],
    local_size: tuple[int, ...],
    *args: Any,
    defines: tuple[Define, ...] = (),
) -> None:
    """Launch a first rung's own kernel, or the one swapped in for it, which gets the same arguments and work-items."""
    if custom is None:
        own.launch(dtype, global_size, local_size, *args, defines=defines)
        return
    padded = tuple([round_up(g, n) for g, n in zip(global_size, local_size)])
    if 0 not in padded:
        custom(*args, global_size=padded, local_size=local_size)


def swapped(*families: str) -> bool:
    """Has `use_kernels` chosen something for one of these families?"""
    return any(family in _swapped.get() for family in families)


@contextlib.contextmanager
def use_kernels(**choices: Any) -> Iterator[None]:
    """For the block, families run a variant of your choice: `use_kernels(im2col="naive", gemm=my_kernel)`.

    A choice is a variant's name, or a kernel (from `gpugrad.kernel`) with the first rung's signature and geometry.
    It holds for this thread.
    """
    for family, choice in choices.items():
        ladder = _ladder(family)
        if isinstance(choice, str):
            if choice not in ladder:
                raise ValueError(f"use_kernels: {family} is {choice!r}; there is {', '.join(ladder)}")
        elif not callable(choice):
            raise TypeError(
                f"use_kernels: {family} is {choice!r}; give a variant's name ({', '.join(ladder)}) or a kernel made "
                "by gpugrad.kernel"
            )
    token = _swapped.set({**_swapped.get(), **choices})
    try:
        yield
    finally:
        _swapped.reset(token)


def _ladder(family: str) -> dict[str, Callable[..., Any]]:
    if not isinstance(family, str):
        raise TypeError(f"family is {family!r}; it is the name of a kernel family: {', '.join(_ladders)}")
    if family not in _ladders:
        raise ValueError(f"there is no kernel family {family!r}; there is {', '.join(_ladders)}")
    return _ladders[family]
