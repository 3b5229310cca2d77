"""What is no number, shape, tensor or function is refused in a sentence that names the function and the argument."""

import math

import numpy as np
import pytest

import gpugrad as gg
from gpugrad import kernels as K
from gpugrad import nn, optim


def array(*shape, dtype=np.float32):
    return gg.Array.from_numpy(np.ones(shape, dtype))


def leaf():
    return gg.ones(2, requires_grad=True)


class SavesANumber(gg.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3.0)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g


HUGE = 10**400
CASES = {
    "a shape that is a number": (lambda: gg.Array.empty(3), TypeError, "Array.empty: shape is 3; it must be a tuple"),
    "a float in a shape": (lambda: gg.Array.empty((2.0,)), TypeError, r"Array.empty: shape is \(2.0,\)"),
    "a size that no index reaches": (
        lambda: gg.zeros(10**30, 0), ValueError, "sizes cannot be negative, nor above 2,147,483,647",
    ),
    "half an element": (lambda: gg.Array.empty((2.5,)), TypeError, r"Array.empty: shape is \(2.5,\)"),
    "a shape of text": (lambda: gg.Array.empty("23"), TypeError, r"Array.empty: shape is \('2', '3'\)"),
    "random numbers of a number": (lambda: K.uniform(3), TypeError, "uniform: shape is 3"),
    "zeros or ones of a number": (lambda: K.bernoulli(3, 0.5), TypeError, "bernoulli: shape is 3"),
    "expand to nothing": (lambda: gg.ones(2).expand(None), TypeError, "expand: size is None"),
    "the size of an input": (
        lambda: K.avg_pool2d_backward(array(1, 1, 1, 1), 3, 2), TypeError, "avg_pool2d_backward: input_size is 3",
    ),
    "indices of no Array": (lambda: K.max_pool2d_pick(array(1, 1, 2, 2), 3), TypeError, "pick: indices is an int"),
    "options that are text": (
        lambda: K.cross_entropy(array(2, 3), array(2, dtype=np.int32), None, "sum"), TypeError, "options is 'sum'",
    ),
    "a rate beyond float32": (
        lambda: optim.SGD([leaf()], lr=1e300), ValueError, r"SGD: lr is 1e\+300; float32 holds no more than 3.4e\+38",
    ),
    "an update at the rate of text": (
        lambda: K.sgd([array(2)], [array(2)], lr="x"), TypeError, "sgd: lr is 'x'; it must be a number",
    ),
    "a number too long to print": (lambda: K.clamp(array(2), 0, 10**5000), ValueError, "max has 5001 digits"),
    "a bound beyond any float": (lambda: K.clamp(array(2), 0, HUGE), ValueError, "clamp: max has 401 digits"),
    "a mean beyond any float": (lambda: nn.init.normal_(gg.ones(2), HUGE), ValueError, "normal: mean has 401 digits"),
    "text between numbers": (lambda: nn.init.uniform_(gg.ones(2), "x"), TypeError, "uniform: low is 'x'; it must be"),
    "a counter of halves": (lambda: K.random_words(4, [0.5, 0, 0, 0], [1, 2]), TypeError, "random_words: counter is"),
    "a key of halves": (lambda: K.random_words(4, [0, 0, 0, 0], [1, 0.5]), TypeError, "random_words: key is"),
    "a dtype that is a dict": (lambda: gg.rand_like(gg.ones(2), dtype={}), TypeError, "uniform: dtype is {}"),
    "fewer than no numbers": (lambda: gg.Generator(1).permutation(-1), ValueError, "permutation: n is -1"),
    "fewer than no words": (lambda: gg.Generator(1).words(-3), ValueError, "words: n is -3"),
    "a number saved": (lambda: SavesANumber.apply(leaf()), TypeError, "save_for_backward: got float; .*of ctx"),
    "a gradient that is a number": (
        lambda: gg.gradgradcheck(lambda x: x * x, leaf(), [1.0]), TypeError, r"grad_outputs\[0\] is float",
    ),
    "a check of text": (lambda: gg.gradcheck("f", leaf()), TypeError, "gradcheck: func is 'f'"),
    "a second check of text": (lambda: gg.gradgradcheck("f", leaf()), TypeError, "gradgradcheck: func is 'f'"),
    "parameters that are a number": (lambda: optim.Adam(3), TypeError, "Adam: params is int; give an iterable"),
    "an infinite rate": (lambda: optim.SGD([leaf()], lr=math.inf), ValueError, "lr is inf; it must be 0 or more, and"),
    "a small number that is text": (
        lambda: nn.BatchNorm2d(3, eps="x"), TypeError, "BatchNorm2d: eps is 'x'; it must be a number",
    ),
    "an infinite momentum": (lambda: nn.BatchNorm2d(3, momentum=math.inf), ValueError, "BatchNorm2d: momentum is inf"),
    "a dimension that is text": (lambda: nn.Flatten("a"), TypeError, "Flatten: start_dim is 'a'; it must be an int"),
    "no dimension": (lambda: nn.Softmax(None), TypeError, "Softmax: dim is None; it must be an integer"),
    "a slope that is none": (lambda: nn.LeakyReLU(math.nan), ValueError, "LeakyReLU: negative_slope is nan"),
    "too much smoothing": (
        lambda: nn.CrossEntropyLoss(label_smoothing=2), ValueError, "label_smoothing is 2.0; it must be from 0 to 1",
    ),
    "half a class": (lambda: nn.NLLLoss(ignore_index=0.5), TypeError, "NLLLoss: ignore_index is 0.5"),
    "a check of a number": (lambda: gg.gradcheck(abs, 5), TypeError, "gradcheck: inputs is an int; give a tensor"),
    "points that lie nowhere apart": (lambda: gg.gradcheck(abs, leaf(), eps=0), ValueError, "gradcheck: eps is 0"),
    "a tolerance below 0": (lambda: gg.gradcheck(abs, leaf(), atol=-1), ValueError, "gradcheck: atol is -1.0"),
    "a gain of a list": (lambda: nn.init.calculate_gain([]), ValueError, r"calculate_gain: nonlinearity is \[\]"),
    "a device of spaces": (lambda: gg.use_device("  "), TypeError, "use_device: which is '  '"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused(device, name):
    call, error, match = CASES[name]
    with pytest.raises(error, match=match):
        call()


def test_numpys_integers_are_sizes(device):
    a = gg.Array.empty((np.int64(2), 3))
    assert a.shape == (2, 3) and type(a.size) is int


def test_lists_in_a_data_set_are_float32_as_in_a_tensor():
    data = gg.data.TensorDataset([0.5, 1.0], [1, 2], np.array([0.5, 1.0]))
    assert [a.dtype for a in data.arrays] == [np.float32, np.int64, np.float64]
