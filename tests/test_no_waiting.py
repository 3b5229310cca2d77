"""The host runs ahead of the device: with the queue held up, a training step and its data are enqueued all the same."""

import contextlib
import threading

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import optim
from gpugrad.array import Array
from gpugrad.data import DataLoader
from gpugrad.device import MAX_UPLOADS
from gpugrad.models import course_cnn
from gpugrad.nn import functional as F


@contextlib.contextmanager
def held_up(device):
    """A queue that runs nothing until the block ends."""
    import pyopencl as cl

    if device.is_simulator:
        pytest.skip("Oclgrind runs a kernel when somebody waits for it")
    device.synchronize()
    gate = cl.UserEvent(device.context)
    cl.enqueue_barrier(device.queue, wait_for=[gate])
    try:
        yield
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)


def finishes(device, work):
    """What `work()` gives, while the queue is held up: a call that waits for the device never comes back."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    with held_up(device):
        thread.start()
        thread.join(20)
        waits = thread.is_alive()
    thread.join(20)
    assert not waits, "the host waits for the device"
    return found[0]


def test_a_copy_to_the_device_does_not_wait_and_keeps_what_it_was_given(device):
    host = np.arange(1000, dtype=np.float32)

    def work():
        array = Array.from_numpy(host)
        host[:] = -1  # before the device has come to it
        return array

    np.testing.assert_array_equal(finishes(device, work).numpy(), np.arange(1000, dtype=np.float32))


def test_a_view_is_written_without_waiting(device):
    array = Array.from_numpy(np.zeros((4, 64), np.float32))
    view = array._view((64,), 512)
    finishes(device, lambda: view.write(np.ones(64, np.float32)))
    np.testing.assert_array_equal(array.numpy(), np.repeat([0, 0, 1, 0], 64).reshape(4, 64))


def test_copies_that_are_done_are_let_go(device):
    for i in range(3 * MAX_UPLOADS):
        last = Array.from_numpy(np.full(100, i, np.float32))
        assert len(device._uploads) <= MAX_UPLOADS
    assert last.numpy()[0] == 3 * MAX_UPLOADS - 1
    assert not device._uploads


class Digits:
    """64 random digits."""

    def __init__(self, rng):
        self.images, self.labels = rng.random((64, 1, 28, 28), np.float32), rng.integers(0, 10, 64)

    def __len__(self):
        return 64

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


@pytest.mark.parametrize("labels", ["tensor", "numpy"])
def test_a_training_step_waits_for_nothing(device, rng, labels):
    model = course_cnn()
    adam = optim.Adam(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=100)
    loader = DataLoader(Digits(rng), batch_size=16, shuffle=True)

    def step():
        for images, classes in loader:
            adam.zero_grad()
            target = rng.integers(0, 10, 16) if labels == "numpy" else classes
            loss = F.cross_entropy(model(images), target)
            loss.backward()
            adam.step()
            schedule.step()
        return loss

    step()  # builds the kernels, which takes time
    assert np.isfinite(finishes(device, step).item())


def test_batch_normalisation_waits_for_nothing(device, rng):
    layer = gg.nn.BatchNorm2d(3)

    def step():
        x = gg.tensor(rng.random((4, 3, 5, 5), np.float32), requires_grad=True)
        layer(x).sum().backward()
        return x.grad

    step()
    assert np.isfinite(finishes(device, step).numpy()).all()
