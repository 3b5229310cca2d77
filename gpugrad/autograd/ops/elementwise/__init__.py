"""Element-wise operations: each forward beside its backward, which is written with the same operations.

Operands broadcast by NumPy's rule; a gradient is then summed over what was repeated (`sum_to`).
"""

from .activation import bias_activation, gelu, leaky_relu, relu, sigmoid, tanh
from .arithmetic import abs, add, div, maximum, minimum, mul, neg, pow, sub
from .comparison import eq, ge, gt, le, logical_and, logical_not, logical_or, logical_xor, lt, ne, where
from .functions import clamp, clone, cos, exp, log, sin, sqrt, to
from .operands import check_tensor, sum_to
