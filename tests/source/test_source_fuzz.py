"""Seeded fuzzing: broken texts, soups of tokens, and random programs that must compute the same recorded as plain.

The front end either refuses a text (SourceError) or accepts it; accepted, what it writes means what it read.
"""

import os
import re

import numpy as np
import pyopencl as cl
import pytest
from source.runner import CASES, OPTIONS, Case, build, joined, launch, run_recorded

from gpugrad.source import SourceError, instrument
from gpugrad.source.half import HalfWriter
from gpugrad.source.lexer import Source, tokenize
from gpugrad.source.tree import Compound, Node, Paren, Typedef, Verbatim
from gpugrad.source.unit import Unit

SWAPS = [
    ["+", "-", "*"],
    ["<", "<=", ">", ">=", "==", "!="],
    ["&&", "||"],
    ["&", "|", "^"],
    ["+=", "-=", "*="],
    ["++", "--"],
]
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


def survives(text, defines=None):
    """Is the text accepted? If so, it must come back as it went in."""
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
            pass
    return True


# The kernels of a corpus file but one.
OTHER = r"^//: .*\n.*\bkernel\b.*void (?!{}\()\w+\(.*(?:\}}\n|\n(?:[^}}\n].*\n|\n)*\}}\n)"


def broken(rng, case):
    """A kernel of the corpus, alone, with a few of its tokens replaced, deleted, doubled or swapped."""
    tokens = tokenize(Source(re.sub(OTHER.format(case.name), "", case.source, flags=re.M)))[:-1]
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


def front_end_round(seed, mutants, soups):
    rng = np.random.default_rng(seed)
    cases = list(CASES.values())
    accepted = 0
    for _ in range(mutants):
        case = cases[int(rng.integers(len(cases)))]
        accepted += survives(broken(rng, case), case.defines)
    for _ in range(soups):
        body = " ".join(rng.choice(SOUP, int(rng.integers(1, 40))))
        survives(f"__kernel void k(__global int *a, __global float4 *b, int n) {{ int i; {body} }}")
        survives(body)
    return accepted


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
    assert front_end_round(0, mutants=60, soups=60) > 0


def test_random_programs_compute_the_same_recorded():
    programs_round(0, 6)


# How many seeds each deep test takes; each costs a minute or two of two cores.
SEEDS = range(1, 1 + int(os.environ.get("FUZZ_SEEDS", "1")))


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_more_broken_texts(seed):
    assert front_end_round(seed, mutants=150, soups=150) > 3


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_more_random_programs(seed):
    programs_round(seed, 12)
