"""The lessons as stored: run, on any machine the same, honest about what is measured, and in step with the exercises.

That their output is what running them gives is nbval's business: `make nbval`.
"""

import importlib.util
import os
import re
from pathlib import Path

import nbformat
import pytest
from marking import MARK
from sampling import some

from gpugrad.course import catalog, progress
from gpugrad.course.spec import Prediction

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ANSWER = re.compile(r'^%%(?:kernel|answer) (\d\d\.\d+)\n|^course\.check\("(\d\d\.\d+)", \.\.\.\)$', re.MULTILINE)

# What differs between machines, or between two runs on one.
NOT_THE_SAME = {
    "an address": r"\b0x[0-9a-f]{5,}",
    "a path": r"(?<![\w.])/(home|tmp|root|usr|Users|work)/|site-packages|[A-Z]:\\",
    "a device": r"pthread-|pocl|portable computing|nvidia|\bamd\b|intel|epyc|xeon|core\(tm\)|oclgrind",
    "a time": r"\d\s?(ms|µs|us|ns|s|sec|seconds?)\b",
    "a rate": r"\d\s?([kMGT]i?B/s|[MGT]?FLOP|it/s)",
}
MEASURED = r"\d\s?(ms|µs|us|ns|GB/s|MB/s|[MGT]FLOP|%)|\d[\d.]*\s?(x|×|times) (as fast|faster|slower)"

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def tool():
    """tools/notebooks.py, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("notebooks_tool", ROOT / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    return nbformat.read(path, as_version=4)


def code(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def measured(cell):
    return "measured" in cell.metadata.get("tags", [])


def texts(cell):
    """All text that a cell has shown and nbval compares."""
    for output in cell.outputs:
        yield from [output.text] if "text" in output else []
        yield from [v for k, v in output.get("data", {}).items() if not k.startswith("image/") or k.endswith("svg+xml")]


def test_there_are_lessons_and_each_belongs_to_a_module_of_exercises():
    assert NOTEBOOKS
    assert [p.stem for p in NOTEBOOKS] == [lesson.notebook for lesson in catalog.lessons()]


def test_every_map_of_the_lessons_is_up_to_date():
    tool_ = tool()
    for name, prefix in tool_.MAPS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if name.endswith(".ipynb"):
            (text,) = [c.source for c in read(ROOT / name).cells if tool_.BEGIN in c.source]
        assert text == tool_.with_map(text, prefix), f"{name}: run tools/notebooks.py"


def test_the_teachers_table_has_a_line_for_each_lesson_with_its_minutes():
    text = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d\d) \|.*\| (\d+) \|$", text, re.MULTILINE)
    assert rows == [(lesson.number, str(lesson.minutes)) for lesson in catalog.lessons()]


@each_notebook
def test_every_cell_has_been_run_once_in_order(path):
    assert [cell.execution_count for cell in code(path)] == list(range(1, len(code(path)) + 1))


@each_notebook
def test_nothing_was_written_to_stderr_and_no_cell_failed(path):
    kinds = {(o.output_type, o.get("name")) for cell in code(path) for o in cell.outputs}
    assert kinds <= {("stream", "stdout"), ("display_data", None), ("execute_result", None)}


@each_notebook
def test_metadata_is_the_same_for_everybody(path):
    notebook = read(path)
    assert notebook.metadata == tool().METADATA
    assert notebook.nbformat == 4
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        assert "widget-view" not in str(cell.get("outputs"))
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


@each_notebook
@pytest.mark.parametrize("what", NOT_THE_SAME)
def test_compared_output_is_the_same_on_every_machine(path, what):
    for cell in code(path):
        if not measured(cell):
            for text in texts(cell):
                found = re.search(NOT_THE_SAME[what], str(text), re.IGNORECASE)
                assert not found, f"{what}: {found[0]!r} in the output of\n{cell.source}"


@each_notebook
def test_what_is_measured_is_not_compared_and_the_next_cell_asserts_what_must_hold(path):
    cells = code(path)
    for cell, following in zip(cells, [*cells[1:], None]):
        tags = cell.metadata.get("tags", [])
        assert set(tags) <= {"measured", "nbval-ignore-output"}
        assert ("measured" in tags) == ("nbval-ignore-output" in tags)
        if measured(cell):
            assert following is not None and "assert " in following.source


@each_notebook
def test_prose_quotes_no_measurement(path):
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            found = re.search(MEASURED, cell.source)
            assert not found, f"{found[0]!r} in\n{cell.source}"


@each_notebook
def test_code_fits_the_width_of_a_notebook(path):
    for cell in code(path):
        for line in cell.source.split("\n"):
            assert len(line) <= 100, line


@each_notebook
def test_a_lesson_asserts_its_facts(path):
    assert sum("assert " in cell.source for cell in code(path)) >= 4


def asked(path):
    """exercise -> the source of its cell"""
    found = {}
    for cell in code(path):
        for match in ANSWER.finditer(cell.source):
            number = match[1] or match[2]
            assert number not in found, f"{number} is asked twice"
            found[number] = cell.source
    return found


@each_notebook
def test_each_exercise_is_asked_once_with_its_kind_in_the_text(path):
    (lesson,) = [x for x in catalog.lessons() if x.notebook == path.stem]
    assert list(asked(path)) == [e.id for e in lesson.exercises]
    prose = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    for e in lesson.exercises:
        assert re.search(rf"\*\*{re.escape(e.id)} {e.kind}\.\*\*", prose, re.IGNORECASE), f"{e.id}: {e.kind}"


@each_notebook
def test_solving_only_replaces_marked_lines(path):
    for number, source in asked(path).items():
        if isinstance(catalog.exercise(number), Prediction):
            assert source == f'course.check("{number}", ...)'
            continue
        lines = source.split("\n")[1:]
        assert any(MARK in line for line in lines), f"{number} has no marked line"
        kept = iter(catalog.solution(number).split("\n"))
        for line in lines:
            assert MARK in line or line in kept, f"{number}: the solution has changed {line!r}"


@each_notebook
def test_unsolved_exercises_say_the_same_line(path):
    for cell in code(path):
        for match in ANSWER.finditer(cell.source):
            (output,) = cell.outputs
            number = match[1] or match[2]
            assert output.text == (
                f'{number} is open. Put your answer in, and run this cell again. course.hint("{number}") helps.\n'
            )


@each_notebook
def test_no_solution_stands_in_a_lesson(path):
    everything = "\n".join(cell.source for cell in read(path).cells)
    for number in asked(path):
        answer = catalog.solution(number)
        if isinstance(answer, str) and len(answer) > 40:
            assert answer.strip() not in everything


def solved(path):
    """The notebook with the course's own answer to each exercise in it."""
    notebook = read(path)
    for cell in notebook.cells:
        match = ANSWER.search(cell.source) if cell.cell_type == "code" else None
        if match and match[1]:
            cell.source = f"{match[0]}{catalog.solution(match[1])}"
        elif match:
            cell.source = cell.source.replace("...", repr(catalog.solution(match[2])))
    return notebook


@pytest.mark.deep
@pytest.mark.parametrize("path", some(NOTEBOOKS, every=8), ids=lambda p: p.stem)
def test_a_solved_lesson_runs_to_its_end_and_is_solved(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="runs notebooks")
    monkeypatch.setenv("GPUGRAD_PROGRESS", str(tmp_path))
    monkeypatch.setenv("GPUGRAD_DEVICE", "pocl")
    resources = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(solved(path), timeout=300, kernel_name="python3", resources=resources).execute()
    known = progress.read(tmp_path / progress.NAME)
    assert {number for number, entry in known.items() if "passed" in entry} == set(asked(path))


def test_a_run_that_fails_or_finds_the_disk_full_leaves_the_notebook_as_it_was(tmp_path, monkeypatch):
    tool_, path = tool(), tmp_path / "one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        tool_.execute(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]

    def full(opened):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tool_.write_notebook(nbformat.v4.new_notebook(), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
