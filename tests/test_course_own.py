"""`course.mine()`: your kernels for the network, or the first rung, and why; a broken file costs nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

import gpugrad as gg
import gpugrad.nn.functional as F
from gpugrad import course
from gpugrad.course import catalog, own
from gpugrad.course.exercises.lesson14_your_kernels import _network
from gpugrad.kernels.ladder import variants

LESSON = Path(__file__).parents[1] / "notebooks" / "14_your_kernels.ipynb"
FIRST = {f.name: variants(f.name)[0] for f in own.FAMILIES}
NUMBER = {f.name: f.exercise for f in own.FAMILIES}


@pytest.fixture(autouse=True)
def file(own_progress):
    return own_progress


def save(file, *families, **texts):
    """A file of progress where these families' exercises have passed, with the solution or with another text."""
    passed = {f: catalog.solution(NUMBER[f]) for f in families} | texts
    exercises = {NUMBER[f]: {"tries": 1, "answer": text, "passed": text} for f, text in passed.items()}
    file.write_text(json.dumps({"exercises": exercises}))


def launched(kernels):
    """The kernels of one training step of the lesson's network, and the first layer's gradient."""
    model, loss = _network()
    optimizer = gg.optim.Adam(model.parameters(), lr=0.01)
    names = []
    with gg.use_kernels(**kernels):
        handle = gg.on_launch(lambda launch: names.append(launch.kernel.name))
        loss().backward()
        optimizer.step()
        handle.remove()
    return names, model[0].weight.grad.numpy(), model[0].weight.detach().numpy()


def test_without_progress_every_family_runs_its_first_rung():
    mine = course.mine()
    assert dict(mine) == FIRST and mine.yours == [] and len(mine) == len(own.FAMILIES)
    assert "im2col               05.6  first rung (im2col_naive), as 05.6 is not solved" in repr(mine).split("\n")
    assert repr(mine).endswith("0 of 7 kernels are yours.")


def test_the_first_rungs_kernels_have_the_names_that_the_table_says():
    assert {f.kernel for f in own.FAMILIES} <= set(launched(course.mine())[0])


def test_solved_families_run_your_kernel_and_the_others_the_first_rung(file):
    save(file, "gemm", "adam")
    mine = course.mine()
    assert mine.yours == ["gemm", "adam"]
    assert {n: k for n, k in mine.items() if isinstance(k, str)} == {
        n: k for n, k in FIRST.items() if n not in mine.yours
    }
    names, _, _ = launched(mine)
    assert {"my_gemm", "my_adam", "im2col_naive"} <= set(names) and not {"gemm_naive", "adam"} & set(names)
    assert "gemm                 14.4  yours" in repr(mine).split("\n")


def test_whose_a_kernel_is(file):
    save(file, "gemm")
    mine = course.mine()
    names = ("my_gemm", "im2col_naive", "gemm_naive", "unary")
    assert [mine.whose(n) for n in names] == ["yours", "first rung", "package", "package"]


@pytest.mark.deep
def test_a_step_on_all_solutions_is_a_step_on_the_packages_kernels(file):
    save(file, *FIRST)
    mine = course.mine()
    assert mine.yours == list(FIRST)
    names, gradient, weight = launched(mine)
    assert {mine[f].name for f in FIRST} <= set(names)
    assert not {f.kernel for f in own.FAMILIES} & set(names)
    _, expected, moved = launched({})
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)  # sums of 784 terms in another order
    # Adam divides a gradient by its size: where that is small, its rounding grows
    np.testing.assert_allclose(weight, moved, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lambda s: s.replace("beta == 0 ?", "beta == 0 ??"), "line 16"),
        (lambda s: s.replace("* b[k * b_k", "+ b[k * b_k"), "c[0, 0, 0, 0] is"),
        (lambda s: s.replace("my_gemm", "mine"), "my_gemm"),
        (lambda s: "", "14.4"),
        (lambda s: "\0" + s, "14.4"),
        (lambda s: 7, "the answer is the text of a kernel; got int"),
        (lambda s: [s], "the answer is the text of a kernel; got list"),
    ],
    ids=["does not build", "is wrong", "another name", "empty", "a null byte", "a number", "a list"],
)
def test_a_saved_kernel_that_fails_now_is_named_and_the_first_rung_runs(file, text, said):
    save(file, gemm=text(catalog.solution("14.4")))
    mine = course.mine()
    before, _, after = repr(mine).partition("gemm                 14.4  ")
    assert mine["gemm"] == "naive" and before.count("\n") == 4
    why, _, after = after.partition("max_pool2d_backward")
    assert why.startswith("first rung (gemm_naive), as your saved kernel fails now:\n    ") and said in why
    assert after.endswith("0 of 7 kernels are yours.")


def test_whatever_a_check_raises_the_lesson_goes_on(file, monkeypatch):
    def fails(self, answer):
        raise RuntimeError("the device\nis gone")

    monkeypatch.setattr("gpugrad.course.kernel_exercise.KernelExercise.examine", fails)
    save(file, "gemm")
    assert "fails now:\n    RuntimeError: the device\n    is gone\n" in repr(course.mine())


@pytest.mark.parametrize(
    "content", [b"[1, 2", b'{"exercises": []}', b'{"exercises": {"14.4": 3}}', b"\xff\xfe\x00", b""]
)
def test_a_broken_file_is_told_in_a_sentence_and_left_alone(file, content):
    file.write_bytes(content)
    mine = course.mine()
    assert dict(mine) == FIRST
    assert repr(mine).startswith("(Your progress cannot be read: ") and "is not a file of progress" in repr(mine)
    assert "first rung (im2col_naive), as your progress cannot be read\n" in repr(mine)
    assert "not solved" not in repr(mine)
    assert file.read_bytes() == content


def test_a_folder_in_the_place_of_the_file_is_told(file):
    file.mkdir()
    assert dict(course.mine()) == FIRST
    assert f"(Your progress cannot be read: {file} is not a file of progress" in repr(course.mine())


def test_a_passed_check_is_what_mine_finds(file, capsys):
    course.check("14.3", catalog.solution("14.3"))
    course.check("14.3", "__kernel void my_sums() {}")  # a later answer that fails changes nothing
    assert course.mine().yours == ["reduce"]
    x = gg.tensor(np.arange(6).reshape(2, 3), dtype=gg.float32)
    with gg.use_kernels(**course.mine()):
        assert F.relu(x).sum(dim=0).tolist() == [3, 5, 7]


@pytest.mark.deep
@pytest.mark.full
def test_the_lesson_trains_on_your_kernels_once_all_are_solved(file, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="reads notebooks")
    nbclient = pytest.importorskip("nbclient", reason="runs notebooks")
    monkeypatch.setenv("GPUGRAD_DEVICE", "pocl")
    save(file, *FIRST)
    notebook = nbformat.read(LESSON, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    said = "\n".join(o.get("text", "") for c in notebook.cells for o in c.get("outputs", []))
    assert said.count("7 of 7 kernels are yours.") == 2
    assert "yours or the first rung: 35 of 53" in said
