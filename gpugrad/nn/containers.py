"""Modules that hold modules."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..kernels.checks import integer, kind
from .module import Module


class Sequential(Module):
    """Modules one after another: `Sequential(a, b)` computes b(a(x)). A dict of modules names them."""

    def __init__(self, *modules: Any):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named = list(modules[0].items())
        else:
            named = [(str(i), m) for i, m in enumerate(modules)]
        for name, module in named:
            self.add_module(name, _module("Sequential", name, module))

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        _append(self, module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Sequential(dict(list(self._modules.items())[index]))
        return self._modules[_name(self, index)]


class ModuleList(Module):
    """A list of modules whose parameters are found; it has no forward."""

    def __init__(self, modules: Iterable[Module] = ()):
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        _append(self, module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add several at the end."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return ModuleList(list(self)[index])
        return self._modules[_name(self, index)]

    def __setitem__(self, index: int, module: Module) -> None:
        name = _name(self, index)
        self.add_module(name, _module("ModuleList", name, module))


def _module(container: str, name: str, value: Any) -> Module:
    if not isinstance(value, Module):
        raise TypeError(f"{container}: {name} is {kind(value)}; it must be a module")
    return value


def _append(container: Module, module: Module) -> None:
    held = container._modules
    name = next(n for n in map(str, itertools.count(len(held))) if n not in held)  # a part of a Sequential keeps names
    container.add_module(name, _module(type(container).__name__, name, module))


def _name(container: Module, index: Any) -> str:
    """The name of the module at a place."""
    names, of = list(container._modules), type(container).__name__
    place = integer(of, "index", index)
    if not -len(names) <= place < len(names):
        raise IndexError(f"{of}: index is {place}, and there are {len(names)} modules")
    return names[place]
