"""Kernel families: each a `.cl` file and the functions that check arguments and launch it, on Arrays."""

from .elementwise import cast, copy, elementwise, fill, where
from .ladder import families, use_kernels, variant, variants
from .reduce import reduce

__all__ = ["cast", "copy", "elementwise", "families", "fill", "reduce", "use_kernels", "variant", "variants", "where"]
