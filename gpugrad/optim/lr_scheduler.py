"""Learning rates that change as training goes on: call `step()` after the optimiser's, once an epoch or a batch.

Each step changes the rate that a group has by then, as in PyTorch: several schedules can share an optimiser, and a rate
that was set by hand is where a schedule goes on from. Only LambdaLR counts from the rate that a group began with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..kernels.checks import integer, real
from .optimizer import Optimizer


class LRScheduler:
    """Base class: a schedule is a `get_lr` that gives the next rate of each group.

    Attributes: `last_epoch` (the steps made; -1 starts, another number goes on from there), `base_lrs` (the rate that
    each group began with).
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: optimizer is {type(optimizer).__name__}; it must be an optimiser")
        self.optimizer = optimizer
        self.last_epoch = integer(type(self).__name__, "last_epoch", last_epoch, -1)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise ValueError(
                    f"{type(self).__name__}: last_epoch is {last_epoch}, but group {i} has no 'initial_lr' to go from"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._begins = True
        self.step()
        self._begins = False

    def get_lr(self) -> list[float]:
        """The rate of each group after `last_epoch` steps, from the one it has now."""
        raise NotImplementedError(f"{type(self).__name__} needs a method get_lr(self) that gives a rate for each group")

    def step(self) -> None:
        """Count one more step, and change each group's rate by what it means."""
        self.last_epoch += 1
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:  # added since; its rate is a first one too
            group.setdefault("initial_lr", group["lr"])
            self.base_lrs.append(group["initial_lr"])
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser (whose own state holds the rates) and functions."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas", "_begins")}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict()`."""
        own, name = self.state_dict(), f"{type(self).__name__}.load_state_dict"
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"{name}: state_dict is {type(state_dict).__name__}; it must be a dict")
        if set(state_dict) != set(own):
            raise ValueError(
                f"{name}: the state has {', '.join(sorted(map(str, state_dict)))}; it needs {', '.join(sorted(own))}"
            )
        for key, value in own.items():
            if not _alike(state_dict[key], value):
                raise TypeError(f"{name}: {key} is {state_dict[key]!r}; this schedule has {value!r} there")
        if len(state_dict["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"{name}: the state is of {len(state_dict['base_lrs'])} groups; the optimiser has {len(self.base_lrs)}"
            )
        self.__dict__.update(state_dict)


class LinearLR(LRScheduler):
    """From start_factor to end_factor in a straight line over total_iters steps, then constant."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        self.start_factor = real("LinearLR", "start_factor", start_factor, 0, 1)
        self.end_factor = real("LinearLR", "end_factor", end_factor, 0, 1)
        if not self.start_factor:
            raise ValueError("LinearLR: start_factor is 0; it must be above 0, as each rate is a multiple of another")
        self.total_iters = integer("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        rise = self.end_factor - self.start_factor
        if self.last_epoch == 0:
            factor = self.start_factor
        elif self._begins or self.last_epoch > self.total_iters:
            factor = 1.0
        else:  # the line's height here over its height one step before
            factor = 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        return [rate * factor for rate in self.get_last_lr()]


class StepLR(LRScheduler):
    """Times gamma after each step_size steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size = integer("StepLR", "step_size", step_size, 1)
        self.gamma = real("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        turn = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if turn else rate for rate in self.get_last_lr()]


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min over T_max steps along half a cosine (Loshchilov and Hutter, 2017), and up again after."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max = integer("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = real("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        rates = self.get_last_lr()
        if self._begins:
            return rates
        n, low = self.last_epoch, self.eta_min
        if (n - 1) % (2 * self.T_max) == self.T_max:  # one step after the bottom, of which nothing can be a multiple
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (high - low) * rise for rate, high in zip(rates, self.base_lrs)]
        factor = (1 + math.cos(math.pi * n / self.T_max)) / (1 + math.cos(math.pi * (n - 1) / self.T_max))
        return [(rate - low) * factor + low for rate in rates]


class LambdaLR(LRScheduler):
    """Times lr_lambda(number of steps): one function, or a list with one for each group.

    A group that the optimiser gets later goes by the last function.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        groups = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 1
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups or not all(callable(f) for f in self.lr_lambdas):
            raise ValueError(
                f"LambdaLR: lr_lambda is {lr_lambda!r}; give one function, or one for each of the {groups} groups"
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        lambdas = self.lr_lambdas + self.lr_lambdas[-1:] * (len(self.base_lrs) - len(self.lr_lambdas))
        factors = [real("LambdaLR", "what lr_lambda gives", factor(self.last_epoch)) for factor in lambdas]
        return [first * factor for first, factor in zip(self.base_lrs, factors)]


def _alike(new: Any, own: Any) -> bool:
    """May `new`, from a file, stand where a schedule has `own`?"""
    if isinstance(own, list):
        return isinstance(new, (list, tuple)) and all(_alike(n, 0.0) for n in new)
    if isinstance(own, bool) or not isinstance(own, (int, float)):
        return isinstance(new, type(own))
    kinds = (int,) if isinstance(own, int) else (int, float)
    return isinstance(new, kinds) and not isinstance(new, bool) and math.isfinite(new)
