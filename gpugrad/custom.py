"""`gpugrad.kernel`: OpenCL C text of your own as a Python callable."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import MAX_ELEMENTS, Array
from .device import Device, current_device
from .errors import KernelArgumentError
from .program import COMMENT, SCALARS, Argument, Compiled, Launch, Local, Parameter, Size, intercepted, intercepting
from .slips import no_kernel

if TYPE_CHECKING:
    from .source import Memory

_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_KERNEL = re.compile(r"\b(?:__)?kernel\s+void\s+(\w+)")
_MOST_CHECKED = 16  # launches that differ in their whole numbers alone
_STACK = 6 << 20  # bytes: of the 8 MiB that threads mostly have, some are left for those who call
_C_OF = {"f2": "half", "f4": "float", "f8": "double", "i4": "int", "u1": "uchar", "b1": "uchar"}


class CustomKernel:
    """A kernel from text; call it as `k(*args, global_size=..., local_size=None)`.

    Buffers take tensors or Arrays, scalars Python numbers, `__local` pointers a `gpugrad.Local`. Number, order and
    types are checked against the compiled kernel before anything runs. The first launch with each size and shape
    of arguments runs checked (no access outside memory, no endless loop, no parted barrier): on a fault it raises
    `gg.KernelFault`, and memory is as it was before. Launches that differ in whole numbers alone are checked until 16
    of them were right: such a number may count steps. `checked=True` always checks, `checked=False` never.
    """

    def __init__(self, source: str, name: str | None = None, arguments: dict[str, str] | None = None):
        if not isinstance(source, str):
            raise TypeError(f"kernel: source is {type(source).__name__}; it is the text of an OpenCL C kernel")
        try:
            source.encode()
        except UnicodeEncodeError as error:
            wrong = source[error.start]
            raise ValueError(
                f"kernel: source holds {wrong!r} at position {error.start}, half of a character; take it out"
            ) from None
        if "\0" in source:  # a driver reads as far as there, and NVIDIA's dies of it
            raise ValueError(f"kernel: source holds a null character at position {source.index(chr(0))}; take it out")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"kernel: name is {name!r}; it is the name of a kernel in the source, or None")
        if name is None or not _KERNEL.search(source):
            found = _names(source, current_device())
            if not found:
                why = no_kernel(source)
                needs = "it needs '__kernel void NAME(...)'" + (f": {why}" if why else "")
                raise ValueError(f"kernel: the source holds no kernel; {needs}")
            if name is None and len(found) > 1:
                raise ValueError(
                    f"kernel: the source holds {len(found)} kernels ({', '.join(found)}); say which with name="
                )
            name = name or found[0]
        self.source, self.name = source, name
        self.arguments = {n: Argument.parse(n, text) for n, text in (arguments or {}).items()}
        self._checked: dict[Any, set[tuple[int, ...]]] = {}  # sizes and shapes: the whole numbers that came with them
        self._compiled: dict[Device, Compiled] = {}
        self.on(current_device())  # a mistake in the text is told now, not at the first launch

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def on(self, device: Device) -> Compiled:
        """The kernel compiled for a device."""
        found = self._compiled.get(device)
        if found is None:
            # Another kernel of the same text, such as the one that a cell made before it was run again, shares it.
            key = (self.source, self.name, tuple(self.arguments.items()))
            found = device.custom_kernels.get(key)
            if found is None:
                declared = self._survey(device)
                found = Compiled(device, self.source, self.name, self.arguments)
                found.local_memory = max(found.local_memory, declared.local)
                found.private_memory = declared.private
                _refuse_opaque(found)
                device.custom_kernels[key] = found
            self._compiled[device] = found
        return found

    def _survey(self, device: Device) -> Memory:
        """Bytes of memory in the text, as drivers (PoCL) do not say; 0 where the source pass cannot read it.

        Recursion is refused: drivers build it, and then it takes the process down; and a macro without end, which no
        compiler comes back from. So is what is surely a mistake.
        """
        from .source import Memory, Mistake, Refused, SourceError, survey

        try:
            return survey(self.source, self.name, frozenset(device.cl_device.extensions.split()))
        except (Mistake, Refused):
            raise
        except SourceError:
            return Memory(0, 0)

    def __call__(
        self,
        *args: Any,
        global_size: int | Size,
        local_size: int | Size | None = None,
        checked: bool | None = None,
    ) -> None:
        given = args
        args = tuple(getattr(a, "array", a) if not isinstance(a, np.ndarray) else a for a in args)
        device = next((a.device for a in args if isinstance(a, Array)), None) or current_device()
        compiled = self.on(device)
        checked_args = self._check(compiled, device, args)
        for i in compiled.written:
            if getattr(given[i], "_copied_by", None) is not None:
                _refuse_copy(compiled, i, given[i]._copied_by)
        _check_local_memory(compiled, checked_args)
        size = _size(global_size, "global_size")
        local = _local_size(size, local_size, compiled)
        _check_private_memory(compiled, math.prod(local))
        if checked is not None and not isinstance(checked, bool):
            raise TypeError(f"{self.name}: checked is {checked!r}; it is True, False or None (the first launch only)")
        shapes = tuple((a.shape, a.dtype) if isinstance(a, Array) else type(a) for a in checked_args)
        # Whole numbers are sizes more often than not: with another one, what was right may reach outside.
        numbers = tuple(a for a in checked_args if isinstance(a, int))
        right = self._checked.setdefault((device.number, size, local, shapes), set())
        if intercepted() or checked is False or (checked is None and (numbers in right or len(right) == _MOST_CHECKED)):
            compiled(size, local, *checked_args)
            return
        self._run_checked(compiled, size, local, checked_args, refuse=checked is True)
        if len(right) < _MOST_CHECKED:
            right.add(numbers)  # only now: a launch with a fault is checked again

    def _run_checked(self, compiled: Compiled, size: Size, local: Size, args: list[Any], refuse: bool) -> None:
        from .source import SourceError
        from .trace.checked import run_checked

        def check(launch: Launch, run: Callable[[], None]) -> None:
            try:
                run_checked(launch)
            except SourceError:  # text that the source pass cannot follow runs plain, unless a check was asked for
                if refuse:
                    raise
                run()

        with intercepting(check):
            compiled(size, local, *args)

    def _check(self, compiled: Compiled, device: Device, args: tuple[Any, ...]) -> list[Any]:
        parameters = compiled.parameters
        if len(args) != len(parameters):
            wanted = ", ".join(f"{p.type} {p.name}" for p in parameters)
            raise KernelArgumentError(f"{self.name} takes {len(parameters)} arguments ({wanted}), got {len(args)}")
        return [self._check_one(i, p, a, device) for i, (p, a) in enumerate(zip(parameters, args, strict=True), 1)]

    def _check_one(self, i: int, p: Parameter, a: Any, device: Device) -> Any:
        where = f"{self.name}: argument {i}, {p.type} {p.name},"
        if p.space in ("global", "constant"):
            if not isinstance(a, Array):
                made = ": gg.tensor(...) makes one" if isinstance(a, (np.ndarray, list, tuple)) else ""
                raise KernelArgumentError(
                    f"{where} is a buffer; got {type(a).__name__}, it needs a tensor or an Array{made}"
                )
            if a.device is not device:
                raise ValueError(f"{where} is on {a.device}, other arguments are on {device}; move them to one device")
            scalar = _C_OF.get(a.dtype.str[1:], "?")
            pointed = re.sub(r"\b(unsigned char|bool|unsigned __int8)\b", "uchar", p.type.rstrip("*").strip())
            pointed = re.sub(r"\d+$", "", pointed)  # float4* over floats is the author's affair
            if pointed in _C_OF.values() and pointed != scalar:
                raise KernelArgumentError(f"{where} points to {pointed}; got an array of {a.dtype} ({scalar})")
            each = np.dtype(SCALARS.get(pointed, a.dtype)).itemsize
            if each != a.dtype.itemsize and a.dtype != np.uint8:  # as bytes come numbers that there are no arrays of
                raise KernelArgumentError(
                    f"{where} points to {pointed}, {each} bytes each; got an array of {a.dtype}, {a.dtype.itemsize} "
                    f"bytes each: declare it {scalar} *, or give its bytes as uint8"
                )
            return a
        if p.space == "local":
            if not isinstance(a, Local):
                raise KernelArgumentError(f"{where} is local memory; got {a!r}, it needs gpugrad.Local(n, dtype)")
            return a
        if p.scalar is None:
            return _by_value(where, p, a)
        if isinstance(a, (Array, Local)) or not isinstance(a, (int, float, np.number, np.bool_)):
            raise KernelArgumentError(f"{where} is a number; got {type(a).__name__}")
        if p.scalar.kind in "iu":
            if not isinstance(a, int) and (not math.isfinite(a) or int(a) != a):
                raise KernelArgumentError(f"{where} is an integer; got {a!r}")
            low, high = np.iinfo(p.scalar).min, np.iinfo(p.scalar).max
            if not low <= a <= high:
                raise ValueError(f"{where} holds {low} to {high}; got {a!r}")
            return int(a)
        try:
            return float(a)
        except OverflowError:
            raise ValueError(f"{where} is a floating-point number; got an integer too large for one") from None


def _names(source: str, device: Device) -> list[str]:
    """The kernels of a text; where the source pass cannot read it, what looks like one."""
    from .source import SourceError, parse

    try:
        return list(parse(source, extensions=frozenset(device.cl_device.extensions.split())))
    except SourceError:  # a name that is there twice is one: the compiler says so better
        return list(dict.fromkeys(_KERNEL.findall(_ATTRIBUTE.sub(" ", COMMENT.sub(" ", source)))))


def kernel(source: str, name: str | None = None, **arguments: str) -> CustomKernel:
    """Turn OpenCL C text into a callable: `k(*args, global_size, local_size=None)`.

    `name`: which kernel, where the text holds several. Further keywords declare buffers as "role axes", such as
    `x="in N C"`, for figures and checks. Raises KernelBuildError with the faulty line when it does not compile.
    """
    return CustomKernel(source, name, arguments)


def _refuse_opaque(compiled: Compiled) -> None:
    """Raise where the kernel takes what gpugrad has no way to pass."""
    for p in compiled.parameters:
        if re.fullmatch(r"image\w*_t|sampler_t|event_t", p.type):
            raise KernelArgumentError(
                f"{compiled.name} takes {p.type} {p.name}; gpugrad passes buffers, local memory, numbers and vectors. "
                "Read from a buffer (__global const float *) instead"
            )


def _refuse_copy(compiled: Compiled, i: int, origin: str) -> None:
    """Raise where what the kernel writes would go nowhere: into a copy that no one looks at."""
    p = compiled.parameters[i]
    raise KernelArgumentError(
        f"{compiled.name}: argument {i + 1}, {p.type} {p.name}, may be written, and the tensor came from {origin}, "
        "which copies in gpugrad: the original would stay as it is. Call .clone() to have a copy to write, or declare "
        f"the argument const if {compiled.name} only reads it"
    )


def _by_value(where: str, p: Parameter, a: Any) -> Any:
    """A vector (float4) as NumPy numbers, or a struct, which is NumPy's already."""
    found = re.fullmatch(r"([a-z]+?)(2|3|4|8|16)", p.type)
    if found is None or found[1] not in SCALARS:
        if isinstance(a, (np.generic, np.ndarray)):
            return a  # its bytes; the driver checks their number
        raise KernelArgumentError(
            f"{where} is no plain number; got {type(a).__name__}, it needs a NumPy value of the same bytes"
        )
    lanes, dtype = int(found[2]), np.dtype(SCALARS[found[1]])
    if isinstance(a, (np.void, np.ndarray)) and a.dtype.kind == "V":  # pyopencl's own vectors
        return a
    try:
        values = np.asarray(a if isinstance(a, (list, tuple, np.ndarray)) else None, dtype)
    except (TypeError, ValueError, OverflowError):
        values = np.empty(0, dtype)
    if values.shape != (lanes,) or (isinstance(a, np.ndarray) and a.dtype != dtype):
        raise KernelArgumentError(f"{where} is a vector; got {a!r}, it needs {lanes} numbers in a tuple")
    return np.append(values, values[:1]) if lanes == 3 else values  # three lie in the room of four


def _check_local_memory(compiled: Compiled, args: list[Any]) -> None:
    """Drivers let a group have more than there is (PoCL), or die of it."""
    given = sum(a.nbytes for a in args if isinstance(a, Local))
    room = compiled.device.local_memory
    if given + compiled.local_memory > room:
        raise ValueError(
            f"{compiled.name}: a work-group needs {given + compiled.local_memory:,} bytes of local memory (arguments "
            f"{given:,}, arrays in the text {compiled.local_memory:,}); {compiled.device.name} has {room:,}"
        )


def _check_private_memory(compiled: Compiled, group: int) -> None:
    """On a CPU a thread's stack holds what a whole group keeps, and a stack that is too small ends the process."""
    needed = compiled.private_memory * group
    if compiled.device.kind == "cpu" and needed > _STACK:
        raise ValueError(
            f"{compiled.name}: {group} work-items in a group, each with {compiled.private_memory:,} bytes of variables "
            f"and arrays, need {needed:,} bytes; {compiled.device.name} has room for {_STACK:,}. Take fewer work-items "
            "in a group, or keep the array in global memory"
        )


def _size(size: Any, name: str) -> Size:
    sizes = (size,) if isinstance(size, (int, np.integer)) else size
    try:
        found = tuple(int(n.__index__()) for n in sizes)
    except (TypeError, AttributeError):
        raise TypeError(f"{name} is {size!r}; give an integer or a tuple of one to three") from None
    least = 1 if name == "local_size" else 0  # nothing to do is a launch; a group of nobody is none
    if not 1 <= len(found) <= 3 or min(found) < least:
        raise ValueError(f"{name} is {size!r}; it has one to three sizes, each of them {least} or more")
    if math.prod(found) > MAX_ELEMENTS:
        raise ValueError(f"{name} is {size!r}, more than the {MAX_ELEMENTS:,} work-items that an int numbers")
    return found


def _local_size(global_size: Size, local_size: Any, compiled: Compiled) -> Size:
    device = compiled.device
    if local_size is None and compiled.required_group is not None:
        local_size = compiled.required_group[: len(global_size)]
    if local_size is None:
        # With no local size drivers compile for each global size again; a divisor of it does not.
        first = max(n for n in range(1, 65) if global_size[0] % n == 0)
        return (first,) + (1,) * (len(global_size) - 1)
    local = _size(local_size, "local_size")
    if len(local) != len(global_size):
        raise ValueError(f"local_size {local} and global_size {global_size} differ in their number of dimensions")
    for g, n in zip(global_size, local, strict=True):
        if g % n:
            raise ValueError(
                f"global_size {global_size} is not a multiple of local_size {local}; round it up, and guard the kernel "
                "with 'if (i < n)'"
            )
    if math.prod(local) > device.max_group:
        raise ValueError(
            f"local_size {local} has {math.prod(local)} work-items; {device.name} runs at most {device.max_group} "
            "in a group"
        )
    for axis, (n, most) in enumerate(zip(local, device.max_group_axes, strict=False)):
        if n > most:
            raise ValueError(
                f"local_size {local} has {n} work-items along axis {axis}; {device.name} runs groups of at most {most} "
                "there"
            )
    return local
