"""The buttons for Binder and Colab, and the cell that sets a Colab machine up, run on files of the test's."""

import contextlib
import errno
import importlib.util
import io
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

nbformat = pytest.importorskip("nbformat", reason="reads the lessons")
ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "https://github.com/ada/gpugrad-course"


def load():
    spec = importlib.util.spec_from_file_location("buttons", ROOT / "tools" / "buttons.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load()


@pytest.fixture
def copy(tmp_path):
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=lambda _, names: [n for n in names if n > "02"])
    return tmp_path


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_buttons_lead_to_lesson_00_of_the_given_repository(copy):
    tool.write(copy, ADDRESS)
    first = nbformat.read(copy / "notebooks" / "00_first_kernel.ipynb", as_version=4).cells[0].source
    for text in ((copy / "README.md").read_text(encoding="utf-8"), first):
        assert "](https://mybinder.org/v2/gh/ada/gpugrad-course/HEAD?urlpath=lab/tree/notebooks/00_first_" in text
        assert "](https://colab.research.google.com/github/ada/gpugrad-course/blob/HEAD/colab/00_first_" in text
    assert f'[project.urls]\nRepository = "{ADDRESS}"\n' in (copy / "pyproject.toml").read_text(encoding="utf-8")


def test_writing_again_changes_nothing_and_another_address_replaces_the_first(copy):
    tool.write(copy, ADDRESS)
    once = contents(copy)
    tool.write(copy, ADDRESS)
    assert contents(copy) == once
    tool.write(copy, ADDRESS.replace("ada", "bob"))
    assert not any(b"ada/gpugrad" in found for found in contents(copy).values())
    tool.write(copy, ADDRESS)
    assert contents(copy) == once


def test_a_lesson_for_colab_is_the_lesson_with_the_cell_in_front_and_no_output(copy):
    tool.write(copy, ADDRESS)
    for name in ("00_first_kernel.ipynb", "01_elementwise.ipynb"):
        own = nbformat.read(copy / "colab" / name, as_version=4)
        nbformat.validate(own)
        lesson = nbformat.read(copy / "notebooks" / name, as_version=4)
        assert f'ADDRESS = "{ADDRESS}"' in own.cells[0].source
        assert [c.source for c in own.cells[2:]] == [c.source for c in lesson.cells[1:]]
        assert not any(c.get("outputs") for c in own.cells)
        assert "mybinder" not in own.cells[1].source and own.cells[1].source.startswith("# 0")


def test_the_repository_holds_what_the_tool_writes_and_no_button_without_an_address(copy):
    address = tool.known((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if address:
        shutil.copytree(ROOT / "notebooks", copy / "notebooks", dirs_exist_ok=True)
        before = contents(copy)
        tool.write(copy, address)
        after = contents(copy)
        assert {k: after[k] for k in before} == before
        assert contents(copy / "colab") == contents(ROOT / "colab")
    else:
        assert f"{tool.BEGIN}\n{tool.END}" in (ROOT / "README.md").read_text(encoding="utf-8")
        assert not (ROOT / "colab").exists()


@pytest.mark.parametrize("address", [None, "https://gitlab.com/a/b", "github.com/a/b", tool.NO_ADDRESS])
def test_what_is_no_repository_on_github_is_refused(monkeypatch, capsys, address):
    monkeypatch.setattr(tool, "known", lambda pyproject: None)
    monkeypatch.setattr(tool, "write", lambda root, address: pytest.fail("it wrote"))
    with pytest.raises(SystemExit) as end:
        tool.main([address] if address else [])
    assert end.value.code == 2
    assert ("no address is known" if address is None else "not the address of a repository") in capsys.readouterr().err


def test_an_address_as_git_prints_it_is_taken_too(monkeypatch):
    given = []
    monkeypatch.setattr(tool, "write", lambda root, address: given.append(address))
    assert tool.main([f"{ADDRESS}.git/"]) == 0 and tool.main([f"{ADDRESS}/"]) == 0
    assert given == [ADDRESS, ADDRESS]


def test_binder_gets_gpugrad_and_jupyterlab_from_environment_yml():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert re.search(r"^  - jupyterlab$", text, re.M) and re.search(r"^      - -e \.$", text, re.M)
    assert not (ROOT / "binder").exists() and not (ROOT / ".binder").exists()  # Binder would read that instead


# the cell


def run_cell(folder, monkeypatch, library=True):
    """Run it in `folder`, which stands for the machine: /etc is in it, and no command runs. Gives commands, output."""
    commands = []

    def run(command, **options):
        commands.append(command)
        if command[0] == "git":
            (folder / command[-1]).mkdir()
        return SimpleNamespace(stdout="the doctor's words")

    def open_library(name):
        assert name == "libnvidia-opencl.so.1"
        if not library:
            raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.chdir(folder)
    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("ctypes.CDLL", open_library)
    cell = (ROOT / "tools" / "colab_cell.py").read_text(encoding="utf-8")
    assert cell.count('"/etc/') == 1
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(cell.replace('"/etc/', f'"{folder}/etc/'), "cell", "exec"), {})
    return commands, said.getvalue()


def test_the_cell_installs_the_clone_names_the_gpus_driver_and_asks_the_doctor(tmp_path, monkeypatch):
    commands, said = run_cell(tmp_path, monkeypatch)
    clone, install, doctor = commands
    assert clone[:2] == ["git", "clone"] and clone[-2] == tool.NO_ADDRESS
    assert install[1:4] == ["-m", "pip", "install"] and f"./{clone[-1]}" in install
    assert doctor[1:] == ["-m", "gpugrad", "doctor"]
    assert (tmp_path / "etc/OpenCL/vendors/nvidia.icd").read_text() == "libnvidia-opencl.so.1\n"
    assert said == "the doctor's words\n"


def test_the_cell_can_be_run_again_and_leaves_a_driver_that_is_named_already(tmp_path, monkeypatch):
    named = tmp_path / "etc/OpenCL/vendors/nvidia.icd"
    named.parent.mkdir(parents=True)
    named.write_text("/opt/libnvidia-opencl.so.1\n")
    for expected in (3, 2):  # the second time the clone is there
        assert len(run_cell(tmp_path, monkeypatch)[0]) == expected
        assert named.read_text() == "/opt/libnvidia-opencl.so.1\n"


def test_without_a_gpu_the_cell_says_so_and_names_no_driver(tmp_path, monkeypatch):
    commands, said = run_cell(tmp_path, monkeypatch, library=False)
    assert len(commands) == 3 and said.startswith("There is no GPU here")
    assert not (tmp_path / "etc").exists()


def test_a_full_disk_leaves_every_file_as_it_was_or_whole(copy, monkeypatch):
    first = copy / "notebooks" / "00_first_kernel.ipynb"
    before = contents(copy)

    def full(opened):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tool.write(copy, ADDRESS)
    assert contents(copy) == before and nbformat.read(first, as_version=4).cells
