"""Files that are whole or not there, and a file format for the state of a run: safetensors with a description."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError

_KEY = "gpugrad"  # of the description, in the file's metadata


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """The name of a temporary file to write, which is moved to `path` at the end, or removed on any exception."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too
        temporary.unlink(missing_ok=True)
        raise


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write nested dicts and lists of tensors, numbers and strings."""
    from safetensors.numpy import save_file

    tensors: dict[str, np.ndarray] = {}
    description = json.dumps(_take_out(state, "", tensors))
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={_KEY: description})


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What `write_checkpoint` wrote. DataError if there is no such file, or it is not one; nothing in it is run."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise DataError(f"there is no {path} to resume from; train without --resume first")
    try:
        with safe_open(path, "numpy") as file:
            description = json.loads(file.metadata()[_KEY])
            return _put_back(description, file)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is not a checkpoint of gpugrad train: {type(error).__name__} {error}") from error


def _take_out(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """`value` as JSON has it, with the name of a tensor in its place. Keys need not be strings: they are pairs."""
    if isinstance(value, dict):
        return {"pairs": [[k, _take_out(v, f"{name}.{k}" if name else str(k), tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_take_out(v, f"{name}.{i}", tensors) for i, v in enumerate(value)]
    if hasattr(value, "numpy"):
        tensors[name] = value.numpy()
        return {"tensor": name}
    return value


def _put_back(value: Any, file: Any) -> Any:
    from . import tensor

    if isinstance(value, list):
        return [_put_back(v, file) for v in value]
    if isinstance(value, dict):
        if "tensor" in value:
            return tensor(file.get_tensor(value["tensor"]))
        return {k: _put_back(v, file) for k, v in value["pairs"]}
    return value
