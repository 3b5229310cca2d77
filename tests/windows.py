"""References for everything that slides a window: plain loops in float64, and random geometries for hypothesis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

#: For tests that take the `device` fixture, which stays the same for all examples of one run.
examples = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Geometry(NamedTuple):
    """Sizes of an image and of a window on it, as the tests pass them on."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)

    @property
    def window(self):
        return self.kernel, self.stride, self.padding, self.dilation

    @property
    def output(self):
        """How many windows there are: counted, not computed."""
        return tuple(
            sum(1 for start in range(-p, n + p, s) if start + (k - 1) * d < n + p)
            for n, k, s, p, d in zip(self.size, *self.window)
        )


#: Where height and width differ in everything, so that exchanging them shows.
LOPSIDED = Geometry((11, 16), (3, 2), (2, 3), (1, 2), (2, 3))

GEOMETRIES = [
    Geometry((5, 7), (3, 3)),
    Geometry((7, 6), (3, 3), (1, 1), (1, 1)),
    Geometry((14, 14), (5, 5), (1, 1), (2, 2)),
    Geometry((9, 8), (2, 3), (2, 1), (0, 1)),
    Geometry((6, 5), (1, 1)),
    Geometry((6, 5), (1, 1), (2, 3), (1, 0)),  # pixels that no window sees
    Geometry((4, 3), (2, 2), (1, 2), (3, 4)),  # windows that see padding only
    Geometry((3, 90), (1, 4), (1, 1), (0, 3)),  # rows longer than a strip
    Geometry((2, 133), (1, 3), (1, 2), (0, 1), (1, 5)),
    Geometry((5, 75), (3, 3), (2, 32), (1, 4), (1, 5)),  # columns between windows that no window sees
    LOPSIDED,
]


@st.composite
def geometries(draw, biggest=9):
    """Any geometry in which at least one window fits."""
    sides = []
    for _ in "HW":
        kernel = draw(st.integers(1, 4))
        dilation = draw(st.integers(1, 3))
        padding = draw(st.integers(0, 3))
        smallest = max(1, (kernel - 1) * dilation + 1 - 2 * padding)
        size = draw(st.integers(smallest, max(smallest, biggest)))
        sides.append((size, kernel, draw(st.integers(1, 3)), padding, dilation))
    return Geometry(*zip(*sides))


def im2col(x, g: Geometry):
    """(N, C, H, W) to (N, C*KH*KW, OH*OW), as the definition says."""
    N, C, H, W = x.shape
    (KH, KW), (SH, SW), (PH, PW), (DH, DW) = g.window
    OH, OW = g.output
    col = np.zeros((N, C, KH, KW, OH, OW), x.dtype)
    for kh, kw, oh, ow in np.ndindex(KH, KW, OH, OW):
        h, w = oh * SH - PH + kh * DH, ow * SW - PW + kw * DW
        if 0 <= h < H and 0 <= w < W:
            col[:, :, kh, kw, oh, ow] = x[:, :, h, w]
    return col.reshape(N, C * KH * KW, OH * OW)


def col2im(col, g: Geometry):
    """(N, C*KH*KW, OH*OW) to (N, C, H, W): each element is added where im2col took it from."""
    (KH, KW), (SH, SW), (PH, PW), (DH, DW) = g.window
    (H, W), (OH, OW) = g.size, g.output
    N, C = col.shape[0], col.shape[1] // (KH * KW)
    col = col.reshape(N, C, KH, KW, OH, OW)
    x = np.zeros((N, C, H, W), col.dtype)
    for kh, kw, oh, ow in np.ndindex(KH, KW, OH, OW):
        h, w = oh * SH - PH + kh * DH, ow * SW - PW + kw * DW
        if 0 <= h < H and 0 <= w < W:
            x[:, :, h, w] += col[:, :, kh, kw, oh, ow]
    return x


def whole(rng, *shape):
    """Random integers of few bits: sums of their products are exact in every float type."""
    return rng.integers(-4, 5, shape).astype(np.float64)


def _steps(x_shape, weight_shape, g: Geometry, groups):
    """Every (output channels, input channels, oh, ow, kh, kw, h, w) that meet in a convolution."""
    (H, W), (OH, OW) = g.size, g.output
    (KH, KW), (SH, SW), (PH, PW), (DH, DW) = g.window
    CG, COG = weight_shape[1], weight_shape[0] // groups
    for group, oh, ow, kh, kw in np.ndindex(groups, OH, OW, KH, KW):
        h, w = oh * SH - PH + kh * DH, ow * SW - PW + kw * DW
        if 0 <= h < H and 0 <= w < W:
            yield slice(group * COG, (group + 1) * COG), slice(group * CG, (group + 1) * CG), oh, ow, kh, kw, h, w


def conv2d(x, weight, g: Geometry, groups=1):
    y = np.zeros((x.shape[0], weight.shape[0], *g.output))
    for o, c, oh, ow, kh, kw, h, w in _steps(x.shape, weight.shape, g, groups):
        y[:, o, oh, ow] += x[:, c, h, w] @ weight[o, :, kh, kw].T
    return y


def conv2d_backward_input(x_shape, weight, dy, g: Geometry, groups=1):
    dx = np.zeros(x_shape)
    for o, c, oh, ow, kh, kw, h, w in _steps(x_shape, weight.shape, g, groups):
        dx[:, c, h, w] += dy[:, o, oh, ow] @ weight[o, :, kh, kw]
    return dx


def conv2d_backward_weight(x, weight_shape, dy, g: Geometry, groups=1):
    dweight = np.zeros(weight_shape)
    for o, c, oh, ow, kh, kw, h, w in _steps(x.shape, weight_shape, g, groups):
        dweight[o, :, kh, kw] += dy[:, o, oh, ow].T @ x[:, c, h, w]
    return dweight
