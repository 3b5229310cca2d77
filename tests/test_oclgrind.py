"""The tests of every kernel family on Oclgrind, a simulated device that sees memory errors, races and divergence.

Run each in a process of its own, as the device is chosen when OpenCL is loaded. `tests/conftest.py` fails the test
that made Oclgrind report.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import mutants
import pytest
from sampling import some

ICD = next(iter(pathlib.Path("/usr/lib").glob("**/liboclgrind-rt-icd.so")), None) if shutil.which("oclgrind") else None
FAMILIES = sorted({tuple(mutants.tests_of(cl.name)) for cl in mutants.KERNELS.glob("*.cl")})

#: How many cases of each test: a simulated device is slow. `make test-full` takes all, 0.
SAMPLE = os.environ.get("OCLGRIND_SAMPLE", "1")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(ICD is None, reason="Oclgrind is not installed (apt-get install oclgrind)"),
]


def oclgrind(tests, log, *options):
    env = {
        **os.environ,
        "OCL_ICD_VENDORS": str(ICD),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_LOG": str(log),
        "OCLGRIND_MAX_ERRORS": "1000000",
        "OCLGRIND_SAMPLE": SAMPLE,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not deep and not large"]
    return subprocess.run(
        [*command, f"--oclgrind-log={log}", *options, *map(str, tests)],
        cwd=mutants.ROOT, env=env, capture_output=True, text=True, timeout=3600,
    )  # fmt: skip


@pytest.mark.parametrize("tests", some(FAMILIES, every=4), ids=" ".join)
def test_no_kernel_of_a_family_makes_oclgrind_report(tests, tmp_path):
    done = oclgrind(tests, tmp_path / "log")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    if SAMPLE != "0":
        return  # the few cases taken need not reach every kernel
    launched = set((tmp_path / "log.kernels").read_text().split())
    expected = {
        kernel
        for cl in mutants.KERNELS.glob("*.cl")
        if tests == tuple(mutants.tests_of(cl.name))
        for kernel in mutants.kernel_names(cl.read_text())
    }
    assert expected <= launched, f"never launched: {sorted(expected - launched)}"


def test_a_fault_is_blamed_on_the_test_that_made_it(tmp_path):
    """The watch itself: an access past the end fails its test and no other."""
    (tmp_path / "conftest.py").write_text((mutants.ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_fault.py").write_text(
        "import numpy as np, gpugrad as gg\n"
        "FAULT = '__kernel void fault(__global float *x, int i) { x[i] = 1; }'\n"
        "def run(i): gg.kernel(FAULT)(gg.Array.from_numpy(np.zeros(3, np.float32)), i, global_size=1, checked=False)\n"
        "def test_right(): run(2)\n"
        "def test_wrong(): run(3)\n"
        "def test_right_again(): run(2)\n"
    )
    done = oclgrind([tmp_path / "test_fault.py"], tmp_path / "log", f"--rootdir={tmp_path}", "-o", "markers=large")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    (failed,) = [line for line in done.stdout.split("\n") if line.startswith("FAILED")]
    assert "::test_wrong" in failed
    assert "Invalid write of size 4" in done.stdout
