"""Recording a launch on the device that runs it.

The instrumented kernel runs twice: first with no room, to count each work-item's events, then with exactly as many
slots. What it may write is kept before and put back between the two, so that `x += 1` happens once. The second run's
results stand: they are bit-equal to the plain kernel's.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array import Array
from ..build_errors import uncounted
from ..errors import GpugradError
from ..program import OPTIONS, Compiled, Launch, Local
from ..source import Buffer, Instrumented, instrument
from .events import decode, place
from .launch import BufferInfo, LaunchTrace, dtype_of, whole
from .run import Run

ENDLESS = 1 << 19  # events of a launch with an endless loop: its turns are all alike
MAX_EVENTS = 2**31 // 16  # slots are counted in 32 bits, and a buffer holds 2 GiB


@dataclass(frozen=True)
class Options:
    """What to record. `groups` and `work_items` (flat numbers; None: all), `watch` (private variables), `budget` (bytes
    of events and of kept arrays on the device, each), `fuel` (turns of its loops that a work-item may take)."""

    watch: tuple[str, ...] = ()
    groups: frozenset[int] | None = None
    work_items: frozenset[int] | None = None
    budget: int = 256 << 20
    fuel: int = 1 << 20


def checked_budget(function: str, budget: Any) -> int:
    """A budget in bytes that holds an event at least: with less, nothing at all would be seen."""
    budget = whole(function, "budget", budget)
    if budget < 16:
        raise ValueError(f"{function}: budget is {budget} bytes; one event takes 16")
    return budget


def checked_fuel(function: str, fuel: Any) -> int:
    """Turns that the device counts down in 32 bits."""
    fuel = whole(function, "fuel", fuel)
    if not 1 <= fuel < 2**32:
        raise ValueError(f"{function}: fuel is {fuel}; it is between 1 and 2**32 - 1")
    return fuel


@dataclass
class Built:
    """An instrumented kernel, compiled."""

    made: Instrumented
    cl_kernel: Any
    options: tuple[str, ...]


def built(kernel: Compiled, watch: tuple[str, ...], fuel: int, faults_only: bool = False) -> Built:
    """The instrumented form of a compiled kernel, which keeps it. Raises SourceError."""
    import pyopencl as cl

    key = (watch, fuel, faults_only)
    found = kernel.instrumented.get(key)
    if found is None:
        extensions = frozenset(kernel.device.cl_device.extensions.split())
        made = instrument(kernel.source, kernel.name, {**dict(kernel.types), **dict(kernel.defines)},
                          extensions=extensions, watch=watch, fuel=fuel, faults_only=faults_only)  # fmt: skip
        options = [*OPTIONS, *kernel.device.build_options]
        if made.votes and "portable computing" in kernel.device.platform.lower():
            # PoCL's barrier passes recurse without end on some optimised instrumented kernels.
            options.append("-cl-opt-disable")
        found = kernel.instrumented[key] = Built(made, _compile(kernel, made, options, cl), tuple(options))
    return found


def _compile(kernel: Compiled, made: Instrumented, options: list[str], cl: Any) -> Any:
    try:
        with warnings.catch_warnings(), uncounted():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program = cl.Program(kernel.device.context, made.text).build(options, cache_dir=False)
        return cl.Kernel(program, kernel.name)
    except cl.Error as error:
        kernel.device.raise_if_lost(f"the build of {kernel.name} for tracing", error)
        raise GpugradError(f"{kernel.name}: the recording form does not build on {kernel.device}:\n{error}") from error


def record(launch: Launch, options: Options) -> LaunchTrace:
    """Run the launch, recording it. Raises SourceError before anything has run if its text cannot be followed."""
    kernel = launch.kernel
    form = built(kernel, options.watch, options.fuel)
    group, local = place(np.arange(np.prod(launch.global_size)), launch.global_size, launch.local_size)
    chosen = _chosen(group, options)
    with kernel.device.lock:
        run = Run(launch, form.made, form.cl_kernel)
        before = run.contents(options.budget)
        with run.undone():
            wanted = run.once(np.zeros(len(group), "i8"))[1]
        room = np.where(chosen, wanted, 0).astype("i8")
        limit = min(options.budget // 16, MAX_EVENTS)
        if run.endless:
            room = _beginnings(room, min(limit, ENDLESS))
        elif room.sum() > limit:
            room = _share(room, group, limit)
        rows, counts = run.once(room)
        kernel.note_writes(launch.args, launch.number)
        after = {**before, **run.contents(options.budget, written=True)}
    used = np.minimum(counts, room)
    filled = np.arange(len(rows)) - np.repeat(np.cumsum(room) - room, room) < np.repeat(used, room)
    columns = decode(rows[filled], used, group, local, form.made.sites, len(form.made.buffers))
    infos = tuple(buffer_info(b, launch, run.writers, before, after) for b in form.made.buffers)
    trace = LaunchTrace(
        kernel.name, kernel.source, run.scalars(), launch.global_size, launch.local_size, form.made.sites, infos,
        columns,
        launch.number, str(kernel.device), kernel.file, form.options,
        lost=int(np.maximum(np.where(chosen, counts, 0).astype("i8") - room, 0).sum()),
        operations=int(run.operations[chosen].sum(dtype="u8")),
        left_out=int(len(chosen) - chosen.sum()), repeatable=bool((counts == wanted).all()),
    )  # fmt: skip
    if form.made.unfollowed:
        reads = "line {} reads" if len(form.made.unfollowed) == 1 else "lines {} read"
        trace.notes.append(
            reads.format(", ".join(map(str, form.made.unfollowed))) + " __constant memory other than by an array's own "
            "name (`w[i]`): that leaves no events, and is not checked"
        )
    if not chosen.any():
        trace.notes.append(f"none of its {len(group)} work-items, in {int(group.max()) + 1} groups, was asked for")
    if run.endless:  # and then the others were hurried, each at its own time
        trace.repeatable = True
        if trace.lost:
            trace.notes.append(
                f"an endless loop's turns are all alike: {trace.lost} events beyond the first were left out"
            )
    elif trace.lost and trace.repeatable:
        trace.notes.append(
            f"{trace.lost} events found no room: raise budget= ({options.budget} bytes), or trace some groups only"
        )
    if not trace.repeatable:
        trace.notes.append(
            "counting and recording met different numbers of events, so what it does depends on the order of its "
            f"work-items; {trace.lost} events found no room"
        )
    return trace


def _chosen(group: np.ndarray, options: Options) -> np.ndarray:
    """Which work-items are to be recorded."""
    chosen = np.ones(len(group), bool)
    if options.groups is not None:
        chosen &= np.isin(group, list(options.groups))
    if options.work_items is not None:
        chosen &= np.isin(np.arange(len(group)), list(options.work_items))
    return chosen


def _share(room: np.ndarray, group: np.ndarray, limit: int) -> np.ndarray:
    """Whole groups, the first ones, as far as the room goes; of the next one as much as still fits."""
    order = np.argsort(group, kind="stable")
    left = np.maximum(limit - (np.cumsum(room[order]) - room[order]), 0)
    out = np.zeros_like(room)
    out[order] = np.minimum(room[order], left)
    return out


def _beginnings(room: np.ndarray, limit: int) -> np.ndarray:
    """Of every work-item the first events, as many as fit if all get alike; its last slot tells of an endless loop."""
    if room.sum() <= limit:
        return room
    each = np.sort(room)
    left = len(each) - np.arange(len(each))
    fits = each * left + np.cumsum(each) - each <= limit  # would there be room if none had more than this?
    k = int(fits.sum())
    most = (limit - int(each[:k].sum())) // max(len(each) - k, 1)
    return np.minimum(room, max(most, 1)) if most else _share(room, np.zeros_like(room), limit)


def buffer_info(b: Buffer, launch: Launch, writers: dict[int, Any], before: dict[int, np.ndarray],
          after: dict[int, np.ndarray]) -> BufferInfo:  # fmt: skip
    if b.argument is None:
        scalar = getattr(b.element, "scalar", "")
        dtype = dtype_of(scalar) if scalar else np.dtype((np.void, b.element_size))
        lanes = b.element_size // dtype.itemsize
        shape = tuple(d or 0 for d in b.dims) + ((lanes,) if lanes > 1 else ())
        return BufferInfo(b, shape or (1,), dtype, int(np.prod(shape or (1,))) * dtype.itemsize)
    a = launch.args[b.argument]
    if isinstance(a, Local):
        return BufferInfo(b, (a.n,), a.dtype, a.nbytes)
    declared = launch.kernel.arguments.get(b.name)
    role, axes = (declared.role, declared.axes) if declared else ("", ())
    i = b.argument
    blocks = [x.block if isinstance(x, Array) else None for x in launch.args]
    return BufferInfo(
        b,
        a.shape,
        a.dtype,
        a.nbytes,
        role,
        axes,
        writers[i],
        blocks.index(a.block),
        a.offset,
        before.get(i),
        after.get(i),
    )
