"""The sanitizer's score on the labelled kernels, beside Oclgrind's: `python tests/tracing/score.py`.

A kernel of labelled.cl counts as found when a mistake of its kind is told, at its line where it has one; a correct one
as right when nothing is. Oclgrind gets the same kernels plain, in a process of its own: any report counts for it, as
it has no such kinds. It is not asked about endless loops, which it would run for ever.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # pytest does so for the tests

from tracing.test_trace_devices import ICD
from tracing.test_trace_sanitizer import CASES, TEXT, arguments, check

import gpugrad as gg
from gpugrad.trace.report import KINDS


def ours(case):
    """Is the kernel judged right?"""
    report = check(case)
    if case.kind == "ok":
        return report.ok
    lines = {s.line for f in report for s in f.sites}
    kinds = set(case.kind.split(" + "))
    return kinds <= {f.kind for f in report} and (not case.line or case.line in lines)


def run_plain(log):
    """In Oclgrind's process: runs every kernel and prints those that made it report."""
    device = gg.current_device()
    device.build_options = (*device.build_options, "-cl-opt-disable")  # or it cannot see what nobody wrote
    for case in CASES.values():
        if "endless loop" in case.kind:
            continue
        before = log.stat().st_size if log.exists() else 0
        kernel, args = gg.kernel(TEXT, case.name), list(arguments(case))
        kernel(*args, global_size=case.sizes[0], local_size=case.sizes[1], checked=False)
        device.queue.finish()
        print("reported" if log.exists() and log.stat().st_size > before else "silent", case.name, flush=True)


def oclgrinds():
    """-> {kernel: did Oclgrind report}, without those that it was not asked about or did not come back from."""
    folder = pathlib.Path(tempfile.mkdtemp())
    root = pathlib.Path(__file__).parents[2]
    env = {
        **os.environ, "OCL_ICD_VENDORS": str(ICD), "OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1",
        "OCLGRIND_LOG": str(folder / "log"), "OCLGRIND_MAX_ERRORS": "1000000",
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
    }  # fmt: skip
    command = [sys.executable, __file__, str(folder / "log")]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=1800)
    return {name: said == "reported" for said, name in map(str.split, done.stdout.splitlines())}


def main():
    theirs = oclgrinds() if ICD else {}
    print(f"{'kind':22} {'kernels':>7} {'gpugrad':>8} {'Oclgrind':>9}")
    for kind in (*KINDS, "ok"):
        cases = [c for c in CASES.values() if kind in c.kind.split(" + ")]
        seen = [theirs[c.name] == (kind != "ok") for c in cases if c.name in theirs]
        right = f"{sum(map(ours, cases))}/{len(cases)}"
        told = f"{sum(seen)}/{len(seen)}" if seen else "-"
        print(f"{'correct' if kind == 'ok' else kind:22} {len(cases):7} {right:>8} {told:>9}", flush=True)


if __name__ == "__main__":
    run_plain(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else main()
