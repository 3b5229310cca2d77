"""What the sanitizer says of particular kernels: mistakes it once missed, and alarms that were false."""

import re

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.trace.recorder import ENDLESS, _beginnings


def judged(text, *args, n=8, local=8, **roles):
    """What is found, as (kind, line)."""
    report = gg.sanitize(text, *args, global_size=n, local_size=local, **roles)
    return [(f.kind, f.line) for f in report], str(report)


COUNTER = """__kernel void k(__global int *o) {
  __local int c;
  FIRST
  atomic_inc(&c);
  barrier(CLK_LOCAL_MEM_FENCE);
  o[get_local_id(0)] = c;
}"""


def test_an_atomic_reads_what_it_updates():
    def of(first):
        return judged(COUNTER.replace("FIRST", first), Array.from_numpy(np.zeros(8, "i4")))

    found, text = of("")
    assert found == [("uninitialised read", 4)] and "updates c, which nobody has written" in text
    assert of("if (get_local_id(0) == 0) c = 0; barrier(CLK_LOCAL_MEM_FENCE);")[0] == []
    assert of("atomic_xchg(&c, 0); barrier(CLK_LOCAL_MEM_FENCE);")[0] == []
    found, _ = judged("__kernel void k(__global int *o) { atomic_inc(o); }", Array.empty((1,), np.dtype("i4")))
    assert found == [("uninitialised read", 1)]


def test_a_compare_and_swap_loop_behind_a_macro_is_no_race():
    text = """#define CAS atomic_cmpxchg
__kernel void k(__global int *o) {
  int seen = *o, was;
  while ((was = CAS(o, seen, seen + 1)) != seen) seen = was;
}"""
    assert judged(text, Array.from_numpy(np.zeros(1, "i4")))[0] == []


def test_never_written_counts_bytes():
    wide = "__kernel void k(__global int *o) { ((__global long *)o)[get_global_id(0)] = 1; }"
    o = Array.from_numpy(np.zeros(16, "i4"))
    assert judged(wide, o, o="out N")[0] == []
    narrow = "__kernel void k(__global int *o) { ((__global uchar *)o)[4 * get_global_id(0)] = 1; }"
    assert judged(narrow, o, n=16, o="out N")[0] == [("never written", 0)]


def test_off_by_one_is_said_only_where_nothing_reaches_further():
    x = Array.from_numpy(np.zeros(64, "f4"))
    for index, said in (("i + 1", True), ("2 * i", False)):
        text = f"__kernel void k(__global float *a) {{ int i = get_global_id(0); a[{index}] = 1; }}"
        assert ("Off by one" in judged(text, x, n=64, local=64)[1]) is said


def test_a_cell_that_races_within_groups_and_across_counts_once():
    text = "__kernel void k(__global int *o) { o[get_local_id(0) / 2] = get_global_id(0); }"
    report = gg.sanitize(text, Array.from_numpy(np.zeros(4, "i4")), global_size=16, local_size=8)
    assert [f.count for f in report] == [4] and "(4 cells are affected.)" in str(report)


def test_a_switch_with_cases_0_and_1_is_told_by_its_cases():
    text = """__kernel void k(__global int *o) {
  switch (get_local_id(0) % 2) {
    case 0: barrier(CLK_LOCAL_MEM_FENCE); break;
    case 1: o[0] = 1;
  }
}"""
    found, said = judged(text, Array.from_numpy(np.zeros(1, "i4")))
    assert found[0] == ("barrier divergence", 2) and "goes to case 0, but" in said and "true" not in said


def test_one_is_said_in_the_singular():
    text = "__kernel void k(__global int *o) { o[get_global_id(0)] = 1; }"
    _, said = judged(text, Array.from_numpy(np.zeros(1, "i4")))
    assert "o has 1 element (0 to 0)" in said


def test_an_endless_loop_with_lost_events_does_not_claim_to_have_counted():
    x = Array.from_numpy(np.zeros(8, "f4"))
    k = gg.kernel("__kernel void k(__global float *x) { while (1) x[get_global_id(0)] += 1; }")
    with gg.trace(fuel=3000, budget=16 * 10000) as t:
        k(x, global_size=8, local_size=8)
    assert re.search(r"work-items?, at least\.\)", str(t[0].report()))
    assert t[0].lost and "turns are all alike" in str(t)


def test_an_endless_loop_hides_no_other_mistake_and_takes_no_memory_for_its_turns():
    text = """__kernel void k(__global float *x) {
  int i = get_global_id(0);
  x[i + 1] = 1;
  while (x[i] >= 0) { x[i] += 1; }
}"""
    report = gg.sanitize(text, Array.from_numpy(np.zeros(64, "f4")), global_size=64, local_size=64)
    assert {(f.kind, f.line) for f in report} == {("out of bounds", 3), ("data race", 3), ("endless loop", 4)}
    assert "writes x[64]" in str(report) and len(report.launch.columns) <= ENDLESS


def test_the_beginnings_of_an_endless_launch_are_shared_alike():
    room = np.array([3, 100, 0, 100, 7])
    assert _beginnings(room, 40).tolist() == [3, 15, 0, 15, 7]
    assert _beginnings(room, 210).tolist() == room.tolist()
    assert _beginnings(room, 9).tolist() == [2, 2, 0, 2, 2]
    assert _beginnings(room, 2).sum() == 2


@pytest.mark.parametrize("ctype", ["long", "short", "char", "ulong"])
def test_a_pointer_to_elements_of_another_size_is_refused(ctype):
    k = gg.kernel(f"__kernel void k(__global {ctype} *o) {{ o[0] = 1; }}")
    with pytest.raises(gg.KernelArgumentError, match=f"points to {ctype}, . bytes? each; got an array of int32"):
        k(Array.from_numpy(np.zeros(4, "i8")), global_size=1)
    k(Array.from_numpy(np.zeros(8, "u1")), global_size=1)  # bytes stand for anything


PIXELS = """typedef struct { uchar r, g, b; } Pixel;
__kernel void k(__global Pixel *p) { int i = get_global_id(0); Pixel q = p[i]; q.r = i; p[i] = q; }"""
HOLES = """typedef struct { char c; float x; } Pair;
__kernel void k(__global float *o) {
  int i = get_global_id(0);
  __local Pair t[8];
  t[i].c = i;
  t[i].x = o[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  Pair other = t[7 - i];
  o[i] = other.x + other.c;
}"""
PACKED = """typedef struct __attribute__((packed)) { char c; float x; } Pair;
__kernel void k(__global Pair *p) { p[get_global_id(0)].x = 1.5f; }"""


def test_structs_touch_their_fields_alone_wherever_these_lie():
    for text, x in ((PIXELS, np.zeros(24, "u1")), (HOLES, np.ones(8, "f4")), (PACKED, np.zeros(40, "u1"))):
        array = Array.from_numpy(x)
        assert judged(text, array)[0] == []
    assert array.numpy().reshape(8, 5)[:, 1:].copy().view("f4").tolist() == [[1.5]] * 8


def test_a_misaligned_struct_is_told_and_read_as_zeros():
    text = """typedef struct { int a, b; } Pair;
__kernel void k(__global const uchar *p, __global int *o) {
  Pair q = *(__global const Pair *)(p + 1);
  o[0] = q.a | q.b;
}"""
    p, o = Array.from_numpy(np.full(16, 255, "u1")), Array.from_numpy(np.ones(1, "i4"))
    found, said = judged(text, p, o, n=1, local=1)
    assert found == [("misaligned", 3)] and "uses a struct at byte 1 of p, where its fields are not aligned" in said
    assert o.numpy().tolist() == [0]


def test_a_vector_past_a_private_array_is_told_by_its_first_element_outside():
    text = "__kernel void k(__global float *o, int n) { float t[6] = {0}; o[0] = vload4(n, t + 2).x; }"
    for n, outside in ((0, None), (1, 6), (2, 10), (-1, -2)):
        _, said = judged(text, Array.from_numpy(np.ones(1, "f4")), n, n=1, local=1)
        told = f"to element {outside} of a private array of 6 elements (0 to 5)"
        assert told in said if outside is not None else "no mistakes" in said


def test_a_group_is_named_by_its_dimensions_wherever_it_stands():
    text = """__kernel void k(__global float *o) {
  if (get_group_id(1) == 1 && get_local_id(0) == 0) barrier(CLK_LOCAL_MEM_FENCE);
}"""
    found, said = judged(text, Array.from_numpy(np.zeros(1, "f4")), n=(4, 2), local=(2, 1))
    assert found == [("barrier divergence", 2)]
    assert "in group (0, 1) this is true for 1 work-item and false for 1: true for work-item 0 of group (0, 1)" in said
