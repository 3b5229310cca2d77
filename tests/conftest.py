"""Fixtures all tests share: the devices, a seeded generator, poisoned device memory; and the watch on Oclgrind."""

from __future__ import annotations

import hashlib
import itertools
import os
import pathlib

import numpy as np
import pytest

import gpugrad.memory
from gpugrad.device import devices, use_device
from gpugrad.errors import NoDeviceError
from gpugrad.program import on_launch


def pytest_addoption(parser):
    parser.addoption(
        "--oclgrind-log",
        metavar="FILE",
        help="the file that OCLGRIND_LOG names: a test during which Oclgrind adds a report to it fails",
    )


def pytest_configure(config):
    log = config.getoption("--oclgrind-log")
    if log:
        config.launched = set()
        on_launch(lambda launch: config.launched.add(launch.kernel.name))


def pytest_collection_modifyitems(config, items):
    """On a simulator a few of each test's cases, chosen by their names: OCLGRIND_SAMPLE of them, 0 for all.

    Hypothesis's tests are dozens of cases each, and left to the full run.
    """
    most = int(os.environ.get("OCLGRIND_SAMPLE", "0"))
    if not config.getoption("--oclgrind-log") or not most:
        return
    kept, count = [], {}
    for item in sorted(items, key=lambda i: hashlib.sha256(i.name.encode()).digest()):
        count[item.function] = count.get(item.function, 0) + 1
        if count[item.function] <= most and not getattr(item.function, "is_hypothesis_test", False):
            kept.append(item)
    config.hook.pytest_deselected(items=[i for i in items if i not in kept])
    items[:] = kept


def pytest_unconfigure(config):
    """Say beside the log which kernels ran, so that one that never did is noticed."""
    if hasattr(config, "launched"):
        pathlib.Path(config.getoption("--oclgrind-log") + ".kernels").write_text("\n".join(sorted(config.launched)))


def pytest_terminal_summary(terminalreporter):
    """What tests measured, in the report of the run: nothing is decided by it."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Oclgrind only reports, and its process ends with 0: fail the test whose run made it report."""
    name = item.config.getoption("--oclgrind-log")
    log = pathlib.Path(name) if name else None
    before = log.stat().st_size if log and log.exists() else 0
    result = yield
    if log:
        for each in devices():
            each.queue.finish()  # it runs a kernel, and reports, when somebody waits for it
    if log and log.exists() and log.stat().st_size > before:
        with log.open(errors="replace") as file:
            file.seek(before)
            pytest.fail(f"Oclgrind reports:\n{file.read(4000)}", pytrace=False)
    return result


def _numbers() -> list[int]:
    try:
        return [d.number for d in devices()]
    except NoDeviceError:
        return []


@pytest.fixture(params=_numbers(), ids=lambda i: f"device{i}")
def device(request):
    """Each OpenCL device present, in turn, as the current one."""
    with use_device(request.param) as chosen:
        yield chosen


@pytest.fixture(scope="module")
def browser():
    """A browser without a window; the test skips where there is none."""
    from browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture
def rng(request):
    """A NumPy generator seeded by the test's name: the same numbers in every run, others in every test."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture
def own_progress(tmp_path, monkeypatch):
    """The file in which progress is kept during a test: nobody's own."""
    monkeypatch.setenv("GPUGRAD_PROGRESS", str(tmp_path))
    return tmp_path / "gpugrad-progress.json"


TAIL = 64


@pytest.fixture(autouse=True)
def poison(monkeypatch, request):
    """Surround what kernels get with poison.

    Every block that the pool hands out is filled with NaN, so that reading what nobody wrote shows; and it is a
    little longer than asked for, and its end must still be poison after the test, so that writing past it shows. There
    each block has a number of its own, and one that arithmetic changes (a signalling NaN): the end of one array written
    to the end of another shows too.
    """
    if os.environ.get("OCL_ICD_VENDORS", "").endswith("oclgrind-rt-icd.so"):
        yield  # Oclgrind sees both by itself, and only while memory has its exact size and nobody fills it
        return
    import pyopencl as cl

    allocate, held, salt = gpugrad.memory.Pool.allocate, {}, itertools.count(1)

    def poisoned(self, nbytes):
        block = allocate(self, nbytes + TAIL)
        size = block.capacity - block.capacity % 4
        # All bits set: NaN in every float type, -1 in int32, 255 in uint8.
        cl.enqueue_fill_buffer(self.device.queue, block.buffer, np.uint32(0xFFFFFFFF), 0, size)
        start, end = -(-nbytes // 4) * 4, np.uint32(0x7FA00000 + next(salt) % 0x1FFFFF)
        cl.enqueue_fill_buffer(self.device.queue, block.buffer, end, start, size - start)
        held[block.buffer.int_ptr] = (self.device, block.buffer, nbytes, start, size, end)
        return block

    monkeypatch.setattr(gpugrad.memory.Pool, "allocate", poisoned)
    yield
    for dev, buffer, nbytes, start, size, end in held.values():
        if dev.lost:
            continue
        tail = np.empty(size - nbytes, np.uint8)
        cl.enqueue_copy(dev.queue, tail, buffer, src_offset=nbytes)
        kept = (tail[: start - nbytes] == 0xFF).all() and (tail[start - nbytes :].view(np.uint32) == end).all()
        assert kept, f"something wrote past the end of an array of {nbytes} bytes"
