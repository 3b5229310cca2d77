"""The pages' pieces of Python run as they stand, one after another, in a folder of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDS_MORE = {
    "docs/platforms.md": "names a GPU that is not everywhere",
    "docs/watching.md": "is run, with what it prints, by tests/tracing/test_watching_page.py",
}


def pieces(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


PAGES = {str(p.relative_to(ROOT)): pieces(p) for p in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}


@pytest.mark.parametrize("page", [name for name, code in PAGES.items() if code and name not in NEEDS_MORE])
def test_the_code_of_a_page_runs_and_prints_what_stands_beside_it(page, tmp_path):
    code = "\n".join(PAGES[page])
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"^print\(.*?\) +# (.+)$", code, re.M)
    assert done.stdout.split("\n")[: len(printed)] == printed


def test_the_pages_that_are_left_out_have_code():
    assert all(PAGES[page] for page in NEEDS_MORE)
