"""What the pass cannot handle is refused by name, with line, column and reason; what does not parse likewise."""

import pytest

from gpugrad.source import Refused, SourceError, Unsupported, instrument, lower_half, parse, survey

REFUSED = {
    "async copy": ("event_t e = async_work_group_copy(t, a, 8, 0);", "event_t", "copy in a loop"),
    "async copy without a variable": (
        "async_work_group_copy(t, a, 8, 0);",
        "async_work_group_copy()",
        "copy in a loop",
    ),
    "inline assembly": ('asm("nop");', "asm", "unseen"),
    "inline assembly, volatile": ('__asm__ volatile("nop");', "__asm__", "unseen"),
    "generic pointer": ("generic float *p = a;", "generic", "address space"),
    "conversion to generic": ("to_global(a);", "to_global()", "address space"),
    "OpenCL 2 atomics": ("atomic_fetch_add_explicit(a, 1, 0, 0);", "atomic_fetch_add_explicit()", "OpenCL 2.0"),
    "OpenCL 2 atomic type": ("__global atomic_int *p;", "atomic_int", "OpenCL 2.0"),
    "work-group function": ("work_group_reduce_add(1);", "work_group_reduce_add()", "barrier"),
    "sub-group function": ("sub_group_broadcast(1, 0);", "sub_group_broadcast()", "barrier"),
    "image": ("image2d_t im;", "image2d_t", "buffer"),
    "image read": ("read_imagef(im, s, p);", "read_imagef()", "buffer"),
    "goto backwards over a barrier": ("again: meet(); if (a[0] > 0) goto again;", "goto backwards", "write a loop"),
    "barrier in a conditional": ("a[0] ? meet() : (void)0;", "barrier", "use if"),
    "barrier after &&": ("a[0] && (meet(), 1);", "barrier", "use if"),
    "result into global memory": ("a[0] = sincos(1.0f, &a[1]);", "sincos()", "variable"),
    "atomic on the unknown": ("atomic_add(where(), 1);", "atomic_add()", "variable"),
    "our own names": ("int gg_x0 = 1;", "gg_x0", "rename"),
    "the name of our record": ("int gg = 1;", "gg", "rename"),
    "half of private memory": ("ushort u[2]; vstore_half(a[0], 1, (half *)u);", "vstore_half()", "local memory"),
    "aligned field": ("struct { char c; int x __attribute__((aligned(8))); } s;", "aligned field", "where it lies"),
    "kernel that calls a kernel": ("other(a);", "other", "kernel"),
    "typeof": ("__typeof__(a[0]) x;", "__typeof__", "type"),
    "statement in an expression": ("a[0] = ({ 1; });", "statement", "not OpenCL C"),
    "bit-field": ("struct { int x : 3; } s;", "bit-fields", "not OpenCL C"),
    "function pointer": ("int (*f)(int);", "function pointers", "not OpenCL C"),
    "array without a length": ("float w[] = {[2] = 1};", "length", "figures"),
    "struct of the function": ("typedef struct { int n; } P; P p = *(__global P *)a;", "struct", "above"),
}


@pytest.mark.parametrize("body, name, remedy", REFUSED.values(), ids=REFUSED)
def test_what_is_not_followed_is_refused_by_name(body, name, remedy):
    text = f"""void meet() {{ barrier(CLK_LOCAL_MEM_FENCE); }}
__kernel void other(__global float *a) {{ a[0] = 1; }}
__kernel void k(__global float *a, __local float *t) {{
  {body}
}}"""
    with pytest.raises(Unsupported) as caught:
        instrument(text, "k")
    e = caught.value
    assert name in e.reason and remedy in e.reason
    assert e.line == 4 and e.column >= 3
    assert f"line {e.line}, column {e.column}" in str(e)
    code, caret = str(e).splitlines()[-2:]
    assert code.endswith(body) and caret.count("^") >= 1


REFUSED_TEXTS = {
    "include": ('#include "x.h"\n', "#include", 1),
    "unknown device macro": ("\n#ifdef cl_khr_subgroups\n#endif\n", "cl_khr_subgroups", 2),
    "unknown reserved macro": ("#if defined(__GPU__)\n#endif\n", "__GPU__", 1),
    "recursion": (
        "int f(int n) { return n ? f(n - 1) : 0; }\n__kernel void k(__global int *a) { a[0] = f(3); }",
        "f()",
        1,
    ),
    "aligned struct": ("typedef struct __attribute__((aligned(32))) { int x; } P;\n", "aligned", 1),
    "C++": ("template <typename T> T f(T x) { return x; }\n", "template", 1),
}


@pytest.mark.parametrize("text, name, line", REFUSED_TEXTS.values(), ids=REFUSED_TEXTS)
def test_texts_that_are_refused(text, name, line):
    with pytest.raises(Unsupported) as caught:
        instrument(text if "void k" in text else text + "__kernel void k(__global int *a) { a[0] = 1; }", "k")
    assert name in caught.value.reason and caught.value.line == line


BROKEN = {
    "missing semicolon": ("a[0] = 1", 2, "expected ';'"),
    "missing parenthesis": ("a[(0] = 1;", 2, "expected ')'"),
    "stray brace": ("} }", 2, "expected a type"),
    "no expression": ("a[] = 1;", 2, "expected an expression"),
    "no such field": ("struct { int x; } s; s.y = 1;", 2, "no field y"),
    "no such component": ("float4 v; v.q = 1;", 2, "no component q"),
    "component past the end": ("float2 v; v.z = 1;", 2, "no component z"),
    "field of a number": ("a[0].x = 1;", 2, ".x"),
    "a character C does not know": ("a[0] = 1 @ 2;", 2, "'@'"),
    "comment without an end": ("a[0] = 1; /* and so on", 2, "never ends"),
    "break outside a loop": ("break; barrier(0);", 2, "break outside a loop"),
    "endless #if": ("\n#if 1\n", 3, "#endif"),
    "#else alone": ("\n#else\n", 3, "#else"),
    "#error": ("\n#error so it is\n", 3, "so it is"),
    "macro with too few arguments": ("\n#define F(a, b) a + b\n F(1);", 4, "2 arguments"),
    "macro call without an end": ("\n#define G(a) a\n G(1;", 4, "never closed"),
    "bad paste": ("\n#define P(a, b) a##b\n P(+, x);", 4, "not one token"),
}


@pytest.mark.parametrize("body, line, words", BROKEN.values(), ids=BROKEN)
def test_what_does_not_parse_says_where(body, line, words):
    with pytest.raises(SourceError) as caught:
        instrument(f"__kernel void k(__global float *a) {{\n  {body}\n}}")
    assert not isinstance(caught.value, Unsupported)
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("parameter", ["float *x", "__private float *x", "float x[3]"])
def test_a_kernel_is_given_no_private_memory(parameter):
    with pytest.raises(SourceError, match=r"x points to private memory.* __global") as caught:
        instrument(f"void f(float *p) {{ p[0] = 1; }}\n__kernel void k({parameter}) {{ x[0] = 1; }}")
    assert (caught.value.line, caught.value.column) == (2, 17)


def test_a_kernel_that_is_not_there():
    text = "__kernel void a(__global int *x) { } __kernel void b(__global int *x) { }"
    with pytest.raises(SourceError, match=r"'c'.* a, b"):
        instrument(text, "c")
    with pytest.raises(SourceError, match="which kernel"):
        instrument(text)
    with pytest.raises(SourceError, match="no kernel"):
        instrument("int f() { return 1; }")
    with pytest.raises(SourceError, match="no kernel"):
        instrument("")


def test_nesting_without_end_is_an_error_and_not_a_crash():
    deep = "(" * 5000 + "1" + ")" * 5000
    for call in (instrument, lower_half, parse):
        with pytest.raises(SourceError, match=r"line 1, column .*nested too deeply"):
            call(f"__kernel void k(__global half *a) {{ a[0] = {deep}; }}")


BOMBS = {
    "of functions": ("F", "".join(f"#define F{i}(x) F{i - 1}(x) F{i - 1}(x)\n" for i in range(1, 41)),
                     "F40(a[0] = 1;)", 42),
    "of names": ("N", "".join(f"#define N{i} N{i - 1} N{i - 1}\n" for i in range(1, 41)), "N40", 42),
    "of nothing": ("E", "#define E0(x)\n" + "".join(f"#define E{i}(x) E{i - 1}(x) E{i - 1}(x)\n" for i in range(1, 41)),
                   "E40(1)", 43),
}  # fmt: skip


@pytest.mark.parametrize("name, macros, body, line", BOMBS.values(), ids=BOMBS)
def test_a_macro_that_grows_without_end_is_refused_by_name(name, macros, body, line):
    text = f"{macros}__kernel void k(__global float *a) {{\n {body}\n}}"
    calls = (instrument, lower_half, parse, lambda t: survey(t, "k"))
    for call in calls if name == "E" else calls[:1]:  # each takes its time, and all begin with the same expansion
        with pytest.raises(Refused, match=f"macro {name}40 grows without end.* 131,072 tokens") as caught:
            call(text)
        assert caught.value.line == line and caught.value.column == 2


def test_conditions_in_conditions_by_the_thousand_are_followed():
    body = "#if 1\n" * 3000 + "a[0] = 1;\n" + "#else\n@\n#endif\n" * 3000
    assert len(instrument(f"__kernel void k(__global float *a) {{\n{body.replace('@', 'b = 2;')}}}").sites) == 1


def test_the_half_lowering_refuses_what_it_cannot_lower():
    kernel = "__kernel void k(__global half *a) {{ {} }}".format
    for body, words in {
        "a[0] = convert_half(1.0f);": "convert_half",
        "struct { half h; } s;": "half inside a struct",
        "typedef half row[4];": "typedef of an array of half",
        "ushort u[2]; a[0] = vload_half(1, (half *)u);": "vload_half",
    }.items():
        with pytest.raises(Unsupported, match=words):
            lower_half(kernel(body))
    with pytest.raises(Unsupported, match="two statements"):
        lower_half("__constant half w[2] = {1, 2}, *p = w;")
