"""Where random numbers come from: a seed and a counter, nothing else.

Philox turns (seed, counter) into random bits, so a stream has no state beyond how far it has been read. That is what
makes it run in parallel, agree on every device, and resume from two integers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

import numpy as np

_BITS64 = 2**64 - 1


class Generator:
    """A stream of random numbers: block b of it is Philox4x32-10 of (seed, b), four words of 32 bits.

    Attributes: `seed` (0 to 2**64 - 1), `offset` (the next unused block). Without a seed the system gives one.
    Threads may share a generator: each call takes blocks of its own.
    """

    def __init__(self, seed: int | None = None):
        self._lock = threading.Lock()
        self.seed = 0
        self.offset = 0
        self.manual_seed(int.from_bytes(os.urandom(8), "little") if seed is None else seed)

    def __repr__(self) -> str:
        return f"Generator(seed={self.seed}, offset={self.offset})"

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` (an integer of up to 64 bits; a negative one counts from 2**64) anew."""
        checked = _integer(seed, "manual_seed: seed", -(2**63), _BITS64) & _BITS64
        with self._lock:
            self.seed, self.offset = checked, 0
        return self

    def get_state(self) -> dict[str, int]:
        """Two integers from which `set_state` goes on exactly here."""
        with self._lock:
            return {"seed": self.seed, "offset": self.offset}

    def set_state(self, state: Mapping[str, int]) -> Generator:
        """Go on where `get_state` was called."""
        if not isinstance(state, Mapping) or set(state) != {"seed", "offset"}:
            raise TypeError(f"set_state: state is {state!r}; it must be what get_state gave: a dict of seed and offset")
        seed = _integer(state["seed"], "set_state: seed", 0, _BITS64)
        offset = _integer(state["offset"], "set_state: offset", 0, _BITS64)
        with self._lock:
            self.seed, self.offset = seed, offset
        return self

    __getstate__ = get_state  # for copies and pickles, which go on from here by themselves

    def __setstate__(self, state: Mapping[str, int]) -> None:
        self._lock = threading.Lock()
        self.set_state(state)

    def take(self, blocks: int) -> tuple[int, int]:
        """Claim the next `blocks` blocks: (seed, number of the first one). Nobody else is given them."""
        with self._lock:
            first = self.offset
            self.offset = (first + blocks) & _BITS64
            return self.seed, first

    def words(self, n: int) -> np.ndarray:
        """The next n random words, as uint32 on the host."""
        n = _integer(n, "words: n", 0, _BITS64)
        blocks = -(-n // 4)
        return philox(*self.take(blocks), blocks).reshape(-1)[:n]

    def permutation(self, n: int) -> np.ndarray:
        """The numbers 0 to n - 1 (int32) in random order: sorted by 64 random bits each."""
        keys = self.words(2 * _integer(n, "permutation: n", 0, 2**31 - 1)).view(np.uint64)
        return np.argsort(keys, kind="stable").astype(np.int32)


def philox(seed: int, first: int, count: int) -> np.ndarray:
    """Blocks `first` to `first + count - 1` of a seed's stream, on the host: uint32 (count, 4). See random.cl."""
    block = np.arange(count, dtype=np.uint64) + np.uint64(first)
    low = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = block & low, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & low
        c2, c3 = (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def _integer(value: int, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    number = int(value.__index__())
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it must be from {low} to {high}")
    return number


default_generator = Generator()
"""What random functions draw from unless they are given a generator."""


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; what follows is then the same in every run. Returns the generator."""
    return default_generator.manual_seed(seed)
