"""Exercises of lesson 04: matrix products, tiles, registers, vectors."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace

TILED = """
#define TILE 4
__kernel void tiled(__global const float *a, __global const float *b, __global float *c, int M, int N, int K) {
  __local float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int n = get_global_id(0), m = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    a_tile[y][x] = m < M && k0 + x < K ? a[m * K + k0 + x] : 0;
    b_tile[y][x] = k0 + y < K && n < N ? b[(k0 + y) * N + n] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum += a_tile[y][k] * b_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < M && n < N)
    c[m * N + n] = sum;
}
"""


def _naive_reads() -> list[int]:
    import gpugrad as gg

    with gg.trace(kernels="gemm_naive") as t:
        gg.kernels.gemm(gg.ones(3, 5).array, gg.ones(5, 4).array, variant="naive")
    return [loads(t[0], "a"), loads(t[0], "b")]


def _tiled_reads() -> int:
    import gpugrad as gg

    a, c = gg.ones(8, 8), gg.zeros(8, 8)
    with gg.trace() as t:
        gg.kernel(TILED)(a, a.clone(), c, 8, 8, 8, global_size=(8, 8), local_size=(4, 4))
    launch = next(x for x in t.launches if x.kernel == "tiled")
    return loads(launch, "a") + loads(launch, "b")


def _factors(rng: np.random.Generator, M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray, Out]:
    """Two matrices of whole numbers, so that float32 adds without rounding in any order, and their product."""
    a, b = (rng.integers(-9, 10, shape).astype("f4") for shape in ((M, K), (K, N)))
    return a, b, Out(a @ b)


SIZES = ((3, 4, 5), (1, 1, 1), (4, 4, 4), (9, 6, 13))


def _product(rng: np.random.Generator) -> Iterator[Case]:
    for M, N, K in SIZES:
        size = (rounded_up(N, 4), rounded_up(M, 4))
        yield Case(f"with M = {M}, N = {N}, K = {K}", (*_factors(rng, M, N, K), M, N, K), size, (4, 4))


def _transposed(rng: np.random.Generator) -> Iterator[Case]:
    for M, N, K in SIZES:
        a, b, c = _factors(rng, M, N, K)
        size = (rounded_up(N, 4), rounded_up(M, 4))
        yield Case(f"with M = {M}, N = {N}, K = {K}", (a.T.copy(), b, c, M, N, K), size, (4, 4))


def _four_rows(rng: np.random.Generator) -> Iterator[Case]:
    def sparing(launch: "LaunchTrace") -> str:
        M, N, K = (int(launch.args[name]) for name in "MNK")
        enough, count = K * N * -(-M // 4), loads(launch, "b")
        return "" if count <= enough else (
            f"right, but it reads b {count} times; one reading of each element for four rows makes {enough}. "
            "Work-items beyond the last row should read nothing."
        )  # fmt: skip

    for M, N, K in SIZES:
        size = (rounded_up(N, 4), rounded_up(-(-M // 4), 2))
        args = (*_factors(rng, M, N, K), M, N, K)
        yield Case(f"with M = {M}, N = {N}, K = {K}", args, size, (4, 2), demand=sparing)


def _four_columns(rng: np.random.Generator) -> Iterator[Case]:
    for M, N, K in ((3, 8, 5), (1, 4, 1), (4, 4, 4), (7, 20, 13)):
        size = (rounded_up(N // 4, 2), rounded_up(M, 4))
        yield Case(f"with M = {M}, N = {N}, K = {K}", (*_factors(rng, M, N, K), M, N, K), size, (2, 4))


LESSON = Lesson(
    "04_gemm",
    "The matrix product",
    "How does a processor multiply matrices without waiting for memory all the time?",
    exercises=(
        Prediction(
            "04.1", "predict", "Reads of the naive product",
            hints=(
                "C has 3 rows and 4 columns. What does the work-item of one element read?",
                "5 numbers of A and 5 of B, for each of 12 elements.",
            ),
            truth=_naive_reads,
            why="M times N work-items read K numbers from each.",
            misconceptions=(
                ([15, 20], "That is how many numbers A and B hold; each is read several times."),
                ([12, 12], "That is how many elements C has; for each, a row and a column are read."),
                ([45, 80], "An element of A is needed once for each column of C, one of B once for each row."),
            ),
        ),
        Prediction(
            "04.2", "predict", "Reads of the tiled product",
            hints=(
                "How many groups are there, and how many steps along K does each take?",
                "4 groups, 2 steps; in a step each of 16 work-items reads one number of A and one of B.",
            ),
            truth=_tiled_reads,
            why="4 groups, 2 steps, 16 work-items, 2 numbers each: the naive 1024, divided by the side of a tile.",
            misconceptions=(
                (1024, "That is what the naive kernel reads."),
                (128, "That is each number once; but two groups need each tile."),
                (64, "A tile of 4 by 4 saves a factor of 4, not of 16: a number serves one row or column of the tile."),
                (512, "Count both steps along K, and each work-item once in each."),
            ),
        ),
        KernelExercise(
            "04.3", "fill in", "The definition",
            hints=(
                "Row m of A begins at m * K, and k goes along it.",
                "Column n of B: row k begins at k * N, and n lies n further on.",
                "a[m * K + k] * b[k * N + n]",
            ),
            kernel="product", cases=_product,
            done="One line is the definition; all the rest of this lesson is about fetching.",
        ),
        KernelExercise(
            "04.4", "write a kernel", "A transposed factor",
            hints=(
                "Start with 04.3. Which element of the stored A is element (m, k) of the transpose?",
                "It lies in row k and column m, and a row has M numbers.",
                "a[k * M + m]",
            ),
            kernel="product_at", cases=_transposed,
            done="To transpose a matrix, exchange its two strides: nothing has to move.",
        ),
        KernelExercise(
            "04.5", "find the bug", "Who leaves early",
            hints=(
                "Work-items beyond the edge are needed: they fetch for others, and everybody waits for them.",
                "Take out the return, and guard each access: what is fetched, and what is written.",
                "m < M && k0 + x < K for A, k0 + y < K && n < N for B, and an if before the last line.",
            ),
            kernel="tiled", cases=_product,
            done="Where there are barriers, guard accesses, not work-items.",
        ),
        KernelExercise(
            "04.6", "make it faster", "Four rows for each work-item",
            hints=(
                "Keep four sums: float s0 = 0, s1 = 0, s2 = 0, s3 = 0; or float sum[4].",
                "In the loop over k: float right = b[k * N + n]; then each sum adds a[(m + i) * K + k] * right.",
                "Rows from M on do not exist: guard what is read from a, and what is written.",
            ),
            kernel="product", cases=_four_rows,
            done="A number in a register serves four times. Blocks of 4 by 4 do this for both matrices.",
        ),
        KernelExercise(
            "04.7", "fill in", "Four columns at once",
            hints=(
                "One number of A serves all four columns; a plain number times a float4 multiplies all four.",
                "Four neighbours in row k of B: vload4(0, b + k * N + n).",
                "At the end: vstore4(sum, 0, c + m * N + n);",
            ),
            kernel="product", cases=_four_columns,
            done="Four multiplications in one instruction, and four neighbours in one read.",
        ),
    ),
    minutes=55,
)  # fmt: skip
