"""Half parameters: what an optimiser does with them happens in float32.

A step changes a parameter by a thousandth of it, or less, and half has 11 bits: most such changes would be lost to
rounding. So the optimiser keeps a float32 copy of each parameter, its master, updates that by the gradient in
float32, and rounds it into the parameter (Micikevicius et al., "Mixed precision training", 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..array import Array
from ..autograd.tensor import Tensor
from ..dtypes import float16, float32
from ..kernels.elementwise import cast
from .bundle import Bundle


class HalfBundle(Bundle):
    """A Bundle of float16 parameters, whose `arrays` are the masters; these are remembered as "master".

    What else is remembered is float32, too. A parameter that was written by someone else since the last step (weights
    were loaded, say) becomes its master again.
    """

    def __init__(self, parameters: list[Tensor], names: Iterable[str]):
        super().__init__(parameters, (*names, "master"))
        self._seen: list[Any] = [None] * len(parameters)
        self.refresh()

    @property
    def arrays(self) -> list[Array]:
        return self.memory["master"].parts

    def gradients(self) -> Iterator[tuple[int, list[Array | None]]]:
        self.refresh()
        for count, gradients in super().gradients():
            wide = [g if g is None or g.dtype == float32 else cast(g, float32) for g in gradients]
            yield count, wide
            # Here the masters have been updated.
            for i, g in enumerate(gradients):
                if g is not None:
                    self.publish(i)

    def refresh(self) -> None:
        """Take over parameters that were written since they were last seen."""
        for i, (p, master) in enumerate(zip(self.parameters, self.arrays)):
            if p.dtype != float16 or p.device is not master.device:
                raise ValueError(
                    f"step: parameter {i}, {p.shape}, is {p.dtype} on {p.device} now, and what the optimiser remembers "
                    f"is of a float16 parameter on {master.device}; make a new optimiser after changing a parameter"
                )
            if self._seen[i] != (p.array.state, p.array.state.version):
                cast(p.array, float32, master)
                self._note(i)

    def publish(self, i: int) -> None:
        """Round master number i into its parameter."""
        cast(self.arrays[i], float16, self.parameters[i].array)
        self._note(i)

    def _note(self, i: int) -> None:
        state = self.parameters[i].array.state
        self._seen[i] = (state, state.version)
