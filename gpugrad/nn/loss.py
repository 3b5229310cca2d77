"""Losses, as modules."""

from __future__ import annotations

from ..autograd.tensor import Tensor
from ..kernels.checks import integer, real
from . import functional as F
from .module import Module


class MSELoss(Module):
    """The mean (or "sum", or with "none" each) of the squared differences."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = _checked("MSELoss", reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(Module):
    """Minus the log-probability (N, C, ...) of the target class (N, ...), averaged."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = integer("NLLLoss", "ignore_index", ignore_index)
        self.reduction = _checked("NLLLoss", reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(Module):
    """`nll_loss` of the log-softmax of logits (N, C, ...), in one step."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = integer("CrossEntropyLoss", "ignore_index", ignore_index)
        self.reduction = _checked("CrossEntropyLoss", reduction)
        self.label_smoothing = real("CrossEntropyLoss", "label_smoothing", label_smoothing, 0, 1)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


def _checked(name: str, reduction: str) -> str:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: reduction is {reduction!r}; it must be 'mean', 'sum' or 'none'")
    return reduction
