"""Pictures of kernels, arrays, gradients and training, to step through in a notebook.

Importing it loads nothing heavy; the first figure loads anywidget (`pip install 'gpugrad[lab]'`). With it imported,
`.play()` of a recorded launch draws the stepper instead of printing steps.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ..trace import LaunchTrace
from ..trace import stepper as _text

if TYPE_CHECKING:
    from .cell_figures import broadcasting, conv2d, pooling
    from .digit_figure import digit
    from .family_figures import gemm, reduce, softmax
    from .graph_figure import graph
    from .launch_figure import stepper
    from .memory_figure import memory
    from .race_figure import race
    from .timeline_figure import timeline
    from .training_figure import training
    from .unfold_figure import col2im, im2col

_FIGURES = {
    "stepper": "launch_figure",
    "im2col": "unfold_figure",
    "col2im": "unfold_figure",
    "pooling": "cell_figures",
    "broadcasting": "cell_figures",
    "conv2d": "cell_figures",
    "digit": "digit_figure",
    "gemm": "family_figures",
    "softmax": "family_figures",
    "reduce": "family_figures",
    "graph": "graph_figure",
    "memory": "memory_figure",
    "race": "race_figure",
    "timeline": "timeline_figure",
    "training": "training_figure",
}

__all__ = [
    "broadcasting", "col2im", "conv2d", "digit", "gemm", "graph", "im2col", "memory", "pooling", "race", "reduce",
    "softmax", "stepper", "timeline", "training",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _FIGURES:
        raise AttributeError(f"module 'gpugrad.viz' has no attribute {name!r}; its figures are {', '.join(_FIGURES)}")
    value = getattr(importlib.import_module(f".{_FIGURES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FIGURES})


def _draw(launch: LaunchTrace, work_item: int, step: int) -> bool:
    """`.play()` in a notebook: the stepper as the cell's output. In a terminal the steps are printed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return False
    from IPython.display import display

    figure = __getattr__("stepper")(launch)
    figure.work_item, figure.step = work_item, step
    display(figure)
    return True


_text.draw = _draw
