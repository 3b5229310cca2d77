"""Kernel families: each a `.cl` file and the functions that check arguments and launch it, on Arrays."""

from .col2im import col2im, col2im_scratch_bytes
from .elementwise import cast, copy, elementwise, fill, where
from .im2col import im2col, im2col_scratch_bytes
from .ladder import families, use_kernels, variant, variants
from .optim import adam, sgd, sgd_momentum
from .random import bernoulli, dropout, normal, random_words, uniform
from .reduce import reduce
from .strided import cat, expand, flip, permute, stack
from .transpose import transpose

__all__ = [
    "adam",
    "bernoulli",
    "cast",
    "cat",
    "col2im",
    "col2im_scratch_bytes",
    "copy",
    "dropout",
    "elementwise",
    "expand",
    "families",
    "fill",
    "flip",
    "im2col",
    "im2col_scratch_bytes",
    "normal",
    "permute",
    "random_words",
    "reduce",
    "sgd",
    "sgd_momentum",
    "stack",
    "transpose",
    "uniform",
    "use_kernels",
    "variant",
    "variants",
    "where",
]
