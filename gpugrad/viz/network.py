"""What a network makes of one image, layer by layer, small enough to send at every stroke of a pen."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import nn
from ..array import Array
from ..autograd.mode import no_grad
from ..autograd.tensor import Tensor
from ..device import Device, current_device
from ..nn import functional as F
from .words import pack


def check_network(function: str, model: Any) -> None:
    """The figures look at each layer of a Sequential that takes (1, 1, 28, 28) to (1, 10)."""
    if not isinstance(model, nn.Sequential):
        raise TypeError(f"{function}: model is {type(model).__name__}; give a nn.Sequential, whose layers can be shown")
    try:
        found = layers(model, np.zeros((28, 28), "u1"))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{function}: the model does not take an image of shape (1, 1, 28, 28): {error}") from error
    if not found:
        raise ValueError(f"{function}: the model has no layer that computes; it must give 10 numbers for a digit")
    out = found[-1][1]
    if out.size != 10:
        raise ValueError(f"{function}: the model gives {out.size} numbers for a digit; it must give 10")


def device_of(model: Any) -> Device:
    """Where a model computes: where its parameters are, whatever the current device is."""
    first = next(iter(model.parameters()), None)
    return current_device() if first is None else first.device


def put(model: Any, a: np.ndarray) -> Tensor:
    """An input for a model, where the model is."""
    return Tensor._wrap(Array.from_numpy(a, device=device_of(model)))


def layers(model: Any, image: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """(name, values) after each layer that computes, for an image (28, 28) of bytes; a ReLU joins the layer before."""
    was = model.training
    model.eval()
    found: list[tuple[str, np.ndarray]] = []
    try:
        with no_grad():
            x = put(model, (image.astype("f4") / np.float32(255))[None, None])
            for module in model:
                x = module(x)
                kind = type(module).__name__
                if kind == "ReLU" and found:
                    found[-1] = (f"{found[-1][0]}, ReLU", x.numpy()[0])
                elif kind not in ("Flatten", "Dropout"):
                    found.append((named(module, x.shape[1:]), x.numpy()[0]))
    finally:
        model.train(was)
    return found


def named(module: Any, shape: tuple[int, ...]) -> str:
    kind = {"Conv2d": "convolution", "MaxPool2d": "max-pooling", "AvgPool2d": "average pooling", "Linear": "linear"}
    return kind.get(type(module).__name__, type(module).__name__)


def softmax(logits: Tensor) -> np.ndarray:
    """The probabilities (N, 10) of what a model gives for N images, computed where the model runs."""
    with no_grad():
        return F.softmax(logits.reshape(-1, 10), 1).numpy()


def number(v: float, places: int) -> float | None:
    """A number as JSON has it: None where it is NaN or infinite."""
    return round(float(v), places) if np.isfinite(v) else None


def shown(model: Any, image: np.ndarray) -> dict[str, Any]:
    """For the browser: the image, each layer's values in 256 steps of its largest, and the probabilities.

    What is NaN or infinite stays empty in a layer, and is None in the probabilities.
    """
    found = layers(model, image)
    out = []
    for name, values in found[:-1]:
        finite = np.isfinite(values)
        most = float(values[finite].max()) if finite.any() else 0.0
        known = np.where(finite, values, 0)
        steps = np.clip(np.round(known * (255 / most)), 0, 255) if most > 0 else np.zeros_like(values)
        out.append({"name": name, "shape": list(values.shape), "most": most, "values": pack(steps.reshape(-1), "u1")})
    probabilities = [number(p, 6) for p in softmax(put(model, found[-1][1]))[0]]
    return {"image": pack(image.reshape(-1), "u1"), "layers": out, "probabilities": probabilities}


def percent(p: float) -> str:
    return f"{100 * p:.1f} %" if np.isfinite(p) else "NaN"
