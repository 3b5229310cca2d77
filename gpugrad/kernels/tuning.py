"""What depends on the kind of device: one table, with what each choice was measured on.

CPU: 2 x86-64 cores, PoCL 3.0. GPU: NVIDIA H200, driver 580.
"""

from __future__ import annotations

from typing import Any

from ..device import Device

TUNING: dict[str, dict[str, Any]] = {
    # Neighbours that one work-item computes, and work-items in a group. CPU, a + b of 1 million: 0.4 ms, with 1 and 64
    # 1.8, as PoCL makes no vector instructions of a guarded element.
    "elementwise run": {"cpu": 256, "gpu": 1},
    "elementwise group": {"cpu": 16, "gpu": 256},
    # Columns summed by one work-item. CPU, (128, 16, 784) over axis 1: 0.5 ms with 16, 1.6 with 1.
    "reduce strip": {"cpu": 16, "gpu": 1},
    # Rows. CPU, 2048 rows of 784: 0.3 ms blocked, 2.8 as trees; a GPU reads a row side by side in the tree.
    "reduce rows": {"cpu": "blocked", "gpu": "tree"},
    # Work-items in a tree.
    "reduce group": {"cpu": 64, "gpu": 256},
    # Elements of a strided copy that one work-item moves. CPU, 16 MB: 1.7 ms with 64, 5 with 1 (NumPy 2.3).
    # GPU, 256 MB: 2800 GB/s with 2 in groups of 128, 840 with 1 in groups of 64, 870 with 8.
    "copy run": {"cpu": 64, "gpu": 2},
    # Work-items side by side in it; where rows are short, along the last two axes.
    # GPU, two of three columns: 1070 GB/s with (4, 64), 470 with (4, 16).
    "copy group": {"cpu": 16, "gpu": 128},
    "copy group, short rows": {"cpu": (1, 16, 1), "gpu": (4, 64, 1)},
    # CPU, 64 matrices of 64 x 64: 0.18 ms blocked (NumPy 0.28, PyTorch 0.42).
    # GPU, 8192 x 8192: 0.16 ms tiled, 0.49 naive, 1.2 blocked (PyTorch 0.47).
    "transpose": {"cpu": "blocked", "gpu": "tiled"},
    # (N, 16, 14, 14), 5 x 5, padding 2. GPU, N = 1024: naive 1.0 ms, window 0.16, rows 1.2; gather 0.35, scatter 3.7,
    # planes 1.5. CPU, N = 128: rows 5 times as fast as window, planes 1.5 to 7 times as fast as gather.
    "im2col": {"cpu": "rows", "gpu": "window"},
    "col2im": {"cpu": "planes", "gpu": "gather"},
    # Bytes of im2col's result, and of padded images, at a time.
    "im2col bytes": {"cpu": 1 << 24, "gpu": 1 << 29},
    "conv bytes": {"cpu": 1 << 23, "gpu": 1 << 29},
    # The course CNN's second convolution, forward, input gradient, weight gradient. CPU, N = 128: blocked 5.4, 5.9 and
    # 5.0 ms, im2col two to four times that. GPU, N = 1024: im2col 0.5, 0.9 and 1.7 ms, direct 2.8, 14, 21, cuDNN 0.25.
    "conv": {
        "cpu": {"conv2d": "blocked", "conv2d_backward_input": "blocked", "conv2d_backward_weight": "blocked"},
        "gpu": {"conv2d": "im2col", "conv2d_backward_input": "im2col", "conv2d_backward_weight": "im2col"},
    },
    # One input or output channel in a group makes matrices of one row.
    "conv depthwise": {
        "cpu": {"conv2d": "blocked", "conv2d_backward_input": "blocked", "conv2d_backward_weight": "blocked"},
        "gpu": {"conv2d": "direct", "conv2d_backward_input": "direct", "conv2d_backward_weight": "im2col"},
    },
    # CPU, 4096 lines of 10: 0.3 ms lanes, 1.0 stable (PyTorch 0.1); 512 of 1000: 2.0 and 56.
    "softmax": {"cpu": "lanes", "gpu": "stable"},
    # From this length on a work-group shares a line of softmax. On the CPU that gains nothing at any length.
    "softmax shared": {"cpu": 1 << 31, "gpu": 64},
    # CPU, (128, 16, 28, 28), 2 x 2: 0.9 ms 2x2, 3.4 rows, 7.6 window; backward 0.5 ms planes, 10 gather.
    "max_pool2d": {"cpu": "2x2", "gpu": "window"},
    "max_pool2d_backward": {"cpu": "planes", "gpu": "gather"},
    "avg_pool2d": {"cpu": "rows", "gpu": "window"},
    "avg_pool2d_backward": {"cpu": "planes", "gpu": "gather"},
    # See gemm_packed.py and gemm_warp.py for their tiles.
    "gemm": {"cpu": "packed", "gpu": "warp"},
    # Runs of neighbours side by side, and rows, in a work-group.
    "batch_norm group": {"cpu": (1, 16), "gpu": (128, 1)},
    "batch_norm group, short rows": {"cpu": (1, 16), "gpu": (8, 16)},
    # Work-items that share 1024 elements of a parameter. CPU, SGD on the course CNN: 0.1 ms with 1, 0.6 with 64.
    "optim group": {"cpu": 1, "gpu": 256},
}


def tuned(key: str, device: Device) -> Any:
    """The table's entry for a device; what is neither CPU nor GPU is treated as a GPU."""
    choices = TUNING[key]
    return choices["cpu"] if device.kind == "cpu" else choices["gpu"]
