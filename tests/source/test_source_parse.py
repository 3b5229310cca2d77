"""Signatures, sizes of types, and the preprocessor."""

import pytest

from gpugrad.source import SourceError, parse
from gpugrad.source.layout import BASES, Array, Pointer, Record
from gpugrad.source.lexer import Source
from gpugrad.source.parser import Parser
from gpugrad.source.preprocess import preprocess


def words(text, defines=None, extensions=frozenset()):
    return " ".join(t.text for t in preprocess(Source(text), defines or {}, extensions)[:-1])


def test_a_signature_tells_names_spaces_types_and_sizes():
    text = """typedef struct { double d; char c; } P;
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void k(__global const float4 *restrict a, global P *p, __local T *t, constant int *c, const int n, unsigned long u) {}
kernel void other(void) { }"""
    kernels = parse(text, {"T": "float"})
    assert list(kernels) == ["k", "other"]
    assert kernels["other"].arguments == ()
    got = [(a.name, a.space, a.scalar, a.lanes, a.size, a.const) for a in kernels["k"].arguments]
    assert got == [
        ("a", "global", "float", 4, 16, True), ("p", "global", "P", 1, 16, False), ("t", "local", "float", 1, 4, False),
        ("c", "constant", "int", 1, 4, True), ("n", "", "int", 1, 4, True), ("u", "", "ulong", 1, 8, True),
    ]  # fmt: skip
    assert kernels["k"].arguments[0].text == "__global const float4 *restrict a"
    assert kernels["k"].line == 3


def test_sizes_are_those_of_the_device():
    record = Record("P", (("c", BASES["char"]), ("v", BASES["float3"]), ("s", Array(BASES["short"], 3))))
    assert (record.size, record.align, record.offset("v"), record.offset("s")) == (48, 16, 16, 32)
    assert Record("Q", record.fields, packed=True).size == 1 + 16 + 6
    assert Record("U", record.fields, union=True).size == 16
    assert (BASES["half4"].size, BASES["double16"].size, Pointer(BASES["int"], "global").size) == (8, 128, 8)


def test_array_lengths_are_worked_out():
    text = """enum { A = 3, B, C = A * 2 };
__kernel void k() {
  const int n = 5;
  __local float t[B][sizeof(int) * 2 + n];
  float w[] = {1, 2};
  int m[(C > 4 ? 7 : 8)];
}"""
    source = Source(text)
    parser = Parser(source, preprocess(source))
    kernel = parser.unit()[1]
    dims = {d.variable.name: d.variable.type for s in kernel.body.body for d in s.declarators}
    assert dims["t"] == Array(Array(BASES["float"], 13), 4)
    assert dims["w"].length == 2 and dims["m"].length == 7


EXPANSIONS = {
    "object": ("#define N 4\nN + N", "4 + 4"),
    "function": ("#define F(a, b) a * b\nF(1 + 2, (3, 4))", "1 + 2 * ( 3 , 4 )"),
    "not called": ("#define F(a) a\nF + F (2)", "F + 2"),
    "arguments are expanded first": ("#define N 4\n#define F(a) a + a\nF(N)", "4 + 4"),
    "nested calls": ("#define F(a) (a)\nF(F(F(1)))", "( ( ( 1 ) ) )"),
    "self reference": ("#define x x + 1\nx", "x + 1"),
    "mutual reference": ("#define x y\n#define y x\nx y", "x y"),
    "paste": ("#define J(a, b) a##b\nJ(x, 1) J(, y) J(z, )", "x1 y z"),
    "paste of three": ("#define J(a, b) a##b##_t\nJ(u, int)", "uint_t"),
    "operands of paste are not expanded": ("#define N 4\n#define J(a, b) a##b\nJ(N, N)", "NN"),
    "string": ('#define S(a) #a\nS(x  + "y\\n")', '"x + \\"y\\\\n\\""'),
    "variadic": ("#define V(f, ...) f(__VA_ARGS__)\nV(g, 1, 2) V(h)", "g ( 1 , 2 ) h ( )"),
    "redefined": ("#define N 1\nN\n#undef N\nN\n#define N 2\nN", "1 N 2"),
    "joined lines": ("#define F(a) a \\\n + a\nF(1)", "1 + 1"),
    "from the standard": ("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g"),
    "rescan takes what follows": ("#define f(a) a + g\n#define g(a) [a]\nf(1)(2)", "1 + [ 2 ]"),
}


@pytest.mark.parametrize("text, expected", EXPANSIONS.values(), ids=EXPANSIONS)
def test_macros_expand_as_in_c(text, expected):
    assert words(text) == expected


CONDITIONS = {
    "1": True, "0": False, "X": False, "N == 4": True, "defined N && !defined(X)": True, "(2 + 3) * 2 == 10": True,
    "-7 / 2 == -3": True, "-7 % 2 == -1": True, "1 ? 0 : 1": False, "0x1F & 3": True, "1 << 3 == 8": True,
    "N > 3 && N < 5 || 0": True, "~0 == -1": True, "'A' == 65": True, "0 && 1 / 0": False, "F(2) == 4": True,
    "__OPENCL_VERSION__ >= 120": True, "defined(M_PI_F)": True, "INT_MAX > 0": True,
    "3u - 2 == 1": True, "1u << 4 == 16": True, "2u < 3": True, "!0u": True, "0xffffffffu > 1": True,
}  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_worked_out(condition):
    text = f"#define F(a) a * 2\n#if {condition}\nyes\n#else\nno\n#endif"
    assert words(text, {"N": "4"}) == ("yes" if CONDITIONS[condition] else "no")


@pytest.mark.parametrize(
    "condition",
    ["0u - 1 > 0", "~0u > 5", "-1 < 1u", "-1u == 1", "(0u + 2) - 3 > 0", "(1 << 63) < 0", "INT_MAX << 33 < 0"],
)
def test_a_condition_in_which_numbers_go_round_is_left_to_the_compiler(condition):
    with pytest.raises(SourceError, match="cannot work out this condition"):
        words(f"#if {condition}\nyes\n#endif")


def test_only_one_branch_is_taken():
    text = "#if N == 1\none\n#elif N == 2\ntwo\n#elif N == 2\nagain\n#else\nother\n#endif"
    assert [words(text, {"N": n}) for n in "123"] == ["one", "two", "other"]


def test_a_dead_branch_is_not_looked_into():
    text = "#ifdef NOT\n#include <x>\n#if 1 / 0\n#error\n#else\n#endif\n?\n#endif\nok"
    assert words(text) == "ok"


def test_extensions_answer_ifdef():
    text = "#ifdef cl_khr_fp64\nyes\n#else\nno\n#endif"
    assert words(text, extensions=frozenset({"cl_khr_fp64"})) == "yes"
    assert words(text, extensions=frozenset({"cl_khr_fp16"})) == "no"


def test_pragmas_stay():
    assert words("#pragma unroll 4\nfor") == "#pragma unroll 4 for"
    assert "#pragma" not in words("#if 0\n#pragma unroll\n#endif\nx")


BROKEN = [
    "#if", "#if 1 +", "#if (1", "#if 1 2", "#define", "#define F(a", "#define F(a b) a", "#undef", "#elif 1", "#endif",
    "#if 1\n#else\n#else\n#endif", "#ifdef 1\n#endif", "# x", "#if defined(\n#endif",
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_broken_directives_are_errors(text):
    with pytest.raises(SourceError):
        words(text)
