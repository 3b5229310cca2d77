"""Backward: gradients from the end of a graph to its beginning.

Every node is newer than the nodes it points to, so taking the newest node first is an order in which all of a
node's gradients have arrived before it runs. A heap keeps that order without recursion.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import AutogradError
from ..kernels.checks import boolean
from ..kernels.elementwise import binary
from .function import Masked, Node, edge
from .mode import set_grad_enabled
from .tensor import Tensor


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradient of `tensors` to `.grad` of every leaf they depend on."""
    retain_graph, create_graph = _flags("backward", retain_graph, create_graph)
    roots = _roots(tensors, gradients, "backward")
    run = _Run(roots, None, retain_graph, create_graph)
    run.go()


def grad(
    outputs: Tensor | Iterable[Tensor],
    inputs: Tensor | Iterable[Tensor],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched.

    `grad_outputs`: one tensor for each output (None for a scalar one). With `create_graph` the gradients can be
    differentiated again. An input that outputs do not depend on is an error, or None with `allow_unused`.
    """
    retain_graph, create_graph = _flags("grad", retain_graph, create_graph)
    allow_unused = boolean("grad", "allow_unused", allow_unused)
    outputs = _sequence(outputs, "outputs")
    inputs = _sequence(inputs, "inputs")
    given = [None] * len(outputs) if grad_outputs is None else _sequence(grad_outputs, "grad_outputs", optional=True)
    if len(given) != len(outputs):
        raise ValueError(f"grad: {len(given)} grad_outputs for {len(outputs)} outputs; give one for each")
    for i, t in enumerate(inputs):
        if not t.requires_grad:
            raise AutogradError(f"grad: inputs[{i}] does not require a gradient; make it with requires_grad=True")
    wanted = {_key(edge(t)): None for t in inputs}
    roots = _roots(outputs, given, "grad")
    run = _Run(roots, wanted, retain_graph, create_graph)
    run.go()
    found: list[Tensor | None] = [wanted[_key(edge(t))] for t in inputs]
    for i, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise AutogradError(
                f"grad: outputs do not depend on inputs[{i}]; pass allow_unused=True to get None for it"
            )
        if gradient is not None and gradient._copied_by is not None:
            found[i] = gradient._of_its_own()  # whatever operation made it, the caller may change it
    return tuple(found)


def _flags(name: str, retain_graph: bool | None, create_graph: bool) -> tuple[bool, bool]:
    """Both checked; retain_graph None means create_graph."""
    create_graph = boolean(name, "create_graph", create_graph)
    return create_graph if retain_graph is None else boolean(name, "retain_graph", retain_graph), create_graph


def _sequence(value: Any, name: str, optional: bool = False) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise TypeError(f"grad: {name} is {type(value).__name__}; give a tensor or several of them")
    found = list(value)
    for i, t in enumerate(found):
        if not (isinstance(t, Tensor) or (optional and t is None)):
            raise TypeError(f"grad: {name}[{i}] is {type(t).__name__}; it must be a tensor")
    return found


def _roots(tensors: Sequence[Tensor], gradients: Sequence[Any], name: str) -> list[tuple[Any, Tensor]]:
    from . import ops

    roots = []
    for t, g in zip(tensors, gradients, strict=True):
        if not t.requires_grad:
            raise AutogradError(
                f"{name}: the tensor does not require a gradient: none of its inputs was made with "
                "requires_grad=True, or it was computed under no_grad"
            )
        if g is None:
            if t.array.size != 1:
                raise AutogradError(
                    f"{name}: the tensor has shape {t.shape}; only a scalar has a gradient of its own. Reduce it first "
                    "(.sum() or .mean()), or pass gradient= of the same shape"
                )
            g = ops.full(t.shape, 1.0, dtype=t.dtype, device=t.device)
        elif not isinstance(g, Tensor):
            raise TypeError(f"{name}: the gradient is {type(g).__name__}; it must be a tensor")
        elif g.shape != t.shape or g.dtype != t.dtype:
            raise ValueError(
                f"{name}: the gradient is {g.dtype}{g.shape}; it must be like the tensor, {t.dtype}{t.shape}"
            )
        elif g.device is not t.device:
            raise ValueError(f"{name}: the gradient is on {g.device}, the tensor on {t.device}; put both on one")
        roots.append((edge(t), g))
    return roots


def _key(target: Any) -> Any:
    """What names a place that gradients go to: an output of a node, or a leaf."""
    return (target[0], target[1]) if isinstance(target, tuple) else id(target)


_delivering = threading.RLock()
"""Held while gradients are added to leaves: another thread's may be on their way to the same ones."""


class _Run:
    """One backward pass. Another thread may go through the same nodes meanwhile: nothing of it is kept on them."""

    def __init__(self, roots: list[tuple[Any, Tensor]], wanted: dict[Any, Any] | None, retain: bool, create: bool):
        self.roots, self.wanted, self.retain, self.create = roots, wanted, retain, create
        #: node -> output number -> (gradient, whether nothing else refers to its memory)
        self.arrived: dict[Node, dict[int, tuple[Tensor, bool]]] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[int, tuple[Tensor, Tensor, bool]] = {}
        self.useful: set[Node] | None = None

    def go(self) -> None:
        if self.wanted is not None:
            self.useful = _leading_to([t for t, _ in self.roots], self.wanted)
        with set_grad_enabled(self.create):
            for target, gradient in self.roots:
                self.send(target, gradient, False)
            while self.heap:
                _, node = heapq.heappop(self.heap)
                self.step(node, self.arrived.pop(node))
            with _delivering:
                for leaf, gradient, own in self.leaves.values():
                    self.deliver(leaf, gradient, own)

    def send(self, target: Any, gradient: Tensor, own: bool) -> None:
        """Add `gradient` to what has arrived at `target`."""
        if isinstance(target, Tensor):
            if self.wanted is not None and id(target) not in self.wanted:
                return
            held = self.leaves.get(id(target))
            if held is not None:
                gradient, own = held[1] + gradient, True
            self.leaves[id(target)] = (target, gradient, own)
            return
        node, output = target
        if self.useful is not None and node not in self.useful and (node, output) not in (self.wanted or ()):
            return
        slots = self.arrived.get(node)
        if slots is None:
            slots = self.arrived[node] = {}
            heapq.heappush(self.heap, (-node.number, node))
        if output in slots:
            gradient, own = slots[output][0] + gradient, True
        slots[output] = (gradient, own)

    def step(self, node: Node, slots: dict[int, tuple[Tensor, bool]]) -> None:
        """Run one node's backward and send what it gives on."""
        if self.wanted is not None:
            for output, (gradient, _) in slots.items():
                if (node, output) in self.wanted:
                    self.wanted[(node, output)] = gradient
            if self.useful is not None and node not in self.useful:
                return
        incoming = [self.incoming(node, i, slots) for i in range(len(node.outputs))]
        ctx, mask = node, node.needs_input_grad
        if self.useful is not None:
            mask = tuple([e is not None and self.is_useful(e) for e in node.edges])
            if mask != node.needs_input_grad:
                ctx = Masked(node, mask)
        results = node.function.backward(ctx, *incoming)
        if not isinstance(results, tuple):
            results = (results,)
        if len(results) != len(node.edges):
            raise AutogradError(
                f"{node.name}.backward returned {len(results)} gradients; forward took {len(node.edges)} arguments, so "
                "it returns that many (None where there is none)"
            )
        # Memory that something else refers to as well must not become anybody's .grad without a copy. What a Function
        # of the user's gives may be held elsewhere; the package's own give new memory, or what came in.
        ours = node.function.__module__.startswith("gpugrad.")
        taken = {g.array.block for g in incoming if g is not None}
        if not self.retain:
            node.free()
        for target, need, result in zip(node.edges, mask, results, strict=True):
            if target is None or not need or result is None:
                continue
            _check(node, target, result)
            block = result.array.block
            self.send(target, result, ours and block not in taken)
            taken.add(block)

    def is_useful(self, target: Any) -> bool:
        wanted = self.wanted or {}
        if isinstance(target, Tensor):
            return id(target) in wanted
        return target in wanted or (self.useful is not None and target[0] in self.useful)

    @staticmethod
    def incoming(node: Node, i: int, slots: dict[int, tuple[Tensor, bool]]) -> Tensor | None:
        """The gradient of output `i`; zeros, or None where the node asked for that, if none arrived."""
        if i in slots:
            return slots[i][0]
        if not node.materialize_grads:
            return None
        from . import ops

        shape, dtype, device = node.outputs[i]
        return ops.full(shape, 0.0 if dtype.kind == "f" else 0, dtype=dtype, device=device)

    def deliver(self, leaf: Tensor, gradient: Tensor, own: bool) -> None:
        if self.wanted is not None:
            self.wanted[id(leaf)] = gradient
        elif leaf._grad is None:
            gradient = gradient if own else gradient.clone()
            leaf._grad = gradient if self.create or not gradient._requires_grad else gradient.detach()
            # Whatever operation made it, a gradient is its owner's to change.
            leaf._grad._copied_by = None
        elif self.create:
            leaf._grad = leaf._grad + gradient
        else:  # in place, whatever history it has
            binary("add", leaf._grad.array, gradient.to(leaf._grad.dtype).array, out=leaf._grad.array)


def _check(node: Node, target: Any, result: Any) -> None:
    if not isinstance(result, Tensor):
        raise TypeError(f"{node.name}.backward returned {type(result).__name__}; a gradient is a tensor or None")
    if isinstance(target, Tensor):
        shape, dtype, device = target.shape, target.dtype, target.device
    else:
        shape, dtype, device = target[0].outputs[target[1]]
    if result.shape != shape:
        raise AutogradError(
            f"{node.name}.backward returned a gradient of shape {result.shape} for an input of shape {shape}"
        )
    if result.dtype != dtype:
        raise AutogradError(f"{node.name}.backward returned a {result.dtype} gradient for a {dtype} input")
    if result.device is not device:
        raise AutogradError(f"{node.name}.backward returned a gradient on {result.device} for an input on {device}")


def _leading_to(targets: list[Any], wanted: dict[Any, Any]) -> set[Node]:
    """The nodes below `targets` from which a wanted place can be reached; the rest need not run."""
    nodes: set[Node] = set()
    stack = [t[0] for t in targets if isinstance(t, tuple)]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += [e[0] for e in node.edges if isinstance(e, tuple)]
    useful: set[Node] = set()
    for node in sorted(nodes, key=lambda n: n.number):  # inputs first
        for e in node.edges:
            if e is not None and (_key(e) in wanted or (isinstance(e, tuple) and e[0] in useful)):
                useful.add(node)
                break
    return useful
