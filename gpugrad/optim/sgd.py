"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..kernels import optim as K
from ..kernels.checks import boolean
from .bundle import Bundle
from .optimizer import Optimizer


class SGD(Optimizer):
    """p -= lr g; with momentum, p -= lr m with m = momentum m + (1 - dampening) g (m = g at the first step).

    `weight_decay` adds weight_decay * p to g. `nesterov` steps along g + momentum m instead of m. As in PyTorch;
    Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013).
    """

    counts = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ):
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check_settings(self, group: dict[str, Any]) -> None:
        super().check_settings(group)
        K.held("SGD", "momentum", group["momentum"], 0)
        K.held("SGD", "dampening", group["dampening"], 0)
        if boolean("SGD", "nesterov", group["nesterov"]) and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(
                f"SGD: nesterov needs a momentum above 0 and no dampening; momentum is {group['momentum']}, and "
                f"dampening {group['dampening']}"
            )

    def memory_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def update(self, group: dict[str, Any], bundle: Bundle) -> None:
        rule = {"lr": group["lr"], "weight_decay": group["weight_decay"]}
        for count, gradients in bundle.gradients():
            if not group["momentum"]:
                K.sgd(bundle.arrays, gradients, **rule)
                continue
            K.sgd_momentum(
                bundle.arrays,
                gradients,
                bundle.memory["momentum_buffer"],
                momentum=group["momentum"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                first_step=count == 0,
                **rule,
            )
