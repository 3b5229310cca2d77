"""The command line: `gpugrad train`, `gpugrad doctor`.

Each command imports what it needs when it runs, so that `gpugrad doctor` works where OpenCL does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__
from .errors import GpugradError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0, 1 failed and said why, 2 wrong usage, 130 Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (GpugradError, ValueError) as error:
        print(f"gpugrad {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("gpugrad", description="Learn how deep learning runs on a GPU.")
    parser.add_argument("--version", action="version", version=f"gpugrad {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    doctor = commands.add_parser("doctor", help="try each OpenCL device, and name the fix for what fails")
    doctor.set_defaults(run=_doctor)
    return parser


def _doctor(options: argparse.Namespace) -> int:
    from . import doctor

    return doctor.main()


if __name__ == "__main__":
    sys.exit(main())
