"""Learning-rate schedules: PyTorch's rates step by step, chained, resumed, with groups that come later."""

from __future__ import annotations

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import optim
from gpugrad.optim import lr_scheduler

SCHEDULES = {
    "LinearLR": {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 7},
    "LinearLR, defaults": {},
    "StepLR": {"step_size": 3, "gamma": 0.5},
    "CosineAnnealingLR": {"T_max": 5, "eta_min": 0.01},
    "LambdaLR": {"lr_lambda": lambda n: 0.95**n},
    "LambdaLR, a list": {"lr_lambda": [lambda n: 0.95**n, lambda n: 1 / (1 + n)]},
}


def scheduled(library, ones, name):
    optimizer = library.SGD([{"params": [ones()]}, {"params": [ones()], "lr": 0.3}], lr=0.1)
    kind = getattr(library.lr_scheduler, name.split(",")[0])
    return optimizer, kind(optimizer, **SCHEDULES[name])


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    ours, schedule = scheduled(optim, lambda: gg.ones(1, requires_grad=True), name)
    theirs, expected = scheduled(torch.optim, lambda: torch.ones(1, requires_grad=True), name)
    for _ in range(13):
        np.testing.assert_allclose(schedule.get_last_lr(), expected.get_last_lr(), rtol=0, atol=1e-12)
        assert [g["lr"] for g in ours.param_groups] == schedule.get_last_lr()
        theirs.step()  # PyTorch warns otherwise
        schedule.step()
        expected.step()


def test_a_straight_line_to_zero_ends_at_zero():
    optimizer = optim.SGD([gg.ones(1, requires_grad=True)], lr=2e-3)
    schedule = lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=3)
    rates = [schedule.get_last_lr()[0]]
    for _ in range(4):
        schedule.step()
        rates += schedule.get_last_lr()
    np.testing.assert_allclose(rates, [2e-3, 2e-3 * 2 / 3, 2e-3 / 3, 0, 0], rtol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_from_its_state(name, tmp_path):
    def ones():
        return gg.ones(1, requires_grad=True)

    _, whole = scheduled(optim, ones, name)
    optimizer, schedule = scheduled(optim, ones, name)
    for _ in range(4):
        whole.step()
        schedule.step()
    path = tmp_path / "s.safetensors"
    gg.save({"optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}, path)
    saved = gg.load(path)
    optimizer, schedule = scheduled(optim, ones, name)
    optimizer.load_state_dict(saved["optimizer"])
    schedule.load_state_dict(saved["schedule"])
    assert schedule.get_last_lr() == whole.get_last_lr()
    for _ in range(3):
        whole.step()
        schedule.step()
        assert schedule.get_last_lr() == whole.get_last_lr()


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_group_that_is_added_later_is_scheduled_from_then_on(name):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    ours, schedule = scheduled(optim, lambda: gg.ones(1, requires_grad=True), name)
    theirs, expected = scheduled(torch.optim, lambda: torch.ones(1, requires_grad=True), name)
    ours.add_param_group({"params": [gg.ones(1, requires_grad=True)], "lr": 0.3})
    if not name.startswith("LambdaLR"):  # PyTorch's cannot take more groups
        theirs.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 0.3})
    theirs.step()
    for _ in range(5):
        schedule.step()
        expected.step()
        rates = [*expected.get_last_lr(), *schedule.get_last_lr()[1:2]][:3]
        np.testing.assert_allclose(schedule.get_last_lr(), rates, rtol=1e-12)


CHAINS = {
    "two at once": lambda o, L: [L.LinearLR(o, 0.5, 1.0, 4), L.StepLR(o, 2, 0.1)],
    "three at once": lambda o, L: [L.StepLR(o, 1, 0.9), L.CosineAnnealingLR(o, 3, 0.01), L.LinearLR(o)],
    "the same twice": lambda o, L: [L.CosineAnnealingLR(o, 2), L.CosineAnnealingLR(o, 2)],
    "LambdaLR last": lambda o, L: [L.StepLR(o, 1), L.LambdaLR(o, lambda n: 1 / (1 + n))],
    "a shortest cosine": lambda o, L: [L.CosineAnnealingLR(o, 1, 0.2)],
}


@pytest.mark.parametrize("name", CHAINS)
def test_schedules_that_share_an_optimiser_chain_as_in_pytorch(name):
    torch = pytest.importorskip("torch", reason="parity with PyTorch needs PyTorch")
    rates = []
    for library, ones in ((optim, gg.ones), (torch.optim, torch.ones)):
        optimizer = library.SGD([ones(1, requires_grad=True)], lr=1.0)
        schedules = CHAINS[name](optimizer, library.lr_scheduler)
        optimizer.step()
        rates.append([optimizer.param_groups[0]["lr"]])
        for n in range(9):
            for schedule in schedules:
                schedule.step()
            if n == 4:
                optimizer.param_groups[0]["lr"] = 5.0  # by hand
            rates[-1].append(optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(*rates, rtol=1e-12)


def test_a_second_schedule_begins_where_the_optimiser_began():
    optimizer = optim.SGD([gg.ones(1, requires_grad=True)], lr=1.0)
    first = lr_scheduler.StepLR(optimizer, 1)
    first.step()
    first.step()
    lr_scheduler.LambdaLR(optimizer, lambda n: 1.0)
    assert optimizer.param_groups[0]["lr"] == 1.0


def test_a_schedule_can_begin_at_a_later_epoch():
    optimizer = optim.SGD([gg.ones(1, requires_grad=True)], lr=1.0)
    first = lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        first.step()
    later = lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    assert later.last_epoch == 4 and later.get_last_lr() == [pytest.approx(0.01)]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda o: lr_scheduler.StepLR("o", 2), TypeError),
        (lambda o: lr_scheduler.StepLR(o, 0), ValueError),
        (lambda o: lr_scheduler.StepLR(o, 2.5), TypeError),
        (lambda o: lr_scheduler.StepLR(o, 2, last_epoch=3), ValueError),
        (lambda o: lr_scheduler.LinearLR(o, 0.0), ValueError),
        (lambda o: lr_scheduler.LinearLR(o, "a"), TypeError),
        (lambda o: lr_scheduler.LinearLR(o, end_factor=None), TypeError),
        (lambda o: lr_scheduler.StepLR(o, 2, "a"), TypeError),
        (lambda o: lr_scheduler.StepLR(o, 2, last_epoch="a"), TypeError),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, ("a",)), TypeError),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 3, [1]), TypeError),
        (lambda o: lr_scheduler.LambdaLR("o", abs), TypeError),
        (lambda o: lr_scheduler.LinearLR(o, 1.0, 1.5), ValueError),
        (lambda o: lr_scheduler.LinearLR(o, total_iters=0), ValueError),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, -1), ValueError),
        (lambda o: lr_scheduler.LambdaLR(o, [abs, abs]), ValueError),
        (lambda o: lr_scheduler.LambdaLR(o, 3), ValueError),
        (lambda o: lr_scheduler.StepLR(o, 2).load_state_dict({"last_epoch": 1}), ValueError),
    ],
)
def test_wrong_schedules_are_refused(call, error):
    with pytest.raises(error, match=r"LR[.:]"):
        call(optim.SGD([gg.ones(1, requires_grad=True)], lr=1.0))
