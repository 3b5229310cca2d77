"""The command line as a whole; test_train.py and test_doctor.py go through its commands."""

import os
import subprocess
import sys

import pytest

from gpugrad import cli, doctor
from gpugrad.errors import NoDeviceError


@pytest.mark.parametrize("arguments", [[], ["tarin"], ["train", "--epochs", "many"], ["train", "--wat"]])
def test_wrong_usage_ends_with_2_and_shows_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: gpugrad")


def test_a_terminal_that_knows_ascii_alone_is_no_error():
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-m", "gpugrad", "course"], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "??" in done.stdout and "exercises are solved." in done.stdout


def test_python_m_gpugrad_is_the_command():
    done = subprocess.run([sys.executable, "-m", "gpugrad", "tarin"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("usage: gpugrad")
    done = subprocess.run([sys.executable, "-m", "gpugrad", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "gpugrad")


@pytest.mark.parametrize("command", ["train", "doctor", "bench"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([command, "--help"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: gpugrad {command}")


@pytest.mark.parametrize("error", [NoDeviceError("no driver"), ValueError("no driver"), OSError("no driver")])
def test_an_error_is_a_sentence_on_stderr_and_status_1(monkeypatch, capsys, error):
    def fail():
        raise error

    monkeypatch.setattr(doctor, "main", fail)
    assert cli.main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "gpugrad doctor: no driver\n" and captured.out == ""


def test_ctrl_c_ends_any_command_with_130(monkeypatch, capsys):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "main", stop)
    assert cli.main(["doctor"]) == 130
    assert "stopped" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows tells of a closed pipe in another way")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_goes_away_ends_a_command_without_a_word(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "gpugrad", "course"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=env)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(doctor, "main", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])


def test_bench_lists_its_sections_when_a_name_is_wrong(capsys):
    assert cli.main(["bench", "nothing"]) == 1
    assert "steps" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["bench", "train"])
def test_an_empty_device_as_of_a_variable_that_is_not_set_is_told(command, capsys):
    assert cli.main([command, "--device", ""]) == 1
    assert f"gpugrad {command}: --device is empty; give gpu, cpu," in capsys.readouterr().err


def test_python_is_timed_without_the_driver_which_is_then_put_back(device):
    import gpugrad as gg
    from gpugrad.bench import _no_enqueue

    x, y = gg.ones(3), gg.zeros(3)
    with _no_enqueue():
        y.add_(x)
    assert y.tolist() == [0, 0, 0], "nothing reached the device"
    y.add_(x)
    assert y.tolist() == [1, 1, 1]


def test_the_bench_times_the_training_script(device, monkeypatch):
    from gpugrad import bench, data

    digits = data.mnist(source="subset")
    few = data.ImageDataset(digits.images[:130], digits.labels[:130], "a few")
    monkeypatch.setattr(bench.data, "mnist", lambda source: few)
    (row,) = bench.trainings(device, None, rounds=1)  # beside nothing: two libraries on few cores take turns for long
    assert row.name == "course CNN, 1 epoch of 130 digits"
    assert all(cell.endswith(" s") and float(cell[:-2]) > 0 for cell in row.cells())


@pytest.mark.parametrize("arguments", [["train", "--help"], ["--version"]])
def test_help_loads_no_device(arguments):
    code = f"import sys; from gpugrad.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += "print('pyopencl' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "False\n"
