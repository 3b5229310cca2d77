"""`gpugrad grade FOLDER`: a class's notebooks run one after another, and their answers checked again.

A notebook runs in a process of its own, with a home folder of its own and limits on time and memory. What it prints
counts for nothing: the answers that it gave to `course.check` are taken from its file of progress. Each is checked in a
further process, in a new folder that holds this answer alone, after what the notebook started has been ended. That
keeps mistakes and endless loops apart, not malice: a kernel is machine code, and Python can change its own check. Grade
work that you do not trust in a container.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import write_whole
from . import progress
from .catalog import exercise, lessons

OPEN, RIGHT, WRONG = "open", "right", "wrong"
LAST = 4096  # bytes of what a step printed: its last line says why it failed


@dataclass(frozen=True)
class Limits:
    """For a notebook, and for each of its answers: seconds on the clock, and gigabytes of address space.

    A compiler wants several gigabytes.
    """

    seconds: int = 600
    gigabytes: int = 16


@dataclass
class Graded:
    """One notebook: whose, what became of each exercise (result, what was said), and why it stopped, if it did."""

    student: str
    notebook: str
    results: dict[str, tuple[str, str]] = field(default_factory=dict)
    trouble: str = ""


def grade(folder: Path, limits: Limits, table: Path, say: Any = print) -> list[Graded]:
    """Grade every notebook below a folder, and write the table after each of them.

    A student is the folder that a notebook lies in, else the notebook's own name. A notebook that cannot be graded is
    told so in its line, and the next one is graded.
    """
    if os.name == "nt":
        raise ValueError("limits on time and memory need Linux or macOS; on Windows use WSL")
    for name in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            raise ValueError(f"running notebooks needs {name}; install it with: pip install 'gpugrad[lab]'")
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; give a folder with one folder for each student")
    notebooks = sorted(p for p in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
    if not notebooks:
        raise ValueError(f"there is no notebook in {folder}; give a folder with one folder for each student")
    graded: list[Graded] = []
    write_table(graded, table)
    with _stopped_in_order():
        for path in notebooks:
            inside = path.parent.relative_to(folder)
            student = str(inside) if inside.parts else path.stem
            try:
                one = grade_notebook(path, student, limits)
            except Exception as error:  # whatever one submission brings about, the class is graded
                one = Graded(student, path.name, trouble=f"not graded: {type(error).__name__}: {error}")
            right = sum(result == RIGHT for result, _ in one.results.values())
            trouble = f"; {one.trouble}" if one.trouble else ""
            say(f"{student}, {path.name}: {right} of {len(one.results)} right{trouble}")
            graded.append(one)
            write_table(graded, table)
    return graded


@contextlib.contextmanager
def _stopped_in_order() -> Iterator[None]:
    """Let `kill` and a terminal that is closed stop the block as Ctrl-C does: what it has started is ended, too."""

    def stop(*_: Any) -> None:
        for s in signals:  # a terminal that is closed may say so twice; the second would break off the ending
            signal.signal(s, signal.SIG_IGN)
        raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()  # Python hands signals to no other
    signals = [s for s in (signal.SIGTERM, signal.SIGHUP) if mine and signal.getsignal(s) is signal.SIG_DFL]
    for s in signals:
        signal.signal(s, stop)
    try:
        yield
    finally:
        for s in signals:
            signal.signal(s, signal.SIG_DFL)


def grade_notebook(path: Path, student: str, limits: Limits) -> Graded:
    """Run one notebook, then check the answers that it gave."""
    if not path.is_file():
        raise ValueError("it is a folder, a pipe or a device")
    graded = Graded(student, path.name)
    with _new_folder() as name:
        work = Path(name)
        shutil.copyfile(path, work / "notebook.ipynb")
        graded.trouble = _limited("run", work, limits)
        known = _answers(work / progress.NAME)
    for number in _asked(path, known):
        graded.results[number] = _checked(number, known[number]["answer"], limits) if number in known else (OPEN, "")
    return graded


def _new_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gpugrad-grade-")


def _answers(file: Path) -> dict[str, dict[str, Any]]:
    """What the notebook answered; a file that it has broken holds no answers."""
    try:
        known = progress.parsed(progress.text(file, follow=False))
    except (ValueError, OSError):
        return {}
    return {n: e for n, e in known.items() if "answer" in e}


def _checked(number: str, answer: Any, limits: Limits) -> tuple[str, str]:
    """Check one answer in a process and a folder of its own: neither the notebook nor another answer was there."""
    with _new_folder() as name:
        work = Path(name)
        (work / "answer.json").write_text(json.dumps([number, answer]))
        trouble = _limited("check", work, limits)
        try:
            right, said = json.loads(progress.text(work / "verdict.json", follow=False))
        except (ValueError, TypeError, OSError, RecursionError):
            return WRONG, trouble or "the check did not finish"
    return (RIGHT if right is True else WRONG), str(said)


def _asked(path: Path, known: dict[str, Any]) -> list[str]:
    """The exercises of the lessons that a notebook is about: by its name, and by what it answered."""
    about = [x for x in lessons() if path.stem.startswith(x.number) or any(e.id in known for e in x.exercises)]
    return [e.id for lesson in about for e in lesson.exercises]


def _limited(step: str, work: Path, limits: Limits) -> str:
    """Run a step of sandbox.py on a folder. Gives a sentence if it did not end well, else "".

    Python looks for modules in the folder where it is started: that is one in which nothing lies.
    """
    home, empty = work / "home", work / "empty"
    home.mkdir()
    empty.mkdir()
    kept = {
        k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "LANG", "OCL_ICD_VENDORS", "LD_LIBRARY_PATH")
    }
    environment = {**kept, "HOME": str(home), "TMPDIR": str(home), "GPUGRAD_PROGRESS": str(work), "MPLBACKEND": "Agg",
                   "GPUGRAD_DEVICE": os.environ.get("GPUGRAD_DEVICE", "cpu")}  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "gpugrad.course.sandbox",
        step,
        str(work),
        str(limits.seconds),
        str(limits.gigabytes),
    ]
    with (work / f"{step}.log").open("w+b") as log:
        process = subprocess.Popen(command, cwd=empty, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            status = process.wait(limits.seconds + 5)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process, work)
        # Read from the file that was opened: by now another thing may have its name.
        log.seek(max(0, log.seek(0, os.SEEK_END) - LAST))
        lines = log.read(LAST).decode("utf-8", "replace").strip().splitlines()
        lines = [line for line in lines if not line.startswith("[IPKernelApp]")]  # Jupyter's own remarks
    if status is None:
        return f"stopped after {limits.seconds} seconds"
    if status == 0:
        return ""
    ended = f"ended by signal {signal.Signals(-status).name}" if status < 0 else "failed"
    return f"{ended}: {lines[-1]}" if lines else ended


def _end(process: subprocess.Popen[bytes], work: Path) -> None:
    """End a process and whatever it has started.

    Jupyter's kernels leave the process group. On Linux they and their children are known by their environment, which
    names the folder; elsewhere Jupyter's own watch on its parent has to do.
    """
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for _ in range(10):  # a process may start another one while it is being ended
        left = _started_in(work)
        for blow in (signal.SIGSTOP, signal.SIGKILL):  # so that none starts others while the rest are ended
            for pid in left:
                try:
                    os.kill(pid, blow)
                except ProcessLookupError:
                    pass
        if not left:
            return
        time.sleep(0.05)


def _started_in(work: Path) -> list[int]:
    """The processes whose environment names the folder as the place of progress."""
    mark, found = f"GPUGRAD_PROGRESS={work}".encode(), []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
        except OSError:
            pass  # another user's, or gone
    return found


def write_table(graded: list[Graded], path: Path) -> None:
    """A CSV file with a line for each exercise of each notebook; it is whole at any moment."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(["student", "notebook", "exercise", "title", "result", "said", "trouble"])
    for one in graded:
        for number, (result, said) in one.results.items():
            title = exercise(number).title
            rows.writerow([one.student, one.notebook, number, title, result, _in_one_line(said), one.trouble])
        if not one.results:
            rows.writerow([one.student, one.notebook, "", "", "", "", one.trouble or "no exercise of the course in it"])
    try:
        write_whole(path, text.getvalue().encode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).removeprefix("save: ")
        raise ValueError(f"the table cannot be written to {path} ({why}); name another file with --table") from None


def _in_one_line(said: str) -> str:
    """The first line of a verdict; with the next one, where the first only announces it, as of a compiler's message."""
    first, _, rest = said.partition("\n")
    second = rest.partition("\n")[0].strip()
    return f"{first} {second}" if first.endswith(":") and second else first


def summary(graded: list[Graded]) -> str:
    """A line for each student, a column for each lesson: how many exercises are right, in any notebook of it."""
    numbers = sorted({number[:2] for one in graded for number in one.results})
    students = sorted({one.student for one in graded})
    width = max([len("student"), *(len(s) for s in students)])
    lines = [f"{'student':{width}}  " + "  ".join(f"{n:>5}" for n in numbers)]
    for student in students:
        every = [(n, r) for one in graded if one.student == student for n, (r, _) in one.results.items()]
        results = {n: RIGHT if (n, RIGHT) in every else r for n, r in every}
        cells = []
        for number in numbers:
            mine = [r for n, r in results.items() if n.startswith(number)]
            cells.append(f"{sum(r == RIGHT for r in mine)}/{len(mine)}" if mine else "-")
        lines.append(f"{student:{width}}  " + "  ".join(f"{c:>5}" for c in cells))
    return "\n".join(lines)
