"""What `gpugrad` offers: the one list of it, which type checkers read, and `__init__.py` when a name is first used."""

from . import autograd as autograd, data as data, device as device, kernels as kernels, nn as nn, optim as optim
from .array import Array as Array
from .autograd import (
    Function as Function, Tensor as Tensor, enable_grad as enable_grad, grad as grad, gradcheck as gradcheck,
    gradgradcheck as gradgradcheck, is_grad_enabled as is_grad_enabled, no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .autograd.ops import (
    abs as abs, add as add, amax as amax, amin as amin, arange as arange, argmax as argmax, argmin as argmin,
    cat as cat, clamp as clamp, clone as clone, cos as cos, div as div, dot as dot, eq as eq, exp as exp,
    flatten as flatten, flip as flip, from_numpy as from_numpy, full as full, full_like as full_like, ge as ge,
    gt as gt, index_select as index_select, le as le, log as log, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, lt as lt, matmul as matmul,
    max as max, maximum as maximum, mean as mean, min as min, minimum as minimum, mul as mul, ne as ne, neg as neg,
    ones as ones, ones_like as ones_like, permute as permute, pow as pow, rand as rand, rand_like as rand_like,
    randn as randn, randn_like as randn_like, randperm as randperm, relu as relu, reshape as reshape,
    sigmoid as sigmoid, sin as sin, sqrt as sqrt, squeeze as squeeze, stack as stack, sub as sub, sum as sum,
    tanh as tanh, tensor as tensor, transpose as transpose, unsqueeze as unsqueeze, var as var, where as where,
    zeros as zeros, zeros_like as zeros_like,
)
from .custom import kernel as kernel
from .device import Device as Device, current_device as current_device, devices as devices, use_device as use_device
from .dtypes import (
    bool_ as bool, float16 as float16, float32 as float32, float64 as float64, int32 as int32, uint8 as uint8,
)
from .errors import (
    AutogradError as AutogradError, DataError as DataError, DeviceLost as DeviceLost, GpugradError as GpugradError,
    GradcheckError as GradcheckError, KernelArgumentError as KernelArgumentError,
    KernelBuildError as KernelBuildError, NoDeviceError as NoDeviceError, OutOfDeviceMemory as OutOfDeviceMemory,
    ScalerError as ScalerError,
)
from .generator import Generator as Generator, default_generator as default_generator, manual_seed as manual_seed
from .kernels import use_kernels as use_kernels
from .optim import GradScaler as GradScaler
from .profiling import profile as profile
from .program import Local as Local, on_launch as on_launch
from .serialize import load as load, save as save
from .trace import KernelFault as KernelFault, sanitize as sanitize, sanitizer as sanitizer, trace as trace

__version__: str
