"""Every operation on tensors, flat: `ops.add`, `ops.conv2d`, ... Each lives in the module named for its family."""

from .batch_norm import batch_norm
from .conv import conv2d, conv_transpose2d, fold, unfold
from .creation import arange, from_numpy, full, full_like, ones, ones_like, tensor, zeros, zeros_like
from .elementwise import (
    abs,
    add,
    bias_activation,
    clamp,
    clone,
    cos,
    div,
    eq,
    exp,
    ge,
    gelu,
    gt,
    le,
    leaky_relu,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    pow,
    relu,
    sigmoid,
    sin,
    sqrt,
    sub,
    tanh,
    to,
    where,
)
from .indexing import getitem, index_select, one_hot, setitem
from .loss import cross_entropy, mse_loss, nll_loss
from .matmul import dot, linear, matmul
from .pad import pad
from .pooling import avg_pool2d, max_pool2d
from .random import dropout, rand, rand_like, randn, randn_like, randperm
from .reduce import amax, amin, argmax, argmin, max, mean, min, sum, var
from .shape import (
    cat,
    expand,
    flatten,
    flip,
    permute,
    reshape,
    reverse_axes,
    squeeze,
    stack,
    transpose,
    unsqueeze,
    view,
)
from .softmax import log_softmax, softmax
