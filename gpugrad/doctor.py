"""`gpugrad doctor`: which OpenCL devices there are, whether each computes, and what mends what is wrong."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import __version__, diagnoses
from .diagnoses import Finding, Machine, Platform

_TIMEOUT = 120  # seconds for one device to build and run a kernel
_COMMAND = (sys.executable, "-m", "gpugrad.doctor")  # runs one, see the end of this file


def look() -> Machine:
    """The facts about this computer."""
    system = platform.system()
    wsl = system == "Linux" and "microsoft" in platform.release().lower()
    nvidia = "/usr/lib/wsl/lib/libcuda.so.1" if wsl else "/proc/driver/nvidia/version"
    gpu_files = list(Path("/dev/dri").glob("renderD*"))
    return Machine(
        system=system,
        cpu=platform.machine(),
        wsl=wsl,
        colab="COLAB_RELEASE_TAG" in os.environ,
        conda=(Path(sys.prefix) / "conda-meta").is_dir(),
        root=hasattr(os, "geteuid") and os.geteuid() == 0,
        python=sys.executable,
        folder_modules=modules_in(Path.cwd()),
        drivers=tuple(sorted(p.name for p in Path("/etc/OpenCL/vendors").glob("*.icd"))),
        nvidia_gpu=Path(nvidia).exists(),
        nvidia_opencl=system == "Linux" and _can_load("libnvidia-opencl.so.1"),
        gpu_files_closed=bool(gpu_files) and not any(os.access(p, os.R_OK | os.W_OK) for p in gpu_files),
        variables={
            name: value
            for name, value in os.environ.items()
            if name.startswith(("GPUGRAD_", "OCL_", "OPENCL_", "POCL_"))
        },
    )


def modules_in(folder: Path) -> frozenset[str]:
    """The modules that Python would import from `folder` before the installed ones, this package apart."""
    packages = {p.parent for p in folder.glob("*/__init__.py")} - {Path(__file__).parent}
    return frozenset(p.stem for p in folder.glob("*.py")) | frozenset(p.name for p in packages)


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def platforms() -> list[Platform]:
    """Every OpenCL platform and its devices; none where there is no driver. ImportError without pyopencl."""
    import pyopencl as cl

    kinds = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
    try:
        found = cl.get_platforms()
    except cl.Error:
        return []
    result = []
    for driver in found:
        try:
            devices = driver.get_devices()
        except cl.Error:  # how OpenCL says that there are none
            devices = []
        named = tuple((kinds.get(d.type, "accelerator"), d.name.strip()) for d in devices)
        result.append(Platform(driver.name.strip(), named))
    return result


def try_device(number: int) -> tuple[int | None, str]:
    """Multiply matrices on a device in a process of its own, as a bad driver may crash it or hang.

    Returns the process's status, None if it took too long, and what it printed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "GPUGRAD_DEVICE"}
    command = [*_COMMAND, str(number)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, env=environment)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip()


def multiply_on(number: int) -> str:
    """Multiply a 33 x 17 and a 17 x 33 matrix on a device; ArithmeticError if NumPy gets something else."""
    import numpy as np

    import gpugrad as gg

    random = np.random.RandomState(0)
    a, b = random.randint(-8, 9, (33, 17)), random.randint(-8, 9, (17, 33))
    start = time.perf_counter()
    with gg.use_device(number):
        product = (gg.tensor(a.astype(np.float32)) @ gg.tensor(b.astype(np.float32))).numpy()
    wrong = int((product != a @ b).sum())  # small integers are exact in float32
    if wrong:
        raise ArithmeticError(f"{wrong} of {product.size} elements of a matrix product are wrong")
    took = time.perf_counter() - start
    return f"works: a matrix product is right, in {took:.2f} s with building its kernel"


def visit(machine: Machine) -> tuple[int, list[Finding]]:
    """Print each device and how it did. Returns how many work, and what was found."""
    findings = diagnoses.shadowed_imports(machine)
    try:
        found = platforms()
    except ImportError as error:
        return 0, [*findings, diagnoses.import_failure(error, machine)]
    working = 0
    listed = [(driver.name, kind, name) for driver in found for kind, name in driver.devices]
    for number, (driver_name, kind, name) in enumerate(listed):
        status, said = try_device(number)
        print(f"  {number}: {kind}, {name} ({driver_name})")
        print(f"     {said if status == 0 else 'does not work'}")
        if status == 0:
            working += 1
        else:
            findings.append(diagnoses.device_failed(f"{name} ({driver_name})", status, said, machine))
    about_drivers = [
        diagnoses.no_platform(found, machine),
        *(diagnoses.platform_without_device(driver, machine) for driver in found),
        diagnoses.no_device(found, machine),
        diagnoses.nvidia_unregistered(found, machine),
        diagnoses.system_drivers_hidden(found, machine),
        diagnoses.wrong_choice(_error_of_choice() if listed else None, machine),
    ]
    return working, findings + [finding for finding in about_drivers if finding]


def _error_of_choice() -> ValueError | None:
    from .device import current_device

    try:
        print(f"\ngpugrad uses {current_device()}.")
    except ValueError as error:
        return error
    return None


def main() -> int:
    """Print the devices, and each problem with the command that mends it. Returns 0 if a device works."""
    machine = look()
    versions = f"Python {platform.python_version()}, {_version('numpy')}, {_version('pyopencl')}"
    print(f"gpugrad {__version__} on a {machine}; {versions}\n")
    working, findings = visit(machine)
    for finding in findings:
        print(f"\n{finding.problem[0].upper()}{finding.problem[1:]}.")
        if finding.fix:
            print(f"  {'In a cell: !' if machine.colab else 'Mend it by: '}{finding.fix}")
    if not working:
        print("\nNo device works.")
    return 0 if working else 1


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


if __name__ == "__main__":
    print(multiply_on(int(sys.argv[1])))
