"""The first launch of a kernel of one's own runs checked: a mistake is an error, not a crash, a freeze or garbage."""

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.trace import checked as checking


@pytest.fixture
def checks(monkeypatch):
    """How many launches ran checked."""
    seen = []
    run = checking.run_checked
    monkeypatch.setattr(checking, "run_checked", lambda launch: (seen.append(launch), run(launch)))
    return seen


ADD_ONE = "__kernel void k(__global float *x, int n) { int i = get_global_id(0); if (i < n) x[i] += 1; }"


def test_the_first_launch_is_checked_and_its_result_stands(checks):
    x = gg.zeros(8)
    k = gg.kernel(ADD_ONE)
    for _ in range(3):
        k(x, 8, global_size=8)
    assert len(checks) == 1
    assert x.tolist() == [3] * 8
    k(gg.zeros(16), 16, global_size=16)
    assert len(checks) == 2  # another size


def test_a_number_that_counts_steps_is_not_checked_for_ever(checks):
    x = gg.zeros(8)
    k = gg.kernel("__kernel void k(__global float *x, int step) { x[get_global_id(0)] = step; }")
    for step in range(40):
        k(x, step, global_size=8)
    assert len(checks) == 16 and x.tolist() == [39] * 8
    k(x, 40, global_size=4)
    assert len(checks) == 17  # another size


def test_checked_says_always_or_never(checks):
    x = gg.zeros(8)
    k = gg.kernel(ADD_ONE)
    k(x, 8, global_size=8, checked=False)
    assert checks == []
    for _ in range(2):
        k(x, 8, global_size=8, checked=True)
    assert len(checks) == 2 and x.tolist() == [3] * 8


FAULTS = {
    "x[i + 1] = 9;": "OUT OF BOUNDS.*Off by one",
    "while (x[i] < 5) { }": "ENDLESS LOOP",
    "while (1) { x[i] += 1; barrier(CLK_LOCAL_MEM_FENCE); }": "ENDLESS LOOP",
    "again: x[i] += 1; goto again;": "ENDLESS LOOP",
    "for (int k = 0; k < 3 * i; k++) ; while (1) barrier(CLK_LOCAL_MEM_FENCE);": "ENDLESS LOOP",
    "if (i < 3) barrier(CLK_LOCAL_MEM_FENCE); x[i] = 9;": "BARRIER DIVERGENCE",
    "x[i] = 9; *(__global float4 *)(x + i % 2) = (float4)(9);": "MISALIGNED",
}


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_is_an_error_and_memory_is_as_it_was(body):
    x = gg.zeros(8)
    k = gg.kernel(f"__kernel void k(__global float *x) {{ int i = get_global_id(0); {body} }}")
    with pytest.raises(gg.KernelFault, match=FAULTS[body]) as caught:
        k(x, global_size=8, local_size=8)
    assert {f.kind for f in caught.value.report} <= {
        "out of bounds",
        "endless loop",
        "barrier divergence",
        "misaligned",
    }
    assert x.tolist() == [0] * 8


def test_the_next_launch_works_after_a_fault():
    x = gg.zeros(8)
    k = gg.kernel("__kernel void k(__global float *x, int n) { x[get_global_id(0) + n] = 1; }")
    with pytest.raises(gg.KernelFault):
        k(x, 4, global_size=8, checked=True)
    k(x, 0, global_size=8, checked=True)
    assert x.tolist() == [1] * 8


def test_what_cannot_be_followed_runs_plain_unless_a_check_is_asked_for():
    text = """__kernel void k(__global float *x, __local float *t) {
  event_t e = async_work_group_copy(t, x, 4, 0);
  wait_group_events(1, &e);
  x[get_global_id(0)] = 2 * t[get_local_id(0)];
}"""
    x = gg.tensor([1.0, 2.0, 3.0, 4.0])
    k = gg.kernel(text)
    k(x, gg.Local(4), global_size=4, local_size=4)
    assert x.tolist() == [2, 4, 6, 8]
    with pytest.raises(gg.KernelBuildError, match="event_t is not supported"):
        k(x, gg.Local(4), global_size=4, local_size=4, checked=True)


DOUBLING = "".join(f"#define F{i}(x) F{i - 1}(x) F{i - 1}(x)\n" for i in range(1, 41))


@pytest.mark.parametrize("body, words", {
    "x[0] = F40(1);": "line 43, column 8: macro F40 grows without end",
    "again: barrier(CLK_LOCAL_MEM_FENCE); if (x[0] < 9) goto again;": "a goto backwards over a barrier",
    f"x[0] = {'(' * 3000}1{')' * 3000};": "nested too deeply",
}.items())  # fmt: skip
def test_what_no_check_could_stop_is_not_built_at_all(body, words):
    with pytest.raises(gg.KernelBuildError, match=words):
        gg.kernel(f"#define F0(x) x\n{DOUBLING}__kernel void k(__global float *x) {{\n{body} }}")


def test_a_sum_of_thousands_of_terms_is_checked(checks):
    terms = "\n + v" * 2000
    x = gg.ones(8)
    head = "__kernel void k(__global float *x, __global float *y, int n)"
    k = gg.kernel(f"{head} {{ float v = x[1]; y[n] = x[0]{terms}; }}")
    y = gg.zeros(2)
    k(x, y, 1, global_size=1)
    assert len(checks) == 1 and y.tolist() == [0, 2001]
    with pytest.raises(gg.KernelFault, match=r"writes y\[2\]"):
        k(x, y, 2, global_size=1)


def test_inside_a_trace_the_trace_is_the_check(checks):
    x = gg.zeros(4)
    k = gg.kernel(ADD_ONE)
    with gg.trace() as t:
        k(x, 4, global_size=4)
    assert checks == [] and len(t) == 1 and x.tolist() == [1] * 4


def test_observers_see_one_launch():
    seen = []
    handle = gg.on_launch(seen.append)
    try:
        gg.kernel(ADD_ONE)(gg.zeros(4), 4, global_size=4)
    finally:
        handle.remove()
    assert [launch.kernel.name for launch in seen if launch.kernel.name == "k"] == ["k"]


def test_many_faults_are_counted_and_the_first_is_shown():
    x = gg.from_numpy(np.zeros(4, "f4"))
    k = gg.kernel("__kernel void k(__global float *x) { for (int j = 0; j < 9; j++) x[get_global_id(0) + 4] = j; }")
    with pytest.raises(gg.KernelFault, match=r"work-item 0 of group 0 writes x\[4\]") as caught:
        k(x, global_size=64, local_size=64)
    assert caught.value.report.findings[0].count >= 64


def test_a_launch_with_a_fault_is_checked_again_and_so_is_another_number():
    x = gg.from_numpy(np.zeros(4, "f4"))
    k = gg.kernel("__kernel void k(__global float *x, int n) { int i = get_global_id(0); if (i < n) x[i] = 1; }")
    for _ in range(2):
        with pytest.raises(gg.KernelFault):
            k(x, 9, global_size=16)
    k(x, 4, global_size=16)
    assert x.tolist() == [1, 1, 1, 1]
    with pytest.raises(gg.KernelFault):
        k(x, 5, global_size=16)


@pytest.mark.parametrize("head", ["\ufeff", "/* ä */ ", ""])
def test_a_mark_of_an_editor_or_letters_of_a_language_hide_no_mistake(head):
    kernel = gg.kernel(head + "__kernel void f(__global float *x) { float größe = 2; x[get_global_id(0)] = größe; }")
    with pytest.raises(gg.KernelFault, match=r"writes x\[3\], but x has 3 elements"):
        kernel(gg.zeros(3), global_size=4)
