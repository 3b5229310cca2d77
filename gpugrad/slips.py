"""Common slips of those who come from Python, and one sentence each that mends them.

A compiler says that a `;` was expected; that Python's `//` begins a comment in C is for us to say. Each rule looks at
the author's line and at the compiler's message, since compilers agree on neither words nor columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_DIRECTIVES = "define|elif|else|endif|error|if|ifdef|ifndef|include|line|pragma|undef|warning"
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
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


def _operator(code: re.Match[str], _: re.Match[str]) -> str:
    return f"C has no {code[1]!r}: write {dict(zip(('and', 'or', 'not'), ('&&', '||', '!')))[code[1]]} instead."


def _constant(code: re.Match[str], _: re.Match[str]) -> str:
    if code[1] == "None":
        return "C has no None: an int or a float always holds a number, such as 0."
    return f"In C, {code[1]} is written small: {code[1].lower()}."


def _ambiguous(_: re.Match[str], message: re.Match[str]) -> str:
    return (
        f"{message[1]} needs numbers of one type: beside a float, write 0.0f instead of 0, and (float)n instead of an "
        "int n."
    )


def _undeclared(code: re.Match[str], message: re.Match[str]) -> str:
    if code[1] != message[1]:
        return ""  # it is another name that the compiler does not know
    return f"A new variable begins with its type: write float {code[1]} = ...; or, for a whole number, int."


_EXPECTED = "expected|undeclared|implicit|unknown type"

#: The first rule that fits is told: a mistake in a word comes before the semicolon that the compiler misses behind it.
SLIPS = (
    Slip(
        "Python's comment",
        rf"^(?!\s*#(?:{_DIRECTIVES})\b).*#",
        "expected|directive|preprocess",
        "# begins no comment in C: write // before it.",
    ),
    Slip("**", r"[\w)\]]\s*\*\*\s*[\w(-]", "indirection|operand", "C has no **: write a * a for a square, "
         "or pow(a, 3.0f)."),
    Slip("for in", r"\bfor\b.*\bin\b", "", "C counts in a loop itself: write for (int k = 0; k < n; k++) { ... }."),
    Slip("elif", r"\belif\b", "", "C has no elif: write else if (...)."),
    Slip("a if b else c", r"[=(,][^;]*[\w)\]]\s+if\b.*\belse\b", _EXPECTED, "C writes 'a if condition else b' as "
         "condition ? a : b."),
    Slip("and, or, not", r"\b(and|or|not)\b", _EXPECTED, _operator),
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
    Slip("max(x, 0)", "", r"call to '(?:_cl_)?(\w+)' is ambiguous", _ambiguous),
    Slip("no type", r"^\s*(\w+)\s*=[^=]", r"undeclared identifier '(\w+)'", _undeclared),
    Slip("no semicolon", "", "expected ';' (?:after|at end)", "A statement ends with a semicolon: a ; is missing "
         "here."),
)  # fmt: skip


def slip(message: str, lines: list[str], line: int) -> tuple[str, str]:
    """(name, remedy) of the slip that a compiler's message about a line, counted from 1, comes from; or ("", "")."""
    for at in (line, line - 1):  # what // hides is missed at the next line
        if 1 <= at <= len(lines) and _divides(lines[at - 1]):
            here = "here" if at == line else f"in line {at}"
            return "//", f"// begins a comment in C: write / {here}, which divides whole numbers without a rest."
    code = _COMMENT.sub("", _QUOTED.sub('""', lines[line - 1])).rstrip() if 1 <= line <= len(lines) else ""
    for each in SLIPS:
        found, said = re.search(each.code, code), re.search(each.message, message)
        if found and said:
            remedy = each.remedy if isinstance(each.remedy, str) else each.remedy(found, said)
            if remedy:
                return each.name, remedy
    return "", ""


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
