"""The package's own kernels, every variant of them: recorded bit-equal to plain, and without a false alarm."""

import contextlib
import importlib
import sys
from unittest import mock

import numpy as np
import pytest
from sampling import some

import gpugrad as gg
import gpugrad.kernels as K
import gpugrad.nn.functional as F
from gpugrad.array import Array
from gpugrad.kernels.tuning import TUNING
from gpugrad.program import declared, intercepting
from gpugrad.trace.recorder import Options, record
from gpugrad.trace.sanitizer import report_on

stored = gg.float32  # what the tensors below hold


def tensor(*shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return gg.tensor(rng.uniform(0.1, 1, shape).astype(stored), requires_grad=True)


def convolutions():
    x, w, b = tensor(2, 4, 7, 6), tensor(6, 2, 3, 3), tensor(6)
    F.conv2d(x, w, b, stride=(2, 1), padding=1, groups=2).sum().backward()
    F.conv_transpose2d(x, tensor(4, 2, 3, 2), stride=2, padding=1).sum().backward()
    F.fold(F.unfold(tensor(1, 2, 5, 5), 3, padding=1), (5, 5), 3, padding=1).sum().backward()
    F.conv2d(tensor(2, 8, 8, 8), tensor(16, 8, 3, 3), padding=1).sum().backward()


def pools():
    x = tensor(2, 3, 8, 10)
    F.max_pool2d(x, 2).sum().backward()
    with contextlib.suppress(ValueError):  # the variant for 2 x 2 windows refuses others
        F.max_pool2d(x, 3, stride=2, padding=1, dilation=2, ceil_mode=True).sum().backward()
    y, v = F.max_pool2d(x, 2), tensor(2, 3, 4, 5)
    (g,) = gg.grad(y, x, v, create_graph=True)
    (g * g).sum().backward()
    F.avg_pool2d(x, (3, 2), stride=1, padding=1, count_include_pad=False).sum().backward()


def products():
    (tensor(5, 7) @ tensor(7, 3)).sum().backward()
    (tensor(2, 17, 9) @ tensor(9, 20)).sum().backward()
    K.gemm(tensor(9, 5).array, tensor(11, 9).array, transpose_a=True, transpose_b=True, alpha=0.5)


def reductions():
    x = tensor(5, 13, 4)
    for y in (x.sum(1), x.mean(), x.max(1)[0], x.amin((0, 2)), x.var(2)):
        y.sum().backward()
    _ = x.argmax(1), x.argmin()


def softmaxes():
    x = tensor(6, 11)
    for choice in ("stable", "lanes"):  # what GPUs and CPUs choose
        with mock.patch.dict(TUNING, softmax={"cpu": choice, "gpu": choice}):
            F.softmax(x, 1).sum().backward()
            F.log_softmax(x, 0).sum().backward()
    module = importlib.import_module("gpugrad.kernels.softmax")
    with mock.patch.object(module, "tuned", return_value=64):  # what GPUs choose for long rows
        F.softmax(tensor(2, 3000), 1).sum().backward()
    F.cross_entropy(x, gg.tensor(np.array([1, 2, -100, 4, 5, 0]), dtype=gg.int32), label_smoothing=0.1).backward()
    F.nll_loss(x, gg.tensor(np.arange(6), dtype=gg.int32), weight=gg.ones(11, dtype=stored)).backward()


def elementwise():
    x, y = tensor(3, 1, 5), tensor(4, 5)
    z = (x * y + x / y - y**2).relu() + x.exp() + y.log().tanh() + x.clamp(0.2, 0.8)
    gg.where(z > 1, z, z * 2).sum().backward()
    F.gelu(y).sum().backward()
    K.elementwise("sub", y.array, 2.0), K.elementwise("sub", 2.0, y.array)
    w = tensor(4, 3)
    F.batch_norm(w, gg.zeros(3), gg.ones(3), weight=tensor(3), bias=tensor(3), training=True).sum().backward()
    F.batch_norm(tensor(2, 3, 5, 5), gg.zeros(3), gg.ones(3), training=False).sum().backward()
    _ = x.to(gg.int32), gg.full((3,), 2.0), (x > y)


def movements():
    x = tensor(3, 4, 5)
    parts = (
        x.permute(2, 0, 1),
        gg.cat([x, x], 1),
        gg.stack([x, x]),
        x[1:, ::2],
        x[0, 1],
        F.pad(x, (1, 2)),
        x.transpose(0, 2),
    )
    sum((p.sum() for p in parts), gg.zeros(())).backward()
    x.index_select(1, gg.tensor([0, 2, 2, 3, 1], dtype=gg.int32)).sum().backward()
    tensor(40, 3).index_select(0, gg.tensor(np.arange(3000) % 40, dtype=gg.int32)).sum().backward()
    tensor(33, 40).T.clone().sum().backward()
    y = gg.zeros(3, 4)
    y[1:, 2] = gg.ones(2)
    y[0] = 2.5
    F.one_hot(gg.tensor([1, 0, 2], dtype=gg.int32), 3)


def chances():
    gg.manual_seed(1)
    _ = gg.rand(7, 3), gg.randn(9), gg.randperm(20), K.random_words(9, (1, 0, 0, 0), (2, 3))
    K.bernoulli((5, 5), 0.3)
    F.dropout(tensor(40), 0.5, training=True).sum().backward()


def optimisers():
    for make in (lambda p: gg.optim.SGD(p, lr=0.1), lambda p: gg.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
                 lambda p: gg.optim.AdamW(p, lr=0.1)):  # fmt: skip
        ps = [gg.nn.Parameter(tensor(*s).detach()) for s in ((3, 5), (7,), (4096,))]
        for p in ps:
            p.grad = p.detach() * 0.5
        make(ps).step()
    scaler = gg.GradScaler()
    scaler.scale(tensor(1))
    scaler.step(gg.optim.SGD(ps))


WORK = {
    w.__name__: w
    for w in (convolutions, pools, products, reductions, softmaxes, elementwise, movements, chances, optimisers)
}
FAMILIES = {
    "convolutions": ["im2col", "col2im", "conv2d", "conv2d_backward_input", "conv2d_backward_weight"],
    "pools": ["max_pool2d", "max_pool2d_backward", "avg_pool2d", "avg_pool2d_backward"], "products": ["gemm"],
    "reductions": ["reduce", "argmax"], "softmaxes": ["softmax"], "elementwise": [],
    "movements": ["transpose", "index_select_backward"], "chances": [], "optimisers": ["sgd", "sgd_momentum", "adam"],
}  # fmt: skip


#: Kernels whose atomic additions come in any order where work-items run at once, so that their sums are rounded anew.
ORDERLESS = {"col2im_scatter"}


def alike(kernel, recorded, plain):
    """To the last bit; sums without an order, here of at most nine numbers around 1, within their rounding."""
    if kernel.name in ORDERLESS:
        return np.allclose(recorded, plain, rtol=0, atol=100 * np.finfo("f4").eps)
    return recorded.tobytes() == plain.tobytes()


class Twice:
    """Runs each launch plain on its arrays, then recorded on the same, and compares; each form of a kernel once."""

    def __init__(self):
        self.seen = set()
        self.wrong = []

    def __call__(self, launch, run):
        k = launch.kernel
        form = (k.file, k.name, k.types, k.defines)
        if form in self.seen:
            run()
            return
        self.seen.add(form)
        arrays = [launch.args[i] for i in k.written if isinstance(launch.args[i], Array)]
        before, writers = [a.numpy() for a in arrays], [a.state.writer for a in arrays]
        run()
        plain = [a.numpy() for a in arrays]
        for a, host, writer in zip(arrays, before, writers):
            a.write(host)
            a.state.writer = writer
        t = record(launch, Options())
        if not all(alike(k, a.numpy(), b) for a, b in zip(arrays, plain)):
            self.wrong.append(f"{k.file}: {k.name} {k.defines} gives other bits recorded")
        report = report_on(t)
        if not report.ok:
            self.wrong.append(f"{k.file}: {report}")


def variants_of(work):
    """One choice of variants for each rung of the longest ladder."""
    ladders = {f: K.variants(f) for f in FAMILIES[work]}
    for n in range(max((len(v) for v in ladders.values()), default=1)):
        yield {f: v[min(n, len(v) - 1)] for f, v in ladders.items()}


@pytest.mark.deep
@pytest.mark.parametrize("dtype", some([gg.float32, gg.float16], every=2), ids=str)
def test_every_kernel_of_the_package_recorded_is_plain_and_without_an_alarm(monkeypatch, dtype):
    monkeypatch.setattr(sys.modules[__name__], "stored", dtype)
    met: set[tuple[str, str]] = set()
    wrong = []
    for work in WORK:
        twice = Twice()
        for chosen in variants_of(work):
            with gg.use_kernels(**chosen) if chosen else contextlib.nullcontext(), intercepting(twice):
                WORK[work]()
        met.update(form[:2] for form in twice.seen)
        wrong += twice.wrong
    assert wrong == []
    missing = {(k.file, k.name) for k in declared} - met
    assert not missing, sorted(missing)


@pytest.mark.deep
def test_a_step_of_training_is_recorded_without_an_alarm():
    x, w = tensor(2, 1, 6, 6), tensor(2, 1, 3, 3)
    twice = Twice()
    with intercepting(twice):
        y = F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2).reshape(2, -1)
        F.cross_entropy(y, gg.tensor([1, 3], dtype=gg.int32)).backward()
    assert twice.wrong == []
