"""Traces as .npz files: arrays as arrays, the rest as JSON in one of them. Loading runs no code from the file."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array import MAX_ELEMENTS
from ..errors import GpugradError
from ..files import file_path, write_whole
from ..source import KINDS, Buffer, Site
from ..source.layout import BASES, Base, Record
from .events import Columns
from .launch import BufferInfo, LaunchTrace

if TYPE_CHECKING:
    from .session import Trace

FORMAT = "gpugrad trace 1"
PLAIN = ("kernel", "source", "global_size", "local_size", "number", "device", "file", "options", "operations", "lost",
         "left_out", "repeatable", "notes")  # fmt: skip


def save(trace: Trace, path: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    launches = []
    for n, t in enumerate(trace.launches):
        for f in fields(t.columns):
            arrays[f"{n}/{f.name}"] = getattr(t.columns, f.name)
        for b in t.buffers:
            for which in ("before", "after"):
                if getattr(b, which) is not None:
                    arrays[f"{n}/{which}/{b.name}"] = getattr(b, which)
        about: dict[str, Any] = {name: getattr(t, name) for name in PLAIN}
        about["args"] = {}
        for k, v in t.args.items():
            held = isinstance(v, np.ndarray | np.void)  # a vector or a struct is an array of the file
            if held:
                arrays[f"{n}/args/{k}"] = np.asarray(v)
            about["args"][k] = None if held else v.item() if isinstance(v, np.generic) else v
        about["sites"] = [asdict(s) for s in t.sites]
        about["buffers"] = [_buffer(b) for b in t.buffers]
        launches.append(about)
    text = json.dumps(
        {"format": FORMAT, "launches": launches, "skipped": trace.skipped, "unrecorded": trace.unrecorded}
    )
    arrays["about"] = np.frombuffer(text.encode(), "u1")
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    write_whole(path, file.getvalue())


def load(path: str | os.PathLike[str]) -> Trace:
    """Read what `Trace.save` wrote. Raises GpugradError when it is another file or a damaged one."""
    from .session import Trace

    with file_path("trace.load", path).open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as held:
                about = json.loads(held["about"].tobytes().decode())
                if about["format"] != FORMAT:
                    raise GpugradError(
                        f"trace.load: {path} has the format {about['format']!r}; this gpugrad reads {FORMAT!r}"
                    )
                trace = Trace(_launch(n, x, held) for n, x in enumerate(about["launches"]))
                trace.skipped = [(str(k), str(why)) for k, why in about["skipped"]]
                trace.unrecorded = int(about["unrecorded"])
        except GpugradError:
            raise
        except Exception as error:  # damage can raise anything that zipfile, zlib, NumPy and json have to raise
            raise GpugradError(f"trace.load: {path} is not a saved trace, or is damaged ({error})") from error
    return trace


def _launch(n: int, x: dict[str, Any], held: Any) -> LaunchTrace:
    columns = Columns(**{f.name: held[f"{n}/{f.name}"] for f in fields(Columns)})
    if len({len(getattr(columns, f.name)) for f in fields(Columns)}) != 1:
        raise ValueError("its columns differ in length")
    plain: dict[str, Any] = {name: tuple(x[name]) if name.endswith(("size", "options")) else x[name] for name in PLAIN}
    sites = tuple(Site(**s) for s in x["sites"])
    buffers = tuple(_info(n, b, held) for b in x["buffers"])
    if len(columns) and (columns.site.max() >= len(sites) or columns.buffer.max() >= len(buffers)):
        raise ValueError("its events name places that it does not have")
    if not all(isinstance(plain[name], str) for name in ("kernel", "source", "device", "file")):
        raise ValueError("its names are no texts")
    items, lines = math.prod(plain["global_size"]), plain["source"].count("\n") + 1
    if not 0 <= items <= MAX_ELEMENTS:
        raise ValueError(f"it has {items:,} work-items")
    if len(columns) and (columns.item.max() >= items or columns.kind.max() >= len(KINDS) or columns.buffer.min() < -1):
        raise ValueError("its events name work-items or kinds that there are not")
    if not all(1 <= s.line <= lines for s in sites):
        raise ValueError("its places are not in its source")
    if not all(isinstance(getattr(s, f.name), int if f.type == "int" else str) for s in sites for f in fields(s)):
        raise ValueError("its places are told by what is neither a number nor a text")
    args = {k: held[key][()] if (key := f"{n}/args/{k}") in held else v for k, v in x["args"].items()}
    return LaunchTrace(args=args, sites=sites, buffers=buffers, columns=columns, **plain)


def _buffer(b: BufferInfo) -> dict[str, Any]:
    e = b.buffer.element
    return {
        "name": b.name, "space": b.space, "element": getattr(e, "name", ""), "size": b.buffer.element_size,
        "dims": b.buffer.dims, "argument": b.buffer.argument, "shape": b.shape, "dtype": b.dtype.str,
        "nbytes": b.nbytes, "role": b.role, "axes": b.axes, "writer": b.writer,
        "block": b.block, "start": b.start,
    }  # fmt: skip


def _info(n: int, x: dict[str, Any], held: Any) -> BufferInfo:
    # Of a struct only the size matters once the events are there.
    element = BASES.get(x["element"]) or Record(x["element"], tuple((str(i), Base("uchar")) for i in range(x["size"])))
    buffer = Buffer(x["name"], x["space"], element, tuple(x["dims"]), x["argument"])
    contents = [held[key] if (key := f"{n}/{which}/{x['name']}") in held else None for which in ("before", "after")]
    shape, axes = tuple(x["shape"]), tuple(x["axes"])
    return BufferInfo(
        buffer,
        shape,
        np.dtype(x["dtype"]),
        x["nbytes"],
        x["role"],
        axes,
        x["writer"],
        x["block"],
        x["start"],
        *contents,
    )
