"""Kernel families: each a `.cl` file and the functions that check arguments and launch it, on Arrays."""

from .avg_pool import avg_pool2d, avg_pool2d_backward
from .batch_norm import (
    batch_norm,
    batch_norm_backward_input,
    batch_norm_follow,
    batch_norm_moments,
    batch_norm_product_sum,
    batch_norm_sum,
)
from .col2im import col2im, col2im_scratch_bytes
from .conv import conv2d, conv2d_backward_input, conv2d_backward_weight
from .cross_entropy import cross_entropy, cross_entropy_backward
from .elementwise import bias_activation, cast, clamp, clamp_backward, copy, elementwise, fill, where
from .gemm import gemm, gemm_sum
from .im2col import im2col, im2col_scratch_bytes
from .index import index_select, index_select_backward, one_hot
from .ladder import families, use_kernels, variant, variants
from .max_pool import max_pool2d, max_pool2d_backward, max_pool2d_pick
from .optim import adam, sgd, sgd_momentum
from .pad import pad
from .random import bernoulli, dropout, normal, random_words, uniform
from .reduce import reduce
from .slicing import get_slice, set_slice, slice_backward
from .softmax import log_softmax, softmax, softmax_backward
from .strided import cat, expand, flip, permute, stack
from .transpose import transpose

__all__ = [
    "adam",
    "avg_pool2d",
    "avg_pool2d_backward",
    "batch_norm",
    "batch_norm_backward_input",
    "batch_norm_follow",
    "batch_norm_moments",
    "batch_norm_product_sum",
    "batch_norm_sum",
    "bernoulli",
    "bias_activation",
    "cast",
    "cat",
    "clamp",
    "clamp_backward",
    "col2im",
    "col2im_scratch_bytes",
    "conv2d",
    "conv2d_backward_input",
    "conv2d_backward_weight",
    "copy",
    "cross_entropy",
    "cross_entropy_backward",
    "dropout",
    "elementwise",
    "expand",
    "families",
    "fill",
    "flip",
    "gemm",
    "gemm_sum",
    "get_slice",
    "im2col",
    "im2col_scratch_bytes",
    "index_select",
    "index_select_backward",
    "log_softmax",
    "max_pool2d",
    "max_pool2d_backward",
    "max_pool2d_pick",
    "normal",
    "one_hot",
    "pad",
    "permute",
    "random_words",
    "reduce",
    "set_slice",
    "sgd",
    "sgd_momentum",
    "slice_backward",
    "softmax",
    "softmax_backward",
    "stack",
    "transpose",
    "uniform",
    "use_kernels",
    "variant",
    "variants",
    "where",
]
