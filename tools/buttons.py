"""Write the buttons that open the lessons on Binder and on Colab, once the repository has an address on GitHub.

    python tools/buttons.py https://github.com/OWNER/gpugrad

The address goes into pyproject.toml, under [project.urls]; from then on the command needs no argument. It writes the
buttons into README.md and lesson 00, and the lessons for Colab into colab/: there each notebook has a computer of its
own, so each begins with a cell that installs gpugrad (colab_cell.py). Binder reads environment.yml.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import nbformat

from gpugrad.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- buttons: made by tools/buttons.py -->", "<!-- end of the buttons -->"
FIRST = "00_first_kernel.ipynb"
NO_ADDRESS = "https://github.com/OWNER/gpugrad"


def buttons(address: str) -> str:
    """The two buttons, in Markdown."""
    project = address.removeprefix("https://github.com/")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?urlpath=lab/tree/notebooks/{FIRST}"
    colab = f"https://colab.research.google.com/github/{project}/blob/HEAD/colab/{FIRST}"
    return (
        f"[![Open the lessons on Binder](https://mybinder.org/badge_logo.svg)]({binder})\n"
        f"[![Open the lessons on Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})"
    )


def with_buttons(text: str, address: str) -> str:
    """A text with what stands between its two marks written anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{buttons(address)}\n{END}{rest.split(END)[1]}"


def known(pyproject: str) -> str | None:
    """The address in pyproject.toml."""
    found = re.search(r'^\[project\.urls\]\nRepository = "(.*)"$', pyproject, re.MULTILINE)
    return found[1] if found else None


def with_address(pyproject: str, address: str) -> str:
    """pyproject.toml with the address."""
    line = f'[project.urls]\nRepository = "{address}"'
    if known(pyproject):
        return re.sub(r"^\[project\.urls\]\nRepository = .*$", line, pyproject, flags=re.MULTILINE)
    return pyproject.replace("[project.scripts]", f"{line}\n\n[project.scripts]", 1)


def for_colab(lesson: nbformat.NotebookNode, address: str) -> nbformat.NotebookNode:
    """A lesson with the cell that installs gpugrad, and without the output of the run that it was stored with."""
    cell = (ROOT / "tools" / "colab_cell.py").read_text(encoding="utf-8").replace(NO_ADDRESS, address).rstrip()
    lesson.cells.insert(0, nbformat.v4.new_code_cell(cell, id="install"))
    for each in lesson.cells:
        if each.cell_type == "code":
            each.outputs, each.execution_count = [], None
        each.source = re.sub(rf"{BEGIN}.*?{END}\n*", "", each.source, flags=re.DOTALL)
    return lesson


def write(root: Path, address: str) -> None:
    """Write everything that holds the address."""
    for name, change in (("pyproject.toml", with_address), ("README.md", with_buttons)):
        path = root / name
        write_whole(path, change(path.read_text(encoding="utf-8"), address).encode())
    first = root / "notebooks" / FIRST
    notebook = nbformat.read(first, as_version=4)
    notebook.cells[0].source = with_buttons(notebook.cells[0].source, address)
    write_whole(first, nbformat.writes(notebook).encode() + b"\n")
    folder = root / "colab"
    folder.mkdir(exist_ok=True)
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        nbformat.write(for_colab(nbformat.read(path, as_version=4), address), folder / path.name)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("buttons.py", description="Write the buttons for Binder and Colab.")
    parser.add_argument("address", nargs="?", help=f"of the repository, such as {NO_ADDRESS}; default: the known one")
    given = parser.parse_args(arguments).address
    address = given or known((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if address is None:
        parser.error("no address is known yet; give it")
    address = address.rstrip("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", address) or address == NO_ADDRESS:
        parser.error(f"{address} is not the address of a repository on GitHub, and Colab opens nothing else")
    write(ROOT, address)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
