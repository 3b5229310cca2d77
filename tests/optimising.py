"""Steps of optimisers for tests: parameters of many sizes, a run over them, and each rule in float64."""

from __future__ import annotations

import numpy as np

import gpugrad as gg
from gpugrad import optim

# More than eight, so that launches for eight at once need two; sizes beside multiples of a work-group's share.
SHAPES = [(3, 5), (7,), (), (1025,), (0,), (31, 33), (1024,), (2, 3, 5), (1,), (1023,), (13,)]
STEPS = 5


def numbers(rng, dtype=np.float32):
    parameters = [rng.standard_normal(s).astype(dtype) for s in SHAPES]
    gradients = [[rng.standard_normal(s).astype(dtype) for s in SHAPES] for _ in range(STEPS)]
    return parameters, gradients


def tensors(parameters):
    return [gg.tensor(p, requires_grad=True) for p in parameters]


def run(make, parameters, gradients):
    """The parameters after a step with each list of gradients."""
    ps = tensors(parameters)
    optimizer = make(ps)
    for step in gradients:
        for p, g in zip(ps, step):
            p.grad = gg.tensor(g)
        optimizer.step()
    return [p.detach().numpy() for p in ps], optimizer


def sgd(p, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    m = None
    for g in grads:
        g = g + weight_decay * p
        if momentum:
            m = g if m is None else momentum * m + (1 - dampening) * g
            g = g + momentum * m if nesterov else m
        p = p - lr * g
    return p


def adam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


RULES = {
    "plain": (optim.SGD, sgd, {"lr": 0.1}),
    "weight decay": (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.3}),
    "momentum": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    "dampening": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.4, "weight_decay": 0.1}),
    "nesterov": (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "adam": (optim.Adam, adam, {"lr": 0.05}),
    "adam, all settings": (
        optim.Adam,
        adam,
        {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-3, "weight_decay": 0.2},
    ),
    "adamw": (optim.AdamW, adam, {"lr": 0.05, "weight_decay": 0.1}),
}


def reference(rule, parameters, gradients, settings):
    _, formula, _ = RULES[rule]
    extra = {"decoupled": True} if rule == "adamw" else {}
    return [
        formula(p.astype(np.float64), [step[i].astype(np.float64) for step in gradients], **settings, **extra)
        for i, p in enumerate(parameters)
    ]
