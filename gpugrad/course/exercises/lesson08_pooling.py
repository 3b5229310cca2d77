"""Exercises of lesson 08: windows that hang over, ties and NaN, and where a maximum's gradient goes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...trace import LaunchTrace


def _sizes() -> list[int]:
    import gpugrad as gg
    import gpugrad.nn.functional as F

    x = gg.zeros(1, 1, 7, 7)
    pooled = (F.max_pool2d(x, 2), F.max_pool2d(x, 2, ceil_mode=True), F.max_pool2d(x, 3, stride=2, padding=1))
    return [y.shape[3] for y in pooled]


def _indices() -> list[list[int]]:
    import gpugrad as gg
    from gpugrad.kernels import max_pool2d

    x = [[1, 5, 0, 0], [5, 2, 0, 0], [7, 7, -2, -1], [7, 7, -1, -2]]
    found: list[list[int]] = max_pool2d(gg.tensor([[x]], dtype=gg.float32).array, 2)[1].numpy()[0, 0].tolist()
    return found


def _gradient() -> list[float]:
    import gpugrad as gg
    import gpugrad.nn.functional as F

    x = gg.tensor([[[[1, 9, 2, 3, 4]]]], dtype=gg.float32, requires_grad=True)
    F.max_pool2d(x, (1, 3), stride=1).sum().backward()
    found: list[float] = x.grad.numpy()[0, 0, 0].tolist()  # type: ignore[union-attr]
    return found


def largest(x: np.ndarray, K: tuple[int, int], S: tuple[int, int], P: tuple[int, int], D: tuple[int, int]) -> tuple:
    """(values, indices) of max-pooling of planes (planes, H, W), window by window as it is defined."""
    planes, H, W = x.shape
    OH, OW = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((H, W), K, S, P, D))
    out, at = np.empty((planes, OH, OW), "f4"), np.empty((planes, OH, OW), "i4")
    for p, oh, ow in np.ndindex(out.shape):
        seen = [(oh * S[0] - P[0] + i * D[0], ow * S[1] - P[1] + j * D[1]) for i, j in np.ndindex(K)]
        seen = [(h, w) for h, w in seen if 0 <= h < H and 0 <= w < W]
        if not seen:  # nothing but padding
            out[p, oh, ow], at[p, oh, ow] = -np.inf, -1
            continue
        values = [x[p, h, w] for h, w in seen]
        h, w = seen[int(np.argmax(values))]  # NumPy's argmax takes the first NaN, else the first of equals
        out[p, oh, ow], at[p, oh, ow] = x[p, h, w], h * W + w
    return out, at


def _averages(rng: np.random.Generator) -> Iterator[Case]:
    for H, W, K in ((3, 7, 2), (4, 4, 2), (5, 2, 3), (9, 11, 4)):
        x = rng.integers(-9, 10, (H, W)).astype("f4")
        OH, OW = -(-H // K), -(-W // K)
        mean = np.empty((OH, OW))
        for i, j in np.ndindex(OH, OW):
            mean[i, j] = x[i * K : i * K + K, j * K : j * K + K].mean(dtype="f8")
        # the sum of whole numbers is exact; the division may be off by 3 roundings on a GPU
        args = (x, Out(mean.astype("f4"), tolerance=1e-6), H, W, K, OH, OW)
        yield Case(f"with {H} x {W}, window {K} x {K}", args, (rounded_up(OH * OW, 8),), (8,))


def _mended(rng: np.random.Generator) -> Iterator[Case]:
    for about, OH, OW, K in (("below zero", 1, 3, 2), ("with NaN", 3, 2, 2), ("with NaN", 2, 5, 3)):
        x = rng.integers(-20, 0, (OH * K, OW * K)).astype("f4")
        if about == "with NaN":
            x[0, 0] = x[1, 3] = x[-1, -1] = np.nan
        elif K == 2:
            x[:, :2] = -np.inf
        out, _ = largest(x[None], (K, K), (K, K), (0, 0), (1, 1))
        args = (x, Out(out[0]), *x.shape, K, OH, OW)
        yield Case(f"{about}, {x.shape[0]} x {x.shape[1]}, window {K} x {K}", args, (rounded_up(OH * OW, 8),), (8,))


def _everything(rng: np.random.Generator) -> Iterator[Case]:
    for shape, K, S, P, D in (
        ((2, 5, 7), (3, 2), (2, 1), (1, 0), (1, 2)),
        ((1, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1)),
        ((3, 9, 7), (2, 3), (1, 2), (1, 1), (2, 1)),  # padding at all four edges is reached
        ((1, 2, 5), (2, 2), (1, 1), (1, 0), (3, 2)),  # rows -1 and 2: padding, and nothing else
    ):
        x = rng.integers(-4, 0, shape).astype("f4")  # many equals, and all below the padding's zero
        x[-1, :3, -2:] = -np.inf
        if shape[0] > 1:
            x[1, 2, 3] = np.nan
        out, at = largest(x, K, S, P, D)
        args = (x, Out(out), Out(at), *shape[1:], *K, *S, *P, *D, *out.shape[1:], out.size)
        planes = f"{shape[0]} plane{'s' if shape[0] > 1 else ''} of {shape[1]} x {shape[2]}, some pixels -infinity"
        about = f"with {planes}, window {K}, stride {S}, padding {P}, dilation {D}"
        yield Case(about, args, (rounded_up(out.size, 64),), (64,))


def _given_back(rng: np.random.Generator) -> Iterator[Case]:
    def once(launch: "LaunchTrace") -> str:
        n = launch.args["OH"] * launch.args["OW"]
        for name in ("g", "indices"):
            if loads(launch, name) > n:
                return f"right, but it reads {name} {loads(launch, name)} times for {n} windows: use variables."
        return "" if not loads(launch, "gx") else "right, but it reads gx, which is only to be written."

    for OH, OW in ((2, 3), (1, 1), (7, 5)):
        x = rng.integers(0, 4, (1, 2 * OH, 2 * OW)).astype("f4")
        g = rng.standard_normal((OH, OW)).astype("f4")
        _, at = largest(x, (2, 2), (2, 2), (0, 0), (1, 1))
        gx = np.zeros(x.shape[1:], "f4")
        gx.reshape(-1)[at.reshape(-1)] = g.reshape(-1)
        args = (g, at[0], Out(gx), 2 * OW, OH, OW)
        yield Case(f"with {OH} x {OW} windows", args, (rounded_up(OH * OW, 8),), (8,), demand=once)


LESSON = Lesson(
    "08_pooling",
    "Pooling: one number for each window",
    "What may an image lose, and who learns from what is left?",
    exercises=(
        Prediction(
            "08.1", "predict", "How many windows",
            hints=(
                "(n + 2P - K) / S + 1, rounded down; the stride is the kernel's size if it is not named.",
                "With ceil_mode it is rounded up: the last window hangs over the edge.",
                "(7 + 2 - 3) / 2 + 1",
            ),
            truth=_sizes,
            why="Rounded down the last pixel is lost; rounded up a window hangs over; a padding of 1 makes it fit.",
            misconceptions=(
                ([6, 6, 4], "The stride is the kernel's size if it is not named: windows lie side by side."),
                ([3, 3, 4], "ceil_mode rounds up: there is a window for the last pixel."),
                ([3, 4, 3], "The padding adds a pixel on both sides: 9 in all."),
            ),
        ),
        Prediction(
            "08.2", "predict", "Where the largest is",
            hints=(
                "An index counts through the whole image: row 1, column 0 is 4.",
                "Of equals the first one wins, going through the window row by row.",
                "The last window's largest number is -1; it stands at row 2, column 3 first.",
            ),
            truth=_indices,
            why="Of equals the first wins, and indices count through the whole image.",
            misconceptions=(
                ([[1, 0], [0, 1]], "Indices count through the whole image, not through the window."),
                ([[4, 7], [13, 14]], "These are the last of the equals; the first wins."),
                ([[1, 2], [8, 10]], "The largest of -2, -1, -1, -2 is -1."),
                ([[5, 0], [7, -1]], "These are the numbers; the question is where they are."),
            ),
        ),
        Prediction(
            "08.3", "predict", "A gradient of a maximum",
            hints=(
                "The windows are 1, 9, 2 and 9, 2, 3 and 2, 3, 4. Who wins in each?",
                "A pixel that wins twice gets two gradients, which add up.",
            ),
            truth=_gradient,
            why="9 wins twice, 4 once, and the others learn nothing.",
            misconceptions=(
                ([0, 1, 0, 0, 1], "9 wins in two windows; their gradients add up."),
                ([1, 2, 3, 2, 1], "That is how many windows see each pixel; only winners get the gradient."),
                ([0, 18, 0, 0, 4], "The gradient of each maximum is 1, whatever its value."),
            ),
        ),
        KernelExercise(
            "08.4", "fill in", "How many pixels it sees",
            hints=(
                "The loops run from top to min(top + K, H) and from left to min(left + K, W).",
                "How many turns does each of them take? Multiply.",
                "(min(top + K, H) - top) * (min(left + K, W) - left)",
            ),
            kernel="averages", cases=_averages,
            done="Windows at the edge see less, and divide by less.",
        ),
        KernelExercise(
            "08.5", "find the bug", "Below zero, and no number",
            hints=(
                "What comes out if all numbers of a window are negative? See 02.3.",
                "Which question lets a NaN in, and does not let it out again?",
                "best == best && !(a <= best)",
            ),
            kernel="largest", cases=_mended,
            done="After a ReLU nobody would have noticed the first mistake, until the day that the ReLU moves.",
        ),
        KernelExercise(
            "08.6", "write a kernel", "All of max-pooling",
            hints=(
                "Take k apart: ow = k % OW, oh = k / OW % OH, plane = k / (OH * OW).",
                "Loop over kh and kw; h = oh * SH - PH + kh * DH, likewise w; leave out what is outside.",
                "Keep best and at. The first pixel is always taken (at < 0), another one only if it beats best.",
            ),
            kernel="my_max_pool", cases=_everything,
            done="It has the signature of the package's own first rung: gg.use_kernels(max_pool2d=...) takes it.",
        ),
        KernelExercise(
            "08.7", "make it faster", "The gradient, window by window",
            hints=(
                "One work-item for each window. Keep g[k] and indices[k] in variables.",
                "The window's pixels are at rows 2 * (k / OW) and one below, columns 2 * (k % OW) and one further.",
                "Write all four: the value where the pixel's place is the index, else 0.",
            ),
            kernel="give_back", cases=_given_back,
            done="Each pixel is written once, each gradient read once, and nobody has to clear gx before.",
        ),
    ),
)  # fmt: skip
