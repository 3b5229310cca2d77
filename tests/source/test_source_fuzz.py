"""Seeded fuzzing: broken texts, soups of tokens, and random programs that must compute the same recorded as plain.

The front end either refuses a text (SourceError) or accepts it; accepted, what it writes means what it read.
"""

import re
from functools import cache

import numpy as np
import pyopencl as cl
import pytest
from sampling import some
from source.runner import CASES, OPTIONS, Case, build, data, joined, launch, run_recorded

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.source import SourceError, instrument
from gpugrad.source.half import HalfWriter
from gpugrad.source.lexer import Source, tokenize
from gpugrad.source.tree import Compound, Declarator, Function, Node, Paren, Typedef, Verbatim, walk
from gpugrad.source.unit import Unit
from gpugrad.trace import Session
from gpugrad.trace.recorder import Options
from gpugrad.trace.sanitizer import report_on

SWAPS = [
    ["+", "-", "*"],
    ["<", "<=", ">", ">=", "==", "!="],
    ["&&", "||"],
    ["&", "|", "^"],
    ["+=", "-=", "*="],
    ["++", "--"],
]
EXCHANGES = {op: [other for other in like if other != op] for like in SWAPS for op in like}
SOUP = """
a b i n 0 1 2.0f ( ) ( ) [ ] { } ; ; ; , + - * / & = == ++ -> . ? : < && if else for while do return break int
float float4 __global __local const struct x sizeof barrier atomic_add vload4 case switch goto typedef
unsigned ~ ! "s" #define # ##
""".split()


def shape(node):
    """A tree without positions, parentheses and the braces that the writer adds."""
    if isinstance(node, Paren):
        return shape(node.e)
    if isinstance(node, Compound) and len(node.body) == 1:
        return shape(node.body[0])
    if isinstance(node, list):
        return [shape(x) for x in node]
    if isinstance(node, Node):
        skip = {"t0", "t1", "open_end", "spec_end", "name_end", "name_at", "variables", "designators", "function"}
        kind = type(node).__name__
        if isinstance(node, Verbatim | Typedef):
            return kind
        return kind, [shape(v) for k, v in vars(node).items() if k not in skip]
    return getattr(node, "name", None) or repr(node)


def survives(text, defines=None, accepted=None):
    """Is the text accepted? If so, it must come back as it went in, and is kept in `accepted`."""
    try:
        unit = Unit(text, defines or {}, frozenset(), False)
        written = HalfWriter(unit).run()
    except SourceError:
        return False
    again = Unit(re.sub(r"^#line.*", "", written, flags=re.M), {}, frozenset(), False)
    assert shape(again.items) == shape(unit.items)
    for name in unit.kernels:
        try:
            instrument(text, name, defines, watch=("*",))
        except SourceError:
            continue
        if accepted is not None:
            accepted.append((text, name))
    return True


def undefined(text):
    """Is it no text, or has it private variables without a first value? What they hold is anybody's guess."""
    try:
        items = Unit(text, {}, frozenset(), False).items
    except SourceError:
        return True
    return any(
        isinstance(n, Declarator) and n.init is None and n.variable.space == "private"
        for item in items
        for n in walk(item)
    )


def to_device(args):
    """Arguments of the corpus as gpugrad takes them: numbers that it has no arrays of as bytes."""
    for a in args:
        if isinstance(a, np.ndarray):
            yield Array.from_numpy(a if a.dtype.str[1:] in ("f4", "f8", "f2", "i4", "u1") else a.view("u1"))
        else:
            yield gg.Local(a.size, np.uint8) if isinstance(a, cl.LocalMemory) else a.item()


def agrees(text, name, args, global_size, local_size):
    """Recorded, and if the sanitizer finds nothing run plain, a kernel gives the same bits. Could that be seen?"""
    try:
        kernel = gg.kernel(text, name)
    except gg.GpugradError:
        return False  # accepted here, and refused by the device's compiler, which looks at types
    plain, traced = list(to_device(args)), list(to_device(args))
    session = Session(Options(fuel=5000), None, None)
    try:
        with session as t:
            kernel(*traced, global_size=global_size, local_size=local_size)
    except (TypeError, ValueError):
        return False  # a mutant with other parameters
    if not len(t) or t[0].lost or not report_on(t[0]).ok:
        return False  # a plain run could do anything
    if any("__constant" in note for note in t[0].notes):
        return False  # nobody looked whether it stayed inside that memory
    kernel(*plain, global_size=global_size, local_size=local_size, checked=False)
    for a, b in zip(plain, traced):
        if isinstance(a, Array):
            assert a.numpy().tobytes() == b.numpy().tobytes(), text
    return True


@cache
def alone(case):
    """The text of a kernel's file without its other kernels."""
    text, unit = case.source, Unit(case.source, case.defines, frozenset(), False)
    others = [f for f in unit.items if isinstance(f, Function) and f.kernel and f.name != case.name]
    for f in reversed(others):
        text = text[: unit.tokens[f.t0].start] + text[unit.tokens[f.t1 - 1].end :]
    return text


def broken(rng, case):
    """A kernel of the corpus, alone, with a few of its tokens replaced, deleted, doubled or swapped."""
    tokens = tokenize(Source(alone(case)))[:-1]
    start = next(i for i, t in enumerate(tokens) if t.text == case.name)
    words = [("\n" if t.first else " ") + t.text for t in tokens]
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(start, min(start + 120, len(words) - 1)))
        match rng.integers(5):
            case 0:
                words[i] = ""
            case 1:
                words[i] += words[i]
            case 2:
                words[i], words[i + 1] = words[i + 1], words[i]
            case 3:
                words[i] = words[int(rng.integers(start, len(words)))]
            case 4:
                words[i] = " " + SOUP[int(rng.integers(len(SOUP)))]
    return "".join(words)


def swapped(rng, case):
    """A kernel of the corpus, alone, with one or two operators exchanged for their like, or numbers for the next."""
    tokens = tokenize(Source(alone(case)))[:-1]
    start = next(i for i, t in enumerate(tokens) if t.text == case.name)
    words = [("\n" if t.first else " ") + t.text for t in tokens]
    places = [
        i for i in range(start, len(tokens)) if tokens[i].text in EXCHANGES or re.fullmatch(r"\d+", tokens[i].text)
    ]
    for i in rng.choice(places, min(len(places), int(rng.integers(1, 3))), replace=False):
        old = tokens[i].text
        words[i] = f" {rng.choice(EXCHANGES[old]) if old in EXCHANGES else int(old) + 1}"
    return "".join(words)


def in_one_order(case):
    """Of atomic operations the last to come can decide; half and macros of a build are none of gg.kernel's."""
    return case.file != "atomics.cl" and not case.defines


def front_end_round(seed, mutants, soups):
    """-> how many mutants were accepted, and (text, kernel's name, arguments, sizes) of all that was."""
    rng = np.random.default_rng(seed)
    cases = list(CASES.values())
    taken, accepted = [], 0
    for _ in range(mutants):
        case = cases[int(rng.integers(len(cases)))]
        held = []
        accepted += survives(broken(rng, case), case.defines, held)
        if in_one_order(case):
            taken += [(text, name, data(case), case.global_size, case.local_size) for text, name in held]
    args = [np.arange(8, dtype="i4"), np.arange(16, dtype="f4"), np.int32(3)]
    for _ in range(soups):
        body = " ".join(rng.choice(SOUP, int(rng.integers(1, 40))))
        held = []
        survives(f"__kernel void k(__global int *a, __global float4 *b, int n) {{ int i = 0; {body} }}", None, held)
        survives(body)
        taken += [(text, name, args, (4,), (4,)) for text, name in held]
    return accepted, [x for x in taken if not undefined(x[0])]


def swaps_round(seed, n):
    """-> how many of n mutants with exchanged operators ran plain and recorded, and agreed."""
    rng = np.random.default_rng(seed)
    cases = [c for c in CASES.values() if in_one_order(c)]
    seen = 0
    for _ in range(n):
        case = cases[int(rng.integers(len(cases)))]
        text = swapped(rng, case)
        if not undefined(text):
            seen += agrees(text, case.name, data(case), case.global_size, case.local_size)
    return seen


class Program:
    """A random kernel that is sure to end, stays in bounds, and has one result whatever the order of evaluation."""

    def __init__(self, rng, name):
        self.rng, self.name, self.depth = rng, name, 0

    def pick(self, *choices):
        c = choices[int(self.rng.integers(len(choices)))]
        return c() if callable(c) else c

    def cell(self):
        """Something in memory, in bounds."""
        i = self.index
        return self.pick(
            lambda: f"a[{i()}]",
            lambda: f"b[{i()}].{self.pick('x', 'y', 'z', 'w')}",
            lambda: f"t[{i()} & 1][{i()}]",
            lambda: f"p[{i()}]",
            lambda: f"(*(p + {i()}))",
            lambda: f"s[{i()} & 1].{self.pick('n', 'm[1]')}",
            lambda: f"(&s[{i()} & 1])->n",
        )

    def index(self):
        return self.pick("0", "3", "k", "(x & 3)", "(y & 3)", lambda: f"({self.value()} & 3)")

    def value(self):
        self.depth += 1
        v, c = self.value, self.cell
        out = self.pick("x", "y", "k", "7", "-2") if self.depth > 5 else self.pick(
            "x", "y", "k", "5", "-3", c, c,
            lambda: f"({v()} {self.pick('+', '-', '*', '&', '|', '^')} {v()})",
            lambda: f"({v()} {self.pick('<', '<=', '==', '!=', '>', '&&', '||')} {v()})",
            lambda: f"({v()} ? {v()} : {v()})",
            lambda: f"({self.pick('-', '~', '!')} {v()})",
            lambda: f"(int)(uchar){v()}",
            lambda: f"({v()}, {v()})",
            lambda: f"helper_{self.name}(a + ({v()} & 1), {v()})",
            lambda: f"({v()} >> 2)",
            lambda: f"vload2({v()} & 1, a).y",
            lambda: f"(b[{self.index()}] * {v()}).zy.x",
        )  # fmt: skip
        self.depth -= 1
        return out

    def statement(self, level=0):
        v, c, i = self.value, self.cell, self.index
        if level > 2:
            return f"{c()} = {v()};"

        def s():
            return self.statement(level + 1)

        return self.pick(
            lambda: f"{c()} = {v()};",
            lambda: f"{c()} {self.pick('+=', '-=', '^=', '|=', '&=', '*=')} {v()};",
            lambda: f"{self.pick('x', 'y')} = {c()}{self.pick('++', '--')};",
            lambda: f"{self.pick('++', '--')}{c()};",
            lambda: f"x = {v()};",
            lambda: f"y += {v()};",
            lambda: f"if ({v()}) {s()}",
            lambda: f"if ({v()}) {{ {s()} {s()} }} else {s()}",
            lambda: f"for (int k = 0; k < 3; k++) {{ if ({v()}) {self.pick('continue', 'break')}; {s()} }}",
            lambda: f"switch ({v()} & 3) {{ case 0: {s()} case 1: {s()} break; default: {s()} }}",
            lambda: f"p = a + ({v()} & 3);",
            lambda: f"b[{i()}].{self.pick('xy', 'zw', 'hi', 'odd')} = (int2)({v()}, {v()});",
            lambda: f"vstore2((int2)({v()}, {v()}), {v()} & 1, a);",
            lambda: f"atomic_add(&a[{i()}], {v()});",
            lambda: f"{{ int k = {v()} & 3; {s()} }}",
            lambda: f"s[{i()} & 1] = s[{i()} & 1];",
        )

    def text(self):
        body = "\n  ".join(self.statement() for _ in range(12))
        return f"""typedef struct {{ int n; int m[2]; }} S_{self.name};
int helper_{self.name}(__global int *q, int d) {{ int u = q[d & 3]; return u - (q[0] > d ? *q++ : q[1]); }}
__kernel void {self.name}(__global int *a, __global int4 *b, __global S_{self.name} *s) {{
  __local int t[2][4];
  int x = 1, y = 2;
  const int k = 3;
  __global int *p = a;
  for (int n = 0; n < 8; n++) t[n / 4][n % 4] = n;
  {body}
  for (int n = 0; n < 8; n++) a[n] += t[n / 4][n % 4];
}}
"""


def programs_round(seed, n):
    rng = np.random.default_rng(seed)
    texts = {f"k{i}": Program(rng, f"k{i}").text() for i in range(n)}
    made = {name: instrument(text, name) for name, text in texts.items()}
    plain, recorded = build("".join(texts.values())), build(joined(list(made.values())), OPTIONS)
    for name, text in texts.items():
        args = [rng.integers(-9, 9, size).astype("i4") for size in (8, 16, 6)]
        case = Case("", name, text, (1,), (1,), ())
        r = run_recorded(case, args, made[name], recorded, room=20000)
        assert r.faults() == [], text
        for a, b in zip(launch(cl.Kernel(plain, name), case, args), r.outputs):
            assert a.tolist() == b.tolist(), text


def test_broken_texts_are_refused_or_come_back_whole():
    accepted, _ = front_end_round(0, mutants=60, soups=60)
    assert accepted > 0


def test_kernels_with_exchanged_operators_compute_the_same_recorded():
    assert swaps_round(1, 8) > 0


def test_random_programs_compute_the_same_recorded():
    programs_round(0, 3)


# Each costs half a minute.
SEEDS = some([1, 2, 3, 4], every=4)


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_more_broken_texts(seed):
    """And every one that is accepted computes the same, where plain it can be run at all."""
    accepted, taken = front_end_round(seed, mutants=250, soups=150)
    assert accepted > 3
    assert sum(agrees(*x) for x in taken) > 2


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_more_kernels_with_exchanged_operators(seed):
    assert swaps_round(seed, 30) > 10


@pytest.mark.deep
@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_more_random_programs(seed):
    programs_round(seed, 12)
