"""From tree back to text. Written by itself the text means what it meant; two passes change it on the way.

`value(e)` is C text for the value of an expression, `place(e)` for the object it names. A pass says through
`touches(e)` which objects it wants to see, and gets `load` and `store` for them; everything else is written
out as it stood. Calls stand in the place of expressions, so `?:`, `&&` and `||` stay as lazy as they were.
"""

from __future__ import annotations

from . import tree
from .layout import Array, Base, Pointer, Type, holds_half
from .tree import Expr, bare, chain
from .unit import Unit


class ExpressionWriter:
    def __init__(self, unit: Unit) -> None:
        self.unit, self.tokens = unit, unit.tokens
        self.temporaries: list[str] = []

    # ---- what a pass decides

    def touches(self, e: Expr) -> bool:
        """Must reads and writes of this object go through `load` and `store`?"""
        return False

    def load(self, e: Expr, address: str) -> str:
        """The value at `address`, where object `e` lives."""
        raise NotImplementedError

    def store(self, e: Expr, address: str, value: str, used: bool) -> str:
        """`value` to `address`; `used`: the value of the assignment is wanted too."""
        raise NotImplementedError

    def load_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str) -> str:
        raise NotImplementedError

    def store_lanes(self, e: tree.Swizzle, vector: Expr, lanes: list[int], address: str, value: str) -> str:
        raise NotImplementedError

    # ---- text

    def text(self, t0: int, t1: int, half: str = "ushort") -> str:
        """Tokens as they stood; where half is only a way to store, its name becomes `half`."""
        return " ".join(self.word(t.text, half) if t.kind == "id" else t.text for t in self.tokens[t0:t1])

    def word(self, word: str, half: str) -> str:
        if self.unit.half_is_storage:
            t = self.unit.types.get(word)
            if isinstance(t, Base) and t.scalar == "half":
                return t.name.replace("half", half)
        return word

    @staticmethod
    def half_word(t: Type) -> str:
        return "ushort" if holds_half(t) else "float"

    def spelling(self, t: Type) -> str:
        """How C writes a type of memory."""
        if isinstance(t, Pointer):
            return f"__{t.space} {'volatile ' if t.volatile else ''}{self.spelling(t.target)} *"
        name = t.alias or t.name if isinstance(t, Base) else getattr(t, "name", "")
        return self.word(name, "ushort")

    def temporary(self, declaration: str) -> str:
        """A variable of the function at hand; `declaration` has @ for its name."""
        name = f"gg_x{len(self.temporaries)}"
        self.temporaries.append(declaration.replace("@", name) + ";")
        return name

    # ---- objects

    def place(self, e: Expr, accessed: bool = True) -> str:
        """`accessed`: the object is read or written there, and not only its address taken."""
        match e:
            case tree.Name():
                return e.name
            case tree.Paren():
                return f"({self.place(e.e, accessed)})"
            case tree.Index():
                return f"{self.base(e.base, accessed)}[{self.index(e, accessed)}]"
            case tree.Deref():
                return f"(*{self.place(e.e, accessed) if isinstance(e.e.type, Array) else self.value(e.e)})"
            case tree.Member() | tree.Swizzle():
                return f"{self.base_object(e.e, accessed)}.{e.name}"
            case tree.Lane():
                return f"{self.base_object(e.e, accessed)}[{self.value(e.index)}]"
        return self.value(e)

    def base(self, e: Expr, accessed: bool) -> str:
        text = self.place(e, accessed) if isinstance(e.type, Array) else self.value(e)
        return text if isinstance(e, tree.Name | tree.Paren | tree.Index | tree.Call | tree.Member) else f"({text})"

    def base_object(self, e: Expr, accessed: bool) -> str:
        return self.place(e, accessed) if e.space is not None else self.value(e)

    def index(self, e: tree.Index, accessed: bool) -> str:
        return self.value(e.index)

    def address(self, e: Expr) -> str:
        e = bare(e)
        return self.value(e.e) if isinstance(e, tree.Deref) and not isinstance(e.e.type, Array) else f"&{self.place(e)}"

    def scalar_address(self, e: Expr, lane: str) -> str:
        """Of one component of the vector `e`."""
        assert isinstance(e.type, Base)
        return f"(__{e.space} {self.word(e.type.scalar, 'ushort')} *)({self.address(e)}) + ({lane})"

    @staticmethod
    def components(e: tree.Swizzle) -> tuple[Expr, list[int]]:
        """`v.hi.xy`: the vector v, and which of its components are meant."""
        lanes, inner = e.lanes, bare(e.e)
        while isinstance(inner, tree.Swizzle):
            lanes, inner = [inner.lanes[k] for k in lanes], bare(inner.e)
        return inner, lanes

    # ---- values

    def value(self, e: Expr) -> str:
        write = getattr(self, "value_" + type(e).__name__, None)
        if write is not None:
            text: str = write(e)
            return text
        if self.touches(e):
            return self.read(e)
        return self.place(e, accessed=not isinstance(e.type, Array))

    def argument(self, e: Expr) -> str:
        """A value as one of several arguments, which a comma of its own would part."""
        return f"({self.value(e)})" if isinstance(e, tree.Comma) else self.value(e)

    def read(self, e: Expr) -> str:
        if isinstance(e, tree.Lane):
            return self.load(e, self.scalar_address(e.e, self.value(e.index)))
        if isinstance(e, tree.Swizzle):
            vector, lanes = self.components(e)
            if len(lanes) == 1:
                return self.load(e, self.scalar_address(vector, str(lanes[0])))
            return self.load_lanes(e, vector, lanes, self.address(vector))
        return self.load(e, self.address(e))

    def value_Literal(self, e: tree.Literal) -> str:
        return self.text(e.t0, e.t1)

    value_SizeOf = value_Literal

    def value_Paren(self, e: tree.Paren) -> str:
        return f"({self.value(e.e)})"

    def value_Unary(self, e: tree.Unary) -> str:
        return f"{e.op} {self.value(e.e)}"

    def value_Binary(self, e: tree.Binary) -> str:
        first, found = chain(e)
        rights = [f" {x.op} {self.right(x)}" for x in reversed(found)]
        return "".join([self.value(first), *reversed(rights)])

    def right(self, e: tree.Binary) -> str:
        return self.value(e.right)

    def value_Comma(self, e: tree.Comma) -> str:
        return f"{self.value(e.left)}, {self.value(e.right)}"

    def value_Conditional(self, e: tree.Conditional) -> str:
        return f"{self.value(e.test)} ? {self.value(e.yes)} : {self.value(e.no)}"

    def value_AddressOf(self, e: tree.AddressOf) -> str:
        return f"& {self.place(e.e, accessed=False)}"

    def value_Cast(self, e: tree.Cast) -> str:
        return f"{self.text(e.t0, e.open_end, self.half_word(e.type))} {self.value(e.e)}"

    def value_VectorLiteral(self, e: tree.VectorLiteral) -> str:
        items = ", ".join(self.value(x) for x in e.items)
        return f"{self.text(e.t0, e.open_end, 'float')}({items})"

    def value_InitList(self, e: tree.InitList) -> str:
        return (
            "{"
            + ", ".join(self.text(a, b) + " " * (b > a) + self.value(x) for x, (a, b) in zip(e.items, e.designators))
            + "}"
        )

    def value_Call(self, e: tree.Call) -> str:
        return f"{e.name}({', '.join(self.value(a) for a in e.args)})"

    # ---- assignments

    def value_Assign(self, e: tree.Assign, used: bool = True) -> str:
        if self.touches(bare(e.left)):
            return self.write(bare(e.left), e.op[:-1], self.value(e.right), used)
        return self.assigned(e, bare(e.left), f"{self.place(e.left)} {e.op} {self.value(e.right)}")

    def assigned(self, e: Expr, left: Expr, text: str) -> str:
        """`text` assigns to the untouched object `left`."""
        return text

    def value_Increment(self, e: tree.Increment, used: bool = True) -> str:
        left = bare(e.e)
        if self.touches(left):
            return self.write(left, e.op[0], "1", used, old=used and not e.prefix)
        return f"{e.op} {self.place(e.e)}" if e.prefix else f"{self.place(e.e)} {e.op}"

    def write(self, left: Expr, op: str, right: str, used: bool, old: bool = False) -> str:
        """`left op= right`: the address is worked out once. `old`: its value is the one from before."""
        if isinstance(left, tree.Swizzle):
            vector, lanes = self.components(left)
            if len(lanes) > 1:
                return self.write_lanes(left, vector, lanes, op, right)
            address = self.scalar_address(vector, str(lanes[0]))
        elif isinstance(left, tree.Lane):
            address = self.scalar_address(left.e, self.value(left.index))
        else:
            address = self.address(left)
        if not op:
            return self.store(left, address, right, used)
        p = self.temporary(f"{self.spelling(left.type)} volatile __{left.space} *@")
        before = self.load(left, p)
        if old:
            kept = self.temporary(f"{self.word(getattr(left.type, 'name', ''), 'float')} @") if not isinstance(
                left.type, Pointer) else self.temporary(f"{self.spelling(left.type)} @")  # fmt: skip
            return f"({p} = {address}, {kept} = {before}, {self.store(left, p, f'{kept} {op} {right}', True)}, {kept})"
        return f"({p} = {address}, {self.store(left, p, f'{before} {op} ({right})', used)})"

    def write_lanes(self, left: tree.Swizzle, vector: Expr, lanes: list[int], op: str, right: str) -> str:
        if not op:
            return self.store_lanes(left, vector, lanes, self.address(vector), right)
        p = self.temporary(f"__{vector.space} volatile {self.spelling(vector.type)} *@")
        value = f"{self.load_lanes(left, vector, lanes, p)} {op} ({right})"
        return f"({p} = {self.address(vector)}, {self.store_lanes(left, vector, lanes, p, value)})"
