"""How well a kernel uses memory: what 32 neighbouring work-items ask for at once, at each place of the source.

Neighbours do the n-th execution of a place together, as the lanes of a GPU's warp would. Global memory comes in
segments of 128 bytes: `segments` is how many they touch on average, `useful` the part of those bytes that they want.
Local memory has 32 banks of 4 bytes: `conflicts` is how many different words the busiest bank must serve.

Of the launch as a whole, `traffic` sets the floating-point operations against the bytes of global memory: the
arithmetic intensity, which says whether memory or arithmetic holds it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .cells import pack
from .events import LOAD, OUTSIDE, SKEW, STORE
from .launch import LaunchTrace

WARP, SEGMENT, BANKS = 32, 128, 32


def distinct(key: np.ndarray) -> int:
    """How many different keys; sorting is faster than np.unique."""
    key = np.sort(key)
    return 1 + int(np.count_nonzero(key[1:] != key[:-1]))


def ranks(key: np.ndarray) -> np.ndarray:
    """Each key's place among the different keys, from 0."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    out = np.empty(len(key), "i8")
    out[order] = np.cumsum(np.r_[0, ordered[1:] != ordered[:-1]])
    return out


def memory_use(t: LaunchTrace) -> list[dict[str, Any]]:
    """One dict for each place that touches global or local memory: site, line, kind, text, space, buffer, requests,
    bytes_wanted, bytes_moved, and segments and useful (global) or conflicts (local)."""
    return [_place(t, rows) for rows in places(t)]


def requests_of(t: LaunchTrace, rows: np.ndarray) -> np.ndarray:
    """For `rows` of one site, by work-item and own order: the number of the request that each is a part of."""
    c = t.columns
    fresh = np.r_[True, c.item[rows][1:] != c.item[rows][:-1]]
    turn = np.cumsum(c.lane[rows] == c.lane[rows].min())
    turn = turn - turn[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    return ranks(pack(c.group[rows], c.local_id[rows] // WARP, turn, c.buffer[rows]))


def places(t: LaunchTrace) -> list[np.ndarray]:
    """The rows of each site that touches memory and was allowed to, by work-item and own order."""
    c = t.columns
    rows = np.flatnonzero(c.is_access & (c.flags & (OUTSIDE | SKEW) == 0) & (c.buffer >= 0))
    rows = rows[np.lexsort((c.seq[rows], c.item[rows], c.site[rows]))]
    edges = np.flatnonzero(np.r_[True, c.site[rows][1:] != c.site[rows][:-1], True]) if len(rows) else [0]
    return [rows[a:b] for a, b in pairwise(edges)]


def _place(t: LaunchTrace, rows: np.ndarray) -> dict[str, Any]:
    """`rows` of one site, by work-item and own order."""
    c = t.columns
    site, info = t.sites[c.site[rows[0]]], t.buffers[c.buffer[rows[0]]]
    request = requests_of(t, rows)
    requests, size = int(request.max()) + 1, int(c.size[rows[0]])
    offset = np.maximum(c.offset[rows], 0).astype("i8")
    wanted = distinct(pack(request, offset)) * size
    out: dict[str, Any] = {
        "site": site.id, "line": site.line, "kind": site.kind, "text": site.text, "space": info.space,
        "buffer": info.name, "requests": requests, "bytes_wanted": wanted,
    }  # fmt: skip
    if info.space == "local":
        words = np.sort(pack(request, offset // 4))
        words = words[np.r_[True, words[1:] != words[:-1]]]
        span = int((offset // 4).max()) + 1
        asked = np.bincount(words // span * BANKS + words % span % BANKS, minlength=requests * BANKS)
        busiest = asked.reshape(requests, BANKS).max(1)
        return {**out, "bytes_moved": wanted, "conflicts": float(busiest.mean())}
    moved = distinct(pack(request, offset // SEGMENT)) * SEGMENT
    return {**out, "bytes_moved": moved, "segments": moved / SEGMENT / requests, "useful": wanted / moved}


@dataclass(frozen=True)
class Traffic:
    """A launch's operations, and its bytes of global memory, counted in three ways.

    `asked`: by every access of every work-item. `moved`: in whole segments, once for each 32 neighbours, as without a
    cache. `needed`: every byte read once and written once, as with a perfect one. A real device lies between the
    last two.
    """

    operations: int
    asked: int
    moved: int
    needed: int

    def intensity(self, of: str = "needed") -> float:
        """Operations for each byte asked, moved or needed; 0 where there are none."""
        if of not in ("asked", "moved", "needed"):
            raise ValueError(f'intensity: of is {of!r}; it is "asked", "moved" or "needed"')
        n: int = getattr(self, of)
        return self.operations / n if n else 0.0

    def __str__(self) -> str:
        if not self.needed:
            return f"{self.operations} floating-point operations, and no global memory touched."
        each = (
            f"{name} {getattr(self, name)} ({self.intensity(name):.2f} operations a byte)"
            for name in ("asked", "moved", "needed")
        )
        return f"{self.operations} floating-point operations; bytes of global memory: {', '.join(each)}."


def traffic(t: LaunchTrace, places: list[dict[str, Any]]) -> Traffic:
    """Of the recorded work-items; `places` are those of `memory_use`."""
    c = t.columns
    touched = c.is_access & (c.flags & (OUTSIDE | SKEW) == 0) & (c.buffer >= 0)
    is_global = np.array([b.space == "global" for b in t.buffers] + [False])[c.buffer] & touched
    needed = sum(_bytes(t, is_global & (c.kind != kind)) for kind in (LOAD, STORE))  # an atomic reads and writes
    moved = sum(m["bytes_moved"] * (1 + (m["kind"] == "atomic")) for m in places if m["space"] == "global")
    each = c.size[is_global].astype("i8") * np.where(c.kind[is_global] > STORE, 2, 1)
    return Traffic(t.operations, int(each.sum()), moved, needed)


def _bytes(t: LaunchTrace, keep: np.ndarray) -> int:
    """How many different bytes these events touch."""
    c, total = t.columns, 0
    for b in np.unique(c.buffer[keep]):
        mine = keep & (c.buffer == b)
        hit = np.zeros(t.buffers[b].nbytes, bool)
        for size in np.unique(c.size[mine]):
            offset = c.offset[mine & (c.size == size)]
            for k in range(int(size)):
                hit[offset + k] = True
        total += int(hit.sum())
    return total
