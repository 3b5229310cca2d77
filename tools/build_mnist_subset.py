"""Make gpugrad/data/mnist_subset.npz again, byte for byte, from MNIST's four files.

    python tools/build_mnist_subset.py FOLDER OUT.npz

gpugrad/data/PROVENANCE.md tells how the digits are chosen.
"""

import hashlib
import io
import sys
import zipfile

import numpy as np

from gpugrad.data import mnist


def choose(labels: np.ndarray, per_digit: int, seed: int) -> np.ndarray:
    """Places of `per_digit` images of each digit, evenly spaced; every run of ten holds each digit once."""
    random = np.random.RandomState(seed)
    columns = []
    for digit in range(10):
        places = np.flatnonzero(labels == digit)
        columns.append(random.permutation(places[np.arange(per_digit) * len(places) // per_digit]))
    rows = np.stack(columns, axis=1)
    return np.concatenate([row[random.permutation(10)] for row in rows])


def write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    """An .npz with fixed dates and order, so that the same arrays give the same bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.getvalue(), compresslevel=9)


def main(folder: str, out: str) -> None:
    train, test = mnist(True, folder), mnist(False, folder)
    print(train.source, test.source, sep="\n")
    i, j = choose(train.labels, 1000, seed=0), choose(test.labels, 200, seed=1)
    arrays = {
        "x_train": train.images[i],
        "y_train": train.labels[i],
        "x_test": test.images[j],
        "y_test": test.labels[j],
        "train_index": i.astype(np.uint16),
        "test_index": j.astype(np.uint16),
    }
    write_npz(out, arrays)
    with open(out, "rb") as file:
        print(out, hashlib.sha256(file.read()).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
