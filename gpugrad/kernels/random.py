"""Random Arrays from a counter-based generator: see random.cl for the method and generator.py for the counter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from ..array import Array, as_shape
from ..device import Device, current_device
from ..dtypes import as_dtype, float16, float32, float64, int32, is_float
from ..generator import Generator, default_generator
from ..program import Kernel
from .checks import check_array, check_float, check_out, integer, real

_WORDS = Kernel("random.cl", "random_words", out="out")
_UNIFORM = Kernel("random.cl", "uniform", out="out")
_NORMAL = Kernel("random.cl", "normal", out="out", table="in segments terms")
_BERNOULLI = Kernel("random.cl", "bernoulli", out="out")
_DROPOUT = Kernel("random.cl", "dropout", x="in", out="out")

_LOCAL = (64,)
# Bits of a uniform number: as many as the type's significand holds, so that every value is exact and below 1.
_SIGNIFICAND = {float16: 11, float32: 24, float64: 53}


def uniform(
    shape: Sequence[int],
    dtype: Any = float32,
    device: Device | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    generator: Generator | None = None,
    out: Array | None = None,
) -> Array:
    """Numbers uniform in [0, 1), the same on every device: the multiples of 2^-24 (float64: 2^-53).

    With `low` and `high`, uniform between them; rounding may reach `high`. The same on every device where high is -low.
    """
    out, dtype = _float_out("uniform", shape, dtype, device, out)
    low, high = real("uniform", "low", low), real("uniform", "high", high)
    if low > high:
        raise ValueError(f"uniform: low is {low} and high {high}; low must not be above high")
    bits = _SIGNIFICAND[dtype]
    middle, reach = (low + high) / 2, (high - low) / 2
    seed, offset, blocks = _claim("uniform", generator, out.size, dtype)
    _UNIFORM.launch(dtype, (blocks,), _LOCAL, out, out.size, seed, offset, bits, 2.0 ** (1 - bits), middle, reach)
    return out


def normal(
    shape: Sequence[int],
    dtype: Any = float32,
    device: Device | None = None,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
    out: Array | None = None,
) -> Array:
    """Normally distributed numbers: standard ones agree between devices within 4 units in the last place.

    Each is the quantile of one uniform number of 32 bits (float64: 64), so the largest are +-6.3 (+-9.1).
    """
    out, dtype = _float_out("normal", shape, dtype, device, out)
    mean, std = real("normal", "mean", mean), real("normal", "std", std, 0)
    table = _table_on(out.device, float64 if dtype == float64 else float32)
    seed, offset, blocks = _claim("normal", generator, out.size, dtype)
    terms = table.shape[1]
    _NORMAL.launch(dtype, (blocks,), _LOCAL, out, table, out.size, terms, seed, offset, mean, std)
    return out


def bernoulli(
    shape: Sequence[int],
    p: float,
    dtype: Any = float32,
    device: Device | None = None,
    *,
    generator: Generator | None = None,
    out: Array | None = None,
) -> Array:
    """Ones with probability p, else zeros; p is rounded to a multiple of 2^-32."""
    dtype = as_dtype(dtype)
    out = check_out("bernoulli", out, as_shape("bernoulli", shape), dtype, _device(device, out))
    below = threshold("bernoulli", p)
    seed, offset, blocks = _claim("bernoulli", generator, out.size, float32)
    _BERNOULLI.launch(dtype, (blocks,), _LOCAL, out, out.size, seed, offset, below)
    return out


def dropout(x: Array, p: float, seed: int, offset: int, *, out: Array | None = None) -> Array:
    """x with each element set to 0 with probability p, the others divided by 1 - p (all 0 where p is 1).

    (seed, offset) names the mask: `Generator.take(dropout_blocks(x.size))` gives a fresh one, and the same pair the
    same one. `out` may be x.
    """
    check_array("dropout", "x", x)
    check_float("dropout", "x", x)
    below = threshold("dropout", p)
    seed = integer("dropout", "seed", seed, 0)
    offset = integer("dropout", "offset", offset, 0)
    if max(seed, offset) >= 2**64:
        raise ValueError(f"dropout: seed is {seed} and offset {offset}; both are below 2**64")
    out = check_out("dropout", out, x.shape, x.dtype, x.device)
    scale = 1.0 / (1.0 - p) if p < 1 else 0.0
    _DROPOUT.launch(x.dtype, (dropout_blocks(x.size),), _LOCAL, x, out, x.size, seed, offset, below, scale)
    return out


def dropout_blocks(n: int) -> int:
    """How many blocks of a generator's stream a dropout mask of n elements uses."""
    return -(-n // 4)


def random_words(n: int, counter: Sequence[int], key: Sequence[int], device: Device | None = None) -> Array:
    """The generator itself: n words (int32 holding 32 bits) of Philox4x32-10.

    `counter` (4 words, lowest first) is that of the first block and counts up; `key` has 2 words.
    """
    n = integer("random_words", "n", n, 0)
    counter, key = as_shape("random_words", counter, "counter"), as_shape("random_words", key, "key")
    if len(counter) != 4 or len(key) != 2 or not all(0 <= w < 2**32 for w in (*counter, *key)):
        raise ValueError(f"random_words: counter is {counter} and key {key}; they are 4 and 2 words of 32 bits")
    out = Array.empty((n,), int32, device)
    _WORDS.launch(int32, (-(-n // 4),), _LOCAL, out, n, *counter, *key)
    return out


@cache
def quantile_table(terms: int) -> np.ndarray:
    """The polynomials of random.cl's `quantile`, float64 (497, terms): row, then power of t.

    Each interpolates the normal quantile (Wichura's AS 241, in Python's `statistics`) at Chebyshev nodes.
    """
    nodes = np.cos((np.arange(terms) + 0.5) * np.pi / terms)  # t in (-1, 1)
    inverse = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, terms - 1))
    powers = np.stack([_padded(np.polynomial.chebyshev.cheb2poly(row), terms) for row in np.eye(terms)])
    # The middle row: z / y as a function of t = 32 y^2 - 1. Halves are exact differences, so y is too.
    p = 0.5 - np.sqrt((nodes + 1) / 32)
    values = [_quantile(p) / (0.5 - p)]
    for halvings in range(2, 64):
        for segment in range(8):
            values.append(_quantile((1 + (segment + (nodes + 1) / 2) / 8) * 2.0 ** -(halvings + 1)))
    return np.stack(values) @ inverse.T @ powers


def _quantile(p: np.ndarray) -> np.ndarray:
    """The z >= 0 that a standard normal exceeds with probability p <= 1/2."""
    inverse = NormalDist().inv_cdf
    return np.array([-inverse(float(x)) for x in p])


def _padded(row: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([row, np.zeros(length - len(row))])


def _table_on(device: Device, dtype: np.dtype) -> Array:
    """The table on a device, kept there. 6 terms hold it to float32's precision, 13 to float64's."""
    key = f"quantile table {dtype}"
    found: Array | None = device.cache.get(key)
    if found is None:
        host = quantile_table(13 if dtype == float64 else 6).astype(dtype)
        found = device.cache[key] = Array.from_numpy(host, device=device)
    return found


def _float_out(
    function: str, shape: Sequence[int], dtype: Any, device: Device | None, out: Array | None
) -> tuple[Array, np.dtype]:
    dtype = as_dtype(dtype, f"{function}: dtype")
    if not is_float(dtype):
        raise TypeError(f"{function}: dtype is {dtype}; random numbers of this kind are float32 or float64")
    return check_out(function, out, as_shape(function, shape), dtype, _device(device, out)), dtype


def _device(device: Device | None, out: Array | None) -> Device:
    if device is None:
        return out.device if isinstance(out, Array) else current_device()
    return device


def _claim(function: str, generator: Generator | None, n: int, dtype: np.dtype) -> tuple[int, int, int]:
    """(seed, first block, how many) for n numbers of a type."""
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise TypeError(f"{function}: generator is {generator!r}; it must be a gpugrad.Generator or None")
    blocks = -(-n // (2 if dtype == float64 else 4))
    return (*generator.take(blocks), blocks)


def threshold(function: str, p: Any) -> int:
    """The probability p as a number of 32-bit words, of 2**32; checks it."""
    return round(real(function, "p", p, 0, 1) * 2**32)
