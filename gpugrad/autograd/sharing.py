"""Which tensors look at the same memory: reshape, view and detach share it, and a recorded change in place asks.

A look through reshape has the history of what it looks at; detach begins another one. So each looker belongs to a
family, and a change of one tensor's history must not pass its own family by.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tensor import Tensor


def share(base: Tensor, look: Tensor, apart: bool = False) -> None:
    """Remember that `look` is on the memory of `base`; `apart`: with a history of its own."""
    lookers = base.array.state.lookers
    if lookers is None:
        lookers = base.array.state.lookers = {}
    if len(lookers) > 16:  # most are gone: a parameter is reshaped in every step
        for key in [k for k, (looker, _) in list(lookers.items()) if looker() is None]:
            lookers.pop(key, None)
    known = lookers.get(id(base))
    if known is None or known[0]() is not base:
        known = lookers[id(base)] = (weakref.ref(base), object())
    lookers[id(look)] = (weakref.ref(look), object() if apart else known[1])


def seen_elsewhere(tensor: Tensor) -> bool:
    """Whether another living tensor on the same memory has a history that a change of `tensor` would make wrong."""
    lookers = tensor.array.state.lookers or {}
    known = lookers.get(id(tensor))
    family = known[1] if known is not None and known[0]() is tensor else None
    for looker, its_family in list(lookers.values()):
        other = looker()
        if other is not None and other is not tensor and (its_family is family or other._requires_grad):
            return True
    return False
