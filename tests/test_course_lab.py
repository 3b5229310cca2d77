"""`gpugrad lab` and `gpugrad course`: the lessons in a folder of one's own, and the table of progress."""

import io
import json
import os
import signal
import subprocess
import sys
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


@pytest.mark.parametrize("broken", ["[" * 100_000, '{"cells": 3}', '{"cells": [{}]}', ""], ids=range(4))
def test_a_notebook_or_a_record_that_no_reader_gets_through_is_kept(lessons, copy, broken):
    (copy / "00_a.ipynb").write_text(broken)
    (copy / lab.RECORD).write_text(broken)
    lab.copy_lessons(lessons, copy)
    assert (copy / "00_a.ipynb").read_text() == broken


def test_a_folder_in_the_place_of_a_lesson_is_told_and_the_others_come(lessons, copy):
    (copy / "00_a.ipynb").unlink()
    (copy / "00_a.ipynb").mkdir()
    (copy / "01_b.ipynb").unlink()
    (said,) = lab.copy_lessons(lessons, copy)
    assert said == f"{copy / '00_a.ipynb'} is a folder, a pipe or a device; move it away to get the lesson."
    assert (copy / "01_b.ipynb").is_file()


def test_who_is_stopped_in_the_middle_has_whole_lessons_and_a_record_of_them(lessons, copy, monkeypatch):
    write(lessons / "00_a.ipynb", "1, better")
    write(lessons / "01_b.ipynb", "2, better")
    mine = (copy / "01_b.ipynb").read_text()
    whole = os.fsync

    def stop(file):
        monkeypatch.setattr(os, "fsync", whole)  # the record is written yet
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", lambda file: monkeypatch.setattr(os, "fsync", stop))  # at the second lesson
    with pytest.raises(KeyboardInterrupt):
        lab.copy_lessons(lessons, copy)
    assert (copy / "01_b.ipynb").read_text() == mine
    assert sorted(p.name for p in copy.iterdir()) == [lab.RECORD, "00_a.ipynb", "01_b.ipynb"]
    write(lessons / "00_a.ipynb", "1, best")
    brought = ["00_a.ipynb was brought up to date.", "01_b.ipynb was brought up to date."]
    assert lab.copy_lessons(lessons, copy) == brought


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_one_is_told_with_the_option(tmp_path, capsys, folder):
    (tmp_path / "file").write_text("")
    assert main(["lab", "--only-copy", "--folder", str(tmp_path / folder)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"gpugrad lab: the lessons cannot be written to {tmp_path / folder} (")
    assert said.endswith("; name a folder with --folder\n")


def test_no_lessons_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no lessons"):
        lab.copy_lessons(tmp_path / "nowhere", tmp_path)


def instead_of_jupyterlab(monkeypatch, status):
    """What would have been run, as (command, options)."""
    ran, real = [], subprocess.Popen

    def run(command, **options):
        ran.append((command, options))
        return real([sys.executable, "-c", f"raise SystemExit({status})"])

    monkeypatch.setattr(lab.subprocess, "Popen", run)
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: True)
    return ran


def test_lab_opens_the_first_lesson_in_the_folder_with_what_is_behind_two_dashes(tmp_path, monkeypatch, capsys):
    ran = instead_of_jupyterlab(monkeypatch, status=0)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "00_first_kernel-Copy1.ipynb").write_text("{}")  # as JupyterLab duplicates: no lesson
    assert main(["lab", "--folder", str(tmp_path / "own"), "--", "--no-browser"]) == 0
    ((command, options),) = ran
    assert command[1:] == ["-m", "jupyterlab", "00_first_kernel.ipynb", "--no-browser"]
    assert options["cwd"] == tmp_path / "own" and (tmp_path / "own" / command[3]).exists()
    assert options["env"] == lab.with_defaults(os.environ)
    assert "What you change there stays yours" in capsys.readouterr().out


@pytest.mark.parametrize("named", ["05_im2col.ipynb", "own/05_im2col.ipynb"])
def test_lab_opens_the_lesson_that_is_named(tmp_path, monkeypatch, named):
    ran = instead_of_jupyterlab(monkeypatch, status=0)
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--folder", "own", named, "--no-browser"]) == 0
    ((command, _),) = ran
    assert command[1:] == ["-m", "jupyterlab", "05_im2col.ipynb", "--no-browser"]


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


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
@pytest.mark.parametrize("how", ["Ctrl-C in a terminal", "Ctrl-C, no terminal", "SIGTERM"])
def test_what_ends_gpugrad_lab_lets_jupyterlab_end_in_its_own_time(tmp_path, monkeypatch, how):
    terminal, before = how == "Ctrl-C in a terminal", signal.getsignal(signal.SIGTERM)
    real, done = subprocess.Popen, tmp_path / "saved"
    ends = (
        "import signal, sys, time\n"
        "def end(*_):\n  time.sleep(1)\n  open(sys.argv[1], 'w').write('all')\n  sys.exit(7)\n"
        f"signal.signal(signal.{'SIGINT' if terminal else 'SIGTERM'}, end)\n"
        "print(flush=True)\nwhile True: time.sleep(0.05)"
    )

    def run(command, **options):
        lab = real([sys.executable, "-c", ends, str(done)], stdout=subprocess.PIPE)
        lab.stdout.readline()  # it is there
        wait = lab.wait

        def stopped(*arguments):
            lab.wait = wait
            if how == "SIGTERM":
                os.kill(os.getpid(), signal.SIGTERM)
                return wait()
            if terminal:  # which sends Ctrl-C to both
                lab.send_signal(signal.SIGINT)
            raise KeyboardInterrupt

        lab.wait = stopped
        return lab

    monkeypatch.setattr(lab.subprocess, "Popen", run)
    monkeypatch.setattr(lab.sys, "stdin", io.StringIO())
    monkeypatch.setattr(lab.sys.stdin, "isatty", lambda: terminal)
    assert lab._jupyterlab([], tmp_path) == 7
    assert done.read_text() == "all"
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_nobody_takes_where_only_a_copy_is_made_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["lab", "--only-copy", "--foldr", str(tmp_path / "own")])
    assert "unrecognized arguments: --foldr" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


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
    instead_of_jupyterlab(monkeypatch, status=1)
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


def test_course_says_where_it_has_looked_in_vain(tmp_path, capsys):
    assert main(["course", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(
        f"(There is no {tmp_path / progress.NAME}: if your notebooks lie elsewhere, name their folder"
    )


def test_course_finds_the_folder_that_lab_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPUGRAD_PROGRESS", raising=False)
    assert main(["course"]) == 0 and "\n0 of " in capsys.readouterr().out
    (tmp_path / "gpugrad-lessons").mkdir()
    progress.note(tmp_path / "gpugrad-lessons" / progress.NAME, "00.1", [1024, 64, 128], right=True)
    assert main(["course"]) == 0 and "\n1 of " in capsys.readouterr().out
