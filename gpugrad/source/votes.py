"""Which conditions must a work-group agree on?

Every work-item of a group must reach the same barriers. A condition on which that depends is put to a vote
when the kernel runs (recorder.cl): the condition of a statement that holds a barrier, and of one that holds a
`return`, `break` or `continue` with which a work-item can pass a barrier by. A vote is itself made of barriers,
so what encloses a vote votes too; the search goes on until nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import opencl, tree
from .errors import Refused
from .lexer import Token
from .tree import Node, walk
from .unit import Unit

Voter = tree.If | tree.Loop | tree.Switch


class Votes:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.meeting: dict[str, bool] = {}

    def meets(self, f: tree.Function) -> bool:
        """Does this function reach a barrier, itself or through another?"""
        if f.name not in self.meeting:
            self.meeting[f.name] = False
            self.meeting[f.name] = f.body is not None and any(self.is_meeting(n) for n in walk(f.body))
        return self.meeting[f.name]

    def is_meeting(self, n: Node) -> bool:
        return isinstance(n, tree.Call) and (
            n.name in opencl.BARRIERS or (n.function is not None and self.meets(n.function))
        )

    def voters(self, f: tree.Function) -> set[int]:
        """The first tokens of the statements of `f` that vote."""
        if f.body is None or not self.meets(f):
            return set()
        self.check_expressions(f.body)
        self.refuse_backwards(f)
        points = {n.t0 for n in walk(f.body) if self.is_meeting(n)}
        jumps = list(self.jumps(f.body, ()))
        controls = [n for n in walk(f.body) if isinstance(n, Voter)]
        voting: set[int] = set()
        while True:
            found = {c.t0 for c in controls if any(c.t0 < p < c.t1 for p in points)}
            for jump, enclosing, target in jumps:
                if any(self.passes(jump, enclosing, target, p) for p in points):
                    inside = enclosing if target is None else enclosing[enclosing.index(target) + 1 :]
                    found |= {c.t0 for c in inside if isinstance(c, Voter)}
            if found <= voting:
                return voting
            voting |= found
            points |= found

    def jumps(self, n: Node, enclosing: tuple[Node, ...]) -> Iterator[tuple[Node, tuple[Node, ...], Node | None]]:
        """-> (the jump, the control statements around it, the one it leaves or goes on with; None: the function)"""
        if isinstance(n, tree.Return) or (isinstance(n, tree.Jump) and n.word == "goto"):
            yield n, enclosing, None
        elif isinstance(n, tree.Jump):
            kinds = (tree.Loop, tree.Switch) if n.word == "break" else (tree.Loop,)
            target = next((c for c in reversed(enclosing) if isinstance(c, kinds)), None)
            if target is None:
                raise self.unit.source.error(f"{n.word} outside a loop", self.tokens[n.t0])
            yield n, enclosing, target
        inner = (*enclosing, n) if isinstance(n, Voter) else enclosing
        children = (n.body if isinstance(n, tree.Compound) else [n.then, n.other] if isinstance(n, tree.If)
                    else [n.body] if isinstance(n, tree.Loop | tree.Switch | tree.Prefixed) else [])  # fmt: skip
        for child in children:
            if child is not None:
                yield from self.jumps(child, inner)

    @property
    def tokens(self) -> list[Token]:
        return self.unit.tokens

    @staticmethod
    def passes(jump: Node, enclosing: tuple[Node, ...], target: Node | None, point: int) -> bool:
        """Can the jump pass by the barrier at token `point`?"""
        if target is not None and not target.t0 < point < target.t1:
            return False
        ahead = point > jump.t0
        if target is not None and isinstance(jump, tree.Jump) and jump.word == "continue":
            return ahead or any(
                c.t0 < point < c.t1 for c in enclosing[enclosing.index(target) + 1 :] if isinstance(c, tree.Loop)
            )
        around = enclosing if target is None else enclosing[enclosing.index(target) :]
        return ahead or any(c.t0 < point < c.t1 for c in around if isinstance(c, tree.Loop))

    def refuse_backwards(self, f: tree.Function) -> None:
        """A goto from behind a barrier to before it makes a loop whose turns cannot be voted on."""
        for n in walk(f.body) if f.body else ():
            if isinstance(n, tree.Jump) and n.back is not None:
                between = (x for x in walk(f.body or n) if n.back < x.t0 < n.t0)
                if any(self.is_meeting(x) for x in between):
                    raise self.unit.source.error(
                        "a goto backwards over a barrier is not supported, as nothing could stop it: write a loop",
                        self.tokens[n.t0], Refused,
                    )  # fmt: skip

    def check_expressions(self, body: Node) -> None:
        """A barrier inside `?:`, `&&` or `||` cannot be voted on."""
        for n in walk(body):
            lazy = ([n.yes, n.no] if isinstance(n, tree.Conditional)
                    else [n.right] if isinstance(n, tree.Binary) and n.op in ("&&", "||") else [])  # fmt: skip
            for part in lazy:
                for x in walk(part):
                    if self.is_meeting(x):
                        raise self.unit.source.unsupported(
                            "a barrier inside ?:, && or || is not supported: use if", self.tokens[x.t0]
                        )
