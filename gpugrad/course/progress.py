"""Which exercises are solved: a JSON file beside the notebooks.

For each exercise it keeps how often it was tried, the last answer, and the last answer that passed: lesson 14 trains on
those kernels, and `gpugrad grade` checks the last answers again.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..files import write_whole
from .catalog import lessons

NAME = "gpugrad-progress.json"
LARGEST = 16 << 20  # bytes that are read of a file that a student's code may have written


def path() -> Path:
    """The file: in the folder that GPUGRAD_PROGRESS names, else in the current one, where Jupyter runs a notebook."""
    return Path(os.environ.get("GPUGRAD_PROGRESS", "")) / NAME


def found(folder: Path | None) -> Path:
    """The file for a folder of notebooks; without one, in the folder that `gpugrad lab` makes, or here."""
    if folder is not None:
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder}; name the one with your notebooks")
        return folder / NAME
    made = Path("gpugrad-lessons") / NAME
    return made if made.exists() and not path().exists() else path()


def read(file: Path) -> dict[str, dict[str, Any]]:
    """What is known of each exercise, by its number. A file that is not there knows nothing."""
    try:
        return parsed(text(file))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError:
        raise ValueError(
            f"{file} is not a file of progress; move it away, and run the cells with your answers once more: "
            "they begin a new one"
        ) from None


def text(file: Path, follow: bool = True) -> str:
    """The text of a file that is one: no pipe, which would be waited for, and none that fills the memory.

    With follow=False no link either. ValueError where it is something else.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(file, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    about = os.fstat(number)
    # before open(), which would tell of a folder by this number alone
    if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
        os.close(number)
        raise ValueError(f"{file} is no file of text")
    with open(number, "rb") as opened:
        return opened.read(LARGEST).decode("utf-8")


def parsed(text: str) -> dict[str, dict[str, Any]]:
    """What a file of progress says, by exercise; ValueError if it is none."""
    try:
        kept = json.loads(text)
        found: dict[str, dict[str, Any]] = kept["exercises"]
        if not all(isinstance(e, dict) for e in found.values()):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("not a file of progress") from None
    return found


def note(file: Path, exercise: str, answer: Any, right: bool) -> None:
    """Keep an answer. The file is whole at any moment, and nothing is left of one that cannot be written.

    ValueError for an answer with which the file could not be read any more: it stays as it was.
    """
    if not file.parent.is_dir():
        raise ValueError(f"there is no folder {file.parent}; make it, or let GPUGRAD_PROGRESS name another")
    with _alone(file):
        every = read(file)
        entry = every.setdefault(exercise, {})
        tries = entry.get("tries")
        entry["tries"] = tries + 1 if isinstance(tries, int) else 1
        entry["answer"] = answer
        if right:
            entry["passed"] = answer
        text = json.dumps({"exercises": every}, indent=1, sort_keys=True).encode()
        if len(text) > LARGEST:
            raise ValueError(f"with this answer {file} would have {len(text):,} bytes; it may have {LARGEST:,}")
        write_whole(file, text)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Wait until no other notebook changes the file; the system ends the lock of a process that dies."""
    with file.with_name(f".{file.name}.lock").open("a") as lock:
        if sys.platform == "win32":
            import msvcrt

            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield
            finally:
                lock.seek(0)
                msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)  # closing the file gives it back
            yield


def table(known: dict[str, dict[str, Any]]) -> str:
    """All lessons, how many of their exercises are solved, and which are open."""
    width = max(len(lesson.title) for lesson in lessons())
    rows, solved_in_all, all_in_all = [], 0, 0
    for lesson in lessons():
        solved = [e.id for e in lesson.exercises if "passed" in known.get(e.id, {})]
        left = [e.id for e in lesson.exercises if e.id not in solved]
        solved_in_all, all_in_all = solved_in_all + len(solved), all_in_all + len(lesson.exercises)
        bar = "■" * len(solved) + "□" * len(left)
        count = f"{len(solved)} of {len(lesson.exercises)}"
        still = f"open: {', '.join(left)}" if solved and left else ""
        rows.append(f"{lesson.number}  {lesson.title:{width}}  {bar:8} {count:7} {still}".rstrip())
    return "\n".join([*rows, "", f"{solved_in_all} of {all_in_all} exercises are solved."])
