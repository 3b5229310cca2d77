"""`gpugrad bench`: gpugrad beside NumPy and, where it is installed, PyTorch, in one run on the same machine.

Every figure is the median over rounds in which the competitors take turns, so that a machine that slows down
slows all of them. Ratios are what carries over to another day; nothing here ever decides a test.
"""

from __future__ import annotations

import contextlib
import operator
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import gpugrad as gg
from gpugrad import data, kernels, nn, optim
from gpugrad.array import Array
from gpugrad.device import Device, current_device
from gpugrad.models import course_cnn
from gpugrad.nn import functional as F
from gpugrad.program import source_text
from gpugrad.source import instrument
from gpugrad.trace import LaunchTrace

Run = Callable[[], Any]


@dataclass
class Row:
    """One line: what was measured, and seconds (or another figure) for each competitor, gpugrad's first."""

    name: str
    seconds: dict[str, float]
    work: float = 0.0  # operations or bytes, for a rate
    unit: str = "ms"

    def cells(self) -> list[str]:
        return [self.figure(s) for s in self.seconds.values()]

    def figure(self, seconds: float) -> str:
        if self.unit == "GFLOP/s" or self.unit == "GB/s":
            return f"{self.work / seconds / 1e9:.1f} {self.unit}"
        return f"{seconds * {'s': 1, 'ms': 1e3, 'us': 1e6}[self.unit]:.3g} {self.unit}"

    def ratios(self) -> list[str]:
        """How many times the other's time gpugrad takes."""
        ours = self.seconds["gpugrad"]
        return [f"{ours / s:.2f}x {name}'s time" for name, s in self.seconds.items() if name != "gpugrad"]


class Torch:
    """PyTorch on the same kind of device, or nothing where it is not installed."""

    def __init__(self, device: Device):
        try:
            import torch
        except ImportError:
            self.torch: Any = None
            return
        self.torch = torch
        self.device = "cuda" if device.kind == "gpu" and torch.cuda.is_available() else "cpu"
        # Full float32, as gpugrad computes: TF32 keeps 10 bits of the mantissa.
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False

    def __bool__(self) -> bool:
        # A CPU's PyTorch is no competitor for a GPU.
        return self.torch is not None and (self.device == "cuda") == (current_device().kind == "gpu")

    def wait(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def tensor(self, host: np.ndarray) -> Any:
        return self.torch.from_numpy(host).to(self.device)


def compare(runs: dict[str, tuple[Run, Run]], rounds: int = 7, seconds: float = 0.15) -> dict[str, float]:
    """The median time of one call of each `run`, in turns; `wait` ends a batch of calls."""
    counts = {}
    for name, (run, wait) in runs.items():
        for _ in range(3):
            run()
        wait()
        begin = time.perf_counter()
        run()
        wait()
        counts[name] = max(1, int(seconds / max(time.perf_counter() - begin, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, wait) in runs.items():
            begin = time.perf_counter()
            for _ in range(counts[name]):
                run()
            wait()
            times[name].append((time.perf_counter() - begin) / counts[name])
    return {name: statistics.median(t) for name, t in times.items()}


def _nothing() -> None:
    pass


# A training step


def small_net(library: Any) -> Any:
    """conv3x3 8, pool, conv3x3 16, pool, fc 10: what the package's ancestor trained. `library` is nn or torch.nn."""
    return library.Sequential(
        library.Conv2d(1, 8, 3), library.ReLU(), library.MaxPool2d(2),
        library.Conv2d(8, 16, 3), library.ReLU(), library.MaxPool2d(2),
        library.Flatten(), library.Linear(16 * 5 * 5, 10),
    )  # fmt: skip


def _stepper(model: Any, optimiser: Any, loss_of: Any, x: Any, y: Any) -> Run:
    def step() -> None:
        optimiser.zero_grad()
        loss_of(model(x), y).backward()
        optimiser.step()

    return step


def steps(device: Device, torch: Torch, batches: tuple[int, ...] = (64, 128)) -> Iterator[Row]:
    """Forward, backward and Adam of the two networks."""
    rng = np.random.default_rng(0)
    for name, build in (("small net", small_net), ("course CNN", partial(course_cnn, False))):
        for batch in batches:
            x = rng.random((batch, 1, 28, 28), np.float32)
            y = rng.integers(0, 10, batch)
            model = build(nn)
            step = _stepper(model, optim.Adam(model.parameters(), lr=1e-3), F.cross_entropy, gg.tensor(x), gg.tensor(y))
            runs: dict[str, tuple[Run, Run]] = {"gpugrad": (step, device.synchronize)}
            if torch:
                t = torch.torch
                other = build(t.nn).to(torch.device)
                adam = t.optim.Adam(other.parameters(), lr=1e-3)
                loss_of = t.nn.functional.cross_entropy
                runs["PyTorch"] = (_stepper(other, adam, loss_of, torch.tensor(x), torch.tensor(y)), torch.wait)
            yield Row(f"step of the {name}, batch {batch}", compare(runs))


def trainings(device: Device, torch: Torch, rounds: int = 3) -> Iterator[Row]:
    """The course's training, one epoch over the shipped digits, their way to the device included: the same script."""
    digits = data.mnist(source="subset")
    order = np.random.default_rng(0).permutation(len(digits))
    batches = [order[i : i + 64] for i in range(0, len(order), 64)]

    def epoch(model: Any, library: Any, loss_of: Any, tensor: Any, steps: int) -> float:
        """The last batch's loss, of the epoch or of its first steps."""
        optimiser = library.Adam(model.parameters(), lr=2e-3)
        schedule = library.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=len(batches))
        for indices in batches[:steps]:
            images, labels = digits.batch(indices)
            optimiser.zero_grad()
            loss = loss_of(model(tensor(images)), tensor(labels))
            loss.backward()
            optimiser.step()
            schedule.step()
        return float(loss.item())

    def ours(steps: int) -> float:
        return epoch(course_cnn(), optim, F.cross_entropy, gg.tensor, steps)

    def theirs(steps: int) -> float:
        t = torch.torch

        def tensor(host: np.ndarray) -> Any:
            return torch.tensor(host.astype(np.int64) if host.dtype == np.int32 else host)

        return epoch(course_cnn(library=t.nn).to(torch.device), t.optim, t.nn.functional.cross_entropy, tensor, steps)

    runs = {"gpugrad": ours} | ({"PyTorch": theirs} if torch else {})
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(10)  # builds kernels
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run(len(batches))
            times[name].append(time.perf_counter() - begin)
    seconds = {name: statistics.median(t) for name, t in times.items()}
    yield Row(f"course CNN, 1 epoch of {len(digits):,} digits", seconds, unit="s")


# Kernels


def gemms(device: Device, torch: Torch) -> Iterator[Row]:
    """Square products, and those of the course CNN's layers."""
    sizes = [(n, n, n) for n in ((256, 512, 768, 1024) if device.kind == "cpu" else (512, 1024, 2048, 4096))]
    sizes += [(64, 1568, 128), (64, 128, 10)]  # M, K, N of the two linear layers
    rng = np.random.default_rng(0)
    for m, k, n in sizes:
        a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
        da, db, out = Array.from_numpy(a), Array.from_numpy(b), Array.empty((m, n))
        host = np.empty((m, n), np.float32)
        runs: dict[str, tuple[Run, Run]] = {"gpugrad": (partial(kernels.gemm, da, db, out=out), device.synchronize)}
        if device.kind == "cpu":
            runs["NumPy"] = (partial(np.matmul, a, b, out=host), _nothing)
        if torch:
            ta, tb = torch.tensor(a), torch.tensor(b)
            runs["PyTorch"] = (partial(torch.torch.mm, ta, tb), torch.wait)
        yield Row(f"gemm {m} x {k} @ {k} x {n}", compare(runs), 2.0 * m * k * n, "GFLOP/s")


def ladders(device: Device, torch: Torch) -> Iterator[Row]:
    """Each rung of the GEMM ladder on the same product."""
    n = 512 if device.kind == "cpu" else 2048
    rng = np.random.default_rng(0)
    a, b = (Array.from_numpy(rng.random((n, n), np.float32)) for _ in range(2))
    out = Array.empty((n, n))
    for name in kernels.variants("gemm"):
        run: Run = partial(kernels.gemm, a, b, variant=name, out=out)
        seconds = compare({"gpugrad": (run, device.synchronize)}, rounds=3)
        yield Row(f"gemm {n}, rung '{name}'", seconds, 2.0 * n**3, "GFLOP/s")


def memory_bound(device: Device, torch: Torch) -> Iterator[Row]:
    """Operations whose time is the memory's."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((128, 16, 28, 28)).astype(np.float32)
    flat = x.reshape(-1, 28)
    g, gf = gg.tensor(x), gg.tensor(flat)
    t: Any = torch.torch
    tx: Any = torch.tensor(x) if torch else None
    tf: Any = torch.tensor(flat) if torch else None
    cases: list[tuple[str, Run, Run | None, Run, int]] = [
        ("x + x", lambda: g + g, lambda: x + x, lambda: tx + tx, 3),
        ("relu", lambda: F.relu(g), lambda: np.maximum(x, 0), lambda: t.relu(tx), 2),
        ("sum", lambda: g.sum(), lambda: x.sum(), lambda: tx.sum(), 1),
        ("sum over N, H, W", lambda: g.sum((0, 2, 3)), lambda: x.sum((0, 2, 3)), lambda: tx.sum((0, 2, 3)), 1),
        ("softmax of rows", lambda: F.softmax(gf, -1), None, lambda: t.softmax(tf, -1), 2),
        ("max-pool 2", lambda: F.max_pool2d(g, 2), None, lambda: t.nn.functional.max_pool2d(tx, 2), 1),
        ("transpose", lambda: gf.T, lambda: np.ascontiguousarray(flat.T), lambda: tf.T.contiguous(), 2),
    ]
    for name, ours, numpys, torchs, passes in cases:
        runs: dict[str, tuple[Run, Run]] = {"gpugrad": (ours, device.synchronize)}
        if numpys and device.kind == "cpu":
            runs["NumPy"] = (numpys, _nothing)
        if torch:
            runs["PyTorch"] = (torchs, torch.wait)
        yield Row(f"{name} ({x.size:,} floats)", compare(runs), passes * x.nbytes, "GB/s")


def overheads(device: Device, torch: Torch) -> Iterator[Row]:
    """What a small operation costs the host, of which Python's part is all but the driver's enqueue; and the import."""
    small = np.ones((8, 8), np.float32)
    plain, tracked = gg.tensor(small), gg.tensor(small, requires_grad=True)
    for name, x in (("x + x, 8 x 8", plain), ("x + x, 8 x 8, recorded", tracked)):
        run: Run = partial(operator.add, x, x)
        # Few calls at a time, or the queue fills up and the device is measured.
        seconds = {"gpugrad": _least(run, device.synchronize, 50, 60)}
        if torch:
            tx = torch.tensor(small).requires_grad_(x.requires_grad)
            seconds["PyTorch"] = _least(partial(operator.add, tx, tx), torch.wait, 50, 60)
        yield Row(name, seconds, unit="us")
        with _no_enqueue():
            yield Row(f"{name}: Python's part", {"gpugrad": _least(run, _nothing, 50, 400)}, unit="us")
    yield Row("import gpugrad, beyond NumPy", {"gpugrad": _import_seconds()})


def _least(run: Run, wait: Run, calls: int, rounds: int) -> float:
    """The time of one call in the quickest of the rounds: what is not Python's own only adds to it."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        times.append((time.perf_counter() - begin) / calls)
        wait()
    return min(times)


@contextlib.contextmanager
def _no_enqueue() -> Iterator[None]:
    """Kernels are prepared, and never handed to the driver."""
    import pyopencl as cl

    real = cl.enqueue_nd_range_kernel
    cl.enqueue_nd_range_kernel = lambda *args, **kwargs: None  # type: ignore[assignment]
    try:
        yield
    finally:
        cl.enqueue_nd_range_kernel = real


def traces(device: Device, torch: Torch) -> Iterator[Row]:
    """What watching costs: a product of 64 x 64 matrices recorded and judged, and the pass over a kernel's text."""
    rng = np.random.default_rng(0)
    a, b = (Array.from_numpy(rng.random((64, 64), np.float32)) for _ in range(2))
    for name in ("naive", "tiled"):
        with gg.trace() as t:
            kernels.gemm(a, b, variant=name)

        def record(name: str = name) -> None:
            with gg.trace():
                kernels.gemm(a, b, variant=name)

        def measure(launch: LaunchTrace = t[0]) -> Any:
            return launch.report().traffic

        events = f"gemm 64, rung '{name}', {len(t[0].columns) // 1000} k events"
        yield Row(f"{events}: record", compare({"gpugrad": (record, device.synchronize)}, rounds=5))
        yield Row(f"{events}: report", compare({"gpugrad": (t[0].report, _nothing)}, rounds=5))
        yield Row(f"{events}: memory", compare({"gpugrad": (measure, _nothing)}, rounds=5))
    text, types = source_text("gemm.cl"), {"T": "float", "A": "float", "R": "float"}
    for name in ("gemm_naive", "gemm_blocked"):
        run: Run = partial(instrument, text, name, types)
        yield Row(f"instrument {name}", compare({"gpugrad": (run, _nothing)}, rounds=5))


def _import_seconds() -> float:
    code = "import numpy, time; t = time.perf_counter(); import gpugrad; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(r.stdout) for r in runs)


SECTIONS: dict[str, Callable[[Device, Torch], Iterator[Row]]] = {
    "train": trainings,
    "steps": steps,
    "gemm": gemms,
    "ladder": ladders,
    "memory": memory_bound,
    "overhead": overheads,
    "trace": traces,
}


def bench(sections: list[str] | None = None) -> None:
    """Print the table of the chosen sections (all of them by default)."""
    for name in sections or []:
        if name not in SECTIONS:
            raise ValueError(f"bench: there is no section {name!r}; there is {', '.join(SECTIONS)}")
    device = current_device()
    torch = Torch(device)
    print(f"device: {device}; {os.cpu_count()} processors; NumPy {np.__version__}", end="")
    if torch:
        print(f"; PyTorch {torch.torch.__version__} on {torch.device}, {torch.torch.get_num_threads()} threads")
    else:
        print("; no PyTorch for this kind of device, so no ratios to it (pip install 'gpugrad[bench]')")
    for name in sections or list(SECTIONS):
        print(f"\n{name}")
        for row in SECTIONS[name](device, torch):
            figures = "  ".join(f"{who} {cell}" for who, cell in zip(row.seconds, row.cells(), strict=True))
            print(f"  {row.name:<38} {figures}  {'; '.join(row.ratios())}".rstrip(), flush=True)
