"""`gpugrad grade`: what a notebook answered counts, not what it printed; and it cannot hold up the class."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from sampling import FULL

from gpugrad.cli import main
from gpugrad.course import catalog, grade, progress, sandbox
from gpugrad.course.python_exercise import PythonExercise

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits need Linux or macOS")
pytest.importorskip("nbclient", reason="runs notebooks")

FIRST = "from gpugrad import course"
RIGHT = 'course.check("00.1", [1024, 64, 128])'
ALL = {"00.1", "00.2", "00.3"}


def write(folder, *cells, name="00_first_kernel"):
    folder.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (FIRST, *cells)])
    nbformat.write(notebook, folder / f"{name}.ipynb")
    return folder / f"{name}.ipynb"


def results(path, **limits):
    one = grade.grade_notebook(path, "someone", grade.Limits(**{"seconds": 120, **limits}))
    return {n: r for n, (r, _) in one.results.items()}, one


def test_the_table_says_in_a_line_what_the_check_said(tmp_path):
    verdicts = {
        "00.2": ("wrong", "00.2: k does not compile:\nk, line 3: what is n?\n    n = 1;"),
        "00.3": ("wrong", "00.3: OUT OF BOUNDS, line 4\n  4 | x[i]"),
    }
    grade.write_table([grade.Graded("ann", "00_first_kernel.ipynb", verdicts)], tmp_path / "grades.csv")
    with (tmp_path / "grades.csv").open() as file:
        said = [row["said"] for row in csv.DictReader(file)]
    assert said == ["00.2: k does not compile: k, line 3: what is n?", "00.3: OUT OF BOUNDS, line 4"]


@pytest.mark.deep
def test_what_was_answered_counts_and_not_what_was_printed(tmp_path, capsys):
    cheat = [
        "print('00.1 is right')",
        "course.check = lambda number, answer: print(number, 'is right')",
        RIGHT.replace("64", "65"),
        "from gpugrad.course.spec import Prediction, Verdict\n"
        "Prediction.examine = lambda self, answer: Verdict(True, 'is right')",
        "from gpugrad.course import check\nimport gpugrad.course as c, importlib\nimportlib.reload(c)",
        'c.check("00.1", [1, 2, 3])',
    ]
    write(tmp_path / "bob", *cheat)
    table = tmp_path / "grades.csv"
    assert main(["grade", str(tmp_path), "--table", str(table)]) == 0
    said = capsys.readouterr().out
    assert "bob, 00_first_kernel.ipynb: 0 of 3 right" in said
    assert [line.split() for line in said.splitlines() if line.endswith("/3")] == [["bob", "0/3"]]
    with table.open() as file:
        rows = {(r["student"], r["exercise"]): r for r in csv.DictReader(file)}
    assert [rows["bob", f"00.{i}"]["result"] for i in (1, 2, 3)] == ["wrong", "open", "open"]
    assert rows["bob", "00.1"]["said"].startswith("00.1: not what happens")


@pytest.mark.deep
def test_an_endless_loop_is_stopped_and_what_was_answered_before_counts(tmp_path):
    found, one = results(write(tmp_path, RIGHT, "while True: pass"), seconds=40)
    assert found == {"00.1": "right", "00.2": "open", "00.3": "open"}
    assert one.trouble


@pytest.mark.deep
@pytest.mark.full
def test_a_cell_that_fails_or_wants_too_much_memory_does_not_stop_the_rest(tmp_path):
    found, one = results(write(tmp_path, "1 / 0", "x = bytearray(64 << 30)", RIGHT), gigabytes=12)
    assert found["00.1"] == "right" and not one.trouble


@pytest.mark.deep
@pytest.mark.full
def test_a_notebook_sees_neither_the_home_of_the_teacher_nor_other_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hidden")
    probe = "import os\nassert 'SECRET' not in os.environ and 'gpugrad-grade' in os.path.expanduser('~')"
    found, _ = results(write(tmp_path, probe + "\n" + RIGHT))
    assert found["00.1"] == "right"


@pytest.mark.deep
@pytest.mark.parametrize(
    "text", ["{", pytest.param("", marks=FULL), pytest.param("[1]", marks=FULL), pytest.param("{}", marks=FULL)]
)
def test_a_file_that_is_no_notebook_is_said(tmp_path, text):
    (tmp_path / "00_x.ipynb").write_text(text)
    found, one = results(tmp_path / "00_x.ipynb")
    assert set(found) == ALL and set(found.values()) == {"open"}
    assert one.trouble.startswith("failed: it is no notebook (")


SHADOW = """import os
os.makedirs("gpugrad/course")
for name in ("gpugrad/__init__.py", "gpugrad/course/__init__.py"):
    open(name, "w").close()
with open("gpugrad/course/sandbox.py", "w") as file:
    file.write("import json; json.dump([True, 'all right'], open('verdict.json', 'w'))")
for name in ("verdict.json", "verdicts.json", "random.py", "json.py"):
    open(name, "w").write("nonsense")
os.mkdir("answer.json"), os.mkdir("answers.json")"""


@pytest.mark.deep
def test_files_that_a_notebook_leaves_are_not_there_when_its_answers_are_checked(tmp_path):
    wrong, right = RIGHT.replace("64", "65"), "%%kernel 00.3\n" + catalog.solution("00.3")
    found, one = results(write(tmp_path, wrong, right, SHADOW))
    assert found == {"00.1": "wrong", "00.2": "open", "00.3": "right"}
    assert one.results["00.1"][1].startswith("00.1: not what happens")


@pytest.mark.deep
@pytest.mark.full
def test_what_one_python_answer_breaks_is_whole_for_the_next_one(tmp_path):
    first, second = [e for x in catalog.lessons() for e in x.exercises if isinstance(e, PythonExercise)][:2]
    harm = "np.allclose = np.isclose = np.array_equal = lambda *a, **k: True\n"
    harm += f"def {first.function}(*a): raise SystemExit"
    wrong = f"def {second.function}(*a, **k): return np.zeros(1)"
    cells = [f"%%answer {first.id}\n{harm}", f"%%answer {second.id}\n{wrong}"]
    found, one = results(write(tmp_path, *cells, name="mine"))
    assert found[first.id] == "wrong" and "SystemExit" in one.results[first.id][1]
    said = second.examine(wrong).text
    assert one.results[second.id] == ("wrong", said)


@pytest.mark.deep
@pytest.mark.full
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="elsewhere processes do not show their environment")
def test_what_a_notebook_has_started_ends_with_it(tmp_path):
    start = f"import subprocess\nwith open({str(tmp_path / 'pid')!r}, 'w') as file:\n"
    start += "    file.write(str(subprocess.Popen(['sleep', '600'], start_new_session=True).pid))"
    found, _ = results(write(tmp_path, RIGHT, start))
    assert found["00.1"] == "right"
    state = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_step_that_hides_its_log_behind_a_pipe_or_fills_it_holds_nobody_up(tmp_path, monkeypatch):
    text = (
        "import os, sys\n"
        "print('x' * 3_000_000)\n"
        "os.unlink(sys.argv[1] + '/run.log'); os.mkfifo(sys.argv[1] + '/run.log')\n"
        "sys.exit('no more')"
    )
    (tmp_path / "bad.py").write_text(text)
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/bad.py "$4"\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "work").mkdir()
    assert grade._limited("run", tmp_path / "work", grade.Limits(60)) == "failed: no more"


def test_a_submission_that_is_a_device_or_a_folder_is_not_read(tmp_path):
    (tmp_path / "a.ipynb").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "b.ipynb")
    for name in ("a.ipynb", "b.ipynb"):
        with pytest.raises(ValueError, match="a pipe or a device"):
            grade.grade_notebook(tmp_path / name, "someone", grade.Limits())


@pytest.mark.skipif(sys.platform != "linux", reason="counts this user's processes in /proc")
def test_processes_that_start_processes_have_a_limit():
    code = (
        "import resource\nfrom gpugrad.course import sandbox\nbefore = sandbox.running()\nsandbox.limit(60, 16)\n"
        "print(before, *resource.getrlimit(resource.RLIMIT_NPROC))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    before, soft, hard = map(int, said.split())
    assert before >= 1 and soft == hard <= before + sandbox.PROCESSES + 500


def test_a_right_answer_is_right_and_one_that_is_no_answer_is_wrong():
    assert grade._checked("00.1", [1024, 64, 128], grade.Limits(120))[0] == "right"
    assert grade._checked("00.1", {"right": True}, grade.Limits(120))[0] == "wrong"


def test_only_a_file_of_text_of_some_size_is_read(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text('{"exercises": {"00.1": {"answer": 1}, "00.2": {}}}')
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "deep").write_text("[" * 100_000)
    for name in ("pipe", "link", "deep", "", "nowhere"):
        assert grade._answers(tmp_path / name) == {}
    assert list(grade._answers(tmp_path / "file")) == ["00.1"]
    monkeypatch.setattr(progress, "LARGEST", 20)
    assert grade._answers(tmp_path / "file") == {}


def test_a_submission_that_cannot_be_graded_stops_nobody_elses(tmp_path, monkeypatch, capsys):
    def one(path, student, limits):
        if student == "ann":
            raise RecursionError("too deep")
        assert "too deep" in table.read_text()  # the table grows with the class
        return grade.Graded(student, path.name, {"00.1": ("right", "fine \ud800")})

    table = tmp_path / "grades.csv"
    monkeypatch.setattr(grade, "grade_notebook", one)
    write(tmp_path / "ann"), write(tmp_path / "bob")
    assert main(["grade", str(tmp_path), "--table", str(table)]) == 0
    assert "ann, 00_first_kernel.ipynb: 0 of 0 right; not graded: RecursionError" in capsys.readouterr().out
    with table.open() as file:
        assert [(r["student"], r["result"]) for r in csv.DictReader(file)] == [("ann", ""), ("bob", "right")]


def test_of_several_notebooks_of_a_student_the_best_answer_counts():
    old = grade.Graded("ann", "00_old.ipynb", {"00.1": ("right", ""), "00.2": ("wrong", "")})
    new = grade.Graded("ann", "00_new.ipynb", {"00.1": ("open", ""), "00.2": ("open", "")})
    assert grade.summary([old, new]).split() == grade.summary([new, old]).split() == ["student", "00", "ann", "1/2"]


def test_a_folder_that_is_not_there_or_without_notebooks_is_said(tmp_path, capsys):
    assert main(["grade", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("gpugrad grade: there is no notebook in ")
    assert main(["grade", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err.startswith("gpugrad grade: there is no folder ")
    for limit in ("--seconds", "--gigabytes"):
        for n in ("0", "-3", "16000000000"):
            assert main(["grade", str(tmp_path), limit, n]) == 1
            assert capsys.readouterr().err == f"gpugrad grade: {limit} is {n}; it may be 1 to 1,000,000\n"


@pytest.mark.parametrize("table", ["nowhere/grades.csv", "ann", "ann/00_first_kernel.ipynb/grades.csv"])
def test_a_table_that_cannot_be_written_is_told_before_anything_runs(tmp_path, monkeypatch, capsys, table):
    write(tmp_path / "ann")
    monkeypatch.setattr(grade, "grade_notebook", lambda *_: pytest.fail("it was graded"))
    assert main(["grade", str(tmp_path), "--table", str(tmp_path / table)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"gpugrad grade: the table cannot be written to {tmp_path / table} (")
    assert said.endswith("; name another file with --table\n")


def test_the_table_is_whole_when_its_writing_is_stopped(tmp_path, monkeypatch):
    table = tmp_path / "grades.csv"
    grade.write_table([grade.Graded("ann", "00.ipynb", {"00.1": ("right", "")})], table)
    before = table.read_bytes()

    def stop(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        grade.write_table([], table)
    assert table.read_bytes() == before and list(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize(
    "by",
    [pytest.param("SIGINT", marks=pytest.mark.deep), "SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.deep)],
)
def test_however_grading_is_stopped_what_it_has_started_ends_and_the_table_stays(tmp_path, by):
    write(tmp_path / "class" / "ann", RIGHT)
    write(tmp_path / "class" / "bob", "import time, os\nopen('up', 'w').close()\ntime.sleep(600)")
    room, table = tmp_path / "room", tmp_path / "grades.csv"
    room.mkdir()
    command = [sys.executable, "-m", "gpugrad", "grade", str(tmp_path / "class"), "--table", str(table)]
    grading = subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(room)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(room.glob("*/up")):
        assert grading.poll() is None
        time.sleep(0.1)
    (started,) = room.iterdir()
    grading.send_signal(getattr(signal, by))
    said, complained = grading.communicate(timeout=60)
    assert grading.returncode == 130 and complained == "\ngpugrad grade: stopped\n"
    assert said.endswith(f"\nWhat has been graded so far stands in {table}.\n")
    assert not list(room.iterdir()) and not grade._started_in(started)
    with table.open() as file:
        assert ("ann", "00.1", "right") in [(r["student"], r["exercise"], r["result"]) for r in csv.DictReader(file)]


TWICE = """
import os, signal
from gpugrad.course import grade
try:
    with grade._stopped_in_order():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            print("all is ended", flush=True)
except KeyboardInterrupt:
    print("stopped", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


def test_a_second_signal_does_not_break_off_the_ending():
    ran = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "all is ended\nstopped True\n", ran.stderr


def test_grading_without_nbclient_says_what_to_install(tmp_path, monkeypatch, capsys):
    write(tmp_path / "ann")
    monkeypatch.setattr(grade.importlib.util, "find_spec", lambda name: None)
    assert main(["grade", str(tmp_path)]) == 1
    assert "pip install 'gpugrad[lab]'" in capsys.readouterr().err
