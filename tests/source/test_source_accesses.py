"""What exactly is recorded: which cells, in which order, at which place in the text."""

import numpy as np
import pytest
from source.runner import CASES, Case, data, run_recorded

from gpugrad.source import instrument


def recorded(name):
    return run_recorded(CASES[name], data(CASES[name]))


def of_item(recorded, item):
    return [(kind, buffer, offset) for w, kind, buffer, offset in recorded.cells() if w == item]


def test_the_right_hand_side_is_read_before_the_left_is_written():
    assert of_item(recorded("load_and_store"), 3) == [("load", "a", 12), ("load", "b", 12), ("store", "out", 12)]


def test_a_compound_assignment_is_one_load_and_one_store():
    events = of_item(recorded("compound_assignment"), 2)
    assert events[:2] == [("load", "a", 8), ("store", "a", 8)]
    assert len(events) == 2 * 10 + 1 + 3  # ten of them, o[i] read once, o[i] = a[i] += 5


def test_an_operand_that_is_not_evaluated_is_not_recorded():
    events = recorded("short_circuit_and").cells()
    assert max(offset for _, kind, buffer, offset in events if buffer == "a") == 4 * 15
    assert of_item(recorded("lazy_conditional"), 0) == [("load", "a", 4), ("store", "o", 0)]


def test_sizeof_reads_nothing():
    assert of_item(recorded("sizeof_reads_nothing"), 1) == [("store", "o", 4)]


def test_only_the_components_that_are_used_are_touched():
    events = of_item(recorded("component_by_arrow"), 1)
    assert events == [
        ("load", "a", 28), ("store", "a", 16),  # p->x = p->w
        ("load", "a", 24), ("load", "a", 28), ("store", "a", 24), ("store", "a", 28),  # p->zw +=
        ("load", "a", 20), ("store", "a", 20),  # p->y++
    ]  # fmt: skip


def test_a_vector_is_one_event_for_each_component():
    events = of_item(recorded("vector_moves"), 0)
    assert [e for e in events if e[0] == "load"] == [("load", "a", 4 * k) for k in (0, 1, 2, 3, 1, 2, 3)]
    assert events[7:11] == [("store", "o", 4 * k) for k in range(4)]


def test_fields_of_structs_are_recorded_at_their_bytes():
    events = of_item(recorded("struct_with_holes"), 1)  # char at 0, double at 8, short[3] at 16; 24 bytes
    assert events == [("store", "t", 24), ("store", "t", 32), ("load", "t", 42), ("store", "t", 42)]


def test_local_arrays_are_buffers_too():
    events = of_item(recorded("reverse"), 1)
    assert events == [("load", "a", 4), ("store", "t", 4), ("load", "t", 8), ("store", "a", 4)]


def test_a_pointer_is_followed_through_variables_and_functions():
    events = of_item(recorded("helpers_with_two_spaces"), 2)
    assert events[:2] == [("load", "a", 8), ("store", "t", 8)]
    assert events[2:4] == [("load", "a", 8), ("load", "t", 0)]
    assert events[-1] == ("store", "o", 8)


def test_constant_memory_is_recorded_where_it_is_indexed():
    events = of_item(recorded("argument"), 5)
    assert ("load", "c", 20) in events
    assert ("load", "W", 8) in events


UNFOLLOWED = """__constant float W[3] = {1, 2, 3}, M[2][2] = {{1, 2}, {3, 4}};
typedef struct { float a; float b[2]; } Pair;
__constant Pair T[2] = {{1, {2, 3}}, {4, {5, 6}}};
__constant int N = 3;
float third(__constant float *w) { return w[2]; }
float never(__constant float *w) { return w[0]; }
__kernel void k(__global float *o, __constant float4 *v, __constant float *c) {
    o[0] = W[1] + c[N] + (c)[1] + v[0].x;
    __constant float *p = &c[1];
    o[1] = M[1][1];
    o[2] = T[1].a;
    o[3] = T[1].b[0];
    o[4] = *p + v[0].y;
    o[5] = vload2(0, c).x;
    o[6] = third(W) + sizeof(p[2]);
    o[7] = W[2];
}"""


def test_rows_and_components_of_constant_memory_are_recorded():
    r = recorded("program_scope")
    events = of_item(r, 5)  # a[5] *= W[5 % 3] + M[5 % 2][5 % 3] + V[5 % 2].y + ...
    assert events[0] == ("load", "a", 20)
    assert events[1:-1] == [("load", "W", 8), ("load", "M", 4 * (3 + 2))] + [
        ("load", "V", 16 + 4 * k) for k in range(4)
    ]


def test_what_is_read_of_constant_memory_without_an_event_is_listed():
    assert instrument(UNFOLLOWED).unfollowed == (5, 11, 12, 13, 14)
    assert instrument("__constant float W[3] = {1, 2, 3};\n"
                      "__kernel void k(__global float *o) { o[0] = W[2]; }").unfollowed == ()  # fmt: skip


def test_an_index_is_written_once():
    made = instrument("__kernel void k(__global int *a) { __local int t[2][2]; t[0][a[0]] = 1; a[1] = t[0][0]; }")
    assert [s.text for s in made.sites if s.kind == "load"].count("a[0]") == 1


def test_an_atomic_is_one_event_with_the_new_value():
    r = recorded("histogram")
    last = [i for i, s in enumerate(r.sites) if s.text.startswith("atomic_inc")]
    assert sorted(int(v) for v in r.rows[last, 2]) == list(range(1, 17))
    assert {s.kind for s in r.sites} == {"load", "atomic"}


def test_values_are_the_bits_in_memory():
    r = recorded("load_and_store")
    args = data(CASES["load_and_store"])
    loads = [i for i, s in enumerate(r.sites) if s.text == "a[i]"]
    assert r.rows[loads, 2].view("f4").tolist() == args[0].tolist()


def test_a_site_knows_its_line_column_and_text():
    text = "__kernel void k(__global float *a) {\n  int i = get_global_id(0);\n  a[i]  = a[ i+1 ] * 2;\n}"
    made = instrument(text)
    store, load = sorted(made.sites, key=lambda s: s.start)
    assert (store.line, store.column, store.text) == (3, 3, "a[i]")
    assert (load.line, load.column, load.text) == (3, 11, "a[ i+1 ]")
    assert text[load.start : load.end] == load.text


def test_positions_hold_after_joined_lines_and_comments():
    text = "#define TWO \\\n  2\n/* two\nlines */ __kernel void k(__global float *a) { /* é */ a[TWO] \\\n = 1; }"
    (site,) = instrument(text).sites
    assert text[site.start : site.end] == site.text == "a[TWO]"
    assert (site.line, site.column, site.macro) == (4, text.split("\n")[3].index("a[TWO]") + 1, "TWO")


def test_inside_a_macro_the_site_is_the_call():
    text = "#define A(r, c) a[(r) * n + (c)]\n__kernel void k(__global float *a, int n) {\n  A(1, 2) = A(0, a[3]);\n}"
    sites = {s.text: s for s in instrument(text).sites}
    assert set(sites) == {"A(1, 2)", "A(0, a[3])", "a[3]"}
    assert (sites["A(1, 2)"].macro, sites["a[3]"].macro) == ("A", "")
    assert (sites["a[3]"].line, sites["a[3]"].column) == (3, 18)


def test_watched_variables_are_recorded_when_assigned():
    text = "__kernel void k(__global float *a) { float s = 1; for (int k = 0; k < 2; k++) s += a[k]; a[0] = s; }"
    made = instrument(text, watch=("s", "k"))
    case = Case("", "k", text, (1,), (1,), ())
    r = run_recorded(case, [np.array([10, 20], "f4")], made)
    watched = [(s.name, row[2]) for s, row in zip(r.sites, r.rows) if s.kind == "assign"]
    floats = {n: [float(np.uint32(v).view("f4")) for m, v in watched if m == n] for n in ("s",)}
    assert floats["s"] == [1, 11, 31]
    assert [int(v) for n, v in watched if n == "k"] == [0, 1, 2]


@pytest.mark.parametrize("name", ["reverse", "tree_sum", "barriers_in_do_and_while"])
def test_each_work_item_meets_the_same_barriers(name):
    r = recorded(name)
    met = [[s.line for s, w in zip(r.sites, r.item) if w == item and s.kind == "barrier"] for item in range(4)]
    assert met[0] and met[0] == met[1] == met[2] == met[3]
