"""Kernel families: each a `.cl` file and the functions that check arguments and launch it, on Arrays."""

from .col2im import col2im, col2im_scratch_bytes
from .elementwise import cast, copy, elementwise, fill, where
from .im2col import im2col, im2col_scratch_bytes
from .ladder import families, use_kernels, variant, variants
from .reduce import reduce

__all__ = [
    "cast",
    "col2im",
    "col2im_scratch_bytes",
    "copy",
    "elementwise",
    "families",
    "fill",
    "im2col",
    "im2col_scratch_bytes",
    "reduce",
    "use_kernels",
    "variant",
    "variants",
    "where",
]
