"""Tensor: an Array and the history that made it. Its methods are PyTorch's, and each calls an op."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..array import Array, Shape
from ..device import Device
from ..dtypes import computed_in, float32, is_float
from ..errors import AutogradError
from ..kernels.checks import axis, boolean
from ..kernels.elementwise import copy
from .function import _tensor_classes
from .sharing import share

Number = float  # a name that Tensor.float does not hide


class Tensor:
    """An n-dimensional array on a device that remembers how it was computed.

    Made by `gpugrad.tensor`, `zeros`, `randn` and the like. `array` is the Array with its numbers; `grad` the
    gradient that `backward` left on a leaf; `grad_fn` the operation that made it (None for a leaf).
    """

    __slots__ = ("__weakref__", "_copied_by", "_grad", "_output", "_requires_grad", "array", "grad_fn")
    __array_priority__ = 1000  # np_array * tensor is the tensor's business

    array: Array
    _copied_by: str | None
    _output: int
    _grad: Tensor | None
    grad_fn: Any
    _requires_grad: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _tensor_classes.add(cls)

    def __init__(self, *args: Any, **kwargs: Any):
        raise TypeError("Tensor: make one with gpugrad.tensor(data), zeros(...), randn(...) and the like")

    @staticmethod
    def _wrap(array: Array) -> Tensor:
        """A tensor with no history on `array`."""
        t = Tensor.__new__(Tensor)
        t.array, t._requires_grad, t._grad, t.grad_fn, t._output = array, False, None, None, 0
        t._copied_by = None
        return t

    # What it is

    @property
    def shape(self) -> Shape:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return len(self.array.shape)

    @property
    def device(self) -> Device:
        return self.array.device

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` added up here; set it to None, or to a tensor of this one's shape and dtype."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._grad = None if value is None else _gradient_for(self, value)

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.array.size

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the number of elements along `dim`; IndexError where there is no such axis."""
        if dim is None:
            return self.shape
        if not self.shape:
            raise IndexError(f"size: dim is {dim!r}, and the tensor is 0-d; it has no axes")
        return self.shape[axis("size", dim, self.ndim)]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __repr__(self) -> str:
        with np.printoptions(precision=4, suppress=True, threshold=200):
            body = np.array2string(self.array.numpy(), separator=", ", prefix="tensor(")
        extra = "" if self.dtype in (np.float32, np.bool_, np.int32) else f", dtype={self.dtype}"
        if self.grad_fn is not None:
            extra += f", grad_fn={self.grad_fn!r}"
        elif self.requires_grad:
            extra += ", requires_grad=True"
        return f"tensor({body}{extra})"

    # To the host

    def numpy(self) -> np.ndarray:
        """A copy as a NumPy array; a tensor that needs a gradient is detached first, in so many words."""
        if self.requires_grad:
            raise AutogradError("numpy: this tensor requires a gradient, which NumPy cannot carry: .detach().numpy()")
        return self.array.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a tensor lives in device memory: NumPy can only have a copy")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.array.size != 1:
            raise ValueError(f"item: the tensor has shape {self.shape}; only one with a single element is a number")
        return self.array.numpy().item()

    def tolist(self) -> Any:
        return self.array.numpy().tolist()

    def __format__(self, spec: str) -> str:
        """f"{loss:.3f}" formats the number of a tensor with a single element."""
        return format(self.item(), spec) if spec else str(self)

    def __float__(self) -> Number:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.array.size != 1:
            raise ValueError(f"the truth of a tensor of shape {self.shape} is ambiguous; compare a single element")
        return bool(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iub" or self.array.size != 1:
            raise TypeError(f"a {self.dtype} tensor of shape {self.shape} is not an index; one integer is")
        return int(self.item())

    # Copies that Python makes

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise AutogradError("deepcopy: this tensor was computed, and its history cannot be copied; use .detach()")
        memory = ("memory", id(self.array.state), self.array.offset, self.array.size)
        first = memo.get(memory)  # on the same memory as this tensor: the copies share theirs as well
        twin = memo[id(self)] = self._like(copy(self.array) if first is None else first.array.reshape(self.shape))
        if first is None:
            memo[memory] = twin
        else:
            share(first, twin, apart=True)
        twin.grad = None if self.grad is None else self.grad.__deepcopy__(memo)
        return twin

    def __reduce__(self) -> Any:
        """Pickled as its numbers; it comes back on the device that is current then, on memory of its own."""
        if self.grad_fn is not None:
            raise AutogradError("pickle: this tensor was computed, and its history cannot be pickled; use .detach()")
        return _unpickle, (type(self), self.array.numpy(), self.requires_grad)

    def _of_its_own(self) -> Tensor:
        """The same memory and history, and nobody's copy any more: it may be changed in place."""
        twin = Tensor._wrap(self.array)
        twin._requires_grad, twin.grad_fn, twin._output = self._requires_grad, self.grad_fn, self._output
        return twin

    def _like(self, array: Array) -> Tensor:
        """A leaf of this class on another array."""
        twin = Tensor._wrap(array)
        twin.__class__ = type(self)
        twin._requires_grad = self._requires_grad
        return twin

    # Arithmetic, with broadcasting; the other operand may be a Python number

    def __add__(self, other: Any) -> Tensor:
        return ops.add(self, other)

    def __radd__(self, other: Any) -> Tensor:
        return ops.add(other, self)

    def __sub__(self, other: Any) -> Tensor:
        return ops.sub(self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return ops.sub(other, self)

    def __mul__(self, other: Any) -> Tensor:
        return ops.mul(self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return ops.mul(other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return ops.div(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return ops.div(other, self)

    def __pow__(self, other: Any) -> Tensor:
        return ops.pow(self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return ops.pow(other, self)

    def __neg__(self) -> Tensor:
        return ops.neg(self)

    def __abs__(self) -> Tensor:
        return ops.abs(self)

    def __matmul__(self, other: Any) -> Tensor:
        return ops.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return ops.matmul(other, self)

    def __invert__(self) -> Tensor:
        return ops.logical_not(_booleans("~", self))

    def __and__(self, other: Any) -> Tensor:
        return ops.logical_and(_booleans("&", self), _booleans("&", other))

    def __or__(self, other: Any) -> Tensor:
        return ops.logical_or(_booleans("|", self), _booleans("|", other))

    def __xor__(self, other: Any) -> Tensor:
        return ops.logical_xor(_booleans("^", self), _booleans("^", other))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    # Comparisons give bool tensors, so hashing goes by identity. With None, say, nothing can be compared: False.

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return ops.eq(self, other) if isinstance(other, _COMPARED) else NotImplemented

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return ops.ne(self, other) if isinstance(other, _COMPARED) else NotImplemented

    def __lt__(self, other: Any) -> Tensor:
        return ops.lt(self, other)

    def __le__(self, other: Any) -> Tensor:
        return ops.le(self, other)

    def __gt__(self, other: Any) -> Tensor:
        return ops.gt(self, other)

    def __ge__(self, other: Any) -> Tensor:
        return ops.ge(self, other)

    def __hash__(self) -> int:
        return id(self)

    # Element-wise functions

    def add(self, other: Any, *, alpha: Number = 1) -> Tensor:
        return ops.add(self, other, alpha=alpha)

    def sub(self, other: Any, *, alpha: Number = 1) -> Tensor:
        return ops.sub(self, other, alpha=alpha)

    def mul(self, other: Any) -> Tensor:
        return ops.mul(self, other)

    def div(self, other: Any) -> Tensor:
        return ops.div(self, other)

    def pow(self, exponent: Any) -> Tensor:
        return ops.pow(self, exponent)

    def neg(self) -> Tensor:
        return ops.neg(self)

    def exp(self) -> Tensor:
        return ops.exp(self)

    def log(self) -> Tensor:
        return ops.log(self)

    def sqrt(self) -> Tensor:
        return ops.sqrt(self)

    def abs(self) -> Tensor:
        return ops.abs(self)

    def relu(self) -> Tensor:
        return ops.relu(self)

    def sigmoid(self) -> Tensor:
        return ops.sigmoid(self)

    def tanh(self) -> Tensor:
        return ops.tanh(self)

    def sin(self) -> Tensor:
        return ops.sin(self)

    def cos(self) -> Tensor:
        return ops.cos(self)

    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        return ops.clamp(self, min, max)

    def clone(self) -> Tensor:
        return ops.clone(self)

    def to(self, dtype: Any) -> Tensor:
        """Of another dtype (`gpugrad.float64`), or on another device (a `gpugrad.Device`)."""
        return ops.to(self, dtype)

    def float(self) -> Tensor:
        """`.to(gpugrad.float32)`, as in `(guess == label).float().mean()`"""
        return ops.to(self, float32)

    # Matrices

    def matmul(self, other: Any) -> Tensor:
        return ops.matmul(self, other)

    def dot(self, other: Any) -> Tensor:
        return ops.dot(self, other)

    # Parts

    def __getitem__(self, key: Any) -> Tensor:
        return ops.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        ops.setitem(self, key, value)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("a 0-d tensor cannot be iterated over")
        return (self[i] for i in range(self.shape[0]))

    def index_select(self, dim: int, index: Any) -> Tensor:
        return ops.index_select(self, dim, index)

    # Shapes

    def reshape(self, *sizes: Any, shape: Any = None) -> Tensor:
        return ops.reshape(self, _several("reshape", sizes, "shape", shape))

    def view(self, *sizes: Any, size: Any = None) -> Tensor:
        return ops.view(self, _several("view", sizes, "size", size))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        return ops.flatten(self, start_dim, end_dim)

    def squeeze(self, dim: Any = None) -> Tensor:
        return ops.squeeze(self, dim)

    def unsqueeze(self, dim: int) -> Tensor:
        return ops.unsqueeze(self, dim)

    def permute(self, *order: Any, dims: Any = None) -> Tensor:
        return ops.permute(self, _several("permute", order, "dims", dims))

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        return ops.transpose(self, dim0, dim1)

    @property
    def T(self) -> Tensor:
        """All axes in reverse order; a copy."""
        return ops.reverse_axes(self)

    def expand(self, *sizes: Any, size: Any = None) -> Tensor:
        return ops.expand(self, _several("expand", sizes, "size", size))

    def flip(self, *axes: Any, dims: Any = None) -> Tensor:
        return ops.flip(self, _several("flip", axes, "dims", dims))

    # Reductions

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        return ops.sum(self, dim, keepdim, dtype=dtype)

    def mean(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
        return ops.mean(self, dim, keepdim, dtype=dtype)

    def max(self, dim: Any = None, keepdim: bool = False) -> Any:
        return ops.max(self, dim, keepdim)

    def min(self, dim: Any = None, keepdim: bool = False) -> Any:
        return ops.min(self, dim, keepdim)

    def amax(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return ops.amax(self, dim, keepdim)

    def amin(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return ops.amin(self, dim, keepdim)

    def argmax(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return ops.argmax(self, dim, keepdim)

    def argmin(self, dim: Any = None, keepdim: bool = False) -> Tensor:
        return ops.argmin(self, dim, keepdim)

    def var(self, dim: Any = None, keepdim: bool = False, *, correction: Number = 1) -> Tensor:
        return ops.var(self, dim, keepdim, correction=correction)

    # In place: into this tensor's own memory, by the operator (x += 1) too

    def zero_(self) -> Tensor:
        return inplace.assign("zero_", self, 0)

    def fill_(self, value: Any) -> Tensor:
        return inplace.assign("fill_", self, value)

    def copy_(self, src: Tensor) -> Tensor:
        """`src` is cast to this tensor's dtype and repeated to its shape."""
        return inplace.assign("copy_", self, src)

    def add_(self, other: Any, *, alpha: Number = 1) -> Tensor:
        return inplace.update("add_", "add", self, other if alpha == 1 else times_alpha("add_", alpha, self, other))

    def sub_(self, other: Any, *, alpha: Number = 1) -> Tensor:
        return inplace.update("sub_", "sub", self, other if alpha == 1 else times_alpha("sub_", alpha, self, other))

    def mul_(self, other: Any) -> Tensor:
        return inplace.update("mul_", "mul", self, other)

    def div_(self, other: Any) -> Tensor:
        return inplace.update("div_", "div", self, other)

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    # History

    def detach(self) -> Tensor:
        """The same memory without a history."""
        twin = Tensor._wrap(self.array)
        twin._copied_by = self._copied_by
        share(self, twin, apart=True)
        return twin

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        requires_grad = boolean("requires_grad_", "requires_grad", requires_grad)
        if self.grad_fn is not None:
            if not requires_grad:
                raise AutogradError("requires_grad_: this tensor was computed; use .detach() to leave its history")
            return self
        if requires_grad and not is_float(self.dtype):
            raise TypeError(f"requires_grad_: the tensor is {self.dtype}; only floating-point tensors have gradients")
        self._requires_grad = requires_grad
        return self

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """Add this tensor's gradient to `.grad` of every leaf it depends on.

        `gradient`: the gradient of some scalar with respect to this tensor; None for a scalar. The graph is freed
        unless `retain_graph` (None means `create_graph`).
        """
        engine.backward([self], [gradient], retain_graph, create_graph)


#: What == and != compare element by element, or refuse with a hint.
_COMPARED = (Tensor, numbers.Number, np.generic, np.ndarray, list, tuple)


def _unpickle(cls: type[Tensor], host: np.ndarray, requires_grad: bool) -> Tensor:
    tensor = Tensor._wrap(Array.from_numpy(host))
    tensor.__class__ = cls
    return tensor.requires_grad_(requires_grad)


def _gradient_for(tensor: Tensor, value: Any) -> Tensor:
    """`value` as the `.grad` of `tensor`: it fits, and may be changed in place, whatever operation made it."""
    if value.__class__ not in _tensor_classes:
        raise TypeError(f"grad: the gradient is {type(value).__name__}; it must be a tensor or None")
    if value is tensor:
        raise ValueError("grad: a tensor cannot be its own gradient; give it a .clone()")
    # A GradScaler leaves float32 gradients on half parameters.
    if value.shape != tensor.shape or value.dtype not in (tensor.dtype, computed_in(tensor.dtype)):
        raise ValueError(
            f"grad: the gradient is {value.dtype}{value.shape}; it must be like the tensor, "
            f"{tensor.dtype}{tensor.shape}"
        )
    if value.device is not tensor.device:
        raise ValueError(f"grad: the gradient is on {value.device}, the tensor on {tensor.device}; put both on one")
    return value if value._copied_by is None else value._of_its_own()


def _booleans(operator: str, x: Any) -> Any:
    """The operand of a logical operator; numbers are combined by comparisons first."""
    if not isinstance(x, bool) and getattr(x, "dtype", None) != np.bool_:
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{operator}: the operand is {kind}; it must be a bool tensor, as comparisons give it")
    return x


def _several(function: str, sizes: tuple[Any, ...], name: str, named: Any) -> Any:
    """`x.reshape(2, 3)`, `x.reshape((2, 3))` and `x.reshape(shape=(2, 3))` are the same."""
    if named is not None:
        if sizes:
            raise TypeError(f"{function}: {name} is given twice, by position and by name")
        return named
    return sizes[0] if len(sizes) == 1 and not hasattr(sizes[0], "__index__") else sizes


_tensor_classes.add(Tensor)

# Ops are functions of tensors, and methods of Tensor call them: whichever comes first needs the other.
from . import engine, inplace, ops  # noqa: E402
from .ops.elementwise.arithmetic import times_alpha  # noqa: E402
