"""Floating-point operations are counted as they are evaluated."""

import numpy as np
import pytest
from source.runner import Case, run_recorded

from gpugrad.source import instrument
from gpugrad.source import operations as counting
from gpugrad.source import tree as syntax
from gpugrad.source.operations import operations
from gpugrad.source.unit import Unit

COUNTS = {
    "x = a[0] + 1;": 1,
    "x = a[i] * a[i + 1] + a[i - 1];": 2,
    "x += a[0] * y;": 2,
    "x++;": 1,
    "i = i * 2 + 1;": 0,
    "x = i * 2;": 0,
    "x = i + 1.0f;": 1,
    "x = 2 * M_PI_F;": 1,
    "x = 1e3f + 0x1p3f - 3.f;": 2,
    "x = -y;": 0,
    "x = y < 0;": 0,
    "v = v * x;": 4,
    "v.xy += v.zw;": 2,
    "v = (float4)(x + 1, y, x * y, 0);": 2,
    "x = fma(x, y, 1.0f);": 2,
    "v = mad(v, v, v);": 8,
    "x = exp(x) + sqrt(y);": 3,
    "x = fmax(x, y * 2);": 2,
    "x = dot(v, v);": 7,
    "x = convert_float(i) + as_float(i);": 1,
    "v = vload4(0, a) + v;": 4,
    "x = (x + y) * (x - y);": 3,
    "x = (float)i / n;": 1,
    "i = (int)(x * 4);": 1,
    "i = get_global_id(0) * 4;": 0,
    "x = helper(x + y);": 1,
    "i = isnan(x) + select(i, 2, 3);": 0,
    "x = (i ? x * y : x) + 1;": 1,
    "i = x > 0 && x * y * x > 2;": 0,
    "b[i] *= x;": 1,
}


def kernel(body):
    return f"""float helper(float x) {{ return x * x + 1; }}
__kernel void k(__global float *a, __global float *b, int n) {{
  int i = 1; float x = 1, y = 1; float4 v = (float4)(1);
  {body}
}}"""


@pytest.mark.parametrize("body", COUNTS)
def test_operations_of_a_statement(body):
    unit = Unit(kernel(body), {}, frozenset(), False)
    last = [s for s in unit.items[-1].body.body if isinstance(s, syntax.ExprStatement)][-1]
    assert operations(last.e) == COUNTS[body]


def test_what_is_evaluated_is_counted():
    text = """float helper(float x) { if (x > 3) return x * x + 1; return x + 1; }
__kernel void k(__global float *a, int n) {
  int i = get_global_id(0);
  float s = 0, w[2] = {a[i] * 2, a[i] + 1};           // 2
  for (int j = 0; j < n; j++) s += a[j] * w[j & 1];   // 2 each
  for (float t = 0; t < 1; t += 0.5f) ;               // 2
  s = i > 2 ? s * s * s : s;                          // 2 where i > 2
  if (i > 1 && s * s >= 0) s = s + 1;                 // 2 where i > 1
  const int m = 3;
  float u[m] = {0};
  a[i] = helper(i + 1) * 1 + u[0];                    // 2, and 1 or 2
}"""
    made = instrument(text)
    case = Case("", "k", text, (4,), (4,), ())
    r = run_recorded(case, [np.ones(8, "f4"), np.int32(3)], made)
    assert r.operations.tolist() == [2 + 6 + 2 + 2 + 1, 13, 13 + 2, 13 + 2 + 2 + 1]


def test_a_group_that_parted_does_nothing_more():
    text = """__kernel void k(__global float *a) {
  int l = get_local_id(0);
  float x = a[l] + 1;
  if (l < 2) barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = x * 2;
}"""
    r = run_recorded(Case("", "k", text, (4,), (4,), ()), [np.ones(4, "f4")], instrument(text))
    assert r.operations.tolist() == [1] * 4


def test_where_only_faults_count_nothing_else_is_counted():
    assert "gg_did(gg" not in instrument(kernel("a[0] = x * y;"), faults_only=True).text.replace("gg_did(gg_t", "")


def test_a_long_expression_is_looked_at_once(monkeypatch):
    asked = []
    real = counting._floats
    monkeypatch.setattr(counting, "_floats", lambda e: asked.append(e) or real(e))
    for n in (50, 200):
        asked.clear()
        made = instrument(f"__kernel void k(__global float *a) {{ a[0] = {' + '.join(['a[1] * 2.0f'] * n)}; }}")
        assert f"gg_did(gg, {2 * n - 1}u)" in made.text
        assert len(asked) < 8 * n  # each part of it once; asked anew at every sum, they were n * n


def test_a_tree_is_walked_in_the_texts_order_however_deep():
    e = syntax.Literal(0, 1, "0")
    for k in range(1, 5000):
        e = syntax.Binary(0, k + 1, "+", e, syntax.Literal(k, k + 1, str(k)))
    found = [n.text for n in syntax.walk(e) if isinstance(n, syntax.Literal)]
    assert found == [str(k) for k in range(5000)]
