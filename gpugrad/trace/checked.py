"""A checked launch: bounds, alignment, fuel and the barrier vote, but no memory for events.

A plain endless loop or a divergent barrier could freeze the notebook, and a plain write out of bounds take the process
down. So the first launch of a new kernel runs like this. Its result stands; on a fault, what it may write is put back.
"""

from __future__ import annotations

import numpy as np

from ..program import Launch
from .events import decode, place
from .launch import LaunchTrace
from .recorder import buffer_info, built
from .run import Run
from .sanitizer import SINGLE, KernelFault, report_on

ROOM = 4  # faults kept for each work-item
MOST = 1 << 22  # faults kept in all
FUEL = 1 << 24


def run_checked(launch: Launch) -> None:
    """Run the launch checked. Raises KernelFault, with memory as it was before, or SourceError before it runs."""
    kernel = launch.kernel
    form = built(kernel, (), FUEL, faults_only=True)
    n = int(np.prod(launch.global_size))
    room = np.full(n, min(ROOM, max(1, MOST // n)), "i8")
    with kernel.device.lock:
        run = Run(launch, form.made, form.cl_kernel)
        with run.undone(keep=lambda: not counts.any()):
            rows, counts = run.once(room)
    if not counts.any():
        kernel.note_writes(launch.args, launch.number)
        return
    group, local = place(np.arange(n), launch.global_size, launch.local_size)
    used = np.minimum(counts, room)
    filled = np.arange(len(rows)) - np.repeat(np.cumsum(room) - room, room) < np.repeat(used, room)
    columns = decode(rows[filled], used, group, local, form.made.sites, len(form.made.buffers))
    infos = tuple(buffer_info(b, launch, run.writers, {}, {}) for b in form.made.buffers)
    found = LaunchTrace(
        kernel.name, kernel.source, run.scalars(), launch.global_size, launch.local_size, form.made.sites, infos,
        columns, launch.number, str(kernel.device), kernel.file, form.options, lost=int((counts - used).sum()),
    )  # fmt: skip
    raise KernelFault(report_on(found, SINGLE))
