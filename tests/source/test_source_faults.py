"""What a recorded kernel does about mistakes: it says so, leaves memory alone, and ends."""

import numpy as np
import pytest
from source.runner import Case, run_recorded

from gpugrad.source import instrument


def run(text, args, global_size=(8,), local_size=(8,), **options):
    made = instrument(text, **options)
    case = Case("", made.kernel.name, text, global_size, local_size, ())
    return run_recorded(case, args, made)


def floats(n, start=0):
    return np.arange(start, start + n, dtype="f4")


def test_a_store_past_the_end_is_told_and_suppressed():
    text = "__kernel void k(__global float *a, __global float *b) {\n int i = get_global_id(0);\n a[i + 1] = 100 + i; }"
    r = run(text, [floats(8), floats(8)])
    assert r.faults() == [("store", 3, 7)]
    assert r.outputs[0].tolist() == [0, 100, 101, 102, 103, 104, 105, 106]
    assert r.outputs[1].tolist() == floats(8).tolist()


def test_a_load_out_of_bounds_gives_zero():
    text = "__kernel void k(__global float *a, __global float *b) { int i = get_global_id(0); b[i] = a[i - 1]; }"
    r = run(text, [floats(8, 5), floats(8)])
    assert r.faults() == [("load", 1, 0)]
    assert r.outputs[1].tolist() == [0, 5, 6, 7, 8, 9, 10, 11]


def test_an_index_far_outside_is_blamed_on_its_own_array():
    text = "__kernel void k(__global float *a, __global float *b) { a[get_global_id(0) + 100000] = 1; }"
    r = run(text, [floats(8), floats(8)])
    assert {c[2] for c in r.cells()} == {"a"}
    assert len(r.faults()) == 8


@pytest.mark.parametrize("body", ["p[8] = 1;", "*(p + 8) = 1;", "p += 8; *p = 1;", "put(p + 8);", "put(&p[8]);",
                                  "atomic_add((__global int *)p + 8, 1);", "vstore2((float2)(1), 4, p);",
                                  "((__global float2 *)p)[4] = (float2)(1);"])  # fmt: skip
def test_every_way_of_writing_is_checked(body):
    text = f"""void put(__global float *q) {{ *q = 1; }}
__kernel void k(__global float *a) {{ __global float *p = a; if (get_global_id(0) == 3) {{ {body} }} }}"""
    r = run(text, [floats(8)])
    assert {(w, line >= 1) for _, line, w in r.faults()} == {(3, True)}
    assert r.outputs[0].tolist() == floats(8).tolist()


def test_local_memory_is_checked():
    text = """__kernel void k(__global float *a) { __local float t[8]; int l = get_local_id(0);
 t[l + 1] = a[l]; barrier(CLK_LOCAL_MEM_FENCE); a[l] = l ? t[l] : 0; }"""
    r = run(text, [floats(8)])
    assert r.faults() == [("store", 2, 7)]
    assert r.outputs[0].tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_an_index_past_the_end_of_a_row_is_told():
    text = """__kernel void k(__global float *a) { __local float t[4][8]; int l = get_local_id(0);
 for (int r = 0; r < 4; r++) t[r][l] = 1;
 barrier(CLK_LOCAL_MEM_FENCE);
 a[l] = t[1][l + 1]; }"""
    assert run(text, [floats(8)]).faults() == [("row", 4, 7)]


def test_an_index_outside_a_private_array_is_told():
    text = """__kernel void k(__global float *a) { int i = get_global_id(0);
 float t[4] = {1, 2, 3, 4};
 a[i] = t[i]; }"""
    r = run(text, [floats(8)])
    assert r.faults() == [("private", 3, i) for i in range(4, 8)]
    assert r.outputs[0].tolist() == [1, 2, 3, 4, 1, 1, 1, 1]


ASTRAY = """typedef struct { int a; float b[3]; } Pair;
void fill(float *p, int n) {
  for (int k = 0; k <= n; k++)
    p[k] = 1;
}
float *at(float *p, long i) { return p + i; }
void set(Pair *s, int i) {
  s[i].a = 2;
}
__kernel void k(__global float *a, int one) {
  int i = get_global_id(0);
  float t[4], u[2] = {5, 6}, *p = t, *none = 0, x = 7;
  Pair s = {1};
  fill(t, 4);
  set(&s, one);
  float far = *at(u, one * 3000000);
  float back = p[-one];
  *none = 3;
  float wide = vload4(one, u + 1).x;
  float4 v = (float4)(8);
  float lane = ((float *)&v)[4 * one];
  float c = sincos(x, &x + one);
  p += 4;
  float past = *p++;
  a[i] = u[0] + u[1] + s.a + far + back + wide + lane + past;
}"""


def test_a_pointer_out_of_a_private_variable_is_told_and_reaches_nothing():
    r = run(ASTRAY, [floats(4), np.int32(1)], (4,), (4,))
    lines = (4, 8, 16, 17, 18, 19, 21, 22, 24)
    assert set(r.faults()) == {("private", line, i) for line in lines for i in range(4)}
    assert r.outputs[0].tolist() == [12] * 4  # 5 + 6 + 1, and 0 for whatever lies outside


def test_a_pointer_within_private_variables_is_left_in_peace():
    text = """typedef struct { int a; float b[3]; } Pair;
void rows(float (*m)[4]) { for (int j = 0; j < 12; j++) m[j / 4][j % 4] = j; }
__kernel void k(__global float *a) {
 float m[3][4], t[4] = {1, 2, 3, 4}, c, s = 0; int i = get_global_id(0); __global float *g = a, **gs = &g;
 Pair pair = {i, {1, 2, 3}}, *q = &pair; float *ps[2] = {t, pair.b}, *p = i & 1 ? t : pair.b;
 rows(m); q->b[1] = p[1]; *p++ = 9; vstore2((float2)(7, 8), 1, t);
#pragma unroll
 for (int k = 0, *n = &k; k < 3; (*n)++) s += ps[1][*n] + *(*(m + *n) + 3);
 switch (i) { float w[2]; default: p = w; p[1] = sincos(s, &c); s += *(w + 1) + ((uchar *)&i)[0]; }
 (*gs)[i] = s + vload4(0, t).w + *(float *)&q->a; }"""
    r = run(text, [floats(4)], (4,), (4,))
    assert r.faults() == []
    assert np.isfinite(r.outputs[0]).all()


def test_a_constant_index_outside_is_told():
    text = """__constant float W[3] = {1, 2, 3};
__kernel void k(__global float *a) { a[get_global_id(0)] = W[get_global_id(0)]; }"""
    r = run(text, [floats(8)])
    assert r.faults() == [("load", 2, i) for i in range(3, 8)]
    assert r.outputs[0].tolist() == [1, 2, 3, 0, 0, 0, 0, 0]


def test_in_constant_memory_an_index_past_its_row_is_told_and_one_past_the_array_left_out():
    text = """__constant float M[2][3] = {{1, 2, 3}, {4, 5, 6}};
__kernel void k(__global float *a) { int i = get_global_id(0); a[i] = M[i / 3][i % 3 + 1]; }"""
    r = run(text, [floats(6)], (6,), (3,))
    assert sorted(r.faults()) == [("load", 2, 5), ("row", 2, 2), ("row", 2, 5)]
    assert r.outputs[0].tolist() == [2, 3, 4, 5, 6, 0]


def test_a_misaligned_vector_is_told_and_suppressed():
    text = "__kernel void k(__global float *a) {\n *(__global float4 *)(a + get_global_id(0)) = (float4)(9); }"
    r = run(text, [floats(12)])
    assert {w for _, _, w in r.faults()} == {1, 2, 3, 5, 6, 7}
    assert r.outputs[0].tolist() == [9] * 8 + [8, 9, 10, 11]


DIVERGENT = {
    "barrier in an if": "if (l < 4) barrier(CLK_LOCAL_MEM_FENCE);",
    "early return": "if (l > 5) return; barrier(CLK_LOCAL_MEM_FENCE);",
    "early return in a loop": "for (int k = 0; k < 2; k++) { if (l == k) return; } barrier(CLK_LOCAL_MEM_FENCE);",
    "turns of a for": "for (int k = 0; k < l; k++) barrier(CLK_LOCAL_MEM_FENCE);",
    "turns of a while": "int k = l; while (k-- > 0) { barrier(CLK_LOCAL_MEM_FENCE); }",
    "turns of a do": "int k = 0; do { barrier(CLK_LOCAL_MEM_FENCE); } while (++k < l);",
    "break": "for (int k = 0; k < 3; k++) { if (k == l) break; barrier(CLK_LOCAL_MEM_FENCE); }",
    "continue": "for (int k = 0; k < 3; k++) { if (k == l) continue; barrier(CLK_LOCAL_MEM_FENCE); }",
    "switch": "switch (l) { case 1: barrier(CLK_LOCAL_MEM_FENCE); break; default: a[l] = 2; }",
    "goto": "if (l == 2) goto end; barrier(CLK_LOCAL_MEM_FENCE); end: ;",
    "in a helper": "if (l == 1) meet();",
    "return in a switch in a loop": "for (;;) { switch (l) { case 3: return; } break; } barrier(CLK_LOCAL_MEM_FENCE);",
}


@pytest.mark.parametrize("body", DIVERGENT.values(), ids=DIVERGENT)
def test_work_items_that_part_before_a_barrier_are_told_and_stopped(body):
    text = f"""void meet() {{ barrier(CLK_LOCAL_MEM_FENCE); }}
__kernel void k(__global float *a) {{ int l = get_local_id(0);
 {body}
 a[l] = 99; }}"""
    r = run(text, [floats(8)])
    assert {(kind, line) for kind, line, _ in r.faults()} == {("branch", 3)}
    assert {w for *_, w in r.faults()} == set(range(8))
    assert 99 not in r.outputs[0]  # the group touches nothing after it parted


def test_groups_may_take_different_ways():
    text = """__kernel void k(__global float *a) { int l = get_local_id(0); __local float t[4]; t[l] = l;
 if (get_group_id(0)) { barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[3 - l]; } }"""
    r = run(text, [floats(8)], (8,), (4,))
    assert r.faults() == []
    assert r.outputs[0].tolist() == [0, 1, 2, 3, 3, 2, 1, 0]


@pytest.mark.parametrize("loop", ["while (1) a[0] = 1;", "for (;;) ;", "do { } while (a[0] == a[0]);",
                                  "for (int i = 0; i >= 0; i -= 0) a[1] += 1;", "again: a[1] += 1; goto again;",
                                  "again: if (a[0] < 9) { a[1] += 1; goto again; }"])  # fmt: skip
def test_an_endless_loop_ends_and_is_told(loop):
    r = run(f"__kernel void k(__global float *a) {{\n {loop} a[2] = 5; }}", [floats(8)], (1,), (1,), fuel=1000)
    assert r.faults()[-1][:2] == ("fuel", 2)


def test_a_goto_backwards_that_ends_is_a_loop_like_others():
    text = """int twice(int n) { int k = 0, s = 0; again: s += 2; if (++k < n) goto again; return s; }
__kernel void k(__global float *a) { int i = 0, l = get_local_id(0);
next: ; float v = a[l] + i;
 if (v > 100) goto end;
 a[l] = v; i++;
 if (i < 3) goto next;
 barrier(CLK_GLOBAL_MEM_FENCE);
 a[l] += twice(5);
end: ; }"""
    r = run(text, [floats(8)])
    assert r.faults() == []
    assert r.outputs[0].tolist() == [13 + i for i in range(8)]


@pytest.mark.parametrize("term", [" + a[{}]", " - {} * a[1]", " && a[{}]"])
def test_a_sum_of_thousands_of_terms_is_recorded_like_any_other(term):
    made = instrument("__kernel void k(__global int *a, __global float *b) {\n b[0] = 1"
                      + "".join(term.format(i % 9) for i in range(4000)) + "; }")  # fmt: skip
    assert len(made.sites) == 4001
    constant = "__kernel void k(__global int *a) { int t[1" + " + 1" * 4000 + "]; t[a[0]] = 1; a[1] = t[4000]; }"
    assert "gg_private(gg, 2u, 4000, 4001)" in instrument(constant).text


def test_an_endless_loop_with_a_barrier_ends():
    text = "__kernel void k(__global float *a) { while (1) barrier(CLK_LOCAL_MEM_FENCE); }"
    r = run(text, [floats(8)], fuel=100)
    assert {kind for kind, *_ in r.faults()} == {"fuel"}


def test_faults_only_records_nothing_else():
    text = """__kernel void k(__global float *a) { int i = get_global_id(0);
 for (int k = 0; k < 3; k++) a[i + k] = a[i] + 1; }"""
    r = run(text, [floats(8)], faults_only=True)
    assert r.faults() == [("store", 2, 6), ("store", 2, 7), ("store", 2, 7)]
    assert len(r.rows) == 3
