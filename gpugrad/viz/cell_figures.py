"""Pooling, broadcasting, convolution: which cells are read for each cell of the result."""

from __future__ import annotations

import math
from typing import Any

from .. import kernels
from ..array import Array
from ..kernels.broadcast import broadcast_shape
from ..kernels.checks import check_float, check_same
from ..kernels.geometry import Pair, pooled_in, window, windows_in
from ..trace import trace
from .figure import one_of
from .map_figure import CellFigure, array_of, digits, pair_text
from .relation import Relation, check_room
from .words import by_shape


def window_of(args: dict[str, Any], **extra: Any) -> dict[str, Any]:
    """The window's geometry, from the arguments of the launch."""
    names = ("KH", "KW", "SH", "SW", "PH", "PW", "DH", "DW")
    return {**{k: int(args.get(k, 1)) for k in names}, "buffer": 0, **extra}


class Pooling(CellFigure):
    function = "pooling"
    spread = ("kind", "kernel", "stride", "padding")
    controls = (
        {"key": "kind", "label": "keep", "options": [["max", "the largest"], ["avg", "the average"]]},
        {"key": "kernel", "label": "kernel", "options": [2, 3]},
        {"key": "stride", "label": "stride", "options": [1, 2, 3]},
        {"key": "padding", "label": "padding", "options": [0, 1]},
    )

    def __init__(self, x: Array, params: dict[str, Any]) -> None:
        self.x = x
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        check_float("pooling", "x", self.x)
        w = window("pooling", params["kernel"], params["stride"], params["padding"], 1)
        N, C, H, W = self.x.shape
        OH, OW = pooled_in("pooling", (H, W), w, ceil_mode=False)
        check_room("pooling", self.x.shape, (N, C, OH, OW), reads=N * C * OH * OW * w.KH * w.KW)
        run = kernels.max_pool2d if params["kind"] == "max" else kernels.avg_pool2d
        with trace(kernels=f"{params['kind']}_pool_window") as t:
            run(self.x, params["kernel"], params["stride"], params["padding"], variant="window")
        (launch,) = t.launches
        self.relation = Relation(launch, ("x",), "out")
        self.names, self.shapes = ["x", "out"], [launch.buffer(n).shape for n in ("x", "out")]
        drawn = window_of(launch.args, same=True)
        self.does = "the largest of them" if params["kind"] == "max" else f"their sum, divided by {w.KH * w.KW}"
        data = self.cells_data(
            "Pooling: one number for each window",
            "A window moves over each channel; of what it sees, one number is kept. Point at a cell on either side.",
            window=drawn,
        )
        for b in data["buffers"]:
            b["axes"] = ["N", "C", "H", "W"]
        data["buffers"][0]["pad"] = [w.PH, w.PW]
        data["buffers"][1]["tall"] = True
        return data

    def head(self) -> str:
        p = self.params
        return (
            f"pooling ({p['kind']}, window, {self.relation.size}): x {by_shape(self.shapes[0])} to out "
            f"{by_shape(self.shapes[1])}, kernel {pair_text(p['kernel'])}, stride {p['stride']}, padding {p['padding']}"
        )


SHAPES = {
    "column and row": ((3, 1), (1, 4)), "matrix and row": ((3, 4), (4,)), "matrix and column": ((3, 4), (3, 1)),
    "matrix and one number": ((3, 4), (1,)), "same shape": ((3, 4), (3, 4)),
}  # fmt: skip
OPERATIONS = {"add": "their sum", "sub": "their difference", "mul": "their product"}


class Broadcasting(CellFigure):
    function = "broadcasting"
    spread = ("shapes", "op")

    def __init__(self, given: tuple[Array, Array] | None, params: dict[str, Any]) -> None:
        self.given = given
        shapes = {"key": "shapes", "label": "shapes", "options": list(SHAPES)}
        self.controls = (*(() if given else (shapes,)), {"key": "op", "label": "op", "options": list(OPERATIONS)})
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.given:
            x, y = self.given
        else:
            x, y = (digits(s, seed) for s, seed in zip(SHAPES[params["shapes"]], (5, 6), strict=True))
        check_room("broadcasting", x.shape, y.shape, broadcast_shape("broadcasting", x.shape, y.shape))
        with trace() as t:
            out = kernels.elementwise(params["op"], x, y)
        launch = t.launches[-1]
        self.relation = Relation(launch, ("x", "y"), "out")
        self.does = OPERATIONS[params["op"]]
        self.names, self.shapes = ["x", "y", "out"], [a.shape or (1,) for a in (x, y, out)]
        return self.cells_data(
            "Broadcasting: one cell serves several",
            "Where an axis has length 1, or is missing, its one cell is read again for every place along that axis; "
            "nothing is copied. Point at a cell of x or y to see all that it serves.",
            layout="cross",
        )

    def head(self) -> str:
        x, y, out = map(by_shape, self.shapes)
        return f"broadcasting ({self.params['op']}, {self.relation.size}): x {x} and y {y} to out {out}"


RESULTS = {
    "y": ("conv2d_direct", ("x", "weight"), "each weight times the pixel under it, summed up"),
    "dx": ("conv2d_direct_input", ("dy", "weight"), "each dy that saw this pixel, times the weight it went through"),
    "dweight": ("conv2d_direct_weight", ("x", "dy"), "each dy, times the pixel that this weight brought to it"),
}  # fmt: skip
LEADS = {
    "y": "Each window of weights slides over the image. At each place it is multiplied with the pixels under it, over "
    "all channels, and the products are summed up.",
    "dx": "Backwards: each pixel collects the gradients of all results that saw it, each through the weight it went "
    "through.",
    "dweight": "Backwards: each weight collects the gradients of all results it made, each times the pixel it met.",
}  # fmt: skip


class Conv2d(CellFigure):
    function = "conv2d"
    spread = ("shows", "kernel", "stride", "padding")
    controls: tuple[dict[str, Any], ...] = (
        {"key": "shows", "label": "compute", "options": [
            ["y", "y"], ["dx", "gradient of x"], ["dweight", "gradient of weight"]]},
        {"key": "kernel", "label": "kernel", "options": [1, 2, 3]},
        {"key": "stride", "label": "stride", "options": [1, 2]},
        {"key": "padding", "label": "padding", "options": [0, 1]},
        {"key": "dilation", "label": "dilation", "options": [1, 2]},
    )  # fmt: skip

    def __init__(self, x: Array | None, weight: Array | None, params: dict[str, Any]) -> None:
        C, KH, KW = (2, 1, 1) if weight is None else weight.shape[1:]
        self.x = x if x is not None else digits((1, C, max(5, KH), max(5, KW)), 3, weight)
        self.weight = weight
        if weight is not None:
            self.controls = tuple(c for c in self.controls if c["key"] != "kernel")
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        k, geometry = params["kernel"], {key: params[key] for key in ("stride", "padding", "dilation")}
        w = window("conv2d", k, *geometry.values())  # says what is wrong with them
        size = (2, self.x.shape[1], w.KH, w.KW) if self.weight is None else self.weight.shape
        check_room("conv2d", self.x.shape, size)
        N, C, H, W = self.x.shape
        OH, OW = windows_in("conv2d", (H, W), w)
        y_size = N, size[0], OH, OW
        check_room("conv2d", self.x.shape, size, y_size, reads=2 * math.prod(y_size) * C * w.KH * w.KW)
        x, weight = self.x, self.weight if self.weight is not None else digits(size, 9, self.x, -2, 2)
        name, inputs, self.does = RESULTS[params["shows"]]
        with trace(kernels=name) as t:
            y = kernels.conv2d(x, weight, **geometry, variant="direct")
            if params["shows"] != "y":
                dy = digits(y.shape, 8, y)
            if params["shows"] == "dx":
                kernels.conv2d_backward_input(x.shape, weight, dy, **geometry, variant="direct")
            elif params["shows"] == "dweight":
                kernels.conv2d_backward_weight(x, weight.shape, dy, **geometry, variant="direct")
        (launch,) = t.launches
        self.relation = Relation(launch, inputs, params["shows"])
        self.names, self.shapes = [*inputs, params["shows"]], []
        for n in self.names:
            self.shapes.append(weight.shape if n == "dweight" else launch.buffer(n).shape)
        drawn = window_of(launch.args, C=x.shape[1], CO=weight.shape[0])
        data = self.cells_data(
            "Convolution, from its definition", LEADS[params["shows"]], window=drawn if params["shows"] == "y" else None
        )
        axes = {"x": "N C H W", "dx": "N C H W", "weight": "CO C KH KW", "dweight": "CO C KH KW", "y": "N CO OH OW",
                "dy": "N CO OH OW"}  # fmt: skip
        for b in data["buffers"]:
            b |= {"axes": axes[b["name"]].split(), "tall": True}
            if b["name"] in ("x", "dx"):
                b["pad"] = [drawn["PH"], drawn["PW"]]
        return data

    def head(self) -> str:
        p = self.params
        shapes = [f"{n} {by_shape(s)}" for n, s in zip(self.names, self.shapes, strict=True)]
        return (
            f"conv2d (direct, {self.relation.size}): {shapes[0]} and {shapes[1]} to {shapes[2]}, stride {p['stride']}, "
            f"padding {p['padding']}, dilation {p['dilation']}"
        )


def pooling(x: Any = None, kernel_size: int | Pair = 2, stride: int | Pair | None = None, padding: int | Pair = 0, *,
            kind: str = "max") -> Pooling:  # fmt: skip
    """Max or average pooling, window by window: (N, C, H, W) to (N, C, OH, OW).

    x: a tensor, Array or array of numbers; without it small whole numbers. kind: "max" or "avg". The stride is the
    kernel size where it is not given. `.pos` is the cell of the output, flat. ValueError where the geometry does not
    fit.
    """
    if not one_of(kind, ("max", "avg")):
        raise ValueError(f"pooling: kind is {kind!r}; it is 'max' or 'avg'")
    given = digits((1, 1, 6, 6), 7) if x is None else array_of("pooling", "x", x, 4)
    stride = kernel_size if stride is None else stride
    window("pooling", kernel_size, stride, padding, 1)  # says what is wrong with them
    return Pooling(given, {"kind": kind, "kernel": kernel_size, "stride": stride, "padding": padding})


def broadcasting(x: Any = None, y: Any = None, op: str = "add") -> Broadcasting:
    """Two arrays of different shapes combined: which cell of each is read for which cell of the result.

    x, y: tensors, Arrays or arrays of numbers with at most 4 axes, of shapes that broadcast; without them small
    examples to choose from. op: "add", "sub" or "mul". `.pos` is the cell of the result, flat. ValueError where they
    don't broadcast.
    """
    if not one_of(op, OPERATIONS):
        raise ValueError(f"broadcasting: op is {op!r}; it is one of {', '.join(OPERATIONS)}")
    if x is None and y is None:
        return Broadcasting(None, {"shapes": "column and row", "op": op})
    if x is None or y is None:
        raise ValueError(f"broadcasting: {'x' if x is None else 'y'} is missing; give both x and y, or neither")
    given = array_of("broadcasting", "x", x, None), array_of("broadcasting", "y", y, None)
    check_same("broadcasting", x=given[0], y=given[1])
    broadcast_shape("broadcasting", *[a.shape for a in given])  # says where they do not fit
    return Broadcasting(given, {"op": op})


def conv2d(x: Any = None, weight: Any = None, stride: int | Pair = 1, padding: int | Pair = 0,
           dilation: int | Pair = 1, *, kernel_size: int | Pair = 3, shows: str = "y") -> Conv2d:  # fmt: skip
    """A convolution, cell by cell, forward and both gradients, as the kernels that follow the definition compute it.

    x (N, C, H, W) and weight (CO, C, KH, KW): tensors, Arrays or arrays of numbers; without them small whole numbers.
    shows: "y", "dx" or "dweight". `.pos` is the cell of the result, flat. ValueError where shapes do not fit.
    """
    if not one_of(shows, RESULTS):
        raise ValueError(f"conv2d: shows is {shows!r}; it is one of {', '.join(RESULTS)}")
    image = None if x is None else array_of("conv2d", "x", x, 4)
    filter_ = None if weight is None else array_of("conv2d", "weight", weight, 4)
    kernel = kernel_size if filter_ is None else filter_.shape[2:]
    window("conv2d", kernel, stride, padding, dilation)  # says what is wrong with them
    params = {"shows": shows, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    return Conv2d(image, filter_, params)
