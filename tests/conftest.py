"""Fixtures all tests share: the devices, a seeded generator, and poisoned device memory."""

from __future__ import annotations

import numpy as np
import pytest

import gpugrad.memory
from gpugrad.device import Device, devices, use_device
from gpugrad.errors import NoDeviceError


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


@pytest.fixture
def rng(request):
    """A NumPy generator seeded by the test's name: the same numbers in every run, others in every test."""
    return np.random.default_rng(list(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def poison(monkeypatch):
    """Fill every block that the pool hands out with NaN, so that reading what nobody wrote shows."""
    import pyopencl as cl

    allocate = gpugrad.memory.Pool.allocate

    def poisoned(self, nbytes):
        block = allocate(self, nbytes)
        # All bits set: NaN in every float type, -1 in int32, 255 in uint8.
        size = block.capacity - block.capacity % 4
        if size:
            cl.enqueue_fill_buffer(self.device.queue, block.buffer, np.uint32(0xFFFFFFFF), 0, size)
        return block

    monkeypatch.setattr(gpugrad.memory.Pool, "allocate", poisoned)
