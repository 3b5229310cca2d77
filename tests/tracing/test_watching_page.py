"""docs/watching.md shows what really comes out."""

import re
from pathlib import Path

from tracing.test_trace_sanitizer import CASES

PAGE = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")


def test_each_piece_of_code_prints_what_stands_below_it(capsys):
    pieces = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.S)
    assert len(pieces) == 5 == PAGE.count("```python")
    names: dict = {}
    for code, printed in pieces:
        exec(code, names)
        assert capsys.readouterr().out == printed


def test_the_score_is_of_the_kernels_that_there_are():
    rows = re.findall(r"^\| ([a-z -]+) \| (\d+) \|", PAGE, re.M)
    assert len(rows) == 9
    for kind, n in rows:
        kind = "ok" if kind == "none" else kind
        assert sum(kind in c.kind.split(" + ") for c in CASES.values()) == int(n), kind
