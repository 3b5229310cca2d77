"""Which OpenCL device gpugrad works on, and the context and queue it works through.

The first use picks a device: a GPU if there is one, else the CPU. `GPUGRAD_DEVICE` and `use_device` choose
by kind ("gpu", "cpu"), by part of a name ("pocl", "h200") or by number in `devices()`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from .errors import DeviceLost, NoDeviceError

if TYPE_CHECKING:
    import pyopencl as cl


MAX_UPLOADS = 64  # copies to the device that may be under way at once
CACHE_ROOM = 2**24  # bytes: a few dozen compiled kernels


class Device:
    """One OpenCL device, with a context and an in-order queue of its own, made at its first use.

    Attributes: `number` (its place in `devices()`), `name`, `platform`, `kind` ("gpu", "cpu" or "accelerator"),
    `has_float64`, `global_memory` and `local_memory` (bytes), `max_group` (work-items in a group), `max_group_axes`
    (along each axis), `lost`.
    """

    def __init__(self, number: int, cl_device: cl.Device):
        import pyopencl as cl

        self.number = number
        self.cl_device = cl_device
        self.name: str = cl_device.name.strip()
        self.platform: str = cl_device.platform.name.strip()
        self.kind = _kind(cl_device)
        self.has_float64 = bool(cl_device.double_fp_config)
        self.global_memory: int = cl_device.global_mem_size
        self.local_memory: int = cl_device.local_mem_size
        self.max_group: int = cl_device.max_work_group_size
        self.max_group_axes: tuple[int, ...] = tuple(cl_device.max_work_item_sizes)
        # A sub-buffer must start at a multiple of this many bytes.
        self.alignment = max(1, cl_device.mem_base_addr_align // 8)
        self.is_simulator = "oclgrind" in self.platform.lower()
        #: Division and sqrt rounded as on a CPU, where the device can: a GPU's are 2.5 and 3 ulp off by default.
        exact = cl_device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        self.build_options: tuple[str, ...] = ("-cl-fp32-correctly-rounded-divide-sqrt",) if exact else ()
        self.lost: str | None = None
        #: Held while arguments are set and a kernel enqueued, and by the memory pool: Jupyter runs widget
        #: messages on a second thread.
        self.lock = threading.RLock()
        try:
            self.context: cl.Context = cl.Context([cl_device])
        except cl.Error as error:
            if is_fatal(error):
                kinds = {kind for i, (kind, _) in enumerate(_names(_devices or [])) if i != number}
                other = f', or go on here on another device: gg.use_device("{min(kinds)}")' if kinds else ""
                raise DeviceLost(
                    f"{self.name}: the driver gives this process no new context after a kernel's fault "
                    f"({_first_line(error)}). Restart Python (in a notebook: Kernel, Restart){other}"
                ) from error
            raise NoDeviceError(f"{self.name}: its driver gives no context ({_first_line(error)})") from error
        self.queue: cl.CommandQueue = cl.CommandQueue(self.context)
        #: Events of copies to the device, the oldest first. Each holds what it copies, and to drop one waits for it.
        self._uploads: deque[Any] = deque()
        #: The package's kernels by (Kernel, dtype, defines), which stay; see program.py.
        self.kernels: dict[Any, Any] = {}
        #: Programs by (text, options), and users' kernels by their text: as long as somebody holds them.
        self.programs: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        self.custom_kernels: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        #: What else upper layers keep for this device (the memory pool, guard flags).
        self.cache: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<Device {self.number}: {self.kind} {self.name!r} on {self.platform!r}>"

    def __str__(self) -> str:
        return f"{self.name} ({self.platform})"

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: object) -> Device:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("pickle: a Device is this process's own; keep its name, and choose by it: gg.use_device(name)")

    def check_alive(self) -> None:
        """Raise DeviceLost when a kernel fault has killed this device's context."""
        if self.lost:
            raise DeviceLost(self.lost)

    def mark_lost(self, during: str, why: object) -> DeviceLost:
        """Remember that this context is dead, and give back the error that says so."""
        self.lost = (
            f"{self.name}: the context died during {during} ({_first_line(why)}). A kernel read or wrote outside "
            "its memory, or at a misaligned address. Arrays on this device are gone. gpugrad asks for a fresh "
            "context at the next operation: make the arrays again. GPUGRAD_SYNC=1 finds the launch to blame, and so "
            'does running it on a CPU device: gg.use_device("cpu").'
        )
        return DeviceLost(self.lost)

    def synchronize(self) -> None:
        """Wait until everything enqueued so far has run."""
        self.check_alive()
        self.guarded("waiting for the queue", self.queue.finish)

    def upload(self, buffer: cl.Buffer, host: np.ndarray) -> None:
        """Copy `host` into `buffer` when the queue comes to it. Nobody waits for that: a copy of `host` is made now."""
        import pyopencl as cl

        what, copy = "a copy to the device", np.array(host, order="C")
        with self.lock:
            self._uploads.append(self.guarded(what, cl.enqueue_copy, self.queue, buffer, copy, is_blocking=False))
            if len(self._uploads) > MAX_UPLOADS:  # or host memory would fill up
                self.guarded(what, self._uploads[0].wait)
            self._forget_uploads()

    def download(self, host: np.ndarray, buffer: cl.Buffer) -> None:
        """Copy `buffer` into `host`, and wait for it."""
        import pyopencl as cl

        self.guarded("a copy to the host", cl.enqueue_copy, self.queue, host, buffer)
        with self.lock:
            self._forget_uploads()

    def _forget_uploads(self) -> None:
        """Let go of what has been copied (0: done; below: failed)."""
        while self._uploads and self._uploads[0].command_execution_status <= 0:
            self._uploads.popleft()

    def guarded(self, what: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """`call(...)`, with a driver error that means a dead context turned into DeviceLost."""
        import pyopencl as cl

        try:
            return call(*args, **kwargs)
        except cl.Error as error:
            self.raise_if_lost(what, error)
            raise

    def check_answers(self) -> None:
        """Raise DeviceLost if what looks like a lack of memory is a dead context."""
        if not self.answers():
            raise self.mark_lost("an allocation", "it answers no request")

    def raise_if_lost(self, during: str, error: Exception) -> None:
        """Raise DeviceLost if `error` means that the context is dead."""
        if is_fatal(error) or not self.answers():
            raise self.mark_lost(during, error) from error

    def answers(self) -> bool:
        """Does the context still work? NVIDIA reports a fault as -5, out of resources, too: so a small write tells."""
        import pyopencl as cl

        try:
            buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4)
            cl.enqueue_copy(self.queue, buffer, bytes(4))
            self.queue.finish()
        except cl.Error:
            return False
        return True


def is_fatal(error: Exception) -> bool:
    """Does this driver error by itself say that the context is dead? NVIDIA's -9999 does, and what follows it."""
    code = getattr(error, "code", None)
    return code in (-9999, -36, -34) or "-9999" in str(error)  # also INVALID_COMMAND_QUEUE, INVALID_CONTEXT


def _first_line(error: object) -> str:
    return str(error).strip().split("\n", 1)[0]


def _kind(cl_device: cl.Device) -> str:
    import pyopencl as cl

    for bit, name in (
        (cl.device_type.GPU, "gpu"),
        (cl.device_type.ACCELERATOR, "accelerator"),
        (cl.device_type.CPU, "cpu"),
    ):
        if cl_device.type & bit:
            return name
    return "cpu"


_lock = threading.RLock()
_devices: list[Device | cl.Device] | None = None
_current: Device | None = None


def _folder_for_caches() -> None:
    """PyOpenCL and PoCL keep what they compile, and fail, or end the process, where they cannot: where a home is
    read-only or its disk full, they get a folder that goes away with the process.
    """
    if os.name != "posix":
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for variable, folder in (("XDG_CACHE_HOME", home), ("POCL_CACHE_DIR", os.environ.get("POCL_CACHE_DIR"))):
        if folder and not _takes_files(Path(folder)):
            made = os.environ[variable] = tempfile.mkdtemp(prefix="gpugrad-cache-")
            atexit.register(shutil.rmtree, made, ignore_errors=True)


def _takes_files(folder: Path) -> bool:
    """Can the folder, which may have to be made, hold some megabytes more?"""
    there = next(p for p in (folder, *folder.parents) if p.exists() or p == p.parent)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK) and shutil.disk_usage(there).free >= CACHE_ROOM


def _cl_devices() -> list[cl.Device]:
    """Every OpenCL device of every platform, in the order the drivers give."""
    _folder_for_caches()
    try:
        import pyopencl as cl
    except ImportError as error:
        raise NoDeviceError(f"pyopencl cannot be imported ({error}); run `gpugrad doctor`") from error
    found = []
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise NoDeviceError(
            f"no OpenCL platform ({_first_line(error)}): no driver is installed. On Linux x86-64, "
            "`pip install pocl-binary-distribution` brings one that runs on the CPU; elsewhere "
            "`conda install -c conda-forge pocl`. `gpugrad doctor` says more."
        ) from error
    for platform in platforms:
        try:
            found += platform.get_devices()
        except cl.Error:  # a driver that is installed but finds no hardware
            continue
    if not found:
        names = ", ".join(p.name.strip() for p in platforms) or "none"
        raise NoDeviceError(
            f"OpenCL platforms without a device: {names}. A driver is installed but its hardware is not there or not "
            "permitted. `pip install pocl-binary-distribution` (Linux x86-64) brings one that runs on the CPU; "
            "`gpugrad doctor` says more."
        )
    return found


def _open(number: int) -> Device:
    """Device `number`, its context made now if there is none alive."""
    with _lock:
        listed = _listed()
        device = listed[number]
        if not isinstance(device, Device) or device.lost:
            cl_device = device.cl_device if isinstance(device, Device) else device
            device = listed[number] = Device(number, cl_device)
        return device


def _listed() -> list[Device | cl.Device]:
    global _devices
    with _lock:
        if _devices is None:
            _devices = list(_cl_devices())
        return _devices


def devices() -> list[Device]:
    """Every device there is, in a fixed order; its index is the number `use_device` takes."""
    return [_open(i) for i in range(len(_listed()))]


def _names(listed: Sequence[Device | cl.Device]) -> list[tuple[str, str]]:
    """(kind, searchable name) of each device, without opening a context."""
    result = []
    for device in listed:
        raw = device.cl_device if isinstance(device, Device) else device
        result.append((_kind(raw), f"{raw.name.strip()} ({raw.platform.name.strip()})"))
    return result


def _choose(which: str | int | None, argument: str) -> int:
    names = _names(_listed())
    menu = "; ".join(f"{i}: {kind}, {name}" for i, (kind, name) in enumerate(names))
    if which is None or which == "":
        order = {"gpu": 0, "accelerator": 1, "cpu": 2}
        return min(range(len(names)), key=lambda i: (order[names[i][0]], i))
    if isinstance(which, bool) or not isinstance(which, (str, int)):
        raise TypeError(f"{argument} is {which!r}; give a kind ('gpu', 'cpu'), part of a name, or a number")
    if isinstance(which, int) or which.strip().isdecimal():
        number = int(which)
        if 0 <= number < len(names):
            return number
        raise ValueError(f"{argument} is {which!r}; the devices are {menu}")
    wanted = which.strip().lower()
    # PoCL registers under "Portable Computing Language"; people know it as pocl.
    wanted = {"pocl": "portable computing language"}.get(wanted, wanted)
    for i, (kind, name) in enumerate(names):
        if wanted == kind or (wanted not in ("gpu", "cpu", "accelerator") and wanted in name.lower()):
            return i
    raise ValueError(f"{argument} is {which!r}, and no device is of that kind or name; there is {menu}")


def current_device() -> Device:
    """The device that new tensors go to."""
    global _current
    device = _current
    if device is not None and device.lost is None:
        return device
    with _lock:
        if _current is not None and _current.lost is None:
            return _current
        number = (
            _current.number if _current is not None else _choose(os.environ.get("GPUGRAD_DEVICE"), "GPUGRAD_DEVICE")
        )
        _current = _open(number)
        return _current


def switched_on(variable: str) -> bool:
    """What a variable of the environment says: on or off."""
    word = os.environ.get(variable, "").strip().lower()
    if word not in ("", "0", "no", "off", "false", "1", "yes", "on", "true"):
        raise ValueError(f"{variable} is {word!r}; write 1 or 0")
    return word in ("1", "yes", "on", "true")


class use_device:
    """Choose the device for what follows; as a context manager, for the block.

    `which`: a kind ("gpu", "cpu"), part of a device's or platform's name, a number in `devices()`, or a Device.
    ValueError lists the devices there are when none fits. The choice holds for every thread.
    """

    def __init__(self, which: str | int | Device):
        global _current
        if which is None or (isinstance(which, str) and not which.strip()):
            raise TypeError(f"use_device: which is {which!r}; give a kind ('gpu', 'cpu'), part of a name, or a number")
        number = which.number if isinstance(which, Device) else _choose(which, "use_device: which")
        with _lock:
            self._previous = _current
            self.device = _current = _open(number)

    def __enter__(self) -> Device:
        return self.device

    def __exit__(self, *exc: object) -> None:
        global _current
        with _lock:
            _current = self._previous
