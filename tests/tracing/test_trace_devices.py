"""Every device tells the same: traces agree in every column, and values as far as rounding lets them."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pyopencl as cl
import pytest

SCRIPT = pathlib.Path(__file__).with_name("recordings.py")
ICD = next(iter(pathlib.Path("/usr/lib").glob("**/liboclgrind-rt-icd.so")), None) if shutil.which("oclgrind") else None


def others():
    """Platforms beside PoCL: (name of a device there, environment)."""
    if ICD is not None:
        yield pytest.param("oclgrind", {"OCL_ICD_VENDORS": str(ICD)}, id="oclgrind")
    for platform in cl.get_platforms():
        if "portable computing" not in platform.name.lower():
            name = platform.get_devices()[0].name.strip()
            yield pytest.param(name, {}, id=name)


def recorded(folder, device, env):
    path = folder / f"{device.replace(' ', '_')}.npz"
    root = str(SCRIPT.parents[2])
    paths = [root, str(SCRIPT.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, **env, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), device, str(path)], env=env, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(path)


@pytest.fixture(scope="module")
def on_pocl(tmp_path_factory):
    if not any("portable computing" in p.name.lower() for p in cl.get_platforms()):
        pytest.skip("PoCL is not installed")
    return recorded(tmp_path_factory.mktemp("traces"), "pocl", {})


@pytest.mark.deep
@pytest.mark.parametrize("device, env", list(others()))
def test_traces_are_the_same_on_every_device(device, env, on_pocl, tmp_path):
    there = recorded(tmp_path, device, env)
    assert set(on_pocl.files) == set(there.files)
    assert len(on_pocl.files) > 500
    for key in on_pocl.files:
        here, other = on_pocl[key], there[key]
        if key.endswith("/value"):
            # Division, exp and their like round differently; all else is exact.
            assert np.allclose(here, other, rtol=1e-5, atol=0, equal_nan=True), key
        else:
            assert np.array_equal(here, other), key
