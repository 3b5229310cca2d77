"""Pointers into private memory, in the recording form: what they reach must lie in a private variable.

    p[i] = 1;        becomes, where p points into object 0 and this is site 3 (spelt shorter here)
    (*(float *)gg_reach(gg, 0, 3, (ulong)p, i, sizeof(float), 1)) = 1;

`gg_reach` (recorder.cl) answers with the element's address where it lies in the object; else it reports it, and answers
with that of a spare place. (As numbers: of a pointer a compiler knows by itself what it cannot point to.) Objects are
arrays, structs, and whatever has its address taken. What a pointer points into, its shadow knows (provenance.py); where
that cannot be told when compiling, every object will do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from . import opencl, tree
from .layout import UNKNOWN, Array, Pointer, Record, Type, decay, dimensions, element
from .provenance import escaping, points_into
from .tree import Expr, Variable, bare
from .writer import ExpressionWriter


def private_pointer(e: tree.Node) -> Expr | None:
    """The pointer into private memory that `e` goes through, if it does so itself."""
    pointer = e.base if isinstance(e, tree.Index) else e.e if isinstance(e, tree.Deref) else None
    ours = pointer is not None and isinstance(pointer.type, Pointer) and pointer.type.space == "private"
    return pointer if ours else None


def moved(e: tree.Node) -> Expr | None:
    """The pointer into private memory that is handed to a built-in function (vload4, sincos ...)."""
    if not isinstance(e, tree.Call) or e.function is not None or not e.args:
        return None
    last = e.args[-1]
    p = decay(last.type, last.space)
    known = opencl.moves(e.name) or e.name in opencl.RESULT_BY_POINTER
    return last if known and isinstance(p, Pointer) and p.space == "private" else None


def is_reaching(functions: Iterable[tree.Function]) -> bool:
    """Does any of them go through a pointer into private memory?"""
    return any(private_pointer(n) or moved(n) for f in functions if f.body for n in tree.walk(f.body))


class Reaching(ExpressionWriter):
    """A mixin before a writer. `objects`: how many there are; `reaching`: whether they are asked about at all."""

    reaching = False
    objects = 0
    largest = 8  # bytes of what the pointers point to
    escaped: set[str]

    @abstractmethod
    def site(self, kind: str, e: tree.Node, t: Type | None = None, name: str = "") -> str: ...

    # ---- objects

    def object(self, v: Variable, taken: set[str]) -> str:
        """C text that tells where a private variable lies, if pointers may lead to it."""
        inside = isinstance(v.type, Array | Record) or v.name in taken
        if not self.reaching or v.space != "private" or not inside or v.value is not None:
            return ""
        v.object, self.objects = self.objects, self.objects + 1
        return f" gg_object(gg, {v.object}, (ulong)&{v.name}, sizeof({v.name}));"

    def objects_given(self, f: tree.Function) -> str:
        """The same of a function's parameters."""
        taken = escaping(f)
        given = (f.variables[p.name] for p in f.params if p.name in f.variables and not isinstance(p.type, Array))
        return "".join(self.object(v, taken) for v in given)

    # ---- accesses

    def place(self, e: Expr, accessed: bool = True) -> str:
        pointer = private_pointer(e) if accessed else None
        if pointer is None:
            return super().place(e, accessed)
        i = self.argument(e.index) if isinstance(e, tree.Index) else "0"
        return f"(*{self.reached_at(e, pointer, i)})"

    def reached_at(self, e: Expr, pointer: Expr, i: str, lanes: int = 1) -> str:
        """C text: where to find element i of what the pointer points to, and the `lanes` - 1 behind it."""
        t = decay(pointer.type, pointer.space)
        assert isinstance(t, Pointer)
        inner, dims = element(t.target), "".join(f"[{n}]" for n in dimensions(t.target))
        if not self.spelling(inner) or inner is UNKNOWN or "None" in dims:
            token = self.tokens[pointer.t0]
            raise self.unit.source.unsupported("what this points to has no name: declare its type above", token)
        self.largest = max(self.largest, lanes * t.target.size)
        name, star = self.spelling(inner), f"(*){dims}" if dims else "*"
        asked = f"gg, {points_into(pointer)}, {self.site('private', e, name='pointer')}, (ulong)({self.value(pointer)})"
        return f"({name} {star})gg_reach({asked}, {i}, sizeof({name}{dims}), {lanes}u)"

    def moving(self, e: tree.Call) -> str | None:
        """A call that moves numbers through a pointer into private memory; None for all others."""
        pointer, move = moved(e), opencl.moves(e.name)
        if pointer is None:
            return None
        if not move and (isinstance(pointer.type, Array) or isinstance(bare(pointer), tree.AddressOf)):
            return None  # &x is what sincos and its like are given: it is all right
        args = [self.value(a) for a in e.args[:-1]]
        if move:
            lanes, step = move
            where = self.reached_at(e, pointer, f"(long)({args[-1]}) * {step}", lanes)
            args[-1] = "0"
        else:
            where = self.reached_at(e, pointer, "0")
        return f"{e.name}({', '.join([*args, where])})"
