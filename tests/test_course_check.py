"""What a check of an answer sees: of a kernel, of Python, of a prediction; and what it says."""

import numpy as np
import pytest

from gpugrad.course.kernel_exercise import Case, KernelExercise, Out
from gpugrad.course.python_exercise import PythonExercise
from gpugrad.course.spec import Prediction

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


def test_a_size_of_groups_that_is_not_the_exercise_s_is_told():
    said = add(SOURCE.replace("__kernel", "__kernel __attribute__((reqd_work_group_size(7, 1, 1)))"), case(X))
    assert not said.right and "local_size is (4,), and reqd_work_group_size(7, 1, 1)" in said.text


def test_an_endless_loop_is_told():
    for loop in ("while (i < n)", "again: if (i < n) goto again; if (i < n)"):
        assert "ENDLESS" in add(SOURCE.replace("if (i < n)", loop), case(X)).text


def test_a_kernel_that_no_recorder_can_follow_is_never_begun():
    again = "again: barrier(CLK_LOCAL_MEM_FENCE); if (i < n) goto again; if (i < n)"
    said = add(SOURCE.replace("if (i < n)", again), case(X)).text
    assert "a goto backwards over a barrier is not supported, as nothing could stop it" in said
    copied = "__local float t[4]; event_t e = async_work_group_copy(t, x, 4, 0); if (i < n)"
    assert "the recorder cannot follow add: event_t" in add(SOURCE.replace("if (i < n)", copied), case(X)).text


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


def test_a_file_s_first_mark_of_its_encoding_is_no_part_of_the_answer():
    assert python("\ufeffdef f(x): return x * x").right


def test_python_answers_are_tried_out():
    assert python("def f(x):\n    return x * x").right
    assert python("def f(x):\n    return float(np.square(x))").right
    assert python("def f(x):\n    return x").text == "99.2: f(2) should be 4."
    assert "define f, by that name" in python("g = 1").text and "define f, by that name" in python("f = 1").text
    assert "line 2 raises NameError" in python("def f(x):\n    return y").text
    assert "    return y" in python("def f(x):\n    return y").text
    assert "line 1 raises SyntaxError" in python("def f(x)\n    return y").text


def test_whatever_a_python_answer_raises_is_a_wrong_answer_but_a_stop_is_a_stop():
    for text in ("raise SystemExit(3)", "raise GeneratorExit", "raise BaseException('no')"):
        name = text.removeprefix("raise ").partition("(")[0]
        assert f"line 1 raises {name}" in python(text).text
        assert f"line 2 raises {name}" in python(f"def f(x):\n  {text}").text
    own = "class E(Exception):\n  def __str__(self): 1 / 0\nraise E"
    assert "line 3 raises E\n" in python(own).text
    with pytest.raises(KeyboardInterrupt):
        python("raise KeyboardInterrupt")


def test_a_line_of_jupyter_s_of_markdown_s_or_of_a_kernel_is_told_in_a_python_answer():
    right = "def f(x): return x * x"
    for line in ("%%answer 09.4", "!pip list", "```python", "%timeit 1"):
        assert "neither is part of an answer" in python(f"{line}\n{right}").text
    assert "That is OpenCL C: the answer is Python." in python(SOURCE).text
    assert "neither" not in python("def f(x) return x").text


def test_a_plain_class_in_the_place_of_a_function_with_its_gradient_is_told():
    exercise = PythonExercise("99.3", "write Python", "t", ("a", "b"), "F", lambda f: str(f.apply(1)), "")
    for text in ("def F(x): return x", "class F: pass"):
        assert "It must be a class that builds on gg.autograd.Function" in exercise.examine(text).text


def test_a_name_of_the_notebook_s_is_told_to_be_out_of_reach():
    assert "it knows np, gg, F, and what it imports" in python("def f(x): return x * scale").text
    early = python("def f(x):\n    y = y * x\n    return y").text
    assert "raises UnboundLocalError" in early and "An answer runs alone" not in early


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
    for text in ("2, 4, 6", ["2", "4", "6"]):
        assert p.examine(text).text.endswith("Numbers stand without quotes.")
    assert p.examine([2, 4, ...]).text.endswith("A `...` is left in it: put your own in its place.")
    yes = Prediction("99.5", "predict", "t", ("a", "b"), truth=lambda: True, why="")
    assert yes.examine(True).right and not yes.examine(False).right


def test_counts_are_compared_exactly_and_other_numbers_to_four_digits():
    count = Prediction("99.6", "predict", "t", ("a", "b"), truth=lambda: 1_000_000, why="")
    assert count.examine(1_000_000).right and count.examine(1e6).right
    assert not count.examine(1_000_001).right and not count.examine(1e6 + 0.5).right
    assert "give one number" in count.examine(1_000_000 + 3j).text
    real = Prediction("99.7", "predict", "t", ("a", "b"), truth=lambda: 0.33333, why="")
    assert real.examine(0.33333).right and real.examine(1 / 3).right and not real.examine(0.3334).right
