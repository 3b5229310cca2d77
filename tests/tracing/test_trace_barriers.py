"""No barrier of the package's kernels can be taken away without the sanitizer noticing."""

import importlib
import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import gpugrad
import gpugrad.kernels as K
from gpugrad.array import Array
from gpugrad.kernels import gemm_warp
from gpugrad.kernels.argmax import extremum
from gpugrad.program import Compiled, Launch, intercepting
from gpugrad.trace.recorder import Options, record
from gpugrad.trace.sanitizer import report_on

softmax = importlib.import_module("gpugrad.kernels.softmax")  # the package has a function of that name
FOLDER = Path(gpugrad.__file__).parent / "kernels"
BARRIER = re.compile(r"\bbarrier\([^;]*\);")
KERNEL = re.compile(r"__kernel[^{;]*?void\s+(\w+)\(")


def barriers():
    """(kernel, number of the barrier within it) -> where it stands in the file."""
    found = {}
    for path in sorted(FOLDER.glob("*.cl")):
        text = path.read_text()
        starts = [(m.start(), m.group(1)) for m in KERNEL.finditer(text)]
        for m in BARRIER.finditer(text):
            name = [n for at, n in starts if at < m.start()][-1]
            number = sum(kernel == name for kernel, _ in found)
            found[name, number] = m.span()
    return found


BARRIERS = barriers()


def array(*shape):
    return Array.from_numpy(np.random.default_rng(0).uniform(1, 2, shape).astype("f4"))


def softmax_backward():
    """Where a group shares a line, as on GPUs."""
    with mock.patch.object(softmax, "tuned", return_value=32):
        softmax.softmax_backward("softmax", array(2, 300), array(2, 300), 1)


def warp():
    """With a tile of which each work-item writes several rows, whatever the device."""
    with mock.patch.dict(gemm_warp.TILES, float32=(gemm_warp.Tile(64, 64, 8, 8),)):
        K.gemm(array(60, 70), array(70, 61), variant="warp")


# What launches each kernel that has barriers, large enough for its loops to turn more than once.
LAUNCHES = {
    "argmax_tree": lambda: extremum("max", array(3, 300), 1, variant="tree"),
    "gemm_tiled": lambda: K.gemm(array(17, 40), array(40, 18), variant="tiled"),
    "gemm_blocked": lambda: K.gemm(array(20, 50), array(50, 66), variant="blocked"),
    "gemm_warp": warp,
    "reduce_tree": lambda: K.reduce("sum", array(3, 300), 1, variant="tree"),
    "softmax_online": lambda: K.softmax(array(2, 300), 1, variant="online"),
    "softmax_backward_tree": softmax_backward,
    "transpose_tiled": lambda: K.transpose(array(40, 40), variant="tiled"),
}


def without(text, span):
    """The text with one barrier blanked out."""
    return text[: span[0]] + ";" + " " * (span[1] - span[0] - 1) + text[span[1] :]


def test_every_kernel_with_a_barrier_is_launched_here():
    assert {name for name, _ in BARRIERS} == set(LAUNCHES)


@pytest.mark.deep
@pytest.mark.parametrize("name", LAUNCHES)
def test_taking_a_barrier_away_is_a_race(name):
    seen = {}

    def intercept(launch, run):
        k = launch.kernel
        for (kernel, number), span in BARRIERS.items():
            if kernel != k.name or number in seen:
                continue
            text = without(k.source, span)
            mutant = Compiled(k.device, text, k.name, k.arguments, k.types, k.defines, k.file)
            arrays = [a for a in launch.args if isinstance(a, Array)]
            kept = [a.numpy() for a in arrays]
            writers = [a.state.writer for a in arrays]
            report = report_on(record(Launch(0, mutant, launch.args, launch.global_size, launch.local_size), Options()))
            for a, host, writer in zip(arrays, kept, writers):
                a.write(host)
                a.state.writer = writer
            seen[number] = sorted({f.kind for f in report})
        run()
        report = report_on(record(launch, Options()))
        assert report.ok, str(report)

    with intercepting(intercept):
        LAUNCHES[name]()
    assert seen == {number: ["data race"] for kernel, number in BARRIERS if kernel == name}
