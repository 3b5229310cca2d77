"""im2col and col2im: the windows of an image as the columns of a matrix, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..array import Array
from ..kernels.checks import pair
from ..kernels.geometry import Pair, window, windows_in
from ..trace import trace
from .figure import one_of, plain
from .map_figure import MapFigure, array_of, digits, pair_text
from .relation import Relation, check_room
from .words import bracket, by_shape, nbytes, num

# col2im's "planes" keeps the sums of many pixels at once: its loads do not tell to which of them a cell goes.
VARIANTS = {"im2col": ["naive", "window", "rows"], "col2im": ["gather", "scatter"]}
ARGS = ("KH", "KW", "SH", "SW", "PH", "PW", "DH", "DW", "OH", "OW")


GEOMETRY = (
    {"key": "kernel", "label": "kernel", "options": [1, 2, 3]},
    {"key": "stride", "label": "stride", "options": [1, 2, 3]},
    {"key": "padding", "label": "padding", "options": [0, 1, 2]},
    {"key": "dilation", "label": "dilation", "options": [1, 2]},
)
SIZES = (
    {"key": "channels", "label": "channels", "options": [1, 2, 3]},
    {"key": "images", "label": "images", "options": [1, 2]},
)


class Unfold(MapFigure):
    """What im2col and col2im share. `pos` is the output position, or the pixel."""

    spread = ("kernel", "stride", "padding", "dilation")

    def __init__(self, given: Array | None, params: dict[str, Any]) -> None:
        self.given = given
        self.controls = (*GEOMETRY, *(() if given is not None else SIZES), self.variants())
        super().__init__(params)

    def choose(self, **changes: Any) -> None:
        for key in ("channels", "images"):
            n = plain(changes.get(key, 1))
            if isinstance(n, bool) or not isinstance(n, int) or n < 1:
                raise ValueError(f"{self.function}: {key} is {n!r}; it is a whole number from 1 on")
        super().choose(**changes)

    def variants(self) -> dict[str, Any]:
        return {"key": "variant", "label": "variant", "options": VARIANTS[self.function]}

    def geometry(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"kernel_size": params["kernel"], **{k: params[k] for k in ("stride", "padding", "dilation")}}

    def head(self) -> str:
        p = self.params
        return (
            f"{self.function} ({p['variant']}, {self.relation.size}): {self.sizes()}, kernel {pair_text(p['kernel'])}, "
            f"stride {p['stride']}, padding {p['padding']}, dilation {p['dilation']}"
        )

    def sizes(self) -> str:
        raise NotImplementedError

    def labels(self, params: dict[str, Any], C: int, OH: int, OW: int) -> dict[str, Any]:
        w = window(self.function, params["kernel"], 1, 0, 1)
        return {"rows": [C, w.KH, w.KW], "cols": [OH, OW]}


class Im2col(Unfold):
    function = "im2col"

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        size = (params["images"], params["channels"], 5, 5) if self.given is None else self.given.shape
        w = window("im2col", *(params[k] for k in ("kernel", "stride", "padding", "dilation")))
        N, C, H, W = size
        OH, OW = windows_in("im2col", (H, W), w)
        check_room("im2col", size, (N, C * w.KH * w.KW, OH * OW))
        x = self.given if self.given is not None else digits(size, 3)
        with trace(kernels=f"im2col_{params['variant']}") as t:
            kernels.im2col(x, **self.geometry(params), variant=params["variant"])
        self.relation = r = Relation(t.launches[0], ("x",), "col")
        r.check_size("im2col")
        a = t.launches[0].args
        self.args = {k: int(a[k]) for k in ARGS}
        self.names, self.shapes = ["x", "col"], [t.launches[0].buffer(n).shape for n in ("x", "col")]
        data = r.data(self.shapes)
        data["buffers"][0] |= {"pad": [self.args["PH"], self.args["PW"]], "axes": ["N", "C", "H", "W"]}
        data["buffers"][1] |= {"note": f"{by_shape(self.shapes[1][-2:])}, rows c,kh,kw"}
        cells = [int(np.prod(s)) for s in self.shapes]
        padding, width = cells[1] - len(r.to), x.dtype.itemsize
        return {
            **data, "map": "im2col", "args": self.args, "title": "im2col: every window becomes a column",
            "lead": "A convolution turns into one matrix product when each window of the image is copied into a "
            "column. Point at a cell on either side to see where it goes.",
            "labels": [None, self.labels(params, self.shapes[0][1], self.args["OH"], self.args["OW"])],
            "bars": {
                "title": "memory",
                "rows": [{"name": n, "value": c, "text": f"{c:,} numbers, {nbytes(width * c)}", "now": n == "col"}
                         for n, c in zip(("x", "col"), cells, strict=True)],
                "text": f"col takes {cells[1] / cells[0]:.2f} times the memory of x; {padding:,} of its {cells[1]:,} "
                "numbers are padding.",
            },
            "caption": r.caption(t.launches[0].device),
        }  # fmt: skip

    def sizes(self) -> str:
        return f"x {by_shape(self.shapes[0])} to col {by_shape(self.shapes[1])}"

    def cells(self, pos: int) -> list[int]:
        """The cells of col that an output position fills: a column."""
        _, R, L = self.shapes[1]
        return [(pos // L * R + k) * L + pos % L for k in range(R)]

    def describe(self) -> str:
        a, (N, C), (_, R, L) = self.args, self.shapes[0][:2], self.shapes[1]
        pos = min(int(self.pos), N * L - 1)
        place = f"({pos % L // a['OW']},{pos % L % a['OW']})" + (f" of image {pos // L}" if N > 1 else "")
        none = sum(not self.relation.sources(o) for o in self.cells(pos))
        padding = f", {none} of them padding" if none else ""
        return (
            f"Output position {place}: the {a['KH']}×{a['KW']} window of every channel is read and written as column "
            f"{pos % L} of col, {C}·{a['KH']}·{a['KW']} = {R} numbers{padding}."
        )

    def first_frame(self) -> str:
        written = set(self.cells(0))
        read = {i for o in written for _, i in self.relation.sources(o)}
        return self.frame([dict.fromkeys(read, "r"), dict.fromkeys(written, "w")])


class Col2im(Unfold):
    function = "col2im"

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        size, variant = self.size, params["variant"]
        images, channels = params["images"], params["channels"]
        w = window("col2im", *(params[k] for k in ("kernel", "stride", "padding", "dilation")))
        OH, OW = windows_in("col2im", size, w)
        shape = (images, channels * w.KH * w.KW, OH * OW) if self.given is None else self.given.shape
        check_room("col2im", shape, (*shape[:1], shape[1] // (w.KH * w.KW), *size))
        col = self.given if self.given is not None else digits(shape, 4)
        with trace(kernels=f"col2im_{variant}") as t:
            kernels.col2im(col, size, **self.geometry(params), variant=variant)
        launch = t.launches[0]
        out = "sums" if variant == "scatter" else "x"
        self.relation = r = Relation(launch, ("col",), out)
        r.check_size("col2im")
        self.args = {k: int(launch.args[k]) for k in ARGS}
        self.names, self.shapes = ["col", "x"], [launch.buffer(n).shape for n in ("col", out)]
        data = r.data(self.shapes, self.names)
        data["buffers"][0] |= {"note": f"{by_shape(self.shapes[0][-2:])}, rows c,kh,kw"}
        data["buffers"][1] |= {"pad": [self.args["PH"], self.args["PW"]], "axes": ["N", "C", "H", "W"]}
        return {
            **data, "map": "col2im", "args": self.args, "title": "col2im: columns are added back into pixels",
            "lead": "The way back, for the gradient. Windows overlap, so several cells of col add into one pixel; each "
            "cell of x shows how many. Point at a cell on either side.",
            "labels": [self.labels(params, self.shapes[1][1], OH, OW), None],
            "caption": r.caption(launch.device),
        }  # fmt: skip

    def __init__(self, given: Array | None, size: tuple[int, int], params: dict[str, Any]) -> None:
        self.size = size
        super().__init__(given, params)

    def sizes(self) -> str:
        return f"col {by_shape(self.shapes[0])} to x {by_shape(self.shapes[1])}"

    def describe(self) -> str:
        r = self.relation
        pos = min(int(self.pos), int(np.prod(self.shapes[1])) - 1)
        name, found = bracket("x", pos, self.shapes[1]), r.sources(pos)
        if not found:
            return f"{name} is in no window: it becomes 0."
        n, total = len(found), num(r.values[1][pos])
        terms = " + ".join(num(r.values[0][i]) for _, i in found)
        if n == 1:
            return f"{name}: one window covers it, so one cell of col is added: {terms}."
        order = ("Work-items of their own add them, atomically, in no known order." if r.atomic
                 else "One work-item adds them, in this order.")  # fmt: skip
        return f"{name}: {n} windows cover it, so {n} cells of col are added: {terms} = {total}. {order}"

    def first_frame(self) -> str:
        read = dict.fromkeys((i for _, i in self.relation.sources(0)), "r")
        return self.frame([read, {0: "a" if self.relation.atomic else "w"}])


def im2col(x: Any = None, kernel_size: int | Pair = 3, stride: int | Pair = 1, padding: int | Pair = 0,
           dilation: int | Pair = 1, *, variant: str = "naive") -> Im2col:  # fmt: skip
    """The windows of an image becoming the columns of a matrix, cell by cell, as the kernel copied them.

    x: a tensor, Array or array of numbers of shape (N, C, H, W); without it a small image of whole numbers, of which
    channels and images can be chosen too. The other arguments are im2col's, and where the options start; each change
    runs the kernel again. `.pos` is the output position: image * OH*OW + oh*OW + ow. ValueError where the geometry
    does not fit, or the picture would hold more than 20,000 cells.
    """
    given = None if x is None else array_of("im2col", "x", x, 4)
    return Im2col(given, _params("im2col", kernel_size, stride, padding, dilation, variant, given is None))


def col2im(col: Any = None, output_size: Pair = (5, 5), kernel_size: int | Pair = 3, stride: int | Pair = 2,
           padding: int | Pair = 1, dilation: int | Pair = 1, *, variant: str = "gather") -> Col2im:  # fmt: skip
    """Columns being added back into the pixels they came from: how many windows cover each, and in which order.

    col: a tensor, Array or array of numbers of shape (N, C*KH*KW, OH*OW); without it small whole numbers. variant:
    "gather" adds in a fixed order (numbered in the cells), "scatter" by atomic additions in no known one. `.pos` is the
    pixel, flat. ValueError where the geometry does not fit.
    """
    size = output_size
    if not (isinstance(size, (tuple, list)) and len(size) == 2):
        raise ValueError(f"col2im: output_size is {size!r}; give (height, width)")
    given = None if col is None else array_of("col2im", "col", col, 3)
    params = _params("col2im", kernel_size, stride, padding, dilation, variant, given is None)
    return Col2im(given, pair("col2im", "output_size", size, 1), {"channels": 1, "images": 1, **params})


def _params(function: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any, variant: str,
            free: bool) -> dict[str, Any]:  # fmt: skip
    window(function, kernel_size, stride, padding, dilation)  # says what is wrong with them
    if not one_of(variant, VARIANTS[function]):
        drawn = ", ".join(VARIANTS[function])
        raise ValueError(f"{function}: variant is {variant!r}; the figure draws {drawn} (viz.stepper draws any)")
    params = {"kernel": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    sizes = {"channels": 2 if function == "im2col" else 1, "images": 1} if free else {}
    return {**params, **sizes, "variant": variant}
