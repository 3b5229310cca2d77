"""The exercises: every solution passes, plausible wrong answers fail and hear why; hints, progress, magics."""

import errno
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sampling import FULL

from gpugrad import course
from gpugrad.course import catalog, glossary, progress
from gpugrad.course.kernel_exercise import Case, KernelExercise, Out
from gpugrad.course.python_exercise import PythonExercise
from gpugrad.course.spec import MARK, Prediction
from gpugrad.trace.report import KINDS

FOLDER = Path(__file__).parent / "course"
EXERCISES = [e for lesson in catalog.lessons() for e in lesson.exercises]


def wrong_answers():
    found = {}
    for path in sorted(FOLDER.glob("lesson*.py")):
        spec = importlib.util.spec_from_file_location(f"course_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.update(module.WRONG)
    return found


WRONG = wrong_answers()


def lesson_text(number):
    """The cell of an exercise in its lesson, without the line of the magic."""
    (path,) = (FOLDER.parents[1] / "notebooks").glob(f"{number[:2]}_*.ipynb")
    cells = ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    (found,) = [c.partition("\n")[2] for c in cells if re.match(rf"%%(kernel|answer) {re.escape(number)}\n", c)]
    return found


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGRAD_PROGRESS", str(tmp_path))
    return tmp_path / progress.NAME


# every exercise


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
def test_the_solution_passes(exercise):
    verdict = exercise.examine(catalog.solution(exercise.id))
    assert verdict.right, verdict.text
    assert verdict.text.startswith(f"{exercise.id} is right")


def each_wrong_answer():
    """Each costs a kernel its compilation: of every other one `make test` tries the first, `make test-full` all."""
    kernels = [n for n in WRONG if isinstance(catalog.exercise(n), KernelExercise)]
    for number, every in WRONG.items():
        for i, wrong in enumerate(every):
            left = number in kernels and (i > 0 or kernels.index(number) % 2)
            yield pytest.param(number, wrong, id=f"{number}-{wrong.mistake}", marks=FULL if left else [])


@pytest.mark.parametrize(("number", "wrong"), list(each_wrong_answer()))
def test_a_wrong_answer_fails_and_hears_why(number, wrong):
    verdict = catalog.exercise(number).examine(wrong.given(catalog.solution(number)))
    assert not verdict.right
    assert verdict.text.startswith(number)
    assert wrong.says in verdict.text


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
def test_an_exercise_has_hints_a_title_and_three_wrong_answers(exercise):
    assert 2 <= len(exercise.hints) <= 5 and exercise.title
    assert len({w.mistake for w in WRONG.get(exercise.id, [])}) >= 3


def test_there_is_no_wrong_answer_to_an_exercise_that_is_not_there():
    assert set(WRONG) <= {e.id for e in EXERCISES}


@pytest.mark.parametrize("lesson", catalog.lessons(), ids=lambda x: x.notebook)
def test_exercises_are_numbered_through_and_there_are_three_in_each_lesson(lesson):
    assert [e.id for e in lesson.exercises] == [f"{lesson.number}.{i + 1}" for i in range(len(lesson.exercises))]
    assert len(lesson.exercises) >= 3


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
@pytest.mark.parametrize("answer", [..., None, "", "  \n"])
def test_no_answer_is_open(exercise, answer):
    assert exercise.is_open(answer)


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if not isinstance(e, Prediction)], ids=lambda e: e.id)
def test_the_text_of_the_lesson_is_open_and_a_solution_that_keeps_its_comment_is_not(exercise):
    own = lesson_text(exercise.id)
    assert MARK in own
    assert exercise.is_open(own) and exercise.is_open(own.replace("\n", "\r\n") + "\n\n")
    comment = f"# {MARK}" if isinstance(exercise, PythonExercise) else f"/* {MARK} */"
    assert not exercise.is_open(f"{comment}\n{catalog.solution(exercise.id)}")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
@pytest.mark.parametrize(
    "answer",
    [0, "nonsense", [], [[1], [2, 3]], np.zeros((2, 0)), {"a": 1}, {1, 2}, 3 + 4j, b"race", np.longdouble(3), object],
    ids=str,
)
def test_nonsense_is_wrong_and_can_be_kept(exercise, answer):
    assert not exercise.examine(answer).right
    json.dumps(exercise.plain(answer))


# what a check of a kernel sees

SOURCE = """__kernel void add(__global float *x, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] + 1;
}"""


def add(source, *cases):
    exercise = KernelExercise(
        "99.1", "write a kernel", "add", ("a", "b"), kernel="add", cases=lambda rng: cases, done=""
    )
    return exercise.examine(source)


def case(x, **options):
    n = len(x)
    return Case(f"with n = {n}", (x, Out(x + 1), n), (-(-n // 4) * 4,), (4,), **options)


X = np.arange(6, dtype="f4")


def test_the_first_wrong_element_is_told_with_who_wrote_it_where():
    said = add(SOURCE.replace("x[i] + 1", "i < 3 ? x[i] + 1 : 7"), case(X)).text
    assert "99.1, with n = 6: out[3] is 7, and should be 4." in said
    assert "(3 of 6 elements are wrong; this is the first.)" in said
    assert "written by work-item 3 of group 0 in line 3" in said
    assert "if (i < n) out[i] = i < 3" in said


def test_an_element_of_several_axes_is_told_by_its_index():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    said = add(SOURCE.replace("x[i] + 1", "i == 4 ? 0 : x[i] + 1"), Case("here", (x, Out(x + 1), 6), (8,), (4,))).text
    assert "out[1, 1] is 0, and should be 5." in said


def test_an_element_that_nobody_wrote_is_told_even_if_memory_held_the_right_value():
    assert "NEVER WRITTEN" in add(SOURCE.replace("i < n", "i < n && i != 2"), case(X)).text
    assert "nobody has written" in add(SOURCE.replace("x[i] + 1", "out[i] + x[i]"), case(X)).text


def test_an_input_must_stay_as_it_was():
    said = add(SOURCE.replace("out[i] =", "out[i] = x[i] ="), case(X)).text
    assert "x is an input, but the kernel has changed it" in said


def test_a_large_case_is_checked_for_faults_without_a_record():
    x = np.arange(1001, dtype="f4")
    assert "OUT OF BOUNDS" in add(SOURCE.replace("i < n", "i <= n"), case(x, recorded=False)).text
    assert "out[1000] is" in add(SOURCE.replace("x[i] + 1", "i == 1000 ? 5 : x[i] + 1"), case(x, recorded=False)).text
    assert add(SOURCE, case(x, recorded=False)).right


def test_the_first_of_several_mistakes_is_told_and_where_to_read_about_it():
    said = add(SOURCE.replace("x[i] + 1", "x[i + 1]").replace("out[i]", "out[i + 1]"), case(X)).text
    assert said.count("OUT OF BOUNDS") == 1
    assert said.endswith(
        'course.explain("out of bounds") says what that is. It is the first of 3 mistakes here: mend it, then check '
        "again."
    )
    alone = add(SOURCE.replace("i < n", "i <= n"), case(np.arange(1001, dtype="f4"), recorded=False)).text
    assert alone.endswith('course.explain("out of bounds") says what that is.') or "mistakes here" in alone


def test_a_demand_is_made_of_a_kernel_that_is_right():
    assert "reads too much" in add(SOURCE, case(X, demand=lambda launch: "reads too much")).text
    assert add(SOURCE, case(X, demand=lambda launch: "")).right


def test_values_are_compared_with_their_tolerance_and_exactly_without():
    off = SOURCE.replace("x[i] + 1", "x[i] + 1.0001f")
    near = Case("here", (X, Out(X + 1, tolerance=1e-3), 6), (8,), (4,))
    assert add(off, near).right
    assert not add(off, case(X)).right


def test_nan_and_infinity_are_values_like_others():
    x = np.array([np.nan, np.inf, -np.inf, 1], "f4")
    assert add(SOURCE, case(x)).right
    assert not add(SOURCE.replace("x[i] + 1", "0"), case(x)).right


def test_another_number_of_arguments_or_another_type_is_told():
    assert "takes 2 arguments" in add(SOURCE.replace(", int n", "").replace("i < n", "i < 6"), case(X)).text
    assert "points to int" in add(SOURCE.replace("__global float *out", "__global int *out"), case(X)).text


def test_more_local_memory_than_there_is_is_told():
    greedy = add(SOURCE.replace("if (i < n)", "__local float t[1 << 26]; t[0] = 1; if (i < n)"), case(X))
    assert not greedy.right and "a work-group needs 268,435,456 bytes of local memory" in greedy.text


def test_an_endless_loop_is_told():
    assert "ENDLESS" in add(SOURCE.replace("if (i < n)", "while (i < n)"), case(X)).text


def test_a_loop_that_no_recorder_can_stop_is_never_begun():
    said = add(SOURCE.replace("if (i < n)", "again: if (i < n) goto again; if (i < n)"), case(X)).text
    assert "the recorder cannot follow add" in said and "goto" in said


def test_a_kernel_that_this_compiler_gets_wrong_is_told_so(monkeypatch):
    from gpugrad.course import kernel_exercise

    monkeypatch.setattr(kernel_exercise, "_run", lambda built, case, checked: "out[0] is 3, and should be 4.")
    said = add(SOURCE, case(X)).text
    assert "gives the right numbers when its steps are recorded" in said and "this device's compiler" in said


# what a check of Python sees


def python(answer):
    def complaint(f):
        return "" if f(2) == 4 else "f(2) should be 4."

    return PythonExercise("99.2", "write Python", "square", ("a", "b"), "f", complaint, "").examine(answer)


def test_python_answers_are_tried_out():
    assert python("def f(x):\n    return x * x").right
    assert python("def f(x):\n    return float(np.square(x))").right
    assert python("def f(x):\n    return x").text == "99.2: f(2) should be 4."
    assert "define a function named f" in python("g = 1").text
    assert "line 2 raises NameError" in python("def f(x):\n    return y").text
    assert "    return y" in python("def f(x):\n    return y").text
    assert "line 1 raises SyntaxError" in python("def f(x)\n    return y").text


# predictions


def test_predictions_tell_the_form_and_not_the_answer():
    tale = [([1, 2, 3], "Twice.")]
    p = Prediction("99.3", "predict", "t", ("a", "b"), truth=lambda: [2, 4, 6], why="", misconceptions=tale)
    assert p.examine((2, 4, 6.0)).right and p.examine(np.array([2, 4, 6])).right
    assert p.examine([2, 4, 7]).text == "99.3: not what happens; look at element 2 of your answer again."
    assert p.examine([1, 2, 3]).text == "99.3: not what happens. Twice."
    some = [([..., 9, ...], "Nine."), ([1, ..., 6], "One and six.")]
    p = Prediction("99.3", "predict", "t", ("a", "b"), truth=lambda: [2, 4, 6], why="", misconceptions=some)
    assert p.examine([0, 9, 0]).text.endswith("Nine.") and p.examine([1, 0, 6]).text.endswith("One and six.")
    assert p.examine([1, 4, 5]).text.endswith("look at element 0 of your answer again.")
    word = Prediction("99.4", "predict", "t", ("a", "b"), truth=lambda: "race", why="Because.")
    assert word.examine(" Race ").text == "99.4 is right. Because."
    assert "give one word" in word.examine(3).text
    yes = Prediction("99.5", "predict", "t", ("a", "b"), truth=lambda: True, why="")
    assert yes.examine(True).right and not yes.examine(False).right


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if isinstance(e, Prediction)], ids=lambda e: e.id)
def test_no_misconception_is_the_truth_or_hidden_by_one_before_it(exercise):
    for wrong, sentence in exercise.misconceptions:
        answer = [-99 if w is ... else w for w in wrong] if isinstance(wrong, list) else wrong
        verdict = exercise.examine(answer)
        assert not verdict.right and sentence in verdict.text, wrong


def test_counts_are_compared_exactly_and_other_numbers_to_four_digits():
    count = Prediction("99.6", "predict", "t", ("a", "b"), truth=lambda: 1_000_000, why="")
    assert count.examine(1_000_000).right and count.examine(1e6).right
    assert not count.examine(1_000_001).right and not count.examine(1e6 + 0.5).right
    assert "give one number" in count.examine(1_000_000 + 3j).text
    real = Prediction("99.7", "predict", "t", ("a", "b"), truth=lambda: 0.33333, why="")
    assert real.examine(0.33333).right and real.examine(1 / 3).right and not real.examine(0.334).right


# check, hint, progress


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
    said = capsys.readouterr().out
    assert "00.1 is right" in said and "progress was not saved" in said


def test_the_table_counts_what_is_solved():
    assert progress.table({}).endswith(f"0 of {len(EXERCISES)} exercises are solved.")
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
    with pytest.raises(ValueError, match=r"no exercise 2\.3"):
        course.hint(2.3)


def test_show_gives_a_kernel_with_the_comment_above_it_from_its_file():
    lines = repr(course.show("reduce.cl", "reduce_serial")).split("\n")
    assert lines[0] == "kernels/reduce.cl"
    assert lines[1].endswith("/* The plain loop: one work-item makes one element of out. */")
    assert lines[-1].endswith("| }")
    lines = repr(course.show("optim.cl", "sgd_element")).split("\n")  # a function that kernels call
    assert "/* p -= lr (g + weight_decay p) */" in lines[1] and "void sgd_element(" in lines[2]
    with pytest.raises(ValueError, match="no kernel 'serial'; it has reduce_serial"):
        course.show("reduce.cl", "serial")
    for file in ("nope", "../course/grade.py", 5):
        with pytest.raises(ValueError, match=r"the files of kernels are argmax.cl"):
            course.show(file)


# magics


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="the magics are IPython's")
    shell = interactive.InteractiveShell.instance()
    course.magics.register()
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_a_kernel_cell_makes_a_kernel(shell):
    shell.run_cell("%%kernel add\n" + SOURCE).raise_error()
    assert shell.user_ns["add"].name == "add"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (SOURCE.replace("add", "sub"), "there is no kernel 'add'"),
        (SOURCE.replace("__kernel ", ""), "the word __kernel before void"),
        ("def add(x):\n    x[0] = 1", "this looks like Python"),
    ],
)
def test_a_kernel_cell_without_its_kernel_says_so_and_the_notebook_goes_on(body, says, shell, capsys):
    shell.run_cell(f"%%kernel add\n{body}").raise_error()
    assert says in capsys.readouterr().out


def test_a_kernel_cell_that_does_not_compile_says_so_and_the_notebook_goes_on(shell, capfd):
    shell.run_cell("%%kernel add\n" + SOURCE.replace("i < n", "i < m")).raise_error()
    said = capfd.readouterr().out
    assert "line 3: use of undeclared identifier 'm'" in said and "Traceback" not in said


def test_several_answers_in_place_of_one_hear_how_a_list_is_written(capsys, own_progress):
    course.check("00.1", 1, 2, 3)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("00.1 takes one answer, a list of 3 numbers; you gave 3. A list stands in brackets: ")
    assert said.endswith('course.check("00.1", [1, 2, 3]).')
    course.check("00.2", "a", "b")
    assert capsys.readouterr().out == "00.2 takes one answer, a text; you gave 2.\n"
    assert not own_progress.exists()


def test_a_kernel_cell_with_a_number_is_an_answer(shell, capsys):
    shell.run_cell("%%kernel 00.3\n" + catalog.solution("00.3")).raise_error()
    assert "00.3 is right" in capsys.readouterr().out
    shell.run_cell("%%kernel 00.3\n" + lesson_text("00.3")).raise_error()
    assert "00.3 is open" in capsys.readouterr().out


# the glossary


def test_a_word_is_explained_in_any_case_and_in_the_plural(capsys):
    course.explain("Work-Groups")
    assert capsys.readouterr().out.startswith("work-group: Work-items that run together")
    course.explain("wrok-group")
    assert "did you mean work-group" in capsys.readouterr().out
    course.explain("zebra crossing")
    assert "course.explain() lists the words" in capsys.readouterr().out
    course.explain()
    assert "barrier, barrier divergence" in capsys.readouterr().out


def test_a_word_that_is_none_is_refused():
    with pytest.raises(TypeError, match="explain: word is 5"):
        course.explain(5)


def test_each_kind_of_mistake_is_in_the_glossary():
    assert set(KINDS) <= set(glossary.words())


def test_the_glossary_is_in_alphabetical_order_and_defines_each_word_in_a_sentence():
    words = glossary.words()
    assert list(words) == sorted(words, key=str.lower)
    assert all(said.endswith((".", ")", "`.", '".')) and len(said) > 20 for said in words.values())
