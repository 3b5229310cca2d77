"""Module: what it finds among its attributes, how it is saved, loaded, shown; containers; first values of weights."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import nn
from gpugrad.device import Device


class Foreign:
    """A tensor of another library."""


class Block(nn.Module):
    """A module inside, a parameter of its own, and buffers."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(gg.full((3,), 2.0))
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3, bias=False))
        self.register_buffer("count", gg.zeros(()))
        self.register_buffer("scratch", gg.zeros(2), persistent=False)
        self.number = 5

    def forward(self, x):
        return self.layers(x) * self.scale


NAMES = ["scale", "layers.0.weight", "layers.0.bias", "layers.2.weight"]


def test_parameters_and_buffers_are_found_by_name():
    block = Block()
    assert [n for n, _ in block.named_parameters()] == NAMES
    assert [n for n, _ in block.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in block.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in block.named_modules()] == ["", "layers", "layers.0", "layers.1", "layers.2"]
    assert [n for n, _ in block.named_children()] == ["layers"]
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in block.parameters())
    assert block.number == 5 and "scale" in dir(block) and "layers" in dir(block)


def test_a_shared_parameter_is_found_once():
    tied = nn.Module()
    tied.a = nn.Linear(3, 3)
    tied.b = nn.Linear(3, 3)
    tied.b.weight = tied.a.weight
    tied.c = tied.a
    assert [n for n, _ in tied.named_parameters()] == ["a.weight", "a.bias", "b.bias"]
    assert len(list(tied.modules())) == 3
    assert set(tied.state_dict()) == {"a.weight", "a.bias", "b.weight", "b.bias", "c.weight", "c.bias"}


def test_attributes_are_replaced_and_deleted():
    block = Block()
    block.scale = nn.Parameter(gg.ones(3))
    assert block.scale.detach().tolist() == [1, 1, 1]
    block.layers = nn.Identity()
    assert [n for n, _ in block.named_parameters()] == ["scale"]
    block.count = gg.ones(())
    assert block.count.item() == 1
    block.scale = None
    assert block.scale is None and not list(block.parameters())
    del block.scale, block.count
    assert not hasattr(block, "scale") and not hasattr(block, "count")
    # A plain attribute gives way to a module of that name.
    block.number = nn.ReLU()
    assert [n for n, _ in block.named_children()] == ["layers", "number"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda b: setattr(b, "scale", gg.ones(3)), TypeError, "set a Parameter or None, not a Tensor"),
        (lambda b: setattr(b, "layers", 3), TypeError, "layers is a module; set a Module or None, not an int"),
        (lambda b: setattr(b, "count", 3), TypeError, "count is a buffer; set a Tensor or None, not an int"),
        (lambda b: b.register_parameter("x", gg.ones(3)), TypeError, "must be a Parameter"),
        (lambda b: b.register_buffer("x", 3), TypeError, "must be a Tensor"),
        (lambda b: b.register_buffer("x.y", gg.ones(3)), ValueError, "without a dot"),
        (lambda b: b.add_module("", nn.ReLU()), ValueError, "without a dot"),
        (lambda b: b.add_module("me", b), ValueError, "me is this module itself, or holds it; a module has no loops"),
        (lambda b: setattr(b, "up", nn.Sequential(b)), ValueError, "up is this module itself, or holds it"),
        (
            lambda b: b.load_state_dict({"scale": Foreign()}, strict=False),
            TypeError,
            r"test_nn_module\.Foreign; it must",
        ),
        (lambda b: b.missing, AttributeError, "Block has no attribute 'missing'"),
        (lambda b: nn.Module()(1), NotImplementedError, "forward"),
        (lambda b: nn.Parameter([1.0]), TypeError, "must be a tensor"),
        (lambda b: nn.Parameter(gg.tensor([1])), TypeError, "int32"),
        (lambda b: b.to("cuda"), TypeError, "dtype is 'cuda'"),
        (lambda b: b.to(gg.int32), TypeError, "floating point"),
    ],
)
def test_mistakes_are_named(change, error, message):
    with pytest.raises(error, match=message):
        change(Block())


def test_a_mask_is_not_dropped_from_a_state(device):
    layer = nn.Linear(2, 1, bias=False)
    before = layer.weight.tolist()
    with pytest.raises(TypeError, match=r"load_state_dict: weight: the data is a masked array"):
        layer.load_state_dict({"weight": np.ma.array([[1.0, 2.0]], mask=[[False, True]])})
    assert layer.weight.tolist() == before


def test_a_module_that_forgot_super_init_is_told():
    class Forgetful(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) before setting layer"):
        Forgetful()


def test_a_parameter_shares_its_datas_memory_and_says_what_it_is():
    data = gg.ones(2)
    p = nn.Parameter(data)
    data.add_(1)
    assert p.detach().tolist() == [2, 2]
    assert repr(p) == "Parameter containing:\ntensor([2., 2.], requires_grad=True)"
    assert not nn.Parameter(gg.tensor([1]), requires_grad=False).requires_grad


def test_a_parameter_shares_memory_and_says_so():
    data = gg.ones(2)
    parameter = nn.Parameter(data)
    with pytest.raises(gg.AutogradError):
        data.add_(gg.ones(2, requires_grad=True))
    with gg.no_grad():
        data.add_(1)
    assert parameter.tolist() == [2, 2]


def test_a_result_of_parameters_is_a_plain_tensor():
    p = nn.Parameter(gg.ones(2))
    assert type(p + 1) is gg.Tensor and type(p.detach()) is gg.Tensor


def test_repr_is_the_tree_that_pytorch_shows():
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")

    def build(nn):
        return nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2),
            nn.Conv2d(16, 4, (3, 1), stride=2, dilation=(1, 2), groups=2, bias=False, padding=1),
            nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1),
            nn.ModuleList([nn.ReLU(), nn.LeakyReLU(0.2), nn.Identity()]),
            nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(3, 2), nn.Flatten(), nn.Dropout(0.25)),
            nn.Unfold(3),
            nn.Softmax(dim=1),
            nn.LogSoftmax(dim=-1),
            nn.Linear(3, 4),
            nn.Sigmoid(),
            nn.Tanh(),
            nn.CrossEntropyLoss(),
            nn.MSELoss(),
            nn.NLLLoss(),
        )

    assert repr(build(nn)) == repr(build(torch.nn)).replace(", inplace=False", "")


def test_train_and_eval_reach_every_module():
    block = Block()
    assert block.eval() is block and not any(m.training for m in block.modules())
    block.layers[0].train()
    assert [m.training for m in block.modules()] == [False, False, True, False, False]
    assert all(m.training for m in block.train().modules())


def test_apply_goes_from_the_inside_out():
    seen = []
    block = Block()
    assert block.apply(lambda m: seen.append(type(m).__name__)) is block
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Block"]


def test_requires_grad_and_zero_grad():
    block = Block()
    block(gg.ones(2, 3)).sum().backward()
    assert all(p.grad is not None for p in block.parameters())
    block.zero_grad(set_to_none=False)
    assert all((p.grad.numpy() == 0).all() for p in block.parameters())
    block.zero_grad()
    assert all(p.grad is None for p in block.parameters())
    block.requires_grad_(False)
    assert not block(gg.ones(2, 3)).requires_grad


def test_to_converts_in_place(device):
    if not device.has_float64:
        pytest.skip("the device has no float64")
    block = Block()
    before = [(id(p), p.detach().numpy()) for p in block.parameters()]
    assert block.to(gg.float64) is block
    for (identity, values), p in zip(before, block.parameters()):
        assert id(p) == identity and p.dtype == np.float64 and (p.detach().numpy() == values).all()
    assert block.count.dtype == np.float64
    assert block(gg.ones(2, 3, dtype=gg.float64)).dtype == np.float64


def test_to_moves_everything_to_another_device(device):
    other = Device(device.number, device.cl_device)
    block = Block()
    block(gg.ones(2, 3)).sum().backward()
    values = [p.detach().numpy() for p in block.parameters()]
    block.to(other)
    for p, v in zip(block.parameters(), values):
        assert p.device is other and p.grad.device is other and (p.detach().numpy() == v).all()
    assert all(b.device is other for b in block.buffers())


def test_a_deep_copy_is_independent_and_complete(device):
    block = Block()
    twin = copy.deepcopy(block)
    assert [n for n, _ in twin.named_parameters()] == NAMES
    for p, q in zip(block.parameters(), twin.parameters()):
        assert p is not q and (p.detach().numpy() == q.detach().numpy()).all()
    with gg.no_grad():
        twin.scale.add_(1)
    assert block.scale.detach().tolist() == [2, 2, 2] and twin.scale.detach().tolist() == [3, 3, 3]


# Saving and loading


def test_a_state_dict_is_on_the_modules_memory():
    block = Block()
    state = block.state_dict()
    assert list(state) == ["scale", "count", *NAMES[1:]]
    assert not any(t.requires_grad for t in state.values())
    state["scale"].add_(1)
    assert block.scale.detach().tolist() == [3, 3, 3]


def test_loading_gives_the_same_function(device, rng, tmp_path):
    a, b = Block(), Block()
    gg.save(a.state_dict(), tmp_path / "w.safetensors")
    keys = b.load_state_dict(gg.load(tmp_path / "w.safetensors"))
    assert keys == ([], []) and keys.missing_keys == []
    x = gg.tensor(rng.standard_normal((5, 3)).astype(np.float32))
    assert (a(x).detach().numpy() == b(x).detach().numpy()).all()


def test_loading_takes_arrays_and_other_dtypes_and_keeps_the_parameters():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    layer.load_state_dict({"weight": np.array([[1.5, 2.5]]), "bias": gg.Array.from_numpy(np.array([3], np.int32))})
    assert layer.weight is weight and weight.requires_grad and weight.dtype == np.float32
    assert weight.detach().tolist() == [[1.5, 2.5]] and layer.bias.detach().tolist() == [3]


def test_a_state_that_does_not_fit_is_refused_with_all_its_faults_and_changes_nothing():
    block = Block()
    state = {n: np.ones(t.shape, np.float32) for n, t in block.state_dict().items()}
    del state["layers.0.bias"]
    state["extra"] = np.ones(1)
    state["scale"] = np.ones(4)
    with pytest.raises(ValueError) as caught:
        block.load_state_dict(state)
    for part in ("lacks layers.0.bias", "has no extra", "scale has shape (4,), and the module's has (3,)"):
        assert part in str(caught.value)
    assert block.scale.detach().tolist() == [2, 2, 2] and block.count.item() == 0
    with pytest.raises(TypeError, match="count is a list"):
        block.load_state_dict({"count": [1.0]}, strict=False)
    with pytest.raises(TypeError, match="state_dict is a list"):
        block.load_state_dict([])


@pytest.mark.parametrize(
    ("last", "error", "match"),
    [
        (np.array([1 + 2j]), TypeError, "load_state_dict: bias: data of type complex128"),
        (np.array(["a"]), TypeError, "load_state_dict: bias: data of type <U1"),
        (np.array([None]), TypeError, "load_state_dict: bias: data with NoneType"),
        ("a", TypeError, "load_state_dict: bias is a str; it must be a tensor or an array"),
    ],
)
def test_a_state_that_cannot_be_converted_changes_nothing(last, error, match):
    layer = nn.Linear(2, 1)
    before = layer.weight.tolist()
    with pytest.raises(error, match=match):
        layer.load_state_dict({"weight": np.ones((1, 2)), "bias": last})
    assert layer.weight.tolist() == before


def test_a_state_whose_whole_numbers_do_not_fit_changes_nothing():
    norm = nn.BatchNorm2d(1)
    state = {**norm.state_dict(), "num_batches_tracked": np.array(2**40)}
    state["weight"] = np.array([7.0])
    with pytest.raises(ValueError, match=r"load_state_dict: num_batches_tracked: the data reaches .* int32"):
        norm.load_state_dict(state)
    assert norm.weight.tolist() == [1]


def test_without_strict_what_fits_is_loaded_and_the_rest_reported():
    block = Block()
    keys = block.load_state_dict({"scale": np.zeros(3), "other": np.zeros(1)}, strict=False)
    assert keys.unexpected_keys == ["other"] and keys.missing_keys == ["count", *NAMES[1:]]
    assert block.scale.detach().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="has shape"):
        block.load_state_dict({"scale": np.zeros(5)}, strict=False)


def test_loading_makes_a_stale_graph_fail():
    block = Block()
    loss = block(gg.ones(1, 3)).sum()
    block.load_state_dict(block.state_dict())
    with pytest.raises(gg.AutogradError, match="changed in place"):
        loss.backward()


# Containers


def test_sequential_runs_in_order_and_is_a_list():
    a, b, c = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    net = nn.Sequential(a, b, c)
    x = gg.ones(4, 2)
    assert (net(x).detach().numpy() == c(b(a(x))).detach().numpy()).all()
    assert len(net) == 3 and list(net) == [a, b, c] and net[0] is a and net[-1] is c
    assert isinstance(net[1:], nn.Sequential) and list(net[1:]) == [b, c]
    assert [n for n, _ in net[1:].named_parameters()] == ["2.weight", "2.bias"]
    net.append(nn.Tanh())
    assert len(net) == 4 and isinstance(net[3], nn.Tanh)
    named = nn.Sequential({"first": a, "last": c})
    assert [n for n, _ in named.named_children()] == ["first", "last"]
    assert nn.Sequential()(x) is x
    with pytest.raises(TypeError, match="Sequential: 1 is a function; it must be a module"):
        nn.Sequential(a, lambda x: x)
    with pytest.raises(IndexError, match="Sequential: index is 7, and there are 4 modules"):
        net[7]
    with pytest.raises(TypeError, match="Sequential: index is 'last'; it must be an integer"):
        net["last"]


def test_a_module_added_to_a_part_of_a_sequential_replaces_none():
    a, b, c, d = (nn.Linear(1, 1) for _ in "abcd")
    assert list(nn.Sequential(a, b, c)[1:].append(d)) == [b, c, d]


def test_module_list_holds_modules():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.append(nn.ReLU())
    layers.extend([nn.Tanh()])
    assert len(layers) == 3 and isinstance(layers[-1], nn.Tanh) and len(layers[1:]) == 2
    layers[1] = nn.Sigmoid()
    assert [type(m).__name__ for m in layers] == ["Linear", "Sigmoid", "Tanh"]
    assert [n for n, _ in layers.named_parameters()] == ["0.weight", "0.bias"]
    for call in (lambda: layers.append(3), lambda: layers.__setitem__(0, 3)):
        with pytest.raises(TypeError, match=r"ModuleList: [0-9] is an int; it must be a module"):
            call()
    with pytest.raises(NotImplementedError):
        layers(1)
