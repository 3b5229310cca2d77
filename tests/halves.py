"""Random halves, and what an operation on them may err by.

The bound is half's own rounding of the true result, and float32's error before it:

    |error| <= 2^-11 |result| + 2^-25 + c 2^-24 magnitude

2^-11 is half a unit in half's last place, 2^-25 half of its smallest number, 2^-24 half a unit in float32's last place;
c counts float32's roundings, at the size of what is added up (`magnitude`).
"""

import numpy as np

HALF, SMALLEST, SINGLE = 2.0**-11, 2.0**-25, 2.0**-24


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


def positive(rng, *shape):
    return (0.1 + rng.random(shape)).astype(np.float16)


def close(got, expected, single=0.0):
    """`got` is `expected`, rounded to half, up to `single` (a number or an array) before that."""
    assert got.dtype == np.float16 and got.shape == expected.shape
    error = np.abs(got.astype(np.float64) - expected)
    bound = HALF * np.abs(expected) + SMALLEST + single * (1 + HALF)
    assert (error <= bound).all(), f"{(error / bound).max()} times the bound"
