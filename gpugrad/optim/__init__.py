"""Optimisers: they change parameters, in place, by their gradients."""

from . import lr_scheduler
from .adam import Adam, AdamW
from .grad_scaler import GradScaler
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "GradScaler", "Optimizer", "lr_scheduler"]
