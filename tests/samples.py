"""Random arrays of every dtype, shapes and keys for hypothesis, and what tests of moved data have in common."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import gpugrad as gg
from gpugrad import autograd
from gpugrad.autograd import ops
from gpugrad.program import on_launch

DTYPES = [np.float32, np.float64, np.int32, np.uint8, np.bool_]

#: A launch that compiles takes long, once; and the fixtures may serve all examples of a test.
examples = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def sample(shape, dtype=np.float32, seed=0):
    """Random values over the whole range of a dtype."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def same(got, expected):
    """Equal in shape, dtype and every value."""
    got = got.numpy()
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


class Launches(list):
    """The launches inside a with block."""

    def __enter__(self):
        self.handle = on_launch(self.append)
        return self

    def __exit__(self, *exc):
        self.handle.remove()


def check_linear(op, reference, *shapes):
    """A linear (or affine) operation, its gradient and its gradient's gradient, against `reference` on NumPy arrays.

    The derivative comes from the reference, one basis vector after another. Small integers, so all is exact.
    """
    rng = np.random.default_rng(0)

    def integers(shape):
        return rng.integers(-9, 10, shape).astype(np.float32)

    arrays = [integers(shape) for shape in shapes]
    inputs = [ops.tensor(a, requires_grad=True) for a in arrays]
    out = op(*inputs)
    expected = reference(*arrays)
    same(out.detach(), expected)

    g = ops.tensor(integers(expected.shape), requires_grad=True)
    gradients = autograd.grad(out, inputs, g, create_graph=True)
    origin = reference(*[np.zeros_like(a) for a in arrays])
    for i, (a, gradient) in enumerate(zip(arrays, gradients)):
        by_basis = np.zeros_like(a)
        for index in np.ndindex(a.shape):
            basis = [np.zeros_like(b) for b in arrays]
            basis[i][index] = 1
            by_basis[index] = ((reference(*basis) - origin) * g.detach().numpy()).sum()
        same(gradient.detach(), by_basis)

    directions = [integers(shape) for shape in shapes]
    total = sum((gradient * ops.tensor(v)).sum() for gradient, v in zip(gradients, directions))
    (second,) = autograd.grad(total, g)
    same(second, reference(*directions) - origin)


def shapes(min_dims=0, max_dims=6, max_side=5):
    """Shapes of up to 6 axes, with sizes of 0 and 1 among them."""
    return st.lists(st.integers(0, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def keys(draw, shape):
    """A basic index for an array of `shape`: integers, slices with positive steps, None and one Ellipsis."""
    key = []
    for n in shape[: draw(st.integers(0, len(shape)))]:
        if n and draw(st.booleans()):
            key.append(draw(st.integers(-n, n - 1)))
        else:
            bound = st.none() | st.integers(-n - 2, n + 2)
            key.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 4))))
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), Ellipsis)
        # what stands behind the dots indexes the last axes, which may be shorter than the first ones
        if any(not isinstance(k, slice) for k in key[key.index(Ellipsis) + 1 :]):
            key = key[: key.index(Ellipsis) + 1]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    return tuple(key)


def leaf(a, dtype=np.float32):
    """A tensor that wants a gradient."""
    return gg.tensor(np.asarray(a, dtype), requires_grad=True)
