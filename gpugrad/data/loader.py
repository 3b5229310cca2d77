"""DataLoader: a data set, cut into batches of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


class DataLoader:
    """Batches of `dataset`, as tuples of tensors on the current device; each `for` over it is one epoch.

    - dataset: has `len()` and gives a sample (array, number, tensor, or a tuple of those) for an index;
      its `batch(indices)`, where it has one, gives the stacked columns of a batch at once.
    - shuffle: a new order each epoch. It depends on `seed` and `epoch` alone, so it is the same on every
      computer, and setting `loader.epoch` goes on where another run stopped. Without a seed, `gg.manual_seed`
      decides.
    - drop_last: leave out the last batch when it is smaller than batch_size.

    Labels become int32, floats of Python and NumPy's float64 numbers become float32; arrays keep their dtype.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        seed: int | None = None,
        num_workers: int = 0,
    ):
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise TypeError(f"DataLoader: dataset is a {type(dataset).__name__}; it needs len() and an index")
        if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
            raise TypeError(f"DataLoader: batch_size is {batch_size!r}; it must be an integer")
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size is {batch_size}; it must be 1 or more")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or isinstance(seed, bool)):
            raise TypeError(f"DataLoader: seed is {seed!r}; it must be an integer or None")
        if seed is not None and not 0 <= seed < 2**64:
            raise ValueError(f"DataLoader: seed is {seed}; it must be from 0 to 2**64 - 1")
        if num_workers != 0:
            raise ValueError(f"DataLoader: num_workers is {num_workers}; batches are cut in this process: 0")
        self.dataset = dataset
        self.batch_size = int(batch_size)
        self.shuffle = bool(shuffle)
        self.drop_last = bool(drop_last)
        self.seed = None if seed is None else int(seed)
        #: The number of the next epoch; each one begun adds 1.
        self.epoch = 0

    def __len__(self) -> int:
        samples = len(self.dataset)
        return samples // self.batch_size if self.drop_last else math.ceil(samples / self.batch_size)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        order = self._order()
        self.epoch += 1
        return (self._batch(order[i * self.batch_size :][: self.batch_size]) for i in range(len(self)))

    def _order(self) -> np.ndarray:
        from .. import rand

        if not self.shuffle:
            return np.arange(len(self.dataset))
        if self.seed is None:
            words = [int(u * 2**24) for u in rand(3).numpy()]
        else:
            words = [self.seed & 0xFFFFFFFF, self.seed >> 32, self.epoch]
        # RandomState's stream is frozen: the order of an epoch never changes with NumPy's release.
        return np.random.RandomState(words).permutation(len(self.dataset))

    def _batch(self, indices: np.ndarray) -> tuple[Any, ...]:
        from .. import tensor

        if hasattr(self.dataset, "batch"):
            columns: Sequence[Any] = self.dataset.batch(indices)
        else:
            samples = [self.dataset[int(i)] for i in indices]
            samples = [s if isinstance(s, (tuple, list)) else (s,) for s in samples]
            columns = [np.stack([_as_array(v) for v in column]) for column in zip(*samples)]
        return tuple(tensor(column) for column in columns)


def _as_array(value: Any) -> np.ndarray:
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if array.ndim == 0:
        narrow = {"i": np.int32, "u": np.int32, "f": np.float32}.get(array.dtype.kind)
        return array if narrow is None else array.astype(narrow)
    return array
