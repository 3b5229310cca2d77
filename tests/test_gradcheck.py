"""gradcheck and gradgradcheck: they pass what is right, fail what is wrong, and say where."""

import re

import numpy as np
import pytest
from samples import leaf

import gpugrad as gg


def broken(derivative):
    """exp with a derivative of your choice."""

    class Broken(gg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return derivative(g, x)

    return Broken.apply


def test_a_right_gradient_passes_and_the_result_says_in_which_dtype(device):
    x = leaf([0.1, -0.7, 0.4])
    passed = gg.gradcheck(lambda x: x.exp() * x, x)
    kind = "float64" if device.has_float64 else "float32"
    assert passed and repr(passed) == f"gradcheck passed: 6 derivatives in {kind}"
    assert repr(gg.gradgradcheck(lambda x: x.exp() * x, x)) == f"gradgradcheck passed: 12 derivatives in {kind}"
    assert x.grad is None and x.dtype == gg.float32


def test_float32_has_tolerances_of_its_own(device, rng):
    x, w = leaf(rng.normal(size=(2, 3))), leaf(rng.normal(size=(3, 2)))
    function = lambda x, w: (x @ w).tanh()  # noqa: E731
    assert repr(gg.gradcheck(function, (x, w), dtype=gg.float32)).endswith("in float32")
    assert gg.gradgradcheck(function, (x, w), dtype=gg.float32)
    with pytest.raises(gg.GradcheckError, match=r"in float32, eps=0\.01, atol=0\.01, rtol=0\.01"):
        gg.gradcheck(broken(lambda g, x: g * x.exp() * 1.05), leaf([1.0, 2.0]), dtype=gg.float32)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda g, x: g * x,
        lambda g, x: g * x.exp() * 1.01,
        lambda g, x: -g * x.exp(),
        lambda g, x: (g * x.exp()).sum().expand(g.shape),
        lambda g, x: g * x.exp() * gg.tensor(np.array([1.0, 1.0, 0.0])),
        lambda g, x: g * x.exp() + 0.001,
        lambda g, x: g / (x - x),
        lambda g, x: None,
    ],
    ids=["of x", "1 %", "sign", "of the sum", "last element", "offset", "nan", "none"],
)
def test_a_wrong_gradient_fails(device, derivative):
    x = leaf([0.1, -0.7, 0.4])
    with pytest.raises(gg.GradcheckError):
        gg.gradcheck(broken(derivative), x)
    assert gg.gradcheck(broken(derivative), x, raise_exception=False) is False


def test_a_failure_names_input_index_and_both_numbers(device):
    x, y = leaf(np.zeros((2, 2))), leaf(np.full((2, 2), 0.5))
    wrong_at = np.array([[1.0, 1.0], [2.0, 1.0]])
    op = broken(lambda g, x: g * x.exp() * gg.tensor(wrong_at))
    message = (
        r"gradcheck: the gradient of input 1 is wrong at index \(1, 0\): numerical ([-\d.]+), analytical ([-\d.]+)"
    )
    with pytest.raises(gg.GradcheckError, match=message) as failure:
        gg.gradcheck(lambda x, y: x * 2 + op(y), (x, y))
    numerical, analytical = re.search(message, str(failure.value)).groups()
    assert float(analytical) == pytest.approx(2 * float(numerical), rel=1e-4)


def test_a_wrong_second_derivative_fails_only_gradgradcheck(device):
    x = leaf([0.1, -0.7, 0.4])
    op = broken(lambda g, x: g * x.detach().exp())  # right, and no longer a function of x
    assert gg.gradcheck(op, x)
    with pytest.raises(gg.GradcheckError, match="gradgradcheck: the gradient of input 0 is wrong"):
        gg.gradgradcheck(op, x)


def test_several_inputs_and_outputs_numbers_and_integers(device, rng):
    x, y, n = leaf(rng.normal(size=(2, 3))), leaf(rng.normal(size=3)), gg.tensor([1, 2, 3])
    fixed = gg.tensor(rng.normal(size=3).astype("f"))

    def op(x, y, n, fixed, factor):
        return x * y * factor, (x + fixed).sum(0) * n, x > 0

    assert gg.gradcheck(op, (x, y, n, fixed, 3.0))
    assert gg.gradgradcheck(op, [x, y, n, fixed, 3.0])


def test_grad_outputs_may_be_given(device):
    x = leaf([0.1, -0.7])
    assert gg.gradgradcheck(lambda x: x**3, (x,), gg.tensor(np.array([1.0, -2.0])))


def test_zero_size_and_scalar_inputs(device):
    assert gg.gradcheck(lambda x: x * x, leaf(np.zeros((0, 3))))
    assert gg.gradcheck(lambda x: x * x, leaf(1.5))


def test_what_cannot_be_checked(device):
    x = leaf([1.0])
    noise = iter(range(1000))
    cases = [
        (ValueError, "no input requires a gradient", lambda: gg.gradcheck(lambda x: x, gg.zeros(2))),
        (gg.GradcheckError, "other values when it is called again", lambda: gg.gradcheck(lambda x: x * next(noise), x)),
        (TypeError, "func gave float", lambda: gg.gradcheck(lambda x: 1.0, x)),
        (TypeError, "dtype is int32", lambda: gg.gradcheck(lambda x: x, x, dtype=gg.int32)),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


def test_a_function_without_a_floating_result_has_nothing_to_check():
    with pytest.raises(ValueError, match="nothing to differentiate"):
        gg.gradcheck(lambda x: x.to(gg.int32), gg.ones(2, requires_grad=True))


def test_the_gradients_of_outputs_may_come_from_a_generator(device):
    x = gg.ones(2, requires_grad=True)
    assert gg.gradgradcheck(lambda x: (x * x, x * 3), x, (gg.ones(2) for _ in range(2)))


@pytest.mark.parametrize(
    ("calls", "said"),
    [(1, "other values when it is called again"), (2, r"shapes \[\(2,\), \(2,\)\], but .* where input 0 is changed")],
)
@pytest.mark.parametrize("other", [lambda x: (x * 2,), lambda x: (x * 2, (x * 3).sum())])
def test_a_function_that_gives_other_outputs_when_it_is_asked_again_does_not_pass(device, other, calls, said):
    asked = []

    def func(x):
        asked.append(x)
        return (x * 2, x * 3) if len(asked) <= calls else other(x)

    with pytest.raises(gg.GradcheckError, match=said):
        gg.gradcheck(func, leaf([0.1, -0.7]))
