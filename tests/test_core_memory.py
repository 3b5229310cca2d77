"""The pool: blocks are used again, counted, and refused when they do not fit."""

import gc

import numpy as np
import pytest

from gpugrad.array import Array
from gpugrad.errors import OutOfDeviceMemory
from gpugrad.memory import Pool, _round_up, parse_bytes, pool


@pytest.fixture
def small(device, monkeypatch):
    """A pool of its own with a limit of 1 MiB."""
    monkeypatch.setenv("GPUGRAD_MEMORY_LIMIT", "1MiB")
    monkeypatch.setitem(device.cache, "pool", Pool(device))
    return pool(device)


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("1000", 1000), ("2GB", 2 * 10**9), ("512 MiB", 512 * 2**20), ("1.5k", 1500), ("3 gi", 3 * 2**30), ("0", 0)],
)
def test_sizes_are_read(text, nbytes):
    assert parse_bytes(text) == nbytes


@pytest.mark.parametrize("text", ["", "lots", "-1", "1e9", "2 GBytes", "i", "1 i"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="such as 2GB"):
        parse_bytes(text)


def test_size_classes_hold_what_was_asked_and_waste_little():
    for nbytes in [1, 511, 512, 513, 4096, 4097, 5000, 10**6, 10**6 + 1, 2**20, 2**31 + 5]:
        capacity = _round_up(nbytes)
        assert capacity >= nbytes
        assert capacity % 512 == 0
        assert capacity <= max(nbytes + 512, nbytes * 1.13)
        assert _round_up(capacity) == capacity


def test_a_block_is_used_again_after_its_array_is_gone(device, small):
    if device.is_simulator:
        pytest.skip("a simulator gets a buffer of exactly the size asked for each time")
    a = Array.empty((1000,))
    buffer = a.buffer
    del a
    b = Array.empty((990,))
    assert b.buffer is buffer
    assert small.allocated == small.used == _round_up(4000)


def test_views_keep_the_block(device, small):
    a = Array.from_numpy(np.arange(6, dtype=np.float32))
    view = a.reshape(2, 3)
    del a
    Array.from_numpy(np.zeros(6, np.float32))
    np.testing.assert_array_equal(view.numpy(), [[0, 1, 2], [3, 4, 5]])


def test_used_counts_only_what_is_held(device, small):
    a, b = Array.empty((2000,)), Array.empty((2000,))
    held = small.used
    del b
    assert 8000 <= small.used < held
    del a
    assert small.used == 0


def test_too_much_memory_is_refused_and_the_next_operation_works(device, small):
    keep = Array.empty((100_000,))
    with pytest.raises(OutOfDeviceMemory, match=r"800,0\d\d bytes do not fit .* of 1,048,576 bytes"):
        Array.empty((200_000,))
    assert keep.size == 100_000
    x = Array.from_numpy(np.ones(10_000, np.float32))
    assert x.numpy().sum() == 10_000


def test_what_fits_is_given_though_its_size_class_does_not_and_used_again(device, small):
    small.release_cached()
    small.limit = small.allocated + 50_000
    a = Array.empty((49_900,), np.uint8)
    assert _round_up(49_900) > 50_000 and small.allocated <= small.limit
    buffer = a.block.buffer
    del a
    again = Array.empty((49_900,), np.uint8)
    assert again.block.buffer is buffer or device.is_simulator
    again.write(np.ones(49_900, np.uint8))
    assert again.numpy().sum() == 49_900


def test_cached_blocks_are_freed_before_memory_is_refused(device, small):
    a = Array.empty((150_000,))
    del a  # cached now, of a size class that the next one does not fit
    assert Array.empty((220_000,)).size == 220_000


def test_garbage_in_cycles_is_collected_before_memory_is_refused(device, small):
    class Ring:
        pass

    gc.disable()
    try:
        ring = Ring()
        ring.itself, ring.array = ring, Array.empty((150_000,))
        del ring
        assert Array.empty((220_000,)).size == 220_000
    finally:
        gc.enable()


def test_a_launch_without_memory_says_so(device, monkeypatch):
    import pyopencl as cl

    from gpugrad.custom import kernel

    add_one = kernel("__kernel void add_one(__global float *x) { x[get_global_id(0)] += 1; }")
    x = Array.from_numpy(np.zeros(64, np.float32))
    real, failures = cl.enqueue_nd_range_kernel, [2]

    class Full(cl.RuntimeError):
        code = -5

    def enqueue(*args, **kwargs):
        if failures[0]:
            failures[0] -= 1
            raise Full("OUT_OF_RESOURCES")
        return real(*args, **kwargs)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", enqueue)
    with pytest.raises(OutOfDeviceMemory, match="add_one"):
        add_one(x, global_size=64, checked=False)
    failures[0] = 1  # the retry succeeds
    add_one(x, global_size=64, checked=False)
    np.testing.assert_array_equal(x.numpy(), 1)


def test_with_gc_off_arrays_return_their_memory(device, small):
    gc.disable()
    try:
        for _ in range(100):
            Array.from_numpy(np.ones(50_000, np.float32)).reshape(100, 500).numpy()
        assert small.used == 0
    finally:
        gc.enable()
