"""What a launch has to do at the least: floating-point operations, and bytes to and from memory.

A profile divides them by the time. Operations are counted for products of matrices and convolutions, one multiplication
and one addition for each pair of factors; those with padding count, as is usual. Bytes are those of each argument, read
or written once, as its role says; where a kernel touches only a part of an argument, it stands here or is not told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..array import Array
from ..program import Launch

Values = dict[str, Any]  # of the arguments, by name


def _products(size: tuple[int, ...], v: Values) -> int:
    return 2 * v["M"] * v["N"] * v["K"] * size[2]


def _split_products(size: tuple[int, ...], v: Values) -> int:
    """`inner` products for each place of the batch's other axis, added up by `summed`; the last is last_K deep."""
    sums = -(-v["inner"] // v["summed"])
    return 2 * v["M"] * v["N"] * (size[2] // sums) * ((v["inner"] - 1) * v["K"] + v["last_K"])


def _direct(result: str) -> Callable[[tuple[int, ...], Values], int]:
    """Each output of a convolution, or each of its gradient, meets every weight of one channel."""
    return lambda size, v: 2 * v[result].size * (v["C"] // v["G"]) * v["KH"] * v["KW"]


FLOPS: dict[str, Callable[[tuple[int, ...], Values], int]] = {
    "gemm_naive": _products,
    "gemm_tiled": _products,
    "gemm_blocked": _products,
    "gemm_packed": _split_products,
    "gemm_warp": _split_products,
    "conv2d_direct": _direct("y"),
    "conv2d_direct_input": _direct("dy"),
    "conv2d_direct_weight": _direct("dy"),
    "conv_blocked": lambda size, v: 2 * size[2] * v["G"] * v["R"] * v["K"] * v["OH"] * v["OW"],
    "conv_weight_blocked": lambda size, v: 2 * v["N"] * v["G"] * v["R"] * v["K"] * v["OH"] * v["OW"],
}
"""Operations of a launch, by its kernel, from the global size and the arguments."""


def _of_eight(times: int) -> Callable[[Values], int]:
    """An optimiser's step on up to eight parameters, whose elements are read or written so many times."""
    return lambda v: times * v["g0"].dtype.itemsize * sum(v[f"n{i}"] for i in range(8))


def _selected(v: Values) -> int:
    """At most one element of x is read for each one written."""
    rest = sum(a.nbytes for name, a in v.items() if isinstance(a, Array) and name in ("index", "indices"))
    return int(v["out"].nbytes + min(v["out"].nbytes, v["x"].nbytes) + rest)


BYTES: dict[str, Callable[[Values], int] | None] = {
    "copy_region": _selected,
    "index_select": _selected,
    "pick": _selected,
    "max_pool_pick": _selected,
    "sgd_eight": _of_eight(3),
    "sgd_momentum_eight": _of_eight(5),
    "adam_eight": _of_eight(7),
    # Some images of a batch at a time: the arguments hold more than these touch.
    "conv_pad": None,
    "conv_pack_grad": None,
    "conv_blocked": None,
    "conv_weight_blocked": None,
}
"""Bytes of a launch, by its kernel, where the arguments' roles would not tell; None: not told."""


def flops(launch: Launch) -> int | None:
    """Floating-point operations that a launch of the package's own does, or None where nobody says."""
    count = FLOPS.get(launch.kernel.name)
    return None if count is None or not _is_ours(launch) else count(launch.global_size, launch.named_args())


def moved(launch: Launch) -> int | None:
    """Bytes that a launch must read and write at the least, or None where nobody says."""
    values, declared = launch.named_args(), launch.kernel.arguments
    arrays = {name: a for name, a in values.items() if isinstance(a, Array)}
    # A flag for wrong indices is written in case of need.
    unknown = [n for n in arrays if n != "fault" and (n not in declared or declared[n].role in ("partial", "scratch"))]
    if _is_ours(launch) and launch.kernel.name in BYTES:
        count = BYTES[launch.kernel.name]
        return None if count is None or (count is _selected and unknown) else count(values)
    if unknown:
        return None
    return sum(a.nbytes * (1 + (declared[n].role == "inout")) for n, a in arrays.items() if n != "fault")


def _is_ours(launch: Launch) -> bool:
    return launch.kernel.file.endswith(".cl")


# Families whose kernels stand in several files.
_FAMILY = {"gemm_packed": "gemm", "gemm_warp": "gemm", "conv_blocked": "conv"}


def family(launch: Launch) -> str:
    """The family of kernels that a launch is of; "" for a kernel of one's own."""
    stem = launch.kernel.file.removesuffix(".cl")
    return _FAMILY.get(stem, stem) if _is_ours(launch) else ""


def variant_of(launch: Launch) -> str:
    """Which of its family's kernels ran ("naive"), for element-wise ones which operation ("a + b"), else ""."""
    name, of = launch.kernel.name, family(launch)
    if of == "elementwise":
        return next((text for macro, text in launch.kernel.defines if "(" in macro), "")
    return next((name[len(p) :] for p in (f"{of}_", f"{of}2d_") if of and name.startswith(p)), "")
