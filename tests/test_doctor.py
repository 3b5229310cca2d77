"""`gpugrad doctor`: every diagnosis on a faked computer, and the visit on this one."""

import re
import subprocess
import sys

import pytest

from gpugrad import diagnoses, doctor
from gpugrad.diagnoses import Finding, Machine, Platform

POCL = Platform("Portable Computing Language", (("cpu", "pthread-CPU"),))
NVIDIA = Platform("NVIDIA CUDA", (("gpu", "NVIDIA H200"),))


# no driver


@pytest.mark.parametrize(
    "machine, fix",
    [
        (Machine(), "python -m pip install --force-reinstall pocl-binary-distribution"),
        (Machine(wsl=True), "python -m pip install --force-reinstall pocl-binary-distribution"),
        (Machine(colab=True, root=True), "python -m pip install --force-reinstall pocl-binary-distribution"),
        (Machine(cpu="aarch64"), "sudo apt-get install pocl-opencl-icd"),
        (Machine(cpu="aarch64", root=True), "apt-get install pocl-opencl-icd"),
        (Machine(conda=True), "conda install -c conda-forge pyopencl pocl"),
        (Machine("Darwin", "arm64", conda=True), "conda install -c conda-forge pyopencl pocl"),
        (Machine("Darwin", "arm64"), "conda env create -f environment.yml"),
        (Machine("Windows", "AMD64"), "conda env create -f environment.yml"),
    ],
)
def test_without_a_platform_the_fix_brings_a_driver_for_the_cpu_of_this_kind_of_computer(machine, fix):
    finding = diagnoses.no_platform([], machine)
    assert finding.fix == fix
    assert str(machine) in finding.problem


def test_with_a_platform_nothing_is_said_of_missing_ones():
    assert diagnoses.no_platform([POCL], Machine()) is None


def test_a_variable_that_hides_all_drivers_is_named_before_anything_is_installed():
    machine = Machine(variables={"OCL_ICD_VENDORS": "/gone"})
    finding = diagnoses.no_platform([], machine)
    assert "'/gone'" in finding.problem and finding.fix == "unset OCL_ICD_VENDORS"


@pytest.mark.parametrize(
    "machine, words",
    [
        (Machine(), "Linux computer (x86_64)"),
        (Machine(wsl=True), "WSL system"),
        (Machine(colab=True), "Colab machine"),
        (Machine("Darwin"), "Mac"),
        (Machine("Windows"), "Windows computer"),
    ],
)
def test_a_machine_is_called_what_its_owner_calls_it(machine, words):
    assert str(machine) == words


def test_commands_quote_a_python_whose_path_has_spaces():
    assert Machine(python="/my env/python").pip("x") == "'/my env/python' -m pip install x"


# drivers without devices


def test_a_driver_without_its_hardware_does_no_harm():
    finding = diagnoses.platform_without_device(Platform("Intel(R) OpenCL Graphics"), Machine())
    assert finding.fix is None and "no harm" in finding.problem
    assert diagnoses.platform_without_device(POCL, Machine()) is None


def test_a_gpu_that_this_user_may_not_open_is_fixed_by_a_group():
    finding = diagnoses.platform_without_device(Platform("AMD"), Machine(gpu_files_closed=True))
    assert finding.fix == "sudo usermod -aG render,video $USER"


def test_an_nvidia_driver_without_a_device_points_to_its_own_diagnosis():
    assert diagnoses.platform_without_device(Platform("NVIDIA CUDA"), Machine()).fix == "nvidia-smi"


def test_when_no_driver_gives_a_device_the_cpu_is_offered():
    finding = diagnoses.no_device([Platform("NVIDIA CUDA")], Machine())
    assert "pocl-binary-distribution" in finding.fix
    assert diagnoses.no_device([Platform("NVIDIA CUDA"), POCL], Machine()) is None
    assert diagnoses.no_device([], Machine()) is None  # no_platform speaks of that


# NVIDIA's GPU, unknown to OpenCL


@pytest.mark.parametrize("colab", [False, True])
def test_an_nvidia_gpu_without_an_icd_file_gets_one(colab):
    machine = Machine(nvidia_gpu=True, nvidia_opencl=True, colab=colab, root=colab)
    finding = diagnoses.nvidia_unregistered([POCL], machine)
    assert finding.fix.endswith("echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd'")
    assert finding.fix.startswith("sh -c" if colab else "sudo sh -c")


def test_the_icd_command_runs_and_writes_what_the_loader_reads(tmp_path):
    finding = diagnoses.nvidia_unregistered([], Machine(nvidia_gpu=True, nvidia_opencl=True, root=True))
    command = finding.fix.replace("/etc/OpenCL", str(tmp_path / "OpenCL"))
    subprocess.run(command, shell=True, check=True)
    assert (tmp_path / "OpenCL/vendors/nvidia.icd").read_text() == "libnvidia-opencl.so.1\n"


def test_an_nvidia_gpu_without_the_opencl_library_gets_the_package():
    finding = diagnoses.nvidia_unregistered([POCL], Machine(nvidia_gpu=True))
    assert finding.fix == "sudo apt-get install nvidia-opencl-icd"


def test_nvidia_inside_wsl_is_explained_and_asks_for_nothing():
    finding = diagnoses.nvidia_unregistered([POCL], Machine(nvidia_gpu=True, wsl=True))
    assert finding.fix is None and "WSL" in finding.problem


@pytest.mark.parametrize(
    "platforms, machine",
    [
        ([NVIDIA], Machine(nvidia_gpu=True, nvidia_opencl=True)),
        ([POCL], Machine(nvidia_opencl=True)),
        ([POCL], Machine("Windows", nvidia_gpu=True)),
        ([POCL], Machine(nvidia_gpu=True, nvidia_opencl=True, drivers=("nvidia.icd",))),
    ],
)
def test_nothing_is_said_of_nvidia_when_it_is_seen_absent_or_registered(platforms, machine):
    assert diagnoses.nvidia_unregistered(platforms, machine) is None


def test_conda_that_hides_the_systems_drivers_is_told_to_look_there():
    machine = Machine(conda=True, drivers=("intel.icd", "nvidia.icd", "pocl.icd"))
    finding = diagnoses.system_drivers_hidden([POCL, Platform("Intel(R) OpenCL")], machine)
    assert finding == Finding(
        "conda's OpenCL does not see the system's drivers (nvidia.icd)",
        "conda install -c conda-forge ocl-icd-system",
    )
    assert diagnoses.system_drivers_hidden([NVIDIA], Machine(conda=True, drivers=("nvidia.icd",))) is None
    assert diagnoses.system_drivers_hidden([POCL], Machine(drivers=("nvidia.icd",))) is None


# imports


def test_files_that_shadow_an_import_are_named_and_moved():
    machine = Machine(folder_modules=frozenset({"numpy", "random", "pyopencl", "train", "test"}))
    findings = diagnoses.shadowed_imports(machine)
    assert [f.fix for f in findings] == [f"mv {n}.py my_{n}.py" for n in ("numpy", "pyopencl", "random")]
    assert "the package numpy" in findings[0].problem and "Python itself" in findings[2].problem
    windows = Machine("Windows", folder_modules=frozenset({"numpy"}))
    assert diagnoses.shadowed_imports(windows)[0].fix == "ren numpy.py my_numpy.py"


def test_modules_in_a_folder_are_its_files_and_packages_but_not_gpugrad_itself(tmp_path):
    (tmp_path / "numpy.py").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "tqdm").mkdir()
    (tmp_path / "tqdm/__init__.py").touch()
    assert doctor.modules_in(tmp_path) == {"numpy", "tqdm"}
    assert "gpugrad" not in doctor.modules_in(doctor.Path(doctor.__file__).parent.parent)


@pytest.mark.parametrize(
    "error, fix",
    [
        (ModuleNotFoundError("No module named 'pyopencl'", name="pyopencl"), "pip install pyopencl"),
        (ModuleNotFoundError("No module named 'pytools'", name="pytools"), "pip install pytools"),
        (ImportError("libOpenCL.so.1: cannot open shared object file"), "conda env create"),
        (ImportError("DLL load failed while importing _cl"), "conda env create"),
        (ImportError("numpy.core.multiarray failed to import"), "--force-reinstall --no-cache-dir numpy"),
        (ModuleNotFoundError("No module named 'pyopencl._cl'", name="pyopencl._cl"), "--force-reinstall"),
    ],
)
def test_a_failed_import_of_pyopencl_has_its_fix(error, fix):
    assert fix in diagnoses.import_failure(error, Machine()).fix


# devices that fail


@pytest.mark.parametrize(
    "status, said, words",
    [
        (None, "", "does not finish"),
        (-11, "", "crashes the process (status -11)"),
        (0xC0000005, "", "crashes the process"),
        (1, "Traceback ...\nArithmeticError: 3 of 9 elements", "fails: ArithmeticError: 3 of 9 elements"),
        (1, "", "fails: status 1"),
    ],
)
def test_a_device_that_fails_is_said_to_fail_in_its_way(status, said, words):
    finding = diagnoses.device_failed("GPU (Vendor)", status, said, Machine())
    assert words in finding.problem and finding.fix == "export GPUGRAD_DEVICE=cpu"


def test_pocl_that_fails_is_mended_by_its_own_settings_first_and_its_cache_next():
    name = "pthread (Portable Computing Language)"
    assert diagnoses.device_failed(name, -6, "", Machine()).fix == "rm -rf ~/.cache/pocl"
    machine = Machine(variables={"POCL_WORK_GROUP_METHOD": "x", "GPUGRAD_DEVICE": "cpu"})
    assert diagnoses.device_failed(name, -6, "", machine).fix == "unset POCL_WORK_GROUP_METHOD"


@pytest.mark.parametrize("name", ["GPU (Vendor)", "pthread (Portable Computing Language)"])
@pytest.mark.parametrize(("variable", "value"), [("GPUGRAD_SYNC", "x"), ("GPUGRAD_MEMORY_LIMIT", "1KB")])
def test_a_variable_of_gpugrad_s_own_is_not_blamed_on_the_driver(monkeypatch, name, variable, value):
    monkeypatch.setenv(variable, value)
    status, said = doctor.try_device(0)
    finding = diagnoses.device_failed(name, status, said, Machine(variables={variable: value}))
    assert variable in finding.problem and finding.problem[-1] != "."
    assert finding.fix == f"unset {variable}"


def test_a_device_that_hangs_or_crashes_does_not_take_the_doctor_with_it(monkeypatch):
    def python(code):
        monkeypatch.setattr(doctor, "_COMMAND", (sys.executable, "-c", code))
        return doctor.try_device(0)

    assert python("import os; os.abort()")[0] not in (0, None)
    assert python("raise ArithmeticError('wrong')")[1].endswith("ArithmeticError: wrong")
    assert python("import sys; print('works', sys.argv[1])") == (0, "works 0")
    monkeypatch.setattr(doctor, "_TIMEOUT", 1)
    assert python("import time; time.sleep(600)") == (None, "")


def test_a_wrong_gpugrad_device_is_unset():
    assert diagnoses.wrong_choice(None, Machine()) is None
    finding = diagnoses.wrong_choice(ValueError("GPUGRAD_DEVICE is 'x'"), Machine())
    assert finding == Finding("GPUGRAD_DEVICE is 'x'", "unset GPUGRAD_DEVICE")


# the visit


def run_doctor(monkeypatch, found, **machine):
    monkeypatch.setattr(doctor, "look", lambda: Machine(**machine))
    monkeypatch.setattr(doctor, "platforms", found)
    return doctor.main()


def test_doctor_without_pyopencl_names_the_one_command(monkeypatch, capsys):
    def none():
        raise ModuleNotFoundError("No module named 'pyopencl'", name="pyopencl")

    assert run_doctor(monkeypatch, none) == 1
    out = capsys.readouterr().out
    assert "Pyopencl is not installed.\n  Mend it by: python -m pip install pyopencl\n" in out
    assert out.endswith("No device works.\n")


def test_doctor_in_colab_writes_commands_for_a_cell(monkeypatch, capsys):
    assert run_doctor(monkeypatch, list, colab=True, root=True) == 1
    assert "  In a cell: !python -m pip install" in capsys.readouterr().out


def test_doctor_ends_well_when_one_device_of_two_works(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "try_device", lambda n: (0, "works") if n == 1 else (-11, ""))
    monkeypatch.setattr(doctor, "_error_of_choice", lambda: None)
    assert run_doctor(monkeypatch, lambda: [NVIDIA, POCL]) == 0
    out = capsys.readouterr().out
    assert "0: gpu, NVIDIA H200 (NVIDIA CUDA)\n     does not work\n" in out
    assert "1: cpu, pthread-CPU (Portable Computing Language)\n     works\n" in out
    assert "export GPUGRAD_DEVICE=cpu" in out


def test_looking_at_this_computer_gives_facts():
    machine = doctor.look()
    assert machine.python == sys.executable and machine.system in ("Linux", "Darwin", "Windows")


def test_the_product_of_the_check_is_right_on_each_device(device):
    assert re.match(r"works: a matrix product is right, in \d+\.\d\d s", doctor.multiply_on(device.number))


def test_a_wrong_product_is_reported(monkeypatch):
    import numpy as np

    import gpugrad as gg

    class Wrong:
        def __matmul__(self, other):
            return self

        def numpy(self):
            return np.zeros((33, 33))

    monkeypatch.setattr(gg, "tensor", lambda a: Wrong())
    with pytest.raises(ArithmeticError, match="of 1089 elements of a matrix product are wrong"):
        doctor.multiply_on(gg.current_device().number)


@pytest.mark.skipif(sys.platform != "linux", reason="other loaders do not read this variable")
def test_the_command_says_which_variable_hides_the_drivers(monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/gone.icd")
    command = [sys.executable, "-m", "gpugrad.cli", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Mend it by: unset OCL_ICD_VENDORS" in done.stdout
    assert done.stderr == ""
