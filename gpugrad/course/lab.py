"""`gpugrad lab`: the lessons in a folder of your own, opened in JupyterLab.

The folder is a working copy: a lesson that you have changed stays yours when gpugrad is updated, one that you have not
is brought up to date.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..files import write_whole

RECORD = ".lessons.json"  # what each lesson looked like when it was copied
DEFAULTS = Path(__file__).parent / "jupyter"  # of JupyterLab's settings; what a student has chosen goes before them


def shipped() -> Path:
    """The folder with the lessons: within an installed package, or beside it in a clone."""
    inside = Path(__file__).parent / "notebooks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "notebooks"


def copy_lessons(source: Path, folder: Path) -> list[str]:
    """Bring the lessons into a working folder; gives a line for each one that was kept back or brought up to date.

    Stopped at any moment, it leaves whole lessons, and a record of them.
    """
    lessons = sorted(source.glob("*.ipynb"))
    if not lessons:
        raise FileNotFoundError(f"there are no lessons in {source}; install gpugrad again")
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / RECORD
    copied = _copied(record)
    try:
        return list(filter(None, (_bring(lesson, folder / lesson.name, copied) for lesson in lessons)))
    finally:
        write_whole(record, json.dumps(copied, indent=1, sort_keys=True).encode())


def _bring(lesson: Path, own: Path, copied: dict[str, str]) -> str:
    """Bring one lesson; gives the line about it, or ""."""
    if own.exists() and not own.is_file():
        return f"{own} is a folder, a pipe or a device; move it away to get the lesson."
    new, mine = contents(lesson), contents(own) if own.exists() else None
    if mine is None or (mine != new and mine == copied.get(lesson.name)):
        write_whole(own, lesson.read_bytes())
        copied[lesson.name] = new
        return "" if mine is None else f"{lesson.name} was brought up to date."
    if mine == new:
        copied[lesson.name] = new
    elif new != copied.get(lesson.name):
        return f"{lesson.name} has a newer version. Yours is kept; rename it to get the new one beside it."
    return ""


def _copied(record: Path) -> dict[str, str]:
    """What each lesson looked like when it was copied; a record that is broken knows none, and changed ones stay."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def contents(notebook: Path) -> str:
    """A fingerprint of what a notebook's cells say; running them changes their output, but not this."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts = [(c["cell_type"], "".join(c["source"])) for c in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        texts = [("broken", notebook.read_text(encoding="utf-8", errors="replace"))]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def with_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which JupyterLab does not ask, over the first lesson, whether you would like to get news."""
    searched = [environment.get("JUPYTER_CONFIG_PATH", ""), str(DEFAULTS)]
    return {**environment, "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, searched))}


def open_lab(folder: Path, options: Sequence[str], only_copy: bool = False) -> int:
    """Copy the lessons to `folder` and open JupyterLab with `options`, on the first lesson if they name no notebook.

    Gives its exit status.
    """
    if not only_copy and importlib.util.find_spec("jupyterlab") is None:
        raise ValueError("JupyterLab is not installed; install it with: pip install 'gpugrad[lab]'")
    try:
        told = copy_lessons(shipped(), folder)
    except OSError as error:
        if error.errno is None:
            raise  # a sentence of our own
        why = f"{error.strerror}: {error.filename}"
        raise ValueError(f"the lessons cannot be written to {folder} ({why}); name a folder with --folder") from None
    for line in told:
        print(line)
    print(f"The lessons are in {folder.absolute()}. What you change there stays yours.")
    if only_copy:
        return 0
    options = [_seen_from(folder, option) for option in options]
    if not any(option.endswith(".ipynb") for option in options):
        options = [min(p.name for p in shipped().glob("*.ipynb")), *options]
    status = _jupyterlab(options, folder)
    if status and "--allow-root" not in options and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("JupyterLab runs as root, as in a container, only where it is told to: gpugrad lab --allow-root")
    return status


def _seen_from(folder: Path, option: str) -> str:
    """A notebook of the folder by its name alone, as JupyterLab starts there; a shell completes its path from here."""
    path = Path(option)
    return path.name if path.suffix == ".ipynb" and path.absolute().parent == folder.absolute() else option


@contextlib.contextmanager
def _sigterm_reaches(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """For the block, what asks this process to end asks the child, which would go on alone."""
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _jupyterlab(arguments: Sequence[str], folder: Path) -> int:
    """Run JupyterLab in a folder until it ends.

    A terminal's Ctrl-C reaches it, too: it asks, and ends its kernels in order. To leave it then would kill it in the
    middle of that. Where there is no terminal, nobody is asked, and it may not have been reached. A SIGTERM ends both.
    """
    command = [sys.executable, "-m", "jupyterlab", *arguments]
    with subprocess.Popen(command, cwd=folder, env=with_defaults(os.environ)) as lab, _sigterm_reaches(lab):
        while True:
            try:
                return lab.wait()
            except KeyboardInterrupt:
                if sys.stdin is None or not sys.stdin.isatty():
                    lab.terminate()
