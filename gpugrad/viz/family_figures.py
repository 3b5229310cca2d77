"""Matrix product, softmax, reduction: the stepper on their kernels, with their variants to choose from."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..array import Array
from ..trace import trace
from ..trace.launch import LaunchTrace
from .figure import Explorer, one_of
from .launch_figure import LaunchView
from .map_figure import array_of, digits
from .steps import Steps
from .words import by_shape


class Family(LaunchView, Explorer):
    """A kernel family, step by step: it runs again when an option changes."""

    def __init__(self, params: dict[str, Any]) -> None:
        Explorer.__init__(self, params)
        self.work_item = self.steps.first()
        self.on_msg(self.asked_group)

    def choose(self, **changes: Any) -> None:
        super().choose(**changes)
        self.step = 0
        self.work_item = self.steps.first()

    def name(self) -> str:
        return f"{self.function} ({self.params['variant']})"

    def stages(self, marks: dict[str, str]) -> dict[str, str]:
        """Which stage each place of the source belongs to: {a piece of its line: the stage}."""
        lines = self.launch.source.split("\n")
        return {
            str(s.id): stage
            for s in self.launch.sites
            for piece, stage in marks.items()
            if s.function == self.launch.kernel and piece in lines[s.line - 1]
        }


def recorded(watch: str, kernel: str, run: Any) -> LaunchTrace:
    """The launch of that kernel while run() runs."""
    with trace(watch=watch, kernels=kernel) as t:
        run()
    return t.launches[0]


GEMM = {
    "naive": "Each work-item computes one element of C. It reads a row of A and a column of B from global memory, and "
    "its neighbours read them again.",
    "tiled": "Each group computes a tile of C. Its work-items copy a tile of A and of B into local memory together, "
    "wait, multiply from there, and go on to the next tile.",
    "blocked": "As tiled, but each work-item computes 4×4 elements of C: what it reads from local memory serves four "
    "times.",
}


class Gemm(Family):
    function = "gemm"
    controls = ({"key": "variant", "label": "variant", "options": list(GEMM)},)

    def __init__(self, a: Array, b: Array, params: dict[str, Any]) -> None:
        self.a, self.b = a, b
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        variant = params["variant"]
        # 16 sums for each of 256 work-items, watched, would be too much to look at.
        launch = self._run(variant, "" if variant == "blocked" else "*")
        (M, K), N = self.a.shape, self.b.shape[1]
        data = self.record(launch, f"Matrix product: {variant}", GEMM[variant])
        rows = []
        for other in GEMM:
            steps = self.steps if other == variant else Steps(self._run(other, ""))
            loads = steps.loads()["global loads"]
            rows.append({"name": other, "value": loads, "text": f"{loads:,} loads", "now": other == variant})
        note = f"{M}×{K} times {K}×{N}; each element once would be {M * K + K * N:,}"
        return {**data, "bars": {"title": "read from global memory", "note": note, "rows": rows}}

    def _run(self, variant: str, watch: str) -> LaunchTrace:
        return recorded(watch, f"gemm_{variant}", lambda: kernels.gemm(self.a, self.b, variant=variant))


SOFTMAX = {
    "naive": ("exp(x) divided by its sum. Where x is large, exp overflows, and infinity over infinity is no number.",
              {"+= exp": "sum", "s += part": "sum", "out[start": "result"}),
    "stable": ("First the maximum of the row, then exp of the distances from it: at most 1, so nothing overflows.",
               {"m = a > m": "maximum", "A a = x": "maximum", "+= exp": "sum", "s += part": "sum",
                "out[start": "result"}),
    "online": ("Maximum and sum in one reading, shared by a group. Where a larger element comes, the sum so far is "
               "rescaled; two parts are joined in the same way.",
               {"A a = x": "one reading", "rescaled(s, m, a)": "one reading", "s += exp(a - m)": "one reading",
                "m = a;": "one reading", "maximum[lane] = m": "shared", "other =": "joined", "rescaled(sum": "joined",
                "= both": "joined", "m = maximum[0]": "result", "s = sum[0]": "result", "out[start": "result"}),
}  # fmt: skip
ROWS = {"small": "small numbers", "large": "numbers that overflow", "masked": "with −∞ in it"}


class Softmax(Family):
    function = "softmax"

    def __init__(self, x: Array | None, params: dict[str, Any]) -> None:
        self.x = x
        rows = {"key": "row", "label": "row", "options": [list(r) for r in ROWS.items()]}
        variant = {"key": "variant", "label": "variant", "options": list(SOFTMAX)}
        self.controls = (variant,) if x is not None else (variant, rows)
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        x, variant = self.x if self.x is not None else self.example(params["row"]), params["variant"]
        launch = recorded("*", f"softmax_{variant}", lambda: kernels.softmax(x, 1, variant=variant))
        lead, marks = SOFTMAX[variant]
        return {**self.record(launch, f"Softmax of a row: {variant}", lead), "stages": self.stages(marks)}

    @staticmethod
    def example(row: str) -> Array:
        x = np.array([[1, 3, 0.5, 2, 2.5, -1]], "f4")
        if row == "large":
            x += 87  # exp(88.7) is the largest that float32 holds
        elif row == "masked":
            x[0, [1, 4]] = -np.inf
        return Array.from_numpy(x)


REDUCE = {
    "serial": "One work-item goes through all elements, one after the other; all others have nothing to do.",
    "tree": "Each work-item of the group takes every 64th element. Then half of them take over what the other half "
    "has, then half of those, down to one.",
}


class Reduce(Family):
    function = "reduce"
    controls = (
        {"key": "variant", "label": "variant", "options": list(REDUCE)},
        {"key": "op", "label": "op", "options": ["sum", "max", "min"]},
    )

    def __init__(self, x: Array, params: dict[str, Any]) -> None:
        self.x = x
        super().__init__(params)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        variant, op = params["variant"], params["op"]
        launch = recorded("*", f"reduce_{variant}", lambda: kernels.reduce(op, self.x, variant=variant))
        lead = REDUCE[variant].replace("every 64th", f"every {launch.local_size[0]}th")
        return {**self.record(launch, f"Reduction, {op}: {variant}", lead), "tree": variant == "tree"}

    def name(self) -> str:
        return f"reduce ({self.params['variant']}, {self.params['op']} of {by_shape(self.x.shape)})"


def chosen(function: str, variant: str, drawn: Any) -> str:
    if not one_of(variant, drawn):
        names = ", ".join(drawn)
        raise ValueError(f"{function}: variant is {variant!r}; the figure draws {names} (viz.stepper draws any)")
    return variant


def small(function: str, *arrays: Array) -> None:
    cells = sum(int(np.prod(a.shape)) for a in arrays)
    if cells > 4096:
        raise ValueError(f"{function}: {cells:,} elements are too many to step through; give a part of at most 4,096")


def gemm(a: Any = None, b: Any = None, *, variant: str = "tiled") -> Gemm:
    """A matrix product, step by step: which tile is in local memory, what each work-item reads and accumulates.

    a (M, K), b (K, N): tensors, Arrays or arrays of numbers; without them 6×20 and 20×5 whole numbers. variant:
    "naive", "tiled" or "blocked"; below the picture stand the loads from global memory of each. ValueError where the
    shapes do not fit.
    """
    right = None if b is None else array_of("gemm", "b", b, 2)
    left = digits((6, 20 if right is None else right.shape[0]), 1, right) if a is None else array_of("gemm", "a", a, 2)
    right = digits((left.shape[1], 5), 2, left) if right is None else right
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"gemm: a is {left.shape} and b {right.shape}; a's columns must be as many as b's rows")
    small("gemm", left, right)
    return Gemm(left, right, {"variant": chosen("gemm", variant, GEMM)})


def softmax(x: Any = None, *, variant: str = "stable") -> Softmax:
    """The stages of softmax on a row: naive, stable and online, and where the naive one overflows.

    x: rows (outer, n), a tensor, Array or array of numbers; without it a row of six, small or large, to choose from.
    """
    given = None if x is None else array_of("softmax", "x", x, 2)
    if given is not None:
        small("softmax", given)
    params = {"variant": chosen("softmax", variant, SOFTMAX)}
    return Softmax(given, params if given is not None else {**params, "row": "large"})


def reduce(x: Any = None, op: str = "sum", *, variant: str = "tree") -> Reduce:
    """A reduction to one number, step by step: one work-item alone, or a group as a tree.

    x: (n,), a tensor, Array or array of numbers; without it 40 whole numbers. op: "sum", "max" or "min".
    """
    given = digits((40,), 2) if x is None else array_of("reduce", "x", x, 1)
    small("reduce", given)
    if not one_of(op, ("sum", "max", "min")):
        raise ValueError(f"reduce: op is {op!r}; it is one of sum, max, min")
    return Reduce(given, {"variant": chosen("reduce", variant, REDUCE), "op": op})
