"""What a compiler said about a kernel, told at the author's own line with a caret."""

from __future__ import annotations

import re

# clang (PoCL, Oclgrind, AMD, Intel, Apple): "input.cl:3:7: error: message", PoCL: "error: /tmp/x.cl:3:7: message";
# NVIDIA: "<kernel>:3:7: error: message".
_MESSAGE = re.compile(
    r"^(?:error: (?P<f1>[^\n]*?):(?P<l1>\d+):(?P<c1>\d+): (?P<m1>[^\n]*)"
    r"|(?P<f2>[^\n:]*):(?P<l2>\d+):(?P<c2>\d+): (?:fatal )?error: (?P<m2>[^\n]*))",
    re.MULTILINE,
)


def explain(log: str, source: str, skip: int = 0, file: str = "<your kernel>", caret: bool = True) -> str:
    """The build log `log` of `source` as sentences: each error with its line and a caret below the column.

    `skip` lines stood before the source when it was compiled; without `caret` its columns were others. A log of an
    unknown form is passed on whole.
    """
    lines = source.split("\n")
    told = []
    for match in _MESSAGE.finditer(log):
        line = int(match["l1"] or match["l2"]) - skip
        column = int(match["c1"] or match["c2"])
        text = f"{file}, line {line}: {match['m1'] or match['m2']}"
        if 1 <= line <= len(lines):
            text += f"\n    {lines[line - 1].replace(chr(9), ' ')}"
            if caret:
                text += f"\n    {' ' * (column - 1)}^"
        if text not in told:
            told.append(text)
    if not told:
        return f"{file} does not compile. The compiler says:\n{log.strip()}"
    return f"{file} does not compile:\n" + "\n".join(told)
