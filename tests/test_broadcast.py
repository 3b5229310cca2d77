"""Operands of several shapes in the element-wise kernels: what is repeated, what collapses, what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import examples

from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.kernels.broadcast import broadcast_shape, collapse


def run(op, x, y):
    return K.elementwise(op, Array.from_numpy(x), Array.from_numpy(y)).numpy()


shapes = st.lists(st.integers(1, 4), max_size=6).flatmap(
    lambda full: st.tuples(
        *[
            st.tuples(st.integers(0, len(full)), st.lists(st.booleans(), min_size=len(full), max_size=len(full))).map(
                lambda drawn, full=full: tuple(1 if one else n for n, one in zip(full, drawn[1]))[drawn[0] :]
            )
            for _ in range(3)
        ]
    )
)


@examples
@given(shapes=shapes, seed=st.integers(0, 2**32))
def test_any_shapes_broadcast_as_in_numpy(device, shapes, seed):
    a, b, _ = (np.random.default_rng(seed + i).integers(-50, 50, s).astype(np.float32) for i, s in enumerate(shapes))
    for op, reference in (("sub", np.subtract), ("lt", np.less)):
        np.testing.assert_array_equal(run(op, a, b), reference(a, b))


@examples
@given(shapes=shapes, seed=st.integers(0, 2**32))
def test_where_chooses_with_three_shapes_that_broadcast(device, shapes, seed):
    c, a, b = (np.random.default_rng(seed + i).integers(-50, 50, s) for i, s in enumerate(shapes))
    a, b, c = a.astype(np.float32), b.astype(np.float32), c > 0
    got = K.where(Array.from_numpy(c), Array.from_numpy(a), Array.from_numpy(b)).numpy()
    np.testing.assert_array_equal(got, np.where(c, a, b))


@pytest.mark.parametrize("shapes", [((4, 1, 6), (3, 1), (1, 3, 6)), ((5, 1), (1, 300), ()), ((2, 3, 4),) * 3])
def test_where_goes_along_three_axes(device, rng, shapes):
    c, a, b = (rng.integers(-50, 50, s) for s in shapes)
    a, b, c = a.astype(np.float32), b.astype(np.float32), c > 0
    got = K.where(Array.from_numpy(c), Array.from_numpy(a), Array.from_numpy(b)).numpy()
    np.testing.assert_array_equal(got, np.where(c, a, b))


@pytest.mark.parametrize(
    "x_shape, y_shape",
    [
        ((8, 5, 7, 11), (5, 1, 1)),  # a bias
        ((300, 10), (300, 1)),
        ((7, 1), (1, 513)),
        ((1, 1, 1), (4, 3, 2)),
        ((3, 1, 5, 1, 2), (1, 4, 1, 6, 1)),  # more than three axes whatever collapses
        # more rows than some GPUs take groups along their second axis
        pytest.param((70001, 3), (3,), marks=pytest.mark.large),
        pytest.param((70001, 270), (270,), marks=pytest.mark.large),
        pytest.param((2, 70001), (2, 1), marks=pytest.mark.large),
        ((0, 5), (5,)),
        ((4, 1), (1, 0)),
        ((), (3,)),
        ((2000,), (1,)),
    ],
)
def test_a_broadcast_of(device, rng, x_shape, y_shape):
    x, y = rng.normal(size=x_shape).astype(np.float32), rng.normal(size=y_shape).astype(np.float32)
    np.testing.assert_array_equal(run("sub", x, y), x - y)
    np.testing.assert_array_equal(run("sub", y, x), y - x)


def test_neighbouring_axes_collapse_where_both_operands_agree():
    assert collapse((8, 16, 7, 7), (8, 16, 7, 7), (16, 1, 1)) == ((8, 16, 49), ((784, 49, 1), (0, 1, 0)))
    assert collapse((4, 5), (4, 5), (4, 5)) == ((20,), ((1,), (1,)))
    assert collapse((1, 1), (1, 1), ()) == ((), ((), ()))


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"add: shapes \(3, 4\) and \(3,\) .* along dim -1 they have 4 and 3"):
        broadcast_shape("add", (3, 4), (3,))
    with pytest.raises(ValueError, match="dim -2"):
        broadcast_shape("add", (0, 4), (2, 4))
