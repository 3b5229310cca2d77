"""The exercises: every solution passes, plausible wrong answers fail and hear why; cells of answers; the glossary."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from adding import ADD
from marking import MARK
from sampling import FULL

from gpugrad import course
from gpugrad.course import catalog, glossary
from gpugrad.course.kernel_exercise import KernelExercise
from gpugrad.course.python_exercise import PythonExercise
from gpugrad.course.spec import Prediction
from gpugrad.trace.report import KINDS

FOLDER = Path(__file__).parent / "course"
EXERCISES = [e for lesson in catalog.lessons() for e in lesson.exercises]


def other_answers():
    """(wrong ones, right ones beside the solution) of all lessons."""
    wrong, right = {}, {}
    for path in sorted(FOLDER.glob("lesson*.py")):
        spec = importlib.util.spec_from_file_location(f"course_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        wrong.update(module.WRONG)
        right.update(getattr(module, "ANOTHER_WAY", {}))
    return wrong, right


WRONG, ANOTHER_WAY = other_answers()


pytestmark = pytest.mark.usefixtures("own_progress")


def lesson_text(number):
    """The cell of an exercise in its lesson, without the line of the magic."""
    (path,) = (FOLDER.parents[1] / "notebooks").glob(f"{number[:2]}_*.ipynb")
    cells = ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    (found,) = [c.partition("\n")[2] for c in cells if re.match(rf"%%(kernel|answer) {re.escape(number)}\n", c)]
    return found


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


@pytest.mark.parametrize("number", ANOTHER_WAY)
def test_another_way_than_the_solution_s_is_right_too(number):
    answer = ANOTHER_WAY[number]
    verdict = catalog.exercise(number).examine(answer(catalog.solution(number)) if callable(answer) else answer)
    assert verdict.right, verdict.text


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
def test_an_exercise_has_hints_a_title_and_three_wrong_answers(exercise):
    assert 2 <= len(exercise.hints) <= 5 and exercise.title
    wrong = WRONG.get(exercise.id, [])
    answers = {repr(w.given(catalog.solution(exercise.id))) for w in wrong}
    assert len(wrong) >= 3 and len({w.mistake for w in wrong}) == len(answers) == len(wrong), "none of them twice"


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


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if isinstance(e, Prediction)], ids=lambda e: e.id)
def test_no_misconception_is_the_truth_or_hidden_by_one_before_it(exercise):
    for wrong, sentence in exercise.misconceptions:
        answer = [-99 if w is ... else w for w in wrong] if isinstance(wrong, list) else wrong
        verdict = exercise.examine(answer)
        assert not verdict.right and sentence in verdict.text, wrong


# magics


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="the magics are IPython's")
    shell = interactive.InteractiveShell.instance()
    course.magics.register()
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_a_kernel_cell_makes_a_kernel(shell):
    shell.run_cell("%%kernel add\n" + ADD).raise_error()
    assert shell.user_ns["add"].name == "add"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (ADD.replace("add", "sub"), "there is no kernel 'add'"),
        (ADD.replace("__kernel ", ""), "the word __kernel before void"),
        ("def add(x):\n    x[0] = 1", "this looks like Python"),
        (ADD.replace("__kernel", "__global__"), "__global__ is CUDA's word for __kernel"),
    ],
)
def test_a_kernel_cell_without_its_kernel_says_so_and_the_notebook_goes_on(body, says, shell, capsys):
    shell.run_cell(f"%%kernel add\n{body}").raise_error()
    said = capsys.readouterr().out
    assert says in " ".join(said.split()) and max(map(len, said.splitlines())) <= 96


def test_a_kernel_cell_that_does_not_compile_says_so_and_the_notebook_goes_on(shell, capfd):
    shell.run_cell("%%kernel add\n" + ADD.replace("i < n", "i < m")).raise_error()
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


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("%%kernel", "%%kernel stands alone; write the kernel's name behind it"),
        ("%%answer", "%%answer stands alone; write an exercise behind it"),
        ("%%kernel 2.99", "no exercise '2.99'; exercises are named like \"02.3\", and there are: 02.1 to 02.6"),
        ("%%kernel -1", "there is no exercise '-1'"),
        ("%%kernel a b", "there is no exercise 'a b'"),
        ("%%answer add", "there is no exercise 'add'"),
        ('%%kernel "00.3"', 'write "00.3"'),
        ("%%answer 9.4", 'write "09.4"'),
        ("%%kernel 00.1", 'give it in a plain cell, by course.check("00.1", ...)'),
        ("%%answer 09.2", 'give it in a plain cell, by course.check("09.2", ...)'),
    ],
)
def test_a_cell_that_answers_no_exercise_is_told_so_without_a_traceback(head, says, shell, capsys, own_progress):
    ran = shell.run_cell(f"{head}\n{ADD}")
    assert type(ran.error_in_exec).__name__ == "UsageError", "the run of all cells stops here"
    captured = capsys.readouterr()
    said = " ".join((captured.out + captured.err).split())
    assert says in said and "Traceback" not in said
    assert not own_progress.exists()


def test_a_kernel_in_an_answer_s_cell_is_checked_and_not_run_as_python(shell, capsys):
    shell.run_cell("%%answer 00.3\n" + catalog.solution("00.3")).raise_error()
    assert capsys.readouterr().out.startswith("00.3 is right")


def test_an_answer_that_is_stopped_is_not_run_once_more_to_be_checked(shell, capsys, own_progress):
    shell.run_cell("times = []")
    shell.run_cell("%%answer 09.4\ntimes.append(1)\nraise KeyboardInterrupt")
    assert shell.user_ns["times"] == [1]
    assert "09.4 was not checked, as you stopped it." in capsys.readouterr().out
    assert not own_progress.exists()


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
