"""What a recorded launch answers: saved, replayed, asked; and what is written through pointers without their const."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.trace import Trace, load


def test_the_function_that_users_see_loads(tmp_path):
    """In a fresh process, where nothing but a look at `gg.trace` has imported the package of that name."""
    code = f"""import gpugrad as gg
with gg.trace() as t:
    pass
t.save({str(tmp_path / "t.npz")!r})
print(len(gg.trace.load({str(tmp_path / "t.npz")!r})))"""
    root = str(Path(gg.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_vectors_and_structs_among_the_arguments_are_saved(tmp_path):
    pair = np.dtype([("a", "f4"), ("b", "i4")])
    text = """typedef struct { float a; int b; } pair;
__kernel void k(__global float *x, float4 v, pair p, int n) { x[get_global_id(0)] = v.y + p.a; }"""
    x = Array.from_numpy(np.zeros(2, "f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, (1.0, 2.0, 3.0, 4.0), np.array((5, 6), pair)[()], 3, global_size=2)
    t.save(tmp_path / "t.npz")
    args = load(tmp_path / "t.npz")[0].args
    assert list(args) == ["v", "p", "n"]
    assert args["v"].tolist() == [1, 2, 3, 4] and args["p"].tolist() == (5.0, 6) and args["n"] == 3


def test_replay_keeps_the_order_of_writes_of_different_widths():
    text = """__kernel void k(__global int *o) {
  int i = get_global_id(0);
  o[i] = i;
  ((__global uchar *)o)[4 * i + 1] = 7;
}"""
    o = Array.from_numpy(np.zeros(4, "i4"))
    with gg.trace() as t:
        gg.kernel(text)(o, global_size=4)
    assert t[0].replay("o").tolist() == o.numpy().tolist() == [1792 + i for i in range(4)]
    assert t[0].replay("o", 1).tolist() == [0, 0, 0, 0] and t[0].replay("o", 3)[1] == 1


def test_replay_sees_what_was_written_through_another_argument():
    text = "__kernel void k(__global float *a, __global float *b) { int i = get_global_id(0); b[i] = a[i] + 1; }"
    x = Array.from_numpy(np.arange(4, dtype="f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, x, global_size=4)
    assert t[0].replay("a").tolist() == t[0].replay("b").tolist() == [1, 2, 3, 4]


CONST_LOST = {
    "a cast": ("", "((__global float *)a)[i] += 1;"),
    "a variable": ("", "__global float *p = a; p[i] += 1;"),
    "a function": ("void f(__global float *p) { p[0] += 1; }\n", "f(a + i);"),
}


@pytest.mark.parametrize("how", CONST_LOST)
def test_what_is_written_through_a_const_argument_is_written_once(how):
    helper, body = CONST_LOST[how]
    k = gg.kernel(helper + f"__kernel void k(__global const float *a) {{ int i = get_global_id(0); {body} }}")
    x = Array.from_numpy(np.zeros(4, "f4"))
    with gg.trace() as t:
        k(x, global_size=4)
    assert x.numpy().tolist() == [1, 1, 1, 1] == t[0].replay("a").tolist()


def test_what_is_declared_in_and_written_all_the_same_is_written_once():
    x = Array.from_numpy(np.zeros(4, "f4"))
    with gg.trace():
        gg.kernel("__kernel void k(__global float *a) { a[get_global_id(0)] += 1; }", a="in N")(x, global_size=4)
    assert x.numpy().tolist() == [1, 1, 1, 1]


def test_a_constant_of_the_program_is_not_replayed_and_why_is_said():
    text = "__constant float w[2] = {1, 2};\n__kernel void k(__global float *a) { a[0] = w[1]; }"
    x = Array.from_numpy(np.zeros(1, "f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    with pytest.raises(ValueError, match="w is a constant of the program"):
        t[0].replay("w")


def test_a_report_says_which_constant_memory_nobody_watched():
    text = """__kernel void k(__constant float *w, __global float *o) {
    __constant float *p = w + 1;
    o[0] = p[0]; }"""
    report = gg.sanitize(text, Array.from_numpy(np.zeros(2, "f4")), Array.from_numpy(np.zeros(1, "f4")), global_size=1)
    assert report.ok
    (note,) = report.notes
    assert note.startswith("line 3 reads __constant memory other than by an array's own name")
    assert note in str(report)


def filled():
    x = Array.from_numpy(np.zeros(4, "f4"))
    with gg.trace() as t:
        gg.kernel("__kernel void k(__global float *a) {\n  a[get_global_id(0)] = 1;\n}")(x, global_size=4)
    return t


def test_questions_that_make_no_sense_are_refused(tmp_path):
    t = filled()
    for ask, error in (
        (lambda: t[0].replay("a", 1.5), TypeError), (lambda: t[0].select(kind="laod"), ValueError),
        (lambda: t[0].select(line="1"), TypeError), (lambda: gg.trace(launches=True), TypeError),
        (lambda: gg.trace(fuel=1.5), TypeError), (lambda: gg.trace(budget="x"), TypeError),
        (lambda: gg.trace().__exit__(None, None, None), RuntimeError), (lambda: t.save(tmp_path), ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            ask()
    assert not list(tmp_path.parent.glob("*.part"))


def test_what_was_asked_for_and_is_not_there_is_said():
    text = "__kernel void k(__global float *a) { float s = 1; a[get_global_id(0)] = s; }"
    with gg.trace(watch=("s", "nope"), groups=99) as t:
        gg.kernel(text)(gg.zeros(4), global_size=4, local_size=2)
    assert "no recorded launch assigns a private variable nope" in str(t) and "variable s" not in str(t)
    assert "none of its 4 work-items, in 2 groups, was asked for" in str(t)


def test_a_file_whose_places_are_not_in_its_source_is_damaged(tmp_path):
    short = dataclasses.replace(filled()[0], source="")
    Trace([short]).save(tmp_path / "t.npz")
    with pytest.raises(gg.GpugradError, match="places are not in its source"):
        load(tmp_path / "t.npz")


BAD = {
    "a site's name": lambda t: {"sites": tuple(dataclasses.replace(s, name=None) for s in t.sites)},
    "a file that is a number": lambda t: {"file": 5},
    "more work-items than an int numbers": lambda t: {"global_size": (10**12,)},
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_somebody_changed_is_damaged_and_breaks_nothing_later(what, tmp_path):
    launch = filled()[0]
    Trace([dataclasses.replace(launch, **BAD[what](launch))]).save(tmp_path / "t.npz")
    with pytest.raises(gg.GpugradError, match="is not a saved trace, or is damaged"):
        load(tmp_path / "t.npz")
