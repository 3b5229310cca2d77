"""Changes in place: into the same memory, recorded or not, and which are refused."""

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.nn import Parameter

# Not recorded

OPERATIONS = {
    "add_": (lambda x, y: x.add_(y), np.add),
    "sub_": (lambda x, y: x.sub_(y), np.subtract),
    "mul_": (lambda x, y: x.mul_(y), np.multiply),
    "div_": (lambda x, y: x.div_(y), np.divide),
    "copy_": (lambda x, y: x.copy_(y), lambda x, y: np.broadcast_to(y, x.shape)),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("other", [(3, 4), (4,), (3, 1), ()])
def test_in_place_writes_into_the_same_memory(device, rng, name, other):
    op, reference = OPERATIONS[name]
    a, b = rng.uniform(1, 2, (3, 4)).astype(np.float32), rng.uniform(1, 2, other).astype(np.float32)
    x = gg.tensor(a)
    view, version = x.reshape(12), x.array.state.version
    assert op(x, gg.tensor(b)) is x
    np.testing.assert_array_equal(x.numpy(), reference(a, b))
    np.testing.assert_array_equal(view.numpy(), reference(a, b).ravel())
    assert x.array.state.version > version


def test_in_place_with_numbers_and_operators(device):
    x = gg.tensor([1.0, 2.0])
    kept = x
    x += 3
    x -= 1
    x *= 4
    x /= 2
    assert kept is x and x.tolist() == [6, 8]
    assert x.zero_().tolist() == [0, 0] and x.fill_(2.5).tolist() == [2.5, 2.5]
    i = gg.tensor([1, 2])
    i += True
    i *= gg.tensor([3, 4], dtype=gg.uint8)
    assert i.tolist() == [6, 12] and i.dtype == gg.int32
    u = gg.tensor([250, 3], dtype=gg.uint8)
    u += gg.tensor([10, 1])
    assert u.tolist() == [4, 4] and u.dtype == gg.uint8


def test_copy_casts(device):
    x = gg.zeros(2, dtype=gg.int32)
    assert x.copy_(gg.tensor([1.9, -1.9])).tolist() == [1, -1]
    y = gg.zeros(2)
    assert y.copy_(x).tolist() == [1, -1]


def test_a_training_step_by_hand_keeps_its_leaf(device):
    w = gg.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        with gg.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
    assert w.is_leaf and w.requires_grad
    np.testing.assert_allclose(w.tolist(), [0.8**3, 2 * 0.8**3], rtol=1e-6)


def test_mistakes_in_place(device):
    x, i = gg.zeros(2), gg.tensor([1, 2])
    cases = [
        (ValueError, r"add_: other has shape \(3, 2\); it does not fit", lambda: x.add_(gg.zeros(3, 2))),
        (ValueError, "add_: shapes .* do not broadcast", lambda: x.add_(gg.zeros(3))),
        (TypeError, "div_: the result is float32, which a tensor of int32", lambda: i.div_(2)),
        (TypeError, "add_: the result is float32", lambda: i.add_(0.5)),
        (TypeError, "mul_: the result is float32", lambda: i.mul_(x)),
        (TypeError, "add_: the result is int32, which a tensor of bool", lambda: (x == 0).add_(1)),
        (TypeError, "copy_: src is int; it must be a tensor", lambda: x.copy_(1)),
        (ValueError, "copy_", lambda: x.copy_(gg.zeros(3))),
        (TypeError, "add_: other is list", lambda: x.add_([1, 2])),
        (TypeError, "fill_: value is", lambda: x.fill_("a")),
    ]
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()
    assert x.tolist() == [0, 0] and i.tolist() == [1, 2]


@pytest.mark.parametrize(
    "name, derive",
    [
        ("indexing", lambda x: x[0]),
        ("permute", lambda x: x.permute(1, 0)),
        ("transpose", lambda x: x.transpose(0, 1)),
        ("T", lambda x: x.T),
        ("expand", lambda x: x.reshape(2, 1, 2).expand(2, 3, 2)),
    ],
)
def test_in_place_on_a_copy_that_is_a_view_in_pytorch_names_the_remedy(device, name, derive):
    x = gg.zeros(2, 2)
    for change in (lambda t: t.add_(1), lambda t: t.zero_(), lambda t: t.__setitem__(0, 1.0)):
        with pytest.raises(gg.AutogradError, match=rf"came from {name}, .*x\[i\] = v.*\.clone\(\)"):
            change(derive(x))
        change(derive(x).clone())
    derive(x) + 1  # out of place is fine


# Recorded


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("other", [(3, 4), (4,)])
def test_in_place_changes_have_both_derivatives(device, rng, name, other):
    op, _ = OPERATIONS[name]
    x = gg.tensor(rng.uniform(1, 2, (3, 4)), requires_grad=True)
    y = gg.tensor(rng.uniform(1, 2, other), requires_grad=True)
    both = lambda x, y: op(x * x, y * y) * 1.5  # noqa: E731
    assert gg.gradcheck(both, (x, y))
    assert gg.gradgradcheck(both, (x, y))
    assert gg.gradcheck(lambda y: op(gg.ones(3, 4, dtype=gg.float64), y), (y,))
    assert gg.gradcheck(lambda x: op(x * 1, y.detach()), (x,))


def test_a_tensor_times_itself_in_place(device):
    x = gg.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y *= y
    y.sum().backward()
    assert y.tolist() == [4, 9] and x.grad.tolist() == [4, 6]


def test_zero_cuts_the_history(device):
    x = gg.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y.zero_()
    (y + x).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_leaf_that_requires_a_gradient_is_not_changed_while_recording(device):
    x = gg.tensor([1.0], requires_grad=True)
    for change in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.copy_(gg.zeros(1)), lambda: x.__imul__(2)):
        with pytest.raises(gg.AutogradError, match=r"leaf .*no_grad"):
            change()
    with gg.no_grad():
        assert x.add_(1).tolist() == [2]
    assert x.is_leaf and x.requires_grad


LOOKS = {
    "reshape": lambda y: y.reshape(4),
    "view": lambda y: y.view(4),
    "flatten of unsqueeze": lambda y: y.unsqueeze(0).flatten(),
    "a leaf": lambda y: y.detach().requires_grad_(),
    "Parameter": Parameter,
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_recorded_changes_of_shared_memory_are_refused(device, look):
    x = gg.ones(2, 2, requires_grad=True)
    y = x * 1
    other = look(y)
    with pytest.raises(gg.AutogradError, match=r"same memory .*\.clone\(\)"):
        y.add_(1)
    with gg.no_grad():
        y.add_(1)
    assert other.tolist()[0] in (2, [2, 2])


@pytest.mark.parametrize("base", [lambda: gg.ones(4), lambda: gg.ones(4).detach()])
def test_a_look_without_a_history_would_miss_the_one_that_a_change_brings(device, base):
    x, y = gg.ones(4, requires_grad=True), base()
    look = y.view(2, 2)
    again = look.view(4)
    del look
    for seen in (y, again):
        with pytest.raises(gg.AutogradError, match="same memory"):
            seen.add_(x)
    del again, seen
    y.add_(x)
    assert y.requires_grad and y.tolist() == [2, 2, 2, 2]


def test_a_change_of_what_detach_gave_is_refused_where_it_would_change_a_result_with_a_history(device):
    x = gg.ones(2, requires_grad=True)
    y = x * 1
    d = y.detach()
    with pytest.raises(gg.AutogradError, match="same memory"):
        d.add_(x)


RESULTS = {
    "linear of a batch of rows": lambda x: gg.nn.functional.linear(x.reshape(2, 3, 4), gg.ones(5, 4)),
    "matrix times vector": lambda x: x @ gg.ones(4),
    "conv2d of one image": lambda x: gg.nn.functional.conv2d(x.reshape(1, 6, 4), gg.ones(2, 1, 3, 3), gg.ones(2)),
    "a tensor that was looked at for a moment": lambda x: (y := x * 1, y.reshape(24).sum())[0],
    "a tensor that is logged": lambda x: (y := x * 1, LOGGED.append(y.detach()))[0],
}


LOGGED = []


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_that_no_living_tensor_looks_at_can_be_changed(device, make):
    x = gg.ones(6, 4, requires_grad=True)
    y = make(x)
    (want,) = gg.grad(y.sum(), x, retain_graph=True)
    y += 1
    y *= 2
    y.sum().backward()
    assert x.grad.tolist() == (want * 2).tolist()
    LOGGED.clear()


def test_a_parameter_that_is_reshaped_in_each_step_remembers_few_of_them(device):
    w = gg.ones(4, requires_grad=True)
    for _ in range(100):
        w.reshape(2, 2).sum()
    assert len(w.array.state.lookers) < 20


def test_detach_of_a_copy_is_a_copy_still(device):
    x = gg.ones(2, 2)
    for copied in (x[0], x.T, x.permute(1, 0)):
        with pytest.raises(gg.AutogradError, match=r"zero_: this tensor came from .*x\[i\] = v"):
            copied.detach().zero_()
