"""Declarations: types, structs, enums, typedefs, variables and parameters."""

from __future__ import annotations

from .constants import constant
from .expressions import Expressions
from .layout import BASES, IMAGE, OPAQUE, SPACES, Array, Base, Pointer, Record, Type, computed, holds_half
from .lexer import Source, Token
from .tree import Declaration, Declarator, Expr, InitList, Parameter, Typedef, Variable

QUALIFIERS = frozenset(
    ("const", "volatile", "restrict", "__restrict", "__restrict__", "static", "extern", "inline", "__inline",
     "__inline__", "register", "typedef", "kernel", "__kernel")
)  # fmt: skip
ACCESS = frozenset(("read_only", "write_only", "read_write", "__read_only", "__write_only", "__read_write"))
INTEGERS = frozenset(("char", "short", "int", "long", "unsigned", "signed"))


class Declarations(Expressions):
    def __init__(self, source: Source, tokens: list[Token], half_is_storage: bool = False) -> None:
        super().__init__(source, tokens, half_is_storage)
        self.tags: dict[str, Record] = {}
        self.alignment = 0  # of the latest __attribute__((aligned(n)))
        self.local_types: set[str] = set()  # the names of types made inside functions

    def is_type(self) -> bool:
        c = self.current
        if self.tokens[self.i].kind != "id":
            return False
        known = c in self.types or c in OPAQUE
        return (
            (known and self.lookup(c) is None)
            or c in QUALIFIERS
            or c in SPACES
            or c in ACCESS
            or c in ("struct", "union", "enum", "unsigned", "signed", "__attribute__", "generic", "__generic")
        )

    def attribute(self) -> list[str]:
        """The names in __attribute__((...)); notes what `aligned(n)` says."""
        self.eat("__attribute__")
        self.eat("(")
        self.eat("(")
        words: list[str] = []
        while not self.accept(")"):
            words.append(self.identifier("an attribute"))
            if self.current == "(" and words[-1].strip("_") == "aligned":
                self.i += 1
                self.alignment = constant(self.conditional()) or 0
                self.eat(")")
            elif self.current == "(":
                self.skip_parentheses()
            self.accept(",")
        self.eat(")")
        return [w.strip("_") for w in words]

    def attributes(self) -> list[str]:
        words: list[str] = []
        while self.current == "__attribute__":
            words += self.attribute()
        return words

    def specifiers(self) -> tuple[Type, str, set[str]]:
        """-> (type, address space or "", qualifiers)"""
        found: Type | None = None
        integers: list[str] = []
        space, words = "", set()
        while True:
            c = self.current
            self.check_word()
            free = self.lookup(c) is None
            if c == "__attribute__":
                words.update(self.attribute())
                continue
            if c in ("struct", "union", "enum"):
                found = self.enum() if c == "enum" else self.record()
                continue
            if (c in OPAQUE or c in ACCESS) and free and not found:
                self.refuse(f"{c} is not supported: " + OPAQUE.get(c, IMAGE))
            if c in SPACES:
                space = SPACES[c]
            elif c in QUALIFIERS:
                words.add(c.strip("_"))
            elif c in INTEGERS and found is None:
                integers.append(c)
            elif found is None and not integers and c in self.types and free:
                found = self.types[c]
            else:
                break
            self.i += 1
        if found is None and not integers:
            self.fail("expected a type")
        return found or self.integer(integers), space, words

    @staticmethod
    def integer(words: list[str]) -> Type:
        """`unsigned long int` and its kin."""
        size = next((w for w in ("char", "short", "long") if w in words), "int")
        return BASES["u" + size if "unsigned" in words else size]

    def record(self) -> Type:
        union = self.current == "union"
        word = self.current
        self.i += 1
        attributes = self.attributes()
        tag = "" if self.current == "{" else self.identifier("a struct's name")
        if not self.accept("{"):
            return self.tags.get(tag) or Record(f"{word} {tag}", ())
        fields: list[tuple[str, Type]] = []
        while not self.accept("}"):
            base, space, words = self.specifiers()
            while True:
                at, self.alignment = self.i, 0
                name, t, _ = self.declarator(base, space, words)
                if self.alignment:
                    self.refuse("an aligned field is not supported: the pass would not know where it lies", at)
                if self.current == ":":
                    self.refuse("bit-fields are not OpenCL C")
                if self.half_is_storage and holds_half(t):
                    self.refuse(f"half inside a struct is not supported: declare {name} as float", at)
                fields.append((name, t))
                if not self.accept(","):
                    break
            self.eat(";")
        attributes += self.attributes()
        if "aligned" in attributes:
            self.refuse("an aligned struct is not supported: the pass would not know its size")
        made = Record(f"{word} {tag}" if tag else "", tuple(fields), union, "packed" in attributes)
        if tag:
            self.tags[tag] = made
            self.note_type(made.name)
        return made

    def note_type(self, name: str) -> None:
        if len(self.scopes) > 1:
            self.local_types.add(name)

    def enum(self) -> Type:
        self.eat("enum")
        if self.current != "{":
            self.identifier("an enum's name")
        if self.accept("{"):
            following: int | None = 0
            while not self.accept("}"):
                name = self.identifier("an enumerator")
                if self.accept("="):
                    following = constant(self.conditional())
                self.scopes[-1][name] = Variable(name, BASES["int"], "", following)
                following = None if following is None else following + 1
                if not self.accept(","):
                    self.eat("}")
                    break
        return BASES["int"]

    def declarator(self, t: Type, space: str, words: set[str]) -> tuple[str, Type, str]:
        """-> (name, type, address space of the object itself)"""
        const, volatile = "const" in words, "volatile" in words
        while self.accept("*"):
            t, space = Pointer(t, space or "private", const, volatile), ""
            const = volatile = False
            while self.current in QUALIFIERS or self.current in SPACES:
                space = SPACES.get(self.current, space)
                const, volatile = const or self.current == "const", volatile or self.current == "volatile"
                self.i += 1
        self.attributes()
        self.check_word()
        inner, name = -1, ""
        if self.current == "(" and self.peek() in ("*", "("):  # (*row)[4]
            inner = self.i + 1
            self.skip_parentheses()
        elif self.tokens[self.i].kind == "id":
            name = self.identifier("a name")
        dims: list[int | None] = []
        while self.accept("["):
            dims.append(None if self.current == "]" else constant(self.assignment()))
            self.eat("]")
        for d in reversed(dims):
            t = Array(t, d)
        self.attributes()
        if inner >= 0:
            if self.current == "(":
                self.refuse("function pointers are not OpenCL C")
            end, self.i = self.i, inner
            name, t, space = self.declarator(t, space, set())
            self.eat(")")
            self.i = end
        return name, t, space or "private"

    def object_type(self, t: Type, space: str) -> Type:
        return computed(t) if self.half_is_storage and space in ("private", "constant") else t

    def type_name(self, stored: bool = False) -> Type:
        base, space, words = self.specifiers()
        _, t, _ = self.declarator(base, space, words)
        return t if stored else self.object_type(t, "private")

    def parameters(self) -> list[Parameter]:
        out: list[Parameter] = []
        self.eat("(")
        if self.current == "void" and self.peek() == ")":
            self.i += 1
        while self.current != ")":
            start = self.i
            base, space, words = self.specifiers()
            name, t, _ = self.declarator(base, space, words)
            if isinstance(t, Array):
                t = Pointer(t.element, space or "private", "const" in words)
            out.append(Parameter(start, self.i, name, self.object_type(t, "private")))
            if not self.accept(","):
                break
        self.eat(")")
        return out

    def typedef(self, start: int, base: Type, space: str, words: set[str]) -> Typedef:
        while True:
            at, self.alignment = self.i, 0
            name, t, _ = self.declarator(base, space, words)
            if isinstance(t, Base) and self.alignment:
                t = Base(t.name, name, self.alignment)
            if isinstance(t, Record) and not t.name:
                t = Record(name, t.fields, t.union, t.packed)
            if self.half_is_storage and isinstance(t, Array) and holds_half(t):
                self.refuse("a typedef of an array of half is not supported: write the array where it is declared", at)
            self.types[name] = t
            self.note_type(name)
            if not self.accept(","):
                break
        self.eat(";")
        return Typedef(start, self.i, name, t)

    def declaration(self, start: int, spec_end: int, base: Type, space: str, words: set[str]) -> Declaration:
        made: list[Declarator] = []
        while self.current != ";":
            at = self.i
            name, t, where = self.declarator(base, space, words)
            if not name:
                self.fail("expected a name")
            if self.current == "(":
                self.refuse("a function declared inside a function is not OpenCL C")
            if isinstance(t, Record) and not t.fields and not t.name:
                self.fail("expected a type")
            v = Variable(name, self.object_type(t, where), where)
            name_end, init = self.i, None
            self.scopes[-1][name] = v
            if self.accept("="):
                init = self.initializer()
                whole = isinstance(t, Base) and t.lanes == 1 and t.scalar not in ("float", "double", "half")
                v.value = constant(init) if whole and "const" in words else None
            if isinstance(v.type, Array) and v.type.length is None:
                v.type = self.deduced(v.type, init, at)
            made.append(Declarator(at, self.i, v, name_end, init))
            if not self.accept(","):
                break
        self.eat(";")
        halves = {holds_half(d.variable.type) for d in made}
        if self.half_is_storage and len(halves) > 1 and holds_half(base):
            self.refuse("declare the half pointer and the half value in two statements", start)
        return Declaration(start, self.i, spec_end, made)

    def deduced(self, t: Array, init: Expr | None, at: int) -> Array:
        """float w[] = {1, 2, 3}: its length is that of the list."""
        if not isinstance(init, InitList) or isinstance(t.element, Array) or any(a != b for a, b in init.designators):
            self.refuse("give this array its length in figures", at)
        return Array(t.element, len(init.items))
