"""`gpugrad lab` and `gpugrad course`: the lessons in a folder of one's own, and the table of progress."""

import json
import os
from pathlib import Path

import pytest

from gpugrad.cli import main
from gpugrad.course import lab, progress


def write(path, *sources, output=""):
    cells = [{"cell_type": "code", "source": [s], "outputs": [output]} for s in sources]
    path.write_text(json.dumps({"cells": cells}))


@pytest.fixture
def lessons(tmp_path):
    source = tmp_path / "shipped"
    source.mkdir()
    write(source / "00_a.ipynb", "1")
    write(source / "01_b.ipynb", "2")
    return source


@pytest.fixture
def copy(lessons, tmp_path):
    folder = tmp_path / "deep" / "own"
    assert lab.copy_lessons(lessons, folder) == []
    return folder


def test_the_first_time_every_lesson_is_copied(lessons, copy):
    assert sorted(p.name for p in copy.iterdir()) == [lab.RECORD, "00_a.ipynb", "01_b.ipynb"]


def test_a_changed_lesson_stays_the_students_and_a_newer_version_is_told(lessons, copy):
    write(copy / "00_a.ipynb", "1", "my answer")
    mine = (copy / "00_a.ipynb").read_text()
    assert lab.copy_lessons(lessons, copy) == []
    write(lessons / "00_a.ipynb", "1, better")
    (said,) = lab.copy_lessons(lessons, copy)
    assert said.startswith("00_a.ipynb has a newer version. Yours is kept")
    assert (copy / "00_a.ipynb").read_text() == mine


def test_a_lesson_that_was_only_run_is_brought_up_to_date(lessons, copy):
    write(copy / "00_a.ipynb", "1", output="it ran")
    write(lessons / "00_a.ipynb", "1, better")
    assert lab.copy_lessons(lessons, copy) == ["00_a.ipynb was brought up to date."]
    assert "better" in (copy / "00_a.ipynb").read_text()


def test_a_renamed_lesson_gets_a_fresh_one_beside_it(lessons, copy):
    (copy / "00_a.ipynb").rename(copy / "mine.ipynb")
    lab.copy_lessons(lessons, copy)
    assert (copy / "00_a.ipynb").exists() and (copy / "mine.ipynb").exists()


def test_a_broken_notebook_of_the_student_is_kept(lessons, copy):
    (copy / "00_a.ipynb").write_text("{")
    lab.copy_lessons(lessons, copy)
    assert (copy / "00_a.ipynb").read_text() == "{"


@pytest.mark.parametrize("broken", ["{", "[]", "\xff"])
def test_a_broken_record_overwrites_nothing_and_is_written_anew(lessons, copy, broken):
    write(copy / "00_a.ipynb", "1", "my answer")
    (copy / lab.RECORD).write_text(broken, encoding="latin-1")
    (said,) = lab.copy_lessons(lessons, copy)
    assert said.startswith("00_a.ipynb has a newer version")
    assert "my answer" in (copy / "00_a.ipynb").read_text()
    assert list(json.loads((copy / lab.RECORD).read_text())) == ["01_b.ipynb"]


def test_no_lessons_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no lessons"):
        lab.copy_lessons(tmp_path / "nowhere", tmp_path)


def test_lab_opens_the_first_lesson_in_the_folder_with_what_is_behind_two_dashes(tmp_path, monkeypatch, capsys):
    ran = []

    class Done:
        returncode = 0

    monkeypatch.setattr(lab.subprocess, "run", lambda command, **options: ran.append((command, options)) or Done)
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: True)
    assert main(["lab", "--folder", str(tmp_path / "own"), "--", "--no-browser"]) == 0
    ((command, options),) = ran
    assert command[1:] == ["-m", "jupyterlab", "00_first_kernel.ipynb", "--no-browser"]
    assert options["cwd"] == tmp_path / "own" and (tmp_path / "own" / command[3]).exists()
    assert options["env"] == lab.with_defaults(os.environ)
    assert "What you change there stays yours" in capsys.readouterr().out


@pytest.mark.parametrize("dashes", [[], ["--"]])
def test_what_lab_does_not_know_is_for_jupyterlab_in_its_order_with_two_dashes_before_it_or_without(
    monkeypatch, capsys, dashes
):
    given = []
    monkeypatch.setattr(lab, "open_lab", lambda *arguments: given.append(arguments) or 0)
    assert main(["lab", "--folder", "own", *dashes, "--no-browser", "--port", "9000", "--allow-root"]) == 0
    assert given == [(Path("own"), ["--no-browser", "--port", "9000", "--allow-root"], False)]
    with pytest.raises(SystemExit):
        main(["doctor", "--port"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --port\n")


def test_jupyterlab_takes_its_defaults_from_the_package_and_from_where_it_would_have_looked():
    assert lab.with_defaults({"A": "b"}) == {"A": "b", "JUPYTER_CONFIG_PATH": str(lab.DEFAULTS)}
    both = lab.with_defaults({"JUPYTER_CONFIG_PATH": "/own"})["JUPYTER_CONFIG_PATH"]
    assert both.split(os.pathsep) == ["/own", str(lab.DEFAULTS)]
    defaults = json.loads((lab.DEFAULTS / "labconfig" / "default_setting_overrides.json").read_text())
    asked = defaults["@jupyterlab/apputils-extension:notification"]
    assert asked == {"checkForUpdates": False, "fetchNews": "false"}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there is no root here")
@pytest.mark.parametrize(("user", "options", "said"), [(0, [], True), (0, ["--allow-root"], False), (1000, [], False)])
def test_root_is_told_how_jupyterlab_opens_for_it(tmp_path, monkeypatch, capsys, user, options, said):
    class Refused:
        returncode = 1

    monkeypatch.setattr(lab.subprocess, "run", lambda command, **options: Refused)
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(lab.os, "geteuid", lambda: user)
    assert main(["lab", "--folder", str(tmp_path / "own"), *options]) == 1
    assert ("gpugrad lab --allow-root" in capsys.readouterr().out) == said


def test_lab_without_jupyterlab_names_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    assert main(["lab", "--folder", str(tmp_path / "own")]) == 1
    assert "pip install 'gpugrad[lab]'" in capsys.readouterr().err
    assert main(["lab", "--folder", str(tmp_path / "own"), "--only-copy"]) == 0


def test_course_shows_the_table_of_a_folder(tmp_path, capsys):
    progress.note(tmp_path / progress.NAME, "00.1", [1024, 64, 128], right=True)
    assert main(["course", str(tmp_path)]) == 0
    assert "1 of 3" in capsys.readouterr().out
    assert main(["course", str(tmp_path / "nowhere")]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_course_finds_the_folder_that_lab_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUGRAD_PROGRESS", raising=False)
    assert main(["course"]) == 0 and "\n0 of " in capsys.readouterr().out
    (tmp_path / "gpugrad-lessons").mkdir()
    progress.note(tmp_path / "gpugrad-lessons" / progress.NAME, "00.1", [1024, 64, 128], right=True)
    assert main(["course"]) == 0 and "\n1 of " in capsys.readouterr().out
