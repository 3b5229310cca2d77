"""The sanitizer finds the mistakes of labelled kernels at their lines, and nothing in the correct ones."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sampling import FULL

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.trace import KernelFault, Session
from gpugrad.trace.recorder import Options
from gpugrad.trace.sanitizer import report_on

TEXT = (Path(__file__).parent / "labelled.cl").read_text()
TYPES = {"float": "f4", "int": "i4", "uchar": "u1"}


@dataclass(frozen=True)
class Case:
    name: str
    kind: str  # or "ok"
    line: int  # 0: none in particular
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    arguments: tuple[str, ...]
    roles: dict[str, str]


def cases():
    found = {}
    header = r"^//: (.*?) \| (.*?) / (.*?): (.*)\n__kernel void (\w+)\((.*?)\) \{(?:.*\n)*?(?=^$|\Z)"
    for m in re.finditer(header, TEXT, re.M):
        here = m.group().find("// HERE")
        line = TEXT[: m.start() + here].count("\n") + 1 if here >= 0 else 0
        sizes = tuple(tuple(int(n) for n in g.split(",")) for g in m.group(2, 3))
        names = [p.split()[-1].strip("*") for p in m.group(6).split(",")]
        arguments = tuple(m.group(4).split(", "))
        roles = {n: "out N" for n, a in zip(names, arguments) if a.startswith("out ")}
        found[m.group(5)] = Case(m.group(5), m.group(1), line, sizes, arguments, roles)
    return found


CASES = cases()


def arguments(case):
    rng = np.random.default_rng(1)
    for text in case.arguments:
        m = re.fullmatch(r"(?:(out|empty|local) )?(\w+)(?:\[(\d+)\])?(?:=(\d+))?", text)
        dtype, n = np.dtype(TYPES[m.group(2)]), m.group(3)
        if n is None:
            yield int(m.group(4))
        elif m.group(1) == "local":
            yield gg.Local(int(n), dtype)
        elif m.group(1) == "empty":
            yield Array.empty((int(n),), dtype)
        else:
            host = rng.integers(1, 40, int(n)) if dtype.kind in "iu" else rng.uniform(1, 8, int(n))
            yield Array.from_numpy(host.astype(dtype))


def check(case):
    kernel = gg.kernel(TEXT, case.name, **case.roles)
    session = Session(Options(fuel=5000), None, None)
    with session as t:
        kernel(*arguments(case), global_size=case.sizes[0], local_size=case.sizes[1])
    return report_on(t[0])


def test_there_are_five_of_each_kind():
    kinds = [k for c in CASES.values() for k in c.kind.split(" + ")]
    for kind in gg.trace.report.KINDS:
        assert kinds.count(kind) >= 5, kind
    assert kinds.count("ok") >= 12


def quick():
    """The first two of each kind are for every day."""
    seen: dict[str, int] = {}
    for name, case in CASES.items():
        seen[case.kind] = seen.get(case.kind, 0) + 1
        yield pytest.param(name, marks=() if seen[case.kind] <= 2 else FULL)


@pytest.mark.parametrize("name", list(quick()))
def test_a_labelled_kernel_is_judged_right(name):
    case = CASES[name]
    report = check(case)
    assert {f.kind for f in report} == (set(case.kind.split(" + ")) - {"ok"}), str(report)
    if case.line:
        lines = {s.line for f in report for s in f.sites}
        assert case.line in lines, str(report)


def test_a_report_is_plain_sentences_with_the_line_underlined():
    text = """__kernel void add(__global const float *a, __global float *out, int n) {
  int i = get_global_id(0);
  if (i <= n)
    out[i] = a[i];
}"""
    a, out = Array.from_numpy(np.ones(1000, "f4")), Array.from_numpy(np.ones(1000, "f4"))
    report = gg.sanitize(text, a, out, 1000, global_size=1024, local_size=64)
    assert not report.ok
    assert str(report) == (
        "add: 2 mistakes\n\n"
        "OUT OF BOUNDS, line 4: work-item 40 of group 15 reads a[1000], but a has 1000 elements (0 to 999). "
        "Off by one: the last element is number 999. The access was left out and 0 used.\n"
        "     4 |     out[i] = a[i];\n       |              ^^^^\n\n"
        "OUT OF BOUNDS, line 4: work-item 40 of group 15 writes out[1000], but out has 1000 elements (0 to 999). "
        "Off by one: the last element is number 999. The access was left out.\n"
        "     4 |     out[i] = a[i];\n       |     ^^^^^^"
    )
    assert repr(report) == "<Report on add: 2 findings>"
    assert "work-item 40" in report._repr_html_() and "<pre>" in report._repr_html_()


def test_a_race_names_both_parties_and_gives_their_events():
    report = check(CASES["barrier_forgotten"])
    (f,) = report.findings
    assert repr(report).endswith(": 1 finding>")
    assert str(f).startswith(
        "DATA RACE, line 95: work-item 0 of group 0 writes t[0] in local memory, and work-item 7 of group 0 reads it "
        "(line 96). No barrier lies between them, so either can come first. (8 cells are affected.)"
    ) or "No barrier lies between them" in str(f)
    a, b = f.events
    e = report.launch.events
    assert {str(e[a]["kind"]), str(e[b]["kind"])} == {"load", "store"}
    assert e[a]["index"] == e[b]["index"] and e[a]["work_item"] != e[b]["work_item"]


def test_an_index_is_told_in_the_arrays_shape():
    x = Array.from_numpy(np.zeros((3, 4), "f4"))
    k = gg.kernel("__kernel void k(__global float *x) { x[7] = get_global_id(0); }")
    report = gg.sanitize(k, x, global_size=2, local_size=2)
    assert "x[7] (that is [1, 3] of (3, 4))" in str(report)


def test_one_array_given_twice_is_one_piece_of_memory():
    text = """__kernel void k(__global const float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[7 - i];
}"""
    x, y = Array.from_numpy(np.ones(8, "f4")), Array.from_numpy(np.ones(8, "f4"))
    assert gg.sanitize(text, x, y, global_size=8, local_size=8).ok
    (f,) = gg.sanitize(text, x, x.reshape(2, 4), global_size=8, local_size=8)
    assert (f.kind, f.line) == ("data race", 3)
    own = "__kernel void k(__global const float *a, __global float *b) { int i = get_global_id(0); b[i] = a[i] + 1; }"
    assert gg.sanitize(own, x, x, global_size=8, local_size=8).ok


def test_an_index_too_large_for_an_event_is_told_as_a_bound():
    text = "__kernel void k(__global float *x) { x[get_global_id(0) * 2000000000L - 1000000000L] = 1; }"
    report = gg.sanitize(text, Array.from_numpy(np.ones(8, "f4")), global_size=2, local_size=2)
    assert "x[-536870912 or less], but x has 8 elements" in str(report)


def test_an_endless_loop_ends_soon_and_is_no_question_of_order():
    text = (
        "__kernel void k(__global float *x) { while (1) { x[get_global_id(0)] += 1; barrier(CLK_LOCAL_MEM_FENCE); } }"
    )
    x = Array.from_numpy(np.ones(8, "f4"))
    report = gg.sanitize(text, x, global_size=8, local_size=8, fuel=3000)
    assert [f.kind for f in report] == ["endless loop"] and "fuel=" in str(report)
    with gg.trace(fuel=3000, budget=16 * 1000) as t:  # which holds but a part of its events
        gg.kernel(text)(x, global_size=8, local_size=8)
    assert t[0].repeatable and t[0].lost > 0
    with pytest.raises(ValueError, match="fuel is 0"):
        gg.sanitize(text, x, global_size=8, fuel=0)


def test_sanitizer_raises_at_the_first_fault():
    x = gg.zeros(4)
    k = gg.kernel("__kernel void k(__global float *x) { x[get_global_id(0) + 1] = 1; }")
    with pytest.raises(KernelFault, match="Off by one") as caught, gg.sanitizer():
        k(x, global_size=4)
    assert not caught.value.report.ok
    with gg.sanitizer() as skipped:
        y = (gg.ones((3, 4)) @ gg.ones((4, 2))).sum()
    assert y.item() == 24 and skipped == []


def test_a_block_says_which_launches_its_budget_did_not_hold():
    x, k = gg.zeros(64), gg.kernel("__kernel void k(__global float *x) { x[get_global_id(0)] = 1; }")
    with gg.sanitizer(budget=16 * 10) as skipped:
        k(x, global_size=64)
    assert [name for name, _ in skipped] == ["k"] and "54 events found no room" in skipped[0][1]
    report = gg.sanitize(k, x, global_size=64, budget=16 * 10)
    assert report.ok and "54 events found no room" in str(report)
    assert x.tolist() == [1] * 64


@pytest.mark.parametrize(("budget", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("1", TypeError)])
def test_a_budget_that_holds_no_event_is_refused(budget, error):
    with pytest.raises(error, match="sanitizer: budget is"), gg.sanitizer(budget=budget):
        pass
    with pytest.raises(error, match="sanitize: budget is"):
        gg.sanitize("__kernel void k(__global float *x) { x[0] = 1; }", gg.zeros(1), global_size=1, budget=budget)


@pytest.mark.parametrize(("given", "named"), [({"x": "out N"}, "x"), ({"name": "k"}, "name"), ({"fule": "1"}, "fule")])
def test_what_goes_with_a_text_is_refused_beside_a_kernel_that_is_built(given, named):
    k = gg.kernel("__kernel void k(__global float *x) { x[0] = 1; }")
    with pytest.raises(TypeError, match=f"sanitize: {named} goes with a kernel's text; k is built already"):
        gg.sanitize(k, gg.zeros(1), global_size=1, **given)


def test_what_was_not_recorded_is_said():
    x = Array.from_numpy(np.zeros(8, "f4"))
    k = gg.kernel("__kernel void k(__global float *x) { x[get_global_id(0)] = 1; }", x="out N")
    with gg.trace(work_items=3) as t:
        k(x, global_size=8, local_size=8)
    report = t[0].report()
    assert report.ok
    assert "7 work-items were not recorded" in str(report)


def memory_of(text, *args, **sizes):
    return {m["text"]: m for m in gg.sanitize(text, *args, **sizes).memory}


def test_neighbours_reading_neighbours_need_few_segments():
    text = """__kernel void k(__global const float *a, __global float *b) {
  int i = get_global_id(0);
  b[i] = a[i * 8 % 1024];
}"""
    a, b = Array.from_numpy(np.zeros(1024, "f4")), Array.from_numpy(np.zeros(64, "f4"))
    m = memory_of(text, a, b, global_size=64, local_size=64)
    assert (m["b[i]"]["segments"], m["b[i]"]["useful"]) == (1, 1)
    assert (m["a[i * 8 % 1024]"]["segments"], m["a[i * 8 % 1024]"]["useful"]) == (8, 0.125)


def test_bank_conflicts_are_counted():
    text = """__kernel void k(__global float *a) {
  __local float t[32][32], u[32][33];
  int l = get_local_id(0);
  t[l][0] = 1;
  u[l][0] = 2;
  a[l] = t[l][0] + u[l][0];
}"""
    m = memory_of(text, Array.from_numpy(np.zeros(32, "f4")), global_size=32, local_size=32)
    assert m["t[l][0]"]["conflicts"] == 32
    assert m["u[l][0]"]["conflicts"] == 1


def test_arithmetic_intensity_sets_operations_against_bytes():
    text = """__kernel void k(__global const float *a, __global float *b, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int j = 0; j < n; j++) s += a[j] * a[i];
  b[i] = s;
}"""
    a, b = Array.from_numpy(np.ones(64, "f4")), Array.from_numpy(np.zeros(64, "f4"))
    report = gg.sanitize(text, a, b, 16, global_size=64, local_size=32)
    t = report.traffic
    assert t.operations == 64 * 16 * 2
    assert t.asked == 64 * 16 * 2 * 4 + 64 * 4
    # a[j]: one segment for each turn of 2 warps; a[i]: each warp its own; b[i]: once.
    assert t.moved == (2 * 16 + 2 * 16 + 2) * 128
    assert t.needed == 2 * 64 * 4
    assert t.intensity() == 4.0 and t.intensity("asked") == t.operations / t.asked
    assert report.memory_text().endswith(
        "2048 floating-point operations; bytes of global memory: asked 8448 (0.24 operations a byte), moved 8448 "
        "(0.24 operations a byte), needed 512 (4.00 operations a byte)."
    )
    with pytest.raises(ValueError, match="of is 'all'"):
        t.intensity("all")


def test_traffic_counts_every_byte_once_whatever_the_width():
    text = """__kernel void k(__global float *a, __global int *h) {
  int i = get_global_id(0);
  float4 v = vload4(i, a);
  a[i] = v.x;
  if (i == 0) atomic_inc(h);
}"""
    a, h = Array.from_numpy(np.ones(64, "f4")), Array.from_numpy(np.zeros(4, "i4"))
    t = gg.sanitize(text, a, h, global_size=8, local_size=8).traffic
    assert (t.operations, t.asked, t.needed) == (0, 8 * 16 + 8 * 4 + 8, 128 + 32 + 8)
    nothing = gg.sanitize("__kernel void k(__global float *a) { float x = 1; x += 1; }", a, global_size=8).traffic
    assert (nothing.needed, nothing.intensity()) == (0, 0.0)
    assert "no global memory" in str(nothing)


def test_no_work_items_is_an_error():
    with pytest.raises(ValueError, match="nothing to check"):
        gg.sanitize("__kernel void k(__global float *x) { x[0] = 1; }", gg.zeros(1), global_size=0, local_size=1)
