"""What lessons draw and time by: arguments that are none are refused by name."""

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import course

SWAP = """__kernel void swap(__global const float *x, __global float *out) {
  __local float part[4];
  int lane = get_local_id(0), i = get_global_id(0);
  part[lane] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = part[3 - lane];
}"""


def traced(launches):
    x, out, swap = gg.ones(8), gg.zeros(8), gg.kernel(SWAP)
    with gg.trace() as t:
        for _ in range(launches):
            swap(x, out, global_size=8, local_size=4)
    return t


@pytest.fixture(scope="module")
def trace():
    return traced(1)


@pytest.mark.parametrize("draw", [course.writers, course.readers, course.phases], ids=lambda f: f.__name__)
def test_a_picture_takes_one_launch_or_a_trace_of_one(trace, draw, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))  # no window for whoever runs the tests
    buffer = "part" if draw is course.phases else "out"
    draw(trace[0], buffer)
    draw(trace, buffer)
    with pytest.raises(ValueError, match=f"{draw.__name__}: the trace holds 2 launches; choose one"):
        draw(traced(2), buffer)
    for given in (trace.launches, None):
        with pytest.raises(TypeError, match=f"{draw.__name__}: launch is .*; record one with"):
            draw(given, buffer)
    with pytest.raises(ValueError, match="swap has no buffer 'y'; it has x, out"):
        draw(trace[0], "y")


@pytest.mark.parametrize("group", [2, -1, "first"])
def test_phases_of_a_group_that_is_not_there_are_refused(trace, group):
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=r"phases: group is .*; the groups of this launch are 0 to 1"):
        course.phases(trace[0], "part", group)


def test_what_is_timed_is_a_function_that_is_called_at_least_once():
    with pytest.raises(TypeError, match="seconds: run is 3; it is a function to call"):
        course.seconds(3)
    for repeats in (0, -1):
        with pytest.raises(ValueError, match=f"seconds: repeats is {repeats}; it must be 1 or more"):
            course.seconds(lambda: 1, repeats)
    for repeats in ("many", 2.0, True):
        with pytest.raises(TypeError, match=f"seconds: repeats is {repeats!r}; it must be an integer"):
            course.seconds(lambda: 1, repeats)
    called = []
    assert 0 <= course.seconds(lambda: called.append(1), np.int64(2)) < 60
    assert len(called) == 3, "once to warm up"
