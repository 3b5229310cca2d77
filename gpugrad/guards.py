"""Bad indices found on the device: a kernel sets a flag, and the next read by the host raises IndexError.

Reading labels back to check them would stop the queue in every training step. So a kernel that takes indices
also takes `__global int *fault`, four ints. Where an index is wrong it writes nothing out of bounds, and calls

    if (atomic_cmpxchg(&fault[0], 0, code) == 0) { fault[1] = value; fault[2] = position; }

Each thread has a flag of its own, so that it is told of its own mistakes, and of all of them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .device import Device


class Guards:
    """The flag that one thread's launches on a device set, and what its codes mean."""

    def __init__(self, device: Device):
        from .array import Array

        self.flag = Array.from_numpy(np.zeros(4, np.int32), device=device)
        self.pending: dict[int, str] = {}
        self._next = 0

    def expect(self, message: str) -> int:
        """The code that stands for a message from now on."""
        self._next = self._next % (2**30) + 1
        self.pending[self._next] = message
        # A training loop that reads nothing back must not grow this for ever; the oldest messages go first.
        if len(self.pending) > 4096:
            for code in list(self.pending)[:2048]:
                del self.pending[code]
        return self._next

    def found(self, device: Device) -> str | None:
        """The sentence about the mistake that the flag tells of, which is taken down; None where there is none."""
        host = np.empty(4, np.int32)
        device.download(host, self.flag.buffer)
        if host[0] == 0:
            return None
        self.flag.write(np.zeros(4, np.int32))
        unknown = "an index on the device was out of range: {value} at position {position}"
        return self.pending.get(int(host[0]), unknown).format(value=int(host[1]), position=int(host[2]))


def guard(device: Device, message: str) -> tuple[Any, int]:
    """The flag buffer (an Array of 4 int32) and a code for one guarded launch of this thread.

    `message` is the sentence of the IndexError, with `{value}` and `{position}` where the kernel's go.
    """
    thread = threading.current_thread()
    with device.lock:
        of_threads = device.cache.setdefault("guards", {})
        guards = of_threads.get(thread)
        if guards is None:
            guards = of_threads[thread] = Guards(device)
        return guards.flag, guards.expect(message)


def check_guards(device: Device) -> None:
    """Raise IndexError if a guarded launch of this thread, since its last check, met a bad index.

    So does one of a thread that has ended and can read nothing any more. The flag is read every time: a message is
    there before its launch is, so that none of them waiting means nothing.
    """
    of_threads: dict[threading.Thread, Guards] | None = device.cache.get("guards")
    if not of_threads:
        return
    this = threading.current_thread()
    with device.lock:
        # A thread's own mistakes first; those of another wait for the next read.
        message = of_threads[this].found(device) if this in of_threads else None
        for thread in list(of_threads):
            if message is None and not thread.is_alive():
                message = of_threads.pop(thread).found(device)
    if message is not None:
        raise IndexError(message)
