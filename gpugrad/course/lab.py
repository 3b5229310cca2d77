"""`gpugrad lab`: the lessons in a folder of your own, opened in JupyterLab.

The folder is a working copy: a lesson that you have changed stays yours when gpugrad is updated, one that you have not
is brought up to date.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

RECORD = ".lessons.json"  # what each lesson looked like when it was copied
DEFAULTS = Path(__file__).parent / "jupyter"  # of JupyterLab's settings; what a student has chosen goes before them


def shipped() -> Path:
    """The folder with the lessons: within an installed package, or beside it in a clone."""
    inside = Path(__file__).parent / "notebooks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "notebooks"


def copy_lessons(source: Path, folder: Path) -> list[str]:
    """Bring the lessons into a working folder; gives a line for each one that was kept back or brought up to date."""
    lessons = sorted(source.glob("*.ipynb"))
    if not lessons:
        raise FileNotFoundError(f"there are no lessons in {source}; install gpugrad again")
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / RECORD
    copied = _copied(record)
    said = []
    for lesson in lessons:
        own, new = folder / lesson.name, contents(lesson)
        if own.exists() and contents(own) == new:
            copied[lesson.name] = new
        elif not own.exists() or contents(own) == copied.get(lesson.name):
            if own.exists():
                said.append(f"{lesson.name} was brought up to date.")
            shutil.copyfile(lesson, own)
            copied[lesson.name] = new
        elif new != copied.get(lesson.name):
            said.append(f"{lesson.name} has a newer version. Yours is kept; rename it to get the new one beside it.")
    record.write_text(json.dumps(copied, indent=1, sort_keys=True), encoding="utf-8")
    return said


def _copied(record: Path) -> dict[str, str]:
    """What each lesson looked like when it was copied; a record that is broken knows none, and changed ones stay."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def contents(notebook: Path) -> str:
    """A fingerprint of what a notebook's cells say; running them changes their output, but not this."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts = [(c["cell_type"], "".join(c["source"])) for c in cells]
    except (ValueError, KeyError, TypeError):
        texts = [("broken", notebook.read_text(encoding="utf-8", errors="replace"))]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def with_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which JupyterLab does not ask, over the first lesson, whether you would like to get news."""
    searched = [environment.get("JUPYTER_CONFIG_PATH", ""), str(DEFAULTS)]
    return {**environment, "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, searched))}


def open_lab(folder: Path, options: Sequence[str], only_copy: bool = False) -> int:
    """Copy the lessons to `folder` and open JupyterLab on the first one, with `options`. Gives its exit status."""
    if not only_copy and importlib.util.find_spec("jupyterlab") is None:
        raise ValueError("JupyterLab is not installed; install it with: pip install 'gpugrad[lab]'")
    for line in copy_lessons(shipped(), folder):
        print(line)
    print(f"The lessons are in {folder}. What you change there stays yours.")
    if only_copy:
        return 0
    first = min(p.name for p in folder.glob("*.ipynb"))
    command = [sys.executable, "-m", "jupyterlab", first, *options]
    status = subprocess.run(command, cwd=folder, env=with_defaults(os.environ), check=False).returncode
    if status and "--allow-root" not in options and hasattr(os, "geteuid") and os.geteuid() == 0:
        print("JupyterLab runs as root, as in a container, only where it is told to: gpugrad lab --allow-root")
    return status
