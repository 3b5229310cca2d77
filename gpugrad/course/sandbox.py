"""The steps of grading: run a notebook, check an answer. Each is a process of its own, started by grade.py with limits.

python -m gpugrad.course.sandbox run|check FOLDER SECONDS GIGABYTES
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

PROCESSES = 2048  # and threads: a server has hundreds of cores, and BLAS and PoCL a thread for each


def running() -> int:
    """How many threads this user runs, in all processes: the limit of Linux counts them together."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            count += len(os.listdir(folder / "task")) if folder.stat().st_uid == os.getuid() else 0
        except OSError:
            pass  # it has ended
    return count


def limit(seconds: int, gigabytes: int) -> None:
    """From now on this process, and what it starts, has so much processor time and address space, and small files."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (4 * seconds, 4 * seconds))  # several cores may work at once
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # processes that start processes come to an end (root has no such limit)
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        wanted = running() + PROCESSES
        wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))


def run(work: Path, seconds: int) -> int:
    """Run the notebook; cells that fail do not stop it, as the next exercise may be fine."""
    import nbformat
    from nbclient import NotebookClient

    try:
        notebook = nbformat.read(work / "notebook.ipynb", as_version=4)
    except Exception as error:  # whatever it makes of a file that is none
        first = str(error).partition("\n")[0]
        print(f"it is no notebook ({type(error).__name__}: {first})")
        return 1
    client = NotebookClient(
        notebook, timeout=seconds, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(work)}}
    )
    client.execute()
    return 0


def check(work: Path) -> int:
    """Check the one answer in the folder, and write the verdict beside it."""
    from .catalog import exercise

    number, answer = json.loads((work / "answer.json").read_text(encoding="utf-8"))
    verdict = exercise(number).examine(answer)
    (work / "verdict.json").write_text(json.dumps([verdict.right, verdict.text]), encoding="utf-8")
    return 0


def main(arguments: list[str]) -> int:
    step, work, seconds, gigabytes = arguments[0], Path(arguments[1]), int(arguments[2]), int(arguments[3])
    limit(seconds, gigabytes)
    return run(work, seconds) if step == "run" else check(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
