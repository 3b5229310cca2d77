"""GradScaler: gradients of half large enough to be held, and steps left out where they were not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..array import Array
from ..autograd.tensor import Tensor
from ..device import Device
from ..dtypes import computed_in, float16, is_float
from ..errors import ScalerError
from ..kernels.checks import boolean, integer, real
from ..kernels.unscale import unscale
from .optimizer import Optimizer


class _Progress:
    """What has happened to one optimiser's gradients since the last `update`."""

    def __init__(self) -> None:
        self.found: dict[Device, Array] = {}  # flags: was a gradient there infinite or NaN?
        self.stepped = False
        self.overflowed: bool | None = None  # what the flags said, once they were read

    def overflow(self) -> bool:
        """Wait for the device and look at the flags."""
        if self.overflowed is None:
            self.overflowed = any(flag.numpy().any() for flag in self.found.values())
        return self.overflowed


class GradScaler:
    """Multiplies the loss by a scale, and divides the gradients by it again before they are used.

    Half holds nothing below 6e-8, and many gradients are smaller; those of a loss times 65536 are not. Where they pass
    what half can hold (65504), the step is left out and the scale made smaller; after `growth_interval` steps without
    that it is made larger. In each training step:

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Compute the loss in float32 (`F.cross_entropy(model(x).to(gg.float32), y)`): through a half loss no scale of 65504
    or more gets back. As torch.amp.GradScaler; Micikevicius et al., "Mixed precision training" (2018).
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._enabled = boolean("GradScaler", "enabled", enabled)
        self._scale = _scale("init_scale", init_scale)
        self._growth_factor = _growing("growth_factor", growth_factor)
        self._backoff_factor = _shrinking("backoff_factor", backoff_factor)
        self._growth_interval = integer("GradScaler", "growth_interval", growth_interval, 1)
        self._growth_tracker = 0  # steps since the scale last changed
        self._has_scaled = False
        self._progress: dict[int, _Progress] = {}

    def scale(self, outputs: Any) -> Any:
        """A tensor, or a list or tuple of them, times the scale; half becomes float32."""
        if not self._enabled:
            return outputs
        self._has_scaled = True
        if isinstance(outputs, Tensor):
            if not is_float(outputs.dtype):
                raise TypeError(f"GradScaler.scale: outputs is {outputs.dtype}; a loss is floating point")
            return outputs.to(computed_in(outputs.dtype)) * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, np.ndarray)):
            scaled = [self.scale(o) for o in outputs]
            return scaled if isinstance(outputs, list) else tuple(scaled)
        raise TypeError(f"GradScaler.scale: outputs is {type(outputs).__name__}; it must be a tensor, or several")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimiser's parameters by the scale; those of half become float32.

        `step` does it by itself. Call this before it to look at the gradients, or to clip them.
        """
        if not self._enabled:
            return
        progress = self._of("unscale_", optimizer)
        if progress.stepped:
            raise ScalerError("GradScaler.unscale_: this optimiser has made its step; unscale_ comes before that")
        if progress.found:
            raise ScalerError(
                "GradScaler.unscale_: the gradients of this optimiser are unscaled already; call update after each step"
            )
        if not self._has_scaled:
            raise ScalerError(
                "GradScaler: no loss was ever scaled, so these gradients would be divided by a scale that they do not "
                "have; scaler.scale(loss).backward() first"
            )
        params = [p for group in optimizer.param_groups for p in group["params"]]
        grads = [(p, p.grad.array) for p in params if p.grad is not None]
        devices = {grad.device for _, grad in grads}
        found = {device: Array.from_numpy(np.zeros(1, np.int32), device=device) for device in devices}

        def unscaled(grad: Array) -> Array:
            return unscale(grad, 1.0 / self._scale, found[grad.device])

        # Those of half first: they need memory. Where it runs out, no gradient has changed.
        wide = [(p, unscaled(grad)) for p, grad in grads if grad.dtype == float16]
        for _, grad in grads:
            if grad.dtype != float16:
                unscaled(grad)
        for p, grad in wide:
            p.grad = Tensor._wrap(grad)
        progress.found = found

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless a gradient is infinite or NaN; unscales them first where that was not done.

        Reads one number from the device, and so waits for it. Gives what `optimizer.step` gives, or None.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or kwargs:
            raise ValueError("GradScaler.step: optimizer.step takes no closure here: it would see scaled gradients")
        progress = self._of("step", optimizer)
        if progress.stepped:
            raise ScalerError("GradScaler.step: this optimiser has made its step; call update before the next one")
        if not progress.found:
            self.unscale_(optimizer)
        if not progress.found:
            raise ScalerError(
                "GradScaler.step: no parameter of this optimiser has a gradient; scaler.scale(loss).backward() first"
            )
        result = None if progress.overflow() else optimizer.step()
        progress.stepped = True  # a step that failed may be tried again: the gradients stay unscaled
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Make the scale smaller after an overflow, larger after `growth_interval` steps without; or `new_scale`."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = _scale("new_scale", new_scale.item() if isinstance(new_scale, Tensor) else new_scale)
        elif not any(p.found for p in self._progress.values()):
            raise ScalerError("GradScaler.update: no gradients were unscaled since the last update; call step first")
        elif any(p.overflow() for p in self._progress.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                # Beyond float32 it would make every loss infinite.
                self._scale = grown if grown <= np.finfo(np.float32).max else self._scale
                self._growth_tracker = 0
        self._progress = {}

    def __getstate__(self) -> dict[str, Any]:
        if self._progress:
            raise ScalerError("GradScaler: it is in the middle of a step; copy or pickle it after update")
        return self.__dict__

    def _of(self, function: str, optimizer: Any) -> _Progress:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"GradScaler.{function}: optimizer is {type(optimizer).__name__}; it must be one of gpugrad.optim"
            )
        return self._progress.setdefault(id(optimizer), _Progress())

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale now; 1 if not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Change the growth factor."""
        self._growth_factor = _growing("new_factor", new_factor)

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Change the backoff factor."""
        self._backoff_factor = _shrinking("new_factor", new_factor)

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Change the growth interval."""
        self._growth_interval = integer("GradScaler", "new_interval", new_interval, 1)

    def state_dict(self) -> dict[str, Any]:
        """Everything to go on from, under PyTorch's names; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict()`."""
        if not self._enabled:
            return
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"GradScaler.load_state_dict: state_dict is {type(state_dict).__name__}; it must be a dict")
        own = self.state_dict()
        if set(state_dict) != set(own):
            raise ValueError(
                f"GradScaler.load_state_dict: the state has {', '.join(sorted(map(str, state_dict))) or 'nothing'}; it "
                f"needs {', '.join(sorted(own))}. A scaler that is not enabled saves nothing"
            )
        # Everything is checked before anything changes.
        scale = _scale("scale", state_dict["scale"])
        growth = _growing("growth_factor", state_dict["growth_factor"])
        backoff = _shrinking("backoff_factor", state_dict["backoff_factor"])
        interval = integer("GradScaler", "growth_interval", state_dict["growth_interval"], 1)
        self._growth_tracker = integer("GradScaler", "_growth_tracker", state_dict["_growth_tracker"], 0)
        self._scale, self._growth_factor, self._backoff_factor, self._growth_interval = scale, growth, backoff, interval
        self._progress = {}


def _scale(name: str, value: Any) -> float:
    """A scale that float32 holds, and its inverse: beyond, every loss would be infinite or 0."""
    if isinstance(value, str):
        raise TypeError(
            f"GradScaler: {name} is {value!r}; it must be a number (the scaler asks for no device: it goes where the "
            "gradients are)"
        )
    scale, most = real("GradScaler", name, value), 2.0**126
    if not 1 / most <= scale <= most:
        raise ValueError(f"GradScaler: {name} is {scale}; float32, in which losses are scaled, takes 2^-126 to 2^126")
    return scale


def _growing(name: str, value: Any) -> float:
    factor = real("GradScaler", name, value)
    if factor <= 1:
        raise ValueError(f"GradScaler: {name} is {factor}; it must be above 1")
    return factor


def _shrinking(name: str, value: Any) -> float:
    factor = real("GradScaler", name, value)
    if not 0 < factor < 1:
        raise ValueError(f"GradScaler: {name} is {factor}; it must be above 0, and below 1")
    return factor
