"""`with gg.profile() as p:` times each launch of the block on the device, and says what came of the time.

The times are OpenCL's own, taken by the device when a kernel starts and when it ends. They cost something on some
devices (about 5 us a launch on an NVIDIA H200, nothing that can be measured under PoCL), so for the block the device's
queue is exchanged for one that takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import Context, ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from . import device as devices
from .array import Array
from .device import Device, current_device
from .kernels import work
from .program import Launch, on_launch

MOST_PENDING = 4096  # launches whose times are not yet fetched: drivers keep something for each


@dataclass(frozen=True)
class Timed:
    """One launch: what ran, on what, when (`start` and `end` in nanoseconds of the device's clock), and what it had to
    do (`bytes` read and written at the least, `flops`; None where nobody declares them).

    `form` is "" for a plain launch; "instrumented" for one that was traced or checked, which takes longer.
    """

    kernel: str
    family: str
    variant: str
    shapes: dict[str, tuple[int, ...]]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    device: str
    start: int
    end: int
    bytes: int | None = None
    flops: int | None = None
    form: str = ""

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * 1e-9

    @property
    def gbytes_per_second(self) -> float | None:
        return _rate(self.bytes, self.seconds)

    @property
    def gflops(self) -> float | None:
        return _rate(self.flops, self.seconds)


@dataclass(frozen=True)
class Peaks:
    """What a device reached, measured with the package's own kernels: a stream of copies, and a product of matrices."""

    gbytes_per_second: float
    gflops: float


class Profile:
    """What `gg.profile()` gives: `launches` (in the order in which they ran), `table()`, `peaks()`.

    `missed` counts launches whose device takes no times, as it came up within the block.
    """

    def __init__(self) -> None:
        self._launches: list[Timed] = []
        self._pending: list[tuple[Launch, Any]] = []
        self._held: list[Device] = []  # whose queues this block has exchanged
        self._handle: Any = None
        self._token: Any = None
        self.missed = 0

    # ---- the block

    def __enter__(self) -> Profile:
        if self._handle is not None:
            raise RuntimeError("profile: this profile has had its block; make a new one with gg.profile()")
        current_device()
        for device in devices._listed():
            if isinstance(device, Device) and not device.lost:
                self._hold(device)
        self._token = _active.set((*_active.get(), self))
        self._handle = on_launch(self._observe)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._token is None:
            raise RuntimeError("profile: its block is not open; write `with gg.profile() as p:` around what to time")
        token, self._token = self._token, None
        self._handle.remove()
        try:
            _active.reset(token)
            self._collect()
        finally:
            for device in self._held:
                _give_back(device)

    def _hold(self, device: Device) -> None:
        _exchange(device)
        self._held.append(device)

    def _observe(self, launch: Launch) -> None:
        if self not in _active.get() or launch.event is None:
            return  # another thread's, or one that an interceptor kept from running
        if launch.kernel.device not in self._held:
            self.missed += 1
            self._hold(launch.kernel.device)
            return
        self._pending.append((launch, launch.event))
        if len(self._pending) >= MOST_PENDING:
            self._collect()

    def _collect(self) -> None:
        """Fetch the times of what is pending, which waits for it."""
        pending, self._pending = self._pending, []
        for launch, event in pending:
            device = launch.kernel.device
            if device.lost:
                self.missed += 1
                continue
            device.guarded(f"the launch of {launch.kernel.name}", event.wait)
            self._launches.append(_timed(launch, event.profile.start, event.profile.end))

    # ---- answers

    @property
    def launches(self) -> list[Timed]:
        """Every launch so far; within the block this waits for the device."""
        self._collect()
        return self._launches

    @property
    def seconds(self) -> float:
        """The device's time in kernels, all together."""
        return sum(t.seconds for t in self.launches)

    def __len__(self) -> int:
        return len(self.launches)

    def __repr__(self) -> str:
        n = len(self._launches) + len(self._pending)
        return f"<Profile of {n} launches>" if n != 1 else "<Profile of 1 launch>"

    def __str__(self) -> str:
        return self.table()

    def table(self, by: str = "kernel") -> str:
        """The times as text: one line for each kernel, the longest first; or by="launch", one for each in order.

        GB/s counts each argument once, as if caches were perfect; it can exceed what memory does where they are warm.
        """
        if by not in ("kernel", "launch"):
            raise ValueError(f'profile: by is {by!r}; it is "kernel" or "launch"')
        launches = self.launches
        if not launches:
            return "no launch happened in the block" + self._footnote()
        rows = [_HEAD[by], *(_by_kernel(launches) if by == "kernel" else _by_launch(launches))]
        total = f"{len(launches)} launches, {_ms(self.seconds)} ms on {_and(sorted({t.device for t in launches}))}"
        return "\n".join([*_aligned(rows, left=3 if by == "kernel" else 4), total]) + self._footnote()

    def _footnote(self) -> str:
        return f"\n{self.missed} launches could not be timed" if self.missed else ""

    def peaks(self, device: Device | None = None) -> Peaks:
        """What the device can do, to compare with: measured once in a process, which takes a second or two."""
        return peaks(device or (self._held[0] if self._held else current_device()))


def profile() -> Profile:
    """Time each launch inside the block: `with gg.profile() as p: ...`, then `print(p.table())`.

    `p.launches` has one record for each launch, with its start and end in nanoseconds of the device's clock. It holds
    for this thread. Nothing waits but the block's end. A launch that is traced or checked is timed as what ran, its
    instrumented form, and marked.
    """
    return Profile()


def peaks(device: Device) -> Peaks:
    """A device's measured peaks, from its cache or measured now."""
    found: Peaks | None = device.cache.get("peaks")
    if found is None:
        found = device.cache["peaks"] = Context().run(_measure, device)  # in no trace, with no kernels swapped
    return found


# ---- the queue that takes times

_active: ContextVar[tuple[Profile, ...]] = ContextVar("gpugrad_profiles", default=())


def _exchange(device: Device) -> None:
    """One block more that wants times."""
    import pyopencl as cl

    with device.lock:
        plain, blocks = device.cache.get("profiles", (device.queue, 0))
        device.cache["profiles"] = plain, blocks + 1
        if not blocks:
            device.synchronize()
            device.queue = cl.CommandQueue(device.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
            plain.finish()  # what another thread put there meanwhile


def _give_back(device: Device) -> None:
    if device.lost:
        return
    with device.lock:
        plain, blocks = device.cache["profiles"]
        if blocks > 1:
            device.cache["profiles"] = plain, blocks - 1
            return
        timed = device.queue
        device.synchronize()
        device.queue = plain
        timed.finish()
        del device.cache["profiles"]


def _timed(launch: Launch, start: int, end: int) -> Timed:
    arrays = {name: a.shape for name, a in launch.named_args().items() if isinstance(a, Array)}
    known = not launch.instrumented
    return Timed(
        launch.kernel.name, work.family(launch), work.variant_of(launch), arrays, launch.global_size, launch.local_size,
        str(launch.kernel.device), start, end, work.moved(launch) if known else None,
        work.flops(launch) if known else None, "instrumented" if launch.instrumented else "",
    )  # fmt: skip


# ---- the table

_HEAD = {
    "kernel": ["kernel", "family", "variant", "launches", "ms", "share", "us each", "GB/s", "GFLOP/s"],
    "launch": ["kernel", "family", "variant", "shapes", "at us", "us", "GB/s", "GFLOP/s"],
}


def _by_kernel(launches: list[Timed]) -> Iterable[list[str]]:
    groups: dict[tuple[str, str, str], list[Timed]] = {}
    for t in launches:
        groups.setdefault((t.kernel, t.family, _variant(t)), []).append(t)
    whole = sum(t.seconds for t in launches) or 1.0
    totals = {key: sum(t.seconds for t in group) for key, group in groups.items()}
    for key in sorted(groups, key=lambda k: (-totals[k], k)):
        group, total = groups[key], totals[key]
        rates = [_number(_rate(_sum(getattr(t, what) for t in group), total)) for what in ("bytes", "flops")]
        share, each = f"{total / whole:.1%}", f"{total / len(group) * 1e6:.1f}"
        yield [*key, str(len(group)), _ms(total), share, each, *rates]


def _by_launch(launches: list[Timed]) -> Iterable[list[str]]:
    first = {t.device: t.start for t in reversed(launches)}
    for t in launches:
        shapes = " ".join(f"{name}{list(shape)}" for name, shape in t.shapes.items())
        times = [f"{(t.start - first[t.device]) / 1e3:.1f}", f"{t.seconds * 1e6:.1f}"]
        yield [t.kernel, t.family, _variant(t), shapes, *times, _number(t.gbytes_per_second), _number(t.gflops)]


def _variant(t: Timed) -> str:
    return f"{t.variant} ({t.form})".strip() if t.form else t.variant


def _aligned(rows: list[list[str]], left: int, widest: int = 48) -> list[str]:
    """Columns of text; the first `left` begin at the left."""
    rows = [[c if len(c) <= widest else c[: widest - 3] + "..." for c in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = ([c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))] for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


def _sum(numbers: Iterable[int | None]) -> int | None:
    """None if one of them is unknown."""
    held = list(numbers)
    return None if None in held else sum(n for n in held if n is not None)


def _rate(amount: int | None, seconds: float) -> float | None:
    return None if amount is None or seconds <= 0 else amount / seconds / 1e9


def _number(x: float | None) -> str:
    return "" if x is None else f"{x:.1f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def _and(names: list[str]) -> str:
    return " and ".join(names)


# ---- peaks


def _measure(device: Device) -> Peaks:
    from . import kernels

    n, side = (1 << 16, 64) if device.is_simulator else (1 << 24, 512) if device.kind == "cpu" else (1 << 27, 4096)
    n = min(n, device.global_memory // 64)
    x, a = Array.empty((n,), np.float32, device), Array.empty((side, side), np.float32, device)
    y, c = Array.empty(x.shape, x.dtype, device), Array.empty(a.shape, a.dtype, device)
    x.write(np.zeros(x.shape, x.dtype))
    a.write(np.ones(a.shape, a.dtype))
    runs: list[Callable[[], Any]] = [
        lambda: kernels.elementwise("copy", x, out=y),
        lambda: kernels.gemm(a, a, out=c),
    ]
    copy, product = (min(_rounds(run)) for run in runs)
    return Peaks(2 * x.nbytes / copy / 1e9, 2 * side**3 / product / 1e9)


def _rounds(run: Callable[[], Any], rounds: int = 6) -> list[float]:
    """The device's time for each of some calls, after one to warm up."""
    times = []
    for _ in range(rounds + 1):
        with Profile() as p:
            run()
        times.append(p.seconds)
    return times[1:]
