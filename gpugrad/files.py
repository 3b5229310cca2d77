"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from pathlib import Path
from typing import Any


def file_path(function: str, path: Any) -> Path:
    """The path, if it can be one."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise TypeError(f"{function}: path is {path!r}; it must be the name of a file, or a pathlib.Path")
    return Path(path)


def write_whole(path: Path, data: bytes) -> None:
    """Write to a temporary file in the same folder, then move it to `path`: nobody ever sees half a file.

    A link stays one, and leads to the new contents; a file that is replaced hands on its permissions.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():  # a device would be gone: moving a file there replaces it
        raise ValueError(f"save: {str(path)!r} is a folder, a pipe or a device; give the name of a file")
    temporary = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except FileNotFoundError:
        raise FileNotFoundError(f"save: there is no folder {str(path.parent)!r}; make it first") from None
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno:  # it names no file, or one that nobody knows
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
