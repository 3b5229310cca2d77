"""The command line: `gpugrad train`, `doctor` and `bench`, and for the course `lab`, `course` and `grade`.

Each command imports what it needs when it runs, so that `gpugrad doctor` works where OpenCL does not.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .errors import GpugradError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Gives the exit status: 0, 1 failed and said why, 2 wrong usage, 130 Ctrl-C, 141 no more reader."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    unknown = [word for word in unknown if word != "--"]
    if options.command == "lab" and not options.only_copy:
        options.options = unknown  # JupyterLab's
    elif unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no such letter shows a ? for it
    try:
        status = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()  # or Python does, after this, and complains in its own words
        return status
    except BrokenPipeError:  # of `gpugrad bench | head`, say: what else there was to print goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (GpugradError, ValueError, OSError) as error:
        print(f"gpugrad {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ngpugrad {options.command}: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("gpugrad", description="Learn how deep learning runs on a GPU.")
    parser.add_argument("--version", action="version", version=f"gpugrad {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    about = "train the course's network on MNIST; write weights and pictures"
    train = commands.add_parser("train", help=about, description=f"{about[0].upper()}{about[1:]}.")
    train.add_argument("--data", metavar="WHICH", help="subset (the default: digits that ship with gpugrad), full, "
                       "auto, or a folder of idx files")  # fmt: skip
    train.add_argument("--epochs", type=int, metavar="N", help="how often to go through the digits (default: 5)")
    train.add_argument("--batch-size", type=int, metavar="N", help="digits in a step (default: 64)")
    train.add_argument("--lr", type=float, metavar="X", help="Adam's first learning rate (default: 0.002); it decays "
                       "linearly to 0")  # fmt: skip
    train.add_argument("--dtype", metavar="TYPE", help="float32 (the default), or float16: weights and activations in "
                       "half, with float32 copies of the weights in the optimiser")  # fmt: skip
    train.add_argument("--seed", type=int, metavar="N", help="of weights and order (default: 0)")
    train.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="where files go (default: out)")
    train.add_argument("--resume", action="store_true", help="go on from DIR/checkpoint.safetensors")
    train.add_argument("--device", metavar="WHICH", help="gpu, cpu, part of a name, or a number as doctor lists them")
    train.set_defaults(run=_train)

    about = "list the OpenCL devices, run a kernel on each, and name the command that mends what fails"
    doctor = commands.add_parser("doctor", help=about, description=f"{about[0].upper()}{about[1:]}.")
    doctor.set_defaults(run=_doctor)

    about = "time gpugrad beside NumPy and, where it is installed, PyTorch"
    bench = commands.add_parser("bench", help=about, description=f"{about[0].upper()}{about[1:]}.")
    bench.add_argument("section", nargs="*", help="what to time (default: everything); a wrong name lists them")
    bench.add_argument("--device", metavar="WHICH", help="gpu, cpu, part of a name, or a number as doctor lists them")
    bench.set_defaults(run=_bench)

    about = "open the lessons in JupyterLab, in a folder of your own"
    rest = "All else is JupyterLab's: gpugrad lab 05_im2col.ipynb --port 9000 --no-browser"
    lab = commands.add_parser("lab", help=about, description=f"{about[0].upper()}{about[1:]}.", epilog=rest)
    lab.add_argument("--folder", type=Path, default=Path("gpugrad-lessons"), metavar="DIR", help="where your copy of "
                     "the lessons lies (default: gpugrad-lessons)")  # fmt: skip
    lab.add_argument("--only-copy", action="store_true", help="copy the lessons and open nothing")
    lab.set_defaults(run=_lab, options=[])

    about = "show which exercises of the course are solved"
    course = commands.add_parser("course", help=about, description=f"{about[0].upper()}{about[1:]}.")
    course.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="where the notebooks lie (default: "
                        "gpugrad-lessons, or here)")  # fmt: skip
    course.set_defaults(run=_course)

    about = "run a class's notebooks and check their answers again; write a table"
    grade = commands.add_parser("grade", help=about, description=f"{about[0].upper()}{about[1:]}.")
    grade.add_argument("folder", type=Path, metavar="FOLDER", help="with a folder of notebooks for each student")
    grade.add_argument("--table", type=Path, default=Path("grades.csv"), metavar="FILE", help="where the table goes "
                       "(default: grades.csv)")  # fmt: skip
    grade.add_argument("--seconds", type=int, default=600, metavar="N", help="for one notebook (default: 600)")
    grade.add_argument("--gigabytes", type=int, default=16, metavar="N", help="of address space (default: 16)")
    grade.set_defaults(run=_grade)
    return parser


def _train(options: argparse.Namespace) -> int:
    from .train import Run, Settings, train

    _choose_device(options)
    names = ("data", "epochs", "batch_size", "lr", "seed", "dtype")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.resume:
        run = Run.resumed(options.out / "checkpoint.safetensors")
        for name, value in given.items():
            began = getattr(run.settings, name)
            if value != began:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(f"this run began with {option} {began}; --resume goes on so, leave {option} out")
        print(f"Going on after epoch {run.done} of {run.settings.epochs}.")
    else:
        run = Run(Settings(**given))
    try:
        train(run, options.out)
    except KeyboardInterrupt:
        if run.done:
            print(f"\nStopped after epoch {run.done}. Go on with: gpugrad train --resume --out {options.out}")
        raise
    return 0


def _bench(options: argparse.Namespace) -> int:
    from .bench import bench

    _choose_device(options)
    bench(options.section)
    return 0


def _choose_device(options: argparse.Namespace) -> None:
    from .device import use_device

    if options.device is not None:
        if not options.device.strip():  # as of a shell's variable that is not set
            raise ValueError("--device is empty; give gpu, cpu, part of a name, or a number of gpugrad doctor's")
        use_device(options.device)


def _lab(options: argparse.Namespace) -> int:
    from .course.lab import open_lab

    return open_lab(options.folder, options.options, options.only_copy)


def _course(options: argparse.Namespace) -> int:
    from .course import progress

    file = progress.found(options.folder)
    print(progress.table(progress.read(file)))
    if not file.exists():
        print(f"(There is no {file}: if your notebooks lie elsewhere, name their folder: gpugrad course DIR)")
    return 0


def _grade(options: argparse.Namespace) -> int:
    from .course import grade

    for name in ("seconds", "gigabytes"):
        if not 1 <= getattr(options, name) <= 1_000_000:  # beyond that, no system takes it for a limit
            raise ValueError(f"--{name} is {getattr(options, name)}; it may be 1 to 1,000,000")
    try:
        graded = grade.grade(options.folder, grade.Limits(options.seconds, options.gigabytes), options.table)
    except KeyboardInterrupt:
        print(f"\nWhat has been graded so far stands in {options.table}.")
        raise
    print(f"\n{grade.summary(graded)}\n\nEvery exercise stands in {options.table}.")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from . import doctor

    return doctor.main()


if __name__ == "__main__":
    sys.exit(main())
