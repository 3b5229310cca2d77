"""Common slips of those who come from Python, CUDA or C++, or paste from a page, and one sentence each that mends them.

A compiler says that a `;` was expected; that Python's `//` begins a comment in C is for us to say. Each rule looks at
the author's line and at the compiler's message, since compilers agree on neither words nor columns.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 400  # characters of a line that anybody wrote; on endless ones the patterns below take for ever
_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|line|pragma|undef|warning"
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_DECLARATION = re.compile(r"\s*(?:const\s+)?(?:int|uint|float|double|half)\d*\s+\w+\s*=")
_BRANCH = re.compile(r"\s*(?:\}?\s*(?:else\s+)?(?:if|for|while)\b.*\)|\}?\s*else)$")
ALONE = "a declaration alone"  # what the compiler says behind it follows from it
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)|//.*")


@dataclass(frozen=True)
class Slip:
    """`code` is sought in the line, comments and text in quotes taken out, `message` in what the compiler says of it.

    `remedy` is the sentence, or makes it from what was found in the line and in the message ("": it does not fit).
    """

    name: str
    code: str
    message: str
    remedy: str | Callable[[re.Match[str], re.Match[str]], str]


def _flat(code: re.Match[str], _: re.Match[str]) -> str:
    name, row, column = (part.strip() for part in code.groups())
    row = row if re.fullmatch(r"\w+", row) else f"({row})"
    return (
        f"{name} is one long row of numbers with one index: where a row has COLUMNS of them, write "
        f"{name}[{row} * COLUMNS + {column}]."
    )


_LOGICAL = {"and": "&&", "or": "||", "not": "!"}


def _operator(code: re.Match[str], _: re.Match[str]) -> str:
    return f"C has no {code[1]!r}: write {_LOGICAL[code[1]]} instead."


def _constant(code: re.Match[str], _: re.Match[str]) -> str:
    if code[1] == "None":
        return "C has no None: an int or a float always holds a number, such as 0."
    return f"In C, {code[1]} is written small: {code[1].lower()}."


def _ambiguous(_: re.Match[str], message: re.Match[str]) -> str:
    return (
        f"{message[1]} needs numbers of one type: beside a float, write 0.0f instead of 0, and (float)n instead of an "
        "int n."
    )


# What CUDA, C's own library and C++ call what OpenCL C calls otherwise, or has not.
_OPENCL = {
    "threadIdx": "threadIdx.x is get_local_id(0)",
    "blockIdx": "blockIdx.x is get_group_id(0)",
    "blockDim": "blockDim.x is get_local_size(0)",
    "gridDim": "gridDim.x is get_num_groups(0)",
    "__syncthreads": "__syncthreads() is barrier(CLK_LOCAL_MEM_FENCE)",
    "__shared__": "__shared__ is __local",
    "__device__": "__device__ is left out: any function can be called from a kernel",
    "__global__": "__global__ is __kernel",
    "atomicAdd": "atomicAdd is atomic_add, and for whole numbers only",
    "nullptr": "nullptr is 0",
}
_MATH = "exp exp2 exp10 log log2 log10 pow sqrt rsqrt fabs fmax fmin fmod floor ceil round sin cos tan tanh erf fma"
_KNOWN = (
    "__kernel __global __local __constant __private const void int float double half char uchar short uint long ulong "
    "bool size_t float2 float4 float8 int2 int4 if else for while return break continue struct typedef unsigned "
    "get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups barrier "
    "CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE atomic_add atomic_inc atomic_cmpxchg printf min max clamp mad select "
    f"INFINITY NAN FLT_MAX isnan isinf dot vload4 vstore4 {_MATH}"
).split()


def _foreign(code: re.Match[str], _: re.Match[str]) -> str:
    return f"In OpenCL, {_OPENCL[code[1]]}."


def _character(code: re.Match[str], _: re.Match[str]) -> str:
    name = unicodedata.name(code[1], f"U+{ord(code[1]):04X}").lower()
    shown = f"'{code[1]}' ({name})" if code[1].isprintable() and not code[1].isspace() else f"a {name}"
    return f"There is {shown} in this line: C knows plain letters and signs only. Type it anew."


def _misspelt(code: re.Match[str], message: re.Match[str]) -> str:
    """The known name that an unknown one comes near to."""
    name = next(filter(None, message.groups()))
    if name.endswith("f") and name[:-1] in _MATH.split():
        return f"In OpenCL, {name} is {name[:-1]}: it takes float and double."
    near = [known for known in _KNOWN if _letters(known) == _letters(name)]  # flaot, get_globalID
    near = near or difflib.get_close_matches(name, _KNOWN, 1, 0.87)
    return f"{name} is not known: {near[0]} is." if near else ""


def _letters(name: str) -> list[str]:
    return sorted(name.replace("_", "").lower())


def _no_name(_: re.Match[str], message: re.Match[str]) -> str:
    return (
        f"A kernel knows its arguments and its own variables alone: if {message[1]} is a variable of Python's, make it "
        "an argument."
    )


def _undeclared(code: re.Match[str], message: re.Match[str]) -> str:
    if code[1] != message[1]:
        return ""  # it is another name that the compiler does not know
    return f"A new variable begins with its type: write float {code[1]} = ...; or, for a whole number, int."


_EXPECTED = "expected|undeclared|implicit|unknown type"
_UNKNOWN = r"undeclared identifier '(\w+)'|declaration of function '(\w+)'|unknown type name '(\w+)'"

#: The first rule that fits is told: a mistake in a word comes before the semicolon that the compiler misses behind it.
SLIPS = (
    Slip("a character", r"([^\x00-\x7f])", "", _character),
    Slip("Markdown", r"`|^\s*~~~", "expected", "``` and ~~~ are Markdown's marks around code, and no part of it: take "
         "them out."),
    Slip("a second %%", r"^\s*%%\w", "expected", "%% begins a cell, as its first line: each kernel has a cell of its "
         "own."),
    Slip("a listing", r"^\s*\d+ \|(?!\|)", "expected|operands|assignable", "A line's number and the | behind it belong "
         "to a listing: take them out."),
    Slip("HTML", r"&(?:lt|gt|amp|quot|nbsp);", "undeclared", "&lt; is a web page's way to write <, &gt; is >, and "
         "&amp; is &: write the signs themselves."),
    Slip("Python", r"^\s*(?:from\s+[\w.]+\s+import\b|import\s+\w|def\s+\w|course\s*\.)", "expected|unknown type",
         "This line is Python: below %%kernel, and in the text of a kernel, stands OpenCL C alone."),
    Slip("three quotes", r"\"\"[\"']", "expected|program scope", "Python's quotes are no part of a kernel's text: take "
         "them, and a name before them, out."),
    Slip(
        "Python's comment",
        rf"^(?!\s*#(?:{_DIRECTIVES})\b).*#",
        "expected|directive|preprocess",
        "# begins no comment in C: write // before it.",
    ),
    Slip("CUDA", rf"(?<!\w)({'|'.join(_OPENCL)})(?!\w)", "", _foreign),
    Slip("#include", r"#\s*include\b", "file not found", "A kernel includes nothing: exp, sqrt, printf and others are "
         "there without."),
    Slip("C++", r"\b(?:std\s*::|(?:template|class|namespace|auto|cout)\b|new\s+\w|(?:int|float)\s*&\s*\w+\s*[,)])",
         "expected|undeclared|unknown|support", "Kernels are written in C, not in C++: without std::, templates, "
         "classes, references, auto and new."),
    Slip("malloc", r"\b(?:malloc|calloc|free)\s*\(", "implicit|undeclared", "A kernel cannot ask for memory: give it "
         "an array as an argument, or declare float t[16]; with a fixed size."),
    Slip("print", r"\bprint\s*\(", "implicit|undeclared", 'C prints with a pattern: printf("%f\\n", x) for a float, %d '
         "for an int."),
    Slip("**", r"[\w)\]]\s*\*\*\s*[\w(-]", "indirection|operand", "C has no **: write a * a for a square, "
         "or pow(a, 3.0f)."),
    Slip("^", r"\^", "invalid operands", "^ is no power in C: write a * a for a square, or pow(a, 3.0f)."),
    Slip("%", r"%", "invalid operands", "% is for whole numbers: of floats, fmod(a, b) gives the rest."),
    Slip("for in", r"\bfor\b.*\bin\b", "", "C counts in a loop itself: write for (int k = 0; k < n; k++) { ... }."),
    Slip("elif", r"\belif\b", "", "C has no elif: write else if (...)."),
    Slip("a if b else c", r"[=(,][^;]*[\w)\]]\s+if\b.*\belse\b", _EXPECTED, "C writes 'a if condition else b' as "
         "condition ? a : b."),
    Slip("and, or, not", rf"\b({'|'.join(_LOGICAL)})\b", _EXPECTED, _operator),
    Slip("if without parentheses", r"^\s*\}?\s*(?:if|while|else|for)\b[^;?]*:\s*$|(?<!#)\b(?:if|while)\s+[^\s(]",
         _EXPECTED, "In C a condition stands in parentheses, and the lines that depend on it in braces: "
         "if (i < n) { ... }."),
    Slip("True, False, None", r"\b(True|False|None)\b", "identifier", _constant),
    Slip("inf", r"\binf\b", "identifier", "C writes infinity as INFINITY."),
    Slip("np.", r"\b(?:np|math)\s*\.\s*\w", "identifier", "There is no NumPy in a kernel: exp, sqrt, fabs, fmax and "
         "others are there by their plain names."),
    Slip("float(n)", r"\b(?:int|float)\s*\(", "expected", "C makes a float of an int n with (float)n, an int of a "
         "float x with (int)x."),
    Slip("len", r"\blen\s*\(", "implicit|undeclared", "An array in C does not know its length: the kernel needs it as "
         "an argument, such as int n."),
    Slip("x[r][c]", r"(\w+)\s*\[([^\[\]]+)\]\s*\[([^\[\]]+)\]", "subscripted", _flat),
    Slip("a slice", r"\[[^\]?]*:[^\]]*\]", "expected", "C has no slices: a work-item deals with one element, or a loop "
         "goes through several."),
    Slip("a vector in one place", "", r"assigning to .* incompatible type '[^']*(?:float|int)(\d+)'",
         lambda _, message: f"A vector of {message[1]} goes to memory by vstore{message[1]}(v, 0, p), where p is the "
         "place of its first number."),
    Slip("a float's atomic", r"\batom(?:ic)?_\w+", "ambiguous|no matching", "Atomic functions are for int and uint, by "
         "an address such as &out[0]: of floats, add those of a group first."),
    Slip("abs", "", "call to 'abs' is ambiguous", "abs is for whole numbers: of a float, write fabs(x)."),
    Slip("max(x, 0)", "", r"call to '(?:_cl_)?(\w+)' is ambiguous", _ambiguous),
    Slip("get_global_id()", r"\bget_\w+\s*\(\s*\)", "too few arguments", "It needs the number of a dimension: "
         "get_global_id(0) for the first."),
    Slip("barrier()", r"\bbarrier\b(?!\s*\(\s*\w)", "", "Write barrier(CLK_LOCAL_MEM_FENCE); to wait for the "
         "work-group."),
    Slip("no __global", "", "pointer arguments to kernel functions", "An array that a kernel is given lies in global "
         "memory: write __global float *, or __global const float *."),
    Slip("const", "", "read-only variable|const-qualified", "It is declared const or __constant, to be read only: "
         "take const away, or write to another array."),
    Slip("return", r"\breturn\b\s*[^\s;]", "should not return", "A kernel returns nothing: it writes its results into "
         "an array that it is given."),
    Slip("float f", "", "must have void return", "A kernel returns nothing: write __kernel void before its name."),
    Slip("1f", "", "invalid digit 'f'", "A float has a point: 1.0f or 1.f, and 0.5f, not 0,5f."),
    Slip("a[x]", "", "subscript is not an integer", "An index is a whole number: (int)x of a float x."),
    Slip("t[n]", "", "variable length array", "An array in a kernel has a fixed size, such as 16; one of __local "
         "memory may come as an argument, by gg.Local(n)."),
    Slip("a pointer's space", "", "changes address space", "A pointer says where what it points to lies: "
         "__global float *p = x; or __local."),
    Slip("a variable outside", "", "program scope variable", "Outside of functions only constants may stand: "
         "__constant float z = 3; else make it an argument."),
    Slip("__local elsewhere", "", "non-kernel function variable cannot", "Declare __local arrays in the kernel, and "
         "give them to the function as __local float *t."),
    Slip("__local = ", "", "'__local' variable cannot have an init", "Local memory starts with garbage: let the "
         "work-items write it, then wait at a barrier."),
    Slip("the same name twice", "", r"redefinition of '(\w+)'", lambda _, message: f"{message[1]} is defined twice: "
         "take one away. A variable's type is written once, where it begins."),
    Slip("a word misspelt", "", _UNKNOWN, _misspelt),
    Slip("no type", r"^\s*(\w+)\s*=[^=]", r"undeclared identifier '(\w+)'", _undeclared),
    Slip("a name of Python's", "", r"undeclared identifier '(\w+)'", _no_name),
    Slip("a function below", "", r"declaration of function '(\w+)'", "A function must stand above the one that calls "
         "it, and be written in C: Python's are out of reach."),
    Slip("no brace", "", r"^expected '\}'", "A { above has no }: count them, from the first."),
    Slip("a brace too many", "", "extraneous closing brace", "This } has no {: one above it closed the kernel "
         "already."),
    Slip("no semicolon", "", "expected ';' (?:after|at end)", "A statement ends with a semicolon: a ; is missing "
         "here."),
)  # fmt: skip


def no_kernel(source: str) -> str:
    """Why a text may hold no kernel, as a clause that follows what it needs; "" where nothing shows."""
    for pattern, why in (
        (r"\b__global__\b", "__global__ is CUDA's word for __kernel, and each array's pointer needs __global"),
        (r"^\s*(?:def|import|from|@)\b", "this looks like Python: a kernel is a text in OpenCL C"),
        (r"\b(?:__)?kernel\s+\w+\s*\(", "void is missing behind __kernel: a kernel returns nothing"),
        (r"\b(?:__)?kernel\s+(?!void)\w+", "a kernel returns nothing: its type is void"),
        (r"\bvoid\s+\w+\s*\(", "a function is one by the word __kernel before void"),
    ):
        if re.search(pattern, source, re.MULTILINE):
            return why
    return ""


def slip(message: str, lines: list[str], line: int) -> tuple[str, str]:
    """(name, remedy) of the slip that a compiler's message about a line, counted from 1, comes from; or ("", "")."""
    for at in (line, line - 1):  # what // hides is missed at the next line
        if 1 <= at <= len(lines) and _divides(lines[at - 1]):
            here = "here" if at == line else f"in line {at}"
            return "//", f"// begins a comment in C: write / {here}: between whole numbers it drops the fraction."
    code = _code(lines, line)
    if message == "expected expression" and _DECLARATION.match(code) and _BRANCH.match(_code(lines, line - 1)):
        return ALONE, "Behind if, for or else without braces stands one statement, and no declaration: write { ... }."
    if len(code) > LONGEST:
        code = ""
    for each in SLIPS:
        found, said = re.search(each.code, code), re.search(each.message, message)
        if found and said:
            remedy = each.remedy if isinstance(each.remedy, str) else each.remedy(found, said)
            if remedy:
                return each.name, remedy
    return "", ""


def _code(lines: list[str], line: int) -> str:
    """A line, counted from 1, without its comments and what is in quotes."""
    return _COMMENT.sub("", _QUOTED.sub('""', lines[line - 1])).rstrip() if 1 <= line <= len(lines) else ""


def _divides(line: str) -> bool:
    """Does // stand for a division, so that what is behind it ends a statement or closes a bracket?"""
    before, mark, after = _QUOTED.sub('""', line).partition("//")
    if not mark or not re.search(r"[\w)\]]\s*$", before):
        return False
    depth = 0
    for letter in after:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            return True
    return after.rstrip().endswith(";")
