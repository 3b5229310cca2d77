"""The mutants of a kernel file: every small mistake that tests/mutate.py plants, one at a time.

A mutant is one token changed (a comparison, an arithmetic or logical operator, an axis's name (KH for KW), a number,
the infinity that a maximum starts from) or one barrier left out. Mutants that change nothing anyone could see stand in
`mutants_equivalent.toml`, each with its reason.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

try:
    import tomllib
except ImportError:  # Python 3.10
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "gpugrad" / "kernels"

#: Which tests have to notice a mistake in a kernel file; the others' are tests/test_<name before '_'>.py.
TESTS: dict[str, tuple[str, ...]] = {
    "argmax.cl": ("test_reduce.py",),
    "avg_pool.cl": ("test_avg_pool.py", "test_pooling.py"),
    "batch_norm.cl": ("test_batch_norm.py",),
    "max_pool.cl": ("test_max_pool.py", "test_pooling.py"),
    "cross_entropy.cl": ("test_loss.py",),
    "elementwise.cl": ("test_elementwise.py", "test_broadcast.py"),
    "optim.cl": ("test_optim.py", "test_optim_groups.py"),
    "pick.cl": ("test_reduce.py",),
    "random.cl": ("test_random.py", "test_ops_random.py"),
    "unscale.cl": ("test_grad_scaler.py",),
}

OPERATORS = {
    "<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",),
    "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "&&": ("||",), "||": ("&&",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("+=",),
}  # fmt: skip
AXES = {a + "H": a + "W" for a in ("", "K", "O", "S", "P", "D")}
AXES.update({w: h for h, w in AXES.items()})

TOKEN = re.compile(
    r"(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|\s+)"
    r"|(?P<barrier>barrier\s*\([^()]*\))|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)"
    r"|(?P<op><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|->|.)",
    re.DOTALL | re.MULTILINE,
)
BEFORE_UNARY = {None, "(", "[", "{", ",", ";", "=", "return", "?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||",
                "+", "-", "*", "/", "%", "!", "+=", "-=", "*="}  # fmt: skip
TYPES = re.compile(r"(T|A|R|I|void|char|uchar|short|ushort|int|uint|long|ulong|float|double|half|size_t)\d*$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Mutant:
    file: str
    start: int
    old: str
    new: str
    line: int
    text: str  # the line it stands in, stripped
    nth: int  # which of the same mutants of that line it is, from 0
    kernels: frozenset[str]  # the kernels of the file that use the function it stands in

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.file, self.text, self.old, self.new, self.nth

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new or 'nothing'} (nth {self.nth})    {self.text}"

    def apply(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def changes(kind: str | None, token: str, before: str | None) -> tuple[str, ...]:
    """What a token may be mistaken for, by its kind and the token before it."""
    if kind == "barrier":
        return ("",)
    if kind == "word":
        return (AXES[token],) if token in AXES else ("1",) if token == "INFINITY" else ()
    if kind == "number":
        number = re.fullmatch(r"(\d+)(\.\d*)?([fF]?)", token)  # not 1e-5, 0x3f, 1UL
        return (f"{int(number[1]) + 1}{number[2] or ''}{number[3]}",) if number else ()
    if token not in OPERATORS:
        return ()
    unary = before in BEFORE_UNARY
    if token == "*" and (unary or before == "const" or (before is not None and TYPES.match(before))):
        return ()  # it makes a pointer
    if unary:
        return {"-": ("+",), "+": ()}.get(token, OPERATORS[token])
    return OPERATORS[token]


def tokens(source: str) -> Iterator[tuple[re.Match[str], str | None, str]]:
    """Each token (no comment, no directive), the token before it, and the function whose body it stands in, or ""."""
    before: str | None = None
    braces = brackets = 0
    function = ""
    for match in TOKEN.finditer(source):
        token = match[0]
        if match.lastgroup == "skip":
            continue
        braces += (token == "{") - (token == "}")
        if braces == 0:
            brackets += (token == "(") - (token == ")")
            if token == "(" and brackets == 1 and before != "__attribute__":
                function = before or ""
        yield match, before, function if braces else ""
        before = token


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of one kernel file: inside function bodies only."""
    found: list[Mutant] = []
    lines = source.split("\n")
    users = kernels_of_functions(source)
    for match, before, function in tokens(source):
        line = source.count("\n", 0, match.start()) + 1
        for new in changes(match.lastgroup, match[0], before) if function else ():
            nth = sum(m.line == line and (m.old, m.new) == (match[0], new) for m in found)
            text = lines[line - 1].strip()
            found.append(Mutant(file, match.start(), match[0], new, line, text, nth, users[function]))
    return found


def kernel_names(source: str) -> list[str]:
    """The kernels in a file, its comments left out."""
    return re.findall(r"\b__kernel\b[^{};]*?\bvoid\s+(\w+)", COMMENT.sub(" ", source))


def kernels_of_functions(source: str) -> dict[str, frozenset[str]]:
    """Each function of a file -> the kernels whose text leads to it, through functions and macros by their names."""
    words: dict[str, set[str]] = {}
    for name, text in re.findall(r"#define\s+(\w+)((?:[^\n\\]|\\.|\\\n)*)", COMMENT.sub(" ", source), re.DOTALL):
        words.setdefault(name, set()).update(re.findall(r"\w+", text))
    functions = set()
    for match, _, function in tokens(source):
        if function:
            functions.add(function)
            words.setdefault(function, set()).add(match[0])
    uses: dict[str, set[str]] = {name: set() for name in functions}
    for kernel in kernel_names(source):
        reached, todo = set(), [kernel]
        while todo:
            name = todo.pop()
            if name in words and name not in reached:
                reached.add(name)
                todo.extend(words[name])
        for name in reached & functions:
            uses[name].add(kernel)
    # A function that only a macro from outside leads to may belong to any kernel.
    every = frozenset(kernel_names(source))
    return {name: frozenset(kernels) or every for name, kernels in uses.items()}


def tests_of(file: str) -> list[str]:
    names = TESTS.get(file) or (f"test_{pathlib.Path(file).stem.split('_')[0]}.py",)
    return [f"tests/{name}" for name in names]


def equivalents() -> dict[tuple[str, str, str, str, int], str]:
    """Mutant.key -> the reason why that mutant changes nothing anyone could see."""
    path = ROOT / "tests" / "mutants_equivalent.toml"
    if not path.exists():
        return {}
    if tomllib is None:
        raise SystemExit("the list of equivalent mutants needs Python 3.11 or newer")
    listed = tomllib.loads(path.read_text())["mutant"]
    return {(m["file"], m["text"], m["old"], m["new"], m.get("nth", 0)): m["reason"] for m in listed}
