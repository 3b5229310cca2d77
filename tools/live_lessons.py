"""Run the lessons for the site, and store them with their figures alive: docs/lessons.

    python tools/live_lessons.py [NOTEBOOK ...]

Without names: the lessons whose page is older than they or the package are. The stored pages need no kernel and no
network: what a figure's options show has been computed, and options that need the device say so.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

from gpugrad.files import write_whole
from gpugrad.viz.page import style
from notebooks import FOLDER, ROOT, apart, run

PAGES = ROOT / "docs" / "lessons"

# Run before a lesson: a figure that is shown leaves a mark on the page. It is written when the lesson has ended, as it
# stands then: a widget in a notebook, too, shows what has become of it, wherever it was shown.
BEFORE = """
from gpugrad.viz.figure import Figure as _Figure

_shown = []

def _mark(self, **options):
    if self not in _shown:
        _shown.append(self)
    return {"text/html": f"<!-- figure {_shown.index(self)} -->", "text/plain": repr(self)}, {}

_Figure._repr_mimebundle_ = _mark
"""
# Then they go through a file: an output of megabytes is slow to collect.
AFTER = """
import json as _json
from pathlib import Path as _Path

_Path({path!r}).write_text(_json.dumps([figure.fragment(f"figure-{{k}}") for k, figure in enumerate(_shown)]))
"""


def alive(lesson: nbformat.NotebookNode, folder: Path) -> None:
    """Run a lesson's cells in that folder, and put its figures, alive, into its outputs."""
    cells = lesson.cells
    with tempfile.TemporaryDirectory() as place:
        written = Path(place) / "figures.json"
        before, after = (nbformat.v4.new_code_cell(t) for t in (BEFORE, AFTER.format(path=str(written))))
        lesson.cells = [before, *cells, after]
        run(lesson, folder)
        figures = json.loads(written.read_text())
    lesson.cells = cells
    if figures:
        figures[0] = f"<style>{style()}</style>\n{figures[0]}"
    left = {f"<!-- figure {k} -->": k for k in range(len(figures))}
    for output in (o for cell in cells for o in cell.get("outputs", [])):
        mark = output.get("data", {}).get("text/html", "")
        if mark in left:
            k = left[mark]
            output.data["text/html"] = figures[k]
            figures[k] = f'<p>The figure <a href="#figure-{k}">above</a>.</p>'  # where it is shown once more


def write(path: Path) -> None:
    lesson = nbformat.read(path, as_version=4)
    alive(lesson, path.parent)
    lesson.metadata.language_info["pygments_lexer"] = "ipython3"  # a cell with a kernel is no Python
    write_whole(PAGES / path.name, nbformat.writes(lesson).encode())
    print(f"{path.name} ran for its page", flush=True)


def out_of_date(paths: list[Path]) -> list[Path]:
    """Those whose page is missing, or older than they or what they run on."""
    package = [p for p in (ROOT / "gpugrad").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    newest = max(p.stat().st_mtime for p in [*package, *Path(__file__).parent.glob("*.py")])

    def late(path: Path) -> bool:
        page = PAGES / path.name
        return not page.exists() or page.stat().st_mtime < max(newest, path.stat().st_mtime)

    return [path for path in paths if late(path)]


def main(names: list[str]) -> None:
    PAGES.mkdir(exist_ok=True)
    lessons = sorted(FOLDER.glob("*.ipynb"))
    for page in PAGES.glob("*.ipynb"):
        if page.name not in [path.name for path in lessons]:
            page.unlink()
    with apart(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, [Path(name) for name in names] or out_of_date(lessons)))


if __name__ == "__main__":
    main(sys.argv[1:])
