"""gg.save and gg.load: tensors, and whatever holds them, in a safetensors file.

A file is read without running anything in it: safetensors holds a table of names, types and shapes, and the
numbers. A tensor nested in dicts and lists is stored under its path ("optimizer.state.0.exp_avg"), so other
programs read the file too; a JSON outline in the file's metadata says how to put the parts together again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .array import Array
from .autograd.tensor import Tensor
from .dtypes import C_NAME
from .errors import DataError
from .files import file_path, write_whole

_OUTLINE = "gpugrad"  # the metadata's key
_DEPTH = 64  # dicts and lists inside one another


def save(obj: Mapping[Any, Any], path: str | os.PathLike[str]) -> None:
    """Write a dict to a file: a `state_dict()`, or a checkpoint of several.

    `obj`: a dict of tensors, Arrays and NumPy arrays, numbers, strings, None, and dicts, lists and tuples of them. The
    file appears whole or not at all: it is written beside `path` and moved there. Raises TypeError for anything
    else inside, ValueError where `path` is a folder, a pipe or a device, and OSError where the folder cannot be
    written to.
    """
    from safetensors.numpy import save as to_bytes

    path = file_path("save", path)
    if not isinstance(obj, Mapping):
        raise TypeError(f"save: obj is {type(obj).__name__}; it must be a dict, such as model.state_dict()")
    tensors: dict[str, np.ndarray] = {}
    outline = _outline(obj, "", tensors, 0)
    write_whole(path, to_bytes(tensors, metadata={_OUTLINE: json.dumps(outline)}))


def load(path: str | os.PathLike[str]) -> dict[Any, Any]:
    """Read what `save` wrote, or any safetensors file of element types that gpugrad has, as a dict.

    Tensors come back on the current device, without requires_grad. Nothing in the file is run. Raises
    FileNotFoundError, or gpugrad.DataError where the file is not what it should be.
    """
    path = file_path("load", path)
    if not path.exists():
        raise FileNotFoundError(f"load: there is no file {str(path)!r}")
    if not path.is_file():
        raise DataError(f"load: {str(path)!r} is not a file")
    tensors, text = _read(path)
    if text is None:
        return tensors
    try:
        obj, left = _rebuild(json.loads(text), tensors), tensors
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"load: {str(path)!r} says wrongly how its tensors belong together ({error or type(error).__name__})"
        ) from error
    if left or not isinstance(obj, dict):
        raise DataError(f"load: {str(path)!r} does not say what {', '.join(sorted(left)) or 'its contents'} belongs to")
    return obj


def _read(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """The tensors of a file by name, and the outline in its metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        tensors = {}
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118  (it is no dict)
                kind = file.get_slice(name).get_dtype()
                if kind not in _TYPES:
                    raise DataError(f"load: {str(path)!r} holds {name!r} as {kind}; gpugrad reads {', '.join(_TYPES)}")
                tensors[name] = Tensor._wrap(Array.from_numpy(file.get_tensor(name)))
            return tensors, (file.metadata() or {}).get(_OUTLINE)
    except (SafetensorError, ValueError, TypeError) as error:
        raise DataError(
            f"load: {str(path)!r} is not a whole safetensors file of numbers that gpugrad has ({error}). It is of "
            "another kind, cut short or damaged"
        ) from error


_TYPES = ("F16", "F32", "F64", "I32", "U8", "BOOL", "I8", "I16", "U16", "U32", "I64", "U64")


def _outline(value: Any, name: str, tensors: dict[str, np.ndarray], depth: int) -> Any:
    """`value` in JSON: ["dict", [[key, value], ...]], ["list", [...]], ["tensor", name] or ["value", x]."""
    if depth > _DEPTH:
        raise ValueError(f"save: {name!r} lies more than {_DEPTH} dicts and lists deep; does one contain itself?")
    if isinstance(value, Mapping):
        items = []
        for key, item in value.items():
            if isinstance(key, bool) or not isinstance(key, (str, int)):
                raise TypeError(f"save: {name or 'obj'!r} has the key {key!r}; keys are strings or integers")
            if isinstance(key, str) and any("\ud800" <= c <= "\udfff" for c in key):
                raise ValueError(f"save: {name or 'obj'!r} has the key {key!r}, which UTF-8 cannot write; change it")
            items.append([key, _outline(item, f"{name}.{key}" if name else str(key), tensors, depth + 1)])
        return ["dict", items]
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return [kind, [_outline(item, f"{name}.{i}", tensors, depth + 1) for i, item in enumerate(value)]]
    if isinstance(value, (Tensor, Array, np.ndarray)):
        while name in tensors or name == "__metadata__":  # {"a.b": ...} beside {"a": {"b": ...}}; the format's own word
            name += "'"
        tensors[name] = _host(value, name)
        return ["tensor", name]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", repr(value)]  # JSON has no word for it
    if value is None or isinstance(value, (bool, int, float, str)):
        return ["value", value]
    raise TypeError(
        f"save: {name!r} is {type(value).__name__}; a file holds tensors, numbers, strings, None, dicts and lists"
    )


def _host(value: Tensor | Array | np.ndarray, name: str) -> np.ndarray:
    host = value.array.numpy() if isinstance(value, Tensor) else value.numpy() if isinstance(value, Array) else value
    if np.ma.is_masked(host):
        raise TypeError(f"save: {name!r} is a masked array, and a file holds no mask; save its .filled(...)")
    if host.dtype not in C_NAME:
        raise TypeError(
            f"save: {name!r} is an array of {host.dtype}; convert it to a type gpugrad has, such as float32"
        )
    return np.asarray(host, order="C")


def _rebuild(outline: Any, tensors: dict[str, Tensor]) -> Any:
    """The value that `_outline` described; takes the tensors it uses out of `tensors`."""
    kind, content = outline
    if kind == "dict":
        return {_key(key): _rebuild(item, tensors) for key, item in content}
    if kind in ("list", "tuple"):
        items = [_rebuild(item, tensors) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "tensor":
        if content not in tensors:
            raise ValueError(f"there is no tensor {content!r}")
        return tensors.pop(content)
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind == "value" and (content is None or isinstance(content, (bool, int, float, str))):
        return content
    raise ValueError(f"unknown entry {kind!r}")


def _key(key: Any) -> str | int:
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        raise ValueError(f"key {key!r}")
    return key
