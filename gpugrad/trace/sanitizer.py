"""The sanitizer: a recorded launch goes through every check; in a block, the first mistake is raised."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..custom import CustomKernel, kernel
from ..errors import GpugradError
from ..program import Launch, intercepting
from ..source import SourceError
from .faults import bounds, divergence, endless, misaligned
from .launch import LaunchTrace
from .races import races
from .recorder import Options, checked_budget, checked_fuel, record
from .report import Finding, Report, counted
from .unwritten import never_written, uninitialised

SINGLE = (bounds, misaligned, divergence, endless)  # one event shows it
CHECKS = (bounds, misaligned, divergence, races, uninitialised, never_written, endless)


class KernelFault(GpugradError):
    """The sanitizer found a mistake; `report` has everything it found in that launch."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def report_on(launch: LaunchTrace, checks: tuple[Callable[[LaunchTrace], list[Finding]], ...] = CHECKS) -> Report:
    """All checks on one recorded launch."""
    findings = [f for check in checks for f in check(launch)]
    notes = list(launch.notes)
    if launch.left_out:
        were = f"{counted(launch.left_out, 'work-item')} {'was' if launch.left_out == 1 else 'were'}"
        notes.append(f"{were} not recorded, so this speaks for the others only")
    return Report(launch, findings, notes)


def sanitize(
    kernel_or_source: CustomKernel | str,
    *args: Any,
    global_size: int | tuple[int, ...],
    local_size: int | tuple[int, ...] | None = None,
    name: str | None = None,
    budget: int = 256 << 20,
    fuel: int = 1 << 17,
    **arguments: str,
) -> Report:
    """Run a kernel once, recorded, and report every mistake that it made.

    The first argument is a kernel of `gg.kernel`, or OpenCL C text (`name`: which kernel of it; further keywords
    declare buffers, as in `gg.kernel`). Accesses outside global, local, constant and private memory are left out, and
    the run goes on. A work-item leaves its loops after `fuel` turns; `budget` bytes hold the events, 16 each, and the
    report has a note if they did not do. Raises SourceError if the text cannot be followed.
    """
    options = Options(budget=checked_budget("sanitize", budget), fuel=checked_fuel("sanitize", fuel))
    if not isinstance(kernel_or_source, CustomKernel):
        k = kernel(kernel_or_source, name, **arguments)
    elif name is None and not arguments:
        k = kernel_or_source
    else:
        given = ", ".join(arguments) or "name"
        raise TypeError(f"sanitize: {given} goes with a kernel's text; {kernel_or_source.name} is built already")
    reports: list[Report] = []

    def check(launch: Launch, run: Callable[[], None]) -> None:
        reports.append(report_on(record(launch, options)))

    with intercepting(check):
        k(*args, global_size=global_size, local_size=local_size)
    if not reports:
        raise ValueError(f"sanitize: global_size is {global_size}; with no work-items there is nothing to check")
    return reports[0]


@contextlib.contextmanager
def sanitizer(*, budget: int = 256 << 20) -> Iterator[list[tuple[str, str]]]:
    """For the block, check each launch and raise KernelFault at the first mistake.

    Gives a list that fills with (kernel, reason): of launches that could not be followed and ran plain, and of those
    that `budget` bytes, 16 for each event, did not hold, so that a part of them was not looked at.
    """
    skipped: list[tuple[str, str]] = []
    options = Options(budget=checked_budget("sanitizer", budget))

    def check(launch: Launch, run: Callable[[], None]) -> None:
        try:
            report = report_on(record(launch, options))
        except SourceError as error:
            skipped.append((launch.kernel.name, error.reason))
            run()
            return
        if not report.ok:
            raise KernelFault(report)
        if report.launch.lost:
            skipped.append((launch.kernel.name, report.launch.notes[-1]))

    with intercepting(check):
        yield skipped
