"""Batch normalisation."""

from __future__ import annotations

from ..autograd.ops import full, ones, zeros
from ..autograd.tensor import Tensor
from ..dtypes import int32
from ..kernels.checks import boolean, integer, real
from . import functional as F
from .module import Module
from .parameter import Parameter


class BatchNorm2d(Module):
    """Each channel of (N, C, H, W) to mean 0 and variance 1, then times `weight` plus `bias` (Ioffe, Szegedy, 2015).

    While training it uses the batch's mean and variance, and keeps running ones (new = (1 - momentum) old + momentum
    batch; with momentum None, the plain average), which it uses in eval. `affine=False` leaves out weight and bias,
    `track_running_stats=False` the running statistics.
    """

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ):
        super().__init__()
        self.num_features = integer("BatchNorm2d", "num_features", num_features, 1)
        self.eps = real("BatchNorm2d", "eps", eps, 0)
        self.momentum = None if momentum is None else real("BatchNorm2d", "momentum", momentum)
        self.affine = affine = boolean("BatchNorm2d", "affine", affine)
        self.track_running_stats = boolean("BatchNorm2d", "track_running_stats", track_running_stats)
        n = self.num_features
        self.register_parameter("weight", Parameter(ones(n)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(n)) if affine else None)
        self.register_buffer("running_mean", zeros(n) if track_running_stats else None)
        self.register_buffer("running_var", ones(n) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", full((), 0, dtype=int32) if track_running_stats else None)

    def forward(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 4:
            given = f"of shape {input.shape}" if isinstance(input, Tensor) else type(input).__name__
            raise ValueError(f"BatchNorm2d: input is {given}; it must be a tensor (N, {self.num_features}, H, W)")
        momentum = 0.0 if self.momentum is None else self.momentum
        counted = self.num_batches_tracked if self.training else None
        if counted is not None and self.momentum is None:
            momentum = 1.0 / (counted.item() + 1)  # waits for the device, as the number decides what is launched
        output = F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )
        if counted is not None:
            counted.add_(1)  # only now: a batch that was refused is none
        return output

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )
