"""Numbers, cells and work-items as text: the same as in the browser (static/core.js), so that both say the same."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

PACKED = ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")


def pack(values: Any, dtype: str) -> dict[str, str]:
    """An array as the browser takes it: little-endian bytes in base64, as JSON has neither NaN nor infinity."""
    if dtype not in PACKED:
        raise ValueError(f"pack: dtype is {dtype!r}; it is one of {', '.join(PACKED)}")
    raw = np.ascontiguousarray(values, dtype="<" + dtype)
    return {"type": dtype, "data": base64.b64encode(raw.tobytes()).decode("ascii")}


def pack_integers(values: np.ndarray) -> dict[str, Any]:
    """Integers in the narrowest type that holds them; of equal ones, one and how many, of long runs each once."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if low == high:
        return {"type": "i4", "fill": low, "length": len(values)}
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, len(values))
    if 8 * len(ends) < len(values):
        return {**pack_integers(values[ends - 1]), "runs": pack(np.diff(ends, prepend=0), "u4")}
    for dtype in ("u1", "i1", "u2", "i2"):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return pack(values, dtype)
    return pack(values, "i4")


def unpack(packed: dict[str, Any]) -> np.ndarray:
    if "runs" in packed:
        each = {name: packed[name] for name in packed if name != "runs"}
        return np.repeat(unpack(each), unpack(packed["runs"]))
    if "fill" in packed:
        return np.full(packed["length"], packed["fill"], packed["type"])
    return np.frombuffer(base64.b64decode(packed["data"]), "<" + packed["type"])


def pack_numbers(values: np.ndarray) -> dict[str, Any]:
    """Values of any type: as small integers, or as float32, where that holds them all exactly, else as float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.asarray(values).astype("f8").reshape(-1)
        small = (np.abs(wide) < 2**15) & (np.rint(wide) == wide) & ~(np.signbit(wide) & (wide == 0))
        if small.all():
            return pack_integers(wide.astype("i4"))
        narrow = wide.astype("f4")
        exact = np.array_equal(narrow.astype("f8"), wide, equal_nan=True)
    return pack(narrow, "f4") if exact else pack(wide, "f8")


def num(v: float | None) -> str:
    """A short number, with a true minus sign: five characters, more for a tiny one's exponent; nothing is a dot."""
    if v is None:
        return "·"
    v = float(v)
    if math.isnan(v):
        return "NaN"
    if math.isinf(v):
        return "−∞" if v < 0 else "∞"
    a = abs(v)
    if v.is_integer() and a < 1e4:
        text = str(int(v))
    elif a >= 9999.5 or a < 0.005:
        exponent = Decimal(v).adjusted()
        digit = (Decimal(v).scaleb(-exponent)).quantize(Decimal(1), ROUND_HALF_UP)
        if abs(digit) == 10:
            digit, exponent = digit / 10, exponent + 1
        text = f"{int(digit)}e{exponent}"
    else:
        places = 2 if a < 9.995 else 1 if a < 99.95 else 0
        text = str(Decimal(v).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    return text.replace("-", "−")


def bracket(name: str, i: int, shape: Sequence[int]) -> str:
    """name[2][1]: a flat index as one would write it."""
    text = ""
    for size in reversed(shape):
        text = f"[{i % size}]{text}"
        i //= size
    return name + text


def by_shape(shape: Sequence[int]) -> str:
    """(2, 5, 5) as 2×5×5."""
    return "×".join(map(str, shape)) if shape else "1 number"


def counted(n: int, one: str) -> str:
    """1,200 events; 1 event."""
    return f"{n:,} {one}{'s' * (n != 1)}"


def work_items(sizes: Sequence[int]) -> str:
    """(8, 4) as 8×4 work-items; 1 work-item."""
    return f"{by_shape(sizes)} work-item{'s' * (math.prod(sizes) != 1)}"


def trimmed(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes of a launch without trailing ones."""
    out = list(sizes)
    while len(out) > 1 and out[-1] == 1:
        out.pop()
    return tuple(out)


def numbers(flat: int, sizes: Sequence[int]) -> str:
    """A flat number along a launch's dimensions, dimension 0 first: 10 of (8, 8) is (2,1); one dimension stays 10."""
    out = []
    for n in sizes:
        out.append(str(flat % n))
        flat //= n
    return out[0] if len(out) == 1 else f"({','.join(out)})"


def listed(parts: Iterable[str]) -> str:
    """a, b and c."""
    parts = list(parts)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def nbytes(n: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} B"
