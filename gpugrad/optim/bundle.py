"""The parameters that an optimiser updates together, and what it remembers of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..array import Array
from ..autograd.tensor import Tensor
from ..dtypes import computed_in
from ..kernels.elementwise import copy
from ..kernels.optim import Packed


class Bundle:
    """The parameters of a group that one launch can update: of one dtype, on one device.

    Attributes: `parameters`, `memory` (what is remembered of them, by name), `steps` (how many updates each has had).
    """

    def __init__(self, parameters: list[Tensor], names: Iterable[str]):
        self.parameters = parameters
        first, shapes = parameters[0], [p.shape for p in parameters]
        self.memory = {name: Packed(shapes, computed_in(first.dtype), first.device) for name in names}
        self.steps = [0] * len(parameters)

    @property
    def arrays(self) -> list[Array]:
        return [p.array for p in self.parameters]

    def take_over(self, others: list[Bundle]) -> None:
        """Go on with what `others` remember of these parameters, where that is all that is needed."""
        known = [b for b in others if set(self.memory) <= set(b.memory)]
        places = {id(p): (b, i) for b in known for i, p in enumerate(b.parameters)}
        for k, p in enumerate(self.parameters):
            if id(p) in places:
                other, i = places[id(p)]
                self.steps[k] = other.steps[i]
                for name, packed in self.memory.items():
                    copy(other.memory[name].parts[i], out=packed.parts[k])

    def gradients(self) -> Iterator[tuple[int, list[Array | None]]]:
        """Gradients by how many updates their parameters have had before; None stands for all others."""
        grads = [None if p.grad is None else p.grad.array for p in self.parameters]
        counts = {n for n, g in zip(self.steps, grads) if g is not None}
        for count in sorted(counts):
            yield count, [g if n == count else None for n, g in zip(self.steps, grads)]
        self.steps = [n + (g is not None) for n, g in zip(self.steps, grads)]
