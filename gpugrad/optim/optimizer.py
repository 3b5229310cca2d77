"""What every optimiser shares: parameter groups, gradients, and saving what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ..array import to_host
from ..autograd.mode import enable_grad
from ..autograd.tensor import Tensor
from ..dtypes import computed_in, float16
from ..kernels.checks import boolean
from ..kernels.optim import held
from .bundle import Bundle
from .half import HalfBundle


class Optimizer:
    """Base class: `params` is an iterable of tensors, or of dicts with "params" and settings of their own.

    `param_groups` is a list of dicts: "params" and the settings in use, which may be changed between steps.

    float16 parameters are updated in float32: the optimiser remembers a float32 copy of each ("master" in its state),
    and rounds it into the parameter (see half.py). Load a model's weights before its optimiser's state.
    """

    #: What PyTorch saves as a setting, and is part of what this optimiser is.
    fixed: ClassVar[Mapping[str, Any]] = {}
    #: Whether an update depends on how many came before, so that a saved state must tell; PyTorch's of SGD does not.
    counts: ClassVar[bool] = True

    def __init__(self, params: Any, defaults: dict[str, Any]):
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self._bundles: list[list[Bundle] | None] = []
        if isinstance(params, (Tensor, Mapping, str)) or not isinstance(params, Iterable):
            raise TypeError(
                f"{self._name}: params is {type(params).__name__}; give an iterable of tensors, or a list of dicts"
            )
        groups = list(params)
        if not groups:
            raise ValueError(
                f"{self._name}: params is empty; there is nothing to optimise. Is it an iterator used before?"
            )
        if not isinstance(groups[0], Mapping):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Optimise more parameters: a dict with "params" and settings; those it leaves out are the defaults."""
        if not isinstance(group, Mapping):
            raise TypeError(f"{self._name}: a parameter group is a dict with 'params', got {type(group).__name__}")
        if "params" not in group:
            given = ", ".join(map(str, group)) or "nothing"
            raise TypeError(f"{self._name}: a parameter group is a dict with 'params'; this one has only {given}")
        params = group["params"]
        if not isinstance(params, Iterable):
            raise TypeError(f"{self._name}: a group's params is {params!r}; give an iterable of tensors")
        params = [params] if isinstance(params, Tensor) else list(params)
        unknown = set(group) - set(self.defaults) - {"params", "initial_lr"}
        if unknown:
            raise ValueError(
                f"{self._name}: a parameter group sets {', '.join(sorted(map(str, unknown)))}; it has "
                f"{', '.join(self.defaults)}"
            )
        self._check_params(params, self.param_groups)
        complete = {"params": params, **self.defaults, **{k: v for k, v in group.items() if k != "params"}}
        self.check_settings(complete)
        self.param_groups.append(complete)
        self._bundles.append(None)

    def _check_params(self, params: list[Any], others: list[dict[str, Any]]) -> None:
        """Each is a tensor that was not computed, and stands in no other group."""
        seen = {id(p) for g in others for p in g["params"]}
        for i, p in enumerate(params):
            if not isinstance(p, Tensor):
                raise TypeError(f"{self._name}: params[{i}] is {type(p).__name__}; it must be a tensor")
            if not p.is_leaf:
                raise ValueError(f"{self._name}: params[{i}] was computed; only tensors that were not are optimised")
            if id(p) in seen:
                raise ValueError(f"{self._name}: params[{i}] (shape {p.shape}) is given twice")
            seen.add(id(p))

    def check_settings(self, group: dict[str, Any]) -> None:
        """Raise where a setting is out of range; subclasses check theirs."""
        for name in ("lr", "weight_decay"):
            held(self._name, name, group[name], 0)

    def _check_now(self, number: int, group: dict[str, Any]) -> None:
        """The settings as they are at a step: people and schedules change them, and may make a rate negative."""
        missing = [name for name in ("params", *self.defaults) if name not in group]
        if missing:
            raise ValueError(
                f"{self._name}: parameter group {number} has no {', '.join(missing)}; add_param_group fills in what a "
                "group leaves out"
            )
        held(self._name, "lr", group["lr"])
        self.check_settings({**group, "lr": 0.0})

    def memory_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """What the optimiser remembers of each parameter, tensors of its shape."""
        raise NotImplementedError

    def update(self, group: dict[str, Any], bundle: Bundle) -> None:
        """Make one step for a bundle."""
        raise NotImplementedError

    def bundles(self, number: int) -> list[Bundle]:
        """The bundles of a group: made at its first step, and anew when its parameters, or the names, have changed."""
        self._bundles += [None] * (len(self.param_groups) - len(self._bundles))
        found, params = self._bundles[number], self.param_groups[number]["params"]
        names = self.memory_names(self.param_groups[number])
        if (
            found is None
            or any(set(names) - set(b.memory) for b in found)
            or sorted(id(p) for b in found for p in b.parameters) != sorted(map(id, params))
        ):
            self._check_params(params, [g for i, g in enumerate(self.param_groups) if i != number])
            by_kind: dict[Any, list[Tensor]] = {}
            for p in params:
                by_kind.setdefault((p.dtype, p.device), []).append(p)
            before, found = found or [], [_bundle(ps, names) for ps in by_kind.values()]
            for bundle in found:
                bundle.take_over(before)
            self._bundles[number] = found
        return found

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update each parameter that has a `.grad`. `closure`, if given, computes the loss first, which is returned."""
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(
                    f"{self._name}.step: closure is {closure!r}; it must be a function without arguments that gives "
                    "the loss, or None"
                )
            with enable_grad():
                loss = closure()
        for number, group in enumerate(self.param_groups):
            self._check_now(number, group)
        # What may be refused, or not fit into memory, comes before anything moves.
        ready = [(group, self.bundles(number)) for number, group in enumerate(self.param_groups)]
        for group, bundles in ready:
            for bundle in bundles:
                self.update(group, bundle)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with `set_to_none=False` set them to 0 and keep their memory."""
        set_to_none = boolean(f"{self._name}.zero_grad", "set_to_none", set_to_none)
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    # Saving

    @property
    def state(self) -> dict[Tensor, dict[str, Any]]:
        """What is remembered of each parameter that was updated: "step" and tensors, on the optimiser's own memory."""
        found = {}
        for bundles in self._bundles:
            for bundle in bundles or ():
                for i, p in enumerate(bundle.parameters):
                    if bundle.steps[i] and bundle.memory:
                        parts = {name: Tensor._wrap(packed.parts[i]) for name, packed in bundle.memory.items()}
                        found[p] = {"step": bundle.steps[i], **parts}
        return found

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on later, for `load_state_dict` and `gpugrad.save`; parameters go by number."""
        number = {id(p): i for i, p in enumerate(self._parameters())}
        groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
        state = {number[id(p)]: s for p, s in self.state.items() if id(p) in number}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict()` of an optimiser with the same parameters in the same groups."""
        name = f"{self._name}.load_state_dict"
        saved_groups, states = _parts(name, state_dict)
        sizes, own = [len(g["params"]) for g in saved_groups], [len(g["params"]) for g in self.param_groups]
        if sizes != own:
            raise ValueError(f"{name}: the saved groups have {sizes} parameters, this optimiser's have {own}")
        # Everything is checked before anything changes.
        groups = [{**group, **self._own_settings(name, s)} for group, s in zip(self.param_groups, saved_groups)]
        saved_of: dict[int, Mapping[str, Any]] = {}
        values = {_number(name, i): saved for i, saved in states.items()}
        for i, (group, p) in enumerate((g, p) for g in groups for p in g["params"]):
            self.check_settings(group)
            if i in values:
                where, names = f"{name}: parameter {i}", self.memory_names(group)
                saved_of[id(p)] = _checked(where, p, names, self.counts, values.pop(i))
        if values:
            raise ValueError(f"{name}: there is state for parameter {min(values)}, of {sum(own)} parameters")
        for group, new in zip(self.param_groups, groups):
            group.update(new)
        self._bundles = [None] * len(groups)
        for number in range(len(groups)):
            for bundle in self.bundles(number):
                for k, p in enumerate(bundle.parameters):
                    if id(p) in saved_of:
                        _restore(bundle, k, saved_of[id(p)])

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which share no memory with this optimiser; their parameters are copies too."""
        return {**self.__dict__, "_bundles": [], "_remembered": self.state_dict()["state"]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        remembered = state["_remembered"]
        self.__dict__.update({k: v for k, v in state.items() if k != "_remembered"})
        self.load_state_dict({"state": remembered, "param_groups": self.state_dict()["param_groups"]})

    def _own_settings(self, name: str, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a saved group; those that this optimiser lacks are off (PyTorch's "amsgrad"), or fixed."""
        settings = {k: v for k, v in saved.items() if k != "params"}
        for key in set(settings) - set(self.defaults) - {"initial_lr"}:
            value = settings.pop(key)
            fits = value == self.fixed[key] if key in self.fixed else not value
            if not fits:
                raise ValueError(
                    f"{name}: a saved group has {key} {saved[key]!r}; {self._name} has {', '.join(self.defaults)}"
                )
        return settings

    def _parameters(self) -> Iterator[Tensor]:
        return (p for g in self.param_groups for p in g["params"])

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {value}" for key, value in sorted(group.items()) if key != "params"]
        return "\n".join([*lines, ")"])


def _bundle(parameters: list[Tensor], names: Iterable[str]) -> Bundle:
    return (HalfBundle if parameters[0].dtype == float16 else Bundle)(parameters, names)


def _parts(name: str, state_dict: Any) -> tuple[list[Mapping[str, Any]], Mapping[Any, Any]]:
    """The groups and the states of a saved state, of the kinds that they must be."""
    if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= set(state_dict):
        raise TypeError(f"{name}: state_dict is no dict with 'state' and 'param_groups'")
    groups, states = state_dict["param_groups"], state_dict["state"]
    if not isinstance(groups, (list, tuple)) or not all(
        isinstance(g, Mapping) and isinstance(g.get("params"), (list, tuple)) for g in groups
    ):
        raise TypeError(f"{name}: 'param_groups' must be a list of dicts, each with a list 'params'")
    if not isinstance(states, Mapping) or not all(isinstance(s, Mapping) for s in states.values()):
        raise TypeError(f"{name}: 'state' must be a dict with a dict for each parameter")
    return list(groups), states


def _number(name: str, key: Any) -> int:
    try:
        return int(key)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: there is state for parameter {key!r}; parameters go by number") from None


def _checked(where: str, p: Tensor, names: Iterable[str], counts: bool, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The saved state of `p` on the host, ready to be written."""
    found: dict[str, Any] = {}
    for key in (*names, *(["master"] if "master" in saved else [])):
        if key not in saved:
            raise ValueError(f"{where} has no {key} in the state; it is of another optimiser")
        value = saved[key]
        if not hasattr(value, "shape"):
            raise TypeError(f"{where}: its {key} in the state is {type(value).__name__}; it must be a tensor")
        if tuple(value.shape) != p.shape:
            raise ValueError(f"{where} has shape {p.shape}, and its {key} in the state has {tuple(value.shape)}")
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, as in .to()
                found[key] = to_host(value.array if isinstance(value, Tensor) else value, computed_in(p.dtype))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: its {key} in the state: {error}") from None
    step = saved.get("step", None if counts else 1)
    step = step.item() if getattr(step, "shape", None) == () else step  # PyTorch counts in a tensor
    if isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 <= step < 2**53 or step != int(step):
        raise ValueError(f"{where}: its step in the state is {step!r}; it must be a count of updates")
    found["step"] = int(step)
    return found


def _restore(bundle: Bundle, k: int, saved: Mapping[str, Any]) -> None:
    """Put the saved state of a bundle's parameter number k in place."""
    for key, packed in bundle.memory.items():
        if key in saved:  # not the masters of half, in a state of float32: they are the parameters then
            packed.parts[k].write(saved[key])
    bundle.steps[k] = saved["step"]
