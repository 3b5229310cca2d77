"""The element types of tensors: NumPy's own dtype objects, under PyTorch's names."""

from __future__ import annotations

import numpy as np

float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
int32 = np.dtype(np.int32)
uint8 = np.dtype(np.uint8)
bool_ = np.dtype(np.bool_)

FLOATS = (float16, float32, float64)

#: What global memory holds, in OpenCL C.
C_NAME = {float16: "half", float32: "float", float64: "double", int32: "int", uint8: "uchar", bool_: "uchar"}

#: What is computed and accumulated in for each of them.
C_COMPUTE = {float16: "float", float32: "float", float64: "double", int32: "int", uint8: "int", bool_: "int"}

_COMPUTED: dict[np.dtype, np.dtype] = {
    float16: float32, float32: float32, float64: float64, int32: int32, uint8: int32, bool_: int32,
}  # fmt: skip

# Later entries absorb earlier ones; PyTorch's rules, with the types there are.
_RANK = {bool_: 0, uint8: 1, int32: 2, float16: 3, float32: 4, float64: 5}


def as_dtype(dtype: object, argument: str = "dtype") -> np.dtype:
    """`dtype` as one of the six element types; TypeError names the ones there are."""
    try:
        found = np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        found = None
    # np.dtype(None) means float64 to NumPy, and a forgotten argument to everybody else; an array means its own type.
    an_array = hasattr(dtype, "__array__") and not isinstance(dtype, type)
    if dtype is None or an_array or found not in C_NAME:
        given = f"a {type(dtype).__name__}" if an_array else repr(dtype)
        raise TypeError(f"{argument} is {given}; gpugrad has float16, float32, float64, int32, uint8 and bool")
    return found


def computed_in(dtype: np.dtype) -> np.dtype:
    """What a `dtype` is computed and accumulated in, and what partial results of several launches are kept in."""
    return _COMPUTED[dtype]


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS


_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2}  # of NumPy's kinds: booleans, integers, floating point


def result_type(a: np.dtype, b: np.dtype, a_ndim: int, b_ndim: int) -> np.dtype:
    """The type of `a op b` for tensors of these numbers of dimensions, as in PyTorch.

    A 0-d tensor beside one with dimensions counts only where it is of a higher category, as 0-d float64 beside int32.
    """
    if (a_ndim == 0) != (b_ndim == 0):
        main, number = (a, b) if b_ndim == 0 else (b, a)
        if _CATEGORY[main.kind] >= _CATEGORY[number.kind]:
            return main
    return promote(a, b)


def promote(a: np.dtype, b: np.dtype) -> np.dtype:
    """The type that holds both, as in PyTorch: the wider kind wins, then the wider type."""
    if a == b:
        return a
    return a if _RANK[a] > _RANK[b] else b
