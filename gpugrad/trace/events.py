"""Events: what the device wrote, four words for each, as columns; and as the table that users see."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..source import KINDS, Buffer, Site

LOAD, STORE, ATOMIC, BARRIER, BRANCH, ASSIGN, ROW, PRIVATE, FUEL = range(len(KINDS))
OUTSIDE, SKEW, FAULT = 1, 2, 4  # bits of `flags`: outside its buffer, misaligned, other faults
LOCAL_FENCE, GLOBAL_FENCE = 1, 2  # bits of a barrier's value

SCALARS = {
    "bool": "u1", "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "size_t": "u8", "ptrdiff_t": "i8", "float": "f4", "double": "f8", "half": "f2",
}  # fmt: skip


def table_dtype(name_length: int = 16) -> np.dtype:
    """The columns of `launch.events`: who (flat numbers), the work-item's own order, barriers passed so far, where in
    the source (line, and the columns of the first character and behind the last, from 1), what happened to which cell,
    its value and the value's bits, and what was wrong ("outside", "misaligned", "diverged", "endless" or "")."""
    numbers = [(n, "u4") for n in ("work_item", "group", "local_id", "seq", "phase", "line", "column", "end")]
    return np.dtype(
        [*numbers, ("kind", "U7"), ("space", "U8"), ("buffer", f"U{name_length}"), ("index", "i8"), ("value", "f8"),
         ("bits", "u8"), ("fault", "U10"), ("site", "u2")]
    )  # fmt: skip


@dataclass
class Columns:
    """One entry for each event, ordered so that barriers are respected: by group, phase, work-item, own order."""

    item: np.ndarray
    group: np.ndarray
    local_id: np.ndarray
    seq: np.ndarray
    site: np.ndarray
    kind: np.ndarray
    lane: np.ndarray
    flags: np.ndarray
    buffer: np.ndarray  # -1: none
    offset: np.ndarray  # bytes; for row and private the index itself
    size: np.ndarray  # bytes
    phase: np.ndarray  # barriers passed
    local_phase: np.ndarray  # barriers passed that order local memory
    global_phase: np.ndarray
    bits: np.ndarray

    def __len__(self) -> int:
        return len(self.item)

    def take(self, rows: np.ndarray) -> Columns:
        return Columns(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    @property
    def is_access(self) -> np.ndarray:
        return self.kind <= ATOMIC


def place(
    items: np.ndarray, global_size: tuple[int, ...], local_size: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Flat work-item numbers -> flat group numbers and local ids; dimension 0 runs fastest, as in OpenCL."""
    group = local = 0 * items
    groups, locals_, rest = 1, 1, items
    for g, l in zip(global_size, local_size, strict=True):
        x, rest = rest % g, rest // g
        group, local = group + x // l * groups, local + x % l * locals_
        groups, locals_ = groups * (g // l), locals_ * l
    return group, local


def decode(rows: np.ndarray, used: np.ndarray, group: np.ndarray, local: np.ndarray, sites: tuple[Site, ...],
           buffers: int) -> Columns:  # fmt: skip
    """The device's rows, `used[i]` of work-item i one behind the other, as columns."""
    used = used.astype("i8")
    item = np.repeat(np.arange(len(used), dtype="u4"), used)
    starts = np.cumsum(used) - used
    seq = (np.arange(len(item)) - np.repeat(starts, used)).astype("u4")
    head = rows[:, 0]
    site = (head & 0x3FFF).astype("u2")
    kind = np.array([KINDS.index(s.kind) for s in sites] or [0], "u1")[site]
    bits = rows[:, 2].astype("u8") | rows[:, 3].astype("u8") << np.uint64(32)
    buffer = np.where(kind <= ATOMIC, (head >> 14) & 0x3FF, 0xFFFF).astype("i2")
    buffer[buffer >= buffers] = -1
    size = np.array([np.dtype(SCALARS.get(s.scalar, "u4")).itemsize for s in sites] or [0], "u1")[site]
    halves = np.array([s.scalar == "half" for s in sites] or [False])[site]
    if halves.any():  # recorded as float
        with np.errstate(over="ignore"):
            bits[halves] = bits[halves].astype("u4").view("f4").astype("f2").view("u2")
    phase, local_phase, global_phase = (
        _passed(kind == BARRIER, bits, mask, starts, used, item) for mask in (~0, LOCAL_FENCE, GLOBAL_FENCE)
    )
    columns = Columns(
        item, group[item].astype("u4"), local[item].astype("u4"), seq, site, kind, (head >> 24 & 15).astype("u1"),
        (head >> 28).astype("u1"), buffer, rows[:, 1].view("i4"), size, phase, local_phase, global_phase, bits,
    )  # fmt: skip
    if phase.any() or (np.diff(columns.group.astype("i8")) < 0).any():
        # Rows are by work-item: a stable sort keeps them so. NumPy sorts 16-bit numbers much faster.
        key = columns.group.astype("i8") * (int(phase.max(initial=0)) + 1) + phase
        return columns.take(np.argsort(key.astype("u2") if key.max() < 1 << 16 else key, kind="stable"))
    return columns


def _passed(barrier: np.ndarray, bits: np.ndarray, mask: int, starts: np.ndarray, used: np.ndarray,
            item: np.ndarray) -> np.ndarray:  # fmt: skip
    """For each event, how many barriers with that fence its work-item had passed."""
    if not barrier.any():
        return np.zeros(len(item), "u4")
    met = barrier if mask == ~0 else barrier & ((bits & np.uint64(mask)) != 0)
    count = np.cumsum(met) - met
    first = np.zeros(len(starts), "i8")
    first[used > 0] = count[starts[used > 0]]
    return (count - first[item]).astype("u4")


def values(columns: Columns, sites: tuple[Site, ...]) -> np.ndarray:
    """float64 values of the bits, by each site's type."""
    out = columns.bits.astype("f8")
    kinds = np.array([SCALARS.get(s.scalar, "") for s in sites] or [""])[columns.site]
    for kind in set(kinds.tolist()) - {""}:
        rows = kinds == kind
        raw = np.ascontiguousarray(columns.bits[rows]).astype("<u8")
        width = np.dtype(kind).itemsize
        out[rows] = raw.view("u1").reshape(-1, 8)[:, :width].copy().view(kind)[:, 0]
    return out


def table(
    columns: Columns, sites: tuple[Site, ...], buffers: tuple[Buffer, ...], element_sizes: list[int]
) -> np.ndarray:
    """The columns as one structured array."""
    names = [b.name for b in buffers] + [""]
    assigned = [s.name if s.kind == "assign" else "" for s in sites] or [""]
    out = np.empty(len(columns), table_dtype(max(map(len, [*names, *assigned, "x"]))))
    site, kind = columns.site, columns.kind
    for name, of in (
        ("line", [s.line for s in sites]),
        ("column", [s.column for s in sites]),
        ("end", [s.column + s.end - s.start for s in sites]),
    ):
        out[name] = np.array(of or [0])[site]
    out["work_item"], out["group"], out["local_id"] = columns.item, columns.group, columns.local_id
    out["seq"], out["phase"], out["site"], out["bits"] = columns.seq, columns.phase, site, columns.bits
    out["kind"] = np.array(KINDS)[kind]
    out["buffer"] = np.array(names)[columns.buffer]
    out["space"] = np.array([b.space for b in buffers] + [""])[columns.buffer]
    sizes = np.array([*element_sizes, 1])[columns.buffer]
    out["index"] = np.where(columns.is_access, columns.offset // sizes, -1)
    out["value"] = values(columns, sites)
    out["fault"] = ""
    special = np.flatnonzero(columns.flags)
    if len(special):
        flags = columns.flags[special]
        other = np.where(kind[special] == FUEL, "endless", "diverged")
        said = np.where(flags & OUTSIDE, "outside", np.where(flags & SKEW, "misaligned", other))
        out["fault"][special] = said
    for rows, fill in ((kind == ASSIGN, np.array(assigned)), (kind == PRIVATE, None)):
        rows = np.flatnonzero(rows)
        out["space"][rows] = "private"
        if fill is not None:
            out["buffer"][rows] = fill[site[rows]]
    indexed = np.flatnonzero((kind == ROW) | (kind == PRIVATE))
    out["index"][indexed] = columns.offset[indexed]
    return out
