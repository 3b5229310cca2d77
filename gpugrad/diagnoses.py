"""What can be wrong with a computer's OpenCL, and the one command that mends each.

A diagnosis is a small function of a Machine (the facts; `doctor.look()` gathers them) that gives a Finding or
None, so that each can be tested without the computer it speaks of.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

PACKAGES = ("numpy", "pyopencl", "matplotlib", "safetensors", "pooch", "tqdm", "torch", "gpugrad")


@dataclass(frozen=True)
class Finding:
    """A problem in a sentence, and the one command that mends it (None: nothing can or need be done)."""

    problem: str
    fix: str | None


@dataclass(frozen=True)
class Platform:
    """An OpenCL platform (a driver), and its devices as (kind, name)."""

    name: str
    devices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Machine:
    """The facts that the diagnoses rest on."""

    system: str = "Linux"  # as platform.system() says: Linux, Darwin, Windows
    cpu: str = "x86_64"
    wsl: bool = False
    colab: bool = False
    conda: bool = False
    root: bool = False
    python: str = "python"
    folder_modules: frozenset[str] = frozenset()  # what Python would import from the current folder
    drivers: tuple[str, ...] = ()  # the files in /etc/OpenCL/vendors
    nvidia_gpu: bool = False
    nvidia_opencl: bool = False  # libnvidia-opencl.so.1 is there
    gpu_files_closed: bool = False  # a GPU's file in /dev/dri is there, and this user may not open it
    variables: dict[str, str] = field(default_factory=dict)

    def pip(self, packages: str) -> str:
        return f"{shlex.quote(self.python)} -m pip install {packages}"

    def sudo(self, command: str) -> str:
        return command if self.root else f"sudo {command}"

    def unset(self, variable: str) -> str:
        return f"set {variable}=" if self.system == "Windows" else f"unset {variable}"

    def cpu_driver(self) -> str:
        """The command that brings OpenCL on the CPU."""
        if self.system == "Linux" and not self.conda:
            # PoCL's wheel exists for this processor only
            if self.cpu == "x86_64":
                return self.pip("--force-reinstall pocl-binary-distribution")
            return self.sudo("apt-get install pocl-opencl-icd")
        return self.conda_command()

    def conda_command(self) -> str:
        if self.conda:
            return "conda install -c conda-forge pyopencl pocl"
        return "conda env create -f environment.yml"

    def __str__(self) -> str:
        if self.colab:
            return "Colab machine"
        if self.wsl:
            return "WSL system"
        others = {"Darwin": "Mac", "Windows": "Windows computer"}
        return others.get(self.system, f"Linux computer ({self.cpu})")


def shadowed_imports(machine: Machine) -> list[Finding]:
    """Files in the current folder that take the name of a module which gpugrad needs."""
    move = "ren" if machine.system == "Windows" else "mv"
    return [
        Finding(
            f"{name}.py in the current folder hides "
            f"{'a module of Python itself' if name in sys.stdlib_module_names else f'the package {name}'} "
            "from scripts and notebooks there",
            f"{move} {name}.py my_{name}.py",
        )
        for name in sorted(machine.folder_modules & (sys.stdlib_module_names | set(PACKAGES)))
    ]


def import_failure(error: ImportError, machine: Machine) -> Finding:
    """Why pyopencl cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name == "pyopencl":
        return Finding("pyopencl is not installed", machine.pip("pyopencl"))
    if isinstance(error, ModuleNotFoundError) and error.name and "." not in error.name:
        return Finding(f"{error.name}, which pyopencl needs, is not installed", machine.pip(error.name))
    if any(name in str(error) for name in ("libOpenCL", "OpenCL.dll", "DLL load failed")):
        return Finding(f"pyopencl does not find an OpenCL library ({error})", machine.conda_command())
    again = machine.pip("--force-reinstall --no-cache-dir numpy pyopencl")
    return Finding(f"pyopencl cannot be imported ({error})", again)


def no_platform(platforms: Sequence[Platform], machine: Machine) -> Finding | None:
    """No OpenCL driver at all."""
    if platforms:
        return None
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"):
        if name in machine.variables:
            return Finding(
                f"no OpenCL platform: {name} is {machine.variables[name]!r}, and drivers are looked for there alone",
                machine.unset(name),
            )
    return Finding(f"no OpenCL platform: this {machine} has no OpenCL driver", machine.cpu_driver())


def platform_without_device(found: Platform, machine: Machine) -> Finding | None:
    """A driver is installed, and gives no device."""
    if found.devices:
        return None
    if machine.gpu_files_closed:
        return Finding(
            f"{found.name} has no device: this user may not open the GPU's files in /dev/dri (after the "
            "command, log in again)",
            machine.sudo("usermod -aG render,video $USER"),
        )
    if "nvidia" in found.name.lower():
        return Finding(f"{found.name} has no device: its kernel driver does not answer", "nvidia-smi")
    return Finding(f"{found.name} has no device: its hardware is not in this computer; it does no harm", None)


def no_device(platforms: Sequence[Platform], machine: Machine) -> Finding | None:
    """Drivers are there, and none gives a device."""
    if not platforms or any(p.devices for p in platforms):
        return None
    return Finding("no driver gives a device; PoCL would give this computer's CPU", machine.cpu_driver())


def nvidia_unregistered(platforms: Iterable[Platform], machine: Machine) -> Finding | None:
    """NVIDIA's GPU is there, and OpenCL does not know of it."""
    seen = any("nvidia" in p.name.lower() for p in platforms)
    if seen or not machine.nvidia_gpu or machine.system != "Linux":
        return None
    if machine.wsl:
        return Finding(
            "NVIDIA's driver offers no OpenCL inside WSL, so the CPU is used; gpugrad installed in Windows "
            "itself can use the GPU",
            None,
        )
    if not machine.nvidia_opencl:
        return Finding(
            "an NVIDIA GPU is there, and the OpenCL part of its driver, libnvidia-opencl.so.1, is not",
            machine.sudo("apt-get install nvidia-opencl-icd"),
        )
    if "nvidia.icd" in machine.drivers:
        return None  # registered; system_drivers_hidden says why it is not seen
    folder = "/etc/OpenCL/vendors"
    return Finding(
        f"this {machine} has an NVIDIA GPU, and no file in {folder} tells OpenCL of its driver",
        machine.sudo(f"sh -c 'mkdir -p {folder} && echo libnvidia-opencl.so.1 > {folder}/nvidia.icd'"),
    )


def system_drivers_hidden(platforms: Iterable[Platform], machine: Machine) -> Finding | None:
    """conda's OpenCL loader looks for drivers in conda's own folder, not in the system's."""
    seen = " ".join(p.name.lower() for p in platforms)
    hidden = [d for d in machine.drivers if any(v in d and v not in seen for v in ("nvidia", "intel", "amd"))]
    if not (machine.conda and machine.system == "Linux" and hidden):
        return None
    return Finding(
        f"conda's OpenCL does not see the system's drivers ({', '.join(hidden)})",
        "conda install -c conda-forge ocl-icd-system",
    )


def wrong_choice(error: ValueError | None, machine: Machine) -> Finding | None:
    """GPUGRAD_DEVICE asks for a device that is not there: `error` is what gpugrad says of it."""
    return None if error is None else Finding(str(error), machine.unset("GPUGRAD_DEVICE"))


def device_failed(device: str, status: int | None, said: str, machine: Machine) -> Finding:
    """A kernel ran in a process of its own, and did not come back with the right result.

    status: what the process ended with, None if it was ended for taking too long; said: what it printed.
    """
    if status is None:
        how = "does not finish: the driver hangs"
    elif status < 0 or status >= 0xC0000000:  # a signal, or an NTSTATUS of Windows
        how = f"crashes the process (status {status})"
    else:
        how = f"fails: {said.strip().splitlines()[-1] if said.strip() else f'status {status}'}"
    problem = f"on {device}, a small kernel {how.rstrip('.')}"
    ours = [name for name in sorted(machine.variables) if name.startswith("GPUGRAD_") and name in how]
    if ours:
        return Finding(problem, machine.unset(ours[0]))
    settings = sorted(name for name in machine.variables if name.startswith("POCL_"))
    if "portable computing" not in device.lower():
        choose = "set" if machine.system == "Windows" else "export"
        return Finding(f"{problem}; until its driver is updated, use the CPU", f"{choose} GPUGRAD_DEVICE=cpu")
    if settings:
        return Finding(f"{problem}; {settings[0]} is set", machine.unset(settings[0]))
    return Finding(f"{problem}; PoCL's cache of built kernels may be damaged", "rm -rf ~/.cache/pocl")
