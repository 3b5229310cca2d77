"""MNIST from the shipped digits, a folder or a download, and batches of it.

    train = gg.data.mnist(train=True, source="subset")
    for images, labels in gg.data.DataLoader(train, batch_size=64, shuffle=True):
        ...

Data sets live in host memory; a batch goes to the device when it is asked for.
"""

from .dataset import ImageDataset, TensorDataset
from .idx import read_idx
from .loader import DataLoader
from .mnist import mnist

__all__ = ["DataLoader", "ImageDataset", "TensorDataset", "mnist", "read_idx"]
