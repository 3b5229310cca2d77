"""The network that the course trains, and its trained weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import nn
from .kernels.checks import boolean

WEIGHTS = Path(__file__).with_name("data") / "course_cnn.safetensors"


def course_cnn(pretrained: bool = False, library: Any = nn) -> Any:
    """The course's MNIST network: images (N, 1, 28, 28) to logits (N, 10).

    Convolution 5 x 5 to 16 channels, ReLU, max-pool 2; convolution 5 x 5 to 32 channels, ReLU, max-pool 2; then
    1568 to 128, ReLU, 10. With `pretrained`, the weights that ship with gpugrad (trained on all of MNIST).
    `library`: whose layers, gpugrad.nn or, to compare with, torch.nn.
    """
    model = library.Sequential(
        library.Conv2d(1, 16, 5, padding=2),
        library.ReLU(),
        library.MaxPool2d(2),
        library.Conv2d(16, 32, 5, padding=2),
        library.ReLU(),
        library.MaxPool2d(2),
        library.Flatten(),
        library.Linear(32 * 7 * 7, 128),
        library.ReLU(),
        library.Linear(128, 10),
    )
    if boolean("course_cnn", "pretrained", pretrained):
        from . import load

        model.load_state_dict(load(WEIGHTS))
    return model
