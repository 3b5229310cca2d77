"""The transpose of matrices against NumPy, in every variant."""

import numpy as np
import pytest
from samples import DTYPES, Launches, same, sample

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad.array import Array
from gpugrad.custom import kernel
from gpugrad.trace.memory import memory_use

VARIANTS = K.variants("transpose")
A = Array.from_numpy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "shape", [(1, 1), (31, 33), (3, 65, 7), (2, 3, 32, 64), (2, 5, 70), (0, 5), (3, 4, 0), (0, 3, 3)]
)
def test_every_variant_of_transpose(device, shape, variant, dtype):
    x = sample(shape, dtype)
    same(K.transpose(A(x), variant=variant), np.swapaxes(x, -1, -2))


@pytest.mark.large  # when it is recorded
def test_rows_and_columns_of_a_tile_lie_in_different_banks_of_local_memory(device):
    with gg.trace() as t:
        K.transpose(A(sample((32, 32))), variant="tiled")
    conflicts = {use["kind"]: use["conflicts"] for use in memory_use(t.launches[0]) if use["space"] == "local"}
    assert conflicts == {"load": 1, "store": 1}


def test_permute_that_swaps_two_axes_runs_the_transpose_family(device):
    x = sample((2, 5, 3, 4))
    with K.use_kernels(transpose="naive"), Launches() as launches:
        same(K.permute(A(x), (0, 2, 3, 1)), x.transpose(0, 2, 3, 1))
    assert [launch.kernel.name for launch in launches] == ["transpose_naive"]


def test_a_kernel_of_your_own_stands_in_for_the_naive_one(device):
    mine = kernel("""
        __kernel void mine(__global const float *x, __global float *out, int R, int C) {
          int c = get_global_id(0), r = get_global_id(1), n = get_global_id(2);
          if (r < R && c < C) out[(n * C + c) * R + r] = 2 * x[(n * R + r) * C + c];
        }""")
    x = sample((2, 5, 17))
    with K.use_kernels(transpose=mine):
        same(K.transpose(A(x)), 2 * np.swapaxes(x, 1, 2))


def test_transpose_refuses_vectors_other_variants_and_a_wrong_out(device):
    with pytest.raises(ValueError, match="transpose: x has shape \\(3,\\)"):
        K.transpose(A(sample((3,))))
    with pytest.raises(ValueError, match="variant is 'fast'; there is naive, blocked, tiled"):
        K.transpose(A(sample((3, 2))), variant="fast")
    with pytest.raises(ValueError, match="out is float32\\(3, 2\\)"):
        K.transpose(A(sample((3, 2))), out=Array.empty((3, 2)))
    with pytest.raises(TypeError, match="must be an Array"):
        K.transpose(sample((3, 2)))
