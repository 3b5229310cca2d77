"""The cell magics `%%kernel` and `%%answer`, so that a kernel is written in a cell as plain OpenCL C."""

from __future__ import annotations

import sys
from typing import Any


def register() -> None:
    """Make the magics known, where this is IPython."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.register_magic_function(lambda line, cell: kernel_cell(shell, line, cell), "cell", "kernel")
        shell.register_magic_function(lambda line, cell: answer_cell(shell, line, cell), "cell", "answer")


def kernel_cell(shell: Any, line: str, cell: str) -> None:
    """`%%kernel 02.3`: the text below is the answer to an exercise. `%%kernel add`: it becomes the kernel `add`."""
    from ..custom import kernel
    from ..errors import GpugradError
    from . import check

    name = line.strip()
    if name[:1].isdigit():
        check(name, cell)
    elif not name.isidentifier():
        raise ValueError(f"%%kernel is followed by {name!r}; give the kernel's name, or an exercise such as 02.3")
    else:
        try:
            shell.user_ns[name] = kernel(cell, name)
        except (GpugradError, ValueError) as error:
            print(error)  # the sentences say all; a traceback of our own code only hides them


def answer_cell(shell: Any, line: str, cell: str) -> None:
    """`%%answer 09.2`: the Python text below is the answer to an exercise; its names are also yours to play with."""
    from . import check
    from .catalog import exercise

    number = line.strip()
    if not exercise(number).is_open(cell):
        shell.run_cell(cell)
    check(number, cell)
