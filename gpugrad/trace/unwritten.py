"""Reads of memory that nobody wrote, and results that nobody wrote."""

from __future__ import annotations

import numpy as np

from .cells import pack, spaces, touches
from .events import ATOMIC, BRANCH, FAULT, LOAD, OUTSIDE, SKEW, STORE
from .faults import first_of_each_site
from .launch import LaunchTrace
from .report import Finding, Speaker, times


def uninitialised(t: LaunchTrace) -> list[Finding]:
    """Reads of a cell before any write to it, in an earlier phase or in this one by the reader itself.

    (Who comes first within a phase, of different work-items, is the race check's business.)
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
    if not local.all():
        phase[~local & (c.global_phase[row] == 0)] = 0
    key = pack(c.buffer[row], touched.cell, group)
    order = np.argsort(key, kind="stable")
    row, key, phase = row[order], key[order], phase[order]
    change = np.r_[True, key[1:] != key[:-1]]
    start, segment = np.flatnonzero(change), np.cumsum(change) - 1
    far = np.iinfo("i8").max
    writes = c.kind[row] != LOAD
    first = np.minimum.reduceat(np.where(writes, phase, far), start)[segment]  # the first phase with a write
    now = writes & (phase == first)
    item, seq = c.item[row].astype("i8"), c.seq[row].astype("i8")
    lowest = np.minimum.reduceat(np.where(now, item, far), start)[segment]
    highest = np.maximum.reduceat(np.where(now, item, -1), start)[segment]
    when = np.minimum.reduceat(np.where(now, seq, far), start)[segment]
    own = (phase == first) & (lowest == highest) & (lowest == item) & (seq < when)
    bad = row[(c.kind[row] == LOAD) & ((phase < first) | own)]
    say = Speaker(t)
    out = []
    for r, n in first_of_each_site(t, np.unique(bad)):
        b = t.buffers[c.buffer[r]]
        why = "local memory starts with garbage" if b.space == "local" else "the array was made, but never filled"
        text = f"{say.who(r)} reads {say.cell(r)}, which nobody has written: {why}.{times(n, 'reads')}"
        out.append(Finding("uninitialised read", text, (say.site(r),), n, (r,)))
    return out


def never_written(t: LaunchTrace) -> list[Finding]:
    """Elements of an argument declared `out` that this launch left as they were."""
    c = t.columns
    parted = ((c.kind == BRANCH) & (c.flags & FAULT != 0)).any()
    if t.lost or t.left_out or parted:
        return []  # not everything is known
    out = []
    for b, info in enumerate(t.buffers):
        size = info.dtype.itemsize
        n = info.nbytes // size
        if info.role != "out" or not n:
            continue
        mine = (c.buffer == b) & ((c.kind == STORE) | (c.kind == ATOMIC)) & (c.flags & (OUTSIDE | SKEW) == 0)
        hit = np.zeros(n, bool)
        hit[c.offset[mine] // size] = True
        missing = np.flatnonzero(~hit)
        if len(missing):
            i = int(missing[0])
            place = f"{info.name}[{i}]"
            if len(info.shape) > 1:
                place += f" (that is {[int(k) for k in np.unravel_index(i, info.shape)]} of {info.shape})"
            text = f"{len(missing)} of the {n} elements of {info.name} were not written; the first is {place}."
            out.append(Finding("never written", text, (), len(missing)))
    return out
