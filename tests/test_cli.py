"""The command line as a whole; test_train.py and test_doctor.py go through its commands."""

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


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(doctor, "main", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])


def test_bench_lists_its_sections_when_a_name_is_wrong(capsys):
    assert cli.main(["bench", "nothing"]) == 1
    assert "steps" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["train", "--help"], ["--version"]])
def test_help_loads_no_device(arguments):
    code = f"import sys; from gpugrad.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += "print('pyopencl' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "False\n"
