"""The recording pass: the same kernel, but every access to global and local memory leaves an event.

    out[i] = a[i] + b[i];        becomes, for buffers 0 1 2 and sites 0 1 2 (spelt shorter here)
    store(gg, 2, 2, load(gg, 0, 0, &a[i]) + load(gg, 1, 1, &b[i]), &out[i]);

Conditions that a barrier depends on are put to a vote, loops burn fuel, indices are checked. `recorder.cl` is
what the new text carries with it; `tables.py` says what comes back beside it.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from . import opencl, tree
from .errors import SourceError
from .half import HalfWriter, enables_half, is_half
from .helpers import PACKED, Helpers
from .layout import SIZES, Array, Base, Pointer, Record, Type, decay, dimensions, element, pieces
from .operations import Counting, operations
from .provenance import RECORDED, UNKNOWN, escaping, is_traced_pointer, owner, points_into, reassigned
from .reach import Reaching, is_reaching
from .tables import Buffer, Signature, Site
from .tree import Expr, Variable, bare
from .unit import Unit
from .votes import Votes

VOTED_TURN = 256  # what a turn with a vote takes, in turns without, where only faults count
MAX_SITES, MAX_BUFFERS = 1 << 14, (1 << 10) - 1
PARAMETERS = ("__global uint4 *gg_events", "__global const uint *gg_slots", "__global uint *gg_counts",
              "__global const ulong *gg_lengths")  # fmt: skip
"""What an instrumented kernel takes after its own arguments: the events; where each work-item's slots begin (one
more than there are work-items); how many it wanted, one number more, which begins as 0, and how many floating-point
operations it did; and each buffer's length in bytes (0 for local arrays, whose length the kernel knows)."""


@dataclass(frozen=True)
class Instrumented:
    """An instrumented kernel: its text, and what the numbers in its events mean."""

    text: str
    kernel: Signature
    sites: tuple[Site, ...]
    buffers: tuple[Buffer, ...]
    votes: bool  # the kernel has barriers
    const_is_lost: bool  # a pointer to what is not const is made in it: so a const argument may be written
    unfollowed: tuple[int, ...]  # lines that read __constant memory without leaving an event


@cache
def recorder_text() -> str:
    return importlib.resources.files(__package__).joinpath("recorder.cl").read_text(encoding="utf-8")


def nest(e: Expr) -> tuple[Expr, list[tree.Index]]:
    """Of w[i][j]: w, and the nodes w[i] and w[i][j]."""
    indices: list[tree.Index] = []
    while isinstance(e, tree.Index):
        indices.insert(0, e)
        e = bare(e.base)
    return e, indices


def reads_constant(e: tree.Node) -> bool:
    """Does it read an element of __constant memory, other than a variable by its name (which always lies inside)?"""
    if isinstance(e, tree.Call):
        types = [decay(a.type, a.space) for a in e.args] if e.function is None and opencl.moves(e.name) else []
        return any(isinstance(t, Pointer) and t.space == "constant" for t in types)
    return isinstance(e, tree.Index | tree.Deref) and e.space == "constant" and not isinstance(e.type, Array)


class Recorder(Reaching, Counting, HalfWriter):
    def __init__(self, unit: Unit, kernel: str | None, watch: tuple[str, ...], fuel: int, faults_only: bool) -> None:
        super().__init__(unit)
        self.kernel, self.watch, self.fuel, self.faults_only = unit.kernel(kernel), frozenset(watch), fuel, faults_only
        self.votes, self.device = Votes(unit), Helpers(unit.half_is_storage)
        self.sites: list[Site] = []
        self.buffers: list[Buffer] = []
        self.function: tree.Function = self.kernel
        self.voting: set[int] = set()
        self.escaped: set[str] = set()
        self.followed: set[Expr] = set()  # elements of __constant arrays that leave an event
        self.reached = [unit.functions[name] for name in unit.reachable([self.kernel])]
        self.reaching = is_reaching(self.reached)

    # ---- tables

    def site(self, kind: str, e: tree.Node, t: Type | None = None, name: str = "") -> str:
        tokens = self.tokens[e.t0 : e.t1]
        start, end = min(x.start for x in tokens), max(x.end for x in tokens)
        source, i = self.unit.source, len(self.sites)
        if i == MAX_SITES:
            raise source.unsupported(f"the kernel has more than {MAX_SITES} places that touch memory", tokens[0])
        scalar, lanes = (t.scalar, t.lanes) if isinstance(t, Base) else ("", 1)
        if isinstance(t, Record):
            scalar, name = {1: "uchar", 2: "ushort", 4: "uint"}[pieces(t)[0]], "struct"
        elif isinstance(t, Pointer):
            scalar = "ulong"
        macro = next((x.macro for x in tokens if x.macro), "")
        line, column, text = source.line(start), source.column(start), source.text[start:end]
        self.sites.append(Site(i, kind, line, column, start, end, text, scalar, lanes, macro, self.function.name, name))
        return f"{i}u"

    def refuse(self, reason: str, e: tree.Node) -> NoReturn:
        raise self.unit.source.unsupported(reason, self.tokens[e.t0])

    def buffer(self, v: Variable, argument: int | None = None) -> int:
        target = v.type.target if argument is not None and isinstance(v.type, Pointer) else v.type
        space = v.type.space if argument is not None and isinstance(v.type, Pointer) else v.space
        self.buffers.append(Buffer(v.name, space, element(target), dimensions(target), argument))
        v.buffer = len(self.buffers) - 1
        return v.buffer

    # ---- accesses

    def touches(self, e: Expr) -> bool:
        if isinstance(e.type, Array):
            return False
        return e.space in RECORDED or super().touches(e) or self.constant_buffer(e) is not None

    def constant_buffer(self, e: Expr) -> int | None:
        """Of an element of a __constant array, if the recorder can follow: `w[i]`, w an argument or of the program, and
        `w[i][j]` of the program."""
        if not isinstance(e, tree.Index) or e.space != "constant" or not isinstance(e.type, Base):
            return None
        base, indices = nest(e)
        v = base.variable if isinstance(base, tree.Name) else None
        return v.buffer if v is not None and (len(indices) == 1 or isinstance(v.type, Array)) else None

    def read(self, e: Expr) -> str:
        b = self.constant_buffer(e)
        if b is None or not isinstance(e, tree.Index) or not isinstance(e.type, Base):
            return super().read(e)
        self.followed.add(e)
        site, length = self.site("load", e, e.type), f"(long)(gg->length[{b}] / {e.type.size})"
        base, indices = nest(e)
        rows = [str(t.length) for i in indices[1:] if isinstance(t := i.base.type, Array)]
        flat = self.argument(indices[0].index)
        for i, n in zip(indices[1:], rows, strict=True):
            flat = f"({flat}) * (long){n} + {self.index_in_row(i, self.argument(i.index))}"
        index, name = f"gg_constant(gg, {flat}, {length}, {e.type.size})", self.place(base)
        stored = is_half(e) and self.unit.half_is_storage and isinstance(base.type, Pointer)
        n = "" if e.type.lanes == 1 else str(e.type.lanes)
        got = f"vload_half{n}(0, (__constant const half *)&{name}[{index}])" if stored else f"{name}[{index}]"
        if len(indices) > 1:  # without a pointer into the array: all of __constant memory is read in place
            at = self.temporary("long @ = 0")
            steps = [" / ".join([at, *rows[k:]]) + (f" % {rows[k - 1]}" if k else "") for k in range(len(indices))]
            got = f"({at} = {index}, {name}[{']['.join(steps)}])"
        return f"{self.device.constant(e.type)}(gg, {site} | {b}u << 14, {got})"

    def base_object(self, e: Expr, accessed: bool) -> str:
        """Of `v[i].x`, v in __constant memory, the whole vector is read."""
        whole = accessed and self.constant_buffer(bare(e)) is not None
        return self.value(bare(e)) if whole else super().base_object(e, accessed)

    def named(self, e: Expr) -> None:
        if isinstance(e.type, Record) and (not e.type.name or e.type.name in self.unit.local_types):
            self.refuse("this struct has no name outside the function: declare it above, with one", e)

    def lying(self, e: Expr) -> Type:
        """The type of an object, which need not be aligned where it is part of a packed struct."""
        inner: Expr = e
        while isinstance(inner, tree.Member | tree.Lane | tree.Swizzle | tree.Paren | tree.Index):
            if isinstance(inner, tree.Index) and not isinstance(inner.base.type, Array):
                break
            inner = inner.base if isinstance(inner, tree.Index) else inner.e
            if isinstance(inner.type, Record) and inner.type.packed and e.type.align > 1:
                if not isinstance(e.type, Base):
                    self.refuse("a struct or pointer within a packed struct is not followed: move its fields", e)
                return Base(e.type.name, PACKED + e.type.name, 1)
        return e.type

    def load(self, e: Expr, address: str) -> str:
        if e.space not in RECORDED:
            return super().load(e, address)
        self.named(e)
        t = self.lying(e)
        load = self.device.pointer(e.space, self.spelling(t), True) if isinstance(t, Pointer) else self.device.load(
            e.space, t)  # fmt: skip
        return f"{load}(gg, {owner(e)}, {self.site('load', e, e.type)}, {address})"

    def store(self, e: Expr, address: str, value: str, used: bool) -> str:
        assert e.space is not None
        self.named(e)
        t = self.lying(e)
        store = self.device.pointer(e.space, self.spelling(t), False) if isinstance(t, Pointer) else self.device.store(
            e.space, t)  # fmt: skip
        return f"{store}(gg, {owner(e)}, {self.site('store', e, e.type)}, {value}, {address})"

    def load_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str) -> str:
        if e.space not in RECORDED:
            return super().load_lanes(e, vector, lanes, address)
        t = self.lying(vector)
        assert isinstance(t, Base)
        helper = self.device.load_lanes(e.space, t, lanes)
        return f"{helper}(gg, {owner(vector)}, {self.site('load', e, vector.type)}, {address})"

    def store_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str, value: str) -> str:
        t = self.lying(vector)
        assert isinstance(t, Base) and e.space is not None
        helper = self.device.store_lanes(e.space, t, lanes)
        return f"{helper}(gg, {owner(vector)}, {self.site('store', e, vector.type)}, {value}, {address})"

    def index(self, e: tree.Index, accessed: bool) -> str:
        i = self.argument(e.index)
        if not isinstance(e.base.type, Array) or not accessed:
            return i
        n = e.base.type.length
        if e.space == "private":
            size = n if n is not None else "sizeof({0}) / sizeof({0}[0])".format(self.place(e.base, False))
            return f"gg_private(gg, {self.site('private', e)}, {i}, {size})"
        if e.space in RECORDED and n is not None and isinstance(bare(e.base), tree.Index):
            return self.index_in_row(e, i)
        return i

    def index_in_row(self, e: tree.Index, i: str) -> str:
        assert isinstance(e.base.type, Array)
        return f"gg_row(gg, {self.site('row', e)}, {i}, {e.base.type.length})"

    # ---- private variables: shadows of pointers, watched assignments

    def assigned(self, e: Expr, left: Expr, text: str) -> str:
        v = left.variable if isinstance(left, tree.Name) else None
        if v is not None and v.shadow and isinstance(e, tree.Assign) and e.op == "=":
            return f"({v.shadow} = {points_into(e.right)}, {text})"
        return self.watched(e, left, text)

    def is_watched(self, left: Expr) -> bool:
        base = bare(left)
        while isinstance(base, tree.Index):
            base = bare(base.base)
        return (isinstance(base, tree.Name) and left.space == "private" and isinstance(left.type, Base)
                and left.type.scalar in SIZES and bool({"*", base.name} & self.watch))  # fmt: skip

    def watched(self, e: tree.Node, left: Expr, text: str) -> str:
        if not self.is_watched(left) or not isinstance(left.type, Base):
            return text
        return f"{self.device.watch(left.type)}(gg, {self.site('assign', e, left.type, self.name_of(left))}, {text})"

    def name_of(self, e: Expr) -> str:
        return self.unit.source.text[self.tokens[e.t0].start : self.tokens[e.t1 - 1].end]

    def value_Increment(self, e: tree.Increment, used: bool = True) -> str:
        left = bare(e.e)
        if self.touches(left) or not self.is_watched(left):
            return super().value_Increment(e, used)
        if e.prefix or not used:
            return self.watched(e, left, f"{e.op} {self.place(left)}")
        # Its value is the one from before, and x + 1 - 1 need not be that.
        t = self.spelling(left.type)
        p, kept = self.temporary(f"volatile {t} *@"), self.temporary(f"{t} @")
        return f"({p} = &{self.place(left)}, {kept} = *{p}, {self.watched(e, left, f'{e.op}*{p}')}, {kept})"

    def initial(self, d: tree.Declarator) -> str:
        v = d.variable
        assert d.init is not None
        counting, self.counting = self.counting, self.counting and v.space == "private" and v.value is None
        text = super().initial(d)
        self.counting = counting
        if v.shadow and not isinstance(d.init, tree.Literal):  # 0 in a list of two is no pointer
            return f"({v.shadow} = {points_into(d.init)}, {text})"
        # A constant may be an array's length further down, and a call is no constant; its value never changes anyway.
        if isinstance(d.init, tree.InitList) or v.value is not None:
            return text
        return self.watched(d, tree.Name(d.t0, d.t0 + 1, v.name, v, type=v.type, space=v.space), text)

    def declared(self, d: tree.Declarator) -> str:
        v = d.variable
        if v.space == "local":
            b, amp = self.buffer(v), "" if isinstance(v.type, Array) else "&"
            return f" gg_buffer(gg, {b}, -2, (ulong){amp}{v.name}, sizeof({v.name}));"
        if v.space == "private" and is_traced_pointer(v.type) and v.name not in self.escaped:
            assert isinstance(v.type, Pointer)
            v.shadow = self.temporary(f"int @ = {UNKNOWN[v.type.space]}")
        return self.object(v, self.escaped)

    # ---- calls

    def value_Call(self, e: tree.Call) -> str:
        self.refuse_half_values(e)
        p = decay(e.args[-1].type, e.args[-1].space) if e.args else None
        if e.name in opencl.BARRIERS:
            flags = ", ".join(self.value(a) for a in e.args)
            return f"(gg_barrier(gg, {self.site('barrier', e)}, {flags}), {e.name}({flags}))"
        if opencl.ATOMIC.match(e.name) and e.function is None:
            return self.atomic(e)
        if isinstance(p, Pointer) and p.space in RECORDED and e.function is None:
            if opencl.moves(e.name):
                return self.vector_move(e, p)
            if e.name in opencl.RESULT_BY_POINTER:
                self.refuse(f"{e.name}() into {p.space} memory is not supported: store its result from a variable", e)
        if e.function is None or e.function.body is None:
            return self.moving(e) or super().value_Call(e)
        if e.function.kernel:
            self.refuse(f"{e.name} is a kernel; a kernel that calls one is not supported", e)
        pointers = [points_into(a) for a, q in zip(e.args, e.function.params) if is_traced_pointer(q.type)]
        return f"{e.name}({', '.join(['gg', *(self.value(a) for a in e.args), *pointers])})"

    def atomic(self, e: tree.Call) -> str:
        p = decay(e.args[0].type, e.args[0].space) if e.args else None
        if not isinstance(p, Pointer) or p.space not in RECORDED or not isinstance(p.target, Base):
            self.refuse(f"{e.name}() on a pointer that the pass cannot follow: put it in a variable", e)
        helper = self.device.atomic(e.name, p.space, p.target, len(e.args) - 1)
        where = f"gg, {points_into(e.args[0])}, {self.site('atomic', e, p.target, e.name)}"
        return f"{helper}({where}, {', '.join(self.value(a) for a in e.args)})"

    def vector_move(self, e: tree.Call, p: Pointer) -> str:
        name = self.move(e.name) if self.unit.half_is_storage and getattr(p.target, "name", "") == "half" else e.name
        if not isinstance(p.target, Base):
            self.refuse(f"{e.name}() through this pointer is not supported", e)
        found = opencl.moves(name)
        assert found is not None
        (lanes, stride), kind = found, "load" if name.startswith("vload") else "store"
        helper = self.device.move(name, kind == "load", p.space, p.target, lanes, stride, "_half" in name)
        t = Base(p.target.scalar + ("" if lanes == 1 else str(lanes)))
        where = f"gg, {points_into(e.args[-1])}, {self.site(kind, e, t)}"
        return f"{helper}({where}, {', '.join(self.value(a) for a in e.args)})"

    # ---- statements

    def whole(self, e: Expr) -> str:
        return self.counted(e, super().whole(e))

    def effect(self, e: Expr) -> str:
        n = operations(e) if self.counting else 0
        return f"gg_did(gg, {n}u), {super().effect(e)}" if n else super().effect(e)

    def test(self, node: tree.If | tree.Loop | tree.Switch) -> str:
        at: tree.Node = node.test or tree.Node(node.t0, node.t0 + 1)
        c = super().test(node)
        if isinstance(node, tree.Loop):
            cost = VOTED_TURN if self.faults_only and node.t0 in self.voting else 1
            c = f"gg_turn(gg, {self.site('fuel', at)}, {cost}u)" + (f" && ({c})" if c else "")
        if node.t0 in self.voting:
            answer = f"({c})" if isinstance(node, tree.Switch) else f"({c}) ? 1 : 0"
            word = "switch" if isinstance(node, tree.Switch) else node.word if isinstance(node, tree.Loop) else "if"
            c = f"gg_agree(gg, {self.site('branch', at, name=word)}, {answer})"
        return c

    def write_Jump(self, node: tree.Jump) -> None:
        if node.back is None:
            super().write_Jump(node)
            return
        self.at(node)  # it makes a loop, of which each turn burns fuel; without any, it goes on behind the goto
        self.emit(f"if (gg_turn(gg, {self.site('fuel', node)}, 1u)) {self.text(node.t0, node.t1)}")

    def returning(self, node: tree.Return) -> str:
        return f"{{ {self.finish()} return; }}" if self.function.kernel else super().returning(node)

    def finish(self) -> str:
        did = "" if self.faults_only else " gg->stop[gg_item + 1] = gg->did;"
        return f"gg_counts[gg_item] = gg->n;{did}"

    # ---- functions

    def write_Function(self, f: tree.Function) -> None:
        self.function, self.voting, self.escaped = f, self.votes.voters(f), escaping(f)
        changed = reassigned(f)
        for i, p in enumerate(f.params):
            v = f.variables.get(p.name)
            if v is None or not isinstance(p.type, Pointer):
                continue
            if f.kernel:
                if is_traced_pointer(p.type) or (p.type.space == "constant" and p.name not in changed):
                    self.buffer(v, i)
            elif is_traced_pointer(p.type) and p.name not in self.escaped:
                v.shadow = f"gg_b{i}"
        self.counting = not self.faults_only
        super().write_Function(f)
        self.counting = False

    def parameters(self, f: tree.Function) -> list[str]:
        ours = super().parameters(f)
        if f.kernel:
            return [*ours, *PARAMETERS]
        return ["gg_t *gg", *ours, *(f"int gg_b{i}" for i, p in enumerate(f.params) if is_traced_pointer(p.type))]

    def prologue(self, f: tree.Function) -> str:
        if not f.kernel:
            return self.objects_given(f)
        item = "get_global_id({0}) - get_global_offset({0})".format
        lines = [
            "gg_t gg_record; gg_t *gg = &gg_record; gg->n = 0; gg->dead = false; gg->ok = true;",
            "gg->first = 0; gg->split = 0; gg->did = 0;",
            f"const uint gg_item = {item(0)} + get_global_size(0) * ({item(1)} + get_global_size(1) * ({item(2)}));",
            "gg->events = gg_events + gg_slots[gg_item]; gg->room = gg_slots[gg_item + 1] - gg_slots[gg_item];",
            f"gg->fuel = {self.fuel}u;",
            "gg->stop = gg_counts + get_global_size(0) * get_global_size(1) * get_global_size(2);",
        ]
        if self.votes.meets(f):
            lines.append("__local long gg_first; __local int gg_split; gg->first = &gg_first; gg->split = &gg_split;")
        codes = {"global": "-1", "local": "-2", "constant": "0"}
        for b, buffer in enumerate(self.buffers):
            base = f"(ulong){buffer.name}" if buffer.argument is not None and buffer.space != "constant" else "0"
            lines.append(f"gg_buffer(gg, {b}, {codes[buffer.space]}, {base}, gg_lengths[{b}]);")
        if self.reaching:
            lines.append("for (int i = 0; i < GG_OBJECTS; i++) gg->extent[i] = 0;" + self.objects_given(f))
        return " ".join(lines) + " "

    def epilogue(self, f: tree.Function) -> str:
        return f" {self.finish()} " if f.kernel else ""

    def unfollowed(self) -> tuple[int, ...]:
        """The lines that read __constant memory and leave no event: all but `w[i]`, w an argument or an array."""
        nodes = [n for f in self.reached if f.body for n in tree.walk(f.body)]
        named = {bare(n.e) for n in nodes if isinstance(n, tree.AddressOf)}  # &w[i] reads nothing
        unseen = [n for n in nodes if reads_constant(n) and n not in self.followed and n not in named]
        return tuple(sorted({self.unit.source.line(self.tokens[n.t0].start) for n in unseen}))

    def loses_const(self) -> bool:
        """Is there a way to write a const argument: a cast, a variable or a function's parameter without the const?

        (A compiler only warns where the text leaves it out.)
        """
        types = [p.type for f in self.reached if f is not self.kernel for p in f.params]
        for node in (n for f in self.reached if f.body for n in tree.walk(f.body)):
            types += [node.type] if isinstance(node, tree.Cast) else []
            types += [node.variable.type] if isinstance(node, tree.Declarator) else []
        return any(isinstance(t, Pointer) and t.space == "global" and not t.const for t in map(element, types))

    def run(self) -> str:
        wanted = {f.name for f in self.reached}
        out: list[str] = []
        for item in self.unit.items:
            self.out = []
            if isinstance(item, tree.Function):
                if item.name in wanted and (not item.kernel or item is self.kernel):
                    self.write_Function(item)
            else:
                if isinstance(item, tree.Declaration):
                    self.constants(item)
                self.statement(item)
            out += [self.device.take(), *self.helpers.values(), *self.out]
            self.helpers.clear()
        if len(self.buffers) > MAX_BUFFERS:
            raise SourceError(f"the kernel has {len(self.buffers)} buffers; the tracer numbers at most {MAX_BUFFERS}")
        pragmas = [self.text(i.t0, i.t1) for i in self.unit.items if self.tokens[i.t0].kind == "pragma"]
        options = f"#define GG_BUFFERS {max(1, len(self.buffers))}\n" + "#define GG_FAULTS_ONLY\n" * self.faults_only
        if self.reaching:
            options += f"#define GG_OBJECTS {max(1, self.objects)}\n#define GG_SPARE {self.largest // 8 + 1}\n"
        return "\n".join([*pragmas, options]) + recorder_text() + "".join(out)

    def constants(self, item: tree.Declaration) -> None:
        """Program-scope arrays in __constant memory get buffer numbers."""
        for d in item.declarators:
            t = d.variable.type
            if d.variable.space == "constant" and isinstance(t, Array) and isinstance(element(t), Base):
                self.buffer(d.variable)


def instrument(text: str, kernel: str | None = None, defines: Mapping[str, str] | None = None, *,
               extensions: frozenset[str] = frozenset(), watch: tuple[str, ...] = (), fuel: int = 1 << 20,
               faults_only: bool = False) -> Instrumented:  # fmt: skip
    """The kernel named `kernel` (or the only one), rewritten so that it records what it does.

    `defines` are the macros the build would set by -D ("N", or "F(x)" with parameters), `extensions` the device's.
    `watch` names private variables whose assignments are recorded ("*": all). After `fuel` turns of its loops a
    work-item leaves them. With `faults_only` only events that are mistakes are written. The result needs no -D, and
    takes PARAMETERS after its own arguments. Raises SourceError where the text does not parse, Unsupported where it
    cannot be followed.
    """
    unit = Unit(text, defines or {}, extensions, not enables_half(text))
    recorder = Recorder(unit, kernel, watch, fuel, faults_only)
    try:
        made = recorder.run()
    except RecursionError:
        raise unit.too_deep(unit.tokens[recorder.function.name_at]) from None
    return Instrumented(made, unit.signature(recorder.kernel), tuple(recorder.sites), tuple(recorder.buffers),
                        recorder.votes.meets(recorder.kernel), recorder.loses_const(),
                        recorder.unfollowed())  # fmt: skip
