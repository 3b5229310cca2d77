"""Which buffer does a pointer point into? Answered as C text: a buffer's number, or a variable that holds one.

A pointer variable has a shadow, an int that is assigned whenever it is; so `a[i + 100000]` is blamed on `a`
even where it lands in `b`. Where this cannot tell, the answer is UNKNOWN of the space, and the recorder looks
the address up. Of a pointer into private memory it is the number of an object there (reach.py).
"""

from __future__ import annotations

from . import tree
from .layout import Array, Pointer, Type, decay
from .tree import Expr, walk

RECORDED = ("global", "local")
UNKNOWN = {"global": "-1", "local": "-2", "private": "-3"}


def is_traced_pointer(t: Type) -> bool:
    return isinstance(t, Pointer) and t.space in UNKNOWN


def unknown(e: Expr) -> str:
    p = decay(e.type, e.space)
    space = p.space if isinstance(p, Pointer) else e.space
    return UNKNOWN.get(space or "", "-1")


def points_into(e: Expr) -> str:
    """Of a pointer value (or an array, which is one)."""
    match e:
        case tree.Name(variable=v) if v is not None:
            number = v.object if isinstance(v.type, Array) and v.buffer is None else v.buffer
            return str(number) if number is not None else v.shadow or unknown(e)
        case tree.Paren() | tree.Cast() | tree.Increment():
            return points_into(e.e) if isinstance(decay(e.e.type, e.e.space), Pointer) else unknown(e)
        case tree.Binary():
            return points_into(e.left if isinstance(decay(e.left.type, e.left.space), Pointer) else e.right)
        case tree.Assign():
            return points_into(e.left) if e.op != "=" else points_into(e.right)
        case tree.Comma():
            return points_into(e.right)
        case tree.AddressOf():
            return owner(e.e)
        case tree.Index() | tree.Deref() | tree.Member() if isinstance(e.type, Array):
            return owner(e)
    return unknown(e)


def owner(e: Expr) -> str:
    """Of an object."""
    match e:
        case tree.Name(variable=v):
            return points_into(e) if v is None or v.object is None else str(v.object)
        case tree.Index():
            return points_into(e.base)
        case tree.Deref():
            return points_into(e.e)
        case tree.Member() | tree.Swizzle() | tree.Lane() | tree.Paren():
            return owner(e.e)
    return unknown(e)


def escaping(f: tree.Function) -> set[str]:
    """Variables whose address is taken: such a pointer may change behind our back and has no shadow."""
    if f.body is None:
        return set()
    taken = (tree.bare(n.e) for n in walk(f.body) if isinstance(n, tree.AddressOf))
    return {e.name for e in taken if isinstance(e, tree.Name)}


def reassigned(f: tree.Function) -> set[str]:
    """Variables that change after their declaration."""
    if f.body is None:
        return set()
    targets = [tree.bare(n.left if isinstance(n, tree.Assign) else n.e) for n in walk(f.body)
               if isinstance(n, tree.Assign | tree.Increment | tree.AddressOf)]  # fmt: skip
    return {e.name for e in targets if isinstance(e, tree.Name)}
