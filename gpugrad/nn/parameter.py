"""Parameter: a tensor that a module trains."""

from __future__ import annotations

from ..autograd.sharing import share
from ..autograd.tensor import Tensor


class Parameter(Tensor):
    """A tensor that becomes one of a module's parameters when it is set as its attribute. Shares `data`'s memory."""

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True):
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data is {type(data).__name__}; it must be a tensor, such as gpugrad.zeros(3)")
        self.array, self._requires_grad, self._grad, self.grad_fn, self._output = data.array, False, None, None, 0
        self._copied_by = None
        share(data, self, apart=True)
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
