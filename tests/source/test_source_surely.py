"""What compiles and is surely a mistake is refused when a kernel is built; what may be right is not."""

import pytest

import gpugrad as gg
from gpugrad.source import Mistake, survey

HEAD = "__kernel void k(__global const float *a, __global float *o, int n) {\n  int i = get_global_id(0);\n"


def told(lines, above=""):
    with pytest.raises(Mistake) as error:
        survey(f"{above}{HEAD}{lines}\n}}", "k")
    return error.value


CHAINS = {
    "0 <= i < n": "0 <= i && i < n",
    "n > i >= 0": "n > i && i >= 0",
    "i + 1 < n < 2 * n": "i + 1 < n && n < 2 * n",
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_comparisons_is_refused_and_told_as_two(chain):
    assert told(f"if ({chain}) o[i] = 1;").reason.endswith(f"write {CHAINS[chain]}")


def test_comparisons_in_parentheses_and_side_by_side_are_not_refused():
    for right in ("(0 < i) < n", "i < n && n > 0", "i < n == n > 0", "1 << i < n", "i < n ? 1 : 0"):
        survey(f"{HEAD}if ({right}) o[i] = 1;\n}}", "k")


@pytest.mark.parametrize("kind", ["uint", "ulong", "size_t", "uchar", "unsigned"])
@pytest.mark.parametrize("loop", ["for ({} j = 7; j >= 0; j--) o[j] = 1;", "{} j = 7;\nwhile ((0 <= j)) o[j--] = 1;"])
def test_a_loop_that_an_unsigned_number_below_0_should_end_is_refused(kind, loop):
    assert told(loop.format(kind)).reason.startswith("j is unsigned and never below 0, so ")


def test_a_loop_over_a_signed_number_or_with_another_way_out_is_not_refused():
    for right in (
        "for (int j = 7; j >= 0; j--) o[j] = 1;",
        "for (uint j = 7; j >= 1; j--) o[j] = 1;",
        "for (uint j = 7; j >= 0; j--) { o[j] = 1; if (!j) break; }",
        "for (uint j = 7; j >= 0; j--) { o[j] = 1; if (!j) return; }",
        "for (uint j = 7; j >= 0 && j < 8; j--) o[j] = 1;",
    ):
        survey(f"{HEAD}{right}\n}}", "k")


UNSET = {
    "a sum": "float s;\nfor (int j = 0; j < n; j++) s += a[j];\no[i] = s;",
    "in a condition": "int found;\nif (found) o[i] = 1;",
    "a loop's condition": "int j;\nwhile (j < n) { o[j] = 0; j++; }",
    "a count": "int count;\nfor (int j = 0; j < n; j++) { if (a[j] > 0) o[j] = 1; count++; }",
    "one way of two sets another": "float s, t;\nif (i > 3) t = 1;\no[i] = s;",
    "where a condition leads": "float s;\nif (i > 3) o[i] = s;",
    "after a way that returns": "float s;\nif (i > 3) { s = 1; o[i] = s; return; }\no[i] = s;",
    "on the right of its own first value": "float s;\ns = s + 1;\no[i] = s;",
    "an index": "int j;\no[j] = 1;",
    "a vector": "float4 v;\nv += 1;\no[i] = v.x;",
    "a pointer": "__global float *p;\n*p = 1;",
    "an argument of a function": "float s;\no[i] = exp(s);",
    "after a loop that sets another": "float s, t;\nfor (int j = 0; j < n; j++) t = j;\no[i] = s;",
}


@pytest.mark.parametrize("lines", UNSET.values(), ids=UNSET)
def test_a_variable_that_is_read_before_anything_was_stored_in_it_is_refused(lines):
    assert "is read before anything was stored in it" in told(lines).reason


SET = {
    "on both ways": "float s;\nif (i > 3) s = 1; else s = 2;\no[i] = s;",
    "on one of two ways, perhaps": "float s;\nif (i > 3) s = 1;\nif (i > 3) o[i] = s;",
    "by the turn before": "float s;\nfor (int j = 0; j < n; j++) { if (j > 0) o[j] = s; s = a[j]; }",
    "by the turn before, as the first goes on": (
        "float s;\nfor (int j = 0; j < n; j++) { if (j == 0) { s = 1; continue; } o[j] = s; }"
    ),
    "by the step of a loop whose turn was cut short": (
        "float s;\nfor (int j = 0; j < n; s = j, j++) { if (j < 3) { if (a[j] > 0) continue; } o[j] = j > 0 ? s : 0; }"
    ),
    "by the step, behind a turn cut short": (
        "float s;\nfor (int j = 0; j < n; s = j, j++) { if (j < 3) { if (j < 1) continue; } o[j] = s; }"
    ),
    "in a loop that may have no turn": "float s;\nfor (int j = 0; j < n; j++) s = a[j];\no[i] = s;",
    "by an earlier turn of the loop around": (
        "float s;\nfor (int j = 0; j < n; j++) { for (int k = 0; k < j; k++) o[k] = s; s = j; }"
    ),
    "by a function that is given its address": "float c;\no[i] = sincos(a[i], &c) + c;",
    "by its components": "float4 v;\nv.x = 1; v.yzw = 2;\no[i] = v.x;",
    "in a switch": "float s;\nswitch (i) { case 0: s = 1; break; default: s = 2; }\no[i] = s;",
    "in another case of a switch in a loop": (
        "float s;\nfor (int j = 0; j < n; j++) switch (j) { case 0: s = 1; break; default: o[j] = s; }"
    ),
    "in a condition": "float s;\nif ((s = a[i]) > 0) o[i] = s;",
    "in the loop's body, for its step": "int j, k;\nfor (j = 0; j < n; j = k) k = j + 1;\no[i] = j;",
    "before a do loop asks": "int j;\ndo { j = n; } while (j < n);\no[i] = j;",
    "nowhere, and read nowhere": "float s;\n(void)s;\no[i] = sizeof(s);",
    "an array, which is not looked at": "float t[4];\nt[i] = 1;\no[i] = t[i];",
    "behind a goto, which is not followed": "float s;\ngoto end;\nend: s = 1;\no[i] = s;",
}


@pytest.mark.parametrize("lines", SET.values(), ids=SET)
def test_a_variable_that_may_have_been_set_is_not_spoken_of(lines):
    survey(f"{HEAD}{lines}\n}}", "k")


def test_a_function_that_the_kernel_calls_is_looked_at_and_another_is_not():
    above = "float sum(int n) { float s; for (int j = 0; j < n; j++) s += j; return s; }\n"
    assert told("o[i] = sum(n);", above).line == 1
    survey(f"{above}{HEAD}o[i] = 1;\n}}", "k")


def test_the_message_names_the_variable_its_line_and_a_first_value():
    error = told("float s;\ns += a[i];\no[i] = s;")
    assert (error.line, error.column) == (4, 1)
    assert error.reason.startswith("s is read before") and error.reason.endswith("such as float s = 0;")


def test_text_that_is_too_deep_to_follow_is_passed():
    ifs = "".join(f"if (n > {k}) " for k in range(120))
    for lines in (f"o[0] = {'+'.join(['1'] * 5000)};", f"{ifs} o[0] = n;"):
        survey(f"{HEAD}{lines}\n}}", "k")


def test_an_index_of_two_numbers_is_refused_and_told_as_C_takes_it():
    error = told("o[i, n] = a[0];")
    assert error.reason.startswith("o[i, n] is o[n] in C") and error.reason.endswith("write o[i * COLUMNS + n]")
    assert error.line == 3
    survey(f"{HEAD}int j = 0; o[(j++, i)] = a[j];\n}}", "k")


WRONG_PRINTS = {
    r'printf("%s\n", a[i]);': "for a[i] write %f",
    r'printf("%s\n", i);': "for i write %d",
    r'printf("%d\n", a[i]);': "%d prints a whole number, and a[i] is float: write %f",
    r'printf("%f\n", i);': "%f prints a float, and i is int: write %d",
    r'printf("%d %f\n", i);': "asks for 2 values, and 1 follow it",
    r'printf("%d%n\n", i, &i);': "no %n",
    r'printf("%d " "%d\n", i, a[i]);': "a[i] is float: write %f",
    "printf(i);": "begins with a pattern in quotes",
    "printf(5);": "begins with a pattern in quotes",
}


@pytest.mark.parametrize("line", WRONG_PRINTS)
def test_a_print_that_does_not_fit_its_values_is_refused(line):
    assert WRONG_PRINTS[line] in told(line).reason


def test_prints_that_fit_are_not_spoken_of():
    for line in (
        r'printf("100 %% of %d: %5.2f %s\n", i, a[i], "text");', r'printf("%v4f\n", (float4)(1));', r'printf("\n");',
        r'printf("%lu %c %x %hd\n", (ulong)i, 65, i, (short)i);', r'printf("%d %d\n", i > 3, get_global_id(0) > 2);',
        r'printf("%f\n", sqrt(a[i]) * 2);', r'printf("%*d\n", 5, i);',
    ):  # fmt: skip
        survey(f"{HEAD}{line}\n}}", "k")


def test_an_atomic_function_on_what_is_declared_const_is_refused():
    above = "__kernel void f(__global const int *a, __global int *o) {\n"
    with pytest.raises(Mistake, match=r"line 2.*atomic_add writes to &a\[0\], which is declared const"):
        survey(f"{above}atomic_add(&a[0], 1);\n}}", "f")
    with pytest.raises(Mistake, match="atomic_inc writes to a, which"):
        survey(f"{above}atomic_inc(a);\n}}", "f")
    survey(f"{above}atomic_add(&o[0], a[0]); atomic_inc((__global int *)a);\n}}", "f")


def test_a_function_that_forgets_to_return_its_value_is_refused():
    error = told("o[i] = square(a[i]);", "float square(float x) { x * x; }\n")
    assert error.line == 1 and error.reason.startswith("square returns nothing: it needs a return with a value")
    survey(f"float sign(float x) {{ if (x < 0) return -1; return 1; }}\n{HEAD}o[i] = sign(a[i]);\n}}", "k")
    survey(f"void put(__global float *x) {{ *x = 1; return; }}\n{HEAD}put(o);\n}}", "k")


def test_such_a_kernel_is_refused_when_it_is_made_so_that_it_never_runs():
    with pytest.raises(gg.KernelBuildError, match="s is read before anything"):
        gg.kernel(f"{HEAD}float s; o[i] = s;\n}}")
    with pytest.raises(gg.KernelBuildError, match="line 3"):
        gg.sanitize(f'{HEAD}printf("%s", a[i]);\n}}', gg.zeros(3), gg.zeros(3), 3, global_size=3)


def test_the_packages_own_kernels_and_those_of_the_tests_are_passed(request):
    from gpugrad.source import SourceError, enables_half, surely
    from gpugrad.source.unit import Unit

    root, seen = request.config.rootpath, 0
    for path in [*root.glob("gpugrad/kernels/*.cl"), *root.glob("tests/source/corpus/*.cl")]:
        text = path.read_text(encoding="utf-8")
        try:
            unit = Unit(text, {"T": "float", "A": "float"}, frozenset(), not enables_half(text))
        except SourceError:
            continue  # it needs more macros than these
        surely.refuse(unit, unit.functions.values())
        seen += 1
    assert seen > 10
