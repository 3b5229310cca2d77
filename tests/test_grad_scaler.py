"""Training in half: float32 masters in the optimisers, and GradScaler."""

import numpy as np
import pytest

import gpugrad as gg
from gpugrad.array import Array
from gpugrad.kernels.unscale import unscale
from gpugrad.nn import functional as F

OPTIMIZERS = {
    "sgd": lambda p: gg.optim.SGD(p, lr=0.01, weight_decay=0.1),
    "momentum": lambda p: gg.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True),
    "adam": lambda p: gg.optim.Adam(p, lr=0.01),
    "adamw": lambda p: gg.optim.AdamW(p, lr=0.01),
}


def halves(rng, *shape):
    return rng.standard_normal(shape).astype(np.float16)


def parameters(*values):
    return [gg.tensor(v, requires_grad=True) for v in values]


def set_gradients(params, gradients):
    for p, g in zip(params, gradients):
        p.grad = None if g is None else gg.tensor(g.astype(p.dtype))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_half_parameters_are_updated_in_float32_and_rounded(device, rng, name):
    start = [halves(rng, 5, 3), halves(rng, 7), halves(rng, 2)]
    half, single = parameters(*start), parameters(*[x.astype(np.float32) for x in start])
    ours, reference = OPTIMIZERS[name](half), OPTIMIZERS[name](single)
    for step in range(5):
        gradients = [halves(rng, 5, 3), halves(rng, 7), None if step % 2 else halves(rng, 2)]
        for params, optimizer in ((half, ours), (single, reference)):
            set_gradients(params, gradients)
            optimizer.step()
    for h, s in zip(half, single):
        assert h.dtype == gg.float16
        np.testing.assert_array_equal(h.detach().numpy(), s.detach().numpy().astype(np.float16))
        np.testing.assert_array_equal(ours.state[h]["master"].numpy(), s.detach().numpy())


def test_steps_too_small_for_half_add_up(device):
    (p,) = parameters(np.ones(4, np.float16))
    optimizer = gg.optim.SGD([p], lr=1e-4)
    for _ in range(20):
        p.grad = gg.ones(4, dtype=gg.float16)
        optimizer.step()
    np.testing.assert_array_equal(p.detach().numpy(), np.full(4, np.float16(0.998)))


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(device, rng, name, tmp_path):
    start, gradients = halves(rng, 6), [halves(rng, 6) for _ in range(6)]
    (p,) = parameters(start)
    optimizer = OPTIMIZERS[name]([p])
    for i, g in enumerate(gradients):
        if i == 3:
            gg.save({"p": p.detach(), "optimizer": optimizer.state_dict()}, tmp_path / "state")
        set_gradients([p], [g])
        optimizer.step()
    found = gg.load(tmp_path / "state")
    assert found["optimizer"]["state"][0]["master"].dtype == gg.float32
    (q,) = parameters(found["p"].numpy())
    again = OPTIMIZERS[name]([q])
    again.load_state_dict(found["optimizer"])
    for g in gradients[3:]:
        set_gradients([q], [g])
        again.step()
    np.testing.assert_array_equal(q.detach().numpy(), p.detach().numpy())
    np.testing.assert_array_equal(again.state[q]["master"].numpy(), optimizer.state[p]["master"].numpy())


def test_a_state_of_float32_serves_half(device, rng):
    (p,) = parameters(rng.standard_normal(5).astype(np.float32))
    before = gg.optim.Adam([p], lr=0.01)
    set_gradients([p], [halves(rng, 5)])
    before.step()
    (q,) = parameters(p.detach().to(gg.float16).numpy())
    after = gg.optim.Adam([q], lr=0.01)
    after.load_state_dict(before.state_dict())
    np.testing.assert_array_equal(after.state[q]["exp_avg"].numpy(), before.state[p]["exp_avg"].numpy())
    np.testing.assert_array_equal(after.state[q]["master"].numpy(), q.detach().numpy())


def test_weights_that_were_loaded_become_the_masters(device, rng):
    model = gg.nn.Linear(3, 2).half()
    optimizer = gg.optim.SGD(model.parameters(), lr=0.5)
    model(gg.ones(1, 3, dtype=gg.float16)).sum().backward()
    optimizer.step()
    weights = {"weight": gg.tensor(halves(rng, 2, 3)), "bias": gg.tensor(halves(rng, 2))}
    model.load_state_dict(weights)
    optimizer.step()
    np.testing.assert_array_equal(
        model.weight.detach().numpy(), (weights["weight"].numpy().astype(np.float32) - 0.5).astype(np.float16)
    )


def test_a_model_changes_its_type_before_its_optimiser_steps(device):
    model = gg.nn.Linear(2, 2)
    optimizer = gg.optim.Adam(model.parameters())
    model.half()
    assert model.weight.dtype == gg.float16
    model(gg.ones(1, 2, dtype=gg.float16)).sum().backward()
    optimizer.step()
    model.float()
    assert model.weight.dtype == gg.float32
    with pytest.raises(ValueError, match=r"is float32 on .* make a new optimiser after changing a parameter"):
        optimizer.step()


def test_the_norm_of_half_gradients_may_pass_what_half_can_hold(device):
    (p,) = parameters(np.zeros(400, np.float16))
    p.grad = gg.full((400,), 3000.0, dtype=gg.float16)
    assert gg.nn.utils.clip_grad_norm_([p], 20.0).item() == pytest.approx(60_000)
    np.testing.assert_allclose(p.grad.numpy(), np.ones(400), rtol=1e-3)


# GradScaler


def scaled_step(scaler, optimizer, params, gradients):
    set_gradients(params, gradients)
    scaler.scale(gg.tensor(1.0))  # of a loss; it knows then that the gradients are scaled
    scaler.step(optimizer)
    scaler.update()


def test_the_scale_shrinks_after_an_overflow_and_grows_after_an_interval(device):
    (p,) = parameters(np.zeros(3, np.float16))
    optimizer = gg.optim.SGD([p], lr=1.0)
    scaler = gg.GradScaler(1024.0, growth_factor=4.0, backoff_factor=0.5, growth_interval=2)
    good, scales = np.full(3, 1.0), []
    for gradient in (good, [1, np.inf, 1], good, good, [np.nan, 1, 1], good, good, good, good):
        before = p.detach().numpy()
        scaled_step(scaler, optimizer, [p], [np.float16(gradient)])
        assert (p.detach().numpy() == before).all() != np.isfinite(gradient).all()
        scales.append(scaler.get_scale())
    assert scales == [1024, 512, 512, 2048, 1024, 1024, 4096, 4096, 16384]


def test_a_step_that_was_refused_is_made_once_it_can_be(device):
    (p,) = parameters(np.zeros(3, np.float32))
    optimizer, scaler = gg.optim.SGD([p], lr=0.5), gg.GradScaler(4.0)
    p.grad = gg.full((3,), 4.0)
    scaler.scale(gg.tensor(1.0))
    optimizer.param_groups[0]["momentum"] = -1
    with pytest.raises(ValueError, match="momentum is -1"):
        scaler.step(optimizer)
    optimizer.param_groups[0]["momentum"] = 0
    scaler.step(optimizer)
    assert p.detach().tolist() == [-0.5] * 3  # divided by the scale once


def test_what_half_cannot_hold_comes_through_scaled(device):
    """The gradient is 2^-26, below half's smallest number 2^-24: unscaled it would be 0."""
    grads = []
    for scaler in (gg.GradScaler(), gg.GradScaler(enabled=False)):
        (p,) = parameters(np.ones(2, np.float16))
        loss = (p.to(gg.float32) * 2.0**-26).sum()
        scaler.scale(loss).backward()
        optimizer = gg.optim.SGD([p], lr=2.0**24)
        scaler.unscale_(optimizer)
        grads.append(p.grad.numpy())
        scaler.step(optimizer)
        scaler.update()
    np.testing.assert_array_equal(grads[0], np.full(2, np.float32(2.0**-26)))
    np.testing.assert_array_equal(grads[1], np.zeros(2, np.float16))


@pytest.mark.parametrize("odd, found", [(2.0, 0), (np.inf, 1), (-np.inf, 1), (np.nan, 1)])
def test_unscale_marks_with_1_that_something_is_infinite_or_nan(device, odd, found):
    flag = Array.from_numpy(np.zeros(1, np.int32))
    got = unscale(Array.from_numpy(np.array([1, odd, 3], np.float32)), 0.5, flag)
    np.testing.assert_array_equal(got.numpy(), [0.5, odd / 2, 1.5])
    assert flag.numpy() == [found]


def test_losses_are_scaled_in_float32(device):
    scaler = gg.GradScaler()
    assert scaler.scale(gg.tensor(2.0).to(gg.float16)).item() == 131072
    pair = scaler.scale((gg.tensor(1.0), [gg.tensor(3.0)]))
    assert pair[0].item() == 65536 and isinstance(pair[1], list) and pair[1][0].item() == 3 * 65536


def test_a_step_reads_one_number(device, rng, monkeypatch):
    model = gg.nn.Sequential(gg.nn.Linear(4, 3), gg.nn.ReLU(), gg.nn.Linear(3, 2)).half()
    optimizer, scaler, reads = gg.optim.Adam(model.parameters()), gg.GradScaler(), []
    download = gg.Device.download

    def counted(self, host, buffer):
        reads.append(host.nbytes)
        download(self, host, buffer)

    for step in range(2):
        if step:
            monkeypatch.setattr(gg.Device, "download", counted)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(gg.tensor(halves(rng, 5, 4))).to(gg.float32), np.zeros(5, np.int32))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert reads in ([4], [4, 16])  # and, where a target was checked, its flag


def test_it_behaves_as_pytorchs(device, rng):
    torch = pytest.importorskip("torch", reason="PyTorch's GradScaler is the reference")
    start = rng.standard_normal(4).astype(np.float32)
    gradients = [rng.standard_normal(4).astype(np.float32) * 100 for _ in range(12)]
    for i in (2, 3, 9):
        gradients[i][i % 4] = np.inf if i % 2 else np.nan
    settings = {"init_scale": 64.0, "growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 3}
    ours = gg.tensor(start, requires_grad=True)
    theirs = torch.tensor(start, requires_grad=True)
    found = []
    for p, make, optim, scaler in (
        (ours, gg.tensor, gg.optim, gg.GradScaler(**settings)),
        (theirs, torch.tensor, torch.optim, torch.amp.GradScaler("cpu", **settings)),
    ):
        optimizer, scales = optim.SGD([p], lr=0.01, momentum=0.9), []
        for g in gradients:
            scale = scaler.get_scale()
            scaler.scale(p.sum())
            p.grad = make(g * np.float32(scale))
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        found.append((scales, p.detach().numpy(), scaler.state_dict()))
    assert found[0][0] == found[1][0] and found[0][2] == found[1][2]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_its_state_goes_on(device):
    (p,) = parameters(np.ones(3, np.float16))
    optimizer, scaler = gg.optim.SGD([p]), gg.GradScaler(256.0, growth_interval=3)
    scaled_step(scaler, optimizer, [p], [np.ones(3)])
    again = gg.GradScaler()
    again.load_state_dict(scaler.state_dict())
    for _ in range(2):
        scaled_step(again, optimizer, [p], [np.ones(3)])
    assert again.get_scale() == 512
    off = gg.GradScaler(enabled=False)
    assert off.state_dict() == {} and off.get_scale() == 1 and not off.is_enabled()
    off.load_state_dict({})


def test_two_optimisers_share_a_scaler(device):
    p, q = parameters(np.ones(2, np.float16), np.ones(2, np.float16))
    one, two, scaler = gg.optim.SGD([p], lr=1.0), gg.optim.SGD([q], lr=1.0), gg.GradScaler(4.0)
    set_gradients([p, q], [np.full(2, 4.0), np.full(2, np.inf)])
    scaler.scale(gg.tensor(1.0))
    scaler.step(one)
    scaler.step(two)
    scaler.update()
    assert p.tolist() == [0, 0] and q.tolist() == [1, 1] and scaler.get_scale() == 2


def test_mistakes_are_told_in_sentences(device):
    (p,) = parameters(np.ones(2, np.float16))
    optimizer, scaler = gg.optim.SGD([p]), gg.GradScaler()
    p.grad = gg.ones(2, dtype=gg.float16)
    for use in (scaler.step, scaler.unscale_):
        with pytest.raises(gg.ScalerError, match="no loss was ever scaled"):
            use(optimizer)
    assert p.grad.tolist() == [1, 1]
    p.grad = None
    scaler.scale(gg.tensor(1.0))
    with pytest.raises(gg.ScalerError, match="no parameter of this optimiser has a gradient"):
        scaler.step(optimizer)
    with pytest.raises(gg.ScalerError, match="no gradients were unscaled since the last update"):
        scaler.update()
    p.grad = gg.ones(2, dtype=gg.float16)
    scaler.unscale_(optimizer)
    with pytest.raises(gg.ScalerError, match="unscaled already"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(gg.ScalerError, match="has made its step; call update"):
        scaler.step(optimizer)
    with pytest.raises(gg.ScalerError, match="has made its step; unscale_ comes before"):
        scaler.unscale_(optimizer)
    assert isinstance(gg.ScalerError(), RuntimeError)  # as PyTorch raises
    cases = [
        (TypeError, "init_scale is 'cuda'; it must be a number", lambda: gg.GradScaler("cuda")),
        (ValueError, "init_scale is 0.0; float32, in which", lambda: gg.GradScaler(0)),
        (ValueError, "growth_factor is 1.0; it must be above 1", lambda: gg.GradScaler(growth_factor=1.0)),
        (ValueError, "backoff_factor is 1.5; it must be above 0", lambda: gg.GradScaler(backoff_factor=1.5)),
        (ValueError, "growth_interval is 0; it must be 1 or more", lambda: gg.GradScaler(growth_interval=0)),
        (TypeError, "outputs is int", lambda: scaler.scale(3)),
        (TypeError, "outputs is int32; a loss is floating point", lambda: scaler.scale(gg.tensor(3))),
        (TypeError, "optimizer is list", lambda: scaler.step([p])),
        (ValueError, "takes no closure", lambda: scaler.step(optimizer, lambda: 1)),
        (ValueError, "the state has nothing", lambda: scaler.load_state_dict({})),
        (ValueError, r"found is int32\(2,\); it must be int32\(1,\)",
         lambda: unscale(p.array, 1.0, Array.empty((2,), np.int32))),
    ]  # fmt: skip
    for error, match, call in cases:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.deep
@pytest.mark.full
def test_a_small_network_learns_in_half_as_in_float32(device):
    train, test = gg.data.mnist(True, "subset"), gg.data.mnist(False, "subset")
    accuracy = {}
    for dtype in (gg.float32, gg.float16):
        gg.manual_seed(0)
        model = gg.nn.Sequential(
            gg.nn.Conv2d(1, 8, 5, padding=2), gg.nn.ReLU(), gg.nn.MaxPool2d(2), gg.nn.Flatten(), gg.nn.Linear(1568, 10)
        ).to(dtype)
        optimizer, scaler = gg.optim.Adam(model.parameters(), lr=2e-3), gg.GradScaler(enabled=dtype == gg.float16)
        for images, labels in gg.data.DataLoader(train, 64, shuffle=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images.to(dtype)).to(gg.float32), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        with gg.no_grad():
            guesses = [model(images.to(dtype)).numpy().argmax(1) for images, _ in gg.data.DataLoader(test, 500)]
        accuracy[dtype] = (np.concatenate(guesses) == test.labels).mean()
    assert accuracy[gg.float32] > 0.9  # learnt, in one epoch
    assert abs(accuracy[gg.float16] - accuracy[gg.float32]) <= 0.005


def test_gradients_that_do_not_fit_stay_scaled_all_of_them(device, monkeypatch):
    single, half = parameters(np.ones(3, np.float32), np.ones((300, 300), np.float16))
    optimizer, scaler = gg.optim.SGD([single, half], lr=1.0), gg.GradScaler(init_scale=4.0)
    ((single.sum() + half.sum()) * scaler.scale(gg.ones(()))).backward()
    pool = gg.memory.pool(device)
    pool.release_cached()
    with monkeypatch.context() as short:
        short.setattr(pool, "limit", pool.allocated + 300_000)
        with pytest.raises(gg.OutOfDeviceMemory):
            scaler.step(optimizer)
    assert single.grad.tolist() == [4, 4, 4] and half.grad.dtype == gg.float16
    scaler.step(optimizer)
    assert single.tolist() == [0, 0, 0] and (half.detach().numpy() == 0).all()
