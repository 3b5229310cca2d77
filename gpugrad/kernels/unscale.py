"""Gradients of a scaled loss brought back to their size, and looked through for infinity and NaN."""

from __future__ import annotations

from ..array import Array
from ..dtypes import computed_in, int32
from ..program import Kernel
from .checks import check_array, check_float
from .tuning import tuned

_UNSCALE = Kernel("unscale.cl", "unscale", g="in", out="out", found="partial")


def unscale(g: Array, inverse: float, found: Array) -> Array:
    """`inverse` * g, in g's own memory, or of float16 in a new float32 Array.

    `found` (one int32) becomes 1 if an element of g is infinite or NaN; otherwise nobody touches it.
    """
    check_array("unscale", "g", g)
    check_float("unscale", "g", g)
    check_array("unscale", "found", found)
    if found.dtype != int32 or found.shape != (1,):
        raise ValueError(f"unscale: found is {found.dtype}{found.shape}; it must be int32(1,)")
    computed = computed_in(g.dtype)
    out = g if g.dtype == computed else Array.empty(g.shape, computed, g.device)
    run, group = tuned("elementwise run", g.device), tuned("elementwise group", g.device)
    defines = (("RUN", str(run)),)
    _UNSCALE.launch(g.dtype, (-(-g.size // run),), (group,), g, out, found, g.size, float(inverse), defines=defines)
    return out
