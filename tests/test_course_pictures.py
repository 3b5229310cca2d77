"""What lessons draw and time by: arguments that are none are refused by name."""

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


@pytest.fixture(scope="module")
def trace():
    x, out, swap = gg.ones(8), gg.zeros(8), gg.kernel(SWAP)
    with gg.trace() as t:
        swap(x, out, global_size=8, local_size=4)
    return t


@pytest.mark.parametrize("draw", [course.writers, course.readers, course.phases], ids=lambda f: f.__name__)
def test_a_picture_of_a_trace_asks_for_one_of_its_launches(trace, draw):
    pytest.importorskip("matplotlib")
    for given in (trace, trace.launches, None):
        with pytest.raises(TypeError, match=rf"{draw.__name__}: launch is a \w+; it is one launch .* such as t\[0\]"):
            draw(given, "part")
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
    for repeats in (0, -1, "many"):
        with pytest.raises(ValueError, match=f"seconds: repeats is {repeats!r}; .* 1 or more"):
            course.seconds(lambda: 1, repeats)
    assert 0 <= course.seconds(lambda: 1, 1) < 60
