"""Adam, and AdamW: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels import optim as K
from ..kernels.checks import boolean, real
from .bundle import Bundle
from .optimizer import Optimizer


class Adam(Optimizer):
    """p -= lr m' / (sqrt(v') + eps), with m and v the running means of g and g^2, and m', v' corrected for the start.

    `betas`: how much of m and of v stays at each step. `weight_decay` adds weight_decay * p to g. As in PyTorch;
    Kingma and Ba, "Adam: a method for stochastic optimization" (2015).
    """

    decoupled = False
    fixed: ClassVar = {"decoupled_weight_decay": False}

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ):
        if boolean(self._name, "amsgrad", amsgrad):
            raise ValueError(f"{self._name}: amsgrad is {amsgrad}; gpugrad has only amsgrad=False")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def check_settings(self, group: dict[str, Any]) -> None:
        super().check_settings(group)
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"{self._name}: betas is {betas!r}; it must be a pair of numbers")
        for i, beta in enumerate(betas):
            real(self._name, f"betas[{i}]", beta, 0, below=1)
        K.held(self._name, "eps", group["eps"], 0)

    def memory_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def update(self, group: dict[str, Any], bundle: Bundle) -> None:
        beta1, beta2 = group["betas"]
        for count, gradients in bundle.gradients():
            K.adam(
                bundle.arrays,
                gradients,
                bundle.memory["exp_avg"],
                bundle.memory["exp_avg_sq"],
                step=count + 1,
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                decoupled=self.decoupled,
            )


class AdamW(Adam):
    """Adam whose weight decay shrinks p by lr * weight_decay * p instead of going through the gradient's means.

    As in PyTorch; Loshchilov and Hutter, "Decoupled weight decay regularization" (2019).
    """

    decoupled = True
    fixed: ClassVar = {"decoupled_weight_decay": True}

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)
