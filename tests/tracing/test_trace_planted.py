"""A mistake of each kind, planted in five correct kernels, is found at the line where it was planted."""

from dataclasses import dataclass

import numpy as np
import pytest
from sampling import FULL

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.trace import Session
from gpugrad.trace.recorder import Options

# Each kernel has work-items `l` of a group, a float `v` of each, and a 2-D array `t` in local memory.
KERNELS = {}
KERNELS["reverse"] = """__kernel void reverse(__global const float *a, __global float *out, int n) {
  __local float t[2][8];
  int l = get_local_id(0), i = get_global_id(0);
  t[0][l] = i < n ? a[i] : 0;
  t[1][l] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = t[0][7 - l] * t[1][l];
  if (i < n)
    out[i] = v;
}"""
KERNELS["transpose"] = """__kernel void transpose(__global const float *a, __global float *out, int n) {
  __local float t[4][5];
  int x = get_local_id(0), y = get_local_id(1), l = y * 4 + x;
  int column = get_group_id(0) * 4, row = get_group_id(1) * 4;
  t[y][x] = a[(row + y) * n + column + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = t[x][y];
  out[(column + y) * n + row + x] = v;
}"""
KERNELS["reduce"] = """__kernel void reduce(__global const float *a, __global float *out, int n) {
  __local float t[1][8];
  int l = get_local_id(0), i = get_global_id(0);
  float v = i < n ? a[i] : 0;
  t[0][l] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 4; s > 0; s >>= 1) {
    if (l < s)
      t[0][l] += t[0][l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = t[0][0];
}"""
KERNELS["stencil"] = """__kernel void stencil(__global const float *a, __global float *out, int n) {
  __local float t[3][10];
  int l = get_local_id(0), i = get_global_id(0);
  for (int r = 0; r < 3; r++)
    for (int c = l; c < 10; c += 8) {
      int k = get_group_id(0) * 8 + c - 1;
      t[r][c] = k >= 0 && k < n ? a[k] * r : 0;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = t[1][l] + t[2][l + 1] + t[1][l + 2];
  if (i < n) out[i] = v;
}"""
KERNELS["gemm"] = """__kernel void gemm(__global const float *a, __global float *out, int n) {
  __local float t[4][4], u[4][4];
  int x = get_local_id(0), y = get_local_id(1), l = y * 4 + x;
  int row = get_global_id(1), column = get_global_id(0);
  float v = 0;
  for (int k = 0; k < n; k += 4) {
    t[y][x] = a[row * n + k + x];
    u[y][x] = a[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 4; j++)
      v += t[y][j] * u[j][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * n + column] = v;
}"""


@dataclass(frozen=True)
class Run:
    n: int
    a: int
    out: int
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


RUNS = {
    "reverse": Run(13, 13, 13, (16,), (8,)),
    "transpose": Run(8, 64, 64, (8, 8), (4, 4)),
    "reduce": Run(13, 13, 2, (16,), (8,)),
    "stencil": Run(13, 13, 13, (16,), (8,)),
    "gemm": Run(8, 64, 64, (8, 8), (4, 4)),
}

# kind -> in each kernel, what is replaced by what
REPLACED = {
    "out of bounds, read": {
        "reverse": ("i < n ? a[i]", "i <= n ? a[i]"),
        "transpose": ("a[(row + y) * n + column + x]", "a[(row + y + 1) * n + column + x]"),
        "reduce": ("i < n ? a[i]", "i < n ? a[i - 1]"),
        "stencil": ("k >= 0 && k < n", "k < n"),
        "gemm": ("a[row * n + k + x]", "a[row * n + k + x + 1]"),
    },
    "out of bounds, written": {
        "reverse": ("out[i] = v", "out[i + 1] = v"),
        "transpose": ("out[(column + y) * n + row + x]", "out[(column + y) * (n + 1) + row + x]"),
        "reduce": ("out[get_group_id(0)]", "out[i]"),
        "stencil": ("if (i < n) out[i] = v", "out[i] = v"),
        "gemm": ("out[row * n + column]", "out[row * n + column - 1]"),
    },
    "row overflow": {
        "reverse": ("t[0][7 - l]", "t[0][8 - l]"),
        "transpose": ("float v = t[x][y];", "float v = t[0][5 * x + y];"),
        "reduce": ("t[0][l + s]", "t[0][l + 2 * s]"),
        "stencil": ("t[2][l + 1]", "t[1][l + 3]"),
        "gemm": ("t[y][j] * u[j][x]", "t[y & 1][j + 1] * u[j][x]"),
    },
    "data race, global": {
        "reverse": ("out[i] = v", "out[i / 2 * 2] = v"),
        "transpose": ("out[(column + y) * n + row + x]", "out[(column + y) * n + row]"),
        "reduce": ("out[get_group_id(0)]", "out[0]"),
        "stencil": ("out[i] = v", "out[i & 7] = v"),
        "gemm": ("out[row * n + column]", "out[row * n + (column & 3)]"),
    },
    "data race, local": {
        "reverse": ("t[1][l] = 1", "t[1][l & 6] = 1"),
        "transpose": ("t[y][x] = a", "t[y][0] = a"),
        "reduce": ("t[0][l] = v", "t[0][l & 6] = v"),
        "stencil": ("t[r][c] = k", "t[r][c & 6] = k"),
        "gemm": ("u[y][x] = a", "u[y & 2][x] = a"),
    },
    "barrier divergence": {
        "reverse": ("  barrier(", "  if (l < 5) barrier("),
        "transpose": ("  barrier(", "  if (x) barrier("),
        "reduce": ("    barrier(", "    if (l < s) barrier("),
        "stencil": ("  barrier(", "  if (i >= n) return; barrier("),
        "gemm": ("k < n; k += 4", "k < n - 2 * x; k += 4"),
    },
    "uninitialised read, local": {
        "reverse": ("t[1][l] = 1;", "if (l != 3) t[1][l] = 1;"),
        "transpose": ("t[y][x] = a", "if (x != y) t[y][x] = a"),
        "reduce": ("t[0][l] = v;", "if (v > 4) t[0][l] = v;"),
        "stencil": ("c < 10; c += 8", "c < 8; c += 8"),
        "gemm": ("t[y][x] = a", "if (y < 3) t[y][x] = a"),
    },
    "never written": {
        "reverse": ("if (i < n)\n    out[i]", "if (i < n - 1)\n    out[i]"),
        "transpose": ("out[(column + y) * n + row + x] = v", "if (x < y) out[(column + y) * n + row + x] = v"),
        "reduce": ("if (l == 0)", "if (i == 0)"),
        "stencil": ("if (i < n) out", "if (i > 0 && i < n) out"),
        "gemm": ("out[row * n + column] = v", "if (v > 1e30f) out[row * n + column] = v"),
    },
}  # fmt: skip
# Where the fault shows, if not at the line that was changed: at the read of what was not written.
SHOWS = {
    "uninitialised read, local": {
        "reverse": "float v", "transpose": "float v", "reduce": "t[0][l] +=", "stencil": "float v", "gemm": "v += t",
    },
}  # fmt: skip
# kind -> a line that is put before the last statement that writes `out`; `e` is an argument that nobody filled.
PUT_IN = {
    "uninitialised read, global": "v += e[l];",
    "misaligned": "{ float4 q = *(__global const float4 *)(a + 1 + 4 * (l & 1)); v += q.x; }",
    "endless loop": "while (v == v) { v += 0; }",
    "out of bounds, private": "{ float w[3] = {1, 2, 3}; v += w[l & 3]; }",
    "out of bounds, __constant": "v += TABLE[l & 3];",
    "out of bounds, helper": "v += third(a + n);",
}
HELPERS = "__constant float TABLE[3] = {1, 2, 3}; float third(__global const float *p) { return p[60]; }"


def planted(name, kind):
    """-> the text with the mistake in it, and the line where it must be found (0: none)"""
    text = KERNELS[name]
    if kind in REPLACED:
        old, new = REPLACED[kind][name]
        assert text.count(old) >= 1, (name, kind)
        at = text.index(old) if kind != "barrier divergence" else text.rindex(old)
        line = text[:at].count("\n") + 1
        text = text[:at] + new + text[at + len(old) :]
        if kind in SHOWS:
            line = text[: text.index(SHOWS[kind][name])].count("\n") + 1
        return text, 0 if kind == "never written" else line
    lines = text.split("\n")
    last = max(i for i, code in enumerate(lines) if "out[" in code)
    if lines[last - 1].lstrip().startswith("if"):
        last -= 1
    lines.insert(last, PUT_IN[kind])
    lines[0] = f"{HELPERS} {lines[0].replace('int n)', 'int n, __global float *e)')}"
    return "\n".join(lines), 1 if "helper" in kind else last + 1


def report_on(name, text):
    run = RUNS[name]
    a = Array.from_numpy(np.linspace(1, 8, run.a).astype("f4"))
    out = Array.from_numpy(np.zeros(run.out, "f4"))
    more = [Array.empty((64,), np.dtype("f4"))] if "*e)" in text else []
    with Session(Options(fuel=3000), None, None) as t:
        gg.kernel(text, a="in N", out="out N")(
            a, out, run.n, *more, global_size=run.global_size, local_size=run.local_size
        )
    return t[0].report()


@pytest.mark.deep
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_are_correct_before(name):
    assert report_on(name, KERNELS[name]).ok


def pairs():
    for kind in (*REPLACED, *PUT_IN):
        for i, name in enumerate(KERNELS):
            # Every day each kind that a kernel's own text can have, in one kernel; labelled.cl has the others.
            quick = kind in REPLACED and i == list(REPLACED).index(kind) % 5
            marks = [] if quick else FULL if i else [pytest.mark.deep]
            yield pytest.param(kind, name, id=f"{kind}-{name}", marks=marks)


@pytest.mark.parametrize("kind, name", list(pairs()))
def test_a_planted_mistake_is_found_at_its_line(kind, name):
    text, line = planted(name, kind)
    report = report_on(name, text)
    found = [f for f in report if f.kind == kind.split(",")[0]]
    assert found, str(report)
    if line:
        assert line in {s.line for f in found for s in f.sites}, f"planted at {line}:\n{report}"
    if kind == "never written":
        assert "of out were not written" in found[0].message
