"""From tree back to text: statements and functions. Lines stay where they were, so that build errors name them."""

from __future__ import annotations

from . import tree
from .layout import Base
from .tree import Node
from .writer import ExpressionWriter


class Writer(ExpressionWriter):
    out: list[str]
    line = 0  # of the source, that the output is at

    def emit(self, text: str) -> None:
        self.out.append(text)

    def at(self, node: Node) -> None:
        """Bring the output to the source line where `node` begins."""
        want = self.tokens[node.t0].line
        if 0 < self.line <= want < self.line + 6:
            self.emit("\n" * (want - self.line) or " ")
        else:
            self.emit(f"\n#line {want}\n")
        self.line = want

    # ---- what a pass decides

    def whole(self, e: tree.Expr) -> str:
        """The value of an expression that is no part of another."""
        return self.value(e)

    def test(self, node: tree.If | tree.Loop | tree.Switch) -> str:
        """The condition of a statement."""
        return self.whole(node.test) if node.test else ""

    def initial(self, d: tree.Declarator) -> str:
        """A variable's first value."""
        assert d.init is not None
        return self.whole(d.init)

    def declared(self, d: tree.Declarator) -> str:
        """What must follow the declaration of a variable."""
        return ""

    def returning(self, node: tree.Return) -> str:
        return f"return {self.whole(node.e)};" if node.e else "return;"

    # ---- statements

    def statement(self, node: Node) -> None:
        getattr(self, "write_" + type(node).__name__)(node)

    def block(self, node: Node) -> None:
        """A statement as the body of another."""
        if isinstance(node, tree.Compound):
            self.statement(node)
            return
        self.emit("{")
        self.statement(node)
        self.emit("}")

    def write_Compound(self, node: tree.Compound) -> None:
        self.emit("{")
        for s in node.body:
            self.statement(s)
        self.emit("}")

    def write_Verbatim(self, node: tree.Verbatim) -> None:
        self.prefix(node, node.t1)

    def write_Prefixed(self, node: tree.Prefixed) -> None:
        self.prefix(node, node.open_end)
        self.statement(node.body)

    def prefix(self, node: Node, end: int) -> None:
        self.at(node)
        if self.tokens[node.t0].kind == "pragma":
            self.emit(f"\n{self.text(node.t0, end)}\n")
            self.line = 0
        else:
            self.emit(self.text(node.t0, end))

    def write_Jump(self, node: tree.Jump) -> None:
        self.at(node)
        self.emit(self.text(node.t0, node.t1))

    def write_Typedef(self, node: tree.Typedef) -> None:
        if self.unit.half_is_storage and isinstance(node.type, Base) and node.type.scalar == "half":
            return  # its name is written out as ushort or float
        self.at(node)
        self.emit(self.text(node.t0, node.t1))

    def write_ExprStatement(self, node: tree.ExprStatement) -> None:
        self.at(node)
        self.emit(self.effect(node.e) + ";")

    def effect(self, e: tree.Expr) -> str:
        """A whole expression that stands for what it does."""
        return self.discarded(e)

    def discarded(self, e: tree.Expr) -> str:
        """An expression whose value nobody uses."""
        match e:
            case tree.Assign():
                return self.value_Assign(e, used=False)
            case tree.Increment():
                return self.value_Increment(e, used=False)
            case tree.Comma():
                return f"{self.discarded(e.left)}, {self.discarded(e.right)}"
        return self.value(e)

    def write_Declaration(self, node: tree.Declaration) -> None:
        self.at(node)
        self.emit("".join(self.declaration(node)))

    def declaration(self, node: tree.Declaration) -> tuple[str, str]:
        """The declaration, and what must follow it."""
        half = self.half_word(node.declarators[0].variable.type) if node.declarators else "ushort"
        parts, after = [], ""
        for d in node.declarators:
            text, follow = self.text(d.t0, d.name_end), self.declared(d)
            parts.append(text + (f" = {self.initial(d)}" if d.init else ""))
            after += follow
        return f"{self.text(node.t0, node.spec_end, half)} {', '.join(parts)};", after

    def write_Return(self, node: tree.Return) -> None:
        self.at(node)
        self.emit(self.returning(node))

    def write_If(self, node: tree.If) -> None:
        self.at(node)
        self.emit(f"if ({self.test(node)}) ")
        self.block(node.then)
        if node.other:
            self.emit(" else ")
            self.block(node.other)

    def write_Switch(self, node: tree.Switch) -> None:
        self.at(node)
        self.emit(f"switch ({self.test(node)}) ")
        self.block(node.body)

    def write_Loop(self, node: tree.Loop) -> None:
        self.at(node)
        if node.word == "while":
            self.emit(f"while ({self.test(node)}) ")
            self.block(node.body)
        elif node.word == "do":
            self.emit("do ")
            self.block(node.body)
            self.emit(f" while ({self.test(node)});")
        else:
            init, after = self.declaration(node.init) if isinstance(node.init, tree.Declaration) else (
                self.effect(node.init.e) + ";" if isinstance(node.init, tree.ExprStatement) else ";", "")  # fmt: skip
            step = self.effect(node.step) if node.step else ""
            self.emit(f"for ({init} {self.test(node)}; {step}) ")
            if after:  # it does not fit in the loop's head
                self.emit("{" + after)
            self.block(node.body)
            self.emit("}" * bool(after))

    # ---- functions

    def write_Function(self, f: tree.Function) -> None:
        self.temporaries, outer, self.out = [], self.out, []
        self.line = 0
        if f.body:
            for s in f.body.body:
                self.statement(s)
        body, self.out = self.out, outer
        self.line = 0
        self.at(f)
        self.emit(self.head(f))
        if f.body:
            self.emit(" {" + self.prologue(f) + " ".join(self.temporaries))
            self.out += body
            self.emit(self.epilogue(f) + "}\n")
        else:
            self.emit(";\n")
        self.line = 0

    def head(self, f: tree.Function) -> str:
        """The function up to its body."""
        return f"{self.text(f.t0, f.name_at + 1, self.half_word(f.returns))}({', '.join(self.parameters(f))})"

    def parameters(self, f: tree.Function) -> list[str]:
        return [self.text(p.t0, p.t1, self.half_word(p.type)) for p in f.params]

    def prologue(self, f: tree.Function) -> str:
        return ""

    def epilogue(self, f: tree.Function) -> str:
        return ""
