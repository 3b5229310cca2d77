"""Networks: modules with parameters, the functions they call, and first values for their weights."""

from . import functional, init, utils
from .activation import GELU, Identity, LeakyReLU, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from .containers import ModuleList, Sequential
from .conv import Conv2d, ConvTranspose2d, Fold, Unfold
from .dropout import Dropout
from .linear import Linear
from .loss import CrossEntropyLoss, MSELoss, NLLLoss
from .module import Module
from .normalization import BatchNorm2d
from .parameter import Parameter
from .pooling import AvgPool2d, Flatten, MaxPool2d

__all__ = [
    "GELU",
    "AvgPool2d",
    "BatchNorm2d",
    "Conv2d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Fold",
    "Identity",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "Unfold",
    "functional",
    "init",
    "utils",
]
