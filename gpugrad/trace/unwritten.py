"""Reads of memory that nobody wrote, and results that nobody wrote."""

from __future__ import annotations

import numpy as np

from .cells import dense, greatest, least, pack, spaces, touches
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
    key, n = dense(pack(touched.memory, touched.cell, group))
    far = np.iinfo("i8").max
    writes = c.kind[row] != LOAD
    first = least(key[writes], n, phase[writes], far)[key]  # the first phase with a write
    doubtful = np.flatnonzero(~writes & (phase <= first))
    before = phase[doubtful] < first[doubtful]
    # In that phase it counts only if the reader is also the one who writes, and later than it reads.
    same, now = doubtful[~before], writes & (phase == first)
    lowest, highest = least(key[now], n, c.item[row[now]], far), greatest(key[now], n, c.item[row[now]], -1)
    when, who = least(key[now], n, c.seq[row[now]], far), c.item[row[same]]
    own = (lowest[key[same]] == who) & (highest[key[same]] == who) & (c.seq[row[same]] < when[key[same]])
    bad = row[np.r_[doubtful[before], same[own]]]
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
