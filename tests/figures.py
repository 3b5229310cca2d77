"""Figures for tests: recorded launches, a profile and a training run, each made anew."""

import numpy as np

import gpugrad as gg
from gpugrad import viz
from gpugrad.models import course_cnn


def product(variant="tiled"):
    rng = np.random.default_rng(5)
    a, b = (gg.Array.from_numpy(rng.integers(0, 9, s).astype("f4")) for s in ((6, 7), (7, 5)))
    with gg.trace(watch="*") as t:
        gg.kernels.gemm(a, b, variant=variant)
    return t.launches[-1]


def short_timeline():
    a = gg.Array.from_numpy(np.ones((32, 32), "f4"))
    with gg.profile() as p:
        gg.kernels.gemm(a, a)
    return viz.timeline(p)


def short_training():
    test = gg.data.mnist(train=False, source="subset")
    few = gg.data.ImageDataset(test.images[:100], test.labels[:100], "few")
    figure = viz.training(course_cnn(pretrained=True), few)
    figure.step(1)
    figure.epoch(0.5)
    figure.finish()
    return figure


#: Each work-item reads what its neighbour writes, unordered.
SHIFT = """__kernel void shift(__global const float *a, __global float *b) {
  __local float t[8];
  int i = get_local_id(0);
  t[i] = a[i];
  b[i] = t[(i + 1) % 8];
}"""


def racing():
    """SHIFT, in a run in which work-item 3 came too early."""
    a, b = (gg.Array.from_numpy(np.arange(8, dtype="f4") + k) for k in (1, 0))
    with gg.trace() as t:
        gg.kernel(SHIFT)(a, b, global_size=8, local_size=8)
    c = t.launches[-1].columns
    names = np.array([b.name for b in t.launches[-1].buffers])
    c.bits[(c.item == 3) & (c.kind == 0) & (names[c.buffer] == "t")] = 0
    return t.launches[-1]
