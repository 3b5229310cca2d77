"""`with gg.trace() as t:` records the launches of a block."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from typing import Any

from ..files import file_path
from ..program import Launch, intercepting
from ..source import SourceError
from .launch import LaunchTrace, whole
from .recorder import Options, checked_budget, checked_fuel, record
from .report import Report

WORD = re.compile(r"[A-Za-z_]\w*")


class Trace:
    """The recorded launches of a block, in `launches`.

    `skipped` lists (kernel, reason) of launches whose text the recorder cannot follow: they ran plain. `unrecorded`
    counts those that were not asked for, `unwatched` has the names in `watch` that no recorded launch assigns.
    """

    def __init__(self, launches: Iterable[LaunchTrace] = ()) -> None:
        self.launches: list[LaunchTrace] = list(launches)
        self.skipped: list[tuple[str, str]] = []
        self.unrecorded = 0
        self.unwatched: list[str] = []

    def __repr__(self) -> str:
        return f"<Trace of {len(self.launches)} launches: {', '.join(t.kernel for t in self.launches) or 'none'}>"

    def __str__(self) -> str:
        """One line for each launch, and what was left out."""
        lines = [f"{i}: {t!r}"[:-1].replace("<launch of ", "") for i, t in enumerate(self.launches)]
        lines += [f"not recorded: {name}: {reason}" for name, reason in self.skipped]
        if self.unrecorded:
            lines.append(f"{self.unrecorded} launch{'es were' if self.unrecorded > 1 else ' was'} not asked for")
        lines += [f"no recorded launch assigns a private variable {name}" for name in self.unwatched]
        for t in self.launches:
            lines += [f"{t.kernel}: {note}" for note in t.notes]
        return "\n".join(lines) or "no launch happened in the block"

    def __len__(self) -> int:
        return len(self.launches)

    def __getitem__(self, i: int) -> LaunchTrace:
        return self.launches[i]

    def play(self, launch: int = 0, **options: Any) -> None:
        """The text stepper on one launch; see LaunchTrace.play."""
        self.launches[launch].play(**options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an .npz file; `gg.trace.load` reads it again."""
        from .storage import save

        save(self, file_path("trace.save", path))


class Session(Trace):
    """A Trace that fills while its `with` block runs."""

    def __init__(self, options: Options, launches: Collection[int] | None, kernels: Collection[str] | None) -> None:
        super().__init__()
        self.options, self.wanted, self.kernels = options, launches, kernels
        self.seen = 0
        self._block: Any = None

    def __enter__(self) -> Session:
        if self._block is not None:
            raise RuntimeError("trace: this trace has had its block; make a new one with gg.trace()")
        self._block = intercepting(self._intercept)
        self._block.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._block is None:
            raise RuntimeError("trace: this trace's block was never entered: write `with gg.trace() as t:`")
        self._block.__exit__(kind, value, at)
        assigned = {word for t in self.launches for s in t.sites if s.kind == "assign" for word in WORD.findall(s.name)}
        self.unwatched = sorted(set(self.options.watch) - assigned - {"*"}) if self.launches else []

    def _intercept(self, launch: Launch, run: Callable[[], None]) -> None:
        number = self.seen
        self.seen += 1
        name = launch.kernel.name
        if (self.wanted is not None and number not in self.wanted) or (
            self.kernels is not None and name not in self.kernels
        ):
            self.unrecorded += 1
            run()
            return
        try:
            self.launches.append(record(launch, self.options))
        except SourceError as error:
            self.skipped.append((name, error.reason))
            run()


def trace(
    *,
    watch: str | Iterable[str] = (),
    launches: int | Iterable[int] | None = None,
    kernels: str | Iterable[str] | None = None,
    groups: int | Iterable[int] | None = None,
    work_items: int | Iterable[int] | None = None,
    budget: int = 256 << 20,
    fuel: int = 1 << 20,
) -> Session:
    """Record each launch inside the block, on the device that runs it.

    `watch`: private variables whose assignments are recorded too, such as ("acc", "k"), or "*". `launches` (numbers
    within the block, from 0) and `kernels` (names) choose launches, `groups` and `work_items` (flat numbers) what is
    recorded of them; the rest runs, and is counted as left out. `budget` bytes hold a launch's events, 16 each, and
    the copies of its arrays; events beyond are lost, and it says so. A work-item leaves its loops after `fuel` turns.

    Every launch runs twice, and its results are those of the plain kernel. Gives a Trace: `t.launches[0].events`.
    """
    budget, fuel = checked_budget("trace", budget), checked_fuel("trace", fuel)
    options = Options(tuple(sorted(_names("watch", watch) or ())), _numbers("groups", groups),
                      _numbers("work_items", work_items), budget, fuel)  # fmt: skip
    return Session(options, _numbers("launches", launches), _names("kernels", kernels))


def _names(argument: str, value: str | Iterable[str] | None) -> frozenset[str] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"trace: {argument} holds {name!r}; give names")
    return frozenset(names)


def _numbers(argument: str, value: int | Iterable[int] | None) -> frozenset[int] | None:
    if value is None:
        return None
    try:
        several = [value] if hasattr(value, "__index__") else list(value)
        numbers = frozenset(whole("trace", argument, n) for n in several)
    except TypeError:
        raise TypeError(f"trace: {argument} is {value!r}; give a number, or several") from None
    if any(n < 0 for n in numbers):
        raise ValueError(f"trace: {argument} is {value!r}; numbers start at 0")
    return numbers


def one_launch(function: str, launch: Any) -> LaunchTrace:
    """What a user gives as a launch: one, a trace that holds one, or the report on one."""
    if isinstance(launch, Report):
        return launch.launch
    if isinstance(launch, Trace):
        if len(launch) != 1:
            raise ValueError(
                f"{function}: the trace holds {len(launch)} launches; choose one, as in {function}(t.launches[0]):\n"
                f"{launch}"
            )
        launch = launch.launches[0]
    if not isinstance(launch, LaunchTrace):
        got = type(launch).__name__
        raise TypeError(f"{function}: launch is {got}; record one with `with gg.trace() as t:` and give t.launches[0]")
    return launch
