"""Module: a function with parameters, made of smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..array import Array, to_host
from ..autograd.tensor import Tensor
from ..device import Device
from ..dtypes import as_dtype, float16, float32, is_float
from ..kernels.checks import boolean, kind
from .parameter import Parameter


class Keys(NamedTuple):
    """What `load_state_dict` did not find, and what it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module:
    """Base class of layers and networks: set parameters and modules as attributes, and write `forward`.

    Attributes: `training` (True until `.eval()`: dropout and batch normalisation look at it).
    """

    training: bool

    def __init__(self) -> None:
        # Past __setattr__, which needs them.
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_not_saved", set())
        object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs a method forward(self, ...) that computes its output")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # Attributes

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Module)) and "_parameters" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before setting {name}")
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
            return
        if isinstance(value, Module):
            self.add_module(name, value)
            return
        for place, what, needed in (
            ("_parameters", "parameter", Parameter),
            ("_modules", "module", Module),
            ("_buffers", "buffer", Tensor),
        ):
            held = self.__dict__.get(place)
            if held and name in held:
                if value is not None and not isinstance(value, needed):
                    raise TypeError(
                        f"{type(self).__name__}: {name} is a {what}; set a {needed.__name__} or None, not {kind(value)}"
                    )
                held[name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(place)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name (a layer without bias)."""
        self._register(name, parameter, self._parameters, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is saved with the module (unless not `persistent`) but not trained."""
        persistent = boolean("register_buffer", "persistent", persistent)
        self._register(name, tensor, self._buffers, Tensor)
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        if isinstance(module, Module) and any(inside is self for inside in module.modules()):
            raise ValueError(f"{type(self).__name__}: {name} is this module itself, or holds it; a module has no loops")
        self._register(name, module, self._modules, Module)

    def _register(self, name: str, value: Any, place: dict[str, Any], needed: type) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise ValueError(f"{type(self).__name__}: {name!r} cannot be a name in a module: it is text without a dot")
        if value is not None and not isinstance(value, needed):
            raise TypeError(f"{type(self).__name__}: {name} is {kind(value)}; it must be a {needed.__name__} or None")
        for other in (self._parameters, self._buffers, self._modules):
            if other is not place:
                other.pop(name, None)
        self.__dict__.pop(name, None)
        place[name] = value

    # Going through it

    def named_modules(self, prefix: str = "", _seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """(name, module) of this module ("") and all inside it, each once."""
        seen = set() if _seen is None else _seen
        if id(self) not in seen:
            seen.add(id(self))
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(_join(prefix, name), seen)

    def modules(self) -> Iterator[Module]:
        """This module and all inside it, each once."""
        return (m for _, m in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules directly inside."""
        return ((name, m) for name, m in self._modules.items() if m is not None)

    def children(self) -> Iterator[Module]:
        """The modules directly inside."""
        return (m for _, m in self.named_children())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of all parameters, each once; without `recurse` only of this module's own."""
        return self._named("_parameters", prefix, boolean("named_parameters", "recurse", recurse))

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once: what an optimiser takes."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of all buffers, each once."""
        return self._named("_buffers", prefix, boolean("named_buffers", "recurse", recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _named(self, place: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[place].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield _join(path, name), value

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Call `function` on every module, the inner ones first: to initialise weights, for example."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # Saving and loading

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Parameters and buffers by name, on their own memory: what `gpugrad.save` writes."""
        found: dict[str, Tensor] = {}
        for name, value in self._parameters.items():
            if value is not None:
                found[prefix + name] = value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._not_saved:
                found[prefix + name] = value.detach()
        for name, module in self.named_children():
            found.update(module.state_dict(f"{prefix}{name}."))
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Keys:
        """Copy values into parameters and buffers by name, from tensors or arrays; they take this module's dtypes.

        ValueError where a shape differs, a number does not fit or, unless `strict=False`, a name is missing or
        unknown; TypeError where a value holds no numbers. Then nothing was changed. Returns the missing and the
        unexpected names.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: state_dict is {kind(state_dict)}; it must be a dict of names and tensors"
            )
        strict = boolean("load_state_dict", "strict", strict)
        own = self.state_dict()
        keys = Keys([n for n in own if n not in state_dict], [n for n in state_dict if n not in own])
        wrong = []
        if strict and keys.missing_keys:
            wrong.append("it lacks " + ", ".join(keys.missing_keys))
        if strict and keys.unexpected_keys:
            wrong.append("the module has no " + ", ".join(str(n) for n in keys.unexpected_keys))
        values = {}
        for name, target in own.items():
            if name in state_dict:
                host = _host(name, state_dict[name])
                if host.shape != target.shape:
                    wrong.append(f"{name} has shape {host.shape}, and the module's has {target.shape}")
                else:
                    values[name] = _cast(name, host, target.dtype)
        if wrong:
            raise ValueError(f"load_state_dict: the state does not fit {type(self).__name__}: {'; '.join(wrong)}")
        for name, host in values.items():
            own[name].array.write(host)
        return keys

    # Changing it

    def train(self, mode: bool = True) -> Module:
        """Set `training` here and in every module inside."""
        mode = boolean("train", "mode", mode)
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Module:
        """Leave training mode: dropout passes everything, batch normalisation uses its running statistics."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Whether the parameters are trained."""
        requires_grad = boolean("requires_grad_", "requires_grad", requires_grad)
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients; with `set_to_none=False` set them to 0."""
        set_to_none = boolean("zero_grad", "set_to_none", set_to_none)
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else p.grad.detach().zero_()

    def to(self, dtype: Any) -> Module:
        """Convert parameters and floating-point buffers, or move all to a Device given instead; in place.

        The parameters stay the same objects. Make optimisers afterwards: what they remember stays behind.
        """
        if not isinstance(dtype, Device):
            dtype = as_dtype(dtype)
            if not is_float(dtype):
                raise TypeError(f"{type(self).__name__}.to: dtype is {dtype}; parameters are floating point")
        for tensor in [*self.parameters(), *self.buffers()]:
            if isinstance(dtype, Device) or is_float(tensor.dtype):
                tensor.array = Tensor._wrap(tensor.array).to(dtype).array
                if tensor.grad is not None:
                    tensor.grad = tensor.grad.detach().to(dtype)
        return self

    def half(self) -> Module:
        """`.to(gpugrad.float16)`: weights stored in two bytes; optimisers keep float32 copies of them."""
        return self.to(float16)

    def float(self) -> Module:
        """`.to(gpugrad.float32)`"""
        return self.to(float32)

    # Looking at it

    def extra_repr(self) -> str:
        """What stands in brackets in the repr, before the modules inside."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        if not self._modules:
            return f"{type(self).__name__}({extra})"
        lines = [f"  ({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        return "\n".join([f"{type(self).__name__}({extra}", *lines, ")"])


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _host(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.array.numpy()
    if isinstance(value, (Array, np.ndarray)):
        return value if isinstance(value, np.ndarray) else value.numpy()
    of = type(value)
    given = kind(value) if of.__module__ == "builtins" else f"a {of.__module__}.{of.__name__}"
    raise TypeError(f"load_state_dict: {name} is {given}; it must be a tensor or an array, of gpugrad or NumPy")


def _cast(name: str, host: np.ndarray, dtype: np.dtype) -> np.ndarray:
    try:
        return to_host(host, dtype)
    except (TypeError, ValueError) as error:
        raise type(error)(f"load_state_dict: {name}: {error}") from None
