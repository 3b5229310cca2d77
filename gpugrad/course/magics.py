"""The cell magics `%%kernel` and `%%answer`, so that a kernel is written in a cell as plain OpenCL C."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..words import folded


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
    if name.isidentifier():
        try:
            shell.user_ns[name] = kernel(cell, name)
        except (GpugradError, ValueError) as error:
            print(folded(str(error)))  # the sentences say all; a traceback of our own code only hides them
    elif name:
        _asked(name)
        check(name, cell)
    else:
        _refuse("%%kernel stands alone; write the kernel's name behind it, or an exercise, as in %%kernel 02.3")


def answer_cell(shell: Any, line: str, cell: str) -> None:
    """`%%answer 09.4`: the Python text below is the answer to an exercise; its names are also yours to play with."""
    from . import check
    from .python_exercise import PythonExercise

    number = line.strip()
    if not number:
        _refuse("%%answer stands alone; write an exercise behind it, as in %%answer 09.4")
    asked = _asked(number)
    if isinstance(asked, PythonExercise) and not asked.is_open(cell):
        ran = shell.run_cell(cell)
        if isinstance(ran.error_in_exec, KeyboardInterrupt):  # the check would run it once more
            print(f"{number} was not checked, as you stopped it.")
            return
    check(number, cell)


def _asked(number: str) -> Any:
    """The exercise that the text of a cell answers."""
    from .catalog import exercise
    from .spec import Prediction

    try:
        asked = exercise(number)
    except ValueError as error:
        _refuse(str(error))
    if isinstance(asked, Prediction):
        _refuse(f'the answer to {number} is no text; give it in a plain cell, by course.check("{number}", ...)')
    return asked


def _refuse(said: str) -> NoReturn:
    """An error that Jupyter shows as a sentence, without a traceback."""
    from IPython.core.error import UsageError

    raise UsageError(folded(said)) from None
