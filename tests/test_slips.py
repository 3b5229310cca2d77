"""Slips of those who come from Python, CUDA or C++, or paste from a page, each really built, and what mends them."""

import os
import subprocess
import sys

import pytest

from gpugrad import kernel
from gpugrad.build_errors import explain
from gpugrad.device import devices, use_device
from gpugrad.errors import KernelBuildError
from gpugrad.slips import SLIPS, slip

POCL = [d for d in devices() if "portable" in d.platform.lower()]
HEAD = """__kernel void f(__global const float *x, __global float *out, int n, int columns) {
  int i = get_global_id(0), r = i / columns, c = i % columns;
"""

# slip -> (lines of a kernel, part of the remedy, which of these lines is named)
WRITTEN = {
    "//": [
        ("int row = i // columns;\n  out[row] = 1;", "write / here", 0),
        ("out[i] = x[i // columns];", "write / in line 3", 1),
        ("if (i // columns < n) out[i] = 1;", "write / in line 3", 1),
    ],
    "a character": [
        ("out[i] = x[i] − 1;", "There is '−' (minus sign)", 0),
        ("out[i]\u00a0= x[i];", "There is a no-break space in this line", 0),
        ("printf(“hello”);", "'“' (left double quotation mark)", 0),
        ("o\u200but[i] = x[i];", "There is a zero width space in this line", 0),
    ],
    "Markdown": [
        ("```c\n  out[i] = x[i];\n  ```", "Markdown's marks around code", 0),
        (f"~~~\n{HEAD}  out[i] = 1;\n}}", "take them out", -2),
        ("out[i] = `x[i]`;", "no part of it", 0),
    ],
    "a second %%": [
        (f"%%kernel 00.2\n{HEAD}  out[i] = 1;\n}}", "as its first line", -2),
        (f"{HEAD}  out[i] = 1;\n}}\n%%kernel 00.3", "each kernel has a cell of its own", 2),
    ],
    "a listing": [
        (f"   1 | {HEAD}  out[i] = 1;\n}}", "belong to a listing", -2),
        ("3 | out[i] = x[i];", "take them out", 0),
    ],
    "HTML": [("if (i &lt; n) out[i] = 1;", "a web page's way to write <", 0)],
    "Python": [
        (f"from gpugrad import course\n{HEAD}  out[i] = 1;\n}}", "This line is Python", -2),
        (f"import numpy as np\n{HEAD}  out[i] = 1;\n}}", "OpenCL C alone", -2),
    ],
    "three quotes": [
        (f'"""\n{HEAD}  out[i] = 1;\n}}\n"""', "Python's quotes are no part", -2),
        (f"'''{HEAD}  out[i] = 1;\n}}'''", "Python's quotes are no part", -2),
        (f'source = """{HEAD}  out[i] = 1;\n}}"""', "and a name before them", -2),
    ],
    "Python's comment": [
        ("out[i] = x[i];  # as it is", "write // before it", 0),
        ("# as it is\n  out[i] = x[i];", "write // before it", 0),
        ("# if it is one of ours\n  out[i] = x[i];", "write // before it", 0),
    ],
    "CUDA": [
        ("int k = threadIdx.x + blockIdx.x * blockDim.x;", "threadIdx.x is get_local_id(0)", 0),
        ("__syncthreads();", "__syncthreads() is barrier(CLK_LOCAL_MEM_FENCE)", 0),
        ("__shared__ float t[16];", "__shared__ is __local", 0),
        ("atomicAdd(&out[0], x[i]);", "atomicAdd is atomic_add", 0),
    ],
    "#include": [("#include <math.h>\n  out[i] = exp(x[i]);", "A kernel includes nothing", 0)],
    "C++": [
        ("out[i] = std::max(x[i], 0.0f);", "written in C, not in C++", 0),
        ("auto v = x[i];", "without std::, templates", 0),
        ("float *t = new float[4];", "references, auto and new", 0),
    ],
    "malloc": [("float *t = malloc(4 * n);", "declare float t[16];", 0)],
    "print": [("print(x[i]);", 'printf("%f\\n", x)', 0)],
    "**": [("out[i] = x[i] ** 2;", "write a * a", 0), ("out[i] = 2.0f ** x[i];", "pow(a, 3.0f)", 0)],
    "^": [("out[i] = x[i] ^ 2;", "^ is no power in C", 0)],
    "%": [("out[i] = x[i] % 2;", "fmod(a, b)", 0)],
    "for in": [
        ("for k in range(n):\n    out[i] += x[k];", "for (int k = 0; k < n; k++)", 0),
        ("for (k in range(n)) out[i] += x[k];", "for (int k = 0; k < n; k++)", 0),
    ],
    "elif": [("if (i < n) out[i] = 0; elif (i > n) out[i] = 1;", "write else if (...)", 0)],
    "a if b else c": [("out[i] = x[i] if x[i] > 0 else 0;", "condition ? a : b", 0)],
    "and, or, not": [
        ("if (i < n and x[i] > 0) out[i] = 1;", "write && instead", 0),
        ("if (i < n or x[i] > 0) out[i] = 1;", "write || instead", 0),
        ("if (not (i < n)) return;", "write ! instead", 0),
    ],
    "if without parentheses": [
        ("if i < n:\n    out[i] = 1;", "if (i < n) { ... }", 0),
        ("if i < n\n    out[i] = 1;", "if (i < n) { ... }", 0),
        ("if (i < n):\n    out[i] = 1;", "if (i < n) { ... }", 0),
        ("if (i < n) out[i] = 1;\n  else:\n    out[i] = 2;", "if (i < n) { ... }", 1),
    ],
    "True, False, None": [
        ("int known = True;", "written small: true", 0),
        ("out[i] = False;", "written small: false", 0),
        ("out[i] = None;", "C has no None", 0),
    ],
    "inf": [("float most = -inf;", "INFINITY", 0)],
    "np.": [("out[i] = np.exp(x[i]);", "no NumPy in a kernel", 0)],
    "float(n)": [("out[i] = float(n);", "(float)n", 0), ("int k = int(x[i]);", "(int)x", 0)],
    "len": [("if (i < len(x)) out[i] = 1;", "does not know its length", 0)],
    "x[r][c]": [
        ("out[i] = x[r][c];", "write x[r * COLUMNS + c]", 0),
        ("out[r + 1][c] = x[i];", "write out[(r + 1) * COLUMNS + c]", 0),
    ],
    "a slice": [("out[i : i + 4] = 1;", "C has no slices", 0), ("out[i] = x[::-1];", "C has no slices", 0)],
    "a vector in one place": [("float4 v = 1;\n  out[i] = v;", "by vstore4(v, 0, p)", 1)],
    "a float's atomic": [("atomic_add(&out[0], x[i]);", "are for int and uint", 0)],
    "abs": [("out[i] = abs(x[i]);", "write fabs(x)", 0)],
    "max(x, 0)": [
        ("out[i] = max(x[i], 0);", "max needs numbers of one type", 0),
        ("out[i] = min(x[i], n);", "(float)n", 0),
    ],
    "get_global_id()": [("int k = get_global_id();", "get_global_id(0) for the first", 0)],
    "barrier()": [
        ("barrier();", "Write barrier(CLK_LOCAL_MEM_FENCE);", 0),
        ("barrier;", "Write barrier(CLK_LOCAL_MEM_FENCE);", 0),
    ],
    "no __global": [("__kernel void f(float *out) {\n  out[0] = 1;\n}", "write __global float *", -2)],
    "const": [("x[i] = out[i];", "take const away", 0)],
    "return": [("return x[i];", "A kernel returns nothing", 0)],
    "float f": [("__kernel float f(__global float *out) {\n  out[0] = 1;\n}", "write __kernel void", -2)],
    "1f": [("out[i] = 1f;", "A float has a point: 1.0f", 0), ("out[i] = 0,5f;", "0.5f, not 0,5f", 0)],
    "a[x]": [("out[x[i]] = 1;", "(int)x of a float x", 0)],
    "t[n]": [("float t[n];", "has a fixed size", 0)],
    "a pointer's space": [("float *p = out;", "__global float *p = x;", 0)],
    "a variable outside": [("float z;\n__kernel void f(__global float *x) { x[0] = z; }", "only constants", -2)],
    "__local elsewhere": [
        ("void h() { __local float t[4]; }\n__kernel void f(__global float *x) { h(); }", "arrays in the kernel", -2),
    ],
    "__local = ": [("__local float t[2] = {0, 0};", "starts with garbage", 0)],
    "the same name twice": [
        ("int i = 3;", "i is defined twice", 0),
        (f"{HEAD}  out[i] = 1;\n}}\n{HEAD}  out[i] = 1;\n}}", "f is defined twice", 2),
    ],
    "a word misspelt": [
        ("flaot v = x[i];", "flaot is not known: float is.", 0),
        ("int k = get_globalID(0);", "get_globalID is not known: get_global_id is.", 0),
        ("out[i] = expf(x[i]);", "In OpenCL, expf is exp", 0),
    ],
    "no type": [("v = 2 * x[i];", "write float v = ...;", 0)],
    "a name of Python's": [("out[i] = scale * x[i];", "if scale is a variable of Python's", 0)],
    "a function below": [("out[i] = square(x[i]);", "must stand above the one that calls it", 0)],
    "no brace": [("{ out[i] = 1;", "A { above has no }", 1)],
    "a brace too many": [("}", "This } has no {", 1)],
    "no semicolon": [
        ("float v = 2 * x[i]\n  out[i] = v;", "a ; is missing here", 0),
        ("out[i] = 2 * x[i]  // twice (as it is)", "a ; is missing here", 0),
        ("int k = i % columns\n  if (k < n) out[i] = k;", "a ; is missing here", 0),
    ],
}


def said(lines):
    with use_device(POCL[0]), pytest.raises(KernelBuildError) as error:
        kernel(lines if "__kernel" in lines else f"{HEAD}  {lines}\n}}")
    return str(error.value)


def test_each_rule_has_a_slip_that_was_built():
    assert list(WRITTEN) == ["//", *(each.name for each in SLIPS)]


def each_slip():
    """Each costs a build, so `make test` tries every third slip once, `make test-deep` all."""
    for k, (name, cases) in enumerate(WRITTEN.items()):
        for i, case in enumerate(cases):
            yield pytest.param(*case, id=f"{name}-{i}", marks=[pytest.mark.deep] if i or k % 3 else [])


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
@pytest.mark.parametrize("lines, remedy, at", list(each_slip()))
def test_a_slip_is_mended_by_the_first_sentence_after_its_line(lines, remedy, at):
    told = said(lines).split("\n")
    assert told[1].startswith(f"<your kernel>, line {3 + at}: ")
    mended = next(line for line in told[2:] if not line.startswith(" "))
    assert remedy in mended
    assert mended.endswith(".") and len(mended) <= 120


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
def test_what_follows_from_a_slip_in_its_line_is_left_out_and_a_remedy_is_said_once():
    told = said("for (k in range(n)) out[i] += x[k];\n  for (k in range(n)) out[i] += x[k];")
    assert told.count("line 3:") == told.count("line 4:") == told.count("for (int k = 0;") == 1


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
def test_a_mistake_that_is_no_such_slip_gets_no_remedy():
    for lines in ("out[i] = exp(x[i];", "goto nowhere;", "out[i] = x[i] + (;"):
        told = said(lines).split("\n")
        assert [line for line in told[1:] if not line.startswith(" ")] == [told[1]] and "^" in told[3]


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
def test_a_declaration_behind_an_if_without_braces_is_told_alone():
    for head in ("if (i < n)", "for (int k = 0; k < n; k++)", "if (i < n)\n    out[i] = 0;\n  else"):
        told = said(f"{head}\n    float v = x[i];\n    out[i] = v * v;")
        assert told.endswith("write { ... }.") and "undeclared" not in told


def test_a_variable_of_ones_own_is_no_word_misspelt():
    for name in ("count", "scale", "total", "mini", "sums"):
        assert slip(f"use of undeclared identifier '{name}'", [f"out[i] = {name};"], 1)[0] == "a name of Python's"


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
def test_the_caret_stands_below_its_column_behind_letters_that_C_does_not_know():
    told = said("/* äöü */ out[i] = q;").split("\n")
    assert told[3].index("^") == told[2].index("q")


NO_KERNEL = {
    "__global__ void f(float *x) {}": "__global__ is CUDA's word for __kernel",
    "def f(x):\n  x[0] = 1": "this looks like Python",
    "__kernel f(__global float *x) {}": "void is missing behind __kernel",
    "void f(__global float *x) {}": "the word __kernel before void",
    "": "it needs '__kernel void NAME(...)'",
}


@pytest.mark.parametrize("text", NO_KERNEL)
def test_a_text_without_a_kernel_is_told_what_may_be_missing(text):
    with pytest.raises(ValueError, match="the source holds no kernel") as error:
        kernel(text)
    assert NO_KERNEL[text] in str(error.value)


@pytest.mark.skipif(not POCL, reason="the messages are PoCL's compiler's")
def test_an_ambiguous_call_is_told_at_the_authors_line_without_pocls_own_files():
    told = said("out[i] = max(x[i], 0);").split("\n")
    assert told[1] == "<your kernel>, line 3: call to 'max' is ambiguous"
    assert told[3].index("^") == told[2].index("max")


def test_comments_and_text_in_quotes_are_no_slips():
    for line in (
        'printf("not %d and // # ** or", i)', "int r = 1  // True and not 0", "int r = 1  /* a ** b */",
        "int r = 1  // see lesson 04", "#define PASTE(a, b) a##b", "#if 1",
    ):  # fmt: skip
        assert slip("expected something", [line], 1) == ("", ""), line


def test_a_line_that_nobody_wrote_is_not_pondered_for_minutes():
    line = "o[0] = " + "(" * 100_000 + "1" + ")" * 100_000 + ";"
    assert slip("bracket nesting level exceeded", [line], 1) == ("", "")
    assert slip("expected ';' after expression", [line], 1)[0] == "no semicolon"


def test_a_line_outside_the_text_has_no_slip():
    assert slip("expected ')'", ["int a;"], 0) == slip("expected ')'", ["int a;"], 9) == ("", "")
    assert "line 7: expected ')'" in explain("x.cl:7:1: error: expected ')'", "int a;")


LOUD = """
import os, gpugrad as gg
gg.use_device("pocl")
for text in ("x[0] = q", "x[0] = 'ab'"):
    try:
        with gg.trace():
            gg.kernel("__kernel void f(__global float *x) {" + text + ";}")(gg.zeros(1), global_size=1)
    except gg.KernelBuildError as error:
        print(error)
os.write(2, b"other words\\n")
"""


@pytest.mark.skipif(not POCL, reason="it is PoCL's compiler that counts on stderr")
def test_the_compilers_count_of_errors_and_warnings_does_not_reach_stderr(tmp_path):
    environment = {**os.environ, "POCL_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LOUD], env=environment, capture_output=True, text=True, timeout=120)
    assert "undeclared identifier 'q'" in done.stdout
    assert done.stderr == "other words\n"


COMPILER = """
import os
from gpugrad.build_errors import uncounted
with uncounted():
    os.write(2, b"1 warning and 2 errors generated.\\nout of memory\\n")
os.close(2)
with uncounted():
    print("no stderr")
"""


def test_whatever_else_is_written_to_stderr_during_a_build_gets_there():
    done = subprocess.run([sys.executable, "-c", COMPILER], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no stderr\n", "out of memory\n")
