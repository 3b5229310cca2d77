"""What the figures share that show which cell goes into which: a position, the buffers, the first frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from ..array import Array
from ..autograd.tensor import Tensor
from ..kernels.geometry import Pair
from .figure import Explorer
from .page import script
from .relation import Relation
from .still import Picture, fit, still
from .words import bracket, by_shape, listed, num


class MapFigure(Explorer):
    """`pos` numbers what the slider goes through. `relation`, `names` and `shapes` (of the inputs, then of the output)
    are set by `compute`."""

    _esm = script("links.js", "map_kinds.js", "map.js")
    pos = traitlets.Int(0, min=0).tag(sync=True)
    position = ("pos",)
    relation: Relation
    names: list[str]
    shapes: list[tuple[int, ...]]

    def frame(self, signs: list[dict[int, str]]) -> str:
        """The first frame: both buffers, with the cells that wear a sign."""
        pictures = []
        for name, shape, values, worn in zip(self.names, self.shapes, self.relation.values, signs, strict=True):

            def cell(i: int, values: np.ndarray = values, worn: dict[int, str] = worn) -> tuple[str, str]:
                return num(values[i]), worn.get(i, "")

            pictures.append(Picture(name, by_shape(shape), shape, cell, fit(values)))
        return still(self.data["title"], f"{self.head()}. {self.describe()}", pictures, self.relation.caption(""))


class CellFigure(MapFigure):
    """`pos` is a cell of the output. `does` says what is made of the cells that are read for it."""

    does = ""

    def describe(self) -> str:
        r, last = self.relation, len(self.names) - 1
        pos = min(int(self.pos), int(np.prod(self.shapes[last])) - 1)
        found = r.sources(pos)
        head = f"{self.cell(last, pos)} is written"
        if not found:
            return f"{head}; nothing was read for it."
        if len(found) <= 4:
            made_of = listed(self.cell(b, i) for b, i in found)
        else:
            counts = [(len({i for b, i in found if b == k}), self.names[k]) for k in range(last)]
            made_of = " and ".join(f"{n} cell{'s' * (n != 1)} of {name}" for n, name in counts if n)
        return f"{head} from {made_of}{': ' * bool(self.does)}{self.does}."

    def cell(self, b: int, i: int) -> str:
        return f"{bracket(self.names[b], i, self.shapes[b])} = {num(self.relation.values[b][i])}"

    def first_frame(self) -> str:
        found = self.relation.sources(0)
        read = [dict.fromkeys((i for b, i in found if b == k), "r") for k in range(len(self.names) - 1)]
        return self.frame([*read, {0: "w"}])

    def cells_data(self, title: str, lead: str, **extra: Any) -> dict[str, Any]:
        """The picture's data, from `relation`, `names` and `shapes`."""
        r = self.relation
        r.check_size(self.function)
        data = r.data(self.shapes, self.names)
        caption = r.caption(r.launch.device)
        return {**data, "map": "cells", "does": self.does, "title": title, "lead": lead, "caption": caption, **extra}


def array_of(function: str, name: str, value: Any, ndim: int | None) -> Array:
    """What a user gives as an image or a matrix (a tensor, an Array, or what NumPy takes), on the device.

    It has `ndim` axes, or where that is None at most 4.
    """
    if isinstance(value, Tensor):
        value = value.array
    if not isinstance(value, Array):
        try:
            numbers = np.asarray(value)
        except (TypeError, ValueError):
            numbers = np.array(None)
        if numbers.dtype.kind not in "biuf":
            held = "" if numbers.dtype == object else f" of {numbers.dtype}"
            raise TypeError(f"{function}: {name} is {type(value).__name__}{held}; give an array of real numbers")
        with np.errstate(over="ignore"):
            single = numbers.astype("f4")
        if (lost := np.isinf(single) & np.isfinite(numbers)).any():
            raise ValueError(
                f"{function}: {name} holds {num(numbers[lost][0])}, which is too large for float32; give smaller "
                "numbers, or gg.tensor(..., dtype=gg.float64)"
            )
        value = Array.from_numpy(single)
    axes = len(value.shape)
    if ndim is None and axes > 4:
        raise ValueError(f"{function}: {name} has {axes} axes; the picture has room for 4")
    if ndim is not None and axes != ndim:
        raise ValueError(
            f"{function}: {name} has shape {value.shape}; it needs {ndim} {'axis' if ndim == 1 else 'axes'}"
        )
    if 0 in value.shape:
        raise ValueError(f"{function}: {name} has shape {value.shape}, with no elements: there is nothing to draw")
    return value


def digits(shape: tuple[int, ...], seed: int, like: Array | None = None, low: int = 0, high: int = 9) -> Array:
    """Small whole numbers, the same in every run: easy to follow with the eye. Where `like` is, and of its type."""
    numbers = np.random.default_rng(seed).integers(low, high + 1, shape)
    if like is None:
        return Array.from_numpy(numbers.astype("f4"))
    return Array.from_numpy(numbers.astype(like.dtype), device=like.device)


def pair_text(value: int | Pair) -> str:
    return f"{value}×{value}" if isinstance(value, int) else f"{value[0]}×{value[1]}"
