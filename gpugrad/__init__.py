"""gpugrad: how deep learning runs on a GPU, by reading, running, watching and writing its OpenCL kernels."""

__version__ = "0.1.0"
