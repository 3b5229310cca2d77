"""Mistakes that a single event shows: outside a buffer, misaligned, endless, parted before a barrier."""

from __future__ import annotations

import numpy as np

from .events import ATOMIC, BRANCH, FAULT, FUEL, LOAD, OUTSIDE, PRIVATE, ROW, SKEW, STORE
from .launch import LaunchTrace
from .report import Finding, Speaker, counted, times

VERBS = {LOAD: "reads", STORE: "writes", ATOMIC: "updates"}


def first_of_each_site(t: LaunchTrace, rows: np.ndarray) -> list[tuple[int, int]]:
    """Of these rows -> (the first row, how many) for each site; a vector's components count once. By work-item."""
    c = t.columns
    out = []
    for site in np.unique(c.site[rows]):
        mine = rows[c.site[rows] == site]
        mine = mine[c.lane[mine] == c.lane[mine].min()]
        out.append((int(mine[np.lexsort((c.seq[mine], c.item[mine]))[0]]), len(mine)))
    return out


def bounds(t: LaunchTrace) -> list[Finding]:
    c, say = t.columns, Speaker(t)
    out = []
    for row, n in first_of_each_site(t, np.flatnonzero(c.flags & OUTSIDE)):
        site, kind, who = say.site(row), int(c.kind[row]), say.who(row)
        more = times(n, "accesses")
        if kind in (ROW, PRIVATE):
            index, length = int(c.offset[row]), int(c.bits[row])
            if kind == ROW:
                text = (f"{who} uses index {index} of a row that has {counted(length, 'element')} (0 to {length - 1}). "
                        f"C does not stop this: it lands in another row.{more}")  # fmt: skip
                out.append(Finding("row overflow", text, (site,), n, (row,)))
            elif site.name == "pointer":
                out.append(Finding("out of bounds", _astray(who, index, length) + more, (site,), n, (row,)))
            else:
                text = (f"{who} uses index {index} of a private array of {counted(length, 'element')} (0 to "
                        f"{length - 1}); index 0 was used instead.{more}")  # fmt: skip
                out.append(Finding("out of bounds", text, (site,), n, (row,)))
        elif c.buffer[row] < 0:
            text = f"{who} uses an address that is in no buffer of this launch; the access was left out.{more}"
            out.append(Finding("out of bounds", text, (site,), n, (row,)))
        else:
            alike = (c.site == c.site[row]) & (c.lane == c.lane[row]) & (c.buffer == c.buffer[row])
            furthest = int(c.offset[alike & (c.flags & OUTSIDE != 0)].max())
            out.append(Finding("out of bounds", _outside(t, say, row, furthest) + more, (site,), n, (row,)))
    return out


def _astray(who: str, index: int, length: int) -> str:
    """A pointer into private memory that leads out of what it points into."""
    if not length:
        return f"{who} uses a pointer that leads to no private variable. The access was left out."
    if length == 1:
        return f"{who} goes through a pointer to element {index} of a single variable. The access was left out."
    return (f"{who} goes through a pointer to element {index} of a private array of {counted(length, 'element')} (0 to "
            f"{length - 1}). The access was left out.")  # fmt: skip


def _outside(t: LaunchTrace, say: Speaker, row: int, furthest: int) -> str:
    c, site = t.columns, say.site(row)
    b = t.buffers[c.buffer[row]]
    length = b.nbytes // b.dtype.itemsize
    i = say.element(row)
    span = str(i) if site.lanes == 1 else f"{i} to {i + site.lanes - 1}"
    if int(c.offset[row]) in (2**31 - 1, -(2**31)):  # an event holds no larger one
        span = f"{i} or {'more' if i > 0 else 'less'}"
    kind = int(c.kind[row])
    text = f"{say.who(row)} {VERBS[kind]} {b.name}[{span}], but {b.name} has {counted(length, 'element')}"
    text += f" (0 to {length - 1})." if length else "."
    if length and i == length and furthest == int(c.offset[row]):
        text += f" Off by one: the last element is number {length - 1}."
    elif i < 0:
        text += " The index is negative."
    return text + (" The access was left out and 0 used." if kind == LOAD else " The access was left out.")


def misaligned(t: LaunchTrace) -> list[Finding]:
    c, say = t.columns, Speaker(t)
    out = []
    for row, n in first_of_each_site(t, np.flatnonzero((c.flags & SKEW != 0) & (c.flags & OUTSIDE == 0))):
        site, b = say.site(row), t.buffers[c.buffer[row]]
        width = int(c.size[row]) * (4 if site.lanes == 3 else site.lanes)
        name = f"{site.scalar}{site.lanes if site.lanes > 1 else ''}"
        remedy = f"use vload{site.lanes} and vstore{site.lanes}" if site.lanes > 1 else "start at a multiple of it"
        where = f"at byte {int(c.offset[row])} of {b.name}"
        text = f"{say.who(row)} uses a {name} {where}, which is not a multiple of {width}."
        if site.name == "struct":
            text = f"{say.who(row)} uses a struct {where}, where its fields are not aligned."
            remedy = "start at a multiple of its largest field"
        text += f" Many GPUs fault here: {remedy}. The access was left out.{times(n, 'accesses')}"
        out.append(Finding("misaligned", text, (site,), n, (row,)))
    return out


def endless(t: LaunchTrace) -> list[Finding]:
    c, say = t.columns, Speaker(t)
    out = []
    for row, n in first_of_each_site(t, np.flatnonzero((c.kind == FUEL) & (c.flags & FAULT != 0))):
        text = (
            f"{say.who(row)} was still in this loop when its turns ran out; it was ended. (If it is meant to take so "
            "many: gg.sanitize and gg.trace have fuel=, a launch has checked=False.)"
        )
        if n > 1 or t.lost:
            text += f" ({counted(n, 'work-item')}{', at least' if t.lost else ''}.)"
        out.append(Finding("endless loop", text, (say.site(row),), n, (row,)))
    return out


def divergence(t: LaunchTrace) -> list[Finding]:
    """Work-items of a group that gave different answers to a condition on which a barrier depends."""
    c, say = t.columns, Speaker(t)
    rows = np.flatnonzero((c.kind == BRANCH) & (c.flags & FAULT != 0))
    out = []
    for site in np.unique(c.site[rows]):
        mine = rows[c.site[rows] == site]
        groups = np.unique(c.group[mine])
        mine = mine[c.group[mine] == groups[0]]
        answers = c.bits[mine]
        a = int(mine[0])
        other = np.flatnonzero(answers != answers[0])
        if not len(other):
            continue  # only a part of the group was recorded
        b = int(mine[other[0]])
        if t.sites[site].name != "switch":
            yes = int((answers == 1).sum())
            text = (f"in {say.group(a)} this is true for {counted(yes, 'work-item')} and false for "
                    f"{len(mine) - yes}: "
                    f"{'true' if c.bits[a] else 'false'} for {say.who(a)}, but {'true' if c.bits[b] else 'false'} for "
                    f"{say.who(b)}.")  # fmt: skip
        else:
            text = f"{say.who(a)} goes to case {_signed(c.bits[a])}, but {say.who(b)} to case {_signed(c.bits[b])}."
        text += (" A barrier depends on it, and all work-items of a group must reach the same barriers: a GPU may hang "
                 "here. Put the barrier outside, and guard the accesses instead. What the group would have done next "
                 "was left out.")  # fmt: skip
        if len(groups) > 1:
            text += f" ({len(groups)} groups.)"
        out.append(Finding("barrier divergence", text, (t.sites[site],), len(groups), (a, b)))
    return out


def _signed(bits: np.uint64) -> int:
    return int(np.array(bits).astype("u8").view("i8"))
