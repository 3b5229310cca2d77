"""Run the lessons again and store their output, the same bytes each time but for cells tagged `measured`.

    python tools/notebooks.py [NOTEBOOK ...]

Without names: every notebook. It runs them on PoCL, from a fresh kernel each, and stops at the first error. It also
writes the map of all lessons into the pages that hold one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

from gpugrad.course import lessons
from gpugrad.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
MAPS = {"README.md": "notebooks/", "notebooks/00_first_kernel.ipynb": ""}  # page: where its links to lessons lead
BEGIN, END = "<!-- map of the lessons: made by tools/notebooks.py -->", "<!-- end of the map -->"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run a notebook's cells, in a kernel of its own that works in that folder; it ends at the first error."""
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False, store_widget_state=False,
        coalesce_streams=True, resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],  # a kernel warns in the terminal that its own ports are not encrypted
    ).execute()  # fmt: skip


def execute(path: Path) -> None:
    """Run a notebook and write it back with what it showed."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "tags"})
    run(notebook, path.parent)
    notebook.metadata = nbformat.from_dict(METADATA)  # running has added the interpreter's version
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)  # it holds an id that is new in each run
    write_notebook(notebook, path)


def write_notebook(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook whole, or leave the one that is there: it may hold a day's work."""
    write_whole(path, nbformat.writes(notebook).encode() + b"\n")


def map_of_lessons(prefix: str) -> str:
    """A table with a line for each lesson; `prefix` leads to the folder of notebooks."""
    rows = []
    for x in lessons():
        link = f"[{x.title}]({prefix}{x.notebook}.ipynb)"
        rows.append(f"| {x.number} | {link} | {x.question} | {x.minutes} min | {len(x.exercises)} |")
    head = "| | lesson | the question | time, without exercises | exercises |"
    return "\n".join([head, "| --- | --- | --- | --- | --- |", *rows])


def with_map(text: str, prefix: str) -> str:
    """A text with the map between its two marks brought up to date."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{map_of_lessons(prefix)}\n\n{END}{rest.split(END)[1]}"


def write_maps() -> None:
    for name, prefix in MAPS.items():
        path = ROOT / name
        if path.suffix == ".ipynb":
            notebook = nbformat.read(path, as_version=4)
            for cell in notebook.cells:
                if BEGIN in cell.source:
                    cell.source = with_map(cell.source, prefix)
            write_notebook(notebook, path)
        else:
            write_whole(path, with_map(path.read_text(encoding="utf-8"), prefix).encode())


@contextmanager
def apart() -> Iterator[None]:
    """Kernels that start in here run on PoCL, and neither read nor change your own progress."""
    with tempfile.TemporaryDirectory() as f, patch.dict(os.environ, GPUGRAD_DEVICE="pocl", GPUGRAD_PROGRESS=f):
        yield


def main(names: list[str]) -> None:
    for path in [Path(n) for n in names] or sorted(FOLDER.glob("*.ipynb")):
        print(path.name, flush=True)
        with apart():
            execute(path)
    write_maps()


if __name__ == "__main__":
    main(sys.argv[1:])
