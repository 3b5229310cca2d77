"""Geometries of pooling for tests, and plain loops in float64 that pool and give gradients."""

import math
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from gpugrad import kernels as K

FLOATS = [np.float32, np.float64]
MAX, MAX_BACK = K.variants("max_pool2d"), K.variants("max_pool2d_backward")
AVG, AVG_BACK = K.variants("avg_pool2d"), K.variants("avg_pool2d_backward")


class Case(NamedTuple):
    size: tuple
    kernel: tuple
    stride: tuple
    padding: tuple = (0, 0)
    dilation: tuple = (1, 1)
    ceil: bool = False

    @property
    def max_args(self):
        return self.kernel, self.stride, self.padding, self.dilation, self.ceil

    @property
    def avg_args(self):
        return self.kernel, self.stride, self.padding, self.ceil

    @property
    def starts(self):
        """Where the windows start along each axis: counted, not computed. With `ceil`, where the last one leaves a
        rest, also one that is cut off, unless it would start beyond the image and the padding before it."""
        found = []
        for n, k, s, p, d in zip(self.size, self.kernel, self.stride, self.padding, self.dilation):
            reach = (k - 1) * d + 1
            here = [a for a in range(-p, n + p, s) if a + reach <= n + p]
            after = -p + len(here) * s
            if self.ceil and after < n and after - s + reach < n + p:
                here.append(after)
            found.append(here)
        return found

    @property
    def is_2x2(self):
        columns = self.starts[1]
        whole = all((a[-1] + 2) <= n for a, n in zip(self.starts, self.size))
        plain = self.kernel == self.stride == (2, 2) and self.padding == (0, 0) and self.dilation == (1, 1)
        return plain and whole and len(columns) >= 4


CASES = [
    Case((28, 28), (2, 2), (2, 2)),
    Case((14, 14), (2, 2), (2, 2)),
    Case((7, 13), (2, 2), (2, 2)),
    Case((7, 13), (2, 2), (2, 2), ceil=True),
    Case((5, 8), (2, 2), (2, 2)),
    Case((2, 2), (2, 2), (2, 2)),
    Case((9, 8), (3, 3), (2, 2), (1, 1)),  # overlapping
    Case((7, 6), (3, 2), (1, 1)),
    Case((8, 7), (2, 3), (3, 1), (1, 1)),
    Case((11, 16), (3, 2), (2, 3), (1, 1), (2, 3)),
    Case((10, 7), (3, 4), (3, 2), (1, 2), (1, 1), True),
    Case((5, 6), (1, 1), (2, 3)),  # elements that no window sees
    Case((5, 6), (1, 3), (1, 1), (0, 1), (1, 2)),
    Case((3, 70), (2, 2), (1, 1)),  # rows longer than a strip
    Case((3, 140), (2, 3), (2, 2), (1, 1), (1, 3)),
    Case((4, 200), (1, 5), (1, 3), (0, 2)),
    Case((3, 5), (1, 6), (1, 4), (0, 3)),  # a place in the window that only the last windows of a row see
    Case((1, 1), (1, 1), (1, 1)),
    Case((1, 3), (3, 3), (3, 3), (1, 1), (1, 1), True),
    Case((1, 4), (2, 2), (3, 2), (1, 0), (4, 1), True),  # a row of windows that see padding only
]


@st.composite
def cases(draw, dilated):
    sides = []
    for _ in "HW":
        kernel = draw(st.integers(1, 4))
        dilation = draw(st.integers(1, 3)) if dilated else 1
        padding = draw(st.integers(0, kernel // 2))
        smallest = max(1, (kernel - 1) * dilation + 1 - 2 * padding)
        sides.append((draw(st.integers(smallest, smallest + 7)), kernel, draw(st.integers(1, 4)), padding, dilation))
    return Case(*zip(*sides), draw(st.booleans()))


def max_reference(x, c):
    """(values, indices), one window after another; -1 where a window sees padding only."""
    rows, columns = c.starts
    values = np.full((*x.shape[:-2], len(rows), len(columns)), -np.inf)
    indices = np.full(values.shape, -1)
    for plane in np.ndindex(x.shape[:-2]):
        for i, top in enumerate(rows):
            for j, left in enumerate(columns):
                for kh in range(c.kernel[0]):
                    for kw in range(c.kernel[1]):
                        h, w = top + kh * c.dilation[0], left + kw * c.dilation[1]
                        if 0 <= h < c.size[0] and 0 <= w < c.size[1]:
                            a, at = x[plane][h, w], (*plane, i, j)
                            nan_wins = math.isnan(a) and not math.isnan(values[at])
                            if indices[at] < 0 or a > values[at] or nan_wins:
                                values[at], indices[at] = a, h * c.size[1] + w
    return values, indices


def avg_windows(c, include_pad, divisor):
    """For each window: its place, the elements it sees, and what their sum is divided by."""
    (H, W), (KH, KW), (PH, PW) = c.size, c.kernel, c.padding
    for i, top in enumerate(c.starts[0]):
        for j, left in enumerate(c.starts[1]):
            rows = range(max(top, 0), min(top + KH, H))
            columns = range(max(left, 0), min(left + KW, W))
            padded = (min(top + KH, H + PH) - top) * (min(left + KW, W + PW) - left)
            yield i, j, rows, columns, divisor or (padded if include_pad else len(rows) * len(columns))


def avg_reference(x, c, include_pad, divisor):
    out = np.zeros((*x.shape[:-2], *map(len, c.starts)))
    for i, j, rows, columns, n in avg_windows(c, include_pad, divisor):
        out[..., i, j] = sum(x[..., h, w].astype(np.float64) for h in rows for w in columns) / n
    return out


def avg_gradient(g, c, include_pad, divisor):
    gx = np.zeros((*g.shape[:-2], *c.size))
    for i, j, rows, columns, n in avg_windows(c, include_pad, divisor):
        for h in rows:
            for w in columns:
                gx[..., h, w] += g[..., i, j].astype(np.float64) / n
    return gx


def max_gradient(g, indices, c):
    gx = np.zeros((*g.shape[:-2], *c.size))
    for at in np.ndindex(g.shape):
        if indices[at] >= 0:
            gx[at[:-2]].flat[indices[at]] += g[at]
    return gx


def fits(variant, c):
    return variant != "2x2" or c.is_2x2
