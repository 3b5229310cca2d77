"""`gpugrad grade`: what a notebook answered counts, not what it printed; and it cannot hold up the class."""

import csv
import os

import nbformat
import pytest

from gpugrad.cli import main
from gpugrad.course import catalog, grade

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


def test_answers_are_checked_again_and_a_table_is_written(tmp_path, capsys):
    write(tmp_path / "ann", RIGHT, "%%kernel 00.3\n" + catalog.solution("00.3"))
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
    assert "ann, 00_first_kernel.ipynb: 2 of 3 right" in said and "bob, 00_first_kernel.ipynb: 0 of 3 right" in said
    assert [line.split() for line in said.splitlines() if line.endswith("/3")] == [["ann", "2/3"], ["bob", "0/3"]]
    with table.open() as file:
        rows = {(r["student"], r["exercise"]): r for r in csv.DictReader(file)}
    assert [rows["ann", f"00.{i}"]["result"] for i in (1, 2, 3)] == ["right", "open", "right"]
    assert rows["bob", "00.1"]["result"] == "wrong"
    assert rows["bob", "00.1"]["said"].startswith("00.1: not what happens")


@pytest.mark.deep
def test_an_endless_loop_is_stopped_and_what_was_answered_before_counts(tmp_path):
    found, one = results(write(tmp_path, RIGHT, "while True: pass"), seconds=20)
    assert found == {"00.1": "right", "00.2": "open", "00.3": "open"}
    assert one.trouble


@pytest.mark.deep
def test_a_cell_that_fails_or_wants_too_much_memory_does_not_stop_the_rest(tmp_path):
    found, one = results(write(tmp_path, "1 / 0", "x = bytearray(64 << 30)", RIGHT), gigabytes=12)
    assert found["00.1"] == "right" and not one.trouble


@pytest.mark.deep
def test_a_notebook_sees_neither_the_home_of_the_teacher_nor_other_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hidden")
    probe = "import os\nassert 'SECRET' not in os.environ and 'gpugrad-grade' in os.path.expanduser('~')"
    found, _ = results(write(tmp_path, probe + "\n" + RIGHT))
    assert found["00.1"] == "right"


@pytest.mark.deep
def test_a_file_that_is_no_notebook_is_said(tmp_path):
    (tmp_path / "00_x.ipynb").write_text("{")
    found, one = results(tmp_path / "00_x.ipynb")
    assert set(found) == ALL and set(found.values()) == {"open"}
    assert one.trouble.startswith("failed: ")


def test_a_folder_without_notebooks_is_said(tmp_path, capsys):
    assert main(["grade", str(tmp_path)]) == 1
    assert "there is no notebook" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--seconds", "0"]) == 1
