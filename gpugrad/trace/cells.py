"""Which cells events touch, as keys that can be sorted: the ground that races and uninitialised reads stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import ATOMIC, LOAD, OUTSIDE, SKEW
from .launch import LaunchTrace


@dataclass
class Touches:
    """Rows of the columns, one for each cell; `cell` numbers the cells of equal size of a piece of memory from 0.

    `memory` says which piece: two arguments can be the same array, or parts of one.
    """

    row: np.ndarray
    memory: np.ndarray
    cell: np.ndarray

    def take(self, keep: np.ndarray) -> Touches:
        return Touches(self.row[keep], self.memory[keep], self.cell[keep])


def touches(t: LaunchTrace, keep: np.ndarray) -> Touches:
    """Accesses that happened. Where a buffer is used with several widths, wide ones are split into the smallest."""
    c = t.columns
    rows = np.flatnonzero(keep & c.is_access & (c.flags & (OUTSIDE | SKEW) == 0) & (c.buffer >= 0))
    # An argument is known by the first one in its block.
    first = {b.block: i for i, b in reversed(list(enumerate(t.buffers))) if b.block >= 0}
    homes = np.array([first.get(b.block, i) for i, b in enumerate(t.buffers)] or [0])
    starts = np.array([b.start for b in t.buffers] or [0], "i8")
    size, memory = c.size[rows].astype("i8"), homes[c.buffer[rows]]
    offset = c.offset[rows] + starts[c.buffer[rows]]
    grain = np.ones(len(t.buffers) + 1, "i8")
    for b in np.flatnonzero(np.bincount(memory)):
        mine = memory == b
        bits = int(np.bitwise_or.reduce(size[mine] | offset[mine] & 7))  # sizes are powers of two
        grain[b] = bits & -bits
    each = np.maximum(size // grain[memory], 1)
    if (each == 1).all():
        return Touches(rows, memory, offset // grain[memory])
    again = np.repeat(np.arange(len(rows)), each)
    part = np.arange(len(again)) - np.repeat(np.cumsum(each) - each, each)
    return Touches(rows[again], memory[again], (offset // grain[memory])[again] + part)


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
    key, n = dense(pack(touched.memory, touched.cell))
    hit = np.zeros(n, bool)
    hit[key[c.kind[touched.row] != LOAD]] = True
    return hit[key]


def spaces(t: LaunchTrace, space: str) -> np.ndarray:
    """For each event: is its buffer in that space?"""
    table = np.array([b.space == space for b in t.buffers] + [False])
    return table[t.columns.buffer] & (t.columns.kind <= ATOMIC)
