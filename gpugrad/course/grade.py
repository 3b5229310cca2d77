"""`gpugrad grade FOLDER`: a class's notebooks run one after another, and their answers checked again.

A notebook runs in a process of its own, with a home folder of its own and limits on time and memory. What it prints
counts for nothing: the answers that it gave to `course.check` are taken from its file of progress, and checked in a
second process, which the notebook never touched. That keeps mistakes and endless loops apart, not malice: a kernel is
machine code. Grade work that you do not trust in a container.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import progress
from .catalog import exercise, lessons

OPEN, RIGHT, WRONG = "open", "right", "wrong"


@dataclass(frozen=True)
class Limits:
    """For one notebook: seconds on the clock, and gigabytes of address space (a compiler in it wants several)."""

    seconds: int = 600
    gigabytes: int = 16


@dataclass
class Graded:
    """One notebook: whose, what became of each exercise (result, what was said), and why it stopped, if it did."""

    student: str
    notebook: str
    results: dict[str, tuple[str, str]] = field(default_factory=dict)
    trouble: str = ""


def grade(folder: Path, limits: Limits, say: Any = print) -> list[Graded]:
    """Grade every notebook below a folder. A student is the folder that a notebook lies in, else its own name."""
    if os.name == "nt":
        raise ValueError("grade: limits on time and memory need Linux or macOS; on Windows use WSL")
    notebooks = sorted(p for p in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
    if not notebooks:
        raise ValueError(f"grade: there is no notebook in {folder}; give a folder with one folder for each student")
    graded = []
    for path in notebooks:
        inside = path.parent.relative_to(folder)
        student = str(inside) if inside.parts else path.stem
        one = grade_notebook(path, student, limits)
        right = sum(result == RIGHT for result, _ in one.results.values())
        say(f"{student}, {path.name}: {right} of {len(one.results)} right{'; ' + one.trouble if one.trouble else ''}")
        graded.append(one)
    return graded


def grade_notebook(path: Path, student: str, limits: Limits) -> Graded:
    """Run one notebook, then check the answers that it gave."""
    graded = Graded(student, path.name)
    with tempfile.TemporaryDirectory(prefix="gpugrad-grade-") as name:
        work = Path(name)
        shutil.copyfile(path, work / "notebook.ipynb")
        graded.trouble = _limited("run", work, limits)
        known = _answers(work / progress.NAME)
        asked = _asked(path, known)
        (work / "answers.json").write_text(json.dumps({n: known[n]["answer"] for n in asked if n in known}))
        trouble = _limited("check", work, limits)
        verdicts = _verdicts(work / "verdicts.json")
        for number in asked:
            if number in known:
                graded.results[number] = verdicts.get(number, (WRONG, trouble or "the check did not finish"))
            else:
                graded.results[number] = (OPEN, "")
    return graded


def _answers(file: Path) -> dict[str, dict[str, Any]]:
    """What the notebook answered; a file that it has broken holds no answers."""
    try:
        known = progress.read(file)
    except (ValueError, OSError):
        return {}
    return {n: e for n, e in known.items() if "answer" in e}


def _verdicts(file: Path) -> dict[str, tuple[str, str]]:
    if not file.exists():
        return {}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {number: (RIGHT if right else WRONG, text) for number, right, text in lines}


def _asked(path: Path, known: dict[str, Any]) -> list[str]:
    """The exercises of the lessons that a notebook is about: by its name, and by what it answered."""
    about = [x for x in lessons() if path.stem.startswith(x.number) or any(e.id in known for e in x.exercises)]
    return [e.id for lesson in about for e in lesson.exercises]


def _limited(step: str, work: Path, limits: Limits) -> str:
    """Run a step of sandbox.py in a process group of its own. Gives a sentence if it did not end well, else ""."""
    home = work / "home"
    home.mkdir(exist_ok=True)
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
    with (work / f"{step}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            status = process.wait(limits.seconds + 5)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(process)
    if status is None:
        return f"stopped after {limits.seconds} seconds"
    if status == 0:
        return ""
    lines = (work / f"{step}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    ended = f"ended by signal {signal.Signals(-status).name}" if status < 0 else "failed"
    return f"{ended}: {lines[-1]}" if lines else ended


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def write_table(graded: list[Graded], path: Path) -> None:
    """A CSV file with a line for each exercise of each notebook."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["student", "notebook", "exercise", "title", "result", "said", "trouble"])
        for one in graded:
            for number, (result, said) in one.results.items():
                first = said.split("\n")[0]
                rows.writerow([one.student, one.notebook, number, exercise(number).title, result, first, one.trouble])
            if not one.results:
                rows.writerow(
                    [one.student, one.notebook, "", "", "", "", one.trouble or "no exercise of the course in it"]
                )


def summary(graded: list[Graded]) -> str:
    """A line for each student, a column for each lesson: how many exercises are right."""
    numbers = sorted({number[:2] for one in graded for number in one.results})
    students = sorted({one.student for one in graded})
    width = max([len("student"), *(len(s) for s in students)])
    lines = [f"{'student':{width}}  " + "  ".join(f"{n:>5}" for n in numbers)]
    for student in students:
        results = {n: r for one in graded if one.student == student for n, (r, _) in one.results.items()}
        cells = []
        for number in numbers:
            mine = [r for n, r in results.items() if n.startswith(number)]
            cells.append(f"{sum(r == RIGHT for r in mine)}/{len(mine)}" if mine else "-")
        lines.append(f"{student:{width}}  " + "  ".join(f"{c:>5}" for c in cells))
    return "\n".join(lines)
