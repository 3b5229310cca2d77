"""The autograd graph of a tensor: the operations that made it, what they keep for backward, and the gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..array import Array
from ..autograd.function import Node
from ..autograd.tensor import Tensor
from ..nn import Module
from .figure import Figure
from .graph_layout import HEIGHT, WIDTH, layered, layers
from .page import script
from .still import INK, LINE, MUTED, PAPER, drawing, text
from .words import by_shape, num

MOST = 800  # operations in a picture
MOST_LEAVES = 1600
MOST_PASSES = 40_000  # places where edges pass between boxes: more than a page of 1 MB holds
LEAD = (
    "Each box is an operation that was recorded, or a leaf that wants a gradient; below stands what was made from "
    "those above. Backward goes up. Point at a box to see what it holds; drag to move, buttons to zoom."
)


def numbers(array: Array) -> str:
    """A few values in full; of many, the range and the mean."""
    if array.size == 0:
        return "no values"
    if array.size > 4_000_000:
        return f"{array.size:,} values"
    v = array.numpy().astype("f8").reshape(-1)
    if v.size <= 8:
        return "values " + ", ".join(map(num, v)) if v.size > 1 else "value " + num(v[0])
    return f"{v.size:,} values from {num(v.min())} to {num(v.max())}, mean {num(v.mean())}"


class Graph(Figure):
    """`refresh()` reads the graph again: after backward the leaves have gradients, and what was kept is freed."""

    _esm = script("graph.js")

    def __init__(self, tensor: Tensor, names: dict[int, str]) -> None:
        self.tensor, self.names = tensor, names
        super().__init__(data=self.read())
        self.on_msg(self._asked)

    def refresh(self) -> None:
        self.data = self.read()

    def _asked(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("ask") == "refresh":
            self.refresh()

    def read(self) -> dict[str, Any]:
        self.boxes, needs = self._boxes()
        at = layers(needs)
        edges = sorted((j, i) for i, before in enumerate(needs) for j in set(before))
        passed = [at[i] - at[j] - 1 for j, i in edges]
        longest = [0] * len(needs)
        for (j, _), n in zip(edges, passed, strict=True):
            longest[j] = max(longest[j], n)
        passes = sum(longest)  # the edges of a box share a lane
        if passes > MOST_PASSES:
            raise ValueError(
                f"graph: the edges behind this tensor pass {passes:,} layers of boxes; the picture has room for "
                f"{MOST_PASSES:,}. Give an earlier tensor"
            )
        spots, lanes, size = layered(needs)
        boxes = [{**box, "x": x, "y": y} for box, (x, y) in zip(self.boxes, spots, strict=True)]
        caption = f"Read from the tensor's grad_fn; the values are those on {self.tensor.device}."
        head = {"title": "Autograd graph", "lead": LEAD, "caption": caption}
        ways = {"lanes": {str(j): lane for j, lane in lanes.items()}, "passed": passed}
        return {**head, "boxes": boxes, "edges": edges, **ways, "size": size, "box": [WIDTH, HEIGHT]}

    def _boxes(self) -> tuple[list[dict[str, Any]], list[list[int]]]:
        """Leaves and operations, each behind all that it needs."""
        nodes = reached(self.tensor.grad_fn)
        leaves = len({id(e) for n in nodes for e in n.edges if e is not None and not isinstance(e, tuple)})
        if leaves > MOST_LEAVES:
            raise ValueError(
                f"graph: {leaves:,} leaves lie behind this tensor; the picture has room for {MOST_LEAVES:,}. Give an "
                "earlier one"
            )
        values = kept(nodes)
        boxes: list[dict[str, Any]] = []
        needs: list[list[int]] = []
        number: dict[int, int] = {}
        for node in nodes:
            before = []
            for edge in node.edges:
                if edge is None:
                    continue
                source = edge[0] if isinstance(edge, tuple) else edge
                if id(source) not in number:  # a leaf, met for the first time
                    number[id(source)] = len(boxes)
                    boxes.append(self._leaf(source))
                    needs.append([])
                before.append(number[id(source)])
            number[id(node)] = len(boxes)
            boxes.append(self._operation(node, values.get(id(node))))
            needs.append(before)
        if not boxes:
            boxes, needs = [self._leaf(self.tensor)], [[]]
        boxes[-1]["result"] = True
        return boxes, needs

    def _leaf(self, t: Tensor) -> dict[str, Any]:
        name = self.names.get(id(t), "leaf")
        grad = None if t.grad is None else numbers(t.grad.array)
        return {"kind": "leaf", "name": name, "shape": by_shape(t.shape), "value": numbers(t.array), "grad": grad}

    def _operation(self, node: Node, value: Array | None) -> dict[str, Any]:
        saved = [by_shape(s.array.shape) for s in node._saved or () if s is not None]
        own = self.tensor.array if node is self.tensor.grad_fn else value
        return {
            "kind": "op", "name": node.name, "shape": ", ".join(by_shape(o[0]) for o in node.outputs),
            "value": None if own is None else numbers(own), "saved": saved, "freed": node._saved is None,
        }  # fmt: skip

    def head(self) -> str:
        return f"Autograd graph of a tensor of shape {tuple(self.tensor.shape)}"

    def describe(self) -> str:
        ops = [b for b in self.boxes if b["kind"] == "op"]
        leaves = [b for b in self.boxes if b["kind"] == "leaf"]
        ready = sum(b["grad"] is not None for b in leaves)
        said = f"{len(ops)} operation{'s' * (len(ops) != 1)} and "
        said += f"{len(leaves)} lea{'f' if len(leaves) == 1 else 'ves'}; "
        said += f"{ready} of the leaves ha{'s' if ready == 1 else 've'} a gradient."
        return said + (" What backward needs was freed." if any(b["freed"] for b in ops) else "")

    def first_frame(self) -> str:
        d = self.data
        width, height = max(560, d["size"][0] + 40), d["size"][1] + 100
        out = [text(16, 28, d["title"], 15, weight=650), text(16, 50, self.describe())]
        for a, lane in d["lanes"].items():
            x, y = d["boxes"][int(a)]["x"], d["boxes"][int(a)]["y"]
            passed = "".join(f"L{p + 20} {q + 76}v{HEIGHT}" for p, q in lane)
            out.append(f'<path d="M{x + 86} {y + 76 + HEIGHT}{passed}" fill="none" stroke="{MUTED}"/>')
        for (a, b), n in zip(d["edges"], d["passed"], strict=True):
            x, y = d["lanes"][str(a)][n - 1] if n else (d["boxes"][a]["x"] + WIDTH // 2, d["boxes"][a]["y"])
            u, v = d["boxes"][b]["x"], d["boxes"][b]["y"]
            way = f"M{x + 20} {y + 76 + HEIGHT}L{u + 86} {v + 76}"
            out.append(f'<path d="{way}" fill="none" stroke="{MUTED}"/>')
        for b in d["boxes"]:
            x, y, round_ = b["x"] + 20, b["y"] + 76, 4 if b["kind"] == "op" else 20
            out.append(f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="{round_}" fill="{PAPER}" '
                       f'stroke="{INK if b["kind"] == "leaf" else LINE}"/>')  # fmt: skip
            name = b["name"] if len(b["name"]) <= 18 else b["name"][:17] + "…"  # what the box has room for
            out.append(text(x + WIDTH / 2, y + 16, name, 13 if len(name) <= 15 else 11, weight=650, anchor="middle"))
            out.append(text(x + WIDTH / 2, y + 31, b["shape"], 11, MUTED, mono=True, anchor="middle"))
        return drawing(width, height, self.describe(), out)


def reached(last: Node | None) -> list[Node]:
    """The operations behind a result, oldest first."""
    found: dict[int, Node] = {}
    waiting = [last] if last is not None else []
    while waiting:
        node = waiting.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        if len(found) > MOST:
            raise ValueError(f"graph: more than {MOST} operations lie behind this tensor; give an earlier one")
        waiting += [e[0] for e in node.edges if isinstance(e, tuple)]
    return sorted(found.values(), key=lambda n: n.number)


def kept(nodes: list[Node]) -> dict[int, Array]:
    """Results that some operation keeps for backward: their values are still there."""
    out: dict[int, Array] = {}
    for node in nodes:
        for s in node._saved or ():
            if s is None or s.version != s.array.state.version:
                continue
            if s.output is not None:
                out[id(node)] = s.array
            elif s.node[0] is not None:
                out[id(s.node[0])] = s.array
    return out


def graph(tensor: Tensor, names: Module | Mapping[str, Tensor] | None = None) -> Graph:
    """The operations that made a tensor, with shapes, values and gradients on pointing, before and after backward.

    tensor: a result with a history (requires_grad). names: a module, or {name: tensor}, to call the leaves by their
    names. `.refresh()` reads the graph again after backward. ValueError beyond 800 operations or 1,600 leaves, or
    where more edges than the picture has room for pass other boxes.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"graph: tensor is {type(tensor).__name__}; give a gpugrad tensor")
    if not tensor.requires_grad:
        raise ValueError("graph: the tensor has no history: nothing it was made from wants a gradient (requires_grad)")
    if names is not None and not isinstance(names, (Module, Mapping)):
        raise TypeError(f"graph: names is {type(names).__name__}; give a module, or {{name: tensor}}")
    pairs = list(names.named_parameters() if isinstance(names, Module) else (names or {}).items())
    for name, t in pairs:
        if not isinstance(name, str) or not isinstance(t, Tensor):
            raise TypeError(
                f"graph: names has {type(name).__name__}: {type(t).__name__} in it; give a text and the tensor it names"
            )
    return Graph(tensor, {id(t): name for name, t in pairs})
