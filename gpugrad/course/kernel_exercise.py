"""Exercises whose answer is a kernel: it runs on many inputs, recorded, with poisoned outputs, and each element counts.

    Case("n = 7", (x, y, Out(x + y), 7), global_size=(8,), local_size=(4,))

A kernel is right if, in every case, the sanitizer finds no mistake, each output has its expected values, the inputs
are as before, and the plain kernel, not only its recording form, gives the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .spec import Exercise, Verdict

if TYPE_CHECKING:
    from ..custom import CustomKernel
    from ..trace import LaunchTrace
    from ..trace.report import Finding

FLOAT_POISON, INT_POISON = np.nan, -987654321
FUEL = 1 << 13  # turns of its loops that a recorded work-item may take: no exercise needs more, and an endless one ends


@dataclass(frozen=True)
class Out:
    """A buffer that the kernel fills: the expected contents, and how far off an element may be.

    An element may differ by `tolerance` times the larger of 1 and its expected magnitude. `before`: what the buffer
    holds at the start, for kernels that update it; without it, poison that nobody may read or leave. `shown` says an
    element in a verdict, where its digits say little.
    """

    expected: np.ndarray
    tolerance: float = 0.0
    before: np.ndarray | None = None
    shown: Callable[[Any], str] = "{:.7g}".format

    def start(self) -> np.ndarray:
        if self.before is not None:
            return self.before
        poison = FLOAT_POISON if self.expected.dtype.kind == "f" else INT_POISON
        return np.full(self.expected.shape, poison, self.expected.dtype)


@dataclass(frozen=True)
class Case:
    """One launch of the student's kernel: `about` says which, as in "with n = 7".

    `args` in the kernel's order: NumPy arrays to read, Out, numbers, gg.Local. Large cases are not recorded event by
    event (`recorded=False`), only checked for faults. `demand` looks at the recorded launch and gives a complaint in a
    sentence, or "": how often memory may be read, say.
    """

    about: str
    args: tuple[Any, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    recorded: bool = True
    demand: Callable[[LaunchTrace], str] | None = None


@dataclass(frozen=True)
class KernelExercise(Exercise):
    """`kernel` is the name to keep, `cases` makes the cases from a seeded generator, `done` is said at the end."""

    kernel: str
    cases: Callable[[np.random.Generator], Iterable[Case]]
    done: str

    def examine(self, answer: Any) -> Verdict:
        from ..custom import kernel
        from ..errors import GpugradError

        if not isinstance(answer, str):
            got = type(answer).__name__
            return Verdict(False, f"{self.id}: the answer is the text of a kernel; got {got}. Pass its source.")
        try:
            built = kernel(answer, self.kernel)
            cases = list(self.cases(np.random.default_rng(list(self.id.encode()))))
            for case in cases:
                complaint = _try(built, case)
                if complaint:
                    return Verdict(False, f"{self.id}, {case.about}: {complaint}")
        except (GpugradError, ValueError) as error:  # ValueError: it asks for more local memory than there is, say
            return Verdict(False, f"{self.id}: {error}")
        return Verdict(True, f"{self.id} is right, in {len(cases)} cases. {self.done}")


def loads(launch: LaunchTrace, buffer: str) -> int:
    """How many elements of a buffer the launch reads, counting each time."""
    return len(launch.select(buffer=buffer, kind="load"))


def whole(rng: np.random.Generator, *shape: int, most: int = 9) -> np.ndarray:
    """Whole numbers from -most to most: float32 multiplies and adds such without rounding, in any order."""
    return rng.integers(-most, most + 1, shape).astype("f4")


def rounded_up(n: int, group: int) -> int:
    """The smallest multiple of a group's size that is at least n: the global size for n elements."""
    return -(-n // group) * group


def _try(built: CustomKernel, case: Case) -> str:
    """What is wrong in this case, or ""."""
    complaint = _recorded(built, case) if case.recorded else _run(built, case, checked=True)
    if complaint:
        return complaint
    complaint = _run(built, case, checked=False)
    if complaint:
        return (
            "your kernel makes no mistake and gives the right numbers when its steps are recorded, but compiled for "
            f"speed it does not: {complaint} That is a mistake of this device's compiler, which dislikes some loops "
            "around barriers. Write the loop in another way, such as one that halves its width."
        )
    return ""


def _recorded(built: CustomKernel, case: Case) -> str:
    """Run it under the recorder and the sanitizer."""
    from ..device import current_device
    from ..source import SourceError
    from ..trace import trace
    from ..trace.recorder import built as recording

    built, arrays = _arguments(built, case)
    try:  # a trace would run plain what it cannot follow, and such a kernel may never end
        recording(built.on(current_device()), (), FUEL)
        with trace(fuel=FUEL) as t:
            built(*arrays, global_size=case.global_size, local_size=case.local_size)
    except SourceError as error:
        return f"the recorder cannot follow {built.name}: {error.reason}"
    launch = t[0]
    report = launch.report()
    if not report.ok:
        return _told(report.findings)
    return _differences(built, case, arrays, launch) or (case.demand(launch) if case.demand else "")


def _run(built: CustomKernel, case: Case, checked: bool) -> str:
    """Run it without a record."""
    from ..trace import KernelFault

    built, arrays = _arguments(built, case)
    try:
        built(*arrays, global_size=case.global_size, local_size=case.local_size, checked=checked)
    except KernelFault as fault:
        return _told(fault.report.findings)
    return _differences(built, case, arrays, None)


def _told(findings: list[Finding]) -> str:
    """The first mistake, where to read about its kind, and how many more there are."""
    more = len(findings) - 1
    also = f" It is the first of {more + 1} mistakes here: mend it, then check again." if more else ""
    return f'{findings[0]}\ncourse.explain("{findings[0].kind}") says what that is.{also}'


def _arguments(built: CustomKernel, case: Case) -> tuple[CustomKernel, list[Any]]:
    """The kernel with its buffers declared, and the arguments on the device, outputs poisoned."""
    from ..array import Array
    from ..custom import CustomKernel
    from ..device import current_device

    names = [p.name for p in built.on(current_device()).parameters]
    declared, arrays = {}, []
    for i, a in enumerate(case.args):
        value = a
        if isinstance(a, Out | np.ndarray):
            host = a.start() if isinstance(a, Out) else a
            value = Array.from_numpy(host, host.dtype)
            if isinstance(a, Out) and a.before is None:
                value.state.writer = None  # the poison counts as nobody's: reading it is a mistake
            if i < len(names):
                role = "in" if isinstance(a, np.ndarray) else "out" if a.before is None else "inout"
                declared[names[i]] = role
        arrays.append(value)
    buffers = {p.name for p in built.on(current_device()).parameters if p.space == "global"}
    declared = {n: role for n, role in declared.items() if n in buffers}
    return CustomKernel(built.source, built.name, declared), arrays


def _differences(built: CustomKernel, case: Case, arrays: list[Any], launch: LaunchTrace | None) -> str:
    """The first element that is not as expected, and who wrote it."""
    from ..device import current_device

    names = [p.name for p in built.on(current_device()).parameters]
    for name, a, array in zip(names, case.args, arrays, strict=True):
        if isinstance(a, np.ndarray) and not np.array_equal(array.numpy(), a, equal_nan=a.dtype.kind == "f"):
            return f"{name} is an input, but the kernel has changed it."
        if isinstance(a, Out):
            found = array.numpy()
            wrong = np.argwhere(~_close(found, a))
            if len(wrong):
                return _sentence(name, tuple(int(i) for i in wrong[0]), len(wrong), found, a, launch)
    return ""


def _close(found: np.ndarray, out: Out) -> np.ndarray:
    if found.dtype.kind != "f":
        return found == out.expected
    expected = out.expected.astype("f8")
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= out.tolerance * np.maximum(1, np.abs(expected))
    return near | (found == expected) | (np.isnan(found) & np.isnan(expected))


def _sentence(
    name: str, place: tuple[int, ...], count: int, found: np.ndarray, out: Out, launch: LaunchTrace | None
) -> str:
    where = f"{name}[{', '.join(map(str, place))}]"
    text = f"{where} is {out.shown(found[place])}, and should be {out.shown(out.expected[place])}."
    if count > 1:
        text += f" ({count} of {found.size} elements are wrong; this is the first.)"
    return text + (_writer(launch, name, int(np.ravel_multi_index(place, found.shape))) if launch else "")


def _writer(launch: LaunchTrace, name: str, index: int) -> str:
    """Which work-item wrote an element last, and in which line."""
    from ..trace.events import LOAD
    from ..trace.report import Speaker, underlined

    c, b = launch.columns, launch.buffers.index(launch.buffer(name))
    mine = (c.buffer == b) & c.is_access & (c.kind != LOAD) & (c.offset // launch.element_sizes[b] == index)
    rows = np.flatnonzero(mine)
    if not len(rows):
        return " No work-item wrote it."
    row, say = int(rows[-1]), Speaker(launch)
    site = say.site(row)
    return f" It was written by {say.who(row)} in line {site.line}:\n{underlined(launch.source, site)}"
