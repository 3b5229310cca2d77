"""Data races: two work-items touch a cell, one of them writes, not both atomically, and nothing orders them.

Within a group, barriers order: local memory those with CLK_LOCAL_MEM_FENCE, global memory those with
CLK_GLOBAL_MEM_FENCE. Between groups nothing does. Of the pairs that meet at one pair of places in the source the
lowest-numbered is shown, so that every device tells the same.
"""

from __future__ import annotations

import numpy as np

from .cells import Touches, dense, greatest, least, pack, spaces, touches, written
from .events import ATOMIC, LOAD, STORE
from .launch import LaunchTrace
from .report import Finding, Speaker

VERBS = {LOAD: "reads", STORE: "writes", ATOMIC: "updates"}


def races(t: LaunchTrace) -> list[Finding]:
    c = t.columns
    found: dict[tuple[int, int], Finding] = {}
    cells: dict[tuple[int, int], set[int]] = {}  # that meet at those two places
    for space in ("local", "global"):
        touched = touches(t, spaces(t, space))
        if not len(touched.row):
            continue
        keep = written(t, touched)
        touched = _without_looks(t, touched.take(keep))
        row = touched.row
        if not len(row):
            continue
        key = pack(touched.memory, touched.cell)
        if space == "local":
            key = pack(key, c.group[row])
            _conflicts(t, found, cells, row, key, pack(key, c.local_phase[row]), "local", False)
        else:
            _conflicts(t, found, cells, row, key, pack(key, c.group[row], c.global_phase[row]), "global", False)
            _conflicts(t, found, cells, row, key, key, "global", True)
    for places, f in found.items():
        f.count = len(cells[places])
        if f.count > 1:
            f.message += f" ({f.count} cells are affected.)"
    return list(found.values())


def _without_looks(t: LaunchTrace, touched: Touches) -> Touches:
    """Leaves out the plain look at a cell that comes before a compare-and-swap on it: the swap notices changes."""
    c, row = t.columns, touched.row
    swaps = np.array([s.name.endswith("_cmpxchg") for s in t.sites] or [False])[c.site[row]]
    if not swaps.any():
        return touched
    key = pack(touched.memory, touched.cell, c.item[row])
    order = np.lexsort((c.seq[row], key))
    before = np.zeros(len(row), bool)
    before[order[:-1]] = (key[order[1:]] == key[order[:-1]]) & swaps[order[1:]]
    keep = ~((c.kind[row] == LOAD) & before)
    return touched.take(keep)


def _conflicts(t: LaunchTrace, found: dict[tuple[int, int], Finding], cells: dict[tuple[int, int], set[int]],
               row: np.ndarray, where: np.ndarray, key: np.ndarray, space: str, across: bool) -> None:  # fmt: skip
    """Adds to `found` the cells (`where`; `key`: in one phase) that two parties touch, one writing, not all
    atomically."""
    c = t.columns
    key, n = dense(key)
    party, kind = (c.group if across else c.item)[row], c.kind[row]
    written, plain = np.zeros(n, bool), np.zeros(n, bool)
    written[key[kind != LOAD]] = plain[key[kind != ATOMIC]] = True
    bad = written & plain & (least(key, n, party, 1 << 40) < greatest(key, n, party, -1))
    keep = bad[key]
    row, key, where = row[keep], key[keep], where[keep]
    order = np.argsort(key, kind="stable")
    row, key, where = row[order], key[order], where[order]
    if not len(row):
        return
    begins = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    for begin, cell in zip(begins, np.split(row, begins[1:]), strict=True):
        cell = cell[np.lexsort((c.seq[cell], c.item[cell]))]
        pair = _pair(t, cell, across)
        if pair is None:
            continue
        a, b = pair
        places = (min(int(c.site[a]), int(c.site[b])), max(int(c.site[a]), int(c.site[b])))
        cells.setdefault(places, set()).add(int(where[begin]))
        if places not in found:
            sites = (t.sites[c.site[a]], t.sites[c.site[b]])
            found[places] = Finding("data race", _text(t, a, b, space, across), sites, 1, (a, b))


def _pair(t: LaunchTrace, cell: np.ndarray, across: bool) -> tuple[int, int] | None:
    """Two of these touches that conflict: a write, and another party's; different kinds before like ones."""
    c = t.columns
    party, kind = (c.group if across else c.item)[cell], c.kind[cell]
    writes = np.flatnonzero(kind == STORE)
    if not len(writes):
        writes = np.flatnonzero(kind == ATOMIC)
    for w in (writes[0], writes[-1]):
        others = np.flatnonzero((party != party[w]) & ~((kind == ATOMIC) & (kind[w] == ATOMIC)))
        if len(others):
            unlike = others[kind[others] != kind[w]]
            return int(cell[w]), int(cell[unlike[0] if len(unlike) else others[0]])
    return None


def _text(t: LaunchTrace, a: int, b: int, space: str, across: bool) -> str:
    c, say = t.columns, Speaker(t)
    text = (f"{say.who(a)} {VERBS[int(c.kind[a])]} {say.cell(a)} in {space} memory, and {say.who(b)} "
            f"{VERBS[int(c.kind[b])]} it (line {say.site(b).line}).")  # fmt: skip
    if across:
        why = ("They are in different work-groups, and nothing orders those within one launch: use an atomic, or give "
               "each cell one owner.")  # fmt: skip
    else:
        why = wrong_fence(t, a, b, space) or "No barrier lies between them, so either can come first."
    if c.kind[a] == STORE and c.kind[b] == STORE and c.bits[a] == c.bits[b]:
        why += " (Both write the same value: harmless on most devices, undefined all the same.)"
    return f"{text} {why}"


def wrong_fence(t: LaunchTrace, a: int, b: int, space: str) -> str:
    """Of two events of a group in a race: the sentence on the barrier between them, or "" where there is none."""
    if t.columns.phase[a] == t.columns.phase[b]:
        return ""
    return f"The barrier between them has no CLK_{space.upper()}_MEM_FENCE, so it does not order {space} memory."
