"""What the source pass hands on beside the text: who takes which arguments, and which places touch memory."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import Type

KINDS = ("load", "store", "atomic", "barrier", "branch", "assign", "row", "private", "fuel")
"""What an event can be. `branch`: a condition that a barrier depends on. `assign`: a watched private variable gets
a value. `row`: an index past the end of a row of an array of arrays. `private`: outside a private array
by its index, or outside a private variable by a pointer (the site's name is then "pointer"). `fuel`: a loop that never
ended."""


@dataclass(frozen=True)
class Argument:
    """One parameter of a kernel. `scalar` and `lanes` are those of the value, or of what the pointer points to;
    `size` is that in bytes. `text` is the parameter as its author wrote it."""

    name: str
    text: str
    space: str  # global local constant, or "" for a value
    scalar: str  # float int ...; a struct's name
    lanes: int
    size: int
    const: bool  # the kernel promises not to write it


@dataclass(frozen=True)
class Signature:
    name: str
    arguments: tuple[Argument, ...]
    line: int


@dataclass(frozen=True)
class Site:
    """One place in the source that touches memory (or decides, or assigns a watched variable)."""

    id: int
    kind: str  # of KINDS
    line: int
    column: int
    start: int  # offsets of its text in the source
    end: int
    text: str  # as its author wrote it: the macro's call, where it stands in a macro
    scalar: str = ""
    lanes: int = 1
    macro: str = ""
    function: str = ""
    name: str = ""  # of the variable that is assigned, the atomic function, the statement that decides (if, for ...);
    # "struct" where one is moved whole, "pointer" where one leads out of private memory


@dataclass(frozen=True)
class Buffer:
    """A piece of memory that the kernel touches: an argument, a local array, a program-scope constant."""

    name: str
    space: str
    element: Type
    dims: tuple[int | None, ...] = ()  # of an array declared in the kernel
    argument: int | None = None  # position among the kernel's arguments

    @property
    def element_size(self) -> int:
        return max(1, self.element.size)
