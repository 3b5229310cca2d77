"""The types of things that live in memory, with their sizes; and where a thing lives."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

SIZES = {
    "bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8, "half": 2,
    "float": 4, "double": 8, "size_t": 8, "ptrdiff_t": 8, "intptr_t": 8, "uintptr_t": 8,
}  # fmt: skip
SPACES = {q: s for s in ("global", "local", "constant", "private") for q in (s, "__" + s)}


class Type:
    """`size` and `align` in bytes; 0 and 1 where only the device's compiler knows."""

    @property
    def size(self) -> int:
        return 0

    @property
    def align(self) -> int:
        return 1


@dataclass(frozen=True)
class Base(Type):
    """A scalar or a vector, `float` or `float4`; or `?`, a value whose type only the device's compiler knows.

    A typedef with __attribute__((aligned(n))) keeps its own name as `alias`, and n.
    """

    name: str
    alias: str = ""
    alignment: int = 0

    @property
    def scalar(self) -> str:
        return re.sub(r"(?<=[a-z])\d+$", "", self.name)

    @property
    def lanes(self) -> int:
        m = re.search(r"(?<=[a-z])\d+$", self.name)
        return int(m.group()) if m else 1

    @property
    def size(self) -> int:
        return SIZES.get(self.scalar, 0) * (4 if self.lanes == 3 else self.lanes)

    @property
    def align(self) -> int:
        return self.alignment or self.size or 1


@dataclass(frozen=True)
class Pointer(Type):
    target: Type
    space: str
    const: bool = False  # of what it points to
    volatile: bool = False

    @property
    def size(self) -> int:
        return 8

    @property
    def align(self) -> int:
        return 8


@dataclass(frozen=True)
class Array(Type):
    element: Type
    length: int | None  # None: not known here

    @property
    def size(self) -> int:
        return self.element.size * (self.length or 0)

    @property
    def align(self) -> int:
        return self.element.align


@dataclass(frozen=True)
class Record(Type):
    """A struct or union. `name` is how C spells it: `struct P`, or a typedef's name."""

    name: str
    fields: tuple[tuple[str, Type], ...]
    union: bool = False
    packed: bool = False

    @property
    def align(self) -> int:
        return 1 if self.packed else max((t.align for _, t in self.fields), default=1)

    def offset(self, field: str) -> int:
        at = 0
        for name, t in self.fields:
            step = 1 if self.packed else t.align
            at = 0 if self.union else -(-at // step) * step
            if name == field:
                return at
            at += t.size
        raise KeyError(field)

    @property
    def size(self) -> int:
        ends = [self.offset(name) + t.size for name, t in self.fields]
        return -(-max(ends, default=0) // self.align) * self.align


UNKNOWN = Base("?")
VOID = Base("void")
BASES = {s + n: Base(s + n) for s in SIZES for n in ("", "2", "3", "4", "8", "16")} | {"void": VOID}
IMAGE = "images are not followed; use a buffer"
OPENCL_2 = "it is OpenCL 2.0; use int and atomic_add"
# Known as types, so that a use of one is refused with its reason and not as a syntax error.
OPAQUE = {
    **{f"image{kind}_t": IMAGE for kind in ("1d", "2d", "3d", "1d_array", "2d_array", "1d_buffer")},
    "sampler_t": IMAGE,
    **{f"atomic_{kind}": OPENCL_2 for kind in ("int", "uint", "long", "ulong", "float", "double", "flag")},
    "event_t": "async copies move memory behind the work-items' backs; copy in a loop, each work-item its share",
    "queue_t": "it is OpenCL 2.0",
}


def numbers(t: Type, at: int = 0) -> Iterator[tuple[int, int]]:
    """(offset, size) in bytes of every number that a type holds."""
    if isinstance(t, Record):
        for name, field in t.fields:
            yield from numbers(field, at + t.offset(name))
    elif isinstance(t, Array):
        for k in range(t.length or 0):
            yield from numbers(t.element, at + k * t.element.size)
    else:
        lanes = t.lanes if isinstance(t, Base) else 1
        size = SIZES.get(t.scalar, 0) if isinstance(t, Base) else t.size
        yield from ((at + k * size, size) for k in range(lanes))


def pieces(t: Record) -> tuple[int, list[tuple[int, int]]]:
    """The bytes of a struct that hold something, as [begin, end), and the size of the pieces that they are made of."""
    grain, spans = 4, list[tuple[int, int]]()
    for at, size in sorted(set(numbers(t))):
        grain = math.gcd(grain, at, size)
        begin = at
        if spans and at <= spans[-1][1]:
            begin, last = spans.pop()
            size = max(last - at, size)
        spans.append((begin, at + size))
    return grain, spans


def computed(t: Type) -> Type:
    """The type of a private object when half is only a way to store: float where the text says half."""
    if isinstance(t, Base) and t.scalar == "half":
        return Base(t.name.replace("half", "float"))
    if isinstance(t, Array):
        return Array(computed(t.element), t.length)
    if isinstance(t, Pointer) and t.space == "private":
        return Pointer(computed(t.target), t.space, t.const, t.volatile)
    return t


def innermost(t: Type) -> Type:
    """What is left of a type without its pointers and arrays."""
    while isinstance(t, Array | Pointer):
        t = t.element if isinstance(t, Array) else t.target
    return t


def holds_half(t: Type) -> bool:
    inner = innermost(t)
    return isinstance(inner, Base) and inner.scalar == "half"


def decay(t: Type, space: str | None) -> Type:
    """An array, where a value is wanted, is a pointer to its first element."""
    return Pointer(t.element, space or "private") if isinstance(t, Array) else t


def element(t: Type) -> Type:
    """What a nest of arrays is made of."""
    while isinstance(t, Array):
        t = t.element
    return t


def dimensions(t: Type) -> tuple[int | None, ...]:
    dims: list[int | None] = []
    while isinstance(t, Array):
        dims.append(t.length)
        t = t.element
    return tuple(dims)


def component_numbers(name: str, lanes: int) -> list[int]:
    """Which components `.xy`, `.s07`, `.hi` or `.odd` of a vector names; empty if none."""
    n = 4 if lanes == 3 else lanes
    halves = {"lo": range(n // 2), "hi": range(n // 2, n), "even": range(0, n, 2), "odd": range(1, n, 2)}
    if name in halves:
        return list(halves[name])
    if re.fullmatch(r"[sS][0-9a-fA-F]+", name):
        return [int(c, 16) for c in name[1:]]
    return ["xyzw".index(c) for c in name] if re.fullmatch("[xyzw]+", name) else []
