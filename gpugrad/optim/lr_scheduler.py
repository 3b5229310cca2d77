"""Learning rates that change as training goes on: call `step()` after the optimiser's, once an epoch or a batch.

Each is a formula of the number of steps, times the rate that a group began with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..kernels.checks import integer
from .optimizer import Optimizer


class LRScheduler:
    """Base class. `last_epoch` counts the steps made; -1 starts, another number goes on from there."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: optimizer is {type(optimizer).__name__}; it must be an optimiser")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group["initial_lr"] = group["lr"]
            elif "initial_lr" not in group:
                raise ValueError(
                    f"{type(self).__name__}: last_epoch is {last_epoch}, but group {i} has no 'initial_lr' to go from"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def factor(self, group: int) -> float:
        """What the group's first rate is multiplied by after `last_epoch` steps."""
        raise NotImplementedError

    def rate(self, group: int) -> float:
        """The group's learning rate after `last_epoch` steps."""
        return self.base_lrs[group] * self.factor(group)

    def step(self) -> None:
        """Count one more step, and set the rates that follow from it."""
        self.last_epoch += 1
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:  # added since; its rate is a first one too
            group.setdefault("initial_lr", group["lr"])
            self.base_lrs.append(group["initial_lr"])
        for i, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(i)

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser (whose own state holds the rates) and functions."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict()`."""
        own = self.state_dict()
        if set(state_dict) != set(own):
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: the state has {', '.join(sorted(state_dict))}; it needs "
                f"{', '.join(sorted(own))}"
            )
        if len(state_dict["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: the state is of {len(state_dict['base_lrs'])} groups; the "
                f"optimiser has {len(self.base_lrs)}"
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
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is {start_factor}; it must be above 0 and at most 1")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is {end_factor}; it must lie between 0 and 1")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = integer("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def factor(self, group: int) -> float:
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class StepLR(LRScheduler):
    """Times gamma after each step_size steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = integer("StepLR", "step_size", step_size, 1), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, group: int) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class CosineAnnealingLR(LRScheduler):
    """Down to eta_min over T_max steps along half a cosine (Loshchilov and Hutter, 2017), and up again after."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = integer("CosineAnnealingLR", "T_max", T_max, 1), eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, group: int) -> float:
        high = self.base_lrs[group]
        return self.eta_min + (high - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


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
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups or not all(callable(f) for f in self.lr_lambdas):
            raise ValueError(
                f"LambdaLR: lr_lambda is {lr_lambda!r}; give one function, or one for each of the {groups} groups"
            )
        super().__init__(optimizer, last_epoch)

    def factor(self, group: int) -> float:
        return self.lr_lambdas[min(group, len(self.lr_lambdas) - 1)](self.last_epoch)
