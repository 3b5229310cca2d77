"""Which cells events touch, as keys that can be sorted: the ground that races and uninitialised reads stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import ATOMIC, LOAD, OUTSIDE, SKEW
from .launch import LaunchTrace


@dataclass
class Touches:
    """Rows of the columns, one for each cell; `cell` numbers a buffer's cells of equal size from 0."""

    row: np.ndarray
    cell: np.ndarray


def touches(t: LaunchTrace, keep: np.ndarray) -> Touches:
    """Accesses that happened. Where a buffer is used with several widths, wide ones are split into the smallest."""
    c = t.columns
    rows = np.flatnonzero(keep & c.is_access & (c.flags & (OUTSIDE | SKEW) == 0) & (c.buffer >= 0))
    buffer, size, offset = c.buffer[rows], c.size[rows].astype("i8"), c.offset[rows].astype("i8")
    grain = np.ones(len(t.buffers) + 1, "i8")
    for b in np.flatnonzero(np.bincount(buffer)):
        mine = buffer == b
        bits = int(np.bitwise_or.reduce(size[mine] | offset[mine] & 7))  # sizes are powers of two
        grain[b] = bits & -bits
    each = np.maximum(size // grain[buffer], 1)
    if (each == 1).all():
        return Touches(rows, offset // grain[buffer])
    again = np.repeat(np.arange(len(rows)), each)
    part = np.arange(len(again)) - np.repeat(np.cumsum(each) - each, each)
    return Touches(rows[again], (offset // grain[buffer])[again] + part)


def pack(*columns: np.ndarray) -> np.ndarray:
    """Several columns of small numbers as one int64 key."""
    key, span = np.zeros(len(columns[0]), "i8"), 1
    for c in columns:
        size = int(c.max(initial=0)) + 1
        if span * size >= 1 << 62:  # only which keys are equal counts
            key = np.unique(key, return_inverse=True)[1]
            span = len(key) + 1
        key, span = key * size + c, span * size
    return key


def dense(key: np.ndarray) -> tuple[np.ndarray, int]:
    """The key as small numbers, for tables with an entry for each, and how many there can be."""
    n = int(key.max(initial=0)) + 1
    if n <= max(8 * len(key), 1 << 20):
        return key, n
    _, key = np.unique(key, return_inverse=True)
    return key, int(key.max(initial=0)) + 1


def least(key: np.ndarray, n: int, values: np.ndarray, otherwise: int) -> np.ndarray:
    """The smallest value of each key 0 .. n-1. (Much faster than sorting by the key.)"""
    out = np.full(n, otherwise, "i8")
    np.minimum.at(out, key, values.astype("i8"))
    return out


def greatest(key: np.ndarray, n: int, values: np.ndarray, otherwise: int) -> np.ndarray:
    """The largest value of each key."""
    out = np.full(n, otherwise, "i8")
    np.maximum.at(out, key, values.astype("i8"))
    return out


def written(t: LaunchTrace, touched: Touches) -> np.ndarray:
    """For each touch: does anybody write that cell? (Of local memory, in any group.)"""
    c = t.columns
    key, n = dense(pack(c.buffer[touched.row], touched.cell))
    hit = np.zeros(n, bool)
    hit[key[c.kind[touched.row] != LOAD]] = True
    return hit[key]


def spaces(t: LaunchTrace, space: str) -> np.ndarray:
    """For each event: is its buffer in that space?"""
    table = np.array([b.space == space for b in t.buffers] + [False])
    return table[t.columns.buffer] & (t.columns.kind <= ATOMIC)
