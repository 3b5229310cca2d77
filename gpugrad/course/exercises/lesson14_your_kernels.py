"""Exercises of lesson 14: what a wrong kernel spoils, and the kernels that the set still lacks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, rounded_up, whole
from ..python_exercise import PythonExercise
from ..spec import Lesson, Prediction
from .lesson08_pooling import largest

LAST_ONE_STAYS = """
__kernel void last_one_stays(
    __global const float *col, __global float *x,
    int C, int H, int W, int KH, int KW, int SH, int SW,
    int PH, int PW, int DH, int DW, int OH, int OW) {
  int i = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
  if (i < H * W) {
    float sum = 0;
    for (int kh = 0; kh < KH; kh++)
      for (int kw = 0; kw < KW; kw++) {
        int top = i / W + PH - kh * DH, left = i % W + PW - kw * DW;
        int oh = top / SH, ow = left / SW, k = (c * KH + kh) * KW + kw;
        if (top >= 0 && top % SH == 0 && oh < OH && left >= 0 && left % SW == 0 && ow < OW)
          sum = col[((n * C * KH * KW + k) * OH + oh) * OW + ow];
      }
    x[(n * C + c) * H * W + i] = sum;
  }
}
"""


YOURS = "<your kernel>"  # the file of a kernel that was written in a cell


def _network() -> tuple[Any, Any]:
    """The lesson's network, and the loss of two images."""
    import gpugrad as gg
    import gpugrad.nn.functional as F
    from gpugrad import nn

    gg.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(392, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip
    images = gg.rand(2, 1, 28, 28)
    return model, lambda: F.cross_entropy(model(images), np.array([3, 7]))


def _spoiled() -> list[bool]:
    import gpugrad as gg

    found = []
    for col2im in ("gather", gg.kernel(LAST_ONE_STAYS)):
        model, loss = _network()
        with gg.use_kernels(col2im=col2im, im2col="naive", gemm="naive"):
            value = loss()
            value.backward()
        gradients = [model[i].weight.grad.numpy() for i in (0, 3, 9)]
        found.append([value.detach().numpy(), *gradients])
    return [not np.allclose(a, b, rtol=1e-3, atol=1e-6) for a, b in zip(*found)]


def _products() -> int:
    import gpugrad as gg

    _, loss = _network()
    names: list[str] = []
    with gg.use_kernels(gemm="naive", im2col="naive"):
        handle = gg.on_launch(lambda launch: names.append(launch.kernel.name))
        loss().backward()
        handle.remove()
    return names.count("gemm_naive")


def _sums(rng: np.random.Generator) -> Iterator[Case]:
    for outer, reduced, inner in ((2, 3, 5), (3, 5, 1), (1, 7, 4), (4, 1, 6), (1, 60, 2)):
        x = whole(rng, outer, reduced, inner)
        args = (x, Out(x.sum(1)), outer, reduced, inner)
        about = f"with outer = {outer}, reduced = {reduced}, inner = {inner}"
        yield Case(about, args, (rounded_up(outer * inner, 8),), (8,))


def _products_of(rng: np.random.Generator) -> Iterator[Case]:
    for (M, N, K), (outer, inner), transposed, shared, (alpha, beta) in (
        ((3, 4, 5), (1, 1), (False, False), False, (1, 0)),
        ((7, 5, 4), (1, 1), (True, False), False, (1, 0)),
        ((2, 6, 37), (1, 1), (False, True), False, (3, 0)),  # more than two tiles of 16
        ((17, 3, 2), (2, 3), (False, False), True, (1, 0)),
        ((3, 18, 4), (2, 2), (True, True), False, (2, 1)),
    ):
        a, a_strides = _factor(rng, (outer, inner), (M, K), transposed[0], shared=False)
        b, b_strides = _factor(rng, (outer, inner), (K, N), transposed[1], shared)
        left, right = (x.swapaxes(-1, -2) if t else x for x, t in zip((a, b), transposed))
        before = whole(rng, outer, inner, M, N) if beta else None
        c = alpha * (left @ right) + (beta * before if before is not None else 0)
        sizes, scale = (M, N, K, inner, *a_strides, *b_strides), (alpha, beta)
        products = "1 product" if outer * inner == 1 else f"{outer} x {inner} products"
        about = f"with M = {M}, N = {N}, K = {K}, {products}"
        about += "".join(f", {n} transposed" for n, t in zip("AB", transposed) if t)
        size = (rounded_up(N, 16), rounded_up(M, 16), outer * inner)
        yield Case(about, (a, b, Out(c, before=before), *sizes, *scale), size, (16, 16, 1))


def _factor(
    rng: np.random.Generator, batch: tuple[int, int], shape: tuple[int, int], transposed: bool, shared: bool
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Matrices of whole numbers as they are stored, and their strides: outer, inner, row, column."""
    batch = (1, batch[1]) if shared else batch  # shared along the outer axis
    x = whole(rng, *batch, *(shape[::-1] if transposed else shape))
    row, column = (1, shape[0]) if transposed else (shape[1], 1)
    each = shape[0] * shape[1]
    return x, (0 if shared else batch[1] * each, each, row, column)


def _given_back(rng: np.random.Generator) -> Iterator[Case]:
    for shape, K, S, P, D in (
        ((2, 5, 7), (3, 2), (2, 1), (1, 0), (1, 2)),
        ((1, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1)),
        ((3, 9, 6), (2, 3), (1, 2), (1, 1), (2, 1)),
    ):
        out, at = largest(whole(rng, *shape), K, S, P, D)
        g = whole(rng, *out.shape)
        gx = np.zeros((shape[0], shape[1] * shape[2]), "f4")
        for plane in range(shape[0]):
            np.add.at(gx[plane], at[plane].reshape(-1), g[plane].reshape(-1))
        args = (g, at, Out(gx.reshape(shape)), *shape[1:], *K, *S, *P, *D, *out.shape[1:], gx.size)
        planes = f"{shape[0]} plane{'s' if shape[0] > 1 else ''}"
        about = f"with {planes} of {shape[1]} x {shape[2]}, window {K}, stride {S}, padding {P}, dilation {D}"
        yield Case(about, args, (rounded_up(gx.size, 64),), (64,))


def _adam(rng: np.random.Generator) -> Iterator[Case]:
    for n, step, weight_decay, shrink, eps in ((7, 1, 0.0, 1.0, 0.1), (1, 3, 0.5, 1.0, 0.001), (18, 9, 0.0, 0.9, 0.01)):
        p, g, m = (rng.standard_normal(n).astype("f4") for _ in range(3))
        v = np.square(rng.standard_normal(n)).astype("f4")
        if step == 1:
            g[-1], m[:], v[:] = 0, 0, 0  # a parameter that has never had a gradient: only eps keeps 0 / 0 away
        rule = (0.02, 0.1, 0.99, 0.01, eps, weight_decay, shrink, float(np.sqrt(1 - 0.99**step)))
        step_size, share1, beta2, share2 = np.asarray(rule[:4], "f4").astype("f8")  # as the kernel gets them
        grad = g + weight_decay * p.astype("f8")
        mean = m + share1 * (grad - m)
        square = beta2 * v + share2 * grad**2
        moved = shrink * p.astype("f8") - step_size * mean / (np.sqrt(square) / rule[-1] + eps)
        p_out, m_out, v_out = (  # about ten roundings
            Out(a.astype("f4"), 2e-6, before) for a, before in ((moved, p), (mean, m), (square, v))
        )
        yield Case(f"with n = {n}, step {step}", (p_out, g, m_out, v_out, n, *rule), (rounded_up(n, 8),), (8,))


def _relu(answer: Any) -> str:
    import gpugrad as gg

    rng = np.random.default_rng(14)
    for shape in ((3, 5), (1,), (2, 3, 4), (130,)):
        x, g = (rng.standard_normal(shape).astype("f4") for _ in range(2))
        x.reshape(-1)[0] = 0
        if x.size > 2:
            x.reshape(-1)[1] = np.nan
        there, back, started = _both_ways(answer, gg.tensor(x, requires_grad=True), gg.tensor(g))
        about = f"for x of shape {shape}"
        foreign = [k.name for kernels in started for k in kernels if k.file == "elementwise.cl" and k.name != "fill"]
        if foreign:
            return f"{about} a kernel of the package has run: {foreign[0]}, which computes element by element."
        for what, kernels in zip(("forward", "backward"), started):
            if not any(k.file == YOURS for k in kernels):
                return f"{about} {what} has started no kernel of yours."
        passed = np.where(np.isnan(x), back, np.where(x > 0, g, 0))  # a NaN may pass a gradient on or not
        for what, found, expected in (("forward", there, np.where(x < 0, 0, x)), ("backward", back, passed)):
            if found.shape != expected.shape or not np.array_equal(found, expected, equal_nan=True):
                return f"{about} {what} gives {_first_difference(found, expected, x)}"
    return ""


def _both_ways(answer: Any, x: Any, g: Any) -> tuple[np.ndarray, np.ndarray, tuple[list[Any], list[Any]]]:
    """What a Function gives forwards and backwards, and the kernels that it has run on either way."""
    import gpugrad as gg

    there: list[Any] = []
    back: list[Any] = []
    now = there
    handle = gg.on_launch(lambda launch: now.append(launch.kernel))
    try:
        y = answer.apply(x)
        now = back
        (gx,) = gg.grad(y, x, g)
    finally:
        handle.remove()
    return y.detach().numpy(), gx.numpy(), (there, back)  # type: ignore[union-attr]


def _first_difference(found: np.ndarray, expected: np.ndarray, x: np.ndarray) -> str:
    if found.shape != expected.shape:
        return f"shape {found.shape}."
    first = tuple(np.argwhere(~((found == expected) | (np.isnan(found) & np.isnan(expected))))[0])
    place = ", ".join(map(str, first))
    return f"{found[first]:.7g} at element {place}, where x is {x[first]:.7g}, and should give {expected[first]:.7g}."


LESSON = Lesson(
    "14_your_kernels",
    "Your kernels: a network that trains on them",
    "How wrong may a kernel be before you notice, and what do you need to train a network on your own?",
    minutes=60,
    exercises=(
        Prediction(
            "14.1", "predict", "What it spoils",
            hints=(
                "col2im runs on the way back only. Does the loss, which is made on the way there, depend on it?",
                "It makes the gradient of a convolution's input. The weights' gradients are products (lesson 07).",
                "The gradient that comes out of the second convolution goes on to what lies before it.",
            ),
            truth=_spoiled,
            why="Only what lies before the broken kernel on the way back learns from wrong numbers: the first layer. "
            "The images want no gradient, so the first convolution itself calls no col2im.",
            misconceptions=(
                ([True, True, True, True], "The loss is made going forwards, where no col2im runs."),
                ([False, True, True, True], "The way back begins at the last layer; it is done before col2im runs."),
                ([False, True, True, False], "A weight's gradient is a product, of dy and the columns: no col2im."),
                ([False, False, True, False], "The other way round: the second convolution hands on what is wrong."),
                ([False, False, False, False], "Somebody learns from the numbers that col2im makes. Who?"),
            ),
        ),
        Prediction(
            "14.2", "predict", "How many products",
            hints=(
                "Four layers have weights. Going forwards, each of them is one product.",
                "Going backwards, a layer has two: one for its weight, one for its input.",
                "Is there a layer whose input wants no gradient?",
            ),
            truth=_products,
            why="4 forwards, and 4 * 2 - 1 backwards: nobody asks for the gradient of the images.",
            misconceptions=(
                (12, "Who would use the gradient of the images?"),
                (4, "That is the way there; the way back has products, too."),
                (8, "On the way back there is one product for the weight and another one for the input."),
                (7, "That is the way back alone."),
            ),
        ),
        KernelExercise(
            "14.3", "find the bug", "Sums of columns",
            hints=(
                "With inner = 1 it is right. Write down the places of x for outer = 1, reduced = 2, inner = 3.",
                "x is outer x reduced x inner, row-major: element (o, r, i) stands at (o * reduced + r) * inner + i.",
                "o = k / inner, i = k % inner.",
            ),
            kernel="my_sums", cases=_sums,
            done="Rows, columns and all between: one kernel makes every sum of the network.",
        ),
        KernelExercise(
            "14.4", "write a kernel", "The matrix product",
            hints=(
                "Move the pointers first: a += product / inner * a_outer + product % inner * a_inner; b likewise; "
                "c += product * M * N.",
                "Then add up a[m * a_m + k * a_k] * b[k * b_k + n * b_n] over k.",
                "c[m * N + n] is alpha * sum if beta is 0, else alpha * sum + beta * c[m * N + n].",
            ),
            kernel="my_gemm", cases=_products_of,
            done="Strides make it serve forwards and backwards: every convolution and linear layer runs on it now.",
        ),
        KernelExercise(
            "14.5", "write a kernel", "The gradient of max-pooling",
            hints=(
                "Take k apart: w = k % W, h = k / W % H, plane = k / (H * W). Then ask as in 07.5, for each kh and kw.",
                "Which window has me at (kh, kw)? top = h + PH - kh * DH must be oh * SH, 0 <= oh < OH; left likewise.",
                "That window is o = (plane * OH + oh) * OW + ow. If indices[o] == h * W + w, add g[o].",
            ),
            kernel="my_max_pool_backward", cases=_given_back,
            done="It gathers: no atomics, and the order of the additions is fixed.",
        ),
        KernelExercise(
            "14.6", "fill in", "Adam",
            hints=(
                "The formulas stand above. m[i] and v[i] are read, changed and written back.",
                "float mean = m[i] + share1 * (grad - m[i]); and likewise square.",
                "p[i] = shrink * value - step_size * mean / (sqrt(square) / root + eps);",
            ),
            kernel="my_adam", cases=_adam,
            done="The last kernel of the step: this one changes the network.",
        ),
        PythonExercise(
            "14.7", "write Python", "A ReLU of your own",
            hints=(
                "Forwards: x[i] < 0 ? 0 : x[i], so that a NaN comes through. Backwards: out[i] > 0 ? g[i] : 0.",
                "relu_backward takes out, g, gx and n, in the order of its arguments.",
                "relu_backward(out, g, gx, n, global_size=(n + 63) // 64 * 64, local_size=64)",
            ),
            function="Relu", complaint=_relu,
            done="Put it into the network in the place of nn.ReLU, and three white boxes on either way are yours.",
        ),
    ),
)  # fmt: skip
