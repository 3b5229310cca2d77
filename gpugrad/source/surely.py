"""What compiles, and is surely a mistake: told when a kernel is built, as its compiler says nothing of it.

- A private variable that is read before anything was stored in it, on each way that leads there. Its value is what
  happened to lie there: often 0, and right until it matters.
- `a[r, c]`, which C takes for `a[c]`.
- `0 <= h < H`, which in C compares the outcome of `0 <= h`, 0 or 1, with H; with parentheses it may be meant.
- A `printf` whose pattern does not fit what it is given: `%s` with a number takes the process down.
- A loop that only `i >= 0` could end, where i is unsigned and never below 0.
- An atomic function on an argument that is declared const: it writes there.
- A function that shall return something, and has no `return`.

Where it depends on the run whether a variable was set, nothing is said: a right kernel is never refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from . import opencl, tree
from .errors import Mistake
from .layout import UNKNOWN, VOID, Base, Pointer
from .tree import Expr, Node, Variable, bare
from .unit import Unit

_CONVERSION = re.compile(r"%[-+ #0]*(?:\d+)?(?:\.\d*)?(v\d+)?(?:hh|hl|h|l)?(.)")
_UNSIGNED = ("uchar", "ushort", "uint", "ulong", "size_t")
_FLOATS, _INTEGERS = "fFeEgGaA", "diouxXc"


def refuse(unit: Unit, functions: Iterable[tree.Function]) -> None:
    """Raise Mistake for the first thing in these functions that is surely one."""
    for f in functions:
        if f.body is None:
            continue
        returns = any(isinstance(n, tree.Return) and n.e for n in tree.walk(f.body))
        if f.returns is not VOID and not f.kernel and not returns:  # of a kernel that is not void a compiler tells
            reason = f"{f.name} returns nothing: it needs a return with a value, or void before its name"
            raise unit.source.error(reason, unit.tokens[f.name_at], Mistake)
        for node in tree.walk(f.body):
            if isinstance(node, tree.Index):
                _index(unit, node)
            elif isinstance(node, tree.Binary):
                _chain(unit, node)
            elif isinstance(node, tree.Loop):
                _loop(unit, node)
            elif isinstance(node, tree.Call) and node.name == "printf":
                _printf(unit, node)
            elif isinstance(node, tree.Call) and opencl.ATOMIC.match(node.name) and node.args:
                _atomic(unit, node)
        if not any(isinstance(n, tree.Jump) and n.word == "goto" for n in tree.walk(f.body)):
            with suppress(RecursionError):  # a sum of thousands of terms, ifs within ifs: nothing is said of it
                _Unset(unit).run(f.body)


def _index(unit: Unit, e: tree.Index) -> None:
    comma = bare(e.index)
    if isinstance(comma, tree.Comma) and not any(
        isinstance(n, tree.Assign | tree.Increment | tree.Call) for n in tree.walk(comma.left)
    ):
        name, row, column = (_text(unit, x) for x in (e.base, comma.left, comma.right))
        raise unit.source.error(
            f"{name}[{row}, {column}] is {name}[{column}] in C, where an index is one number: where a row has COLUMNS "
            f"elements, write {name}[{row} * COLUMNS + {column}]",
            unit.tokens[e.t0], Mistake,
        )  # fmt: skip


def _chain(unit: Unit, e: tree.Binary) -> None:
    first, orders = e.left, ("<", "<=", ">", ">=")
    if e.op in orders and isinstance(first, tree.Binary) and first.op in orders:
        a, b, c = (_text(unit, x) for x in (first.left, first.right, e.right))
        reason = (
            f"{_text(unit, e)} compares the outcome of {_text(unit, first)}, which is 0 or 1, with {c}: write "
            f"{a} {first.op} {b} && {b} {e.op} {c}"
        )
        raise unit.source.error(reason, unit.tokens[e.t0], Mistake)


def _loop(unit: Unit, loop: tree.Loop) -> None:
    test = bare(loop.test) if loop.test else None
    if not isinstance(test, tree.Binary) or test.op not in (">=", "<="):
        return
    counted, bound = (test.left, test.right) if test.op == ">=" else (test.right, test.left)
    unsigned = isinstance(counted.type, Base) and counted.type.scalar in _UNSIGNED
    left = any(isinstance(n, tree.Return) or getattr(n, "word", "") in ("break", "goto") for n in tree.walk(loop))
    if unsigned and _text(unit, bound) == "0" and not left:
        name = _text(unit, counted)
        raise unit.source.error(
            f"{name} is unsigned and never below 0, so {_text(unit, test)} always holds and the loop does not end: "
            f"count with an int",
            unit.tokens[test.t0], Mistake,
        )  # fmt: skip


def _atomic(unit: Unit, e: tree.Call) -> None:
    if _is_const(e.args[0]):
        reason = f"{e.name} writes to {_text(unit, e.args[0])}, which is declared const: take const away"
        raise unit.source.error(reason, unit.tokens[e.t0], Mistake)


def _is_const(e: Expr) -> bool:
    """Does a pointer lead to what is declared const?"""
    e = bare(e)
    if isinstance(e, tree.AddressOf):
        place = bare(e.e)
        inside = place.base if isinstance(place, tree.Index) else getattr(place, "e", None)
        return isinstance(inside, Expr) and _is_const(inside)
    if isinstance(e, tree.Binary):
        return _is_const(e.left)
    return isinstance(e.type, Pointer) and e.type.const


def _text(unit: Unit, e: Expr) -> str:
    return unit.source.text[unit.tokens[e.t0].start : unit.tokens[e.t1 - 1].end]


def _printf(unit: Unit, e: tree.Call) -> None:
    first = bare(e.args[0]) if e.args else None
    pattern = "".join(t.text for t in unit.tokens[first.t0 : first.t1] if t.kind == "str") if first else ""
    if not isinstance(first, tree.Literal) or not pattern:
        if isinstance(first, tree.Literal) or (first and isinstance(first.type, Base) and first.type is not UNKNOWN):
            wrong = 'printf begins with a pattern in quotes, such as printf("%f\\n", x) for a float, %d for an int'
            raise unit.source.error(wrong, unit.tokens[e.t0], Mistake)
        return  # a pointer to a pattern
    found = list(_CONVERSION.finditer(pattern.replace("%%", "")))
    if "*" in pattern:
        return
    wrong = ""
    if len(found) > len(e.args) - 1:
        wrong = f"printf's pattern asks for {len(found)} values, and {len(e.args) - 1} follow it"
    for m, value in zip(found, e.args[1:], strict=False):
        text, literal = _text(unit, value), isinstance(bare(value), tree.Literal) and _text(unit, value)[0] == '"'
        scalar = value.type.scalar if isinstance(value.type, Base) and value.type is not UNKNOWN else ""
        whole = scalar not in ("", "float", "double", "half") and value.type is not VOID
        if m[2] == "s" and not literal:
            wrong = f"%s prints text in quotes alone: for {text} write {'%d' if whole else '%f'}"
        elif m[2] == "n":
            wrong = "OpenCL's printf has no %n"
        elif m[2] in _FLOATS and whole:
            wrong = f"{m[0]} prints a float, and {text} is {scalar}: write %d"
        elif m[2] in _INTEGERS and scalar in ("float", "double", "half"):
            wrong = f"{m[0]} prints a whole number, and {text} is {scalar}: write %f"
        if wrong:
            break
    if wrong:
        raise unit.source.error(wrong, unit.tokens[e.t0], Mistake)


class _Unset:
    """Goes through a function in the order in which it runs. `unset`: the variables that nothing was stored in yet, on
    each way that leads here; None where no way does."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.unset: set[Variable] | None = set()
        self.unsure: set[Variable] = set()  # set in a loop or a switch around: by an earlier turn, perhaps

    def run(self, body: tree.Compound) -> None:
        self.statement(body)

    # ---- statements

    def statement(self, node: Node | None) -> None:
        match node:
            case tree.Compound():
                for each in node.body:
                    self.statement(each)
            case tree.Prefixed():
                self.statement(node.body)
            case tree.ExprStatement():
                self.value(node.e)
            case tree.Declaration():
                for d in node.declarators:
                    self.declared(d)
            case tree.If():
                self.value(node.test)
                self.either(node, lambda: self.statement(node.then), lambda: self.statement(node.other))
            case tree.Loop():
                self.loop(node)
            case tree.Switch():
                self.value(node.test)
                outer, self.unsure = self.unsure, self.unsure | _assigned(node.body)
                self.doubt()
                before = self.copy()
                self.statement(node.body)
                self.unset, self.unsure = before, outer
            case tree.Return() | tree.Jump():
                self.value(getattr(node, "e", None))
                self.unset = None

    def declared(self, d: tree.Declarator) -> None:
        if d.init is not None:
            self.value(d.init)
        elif d.variable.space == "private" and isinstance(d.variable.type, Base | Pointer) and self.unset is not None:
            self.unset |= {d.variable} - self.unsure

    def loop(self, node: tree.Loop) -> None:
        if node.init is not None:
            self.statement(node.init)
        if node.word != "do":
            self.value(node.test)
        self.doubt()  # its first turn may come in a later one of the loop around
        outer, self.unsure = self.unsure, self.unsure | _assigned(node)
        before = self.copy()
        self.statement(node.body)
        self.unset = before
        self.doubt()
        self.value(node.step)
        self.value(node.test if node.word == "do" else None)
        self.unsure = outer

    # ---- ways that part

    def copy(self) -> set[Variable] | None:
        return None if self.unset is None else set(self.unset)

    def doubt(self) -> None:
        """From here on the turn of a loop may be another than the first."""
        if self.unset is not None:
            self.unset -= self.unsure

    def either(self, parts: Node, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """One of two parts runs. What is unset afterwards is unset after both."""
        start = self.copy()
        self.doubt()  # they may run in a later turn only
        before = self.copy()
        yes()
        after, self.unset = self.unset, before
        no()
        if after is None or self.unset is None:
            self.unset = after if self.unset is None else self.unset
            return
        self.unset &= after
        if not any(isinstance(n, tree.Jump) for n in tree.walk(parts)):  # the first turn comes by here, too
            self.unset |= (start or set()) - _assigned(parts)

    # ---- expressions

    def value(self, e: Node | None) -> None:
        match e:
            case None:
                pass
            case tree.Name():
                self.read(e)
            case tree.Assign():
                self.value(e.right)
                if e.op != "=" and isinstance(bare(e.left), tree.Name):
                    self.value(e.left)
                self.store(e.left)
            case tree.AddressOf():
                self.store(e.e)
            case tree.Binary():
                first, found = tree.chain(e)
                self.value(first)
                for part in found:
                    if part.op in ("&&", "||"):
                        self.either(part, partial(self.value, part.right), lambda: None)
                    else:
                        self.value(part.right)
            case tree.Conditional():
                self.value(e.test)
                self.either(e, lambda: self.value(e.yes), lambda: self.value(e.no))
            case tree.Cast() if e.type is VOID:
                pass  # (void)x says that nobody asks for it
            case _:
                for child in tree.below(e):
                    self.value(child)

    def read(self, e: tree.Name) -> None:
        if self.unset and e.variable in self.unset:
            kind = e.variable.type.name if e.variable is not None and isinstance(e.variable.type, Base) else ""
            first = f", such as {kind} {e.name} = 0;" if kind else ""
            raise self.unit.source.error(
                f"{e.name} is read before anything was stored in it, and holds what happened to lie there: give it a "
                f"first value where it is declared{first}",
                self.unit.tokens[e.t0], Mistake,
            )  # fmt: skip

    def store(self, e: Expr) -> None:
        """Something is stored in what an expression names, or may be from here on, as its address is taken."""
        match bare(e):
            case tree.Name(variable=v):
                if self.unset is not None and v is not None:
                    self.unset.discard(v)
            case tree.Member(e=inner) | tree.Swizzle(e=inner):
                self.store(inner)
            case tree.Lane(e=inner, index=i):
                self.value(i)
                self.store(inner)
            case other:
                for child in tree.below(other):
                    self.value(child)


def _assigned(node: Node) -> set[Variable]:
    """The variables that something may be stored in, somewhere in a statement."""
    targets = [n.left if isinstance(n, tree.Assign) else n.e for n in tree.walk(node)
               if isinstance(n, tree.Assign | tree.Increment | tree.AddressOf)]  # fmt: skip
    names = [n for t in targets for n in tree.walk(t) if isinstance(n, tree.Name)]
    return {n.variable for n in names if n.variable is not None}
