"""Runs kernels of the corpus with bare pyopencl: as they are, and instrumented."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyopencl as cl

from gpugrad.source import Buffer, Instrumented, Site, instrument, lower_half
from gpugrad.source.layout import BASES
from gpugrad.source.lexer import Source
from gpugrad.source.parser import Parser
from gpugrad.source.preprocess import preprocess
from gpugrad.source.record import recorder_text

CORPUS = Path(__file__).parent / "corpus"
DTYPES = {
    "float": "f4", "double": "f8", "half": "f2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "short": "i2", "ushort": "u2", "char": "i1", "uchar": "u1",
}  # fmt: skip
DEFINES = {"halves.cl": {"T": "half", "A": "float"}, "macros.cl": {"WIDTH": "4"}}
OPTIONS = ["-cl-std=CL1.2", "-cl-mad-enable"]


@dataclass(frozen=True)
class Case:
    """One kernel and how it is run; arguments are `float[8]`, `float[8]=0`, `int=3`, `local float[4]` ..."""

    file: str
    name: str
    source: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    arguments: tuple[str, ...]

    @property
    def defines(self) -> dict[str, str]:
        return DEFINES.get(self.file, {})


def cases() -> list[Case]:
    found = []
    for path in sorted(CORPUS.glob("*.cl")):
        text = path.read_text()
        for m in re.finditer(r"^//: (.*?) / (.*?): (.*)\n.*kernel.*void (\w+)\(", text, re.M):
            sizes = [tuple(int(x) for x in g.split(",")) for g in m.group(1, 2)]
            found.append(Case(path.name, m.group(4), text, *sizes, tuple(m.group(3).split(", "))))
    return found


CASES = {c.name: c for c in cases()}


@cache
def context() -> cl.Context:
    return cl.Context([cl.get_platforms()[0].get_devices()[0]])


def data(case: Case, seed: int = 1) -> list[object]:
    """Random arguments: arrays for buffers, NumPy scalars, LocalMemory.

    Floats are sixteenths, of which sums and products of a few are exact: compilers may join a multiplication and an
    addition in one text and not in the other.
    """
    rng = np.random.default_rng(seed)
    out: list[object] = []
    for text in case.arguments:
        m = re.fullmatch(r"(local |constant )?(\w+)(?:\[(\d+)\])?(?:=(\d+))?", text)
        assert m, text
        dtype, n = np.dtype(DTYPES[m.group(2)]), m.group(3)
        if n is None:
            out.append(dtype.type(int(m.group(4))))
        elif m.group(1) == "local ":
            out.append(cl.LocalMemory(int(n) * dtype.itemsize))
        elif m.group(4):
            out.append(np.full(int(n), int(m.group(4)), dtype))
        elif dtype.kind == "f":
            out.append(((2 * rng.integers(-32, 32, int(n)) + 1) / 16).astype(dtype))
        else:
            out.append(rng.integers(0, 50, int(n)).astype(dtype))
    return out


def build(text: str, options: list[str] = OPTIONS) -> cl.Program:
    return cl.Program(context(), text).build(options)


def launch(kernel: cl.Kernel, case: Case, args: list[object], extra: Sequence[object] = ()) -> list[np.ndarray]:
    """Runs it on copies of `args`; gives the buffers as it leaves them."""
    queue, flags = cl.CommandQueue(context()), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    device = [cl.Buffer(context(), flags, hostbuf=a) if isinstance(a, np.ndarray) else a for a in args]
    for i, a in enumerate([*device, *extra]):
        kernel.set_arg(i, a)
    cl.enqueue_nd_range_kernel(queue, kernel, case.global_size, case.local_size)
    out = []
    for host, a in zip(args, device):
        if isinstance(host, np.ndarray):
            out.append(np.empty_like(host))
            cl.enqueue_copy(queue, out[-1], a)
    queue.finish()
    return out


@cache
def plain_program(file: str) -> cl.Program:
    text, defines = (CORPUS / file).read_text(), DEFINES.get(file, {})
    if defines.get("T") == "half":
        return build(lower_half(text, defines))
    return build(text, OPTIONS + [f"-D{k}={v}" for k, v in defines.items()])


def is_refused(file: str) -> bool:
    """Does the device's own compiler refuse the plain text? (NVIDIA's does not know variadic macros.)"""
    try:
        plain_program(file)
    except cl.Error:
        # The corpus is written for these two: what they refuse is a mistake in it.
        return not re.search("portable computing|oclgrind", context().devices[0].platform.name.lower())
    return False


def run_plain(case: Case, args: list[object]) -> list[np.ndarray]:
    return launch(cl.Kernel(plain_program(case.file), case.name), case, args)


@dataclass
class Recorded:
    outputs: list[np.ndarray]
    made: Instrumented
    counts: np.ndarray
    rows: np.ndarray  # columns as recorder.cl has them
    item: np.ndarray  # which work-item each row is of
    operations: np.ndarray  # of each work-item

    @property
    def sites(self) -> list[Site]:
        return [self.made.sites[h & 0x3FFF] for h in self.rows[:, 0]]

    def faults(self) -> list[tuple[str, int, int]]:
        """-> (kind, line, work-item) of each event that is a mistake"""
        return [(s.kind, s.line, int(w)) for s, w, h in zip(self.sites, self.item, self.rows[:, 0]) if h >> 28]

    def cells(self) -> list[tuple[int, str, str, int]]:
        """-> (work-item, kind, buffer, byte offset) of each access"""
        out = []
        for s, w, (head, offset, _, _) in zip(self.sites, self.item, self.rows):
            if s.kind in ("load", "store", "atomic"):
                out.append(
                    (int(w), s.kind, self.made.buffers[head >> 14 & 0x3FF].name, int(np.int32(np.uint32(offset))))
                )
        return out


def options(made: Instrumented) -> list[str]:
    # PoCL's barrier passes overflow the stack on some optimised instrumented kernels.
    return OPTIONS + ["-cl-opt-disable"] * made.votes


@cache
def recorded_programs(file: str) -> dict[str, tuple[Instrumented, cl.Program]]:
    """All kernels of a corpus file, instrumented one by one and built together (building one takes 0.4 s)."""
    made = [instrument(c.source, c.name, c.defines) for c in CASES.values() if c.file == file]
    found = {}
    for votes in (False, True):
        group = [m for m in made if m.votes == votes]
        if group:
            program = build(joined(group, declared(CASES[group[0].kernel.name])), options(group[0]))
            found.update({m.kernel.name: (m, program) for m in group})
    return found


def joined(group: list[Instrumented], own: Sequence[str] = ()) -> str:
    """One text of several instrumented ones: the recorder and its helpers once, the names `own` apart."""
    most = max(len(m.buffers) for m in group)
    before, after = group[0].text.split(recorder_text())[0], recorder_text()
    for name in ("GG_BUFFERS", "GG_OBJECTS", "GG_SPARE"):
        sizes = [int(n) for m in group for n in re.findall(rf"#define {name} (\d+)", m.text)]
        before = re.sub(rf"#define {name} \d+\n", "", before) + (f"#define {name} {max(sizes)}\n" if sizes else "")
    out = [before, after]
    known: set[str] = set()
    for i, m in enumerate(group):
        body = m.text.split(recorder_text())[1]
        of_own_types = re.findall(rf"\bgg_\w+_(?:{'|'.join(own)})\b", body) if own else []
        names = sorted({*own, *of_own_types})
        out += [f"\n#define {n} {n}_{i}" for n in names if n != m.kernel.name]
        for line in body.splitlines():
            if (
                set(of_own_types) & set(re.findall(r"\w+", line))
                or line not in known
                or not re.match(r"\w+ gg_\w+\(gg_t", line)
            ):
                out.append(
                    "\n" + line.replace("gg->n = 0;", f"for (int k = 0; k < {most}; k++) gg->space[k] = 0; gg->n = 0;")
                )
                known.add(line)
        out += [f"\n#undef {n}" for n in names]
    return "".join(out)


def declared(case: Case) -> list[str]:
    """The names that the case's file declares outside its functions."""
    source = Source(case.source)
    parser = Parser(source, preprocess(source, case.defines), case.file == "halves.cl")
    parser.unit()
    return sorted({*parser.functions, *set(parser.types) - set(BASES), *parser.tags, *parser.scopes[0]})


def run_recorded(
    case: Case, args: list[object], made: Instrumented | None = None, program: cl.Program | None = None, room: int = 600
) -> Recorded:
    """With a fixed number of slots for each work-item. `made` None: the kernel of the corpus as it stands."""
    if made is None:
        made, program = recorded_programs(case.file)[case.name]
    program = program or build(made.text, options(made))
    n, ctx, f = int(np.prod(case.global_size)), context(), cl.mem_flags
    slots = np.arange(n + 1, dtype="u4") * room
    lengths = np.array([length(b, args) for b in made.buffers] or [0], "u8")
    events, counts = np.zeros((n * room, 4), "u4"), np.zeros(2 * n + 1, "u4")
    held = [cl.Buffer(ctx, f.READ_WRITE | f.COPY_HOST_PTR, hostbuf=a) for a in (events, slots, counts, lengths)]
    out = launch(cl.Kernel(program, made.kernel.name), case, args, held)
    queue = cl.CommandQueue(ctx)
    cl.enqueue_copy(queue, events, held[0])
    cl.enqueue_copy(queue, counts, held[2])
    queue.finish()
    counts, operations = counts[:n], counts[n + 1 :]
    item = np.repeat(np.arange(n), np.minimum(counts, room))
    rows = np.concatenate([events[i * room : i * room + min(c, room)] for i, c in enumerate(counts)])
    return Recorded(out, made, counts, rows, item, operations)


def length(b: Buffer, args: list[object]) -> int:
    """Of a buffer in bytes, where the kernel cannot know it."""
    if b.argument is not None:
        a = args[b.argument]
        return a.nbytes if isinstance(a, np.ndarray) else a.size  # type: ignore[attr-defined]
    return math.prod(n or 0 for n in b.dims) * b.element_size if b.space == "constant" else 0
