"""Records the corpus and some of the package's kernels on one device: `python recordings.py DEVICE FILE`.

A process of its own, as a simulated device is chosen when OpenCL is loaded.
"""

import os
import sys

import numpy as np
from source.runner import CASES, data
from source.test_source_fuzz import alone, in_one_order, to_device

import gpugrad as gg
import gpugrad.kernels as K
from gpugrad.array import Array
from gpugrad.trace.events import values

COLUMNS = "item group local_id seq site kind lane flags buffer offset size phase local_phase global_phase".split()


def array(*shape):
    """Sixteenths: sums of products of a few are exact, whatever a compiler does."""
    rng = np.random.default_rng(shape)
    return Array.from_numpy(((2 * rng.integers(-32, 32, shape) + 1) / 16).astype("f4"))


#: What keeps addresses in memory: they are another device's own.
ADDRESSES = {"pointers_kept_in_local_memory"}

# Variants whose work-groups are the same size on every device.
PACKAGE = {
    "gemm naive": lambda: K.gemm(array(5, 7), array(7, 3), variant="naive"),
    "gemm tiled": lambda: K.gemm(array(17, 18), array(18, 20), variant="tiled"),
    "gemm blocked": lambda: K.gemm(array(9, 20), array(20, 9), variant="blocked"),
    "im2col": lambda: K.im2col(array(2, 2, 5, 6), 3, padding=1, variant="naive"),
    "col2im": lambda: K.col2im(array(2, 8, 20), (5, 6), 2, variant="gather"),
    "conv2d": lambda: K.conv2d(array(2, 2, 5, 6), array(3, 2, 3, 3), padding=1, variant="direct"),
    "max_pool2d": lambda: K.max_pool2d(array(2, 2, 6, 6), 2, variant="window"),
    "transpose": lambda: K.transpose(array(20, 33), variant="tiled"),
    "softmax": lambda: K.softmax(array(6, 11), 1, variant="naive"),
}


def record(name):
    if name in PACKAGE:
        with gg.trace() as t:
            PACKAGE[name]()
        return t
    case = CASES[name]
    kernel, args = gg.kernel(alone(case), name), list(to_device(data(case)))
    with gg.trace() as t:
        kernel(*args, global_size=case.global_size, local_size=case.local_size)
    return t


def main(which, path):
    corpus = [c.name for c in CASES.values() if in_one_order(c)]
    if os.environ.get("OCLGRIND_SAMPLE") != "0":  # `make test-full` takes all of it
        corpus = corpus[::3]
    found = {}
    with gg.use_device(which):
        for name in [*PACKAGE, *corpus]:
            for i, launch in enumerate(record(name).launches):
                for column in COLUMNS:
                    found[f"{name}/{i}/{column}"] = getattr(launch.columns, column)
                if name not in ADDRESSES:
                    found[f"{name}/{i}/value"] = values(launch.columns, launch.sites)
    np.savez(path, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
