"""matmul, dot and linear: shapes as in PyTorch, values and both derivatives, and no transposed copies."""

import numpy as np
import pytest
from samples import Launches

import gpugrad as gg
from gpugrad.autograd import ops

SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (3, 4, 2)),
    ((2, 1, 1, 2, 3), (1, 2, 2, 3, 2)),
]
EMPTY = [((0, 4), (4, 3)), ((3, 0), (0, 2)), ((0, 3, 4), (4, 2)), ((0,), (0,)), ((2, 3, 4), (4, 0))]


def leaf(a):
    return gg.tensor(np.asarray(a, np.float64), requires_grad=True)


def products(a, b):
    """a @ b by the definition, one pair of row and column after another."""
    if a.ndim == 1 or b.ndim == 1:
        full = products(a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None])
        full = full[..., 0, :] if a.ndim == 1 else full
        return full[..., 0] if b.ndim == 1 else full
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = np.broadcast_to(a, batch + a.shape[-2:]), np.broadcast_to(b, batch + b.shape[-2:])
    out = np.zeros(batch + (a.shape[-2], b.shape[-1]))
    for n in np.ndindex(batch):
        for i in range(a.shape[-2]):
            for j in range(b.shape[-1]):
                out[(*n, i, j)] = sum(x * y for x, y in zip(a[(*n, i)], b[(*n, slice(None), j)]))
    return out


@pytest.mark.parametrize("shapes", SHAPES + EMPTY, ids=str)
def test_the_product_is_the_definitions(device, rng, shapes):
    a, b = (rng.integers(-9, 10, s).astype(np.float32) for s in shapes)  # integers: no rounding
    want = products(a, b)
    for got in (gg.tensor(a) @ gg.tensor(b), gg.matmul(gg.tensor(a), gg.tensor(b)), gg.tensor(a).matmul(gg.tensor(b))):
        assert got.shape == want.shape and got.dtype == np.float32
        np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("shapes", SHAPES + EMPTY[:2], ids=str)
def test_both_derivatives_of_a_product(device, rng, shapes):
    a, b = (leaf(rng.normal(size=s)) for s in shapes)
    assert gg.gradcheck(gg.matmul, (a, b))
    assert gg.gradgradcheck(gg.matmul, (a, b))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_gradients_of_all_four_layouts(device, rng, transpose_a, transpose_b):
    """The three layouts of the old Dot's gradients, and the fourth."""
    from gpugrad.autograd.ops.matmul import product

    a = leaf(rng.normal(size=(2, 4, 3) if transpose_a else (2, 3, 4)))
    b = leaf(rng.normal(size=(5, 4) if transpose_b else (4, 5)))
    op = lambda a, b: product(a, b, transpose_a, transpose_b)  # noqa: E731
    A, B = a.detach().numpy(), b.detach().numpy()
    want = products(np.swapaxes(A, -1, -2) if transpose_a else A, B.T if transpose_b else B)
    np.testing.assert_allclose(op(a, b).detach().numpy(), want, rtol=1e-12)
    assert gg.gradcheck(op, (a, b))
    assert gg.gradgradcheck(op, (a, b))


def test_gradients_read_their_factors_as_they_lie(device, rng):
    a, b = (gg.tensor(rng.normal(size=s).astype("f"), requires_grad=True) for s in ((3, 4), (4, 5)))
    out = a @ b
    with Launches() as launches:
        gg.grad(out, [a, b], gg.ones(3, 5))
    assert not [n for n in launches if "copy" in n.kernel.name or "transpose" in n.kernel.name]
    out = a @ b.detach()
    with Launches() as one:
        gg.grad(out, [a], gg.ones(3, 5))
    assert len(one) < len(launches)


def test_one_matrix_for_a_batch_gets_its_gradient_from_one_product(device, rng):
    a, b = gg.tensor(rng.normal(size=(6, 3, 4)).astype("f")), gg.tensor(np.ones((4, 5), "f"), requires_grad=True)
    with Launches() as launches:
        gg.grad(a @ b, b, gg.ones(6, 3, 5))
    assert not [n for n in launches if "reduce" in n.kernel.name]


def test_dot_takes_vectors(device, rng):
    a, b = leaf(rng.normal(size=7)), leaf(rng.normal(size=7))
    assert gg.dot(a, b).shape == ()
    np.testing.assert_allclose(a.dot(b).item(), sum(x * y for x, y in zip(a.tolist(), b.tolist())))
    assert gg.gradcheck(gg.dot, (a, b))


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4), (0, 4)])
def test_linear_with_and_without_bias(device, rng, shape):
    x, w, b = leaf(rng.normal(size=shape)), leaf(rng.normal(size=(5, 4))), leaf(rng.normal(size=5))
    want = products(x.detach().numpy(), w.detach().numpy().T)
    np.testing.assert_allclose(ops.linear(x, w).detach().numpy(), want, rtol=1e-12, atol=1e-14)
    got = ops.linear(x, w, b)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.detach().numpy(), want + b.detach().numpy(), rtol=1e-12, atol=1e-14)
    for args in ((x, w), (x, w, b)):
        assert gg.gradcheck(ops.linear, args)
        assert gg.gradgradcheck(ops.linear, args)


def test_products_agree_with_pytorch(device, rng):
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    for shapes in SHAPES + EMPTY:
        hosts = [rng.normal(size=s) for s in shapes]
        ours, theirs = [leaf(h) for h in hosts], [torch.tensor(h, requires_grad=True) for h in hosts]
        a, b = ours[0] @ ours[1], theirs[0] @ theirs[1]
        assert a.shape == tuple(b.shape)
        (a * a).sum().backward()
        (b * b).sum().backward()
        for x, y in ((a, b), (ours[0].grad, theirs[0].grad), (ours[1].grad, theirs[1].grad)):
            np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_mistakes_are_told_in_sentences(device):
    x, y = gg.zeros(3, 4), gg.zeros(3, 4)
    cases = [
        (ValueError, r"matmul: input \(3, 4\) has 4 columns, other \(3, 4\) has 3 rows", lambda: x @ y),
        (ValueError, "4 columns, other .* has 3 rows", lambda: x @ gg.zeros(3)),
        (ValueError, "a scalar has no matrix product", lambda: x @ gg.tensor(1.0)),
        (ValueError, "matmul: shapes", lambda: gg.zeros(2, 3, 4) @ gg.zeros(3, 4, 2)),
        (TypeError, "matmul: other is float64, input is float32", lambda: x @ gg.zeros(4, 2, dtype=gg.float64)),
        (TypeError, "matmul: input is int32; it must be floating point", lambda: gg.tensor([1, 2]) @ gg.tensor([1, 2])),
        (TypeError, "matmul: other is ndarray; it must be a tensor", lambda: x @ np.zeros((4, 2), np.float32)),
        (TypeError, "matmul: input is ndarray; it must be a tensor", lambda: np.zeros((2, 3), np.float32) @ x),
        (TypeError, "matmul: other is int", lambda: x @ 2),
        (ValueError, "dot: shapes are", lambda: gg.dot(x, y)),
        (ValueError, "dot: shapes are", lambda: gg.dot(gg.zeros(3), gg.zeros(4))),
        (ValueError, r"weight must be \(out, in\)", lambda: ops.linear(x, gg.zeros(4, 3))),
        (ValueError, r"bias must be \(5,\)", lambda: ops.linear(x, gg.zeros(5, 4), gg.zeros(4))),
        (TypeError, "bias is list", lambda: ops.linear(x, gg.zeros(5, 4), [0.0] * 5)),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()
