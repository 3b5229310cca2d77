"""Function: operations of one's own, and what is said of those that are wrong."""

import numpy as np
import pytest
from samples import leaf

import gpugrad as gg


class Scale(gg.Function):
    """x * factor, with PyTorch's signature"""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return g * ctx.factor + x * 0, None


def test_a_function_of_your_own(device):
    x = leaf([1.0, 2.0])
    y = Scale.apply(x, 3.0)
    assert y.tolist() == [3, 6] and repr(y.grad_fn) == "<ScaleBackward>"
    assert gg.gradcheck(lambda x: Scale.apply(x, 3.0), x)
    assert gg.gradgradcheck(lambda x: Scale.apply(x, 3.0), x)


def test_a_function_with_two_outputs_and_one_that_is_not_differentiable(device):
    class Both(gg.Function):
        @staticmethod
        def forward(ctx, x):
            big = x > 1
            ctx.mark_non_differentiable(big)
            return x * 2, x * 3, big

        @staticmethod
        def backward(ctx, g2, g3, g_big):
            return g2 * 2 + g3 * 3

    x = leaf([1.0, 2.0])
    double, triple, big = Both.apply(x)
    assert not big.requires_grad and big.tolist() == [False, True]
    gg.grad(double.sum(), x)  # the gradient of triple is zeros then
    (double + triple).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_an_input_handed_through_keeps_its_gradient(device):
    class Through(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf([1.0])
    y = Through.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [10]


def test_a_saved_output_keeps_its_history_where_fewer_gradients_are_wanted(device):
    class Power(gg.Function):
        """y = a^b; its derivative by a is b y / a"""

        @staticmethod
        def forward(ctx, a, b):
            y = a**b
            ctx.save_for_backward(a, b, y)
            return y

        @staticmethod
        def backward(ctx, g):
            a, b, y = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return g * b * y / a, None

    a, b = leaf([2.0, 3.0]), leaf([4.0, 4.0])
    y = Power.apply(a, b)
    (first,) = gg.grad(y.sum(), a, create_graph=True)
    (second,) = gg.grad(first.sum(), a)
    np.testing.assert_allclose(second.numpy(), [12 * 4, 12 * 9], rtol=1e-5)


def giving(gradient):
    """x * 2, whose backward gives this one tensor."""

    class Given(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return gradient

    return Given


def test_a_gradient_that_a_users_function_still_holds_is_copied():
    held = gg.ones(3)
    x = gg.ones(3, requires_grad=True)
    for _ in range(2):
        giving(held).apply(x).sum().backward()
    assert held.tolist() == [1, 1, 1]
    assert x.grad.tolist() == [2, 2, 2]


# Mistakes


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("result", "match"),
    [
        (lambda x: [x * 2], "Odd.forward returned list; it returns a tensor or a tuple of tensors"),
        (lambda x: 3.0, "Odd.forward returned float"),
        (lambda x: None, "Odd.forward returned NoneType"),
        (lambda x: (x * 2, 3), "Odd.forward returned a tuple with int at place 1"),
    ],
)
def test_a_forward_that_returns_no_tensor_is_named(device, result, match, recorded):
    class Odd(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return result(x)

    with pytest.raises(TypeError, match=match):
        Odd.apply(leaf([1.0, 2.0]) if recorded else gg.ones(2))


@pytest.mark.parametrize(
    "result, error, match",
    [
        (lambda g: (g, g), gg.AutogradError, "returned 2 gradients; forward took 1"),
        (lambda g: g.sum(), gg.AutogradError, r"returned a gradient of shape \(\) for an input of shape \(2,\)"),
        (lambda g: g.to(gg.float16), gg.AutogradError, "returned a float16 gradient for a float32 input"),
        (lambda g: 1.0, TypeError, "returned float; a gradient is a tensor or None"),
    ],
)
def test_a_backward_that_returns_the_wrong_thing_is_named(device, result, error, match):
    class Wrong(gg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return result(g)

    with pytest.raises(error, match=f"Wrong.backward {match}"):
        Wrong.apply(leaf([1.0, 2.0])).sum().backward()


def test_an_output_that_nothing_depends_on_has_a_gradient_of_zeros_or_none_where_that_is_asked_for(device):
    seen = []

    class Twins(gg.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h)
            return g * 2, None

    x = leaf([1.0, 2.0])
    for materialize in (True, False):
        Twins.apply(x, materialize)[0].sum().backward()
    assert seen[0].tolist() == [0, 0] and seen[1] is None and x.grad.tolist() == [4, 4]
    with pytest.raises(TypeError, match="set_materialize_grads: value is 1; it must be True or False"):
        Twins.apply(x, 1)


def test_a_gradient_on_another_device_is_refused(device):
    """A second context on the same device is as far away as another device is."""
    elsewhere = gg.tensor([1.0, 2.0], device=gg.Device(device.number, device.cl_device))
    x = leaf([1.0, 2.0])
    for y in (giving(elsewhere).apply(x), giving(elsewhere).apply(-x)):
        with pytest.raises(gg.AutogradError, match=r"Given\.backward returned a gradient on .* for an input on"):
            y.sum().backward()
    for y in (x, -x):
        with pytest.raises(ValueError, match=r"backward: the gradient is on .*; put both on one"):
            y.backward(elsewhere)
    assert x.grad is None
