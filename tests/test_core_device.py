"""Choosing a device, and what happens when one dies."""

import os
import subprocess
import sys

import numpy as np
import pyopencl as cl
import pytest

import gpugrad.device as device_module
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.device import Device, current_device, devices, is_fatal, switched_on, use_device
from gpugrad.errors import DeviceLost, NoDeviceError

ADD_ONE = "__kernel void add_one(__global float *x) { x[get_global_id(0)] += 1; }"


def test_every_device_has_its_number_and_a_kind(device):
    assert devices()[device.number] is device
    assert device.kind in ("gpu", "cpu", "accelerator")
    assert device.name in str(device)


def test_use_device_by_number_kind_name_and_device(device):
    for which in (device.number, str(device.number), device.name, device.name.upper(), device):
        with use_device(which) as chosen:
            assert chosen.name == device.name
    with use_device(device.kind) as chosen:
        assert chosen.kind == device.kind


def test_use_device_as_a_block_gives_the_old_device_back(device):
    with use_device(0):
        pass
    assert current_device() is device


@pytest.mark.parametrize("which", ["quantum", "99", 99, -1])
def test_a_device_that_is_not_there_is_refused_with_the_list_of_those_that_are(which):
    with pytest.raises(ValueError, match=r"0: (cpu|gpu|accelerator)") as error:
        use_device(which)
    assert repr(which) in str(error.value)


@pytest.mark.parametrize("which", [1.5, True, [0], None, ""])
def test_use_device_refuses_other_types(which):
    with pytest.raises(TypeError, match="give a kind"):
        use_device(which)


def test_the_environment_chooses_the_device(monkeypatch):
    monkeypatch.setattr(device_module, "_current", None)
    monkeypatch.setenv("GPUGRAD_DEVICE", "0")
    assert current_device().number == 0
    monkeypatch.setattr(device_module, "_current", None)
    monkeypatch.setenv("GPUGRAD_DEVICE", "nothing like it")
    with pytest.raises(ValueError, match="GPUGRAD_DEVICE is 'nothing like it'"):
        current_device()


class _Fake:
    def __init__(self, kind, name):
        self.type, self.name, self.platform = kind, name, type("P", (), {"name": "Fake OpenCL"})


def test_a_gpu_is_preferred_to_a_cpu_wherever_it_stands(monkeypatch):
    kinds = cl.device_type
    listed = [_Fake(kinds.CPU, "cpu0"), _Fake(kinds.GPU, "gpu0"), _Fake(kinds.GPU, "gpu1")]
    monkeypatch.setattr(device_module, "_devices", listed)
    assert device_module._choose(None, "x") == 1
    assert device_module._choose("cpu", "x") == 0
    assert device_module._choose("gpu1", "x") == 2


def test_no_platform_names_the_command_that_brings_one(monkeypatch):
    def no_platforms():
        raise cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(cl, "get_platforms", no_platforms)
    with pytest.raises(NoDeviceError, match="pip install pocl-binary-distribution"):
        device_module._cl_devices()


def test_a_platform_without_devices_is_named(monkeypatch):
    class Platform:
        name = "Broken driver"

        def get_devices(self):
            raise cl.LogicError("DEVICE_NOT_FOUND")

    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    with pytest.raises(NoDeviceError, match="Broken driver"):
        device_module._cl_devices()


class DriverFault(cl.RuntimeError):
    code = -9999

    def __init__(self):
        super().__init__("clFinish failed: <unknown error -9999>")


def test_a_driver_fault_is_fatal_and_a_bad_argument_is_not():
    assert is_fatal(DriverFault())
    with pytest.raises(cl.Error) as refused:
        cl.Buffer(current_device().context, cl.mem_flags.READ_WRITE, 0)
    assert not is_fatal(refused.value)


def test_a_lost_device_is_said_and_work_goes_on_in_a_fresh_context(device):
    x = Array.from_numpy(np.ones(64, np.float32))

    def fault():
        raise DriverFault

    with pytest.raises(DeviceLost, match="context died during waiting"):
        device.guarded("waiting", fault)
    with pytest.raises(DeviceLost, match="make the arrays again"):
        x.numpy()
    add_one = kernel(ADD_ONE)
    with pytest.raises(DeviceLost):
        add_one(x, global_size=64)
    fresh = current_device()
    assert isinstance(fresh, Device)
    assert fresh is not device
    assert fresh.name == device.name
    y = Array.from_numpy(np.ones(64, np.float32))
    add_one(y, global_size=64)
    np.testing.assert_array_equal(y.numpy(), 2)
    with pytest.raises(DeviceLost):
        add_one(x, global_size=64)


FAULT = """
import numpy as np, gpugrad as gg
gg.use_device({number})
x = gg.Array.from_numpy(np.ones(64, np.float32))
wild = gg.kernel("__kernel void wild(__global float *x, int far) {{ x[(long)far * far] = 1; }}")
try:
    wild(x, 2_000_000_000, global_size=64, checked=False)
    x.numpy()
except gg.DeviceLost as error:
    assert "Arrays on this device are gone" in str(error), error
    try:
        y = gg.Array.from_numpy(np.ones(64, np.float32))
    except gg.DeviceLost as error:
        assert "Restart Python" in str(error), error
        others = {{kind for i, (kind, _) in enumerate(gg.device._names(gg.device._listed())) if i != {number}}}
        assert ("use_device" in str(error)) == bool(others), error
        if others:
            gg.use_device(min(others))
            assert gg.Array.from_numpy(np.ones(64, np.float32)).numpy().sum() == 64
    else:
        assert y.numpy().sum() == 64
    print("said, and work goes on")
"""


def test_a_kernel_that_writes_outside_its_memory_is_said_and_work_goes_on(device):
    """NVIDIA's driver then gives the whole process no context any more, so the test has a process of its own."""
    if device.kind != "gpu":
        pytest.skip("only a GPU's driver detects an access outside memory; on a CPU it may end the process")
    code = FAULT.format(number=device.number)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "said, and work goes on", done.stdout + done.stderr


def test_kernels_compile_under_a_home_that_cannot_be_written(device):
    env = {k: v for k, v in os.environ.items() if k not in ("POCL_CACHE_DIR", "XDG_CACHE_HOME")}
    code = "import gpugrad, os; print(gpugrad.ones(3).sum().item(), os.environ['XDG_CACHE_HOME'])"
    args = [sys.executable, "-c", code]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120, env=env | {"HOME": os.devnull})
    assert done.stdout.startswith("3.0 "), done.stderr
    assert not os.path.exists(done.stdout.split()[1])  # it is gone when Python is


@pytest.mark.skipif(os.name != "posix", reason="the folders of caches are looked at on POSIX only")
def test_caches_move_to_where_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    device_module._folder_for_caches()
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "home")
    monkeypatch.setattr(device_module, "CACHE_ROOM", 2**70)
    device_module._folder_for_caches()
    for variable in ("XDG_CACHE_HOME", "POCL_CACHE_DIR"):
        assert "gpugrad-cache-" in os.environ[variable]
        assert os.listdir(os.environ[variable]) == []


def test_a_driver_that_gives_no_fresh_context_is_said_with_what_to_do(device, monkeypatch):
    def context(devices):
        raise DriverFault

    monkeypatch.setattr(cl, "Context", context)
    monkeypatch.setattr(device_module, "_devices", [device.cl_device])
    with pytest.raises(DeviceLost, match=r"Restart Python \(in a notebook: Kernel, Restart\)$"):
        Device(0, device.cl_device)
    monkeypatch.setattr(device_module, "_devices", [device.cl_device, device.cl_device])
    with pytest.raises(DeviceLost, match=rf'Restart Python .* on another device: gg.use_device\("{device.kind}"\)'):
        Device(0, device.cl_device)


# Variables of the environment


@pytest.mark.parametrize(
    ("word", "on"), [(None, False), ("", False), ("0", False), ("no", False), ("Off", False), ("1", True), ("on", True)]
)
def test_a_variable_is_on_or_off(monkeypatch, word, on):
    monkeypatch.delenv("GPUGRAD_SYNC", raising=False)
    if word is not None:
        monkeypatch.setenv("GPUGRAD_SYNC", word)
    assert switched_on("GPUGRAD_SYNC") is on


def test_a_variable_that_is_neither_on_nor_off_is_refused(monkeypatch):
    monkeypatch.setenv("GPUGRAD_SYNC", "maybe")
    with pytest.raises(ValueError, match="GPUGRAD_SYNC is 'maybe'; write 1 or 0"):
        switched_on("GPUGRAD_SYNC")
