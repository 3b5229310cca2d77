"""Device memory: blocks that are counted against a limit and used again instead of freed.

The queue runs in order, so a block whose Array is gone can be handed out at once: whatever still reads it was
enqueued before whatever will write it.
"""

from __future__ import annotations

import gc
import os
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from .errors import OutOfDeviceMemory

if TYPE_CHECKING:
    import pyopencl as cl

    from .device import Device

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_OUT_OF_MEMORY = (-4, -5, -6, -61)  # MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY, BUFFER_SIZE


def parse_bytes(text: str, argument: str = "GPUGRAD_MEMORY_LIMIT") -> int:
    """'2GB', '512 MiB' or a plain number as bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if not match or match[2] == "i":
        raise ValueError(f"{argument} is {text!r}; write a number of bytes, such as 2GB, 512MiB or 1000000")
    return int(float(match[1]) * _UNITS[match[2]])


def is_out_of_memory(error: Exception) -> bool:
    return getattr(error, "code", None) in _OUT_OF_MEMORY


class Block:
    """One OpenCL buffer from the pool; goes back to it when the last Array on it is gone."""

    __slots__ = ("__weakref__", "buffer", "capacity", "pool")

    def __init__(self, pool: Pool, buffer: cl.Buffer, capacity: int):
        self.pool, self.buffer, self.capacity = pool, buffer, capacity

    def __del__(self) -> None:
        # A deque's append is atomic: this may run in any thread, in the middle of anything.
        self.pool.returned.append((self.capacity, self.buffer))


class Pool:
    """The memory of one device.

    Attributes: `limit` (bytes; the device's memory or `GPUGRAD_MEMORY_LIMIT`), `allocated` (bytes that OpenCL
    holds for us), `cached` (the part of them that nobody uses).
    """

    def __init__(self, device: Device):
        self.device = device
        text = os.environ.get("GPUGRAD_MEMORY_LIMIT")
        self.limit = parse_bytes(text) if text else device.global_memory
        self.allocated = 0
        self.cached = 0
        self.returned: deque[tuple[int, cl.Buffer]] = deque()
        self._free: dict[int, list[cl.Buffer]] = {}
        # A simulator that looks for overruns must see buffers of exactly the size asked for.
        self._exact = device.is_simulator

    @property
    def used(self) -> int:
        """Bytes in blocks that something still holds."""
        with self.device.lock:
            self._collect()
            return self.allocated - self.cached

    def allocate(self, nbytes: int) -> Block:
        """A block of at least `nbytes` (uninitialised); OutOfDeviceMemory when it does not fit."""
        capacity = max(nbytes, 1) if self._exact else _round_up(nbytes)
        with self.device.lock:
            self._collect()
            free = self._free.get(capacity)
            if not free and self._free.get(nbytes):  # memory was so short once that a block got no more than this
                capacity, free = nbytes, self._free[nbytes]
            if free:
                self.cached -= capacity
                return Block(self, free.pop(), capacity)
            buffer = self._create(capacity)
            if buffer is None:
                self.release_cached()
                gc.collect()
                self._collect()
                self.release_cached()
                buffer = self._create(capacity)
            if buffer is None and capacity > nbytes > 0:
                capacity = nbytes
                buffer = self._create(capacity)
            if buffer is None:
                self.device.check_answers()
                raise OutOfDeviceMemory(
                    f"{nbytes:,} bytes do not fit on {self.device.name}: {self.allocated:,} of {self.limit:,} bytes "
                    "are in use. Delete tensors you no longer need, use a smaller batch, or raise GPUGRAD_MEMORY_LIMIT."
                )
            self.allocated += capacity
            return Block(self, buffer, capacity)

    def release_cached(self) -> None:
        """Give the blocks nobody uses back to OpenCL."""
        with self.device.lock:
            self._collect()
            self._free.clear()
            self.allocated -= self.cached
            self.cached = 0

    def _collect(self) -> None:
        while self.returned:
            capacity, buffer = self.returned.popleft()
            if self._exact:
                self.allocated -= capacity
            else:
                self._free.setdefault(capacity, []).append(buffer)
                self.cached += capacity

    def _create(self, capacity: int) -> cl.Buffer | None:
        """A new buffer, or None where it does not fit."""
        import pyopencl as cl

        if self.allocated + capacity > self.limit:
            return None
        self.device.check_alive()
        try:
            return cl.Buffer(self.device.context, cl.mem_flags.READ_WRITE, capacity)
        except cl.MemoryError:
            return None
        except cl.Error as error:
            if is_out_of_memory(error):
                return None
            raise


def _round_up(nbytes: int) -> int:
    """A size class: multiples of 512 bytes, then eighths of a power of two, so that blocks are found again."""
    step = 512 if nbytes <= 4096 else max(512, 1 << (nbytes.bit_length() - 4))
    return max(step, -(-nbytes // step) * step)


def pool(device: Device) -> Pool:
    """The device's pool, made at its first use."""
    found: Any = device.cache.get("pool")
    if found is None:
        with device.lock:
            found = device.cache.setdefault("pool", Pool(device))
    return found
