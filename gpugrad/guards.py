"""Bad indices found on the device: a kernel sets a flag, and the next read by the host raises IndexError.

Reading labels back to check them would stop the queue in every training step. So a kernel that takes indices
also takes `__global int *fault`, four ints. Where an index is wrong it writes nothing out of bounds, and calls

    if (atomic_cmpxchg(&fault[0], 0, code) == 0) { fault[1] = value; fault[2] = position; }
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .device import Device


class Guards:
    """The flag of one device, and what its codes mean."""

    def __init__(self, device: Device):
        from .array import Array

        self.flag = Array.from_numpy(np.zeros(4, np.int32), device=device)
        self.pending: dict[int, str] = {}
        self._next = 0


def guard(device: Device, message: str) -> tuple[Any, int]:
    """The flag buffer (an Array of 4 int32) and a code for one guarded launch.

    `message` is the sentence of the IndexError, with `{value}` and `{position}` where the kernel's go.
    """
    with device.lock:
        guards: Guards | None = device.cache.get("guards")
        if guards is None:
            guards = device.cache["guards"] = Guards(device)
        guards._next = guards._next % (2**30) + 1
        guards.pending[guards._next] = message
        # A training loop that reads nothing back must not grow this for ever; the oldest messages go first.
        if len(guards.pending) > 4096:
            for code in list(guards.pending)[:2048]:
                del guards.pending[code]
        return guards.flag, guards._next


def check_guards(device: Device) -> None:
    """Raise IndexError if a guarded launch since the last check met a bad index.

    The flag is read every time: a message is there before its launch is, so that none of them waiting means nothing.
    """
    guards: Guards | None = device.cache.get("guards")
    if guards is None:
        return
    with device.lock:
        host = np.empty(4, np.int32)
        device.download(host, guards.flag.buffer)
        if host[0] == 0:
            return
        guards.flag.write(np.zeros(4, np.int32))
        unknown = "an index on the device was out of range: {value} at position {position}"
        message = guards.pending.get(int(host[0]), unknown)
    raise IndexError(message.format(value=int(host[1]), position=int(host[2])))
