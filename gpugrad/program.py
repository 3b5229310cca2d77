"""From OpenCL C text to kernels that run: declarations, builds, and the one place where launches happen.

A family declares each kernel of its `.cl` file once, with what every buffer argument is:

    IM2COL = Kernel("im2col.cl", "im2col", x="in N C H W", col="out N (C KH KW) (OH OW)")

and launches it with

    IM2COL.launch(x.dtype, (L, C * KH * KW, N), (64, 1, 1), x, col, C, H, W, ...)
"""

from __future__ import annotations

import contextlib
import importlib.resources
import itertools
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import Array
from .build_errors import explain, uncounted
from .device import Device, switched_on
from .dtypes import C_COMPUTE, C_NAME, as_dtype
from .errors import GpugradError, KernelBuildError, OutOfDeviceMemory
from .memory import is_out_of_memory, pool

if TYPE_CHECKING:
    from .source import Lowered

ROLES = ("in", "out", "inout", "partial", "scratch")
# -cl-mad-enable lets a*b+c become one instruction; never fast-relaxed-math, which loses NaN.
OPTIONS = ("-cl-std=CL1.2", "-cl-mad-enable", "-cl-kernel-arg-info")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

Size = tuple[int, ...]
Define = tuple[str, str]


@dataclass(frozen=True)
class Argument:
    """What a kernel does with one buffer: `role` and the meaning of its axes ("N", "C", "(C KH KW)" ...).

    Roles: in; out (every element is written); inout; partial (some elements are written); scratch.
    """

    name: str
    role: str
    axes: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        return self.role != "in"

    @staticmethod
    def parse(name: str, text: str) -> Argument:
        role, *rest = text.split(maxsplit=1)
        if role not in ROLES:
            raise ValueError(f"argument {name}: {text!r} starts with {role!r}; a role is one of {', '.join(ROLES)}")
        axes, depth = [""], 0
        for letter in rest[0] if rest else "":
            depth += (letter == "(") - (letter == ")")
            if letter == " " and depth == 0:
                axes.append("")
            else:
                axes[-1] += letter
        return Argument(name, role, tuple(a for a in axes if a))


class Local:
    """A `__local` kernel argument: room for `n` elements of `dtype` in each work-group's local memory."""

    def __init__(self, n: int, dtype: Any = np.float32):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"Local: n is {n!r}; it is how many elements the array has, an integer")
        self.n, self.dtype = int(n), as_dtype(dtype, "Local: dtype")
        if self.n < 1:
            raise ValueError(f"Local: n is {n}; a local array has at least one element")

    @property
    def nbytes(self) -> int:
        return self.n * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Local({self.n}, {self.dtype})"


@cache
def source_text(file: str) -> str:
    """The text of a `.cl` file of `gpugrad.kernels`."""
    return importlib.resources.files("gpugrad.kernels").joinpath(file).read_text(encoding="utf-8")


class Kernel:
    """A kernel in a `.cl` file of the package: plain text, and what its buffer arguments are.

    Every keyword declares one buffer argument as "role axes". Scalars need no declaration.
    """

    def __init__(self, file: str, name: str, /, **arguments: str):
        self.file, self.name = file, name
        self.arguments = {n: Argument.parse(n, text) for n, text in arguments.items()}
        declared.append(self)

    @property
    def source(self) -> str:
        return source_text(self.file)

    def __repr__(self) -> str:
        return f"<Kernel {self.name} of {self.file}>"

    def compiled(self, device: Device, dtype: np.dtype, defines: tuple[Define, ...] = ()) -> Compiled:
        """This kernel built for a device, with T holding `dtype`; `defines` are (macro, text) pairs."""
        key = (self, dtype, defines)
        found = device.kernels.get(key)
        if found is None:
            if dtype.itemsize == 8 and not device.has_float64:
                raise TypeError(f"{self.name}: {device} has no float64; convert with .to(gpugrad.float32)")
            types = (("T", C_NAME[dtype]), ("A", C_COMPUTE[dtype]))
            found = device.kernels[key] = Compiled(
                device, self.source, self.name, self.arguments, types, defines, file=self.file
            )
        return found

    def launch(
        self, dtype: np.dtype, global_size: Size, local_size: Size, *args: Any, defines: tuple[Define, ...] = ()
    ) -> None:
        """Enqueue the kernel. `global_size` is padded to a multiple of `local_size`: guard accesses in the kernel.

        `dtype` is what T holds. Buffers are Arrays (the first one says which device), scalars Python numbers.
        """
        for a in args:
            if a.__class__ is Array:
                self.compiled(a.device, dtype, defines)(global_size, local_size, *args)
                return
        raise TypeError(f"{self.name}: no argument is an Array, so no device to run on")


declared: list[Kernel] = []
"""Every kernel of the package that has been imported, for tests and tools that go through all of them."""


class Compiled:
    """A kernel built for one device. Calling it is the one way anything is launched in gpugrad.

    Attributes: `name`, `source` (the text as its author wrote it), `file`, `types` and `defines` ((macro, text)
    pairs given to the compiler), `parameters` (name, type, address space of each argument), `arguments`
    (declarations by name), `written` (positions of the arguments that it may write).

    Half is a way to store: where the text or a macro says `half`, every access to it becomes a vload_half or a
    vstore_half before the text is built, and what is computed is float. No device needs an extension for that.
    """

    def __init__(
        self,
        device: Device,
        source: str,
        name: str,
        arguments: dict[str, Argument],
        types: tuple[Define, ...] = (),
        defines: tuple[Define, ...] = (),
        file: str = "<your kernel>",
    ):
        import pyopencl as cl

        self.device, self.source, self.name, self.file = device, source, name, file
        self.types, self.defines = types, defines
        self.prelude = "".join(f"#define {macro} {text}\n" for macro, text in defines)
        self.options = (*OPTIONS, *device.build_options, *(f"-D{macro}={text}" for macro, text in types))
        lowered = _lowered(device, source, dict((*types, *defines)))
        text, skip = self.prelude + source, len(defines)
        if lowered is not None:
            text, skip, self.options = lowered.text, 0, (*OPTIONS, *device.build_options)
        # The columns of lowered text are others.
        explained = partial(explain, source=source, skip=skip, file=file, caret=lowered is None)
        self._program, self.cl_kernel = _kernel(device, text, self.options, name, file, explained)
        self.parameters = _parameters(self.cl_kernel, lowered)
        self.arguments = arguments
        names = [p.name for p in self.parameters]
        unknown = set(arguments) - set(names)
        if unknown:
            raise ValueError(f"{name}: {', '.join(sorted(unknown))} declared, but its arguments are {', '.join(names)}")
        info = cl.kernel_work_group_info.LOCAL_MEM_SIZE
        #: Bytes of local arrays that the text declares.
        self.local_memory: int = self.cl_kernel.get_work_group_info(info, device.cl_device)
        asked = self.cl_kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device.cl_device)
        #: The one size of a work-group that the text allows, by reqd_work_group_size; None where it allows any.
        self.required_group: Size | None = tuple(asked) if any(asked) else None
        #: Bytes of private variables that the text declares, where somebody has looked: no driver says.
        self.private_memory = 0
        #: What the trace layer makes of this kernel; goes away with it.
        self.instrumented: dict[Any, Any] = {}
        self.cl_kernel.set_scalar_arg_dtypes([p.scalar for p in self.parameters])
        # A buffer that is not declared (a student's kernel) may be written, unless it is const.
        self.written = tuple(
            i
            for i, p in enumerate(self.parameters)
            if p.space == "global" and (arguments[p.name].written if p.name in arguments else not p.const)
        )

    def __repr__(self) -> str:
        return f"<Compiled {self.name} for {self.device.name}>"

    def __call__(self, global_size: Size, local_size: Size, *args: Any) -> None:
        if len(args) != len(self.parameters):
            wanted = ", ".join(f"{p.type} {p.name}" for p in self.parameters)
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments ({wanted}), got {len(args)}")
        padded = tuple([-(-g // n) * n for g, n in zip(global_size, local_size, strict=True)])
        if 0 in padded:
            return
        if self.required_group is not None:
            self._check_group(self.required_group, local_size)
        interceptors = _interceptors.get()
        if interceptors or _observers:
            launch = Launch(next(_numbers), self, args, padded, local_size)
            run: Callable[[], None] = launch.run
            for intercept in interceptors:
                run = _wrap(intercept, launch, run)
            run()
            for observe in tuple(_observers.values()):
                observe(launch)
        else:
            self.enqueue(padded, local_size, args, next(_numbers))

    def _check_group(self, required: Size, local_size: Size) -> None:
        """Drivers refuse another size by the name of an error alone."""
        if (*local_size, 1, 1)[:3] != required:
            raise ValueError(
                f"{self.name}: local_size is {local_size}, and reqd_work_group_size{required} in the kernel's text "
                "allows that size alone; launch it in such groups, or take the attribute out"
            )

    def enqueue(self, global_size: Size, local_size: Size, args: tuple[Any, ...], number: int) -> Any:
        """Set the arguments and enqueue; gives the pyopencl event. Only `Launch.run` and `__call__` come here."""
        import pyopencl as cl

        device = self.device
        if device.lost:
            device.check_alive()
        values = [_value(a, device, self.name) for a in args]
        try:
            # One lock: another thread must not change the arguments between setting them and enqueuing.
            with device.lock:
                self.cl_kernel.set_args(*values)
                event = cl.enqueue_nd_range_kernel(device.queue, self.cl_kernel, global_size, local_size)
        except cl.Error as error:
            event = self._retry(error, values, global_size, local_size)
        self.note_writes(args, number)
        if _sync:
            device.guarded(f"the launch of {self.name}", event.wait)
        return event

    def note_writes(self, args: tuple[Any, ...], number: int) -> None:
        """Remember that launch `number` has written the arguments in `self.written`."""
        for i in self.written:
            state = args[i].state
            state.version += 1
            state.writer = number

    def _retry(self, error: Exception, values: list[Any], global_size: Size, local_size: Size) -> Any:
        import pyopencl as cl

        device = self.device
        device.raise_if_lost(f"the launch of {self.name}", error)
        if is_out_of_memory(error):
            pool(device).release_cached()
            try:
                with device.lock:
                    self.cl_kernel.set_args(*values)
                    return cl.enqueue_nd_range_kernel(device.queue, self.cl_kernel, global_size, local_size)
            except cl.Error as again:
                if is_out_of_memory(again):
                    raise OutOfDeviceMemory(
                        f"{self.name}: {device.name} has not enough memory or registers to launch {global_size} "
                        f"work-items in groups of {local_size} ({again})"
                    ) from again
                error = again
        raise GpugradError(
            f"{self.name}: {device.name} refuses to launch {global_size} work-items in groups of {local_size} ({error})"
        ) from error


def _value(a: Any, device: Device, name: str) -> Any:
    """An argument as pyopencl takes it."""
    if a.__class__ is Array:
        if a.device is not device:
            a.device.check_alive()
            raise ValueError(f"{name}: arrays on {a.device} and on {device} do not mix; move them to one device")
        return a.buffer
    if a.__class__ is Local:
        import pyopencl as cl

        return cl.LocalMemory(a.nbytes)
    return a


@dataclass(frozen=True)
class Parameter:
    """One argument of a compiled kernel, as the compiler sees it."""

    name: str
    type: str  # "float*", "int"
    space: str  # "global", "constant", "local", "private"
    const: bool
    scalar: np.dtype | None  # of a scalar that a Python number fits


#: OpenCL C's types that a Python number fits, and NumPy's names for them.
SCALARS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "size_t": "u8", "float": "f4", "double": "f8", "half": "f2",
    "unsigned char": "u1", "unsigned short": "u2", "unsigned int": "u4", "unsigned long": "u8",
}  # fmt: skip


def _parameters(kernel: Any, lowered: Lowered | None) -> tuple[Parameter, ...]:
    import pyopencl as cl

    space = cl.kernel_arg_address_qualifier
    spaces = {space.GLOBAL: "global", space.CONSTANT: "constant", space.LOCAL: "local", space.PRIVATE: "private"}
    info = cl.kernel_arg_info
    found = []
    declared = lowered.kernels[kernel.function_name].arguments if lowered else ()
    for i in range(kernel.num_args):
        ctype = kernel.get_arg_info(i, info.TYPE_NAME)
        if declared and declared[i].space and declared[i].scalar == "half":
            ctype = ctype.replace("ushort", "half")
        qualifier = kernel.get_arg_info(i, info.TYPE_QUALIFIER)
        where = spaces[kernel.get_arg_info(i, info.ADDRESS_QUALIFIER)]
        scalar = np.dtype(SCALARS[ctype]) if where == "private" and ctype in SCALARS else None
        const = where == "constant" or bool(qualifier & cl.kernel_arg_type_qualifier.CONST)
        found.append(Parameter(kernel.get_arg_info(i, info.NAME), ctype, where, const, scalar))
    return tuple(found)


def _lowered(device: Device, source: str, macros: dict[str, str]) -> Lowered | None:
    """The text with half only as a way to store; None where there is no half in it, or that cannot be done.

    In that case the compiler sees the text as it stands, and says what it makes of it.
    """
    if "half" not in macros.values() and not re.search(r"\bhalf\d*\b", COMMENT.sub(" ", source)):
        return None
    from .source import SourceError, enables_half, lower

    if enables_half(source):
        return None
    extensions = frozenset(device.cl_device.extensions.split())
    try:
        return lower(source, macros, extensions, by_hand=device.kind == "cpu")
    except SourceError:
        return None


_build_lock = threading.RLock()


def _kernel(
    device: Device, text: str, options: tuple[str, ...], name: str, file: str, explained: Callable[[str], str]
) -> tuple[Any, Any]:
    """A pyopencl Program and a Kernel of it; while somebody holds it, a text with its options is built only once.

    `explained` makes sentences of a build log.
    """
    import pyopencl as cl

    with _build_lock:
        program = device.programs.get((text, options))
        if program is None:
            device.check_alive()
            try:
                with warnings.catch_warnings(), uncounted():
                    # Some drivers have something to say about every build.
                    warnings.simplefilter("ignore", cl.CompilerWarning)
                    # The drivers cache what they compile; pyopencl's cache on top of theirs only adds lock files.
                    program = cl.Program(device.context, text).build(list(options), cache_dir=False)  # type: ignore[arg-type]
            except cl.Error as error:
                device.raise_if_lost(f"the build of {name}", error)
                raise KernelBuildError(explained(str(error))) from None
            device.programs[(text, options)] = program
        try:
            return program, cl.Kernel(program, name)
        except cl.Error as error:
            names = program.kernel_names.replace(";", ", ") or "none"
            why = f"its kernels are: {names}"
            if f"_cl_{name}" in names:  # in PoCL such a name is a macro
                why = f"{name} is a built-in function of OpenCL C, so give the kernel another name"
            raise GpugradError(f"there is no kernel {name!r} in {file}; {why}") from error


@dataclass
class Launch:
    """One launch, as observers and interceptors see it."""

    number: int
    kernel: Compiled
    args: tuple[Any, ...]
    global_size: Size
    local_size: Size
    event: Any = None
    instrumented: bool = False  # what ran was the recording or the checking form of the kernel

    def run(self) -> None:
        """Enqueue it, as it is."""
        self.event = self.kernel.enqueue(self.global_size, self.local_size, self.args, self.number)

    def named_args(self) -> dict[str, Any]:
        return {p.name: a for p, a in zip(self.kernel.parameters, self.args, strict=True)}


Interceptor = Callable[[Launch, Callable[[], None]], None]

_numbers = itertools.count(1)
_sync = switched_on("GPUGRAD_SYNC")
_interceptors: ContextVar[tuple[Interceptor, ...]] = ContextVar("gpugrad_interceptors", default=())
_observers: dict[int, Callable[[Launch], None]] = {}
_observer_ids = itertools.count()


def _wrap(intercept: Interceptor, launch: Launch, run: Callable[[], None]) -> Callable[[], None]:
    return lambda: intercept(launch, run)


@contextlib.contextmanager
def intercepting(interceptor: Interceptor) -> Iterator[None]:
    """For the block, in this thread, each launch goes through `interceptor(launch, run)`, which calls `run()`."""
    token = _interceptors.set((*_interceptors.get(), interceptor))
    try:
        yield
    finally:
        _interceptors.reset(token)


def intercepted() -> bool:
    """Is there an interceptor in this thread?"""
    return bool(_interceptors.get())


class Handle:
    """What `on_launch` returns; `.remove()` stops the callback."""

    def __init__(self, number: int):
        self._number = number

    def remove(self) -> None:
        _observers.pop(self._number, None)


def on_launch(callback: Callable[[Launch], None]) -> Handle:
    """Call `callback(launch)` after each launch, in every thread, until the returned handle's `.remove()`."""
    if not callable(callback):
        raise TypeError(f"on_launch: callback is {callback!r}; it must be callable with one Launch")
    number = next(_observer_ids)
    _observers[number] = callback
    return Handle(number)
