"""Kernels of one's own: what `gpugrad.kernel` takes, what it checks of a call, and what it refuses by name."""

import gc
import weakref

import numpy as np
import pytest
from adding import ADD, floats

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.errors import GpugradError, KernelArgumentError, KernelBuildError
from gpugrad.program import Local


def test_a_kernel_that_is_not_in_the_text_is_named_with_those_that_are(device):
    with pytest.raises(GpugradError, match=r"no kernel 'sub' .* its kernels are: add"):
        kernel(ADD, "sub")


@pytest.mark.parametrize("name", ["all", "dot"])
def test_a_kernel_named_like_a_built_in_function_works_or_is_told_to_take_another_name(name, device):
    said, out = "", floats(4, 6)
    try:
        kernel(ADD.replace("add", name))(floats(1, 2), floats(3, 4), out, 2, global_size=2)
    except GpugradError as error:
        said = str(error)
    assert not said or name in said
    assert "_cl_" not in said  # PoCL's own names mean nothing to a student
    assert out.numpy().tolist() == [4, 6]


def test_a_text_without_a_kernel_or_with_two_needs_a_name():
    for none in ("void f() {}", "/* __kernel void f() {} */", "// __kernel void f() {}"):
        with pytest.raises(ValueError, match="the source holds no kernel"):
            kernel(none)
    assert kernel("kernel  void\nplain(global float *x) { x[0] = 1; }").name == "plain"
    attribute = "__attribute__((reqd_work_group_size(1, 1, 1)))"
    for head in (f"__kernel {attribute} void", f"__kernel void {attribute}", "#define RUN __kernel void\nRUN"):
        assert kernel(f"{head} f(__global float *x) {{ x[0] = 1; }}").name == "f"
    off = f"#if 0\n{ADD.replace('add', 'old')}\n#endif\n{ADD}"
    assert kernel(off).name == "add"
    with pytest.raises(KernelBuildError, match="line 1"):  # what the source pass cannot read is found by its looks
        kernel(f"__kernel void {attribute} f(__global float *x) {{ x[0] = ; }}")
    two = ADD + "\n" + ADD.replace("add", "twin")
    with pytest.raises(ValueError, match="2 kernels"):
        kernel(two)
    with pytest.raises(KernelBuildError, match="add is defined twice"):
        kernel(f"{ADD}\n{ADD}")
    assert kernel(two, "twin").name == "twin"


def test_the_source_and_the_name_are_text():
    with pytest.raises(TypeError, match="text of an OpenCL C kernel"):
        kernel(3)
    with pytest.raises(TypeError, match="kernel: name is 3"):
        kernel(ADD, 3)
    with pytest.raises(ValueError, match="half of a character"):
        kernel("/* \ud800 */" + ADD)


def test_a_null_character_is_refused_before_a_driver_reads_it():
    with pytest.raises(ValueError, match="null character at position 3"):
        gg.kernel("// \0\n__kernel void k(__global int *a) { a[0] = 1; }", "k")


def test_a_kernel_of_ones_own_runs(device):
    out = Array.empty((70,))
    a = Array.from_numpy(np.arange(70, dtype=np.float32))
    kernel(ADD)(a, a, out, 70, global_size=128, local_size=64)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(70))


@pytest.mark.parametrize("global_size", [1, 7, 64, 97, (13,)])
def test_without_a_local_size_any_global_size_runs(device, global_size):
    n = global_size if isinstance(global_size, int) else global_size[0]
    a, out = Array.from_numpy(np.arange(n, dtype=np.float32)), Array.empty((n,))
    kernel(ADD)(a, a, out, n, global_size=global_size)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(n))


def test_local_memory_is_an_argument(device):
    reverse = kernel(
        "__kernel void reverse(__global float *x, __local float *t) { int i = get_local_id(0);"
        " t[i] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); x[i] = t[get_local_size(0) - 1 - i]; }"
    )
    x = floats(1, 2, 3, 4)
    reverse(x, Local(4), global_size=4, local_size=4)
    np.testing.assert_array_equal(x.numpy(), [4, 3, 2, 1])
    with pytest.raises(KernelArgumentError, match=r"argument 2, float\* t, is local memory"):
        reverse(x, 4, global_size=4, local_size=4)
    with pytest.raises(ValueError, match="at least one element"):
        Local(0)
    for n in ("a", 2.5, True, None):
        with pytest.raises(TypeError, match=r"Local: n is .*an integer"):
            Local(n)


LOCAL_TEXTS = {
    "in an argument": ("__kernel void k(__global float *x, __local float *t) { t[0] = x[0]; x[0] = t[0]; }", 1.0, 0.0),
    "in the text": ("__kernel void k(__global float *x) { __local float t[%d]; t[0] = x[0]; x[0] = t[0]; }", 0.0, 1.0),
    "in both": (
        "__kernel void k(__global float *x, __local float *t) { __local float u[%d]; u[0] = t[0] = *x; x[0] = u[0]; }",
        0.5,
        0.5,
    ),
}


@pytest.mark.parametrize("where", LOCAL_TEXTS)
@pytest.mark.parametrize("checked", [None, False])
def test_more_local_memory_than_the_device_has_is_refused(device, where, checked):
    text, argument, declared = LOCAL_TEXTS[where]
    room = device.local_memory // 4
    text = text % (room * declared + 1) if "%d" in text else text
    x, given = floats(1), [Local(int(room * argument) + 1)] if argument else []
    try:
        k = kernel(text)
    except KernelBuildError as error:  # some compilers see it themselves
        assert "shared" in str(error) or "local" in str(error)  # noqa: PT017
        return
    with pytest.raises(ValueError, match=f"needs .* bytes of local memory .* has {device.local_memory:,}"):
        k(x, *given, global_size=1, checked=checked)


@pytest.mark.parametrize("checked", [None, False, True])
@pytest.mark.parametrize("where", ["float t[30000]; t[i % 30000] = i; o[i] = t[i]", "o[i] = kept(i)"])
def test_more_private_memory_than_a_thread_of_the_cpu_has_is_refused(device, checked, where):
    """PoCL would take the process down."""
    k = kernel(
        "float kept(int i) { float t[30000]; t[i] = i; return t[i]; }\n"
        f"__kernel void f(__global float *o) {{ int i = get_global_id(0); {where}; }}"
    )
    x = Array.from_numpy(np.zeros(64, "f4"))
    if device.kind == "cpu":
        with pytest.raises(ValueError, match=r"64 work-items in a group, each with 120,0\d\d bytes .* need 7,68"):
            k(x, global_size=64, local_size=64, checked=checked)
    k(x, global_size=64, local_size=32, checked=checked)
    np.testing.assert_array_equal(x.numpy(), np.arange(64, dtype="f4"))


RECURSIVE = {
    "itself": "float f(float n) { return n < 2 ? n : f(n - 1) + f(n - 2); }",
    "in a ring": "int g(int n); int f(int n) { return n < 2 ? n : g(n - 1) + 1; } int g(int n) { return f(n); }",
}


@pytest.mark.parametrize("text", RECURSIVE.values(), ids=RECURSIVE)
def test_recursion_is_refused_by_name_as_drivers_crash_on_it(device, text):
    with pytest.raises(KernelBuildError, match=r"f\(\) calls itself: OpenCL C has no recursion"):
        kernel(text + " __kernel void k(__global float *x) { x[0] = f(x[0]); }")


@pytest.mark.parametrize("argument", ["read_only image2d_t im", "sampler_t im"])
def test_images_and_samplers_are_refused_by_name(device, argument):
    with pytest.raises((KernelArgumentError, KernelBuildError), match="im"):
        kernel(f"__kernel void k(__global float *x, {argument}) {{ x[0] = 1; }}")


VECTOR = "__kernel void k(__global float *out, %s v) { out[0] = v.x + 10 * v.y; out[1] = v.%s; }"


@pytest.mark.parametrize("checked", [None, False])
@pytest.mark.parametrize(
    ("type", "last", "value"),
    [("float4", "w", (1, 2, 3, 4)), ("float2", "y", [1.0, 2]), ("float3", "z", (1, 2, 3)), ("int4", "w", (1, 2, 3, 4))],
)
def test_a_vector_is_given_as_its_numbers(device, type, last, value, checked):
    out = floats(0, 0)
    k = kernel(VECTOR % (type, last))
    k(out, value, global_size=1, checked=checked)
    np.testing.assert_array_equal(out.numpy(), [21, value[-1]])
    for wrong in (3.0, (1, 2, 3, 4, 5), None, out, "abcd", b"1234", ("a",) * len(value), np.ones(len(value), "i1")):
        with pytest.raises(KernelArgumentError, match=f"argument 2, {type} v, is a vector; .* {len(value)} numbers"):
            k(out, wrong, global_size=1, checked=checked)


def test_a_struct_is_given_as_numpy_holds_it(device):
    k = kernel("typedef struct { int n; float f; } S; __kernel void k(__global float *x, S s) { x[0] = s.n + s.f; }")
    out, value = floats(0), np.array((2, 0.5), [("n", "i4"), ("f", "f4")])
    k(out, value, global_size=1)
    assert out.numpy() == [2.5]
    for wrong in (3, "text", None, out, b"12345678"):
        with pytest.raises(KernelArgumentError, match="argument 2, S s, is no plain number"):
            k(out, wrong, global_size=1)


def test_a_kernel_nobody_holds_is_gone_with_its_program_and_its_checked_form(device):
    text = "/* of this test */" + ADD
    gc.collect()
    before = set(device.programs), len(device.kernels), len(device.cache)
    one = kernel(text)
    one(floats(1), floats(1), floats(0), 1, global_size=1)
    compiled = one.on(device)
    again = kernel(text)
    assert again.on(device) is compiled, "the same text is built once while somebody holds it"
    held = [weakref.ref(compiled), weakref.ref(compiled._program)]
    del one, compiled
    assert held[0]() is not None
    del again
    gc.collect()
    assert [ref() for ref in held] == [None, None]
    assert (set(device.programs), len(device.kernels), len(device.cache)) == before


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (lambda x: (x, x, x), KernelArgumentError, r"takes 4 arguments \(float\* a, .* int n\), got 3"),
        (lambda x: (x, x, x, 2, 2), KernelArgumentError, "got 5"),
        (lambda x: (x, 1.0, x, 2), KernelArgumentError, r"argument 2, float\* b, is a buffer; got float"),
        (lambda x: (x, np.ones(2), x, 2), KernelArgumentError, "got ndarray"),
        (lambda x: (x, x, x, x), KernelArgumentError, "argument 4, int n, is a number"),
        (lambda x: (x, x, x, 2.5), KernelArgumentError, "is an integer; got 2.5"),
        (lambda x: (x, x, x, float("nan")), KernelArgumentError, "is an integer; got nan"),
        (lambda x: (x, x, x, 2**31), ValueError, "holds -2147483648 to 2147483647"),
        (lambda x: (x, x, x, "2"), KernelArgumentError, "is a number; got str"),
    ],
)
def test_wrong_arguments_are_named(device, args, error, message):
    with pytest.raises(error, match=message):
        kernel(ADD)(*args(floats(1, 2)), global_size=2)


def test_a_copy_is_not_written_as_the_original_would_stay_as_it_is(device):
    fill = gg.kernel("__kernel void fill(__global float *x) { x[get_global_id(0)] = 1; }")
    x = gg.zeros(2, 4)
    with pytest.raises(gg.KernelArgumentError, match=r"fill: argument 1, float\* x, .*came from indexing.*\.clone\(\)"):
        fill(x[0], global_size=4)
    assert x.numpy().sum() == 0
    y = x[0].clone()
    fill(y, global_size=4)
    assert y.tolist() == [1, 1, 1, 1]
    read = gg.kernel("__kernel void twice(__global const float *x, __global float *y) { y[0] = 2 * x[0]; }")
    read(gg.ones(2, 2).T, y, global_size=1)
    assert y.tolist() == [2, 1, 1, 1]


def test_a_buffer_of_another_type_is_refused(device):
    ints = Array.from_numpy(np.array([1, 2]))
    with pytest.raises(KernelArgumentError, match=r"points to float; got an array of int32 \(int\)"):
        kernel(ADD)(ints, ints, ints, 2, global_size=2)


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ({"global_size": -1}, ValueError, "global_size is -1; .* each of them 0 or more"),
        ({"global_size": (1, 1, 1, 1)}, ValueError, "one to three sizes"),
        ({"global_size": 2.0}, TypeError, "integer or a tuple"),
        ({"global_size": 10, "local_size": 4}, ValueError, "not a multiple of local_size"),
        ({"global_size": 10, "local_size": 0}, ValueError, "local_size is 0; .* each of them 1 or more"),
        ({"global_size": (4, 4), "local_size": 4}, ValueError, "number of dimensions"),
        ({"global_size": 2**20, "local_size": 2**20}, ValueError, "runs at most"),
        ({"global_size": 2, "checked": 1}, TypeError, "checked"),
        ({"global_size": 2**70}, ValueError, "more than the 2,147,483,647 work-items"),
        ({"global_size": (2**20, 2**20)}, ValueError, "more than the 2,147,483,647 work-items"),
    ],
)
def test_wrong_sizes_are_named(device, sizes, error, message):
    x = floats(1, 2)
    with pytest.raises(error, match=message):
        kernel(ADD)(x, x, x, 2, **sizes)


def test_a_group_too_long_along_one_axis_is_refused(device, monkeypatch):
    """As on NVIDIA's, whose groups of 1,024 have at most 64 along the last axis."""
    monkeypatch.setattr(device, "max_group_axes", (1024, 1024, 2))
    x = floats(*[0] * 4)
    k = kernel("__kernel void k(__global float *x) { x[get_global_id(2)] = 1; }")
    with pytest.raises(ValueError, match=r"local_size \(1, 1, 4\) has 4 work-items along axis 2; .* at most 2 there"):
        k(x, global_size=(1, 1, 4), local_size=(1, 1, 4))
    k(x, global_size=(1, 1, 4), local_size=(1, 1, 2))
    assert x.numpy().tolist() == [1] * 4


@pytest.mark.parametrize("checked", [None, False, True])
def test_groups_of_another_size_than_the_text_allows_are_refused_by_the_attribute_s_name(device, checked):
    sevens = kernel(
        "__kernel __attribute__((reqd_work_group_size(7, 1, 1))) void sevens(__global float *x) "
        "{ x[get_global_id(0)] = get_local_size(0); }"
    )
    x = floats(*[0] * 14)
    said = r"sevens: local_size is \(2,\), and reqd_work_group_size\(7, 1, 1\) .* or take the attribute out"
    with pytest.raises(ValueError, match=said):
        sevens(x, global_size=14, local_size=2, checked=checked)
    with gg.trace(), pytest.raises(ValueError, match=said):
        sevens(x, global_size=14, local_size=2)
    assert x.numpy().tolist() == [0] * 14
    sevens(x, global_size=14, checked=checked)  # its own size, where none is given
    assert x.numpy().tolist() == [7] * 14
    sevens(x, global_size=(14, 1), local_size=(7, 1), checked=checked)


def test_zero_work_items_do_nothing(device):
    out = floats(7)
    kernel(ADD)(out, out, out, 1, global_size=0)
    assert out.numpy() == [7]


def test_numbers_beyond_any_type_are_refused(device):
    with pytest.raises(ValueError, match="holds -2147483648 to 2147483647"):
        kernel(ADD)(floats(1), floats(1), floats(1), 10**400, global_size=1)
    scale = kernel("__kernel void scale(__global float *x, float by) { x[get_global_id(0)] *= by; }")
    with pytest.raises(ValueError, match="too large"):
        scale(floats(1), 10**400, global_size=1)
