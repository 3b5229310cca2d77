"""A running mean, for curves that jump."""

from __future__ import annotations

import numpy as np


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    """The mean of the last `width` values at each place (of fewer, at the beginning)."""
    total = np.cumsum(np.concatenate([[0.0], values]))
    first = np.maximum(np.arange(1, len(total)) - width, 0)
    return (total[1:] - total[first]) / np.arange(1, len(total)).clip(max=width)
