"""DataLoader: a data set, cut into batches of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..generator import Generator, default_generator
from ..kernels.checks import boolean


class DataLoader:
    """Batches of `dataset`, as tuples of tensors on the current device; each `for` over it is one epoch.

    - dataset: has `len()` and gives a sample (array, number, tensor, or a tuple of those) for an index;
      its `batch(indices)`, where it has one, gives the stacked columns of a batch at once.
    - shuffle: a new order each epoch, drawn from `generator`, or from the one that `gg.manual_seed` seeds. The
      order is the same on every computer, and a generator's state is all that is needed to go on with it.
    - drop_last: leave out the last batch when it is smaller than batch_size.

    Integers become int32 and Python's floats float32; arrays keep their dtype.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        generator: Generator | None = None,
        num_workers: int = 0,
    ):
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise TypeError(f"DataLoader: dataset is {type(dataset).__name__}; it needs len() and an index")
        if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
            raise TypeError(f"DataLoader: batch_size is {batch_size!r}; it must be an integer")
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size is {batch_size}; it must be 1 or more")
        if generator is not None and not isinstance(generator, Generator):
            raise TypeError(f"DataLoader: generator is {type(generator).__name__}; it must be a gg.Generator or None")
        if num_workers != 0:
            raise ValueError(f"DataLoader: num_workers is {num_workers}; batches are cut in this process, so only 0")
        self.dataset = dataset
        self.batch_size = int(batch_size)
        self.shuffle = boolean("DataLoader", "shuffle", shuffle)
        self.drop_last = boolean("DataLoader", "drop_last", drop_last)
        self.generator = default_generator if generator is None else generator

    def __len__(self) -> int:
        samples = len(self.dataset)
        return samples // self.batch_size if self.drop_last else math.ceil(samples / self.batch_size)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        samples = len(self.dataset)
        order = self.generator.permutation(samples) if self.shuffle else np.arange(samples)
        return (self._batch(order[i * self.batch_size :][: self.batch_size]) for i in range(len(self)))

    def _batch(self, indices: np.ndarray) -> tuple[Any, ...]:
        from .. import tensor

        if hasattr(self.dataset, "batch"):
            columns: Sequence[Any] = self.dataset.batch(indices)
        else:
            samples = [self.dataset[int(i)] for i in indices]
            samples = [s if isinstance(s, (tuple, list)) else (s,) for s in samples]
            least, most = min(map(len, samples)), max(map(len, samples))
            if least < most:
                raise ValueError(
                    f"DataLoader: samples of one batch have {least} and {most} parts; give each as many as the others"
                )
            columns = [np.stack([_as_array(v) for v in column]) for column in zip(*samples, strict=True)]
        return tuple(tensor(column) for column in columns)

    def __repr__(self) -> str:
        order = "shuffled" if self.shuffle else "in order"
        return f"<DataLoader: {len(self):,} batches of {self.batch_size}, {order}, of {self.dataset!r}>"


def _as_array(value: Any) -> np.ndarray:
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if array.ndim == 0:
        narrow = {"i": np.int32, "u": np.int32, "f": np.float32}.get(array.dtype.kind)
        return array if narrow is None else array.astype(narrow)
    return array
