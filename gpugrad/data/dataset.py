"""Data sets in host memory. A data set is anything with a length that gives a sample for an index."""

from __future__ import annotations

from typing import Any

import numpy as np


class ImageDataset:
    """Grey images with labels, kept as bytes on the host.

    `dataset[i]` is one sample, (image, label): float32 (1, H, W) with 0 black and 1 white, and an int.
    `dataset[a:b]` and `dataset[indices]` are a batch: float32 (N, 1, H, W) and int32 (N,).
    Attributes: `images` uint8 (N, H, W), `labels` uint8 (N,), `source` (words: which data this is).
    """

    def __init__(self, images: np.ndarray, labels: np.ndarray, source: str):
        if images.dtype != np.uint8 or images.ndim != 3:
            raise ValueError(f"ImageDataset: images are {images.dtype} {images.shape}; they must be uint8 (N, H, W)")
        if labels.dtype != np.uint8 or labels.shape != images.shape[:1]:
            raise ValueError(
                f"ImageDataset: labels are {labels.dtype} {labels.shape}; they must be uint8 "
                f"({len(images)},), one for each image"
            )
        self.images, self.labels, self.source = images, labels, source

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: Any) -> tuple[np.ndarray, Any]:
        images = self.images[index].astype(np.float32) / np.float32(255)
        if images.ndim == 2:
            return images[None], int(self.labels[index])
        return images[:, None], self.labels[index].astype(np.int32)

    def batch(self, indices: np.ndarray) -> tuple[np.ndarray, ...]:
        """The samples at `indices`, stacked: what DataLoader asks for where a data set offers it."""
        return self[indices]

    def __repr__(self) -> str:
        height, width = self.images.shape[1:]
        return f"<ImageDataset: {len(self):,} images of {height} x {width}; {self.source}>"


class TensorDataset:
    """Samples along the first axis of arrays or tensors, as in PyTorch: `dataset[i]` is a tuple of rows.

    Tensors are copied to the host once, since batches are cut there. ValueError if the first axes differ.
    """

    def __init__(self, *tensors: Any):
        if not tensors:
            raise ValueError("TensorDataset: no arrays were given; it needs one at least")
        self.arrays = tuple(t.numpy() if hasattr(t, "numpy") else _array(t) for t in tensors)
        if any(a.ndim == 0 or len(a) != len(self.arrays[0]) for a in self.arrays):
            shapes = ", ".join(str(a.shape) for a in self.arrays)
            raise ValueError(f"TensorDataset: the arrays have shapes {shapes}; the first axes must be equal")

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(a[index] for a in self.arrays)

    def batch(self, indices: np.ndarray) -> tuple[Any, ...]:
        """The samples at `indices`, stacked."""
        return self[indices]

    def __repr__(self) -> str:
        return f"<TensorDataset: {len(self):,} samples of {len(self.arrays)} arrays>"


def _array(data: Any) -> np.ndarray:
    """An array as it is; lists as gpugrad.tensor takes them: Python's floats are float32."""
    host = np.asarray(data)
    return host.astype(np.float32) if host.dtype == np.float64 and not hasattr(data, "dtype") else host
