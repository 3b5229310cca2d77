"""course.check, hint and show, and the file in which progress is kept: damaged, shared, or not to be written."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from gpugrad import course
from gpugrad.course import catalog, progress

pytestmark = pytest.mark.usefixtures("own_progress")


def test_check_prints_a_fixed_line_while_an_exercise_is_open(capsys, own_progress):
    course.check("00.1", ...)
    assert capsys.readouterr().out == (
        '00.1 is open. Put your answer in, and run this cell again. course.hint("00.1") helps.\n'
    )
    assert not own_progress.exists()


def test_progress_keeps_the_last_answer_and_the_last_that_passed(capsys, own_progress):
    course.check("00.1", [1, 2, 3])
    assert course.saved("00.1") is None
    course.check("00.1", (1024, 64, 128))
    course.check("00.1", np.array([9, 9, 9]))
    assert progress.read(own_progress)["00.1"] == {"tries": 3, "answer": [9, 9, 9], "passed": [1024, 64, 128]}
    assert course.saved("00.1") == [1024, 64, 128]
    assert sorted(p.name for p in own_progress.parent.iterdir()) == [f".{progress.NAME}.lock", progress.NAME]


def test_a_kernel_object_is_a_wrong_answer_that_is_kept(capsys, own_progress):
    import gpugrad as gg

    course.check("00.3", gg.kernel(catalog.solution("00.3")))
    assert "the answer is the text of a kernel; got" in capsys.readouterr().out
    assert isinstance(progress.read(own_progress)["00.3"]["answer"], str)


def test_an_entry_without_its_number_of_tries_is_counted_anew(own_progress):
    own_progress.write_text('{"exercises": {"00.1": {}, "00.2": {"tries": "many"}}}')
    course.check("00.1", [1024, 64, 128])
    progress.note(own_progress, "00.2", "x", right=False)
    assert {n: e["tries"] for n, e in progress.read(own_progress).items()} == {"00.1": 1, "00.2": 1}


def test_notebooks_that_answer_at_the_same_time_lose_nothing(own_progress):
    each = "import sys; from pathlib import Path; from gpugrad.course import progress\n"
    each += "for i in range(40): progress.note(Path(sys.argv[1]), f'{sys.argv[2]}.{i}', i, True)"
    both = [subprocess.Popen([sys.executable, "-c", each, str(own_progress), who]) for who in ("a", "b")]
    assert [p.wait() for p in both] == [0, 0]
    assert len(progress.read(own_progress)) == 80


def test_a_verdict_is_broken_between_words_and_source_lines_are_not(capsys):
    course.check("00.3", catalog.solution("00.3").replace("x[n - 1 - i]", "x[i + 0 * 12345678 * 12345678 * 12345678]"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3 and max(map(len, lines[:-2])) <= 96
    assert lines[-2].endswith("12345678];")


def test_a_passed_kernel_is_saved_as_text(capsys):
    text = catalog.solution("00.3")
    course.check("00.3", text)
    assert course.saved("00.3") == text


def test_a_file_of_progress_that_cannot_be_read_is_kept_and_told(capsys, own_progress):
    own_progress.write_text("[1, 2")
    course.check("00.1", [1024, 64, 128])
    said = capsys.readouterr().out
    assert "00.1 is right" in said and "not a file of progress" in said
    assert own_progress.read_text() == "[1, 2"


@pytest.mark.skipif(os.name == "nt", reason="pipes in folders and /dev/full need Unix")
class Broken:
    def __repr__(self):
        raise KeyError("no")

    __array__ = __str__ = __repr__


def deep():
    found = []
    for _ in range(5000):
        found = [found]
    return found


@pytest.mark.parametrize("answer", [Broken(), 10**5000, deep(), ["x" * 5000]], ids=["own", "huge", "deep", "long"])
def test_an_answer_that_cannot_be_written_is_a_wrong_answer(answer, capsys, own_progress):
    for number in ("02.1", "00.3"):
        course.check(number, answer)
        said = capsys.readouterr().out
        assert said.startswith(number) and "not saved" not in said and len(said) < 500


def test_a_huge_array_is_a_wrong_answer_that_is_kept_in_short(capsys, own_progress):
    course.check("00.1", np.zeros(progress.LARGEST // 2))
    assert "your answer is a list of 8388608 numbers" in capsys.readouterr().out
    assert len(progress.read(own_progress)["00.1"]["answer"]) < 400


def test_an_answer_that_would_make_the_file_unreadable_leaves_it_as_it_was(capsys, own_progress, monkeypatch):
    course.check("00.1", [1024, 64, 128])
    before = own_progress.read_bytes()
    monkeypatch.setattr(progress, "LARGEST", 2000)
    course.check("00.3", "no kernel " * 300)
    said = " ".join(capsys.readouterr().out.split())
    assert "Your progress was not saved: with this answer" in said and "it may have 2,000" in said
    assert own_progress.read_bytes() == before


def test_a_pipe_in_the_place_of_progress_is_not_waited_for(capsys, own_progress):
    os.mkfifo(own_progress)
    course.check("00.1", [1024, 64, 128])
    assert "00.1 is right" in (said := capsys.readouterr().out) and "is not a file of progress; move it away" in said
    with pytest.raises(ValueError, match="not a file of progress"):
        course.saved("00.1")


def test_a_full_disk_keeps_the_progress_that_was_there_and_leaves_nothing(capsys, own_progress, monkeypatch):
    course.check("00.1", [1024, 64, 128])
    before, files = own_progress.read_bytes(), sorted(own_progress.parent.iterdir())

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    course.check("00.1", [1, 2, 3])
    assert "progress was not saved: [Errno 28] No space left on device" in capsys.readouterr().out
    assert own_progress.read_bytes() == before and sorted(own_progress.parent.iterdir()) == files


def test_a_folder_that_cannot_be_written_costs_no_verdict(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUGRAD_PROGRESS", str(tmp_path / "nowhere"))
    course.check("00.1", [1024, 64, 128])
    said = " ".join(capsys.readouterr().out.split())
    assert "00.1 is right" in said and "progress was not saved: there is no folder" in said
    assert "nowhere; make it, or let GPUGRAD_PROGRESS name another)" in said
    (tmp_path / "nowhere").write_text("a file")
    course.check("00.1", [1024, 64, 128])
    assert "progress was not saved: there is no folder" in " ".join(capsys.readouterr().out.split())
    assert course.saved("00.1") is None


def test_the_table_counts_what_is_solved():
    exercises = sum(len(lesson.exercises) for lesson in catalog.lessons())
    assert progress.table({}).endswith(f"0 of {exercises} exercises are solved.")
    known = {"00.1": {"tries": 1, "answer": 1, "passed": 1}, "00.2": {"tries": 4, "answer": "x"}}
    line = progress.table(known).split("\n")[0]
    assert line.split() == "00 Your device and a first kernel ■□□ 1 of 3 open: 00.2, 00.3".split()


def test_hints_come_one_after_another(capsys, monkeypatch):
    monkeypatch.setattr(course, "_hinted", {})
    for _ in range(4):
        course.hint("00.1")
    lines = capsys.readouterr().out.splitlines()
    assert [line[:11] for line in lines[:3]] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3"]
    assert 'course.solution("00.1")' in lines[3]


def test_an_exercise_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no exercise '77.1'.*00.1 to 00.3"):
        course.check("77.1", 3)
    with pytest.raises(ValueError, match=r'no exercise 2\.3; write "02\.3"'):
        course.hint(2.3)
    for wrong in (2.99, "02.99", "2", "02."):
        with pytest.raises(ValueError, match=r'named like "02\.3", and there are: 02\.1 to 02\.6$'):
            course.hint(wrong)
    for wrong in ("x", None, -1, ["00.1"], ""):
        with pytest.raises(ValueError, match=r"there are: 00\.1 to 00\.3, .*14\.7$"):
            course.check(wrong, 1)


def test_show_gives_a_kernel_with_the_comment_above_it_from_its_file():
    lines = repr(course.show("reduce.cl", "reduce_serial")).split("\n")
    assert lines[0] == "kernels/reduce.cl"
    assert lines[1].endswith("/* The plain loop: one work-item makes one element of out. */")
    assert lines[-1].endswith("| }")
    lines = repr(course.show("optim.cl", "sgd_element")).split("\n")  # a function that kernels call
    assert "/* p -= lr (g + weight_decay p) */" in lines[1] and "void sgd_element(" in lines[2]
    with pytest.raises(ValueError, match="no kernel 'serial'; it has reduce_serial"):
        course.show("reduce.cl", "serial")
    lines = repr(course.show("gemm_packed.cl", "gemm_packed", part="for (int k")).split("\n")  # a piece of a long one
    assert re.match(r"  \d\d \|     for \(int k = 0; k < depth; k\+\+\) {$", lines[1])
    assert len(lines) < 15 and re.match(r"  \d\d \|     }$", lines[-1])
    shown = course.show("gemm_packed.cl", "gemm_packed", part="if (sizeof(T) == sizeof(A)").text  # the else, too
    assert "  } else {\n" in shown and shown.count("{") == shown.count("}")
    assert course.show("gemm_packed.cl", "gemm_packed", part="int c_m, int c_n").text.endswith("\n}")  # of its head
    with pytest.raises(ValueError, match="part is 'for it', and no line with it opens a block"):
        course.show("gemm_packed.cl", "gemm_packed", part="for it")
    with pytest.raises(ValueError, match="part is 'for', and name is missing; name the kernel"):
        course.show("gemm_packed.cl", part="for")
    for part in ("", 3):
        with pytest.raises(TypeError, match=f"part is {part!r}; it is a piece of a line"):
            course.show("gemm_packed.cl", "gemm_packed", part=part)
    with pytest.raises(TypeError, match="show: name is 3; it is the name of a kernel"):
        course.show("reduce.cl", 3)
    for file in ("nope", "../course/grade.py", 5):
        with pytest.raises(ValueError, match=r"the files of kernels are argmax.cl"):
            course.show(file)
