"""Half as a way to store: two bytes in memory, float everywhere else.

Without cl_khr_fp16 a device may not touch a half object, only move it with vload_half and vstore_half. This
pass lets a kernel be written as if it could:

    y[i] = x[i] + 1;      becomes      vstore_half(vload_half(0, &x[i]) + 1, 0, &y[i]);

Objects of type half in global and local memory are declared as ushort (the same two bytes); private variables,
parameters and results of that type are float. Rounding therefore happens where a value is stored, once.
Text that enables cl_khr_fp16 itself is left to the device.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from . import opencl, tree
from .layout import Base, Pointer, decay
from .statements import Writer
from .tables import Signature
from .tree import Expr
from .unit import Unit


def is_half(e: Expr) -> bool:
    return isinstance(e.type, Base) and e.type.scalar == "half"


def half_pointer(space: str | None, address: str, const: bool) -> str:
    return f"(__{space} {'const ' * const}half *)({address})"


class HalfWords:
    """What every writer does to the word half where it is only a way to store; a mixin before Writer."""

    def value_Literal(self: Writer, e: tree.Literal) -> str:  # type: ignore[misc]
        text = self.text(e.t0, e.t1)
        return re.sub(r"(?<=[0-9.])h$", "f", text) if self.unit.half_is_storage else text

    def refuse_half_values(self: Writer, e: tree.Call) -> None:  # type: ignore[misc]
        if self.unit.half_is_storage and re.match(r"(convert|as)_half\d*", e.name):
            why = "half is only a way to store here, and what is computed is float"
            raise self.unit.source.unsupported(f"{e.name}() is not supported: {why}", self.tokens[e.t0])
        p = decay(e.args[-1].type, e.args[-1].space) if e.args else None
        private = isinstance(p, Pointer) and p.space == "private"
        if self.unit.half_is_storage and opencl.HALF_MOVE.match(e.name) and private and e.function is None:
            why = (
                "half in private memory is a float here, so the pointer would walk past it; keep halves in local memory"
            )
            raise self.unit.source.unsupported(
                f"{e.name}() of private memory is not supported: {why}", self.tokens[e.t0]
            )


@cache
def conversions() -> str:
    return importlib.resources.files(__package__).joinpath("half.cl").read_text(encoding="utf-8")


class HalfWriter(HalfWords, Writer):
    """`by_hand`: scalars are converted by the functions of half.cl instead of vload_half and vstore_half."""

    def __init__(self, unit: Unit, by_hand: bool = False) -> None:
        super().__init__(unit)
        self.by_hand = by_hand
        self.helpers: dict[str, str] = {}

    def touches(self, e: Expr) -> bool:
        return self.unit.half_is_storage and e.space is not None and is_half(e)

    def load(self, e: Expr, address: str) -> str:
        if self.by_hand and not self.count(e):
            return f"gg_float(*({address}))"
        return f"vload_half{self.count(e)}(0, {half_pointer(e.space, address, True)})"

    def store(self, e: Expr, address: str, value: str, used: bool) -> str:
        n = self.count(e)
        if not used and self.by_hand and not n:
            return f"(*({address}) = gg_half({value}))"
        if not used:
            # The cast is the assignment's own conversion: there is no vstore_half of an integer.
            return f"vstore_half{n}((float{n})({value}), 0, {half_pointer(e.space, address, False)})"
        name, space = f"gg_store_half{n}_{e.space}", f"__{e.space}"
        self.helpers[name] = (
            f"float{n} {name}(volatile {space} ushort *p, float{n} v) {{ {space} half *h = ({space} half *)p; "
            f"vstore_half{n}(v, 0, h); return vload_half{n}(0, h); }}\n"
        )
        return f"{name}((volatile {space} ushort *)({address}), {value})"

    def load_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str) -> str:
        return f"{self.load(vector, address)}.s{''.join(f'{k:x}' for k in lanes)}"

    def store_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str, value: str) -> str:
        n, space = len(lanes), f"__{e.space}"
        name = f"gg_store_half_{''.join(f'{k:x}' for k in lanes)}_{e.space}"
        moves = " ".join(f"vstore_half(v.s{i:x}, {k}, h); v.s{i:x} = vload_half({k}, h);" for i, k in enumerate(lanes))
        self.helpers[name] = (
            f"float{n} {name}(volatile {space} ushort *p, float{n} v) {{ {space} half *h = ({space} half *)p; "
            f"{moves} return v; }}\n"
        )
        return f"{name}((volatile {space} ushort *)({address}), {value})"

    @staticmethod
    def count(e: Expr) -> str:
        assert isinstance(e.type, Base)
        return "" if e.type.lanes == 1 else str(e.type.lanes)

    def value_Call(self, e: tree.Call) -> str:
        self.refuse_half_values(e)
        args = [self.value(a) for a in e.args]
        p = decay(e.args[-1].type, e.args[-1].space) if e.args else None
        move = opencl.HALF_MOVE.match(e.name) or opencl.VECTOR_MOVE.match(e.name)
        if self.unit.half_is_storage and move and isinstance(p, Pointer) and getattr(p.target, "name", "") == "half":
            args[-1] = half_pointer(p.space, args[-1], "load" in e.name)
            return f"{self.move(e.name)}({', '.join(args)})"
        return f"{e.name}({', '.join(args)})"

    @staticmethod
    def move(name: str) -> str:
        """vload4 from a half pointer is vload_half4."""
        return re.sub(r"^v(load|store)(\d+)$", r"v\1_half\2", name)

    def run(self) -> str:
        out: list[str] = []
        for item in self.unit.items:
            self.out = []
            self.statement(item)
            if isinstance(item, tree.Function):
                out += [self.helpers.pop(name) for name in list(self.helpers)]
            out += self.out
        return conversions() * self.by_hand + "".join(out).lstrip()


def enables_half(text: str) -> bool:
    return re.search(r"#\s*pragma\s+OPENCL\s+EXTENSION\s+(cl_khr_fp16|all)\s*:\s*enable", text) is not None


@dataclass(frozen=True)
class Lowered:
    """Text in which half is only a way to store, and its kernels as their author declared them, by name."""

    text: str
    kernels: Mapping[str, Signature]


def lower(
    text: str,
    defines: Mapping[str, str] | None = None,
    extensions: frozenset[str] = frozenset(),
    by_hand: bool = False,
) -> Lowered:
    """The same kernels, with every half in global and local memory reached by vload_half and vstore_half.

    `defines` are the macros that the build would set by -D (`{"T": "half", "A": "float"}`), `extensions` the
    device's. `by_hand` converts scalars by integer arithmetic instead (half.cl), to the same bits but for a NaN's.
    The result has all macros expanded, keeps its lines, and needs no -D. Raises SourceError where the text does not
    parse, Unsupported where it cannot be lowered.
    """
    unit = Unit(text, defines or {}, extensions, not enables_half(text))
    try:
        return Lowered(HalfWriter(unit, by_hand).run(), unit.kernels)
    except RecursionError:
        raise unit.too_deep(unit.tokens[0]) from None


def lower_half(text: str, defines: Mapping[str, str] | None = None, extensions: frozenset[str] = frozenset()) -> str:
    """The text of `lower`."""
    return lower(text, defines, extensions).text
