"""Array: numbers in device memory, C-contiguous. Kernels work on Arrays; a Tensor is an Array with a history."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .device import Device, current_device
from .dtypes import C_NAME, as_dtype
from .memory import Block, pool

MAX_ELEMENTS = 2**31 - 1  # kernels index with int

Shape = tuple[int, ...]


class State:
    """What all Arrays on the same memory share: how often it was written, and by whom last."""

    __slots__ = ("lookers", "version", "writer")

    def __init__(self) -> None:
        self.version = 0
        #: None: nobody wrote it yet; "host"; or the number of the launch that did.
        self.writer: str | int | None = None
        #: Tensors that look at this memory, where several do or did; autograd/sharing.py says how.
        self.lookers: dict[int, Any] | None = None


class Array:
    """A C-contiguous n-dimensional array in a device's memory: (block, offset, shape, dtype).

    Attributes: `shape`, `dtype` (NumPy's), `ndim`, `size` (elements), `nbytes`, `device`, and `buffer`, the
    pyopencl buffer (or sub-buffer) that a kernel takes.
    """

    __slots__ = ("__weakref__", "_sub_buffer", "block", "device", "dtype", "offset", "shape", "size", "state")

    def __init__(
        self, block: Block, offset: int, shape: Shape, dtype: np.dtype, size: int, device: Device, state: State
    ):
        self.block, self.offset, self.shape, self.dtype, self.size = block, offset, shape, dtype, size
        self.device, self.state = device, state
        self._sub_buffer: Any = None

    @staticmethod
    def empty(shape: Sequence[int], dtype: Any = np.float32, device: Device | None = None) -> Array:
        """An Array whose contents nobody has written yet."""
        try:
            shape = tuple(shape)
            size = math.prod(shape)
        except TypeError:
            shape = as_shape("Array.empty", shape)
        if size.__class__ is not int:  # NumPy's integers, or what is none
            shape = as_shape("Array.empty", shape)
            size = math.prod(shape)
        if not isinstance(dtype, np.dtype) or dtype not in C_NAME:
            dtype = as_dtype(dtype)
        if size > MAX_ELEMENTS:
            raise ValueError(
                f"an array of shape {shape} has {size:,} elements; kernels index with 32-bit int, so {MAX_ELEMENTS:,} "
                "is the most. Work in smaller batches."
            )
        if size < 0 or (size == 0 and not all(0 <= n <= MAX_ELEMENTS for n in shape)):
            raise ValueError(f"shape is {shape}; sizes cannot be negative, nor above {MAX_ELEMENTS:,}")
        if device is None:
            device = current_device()
        elif device.__class__ is not Device:
            raise TypeError(
                f"device is {device!r}; it must be a gpugrad.Device, such as one of gpugrad.devices(). "
                "gpugrad.use_device chooses by kind, name or number"
            )
        if device.lost:
            device.check_alive()
        block = pool(device).allocate(size * dtype.itemsize)
        return Array(block, 0, shape, dtype, size, device, State())

    @staticmethod
    def from_numpy(a: Any, dtype: Any = None, device: Device | None = None) -> Array:
        """A copy of `a` (anything NumPy can make an array of) on the device.

        Integer types other than int32, uint8 and bool become int32 (ValueError where a value does not fit).
        """
        host = to_host(a, dtype)
        array = Array.empty(host.shape, host.dtype, device)
        array.write(host)
        return array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def buffer(self) -> Any:
        if self.offset == 0 and self._sub_buffer is None:
            return self.block.buffer
        if self._sub_buffer is None:
            self._sub_buffer = self.block.buffer[self.offset : self.offset + max(self.nbytes, 1)]
        return self._sub_buffer

    def write(self, host: np.ndarray) -> None:
        """Overwrite the contents from a NumPy array of the same shape and dtype, which may be changed at once."""
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"write: host is {host.dtype}{host.shape}; this array is {self.dtype}{self.shape}")
        if self.size:
            self.device.upload(self.buffer, host)
        self.state.writer = "host"
        self.state.version += 1

    def numpy(self) -> np.ndarray:
        """A copy on the host; waits for the launches that produce it. IndexError when a kernel met a bad index."""
        from .guards import check_guards

        self.device.check_alive()
        host = np.empty(self.shape, self.dtype)
        if self.size:
            self.device.download(host, self.buffer)
        check_guards(self.device)
        return host

    def reshape(self, *shape: Any) -> Array:
        """The same memory under another shape; one size may be -1."""
        if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
            shape = tuple(shape[0])
        return self._view(infer_shape(self.shape, self.size, shape), self.offset)

    def _view(self, shape: Shape, offset: int) -> Array:
        view = Array(self.block, offset, shape, self.dtype, math.prod(shape), self.device, self.state)
        if offset == self.offset:
            view._sub_buffer = self._sub_buffer
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an Array lives in device memory: NumPy can only have a copy")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype)

    def __copy__(self) -> Array:
        return self._view(self.shape, self.offset)

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        twin = memo[id(self)] = Array.from_numpy(self.numpy(), device=self.device)
        return twin

    def __reduce__(self) -> Any:
        """Pickled as its numbers; it comes back on the device that is current then."""
        return Array.from_numpy, (self.numpy(),)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d Array")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Array(shape={self.shape}, dtype={self.dtype})"


def as_shape(function: str, shape: Any, name: str = "shape") -> Shape:
    """`shape` as a tuple of Python integers; TypeError where it is none."""
    try:
        if isinstance(shape, str) or any(isinstance(n, (bool, np.bool_)) for n in shape):
            raise TypeError
        return tuple([operator.index(n) for n in shape])
    except TypeError:
        raise TypeError(f"{function}: {name} is {shape!r}; it must be a tuple of integers") from None


def to_host(a: Any, dtype: Any = None) -> np.ndarray:
    """`a` as a contiguous NumPy array of one of the six element types."""
    if isinstance(a, Array):
        a = a.numpy()
    if np.ma.is_masked(a):
        raise TypeError(
            "the data is a masked array with masked elements, and a tensor has no mask; use its .filled(...)"
        )
    try:
        host = np.asarray(a)
    except ValueError as error:
        raise ValueError(f"the data is ragged or not numeric: {error}") from error
    if host.dtype.kind == "O":
        host = _from_objects(host, dtype)
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))  # big-endian, as files of other machines hold it
    if host.dtype.kind not in "fiub":
        raise TypeError(f"data of type {host.dtype} cannot become a tensor; it needs numbers or booleans")
    if dtype is None:
        dtype = host.dtype if host.dtype in C_NAME else (np.int32 if host.dtype.kind in "iu" else np.float64)
        if host.dtype.kind == "f" and host.dtype.itemsize > 8:
            raise TypeError(f"data of type {host.dtype} is wider than float64; convert it first")
    dtype = as_dtype(dtype)
    if host.dtype.kind in "iuf" and dtype.kind in "iu" and host.size and host.dtype != dtype:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        # A NaN makes both comparisons false. int32's bounds are floats without rounding only in float64.
        least, most = (host.min(), host.max()) if host.dtype.kind != "f" else (float(host.min()), float(host.max()))
        if not (least > low - 1 and most < high + 1):
            raise ValueError(f"the data reaches from {least} to {most}, and {dtype} holds {low} to {high}")
    # Not ascontiguousarray, which makes 0-d arrays 1-d.
    return np.asarray(host, dtype=dtype, order="C")


def _from_objects(host: np.ndarray, dtype: Any) -> np.ndarray:
    """Python objects as numbers: NumPy keeps integers too large for its types as objects, which floats may hold."""
    for item in host.flat:
        if not isinstance(item, (bool, int, float, np.number, np.bool_)):
            kind = type(item).__name__
            raise TypeError(f"data with {kind} inside cannot become a tensor; it needs numbers or booleans")
    bits = max((item.bit_length() for item in host.flat if isinstance(item, int)), default=0)
    if dtype is not None and as_dtype(dtype).kind == "f" and bits <= 1023:
        return host.astype(np.float64)
    if bits >= 64:
        raise ValueError(f"the data holds an integer of {bits} bits, and int32 holds 32; write it as a float, 1e10 say")
    return np.array(host.tolist())


def infer_shape(old: Shape, size: int, shape: Sequence[Any], name: str = "reshape") -> Shape:
    """`shape` with its one -1 filled in; ValueError when it does not hold exactly `size` elements."""
    try:
        new = [int(n.__index__()) for n in shape]
    except AttributeError as error:
        raise TypeError(f"{name}: shape is {tuple(shape)!r}; sizes are integers") from error
    unknown = [i for i, n in enumerate(new) if n == -1]
    known = math.prod(n for n in new if n != -1)
    if len(unknown) > 1 or any(n < -1 for n in new):
        raise ValueError(f"{name}: shape is {tuple(new)}; one size may be -1, the others are 0 or more")
    if unknown:
        if known == 0 or size % known:
            raise ValueError(f"{name}: {old} has {size} elements; no -1 makes {tuple(new)} hold them")
        new[unknown[0]] = size // known
    elif known != size:
        raise ValueError(f"{name}: {old} has {size} elements and {tuple(new)} has {known}; they must be equal")
    return tuple(new)
