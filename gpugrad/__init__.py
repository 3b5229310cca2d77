"""gpugrad: how deep learning runs on a GPU, by reading, running, watching and writing its OpenCL kernels.

Importing it touches no device and loads nothing but NumPy: a name is fetched from its module at its first use.
Which names there are, and where they come from, stands in `__init__.pyi`, where editors and type checkers look too.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _offered() -> dict[str, tuple[str, str]]:
    """name -> (module, name there) for every import in the stub; "" stands for a module itself."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (f".{node.module}", alias.name) if node.module else (f".{alias.name}", "")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_OFFERED = _offered()


def __getattr__(name: str) -> Any:
    if name not in _OFFERED:
        raise AttributeError(f"module 'gpugrad' has no attribute {name!r}")
    module, attribute = _OFFERED[name]
    value = importlib.import_module(module, __name__)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value  # the next use finds it without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_OFFERED})
