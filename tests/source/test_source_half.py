"""Half as a way to store, against NumPy's own float16."""

import re

import numpy as np
import pyopencl as cl
import pytest
from source.runner import CASES, CORPUS, DEFINES, OPTIONS, build, context, data, launch, run_plain

from gpugrad.source import lower, lower_half, parse


def h(x):
    return np.asarray(x, "f4").astype("f2")


def run(name):
    args = data(CASES[name])
    return args, run_plain(CASES[name], args)


def test_sums_are_computed_in_float_and_rounded_once():
    (a, b, _), (_, _, out) = run("half_add")
    assert out.tobytes() == h(a.astype("f4") + b.astype("f4")).tobytes()


def test_an_accumulator_is_float():
    (a, _), (_, out) = run("half_walk")
    sums = a.astype("f4").reshape(8, 4)
    s = np.zeros(8, "f4")
    for k in range(4):
        s = s + sums[:, k]
    assert out.tobytes() == h(s).tobytes()


def test_the_value_of_an_assignment_is_what_memory_holds():
    (a, _), (got, out) = run("half_assignments")
    a = h(a.astype("f4") + np.float32(1.25))
    a = h(a.astype("f4") * np.float32(1.1))
    a = h(a.astype("f4") + 1)
    o = a.astype("f4")
    a = h(o - 1)
    a = h(o / 3)
    o = o + a.astype("f4")
    a = h(a.astype("f4") - np.float32(0.1))
    o = o + a.astype("f4")
    assert got.tobytes() == a.tobytes()
    np.testing.assert_array_max_ulp(out, o, 2)  # -cl-mad-enable may leave out a rounding


def test_half_in_local_memory_is_rounded_there():
    (a, *_), (_, out) = run("half_in_local_memory")
    u = h(a.astype("f4") * np.float32(0.3)).astype("f4")
    f = a.astype("f4")
    expected = [f[7 - l] + u[(l % 2) * 4 + l // 2] + f[l ^ 1] for l in range(8)]
    assert out.tobytes() == h(expected).tobytes()


def test_vectors_of_half():
    (a, _, _), (_, out, f) = run("half_vectors")
    a4 = a.astype("f4").reshape(16, 4)
    assert f.reshape(8, 4).tobytes() == (a4[:8] * np.float32(1.5)).tobytes()
    first = h(f.reshape(8, 4) + a4[8:]).astype("f4")
    first[:, 0] = h(first[:, 0] + 2)
    first[:, 1:3] = a4[:8, [3, 0]]
    assert out[:32].tobytes() == h(first).tobytes()
    second = a4[:8, ::-1].copy()
    second[:, :2] = [1.5, 2.5]
    assert out[32:].tobytes() == h(second).tobytes()


def test_every_half_survives_a_copy():
    text = "__kernel void k(__global const T *a, __global T *b) { int i = get_global_id(0); b[i] = a[i]; }"
    program = build(lower_half(text, {"T": "half"}), OPTIONS)
    a = np.arange(65536, dtype="u2")
    queue, flags = cl.CommandQueue(context()), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    out = np.zeros_like(a)
    held = [cl.Buffer(context(), flags, hostbuf=x) for x in (a, out)]
    cl.Kernel(program, "k")(queue, (65536,), (64,), *held)
    cl.enqueue_copy(queue, out, held[1])
    nan = np.isnan(a.view("f2"))
    assert (out[~nan] == a[~nan]).all()
    assert np.isnan(out[nan].view("f2")).all()


def test_sizes_and_addresses_are_those_of_two_bytes():
    (a, _), (got, out) = run("half_under_another_name")
    assert got.tobytes() == h(a.astype("f4") ** 2).tobytes()
    assert out.tolist() == (4 + (got.astype("f4") > 1)).tolist()


def test_text_that_enables_fp16_is_left_to_the_device():
    text = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global half *a) { half v = a[0] * 2; a[1] = v; }"""
    made = lower_half(text)
    assert "vload_half" not in made and "half v" in made


def test_text_without_half_keeps_its_tokens():
    text = "__kernel void k(__global float *a, int n) {\n  for (int i = 0; i < n; i++)\n    a[i] += (float)i;\n}\n"

    def squeeze(s):
        return re.sub(r"#line \d+|[\s{}]", "", s)

    assert squeeze(lower_half(text)) == squeeze(text)


@pytest.mark.parametrize("t", ["float", "double"])
def test_t_as_another_type_is_not_touched(t):
    assert "half" not in lower_half("__kernel void k(__global T *a) { a[0] += 1; }", {"T": t})


def test_the_signature_still_says_half():
    (k,) = parse("__kernel void k(__global const T *a, T s) { }", {"T": "half"}).values()
    assert [(a.scalar, a.size) for a in k.arguments] == [("half", 2), ("float", 4)]


HALF = [name for name, case in CASES.items() if DEFINES.get(case.file, {}).get("T") == "half"]


@pytest.mark.parametrize("name", HALF)
def test_conversions_by_hand_give_the_same_bits(name):
    """On a CPU half is converted by integer arithmetic (half.cl): other instructions, the same results."""
    case = CASES[name]
    args = data(case)
    program = build(lower((CORPUS / case.file).read_text(), DEFINES[case.file], by_hand=True).text)
    for a, b in zip(run_plain(case, args), launch(cl.Kernel(program, case.name), case, args), strict=True):
        assert a.tobytes() == b.tobytes()
