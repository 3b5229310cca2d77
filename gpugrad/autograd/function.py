"""Function: an operation and its derivative, side by side. Node: one use of it, a step of the graph.

A node points to the nodes that made its inputs and never to its outputs, so a graph holds no cycle and goes away
with the tensors at its end.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..errors import AutogradError
from ..kernels.checks import boolean
from .mode import _enabled

if TYPE_CHECKING:
    from ..array import Array
    from .tensor import Tensor

_numbers = itertools.count(1)


class Saved:
    """A tensor kept for backward, by its parts: holding an output itself would make a cycle."""

    __slots__ = ("array", "leaf", "node", "output", "requires_grad", "version")

    def __init__(self, tensor: Tensor, output: int | None):
        self.array: Array = tensor.array
        self.version = tensor.array.state.version
        self.requires_grad = tensor._requires_grad
        #: The output's number, where it is one of the node's own outputs.
        self.output = output
        self.leaf = tensor if output is None and tensor._requires_grad and tensor.grad_fn is None else None
        self.node = (tensor.grad_fn, tensor._output) if output is None else (None, 0)

    def unpack(self, owner: Node) -> Tensor:
        if self.array.state.version != self.version:
            raise AutogradError(
                f"backward of {owner.name}: a tensor of shape {self.array.shape} that it needs was changed in place "
                f"after it was used (version {self.array.state.version}, saved at {self.version}). Write the changing "
                "operation out of place (x = x + 1), or change a .clone()"
            )
        if self.leaf is not None:
            if self.leaf.array.state is not self.array.state:
                raise AutogradError(
                    f"backward of {owner.name}: a tensor of shape {self.array.shape} that it needs was changed in "
                    "place after it was used: it has other memory now (Module.to gives it that). Convert before the "
                    "forward pass, or run it again"
                )
            return self.leaf
        from .tensor import Tensor

        tensor = Tensor._wrap(self.array)
        if self.output is not None:
            tensor._requires_grad, tensor.grad_fn, tensor._output = True, owner, self.output
        elif self.requires_grad:
            tensor._requires_grad = True
            tensor.grad_fn, tensor._output = self.node
        return tensor


class Node:
    """One recorded operation: `ctx` in forward and backward, `.grad_fn` of its outputs.

    Attributes: `needs_input_grad` (for each argument of forward, whether its gradient is wanted), `edges` (for
    each argument: None, a leaf tensor, or (node, output number)). Anything else may be set on it in forward.
    """

    def __init__(self, function: type[Function]):
        self.function = function
        self.number = next(_numbers)
        self.edges: tuple[Any, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.outputs: list[tuple[Any, ...]] = []
        self._to_save: tuple[Any, ...] = ()
        self._saved: tuple[Saved | None, ...] | None = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True

    @property
    def name(self) -> str:
        return self.function.__name__

    def __repr__(self) -> str:
        return f"<{self.name}Backward>"

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs of forward for backward, where `saved_tensors` gives them."""
        self._to_save = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs of forward need no gradient (indices, masks)."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, or None (False), for an output that nothing depends on."""
        self.materialize_grads = boolean("set_materialize_grads", "value", value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._saved is None:
            raise AutogradError(
                f"backward of {self.name}: its saved tensors were freed by an earlier backward. Call the first "
                "backward with retain_graph=True to go through the same graph twice"
            )
        return tuple(None if s is None else s.unpack(self) for s in self._saved)

    def free(self) -> None:
        """Drop what was saved. A node that saved nothing can run again, as in PyTorch."""
        if self._saved:
            self._saved = None


class Masked(Node):
    """A node as its backward sees it in a run that wants fewer of its gradients; what it saved stays the node's."""

    def __init__(self, node: Node, needs_input_grad: tuple[bool, ...]):
        self.__dict__.update(node.__dict__)
        self.node, self.needs_input_grad = node, needs_input_grad

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.node.saved_tensors


class Function:
    """Subclass with two static methods and call `.apply(...)`, as in PyTorch.

    `forward(ctx, *args)` computes with tensors that are not recorded and returns a tensor or a tuple of them.
    `backward(ctx, *grad_outputs)` gets one gradient tensor for each output (zeros for one that nothing depends on, or
    None after `ctx.set_materialize_grads(False)`) and returns one gradient (or None) for each argument of forward.
    Written with differentiable operations, it can itself be differentiated.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotImplementedError("a Function needs a static forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("a Function needs a static backward(ctx, *grad_outputs)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward, and record it when gradients are enabled and an argument needs one."""
        ctx = Node(cls)
        needs = tuple([a.__class__ in _tensor_classes and a._requires_grad for a in args])
        record = _enabled.get() and True in needs
        # Forward may ask what will be wanted of it, and save less.
        ctx.needs_input_grad = needs if record else (False,) * len(args)
        token = _enabled.set(False)
        try:
            result = cls.forward(ctx, *args)
        finally:
            _enabled.reset(token)
        if result.__class__ not in _tensor_classes:
            _check_outputs(cls, result)
        if not record:
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        # An input handed through gets an identity of its own.
        outputs = tuple([o.detach() if _among(o, args) else o for o in outputs])
        ctx.edges = tuple([edge(a) if need else None for a, need in zip(args, needs, strict=True)])
        for i, out in enumerate(outputs):
            ctx.outputs.append((out.shape, out.dtype, out.device))
            if out.dtype.kind == "f" and not _among(out, ctx._non_differentiable):
                out._requires_grad, out.grad_fn, out._output = True, ctx, i
        ctx._saved = tuple([_save(t, args, outputs) for t in ctx._to_save])
        ctx._to_save = ctx._non_differentiable = ()
        return outputs if isinstance(result, tuple) else outputs[0]


def _check_outputs(function: type[Function], result: Any) -> None:
    """Raise TypeError where forward returned anything but a tensor or a tuple of tensors."""
    if not isinstance(result, tuple):
        raise TypeError(
            f"{function.__name__}.forward returned {type(result).__name__}; it returns a tensor or a tuple of tensors"
        )
    for i, out in enumerate(result):
        if out.__class__ not in _tensor_classes:
            raise TypeError(
                f"{function.__name__}.forward returned a tuple with {type(out).__name__} at place {i}; each must be a "
                "tensor"
            )


def _among(tensor: Any, others: tuple[Any, ...]) -> bool:
    """Whether `tensor` itself is one of the others; == would compare elements."""
    for other in others:  # noqa: SIM110  (a quarter of the time of any)
        if other is tensor:
            return True
    return False


def _save(tensor: Tensor | None, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> Saved | None:
    if tensor is None:
        return None
    if tensor.__class__ not in _tensor_classes:
        raise TypeError(
            f"save_for_backward: got {type(tensor).__name__}; it takes tensors and None. Anything else can be an "
            "attribute of ctx"
        )
    for i, out in enumerate(outputs):
        if tensor is out:
            return Saved(tensor, i)
    return Saved(tensor, None)


def edge(tensor: Tensor) -> Any:
    """Where the gradient of `tensor` goes: a leaf itself, or (node, output number)."""
    return tensor if tensor.grad_fn is None else (tensor.grad_fn, tensor._output)


_tensor_classes: set[Any] = set()
"""Tensor and its subclasses; a set look-up is the quickest test there is."""
