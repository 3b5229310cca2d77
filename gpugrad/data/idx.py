"""Read idx files, the format MNIST comes in.

An idx file is: two zero bytes, a type code, the number of axes, each axis' size (big-endian uint32), the
elements (big-endian, last axis fastest). Source: Y. LeCun's description of the MNIST files.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from typing import BinaryIO

import numpy as np

from ..errors import DataError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MAX_AXES = 8
_MAX_BYTES = 1 << 30
_CHUNK = 1 << 20


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in an idx file, plain or gzipped, in the machine's byte order.

    The file need not be trusted: memory grows only with what was read, whatever header and gzip stream claim.
    DataError says what is wrong with a file that is not idx, is cut short, goes on too long or holds over
    1 GiB.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if not packed:
                return _read(raw, path)
            with gzip.open(raw) as unpacked:
                return _read(unpacked, path)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _read(file: BinaryIO, path: str) -> np.ndarray:
    head = _exactly(file, 4, path)
    if head[:2] != b"\0\0" or head[2] not in _TYPES or not 1 <= head[3] <= _MAX_AXES:
        raise DataError(
            f"{path} is not an idx file: it starts with {head.hex(' ')}; wanted 00 00, a type code "
            f"(08 for bytes) and 1 to {_MAX_AXES} axes"
        )
    shape = struct.unpack(f">{head[3]}I", _exactly(file, 4 * head[3], path))
    dtype = np.dtype(_TYPES[head[2]])
    size = dtype.itemsize
    for n in shape:
        size *= n  # Python's integers: no overflow to slip through
    if size > _MAX_BYTES:
        raise DataError(f"{path} claims shape {shape}, {size:,} bytes; more than {_MAX_BYTES:,} is refused")
    data = _exactly(file, size, path)
    if file.read(1):
        raise DataError(f"{path} goes on after its {size:,} bytes of data: its header says shape {shape}")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _exactly(file: BinaryIO, size: int, path: str) -> bytes:
    """`size` bytes, read piece by piece: a short file that claims much costs only its own length."""
    data = bytearray()
    while len(data) < size:
        piece = file.read(min(_CHUNK, size - len(data)))
        if not piece:
            raise DataError(f"{path} is cut short: {size:,} bytes wanted, {len(data):,} there")
        data += piece
    return bytes(data)
