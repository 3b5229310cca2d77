"""gpugrad's own errors. A plain mistake in a call raises ValueError, TypeError or IndexError."""


class GpugradError(Exception):
    """Base class of gpugrad's own errors."""


class NoDeviceError(GpugradError, RuntimeError):
    """No OpenCL device could be found; the message says which command mends that."""


class DeviceLost(GpugradError, RuntimeError):
    """A kernel fault killed the device's context: tensors on it are gone, new ones go to a fresh context."""


class OutOfDeviceMemory(GpugradError, MemoryError):
    """An allocation does not fit the device's memory or `GPUGRAD_MEMORY_LIMIT`; the next operation still works."""


class KernelBuildError(GpugradError):
    """OpenCL C text that does not compile; the message shows the line with a caret."""


class KernelArgumentError(GpugradError, TypeError):
    """A kernel was called with arguments that do not match its signature."""


class AutogradError(GpugradError, RuntimeError):
    """The graph cannot do what was asked: freed already, changed in place, no gradient to compute."""


class DataError(GpugradError, RuntimeError):
    """A data set cannot be had, or a file of it is not what it should be."""


class GradcheckError(GpugradError, AssertionError):
    """A gradient does not agree with the differences of its function's values."""


class ScalerError(GpugradError, RuntimeError):
    """GradScaler's methods were called in an order that makes no sense: a step twice, an update without a step."""
