"""MNIST: the digits that ship with gpugrad, the full set from a folder, or the full set downloaded once."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..kernels.checks import boolean
from .dataset import ImageDataset
from .idx import read_idx

SUBSET = Path(__file__).with_name("mnist_subset.npz")

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
)

#: File name: SHA-256 of the gzipped file, and of the file in it.
SHA256 = {
    "train-images-idx3-ubyte": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    "train-labels-idx1-ubyte": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    "t10k-images-idx3-ubyte": (
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    "t10k-labels-idx1-ubyte": (
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
}

_TIMEOUT = 30  # seconds a mirror may stay silent


def mnist(train: bool = True, source: str | os.PathLike[str] = "auto") -> ImageDataset:
    """MNIST's training or test digits, 28 x 28, as an ImageDataset; its `source` says which data they are.

    source:
    - "subset": the 10,000 training and 2,000 test digits that ship with gpugrad (CC BY-SA 3.0, PROVENANCE.md)
    - "full": all 60,000 and 10,000, from the folder GPUGRAD_DATA if that is set, else downloaded once
    - a folder that holds the idx files, gzipped or not (other data in MNIST's format will do: it is said so)
    - "auto": the folder GPUGRAD_DATA if that is set, else "full" if it has been downloaded, else "subset"

    DataError if files are missing, broken or cannot be downloaded: other data never take their place.
    """
    train = boolean("mnist", "train", train)
    if isinstance(source, os.PathLike):
        return _from_folder(train, Path(source), "source")
    if source not in ("auto", "subset", "full"):
        if isinstance(source, str) and os.path.isdir(source):
            return _from_folder(train, Path(source), "source")
        raise ValueError(
            f"mnist: source is {source!r}; it must be 'auto', 'subset', 'full' or a folder that holds MNIST's four "
            "idx files"
        )
    if source == "subset":
        return _subset(train)
    if os.environ.get("GPUGRAD_DATA"):
        return _from_folder(train, Path(os.environ["GPUGRAD_DATA"]), "GPUGRAD_DATA")
    if source == "full" or _is_cached():
        return _downloaded(train)
    return _subset(train)


def _subset(train: bool) -> ImageDataset:
    part = "train" if train else "test"
    with np.load(SUBSET, allow_pickle=False) as arrays:
        images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"]
    which = f"the {len(images):,} MNIST {_part(train)} digits that ship with gpugrad"
    return ImageDataset(images, labels, which)


def _from_folder(train: bool, folder: Path, argument: str) -> ImageDataset:
    stems = [_stem(train, "images"), _stem(train, "labels")]
    paths = [_find(folder, stem, argument) for stem in stems]
    images, labels = (read_idx(path) for path in paths)
    try:
        dataset = ImageDataset(images, labels, "")
    except ValueError as error:
        raise DataError(f"mnist: {paths[0]} and {paths[1]} do not go together: {error}") from error
    genuine = all(_sha256(a) == SHA256[stem][1] for a, stem in zip((images, labels), stems))
    dataset.source = f"{len(images):,} {_part(train)} images from {folder}, " + (
        "the original MNIST by checksum" if genuine else "not the original MNIST by checksum"
    )
    return dataset


def _find(folder: Path, stem: str, argument: str) -> Path:
    """The file, under MNIST's name or the one that some unpackers give it, gzipped or not."""
    for name in (stem, stem.replace("-idx", ".idx")):
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise DataError(
        f"mnist: {argument} is {str(folder)!r}, and there is no {stem} or {stem}.gz in it. "
        'Put the four MNIST files there, or use the digits that ship with gpugrad: source="subset" '
        "(gpugrad train --data subset)"
    )


def _downloaded(train: bool) -> ImageDataset:
    images, labels = (_fetched(_stem(train, kind)) for kind in ("images", "labels"))
    which = f"all {len(images):,} MNIST {_part(train)} digits, from {cache_folder()}"
    return ImageDataset(images, labels, which)


def _fetched(stem: str) -> np.ndarray:
    path = _fetch(stem)
    array = read_idx(path)
    if _sha256(array) != SHA256[stem][1]:
        raise DataError(f"mnist: {path} does not unpack to MNIST's {stem}; delete it and try again")
    return array


def _fetch(stem: str) -> Path:
    """The gzipped file in the cache, downloaded from the first mirror that has the right one."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    name, known = f"{stem}.gz", f"sha256:{SHA256[stem][0]}"
    failures = []
    for mirror in MIRRORS:
        try:
            # pooch writes to a temporary file, checks it, and moves it into place
            downloader = pooch.HTTPDownloader(progressbar=True, timeout=_TIMEOUT)
            return Path(pooch.retrieve(mirror + name, known, name, cache_folder(), downloader=downloader))
        except (OSError, ValueError) as error:  # no network, a refusal, a full disk; a wrong checksum
            failures.append(f"{mirror.split('/')[2]}: {_brief(error)}")
    raise DataError(
        f"mnist: {name} could not be downloaded ({'; '.join(failures)}). Without a network, use the "
        'digits that ship with gpugrad: source="subset" (gpugrad train --data subset); or put the four MNIST '
        "files into a folder and set GPUGRAD_DATA to it"
    )


def _brief(error: Exception) -> str:
    """An error in a few words: those of requests go on for lines."""
    if isinstance(error, ValueError) and "hash" in str(error).lower():
        return "wrong checksum"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"HTTP {status}"
    return type(error).__name__ if len(str(error)) > 80 else str(error) or type(error).__name__


def cache_folder() -> Path:
    """Where the full set goes when it is downloaded."""
    import pooch

    return Path(pooch.os_cache("gpugrad")) / "mnist"


def _is_cached() -> bool:
    folder = cache_folder()
    return all((folder / f"{stem}.gz").is_file() for stem in SHA256)


def _stem(train: bool, kind: str) -> str:
    return f"{'train' if train else 't10k'}-{kind}-idx{3 if kind == 'images' else 1}-ubyte"


def _part(train: bool) -> str:
    return "training" if train else "test"


def _sha256(array: np.ndarray) -> str:
    """SHA-256 of the plain idx file that holds this array of bytes."""
    head = struct.pack(f">HBB{array.ndim}I", 0, 0x08, array.ndim, *array.shape)
    return hashlib.sha256(head + array.tobytes()).hexdigest()
