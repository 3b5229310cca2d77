"""Reads of memory that nobody wrote, and results that nobody wrote."""

from __future__ import annotations

import numpy as np

from .cells import dense, greatest, least, pack, spaces, touches
from .events import ATOMIC, BRANCH, FAULT, FUEL, LOAD
from .faults import first_of_each_site
from .launch import LaunchTrace
from .report import Finding, Speaker, times


def uninitialised(t: LaunchTrace) -> list[Finding]:
    """Reads of a cell before any write to it, in an earlier phase or in this one by the reader itself.

    (Who comes first within a phase, of different work-items, is the race check's business.) An atomic reads too, but
    atomic_xchg, and what it leaves is as good as what it found: only a plain write or atomic_xchg sets a cell.
    """
    c = t.columns
    unknown = np.array(
        [b.space == "local" or (b.buffer.argument is not None and b.writer is None) for b in t.buffers] + [False]
    )
    touched = touches(t, unknown[c.buffer] & (c.kind <= ATOMIC))
    row = touched.row
    if not len(row):
        return []
    local = spaces(t, "local")[row]
    phase = np.where(local, c.local_phase[row], c.global_phase[row]).astype("i8")
    group = np.where(local, c.group[row], 0)
    key, n = dense(pack(touched.memory, touched.cell, group))
    if t.lost and ((c.kind == FUEL) & (c.flags & FAULT != 0)).any():  # who wrote in its turns may be unknown
        touched = touched.take(phase == 0)
        row, key, phase = touched.row, key[phase == 0], phase[phase == 0]
    updates = np.array([s.kind == "atomic" and not s.name.endswith("_xchg") for s in t.sites])[c.site[row]]
    loads = c.kind[row] == LOAD
    bad = row[_early(t, row, key, n, phase, loads, ~loads) | _early(t, row, key, n, phase, updates, ~loads & ~updates)]
    say = Speaker(t)
    out = []
    for r, n in first_of_each_site(t, np.unique(bad)):
        b = t.buffers[c.buffer[r]]
        why = "local memory starts with garbage" if b.space == "local" else "the array was made, but never filled"
        verb = "updates" if c.kind[r] == ATOMIC else "reads"
        text = f"{say.who(r)} {verb} {say.cell(r)}, which nobody has written: {why}.{times(n, verb)}"
        out.append(Finding("uninitialised read", text, (say.site(r),), n, (r,)))
    return out


def _early(t: LaunchTrace, row: np.ndarray, key: np.ndarray, n: int, phase: np.ndarray, reads: np.ndarray,
           writes: np.ndarray) -> np.ndarray:  # fmt: skip
    """Which of the reads come before any of these writes to their cell."""
    item, seq, far = t.columns.item[row], t.columns.seq[row], np.iinfo("i8").max
    first = least(key[writes], n, phase[writes], far)[key]  # the first phase with a write
    now = writes & (phase == first)
    # In that phase it counts only if the reader is also the one who writes, and later than it reads.
    lowest, highest = least(key[now], n, item[now], far)[key], greatest(key[now], n, item[now], -1)[key]
    own = (lowest == item) & (highest == item) & (seq < least(key[now], n, seq[now], far)[key])
    return reads & ((phase < first) | ((phase == first) & own))


def never_written(t: LaunchTrace) -> list[Finding]:
    """Elements of an argument declared `out` that this launch left as they were."""
    c, out = t.columns, []
    parted = ((c.kind == BRANCH) & (c.flags & FAULT != 0)).any()
    if t.lost or t.left_out or parted:
        return []  # not everything is known
    for info in t.buffers:
        n = info.nbytes // info.dtype.itemsize
        if info.role != "out" or not n:
            continue
        hit = np.zeros(info.nbytes, bool)
        for where, _ in t.bytes_written(info, np.ones(len(c), bool)):
            hit[where] = True
        missing = np.flatnonzero(~hit.reshape(n, -1).all(1))
        if len(missing):
            i = int(missing[0])
            place = f"{info.name}[{i}]"
            if len(info.shape) > 1:
                place += f" (that is {[int(k) for k in np.unravel_index(i, info.shape)]} of {info.shape})"
            text = f"{len(missing)} of the {n} elements of {info.name} were not written; the first is {place}."
            out.append(Finding("never written", text, (), len(missing)))
    return out
