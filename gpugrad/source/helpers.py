"""The functions that an instrumented kernel calls in place of an access: one for each address space and type.

Each asks gg_where (recorder.cl) whether the bytes may be touched, does the access if so, and puts one event for
each cell. A read that is suppressed gives 0.
"""

from __future__ import annotations

import re

from .layout import SIZES, Base, Record, Type, pieces

# The new value of a cell, from the old one (o) and the operands (v0, v1).
ATOMIC_RESULT = {
    "add": "o + v0", "sub": "o - v0", "inc": "o + 1", "dec": "o - 1", "xchg": "v0", "cmpxchg": "o == v0 ? v1 : o",
    "min": "min(o, v0)", "max": "max(o, v0)", "and": "o & v0", "or": "o | v0", "xor": "o ^ v0",
}  # fmt: skip


ZERO = "else for (uint i = 0; i < sizeof(v); i++) ((uchar *)&v)[i] = 0;"
PACKED = "gg_packed_"  # begins the names of the types that may lie anywhere, as in a packed struct


def bits(scalar: str, value: str) -> str:
    """C text: the bits of a value as a ulong. Of half, which is computed as float, those of the float."""
    bare = {"float": f"(ulong)as_uint({value})", "half": f"(ulong)as_uint({value})", "double": f"as_ulong({value})"}
    return bare.get(scalar, f"(ulong)({value})")


def puts(t: Base, lanes: list[int], head: str = "w", offset: str = "o") -> str:
    """One event for each of the components `lanes`; `v` holds them."""
    if t.lanes == 1:
        return f"gg_put(t, {head}, {offset}, {bits(t.scalar, 'v')});"
    size = SIZES[t.scalar]
    parts = [f".s{i:x}" if len(lanes) > 1 else "" for i in range(len(lanes))]
    return " ".join(f"gg_put(t, {head} | {k}u << 24, {offset} + {k * size}, {bits(t.scalar, 'v' + part)});"
                    for k, part in zip(lanes, parts))  # fmt: skip


def all_lanes(t: Base) -> list[int]:
    return list(range(t.lanes))


def lane_letters(lanes: list[int]) -> str:
    return "".join(f"{k:x}" for k in lanes)


def puts_struct(t: Record) -> str:
    """One event for each word of a struct, or smaller piece, where its fields are smaller; none for its holes."""
    grain, spans = pieces(t)
    return " ".join(
        f"for (uint i = {begin}; i < {end}; i += {grain}) {{ uint u = 0; "
        f"for (uint k = 0; k < {grain}; k++) ((uchar *)&u)[k] = ((uchar *)&v)[i + k]; "
        f"gg_put(t, w | min(i / {grain}u, 15u) << 24, o + (int)i, u); }}"
        for begin, end in spans
    )


class Helpers:
    """Makes helper functions on demand; `texts` holds those not yet written out."""

    def __init__(self, half_is_storage: bool) -> None:
        self.half_is_storage = half_is_storage
        self.known: set[str] = set()
        self.texts: list[str] = []

    def add(self, name: str, text: str) -> str:
        if name not in self.known:
            self.known.add(name)
            self.texts.append(text + "\n")
        return name

    def take(self) -> str:
        out, self.texts = "\n" * bool(self.texts) + "".join(self.texts), []
        return out

    # ---- how a type is stored, computed, moved

    def half(self, t: Type) -> bool:
        return self.half_is_storage and isinstance(t, Base) and t.scalar == "half"

    def stored(self, t: Type) -> str:
        name = t.alias or t.name if isinstance(t, Base) else getattr(t, "name", "")
        if name.startswith(PACKED):
            self.add(name, f"typedef {name.removeprefix(PACKED)} {name} __attribute__((packed, aligned(1)));")
        return name.replace("half", "ushort") if self.half(t) else name

    def computed(self, t: Type) -> str:
        name = t.name if isinstance(t, Base | Record) else ""
        return name.replace("half", "float") if self.half(t) else name

    def moved(self, t: Type, space: str, load: bool) -> str:
        """C text for the access itself at p."""
        if self.half(t) and isinstance(t, Base):
            n = "" if t.lanes == 1 else str(t.lanes)
            return (
                f"vload_half{n}(0, (__{space} const half *)p)" if load else f"vstore_half{n}(v, 0, (__{space} half *)p)"
            )
        if isinstance(t, Record):
            return f"*(__{space} const {t.name} *)p" if load else f"*(__{space} {t.name} *)p = v"
        return "*p" if load else "*p = v"

    @staticmethod
    def start(
        result: str, name: str, pointer: str, value: str = "", size: str = "sizeof(*p)", align: int = 1, at: str = "p"
    ) -> str:
        """A helper's head and its question to gg_where."""
        return (f"{result} {name}(gg_t *t, int b, uint site, {value}{pointer} p) {{ uint w; int o; "
                f"bool ok = gg_where(t, b, site, (ulong)({at}), {size}, {align}, &w, &o); ")  # fmt: skip

    # ---- the helpers

    def load(self, space: str, t: Type) -> str:
        name = f"gg_load_{space}_{self.key(t)}"
        value, read = self.computed(t), self.moved(t, space, True)
        head = self.start(value, name, f"__{space} const volatile {self.stored(t)} *", align=t.align)
        if isinstance(t, Record):
            return self.add(name, f"{head}{value} v; if (ok) v = {read}; {ZERO} {puts_struct(t)} return v; }}")
        assert isinstance(t, Base)
        return self.add(name, f"{head}{value} v = ok ? {read} : ({value})(0); {puts(t, all_lanes(t))} return v; }}")

    def store(self, space: str, t: Type) -> str:
        name = f"gg_store_{space}_{self.key(t)}"
        value = self.computed(t)
        head = self.start(value, name, f"__{space} volatile {self.stored(t)} *", f"{value} v, ", align=t.align)
        assert isinstance(t, Base | Record)
        rows = puts_struct(t) if isinstance(t, Record) else puts(t, all_lanes(t))
        if self.half(t):  # its value is what memory then holds
            n = str(t.lanes) if isinstance(t, Base) and t.lanes > 1 else ""
            rows = f"{self.rounded(n)} {rows}"
        return self.add(name, f"{head}{rows} if (ok) {self.moved(t, space, False)}; return v; }}")

    def pointer(self, space: str, spelled: str, load: bool) -> str:
        """A load or store of a pointer, spelt with its `*`, that is kept in memory."""
        kind, given = ("load", "") if load else ("store", f"{spelled}v, ")
        name = f"gg_{kind}_{space}_{re.sub(r'[^a-z0-9]+', '_', spelled, flags=re.IGNORECASE)}pointer"
        head = self.start(spelled, name, f"{spelled}volatile __{space} *", given, align=8)
        move = f"{spelled}v = ok ? *p : ({spelled})0;" if load else "if (ok) *p = v;"
        return self.add(name, f"{head}{move} gg_put(t, w, o, (ulong)v); return v; }}")

    def load_lanes(self, space: str, t: Base, lanes: list[int]) -> str:
        letters = lane_letters(lanes)
        name = f"gg_load_{space}_{self.key(t)}_{letters}"
        value = self.computed(Base(f"{t.scalar}{len(lanes)}"))
        head = self.start(value, name, f"__{space} const volatile {self.stored(t)} *", align=t.align)
        read = f"vload_half{t.lanes}(0, (__{space} const half *)p).s{letters}" if self.half(t) else f"(*p).s{letters}"
        return self.add(name, f"{head}{value} v = ok ? {read} : ({value})(0); {puts(t, lanes)} return v; }}")

    def store_lanes(self, space: str, t: Base, lanes: list[int]) -> str:
        letters = lane_letters(lanes)
        name = f"gg_store_{space}_{self.key(t)}_{letters}"
        value = self.computed(Base(f"{t.scalar}{len(lanes)}"))
        head = self.start(value, name, f"__{space} volatile {self.stored(t)} *", f"{value} v, ", align=t.align)
        if self.half(t):
            moves = " ".join(
                f"vstore_half(v.s{i:x}, {k}, h); v.s{i:x} = vload_half({k}, h);" for i, k in enumerate(lanes)
            )
            write = f"{{ __{space} half *h = (__{space} half *)p; {moves} }}"
        else:
            write = f"(*(__{space} {self.stored(t)} *)p).s{letters} = v;"
        return self.add(name, f"{head}if (ok) {write} {puts(t, lanes)} return v; }}")

    @staticmethod
    def rounded(n: str, mode: str = "") -> str:
        """C text: v as n halves would hold it."""
        return (
            f"{{ ushort u[{n or 1}]; vstore_half{n}{mode}(v, 0, (half *)u); v = vload_half{n}(0, (const half *)u); }}"
        )

    def constant(self, t: Base) -> str:
        """Records a value that was read from __constant memory in place (gg_constant said where)."""
        name, value = f"gg_constant_{self.key(t)}", self.computed(t)
        text = (
            f"{value} {name}(gg_t *t, uint head, {value} v) {{ uint w = head | (t->ok ? 0u : GG_OUTSIDE); "
            f"int o = t->where; if (!t->ok) v = ({value})(0); {puts(t, all_lanes(t))} return v; }}"
        )
        return self.add(name, text)

    def watch(self, t: Base) -> str:
        name = f"gg_watch_{self.key(t)}"
        value = self.computed(t)
        return self.add(
            name, f"{value} {name}(gg_t *t, uint site, {value} v) {{ {puts(t, all_lanes(t), 'site', '0')} return v; }}"
        )

    def atomic(self, function: str, space: str, t: Base, operands: int) -> str:
        name = f"gg_{function}_{space}_{self.key(t)}"
        extra = "".join(f", {t.name} v{i}" for i in range(operands))
        given = "".join(f", v{i}" for i in range(operands))
        result = ATOMIC_RESULT[function.split("_", 1)[1]]
        text = (
            f"{t.name} {name}(gg_t *t, int b, uint site, __{space} volatile {t.name} *p{extra}) {{ uint w; int at; "
            f"bool ok = gg_where(t, b, site, (ulong)p, sizeof(*p), {t.align}, &w, &at); "
            f"{t.name} o = ok ? {function}(p{given}) : 0, v = ok ? {result} : 0; "
            f"{puts(t, [0], offset='at')} return o; }}"
        )
        return self.add(name, text)

    def move(self, function: str, load: bool, space: str, t: Base, lanes: int, stride: int, half: bool) -> str:
        """vloadN, vstoreN and their half forms; `t` is what the pointer points to."""
        name = f"gg_{function}_{space}_{self.key(t)}"
        size = SIZES[t.scalar]
        value = ("float" if half else t.name) + ("" if lanes == 1 else str(lanes))
        rows = puts(Base(("half" if half else t.name) + ("" if lanes == 1 else str(lanes))), list(range(lanes)))
        const, stored = "const " * load, "half" if half else t.name
        pointer = f"{const}__{space} {self.stored(t)} *"
        p = f"({const}__{space} {stored} *)p"
        start = "size_t i, " if load else f"{value} v, size_t i, "
        head = self.start(value if load else "void", name, pointer, start, str(lanes * size), size, f"p + i * {stride}")
        if load:
            body = f"{value} v = ({value})(0); if (ok) v = {function}(i, {p}); {rows} return v;"
        else:
            n = "" if lanes == 1 else str(lanes)
            rounding = self.rounded(n, function[function.index("_half") + 5 + len(n) :]) if half else ""
            body = f"if (ok) {function}(v, i, {p}); {rounding} {rows}"
        return self.add(name, f"{head}{body} }}")

    @staticmethod
    def key(t: Type) -> str:
        name = t.alias or t.name if isinstance(t, Base) else getattr(t, "name", "")
        return name.replace(" ", "_")
