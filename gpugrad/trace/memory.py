"""How well a kernel uses memory: what 32 neighbouring work-items ask for at once, at each place of the source.

Neighbours do the n-th execution of a place together, as the lanes of a GPU's warp would. Global memory comes in
segments of 128 bytes: `segments` is how many they touch on average, `useful` the part of those bytes that they want.
Local memory has 32 banks of 4 bytes: `conflicts` is how many different words the busiest bank must serve.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .cells import pack
from .events import OUTSIDE, SKEW
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
    c = t.columns
    rows = np.flatnonzero(c.is_access & (c.flags & (OUTSIDE | SKEW) == 0) & (c.buffer >= 0))
    order = np.lexsort((c.seq[rows], c.item[rows], c.site[rows]))
    rows = rows[order]
    edges = np.flatnonzero(np.r_[True, c.site[rows][1:] != c.site[rows][:-1], True]) if len(rows) else [0]
    return [_place(t, rows[a:b]) for a, b in pairwise(edges)]


def _place(t: LaunchTrace, rows: np.ndarray) -> dict[str, Any]:
    """`rows` of one site, by work-item and own order."""
    c = t.columns
    site, info = t.sites[c.site[rows[0]]], t.buffers[c.buffer[rows[0]]]
    fresh = np.r_[True, c.item[rows][1:] != c.item[rows][:-1]]
    turn = np.cumsum(c.lane[rows] == c.lane[rows].min())
    turn = turn - turn[np.flatnonzero(fresh)][np.cumsum(fresh) - 1]
    request = ranks(pack(c.group[rows], c.local_id[rows] // WARP, turn, c.buffer[rows]))
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
