"""One launch's arguments, ready to run its instrumented kernel as often as needed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..array import Array
from ..errors import GpugradError, OutOfDeviceMemory
from ..memory import is_out_of_memory
from ..program import Launch, Local
from ..source import Instrumented


class Run:
    """`writers` says who had written each array argument before the launch (see array.State), `operations` how many
    floating-point operations each work-item did in the latest run."""

    def __init__(self, launch: Launch, made: Instrumented, cl_kernel: Any) -> None:
        self.launch, self.made, self.cl_kernel = launch, made, cl_kernel
        self.device = launch.kernel.device
        self.arrays: dict[int, Array] = {i: a for i, a in enumerate(launch.args) if isinstance(a, Array)}
        self.writers = {i: a.state.writer for i, a in self.arrays.items()}
        self.operations = np.zeros(0, "u4")
        self.endless = False  # did a work-item run out of fuel in the latest run?
        # Not only what should be written: the text decides, whatever the declaration says.
        self.written = {
            i
            for i, p in enumerate(launch.kernel.parameters)
            if i in self.arrays and p.space == "global" and (made.const_is_lost or not p.const)
        }

    def scalars(self) -> dict[str, Any]:
        return {k: v for k, v in self.launch.named_args().items() if not isinstance(v, Array | Local)}

    def contents(self, budget: int, written: bool = False) -> dict[int, np.ndarray]:
        """Host copies of the array arguments (of those that may be written), as far as `budget` bytes go."""
        out: dict[int, np.ndarray] = {}
        for i, a in self.arrays.items():
            if (i in self.written or not written) and a.nbytes <= budget:
                budget -= a.nbytes
                out[i] = self._read(a.buffer, np.empty(a.shape, a.dtype)) if a.size else np.empty(a.shape, a.dtype)
        return out

    @contextlib.contextmanager
    def undone(self, keep: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """For the block, what the kernel may write is kept; after it, also after an error, it is put back.

        Without an error, and if `keep()` then says so, what the kernel wrote stays.
        """
        import pyopencl as cl

        queue = self.device.queue
        kept = [
            (self.arrays[i], Array.empty(self.arrays[i].shape, self.arrays[i].dtype, self.device)) for i in self.written
        ]
        kept = [(a, copy) for a, copy in kept if a.size]
        for a, copy in kept:
            cl.enqueue_copy(queue, copy.buffer, a.buffer, byte_count=a.nbytes)
        stays = False
        try:
            yield
            stays = keep()
        finally:
            if not (self.device.lost or stays):
                for a, copy in kept:
                    cl.enqueue_copy(queue, a.buffer, copy.buffer, byte_count=a.nbytes)

    def once(self, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run the instrumented kernel with `room[i]` slots for work-item i -> (rows of all slots, events it wanted)."""
        import pyopencl as cl

        slots = np.concatenate([[0], np.cumsum(room)]).astype("u4")
        counts, rows = np.zeros(2 * len(room) + 1, "u4"), np.empty((int(slots[-1]), 4), "u4")
        lengths = np.array([self._length(i) for i in range(len(self.made.buffers))] or [0], "u8")
        flags = cl.mem_flags
        try:
            events = cl.Buffer(self.device.context, flags.READ_WRITE, max(16, rows.nbytes))
            held = [
                cl.Buffer(self.device.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
                for x in (slots, lengths)
            ]
            wanted = cl.Buffer(self.device.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=counts)
            values = [*(self._value(i) for i in range(len(self.launch.args))), events, held[0], wanted, held[1]]
            for i, v in enumerate(values):
                self.cl_kernel.set_arg(i, v)
            self.launch.event = cl.enqueue_nd_range_kernel(
                self.device.queue, self.cl_kernel, self.launch.global_size, self.launch.local_size
            )
            self.launch.instrumented = True
            self._read(wanted, counts)
            if len(rows):
                self._read(events, rows)
        except cl.Error as error:
            raise self._explained(error, rows.nbytes) from error
        self.operations, self.endless = counts[len(room) + 1 :], bool(counts[len(room)])
        return rows, counts[: len(room)]

    def _explained(self, error: Exception, nbytes: int) -> Exception:
        name = self.launch.kernel.name
        self.device.raise_if_lost(f"the recording of {name}", error)
        if is_out_of_memory(error):
            return OutOfDeviceMemory(
                f"{name}: no room for {nbytes:,} bytes of events; choose groups=, or a smaller budget="
            )
        return GpugradError(f"{name}: {self.device} refuses to run the recording form ({error})")

    def _read(self, buffer: Any, host: np.ndarray) -> np.ndarray:
        import pyopencl as cl

        self.device.guarded("a copy to the host", cl.enqueue_copy, self.device.queue, host, buffer)
        return host

    def _length(self, b: int) -> int:
        """Of a buffer in bytes, where the kernel cannot know it."""
        buffer = self.made.buffers[b]
        if buffer.argument is not None:
            return int(self.launch.args[buffer.argument].nbytes)
        return math.prod(n or 0 for n in buffer.dims) * buffer.element_size if buffer.space == "constant" else 0

    def _value(self, i: int) -> Any:
        import pyopencl as cl

        a, p = self.launch.args[i], self.launch.kernel.parameters[i]
        if isinstance(a, Array):
            return a.buffer
        if isinstance(a, Local):
            return cl.LocalMemory(a.nbytes)
        return a if p.scalar is None else p.scalar.type(a)
