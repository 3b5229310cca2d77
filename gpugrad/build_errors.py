"""What a compiler said about a kernel, told at the author's own line with a caret, and what mends it."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator

from .slips import ALONE, slip

# clang (PoCL, Oclgrind, AMD, Intel, Apple): "input.cl:3:7: error: message", PoCL: "error: /tmp/x.cl:3:7: message";
# NVIDIA: "<kernel>:3:7: error: message". Of a built-in function PoCL says where its own macro stands, too.
_MESSAGE = re.compile(
    r"^(?:error: (?P<f1>[^\n]*?):(?P<l1>\d+):(?P<c1>\d+)(?: <Spelling=[^>\n]*>)?: (?P<m1>[^\n]*)"
    r"|(?P<f2>[^\n:]*):(?P<l2>\d+):(?P<c2>\d+): (?:fatal )?error: (?P<m2>[^\n]*))",
    re.MULTILINE,
)


def explain(log: str, source: str, skip: int = 0, file: str = "<your kernel>", caret: bool = True) -> str:
    """The build log `log` of `source` as sentences: each error with its line and a caret below the column.

    `skip` lines stood before the source when it was compiled; without `caret` its columns were others. A log of an
    unknown form is passed on whole.
    """
    lines = source.split("\n")
    told: list[str] = []
    mended: set[int] = set()  # lines whose slip has been named: what else the compiler says there follows from it
    named: set[str] = set()
    for match in _MESSAGE.finditer(log):
        line = int(match["l1"] or match["l2"]) - skip
        column = int(match["c1"] or match["c2"])
        message = (match["m1"] or match["m2"]).replace("'_cl_", "'")  # PoCL's names of built-in functions
        text = f"{file}, line {line}: {message}"
        if 1 <= line <= len(lines):
            text += f"\n    {lines[line - 1].replace(chr(9), ' ')}"
            if caret:
                before = lines[line - 1].encode()[: column - 1].decode(errors="ignore")  # compilers count bytes
                text += f"\n    {' ' * len(before)}^"
        if text in told or line in mended:
            continue
        told.append(text)
        name, remedy = slip(message, lines, line)
        if name:
            mended.add(line)
            if name not in named:
                told.append(remedy)
            named.add(name)
            if name == ALONE:
                break
    if not told:
        return f"{file} does not compile. The compiler says:\n{log.strip()}"
    return f"{file} does not compile:\n" + "\n".join(told)


_COUNT = re.compile(rb"^\d+ (?:warning|error)s?(?: and \d+ errors?)? generated\.\r?\n?$")


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Keep a compiler's "1 error generated." from stderr: PoCL's writes it there, and so into a notebook.

    Whatever else the process writes to stderr meanwhile comes there afterwards.
    """
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    try:
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(kept, 2)
                file.seek(0)
                for line in file:
                    if not _COUNT.match(line):
                        os.write(2, line)
    finally:
        os.close(kept)
