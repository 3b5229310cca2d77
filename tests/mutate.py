"""Plant one small mistake after another in the kernels (tests/mutants.py), and see the tests find each.

    python tests/mutate.py --sample 20 --seed 7     # twenty mutants, chosen by the seed
    python tests/mutate.py --file im2col.cl         # every mutant of one file
    python tests/mutate.py --list                   # only say which there are

First the family's tests run without a mutant, and each test's kernels and time are noted. Then each mutant meets the
tests that launch a kernel it stands in: those that found the last ones first, then the quick ones. One that all of
them overlook meets them again inside `with gg.sanitizer():`, which sees a missing barrier or a read past the end that
happened to do no harm. If nothing notices it, it survives, and the exit status is 1.

Starting Python, importing everything and waking a compiler take ten times as long as most tests. So they are done once,
and each run of tests is a fork of this process. Threads do not survive a fork, so PoCL runs as its device without any
("basic"); where other OpenCL drivers are installed too, no device is touched before a fork, and all this is slower.

Seconds that a test may take are the processor's: on a busy machine nothing hangs that is only slow.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import io
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

import pytest
from mutants import KERNELS, ROOT, Mutant, equivalents, mutants, tests_of

#: Processor seconds that one run of a file's tests, or of one mutant's, inside the sanitizer may take.
SANITIZED_BASELINE, SANITIZED_MUTANT = 240, 30

#: For pytest in a fork; what pyproject.toml adds may need plugins that are not loaded here.
OPTIONS = ["-q", "--tb=native", "-o", "addopts=--import-mode=importlib", "-m", "not deep"]
OPTIONS += ["-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "-p", "no:unraisableexception"]

KILLED, BY_SANITIZER, SURVIVED, INVALID = "killed", "by sanitizer", "survived", "does not compile"


@dataclass
class Test:
    """What one test did without a mutant."""

    seconds: float  # of the processor
    launched: set[tuple[str, str]]  # (file, kernel)
    passed: bool


@dataclass
class Run:
    """One run of tests in a fork, and what it has told so far."""

    tests: list[str]  # test files
    order: list[str] | None  # the tests to run, or None for all
    mutant: Mutant | None = None
    sanitized: bool = False
    limit: float = 600  # seconds for all of it
    patience: dict[str, float] = field(default_factory=dict)  # processor seconds for one test; else it hangs
    results: dict[str, Test] = field(default_factory=dict)
    now: str = ""  # the test that is running
    since: float = 0
    began: float = 0
    failure: str = ""  # of the first test that failed
    ended: bool = False  # in order, not by a crash

    def hear(self, message: tuple) -> None:
        kind, *rest = message
        self.since = time.monotonic()
        if kind == "start":
            self.now = rest[0]
        elif kind == "test":
            self.results[self.now] = Test(*rest)
        elif kind == "failure":
            self.failure = self.failure or rest[0]
        else:
            self.ended = True

    def overdue(self) -> bool:
        """Whether it waits for ever: a fork that computes for ever ends itself."""
        seconds = 10 * self.patience[self.now] if self.now in self.patience else self.limit
        return time.monotonic() > self.since + seconds

    def verdict(self) -> str:
        if self.failure:
            return INVALID if "KernelBuildError" in self.failure else KILLED
        return SURVIVED if self.ended else KILLED


class Watch:
    """The pytest plugin of a fork: it chooses and orders the tests, and sends what happens."""

    def __init__(self, run: Run, to: Connection):
        self.run, self.to, self.began = run, to, time.process_time()
        self.launched: set[tuple[str, str]] = set()
        self.passed = True

    def pytest_collection_modifyitems(self, items):
        if self.run.order is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[name] for name in self.run.order if name in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.to.send(("start", item.nodeid))
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.run.patience.get(item.nodeid, 0))  # ends this process; 0: never
        self.launched, self.passed = set(), True
        result = yield
        self.to.send(("test", time.process_time() - begin, self.launched, self.passed))
        if self.run.sanitized and time.process_time() > self.began + self.run.limit:
            item.session.shouldstop = "out of time"
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        if not self.run.sanitized:
            return (yield)
        with importlib.import_module("gpugrad").sanitizer():
            return (yield)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.passed = False
            self.to.send(("failure", report.longreprtext))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        self.to.send(("end",))
        os._exit(0)  # no waiting for garbage and for a driver's threads

    def pytest_collectreport(self, report):
        if report.failed:
            self.to.send(("failure", report.longreprtext))


def in_fork(run: Run, to: Connection) -> None:
    """The life of a fork: plant the mutant, run the tests."""
    from gpugrad import program

    os.setpgrp()  # so that what it starts (a compiler) can be ended with it
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    if run.mutant:
        file, changed = run.mutant.file, run.mutant.apply(program.source_text(run.mutant.file))
        original = program.source_text
        program.source_text = lambda name: changed if name == file else original(name)
    watch = Watch(run, to)
    program.on_launch(lambda launch: watch.launched.add((launch.kernel.file, launch.kernel.name)))
    try:
        pytest.main([*OPTIONS, *(["-x"] if run.mutant else []), *run.tests], plugins=[watch])
    except Exception:
        to.send(("failure", traceback.format_exc()))
    os._exit(1)


def import_everything(tests: set[str]) -> None:
    """All that the forks need, and nothing that touches a device: the tests are collected without conftest.py."""
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # looking for them takes seconds
    importlib.import_module("gpugrad.trace")
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*OPTIONS, "--noconftest", "--collect-only", *sorted(tests)])
    if importlib.import_module("gpugrad.device")._devices is not None:  # a fork would wait for its threads for ever
        raise SystemExit(f"one of {sorted(tests)} makes an array when it is imported; it must do so inside a test")


def wake_compiler() -> None:
    """Build some kernel, so that what a fork builds meets a compiler that is awake: if PoCL is all there is."""
    names = "import pyopencl as cl; print(*(p.name for p in cl.get_platforms()), sep='\\n')"
    found = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True).stdout
    if set(found.splitlines()) == {"Portable Computing Language"}:
        os.environ["POCL_DEVICES"] = "basic"
        gpugrad = importlib.import_module("gpugrad")
        gpugrad.zeros(1).numpy()
        for device in gpugrad.device.devices():
            device.kernels.clear()
            device.programs.clear()


def run_all(runs: Iterable[Run], jobs: int) -> Iterator[Run]:
    """Each run once it has ended, `jobs` at a time."""
    fork = multiprocessing.get_context("fork")
    waiting, running = iter(runs), {}
    try:
        while True:
            while len(running) < jobs and (run := next(waiting, None)):
                here, there = fork.Pipe(duplex=False)
                process = fork.Process(target=in_fork, args=(run, there))
                run.began = run.since = time.monotonic()
                process.start()
                there.close()
                running[here] = run, process
            if not running:
                return
            heard = wait(list(running), timeout=1)
            for here, (run, process) in list(running.items()):
                over = run.overdue()
                if here in heard and not over:
                    try:
                        run.hear(here.recv())
                        continue
                    except EOFError:
                        over = True
                if over:
                    end(process)
                    here.close()
                    del running[here]
                    yield run
    finally:  # whoever stops this stops the forks too
        for _, process in running.values():
            end(process)


def end(process: multiprocessing.process.BaseProcess) -> None:
    """End a fork, and what it started."""
    assert process.pid is not None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # it had no time to make its group
    process.join()


class Families:
    """The tests of each family without a mutant, and which of them find mutants."""

    def __init__(self, jobs: int):
        self.jobs = jobs
        self.known: dict[tuple[bool, str], dict[str, Test]] = {}  # (sanitized, test file) -> its tests
        self.kills: collections.Counter[tuple[str, str]] = collections.Counter()  # (kernel, test) -> mutants found

    def learn(self, files: set[str], sanitized: bool) -> None:
        """Run the tests of these kernel files, without a mutant."""
        met = {test for inside, test in self.known if inside == sanitized}
        wanted = sorted({test for file in files for test in tests_of(file)} - met)
        runs = []
        for test in wanted:
            order = None
            if sanitized:
                order = sorted(self.known[False, test], key=lambda name: self.known[False, test][name].seconds)
            runs.append(Run([test], order, sanitized=sanitized, limit=SANITIZED_BASELINE if sanitized else 1200))
        for run in run_all(runs, self.jobs):
            if not sanitized and run.verdict() != SURVIVED:
                raise SystemExit(f"the tests of {run.tests} fail without any mutant (at {run.now}):\n{run.failure}")
            self.known[sanitized, run.tests[0]] = {name: test for name, test in run.results.items() if test.passed}
            what = "inside the sanitizer" if sanitized else "without a mutant"
            seconds = time.monotonic() - run.began
            print(f"# {run.tests[0]}: {len(run.results)} tests {what} in {seconds:.0f} s", flush=True)

    def run_of(self, mutant: Mutant, sanitized: bool) -> Run:
        tests = {n: t for file in tests_of(mutant.file) for n, t in self.known[sanitized, file].items()}
        touched = {(mutant.file, kernel) for kernel in mutant.kernels}
        order = [name for name, test in tests.items() if test.launched & touched]
        order.sort(key=lambda name: (-sum(self.kills[k, name] for k in mutant.kernels), tests[name].seconds))
        patience = {name: 30 + 10 * tests[name].seconds for name in order}
        patience[""] = 120  # until the first test
        limit = SANITIZED_MUTANT if sanitized else 600
        return Run(tests_of(mutant.file), order, mutant, sanitized, limit, patience)

    def try_all(self, chosen: list[Mutant], sanitized: bool) -> Iterator[tuple[Mutant, str]]:
        """Each mutant and what came of it."""
        for run in run_all((self.run_of(m, sanitized) for m in chosen), self.jobs):
            verdict, mutant = run.verdict(), run.mutant
            assert mutant is not None
            if verdict == KILLED:
                self.kills.update((kernel, run.now) for kernel in mutant.kernels)
                verdict = BY_SANITIZER if sanitized else KILLED
            by = f"    by {run.now}" if verdict in (KILLED, BY_SANITIZER) else ""
            print(f"{verdict:>16} {time.monotonic() - run.began:5.1f} s  {mutant}{by}", flush=True)
            yield mutant, verdict


def choose(args: argparse.Namespace) -> list[Mutant]:
    files = sorted(p.name for p in KERNELS.glob("*.cl"))
    if args.file:
        if unknown := set(args.file) - set(files):
            raise SystemExit(f"no kernel file {', '.join(sorted(unknown))}; there is {', '.join(files)}")
        files = args.file
    for file in files:
        if missing := [test for test in tests_of(file) if not (ROOT / test).exists()]:
            raise SystemExit(f"{file}: its tests {missing} do not exist; mend TESTS in tests/mutants.py")
    every = [m for f in files for m in mutants(f, (KERNELS / f).read_text())]
    known = equivalents()
    if not args.file and (stale := set(known) - {m.key for m in every}):
        raise SystemExit(f"mutants_equivalent.toml lists mutants that no longer exist: {sorted(stale)}")
    chosen = [m for m in every if m.key not in known and (not args.line or m.line in args.line)]
    equivalent = sum(m.key in known for m in every)
    print(f"{len(every)} mutants in {len(files)} files, {equivalent} of them listed as equivalent")
    if args.sample and args.sample < len(chosen):
        chosen = random.Random(args.seed).sample(chosen, args.sample)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants only")
    parser.add_argument("--seed", type=int, default=0, help="which N")
    parser.add_argument("--file", action="append", metavar="X.cl", help="mutants of this kernel file only (repeatable)")
    parser.add_argument("--line", action="append", type=int, metavar="N", help="mutants of this line only (repeatable)")
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = choose(args)
    if args.list:
        print(*chosen, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what stands in finally is done
    import_everything({test for m in chosen for test in tests_of(m.file)})
    begin = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["POCL_CACHE_DIR"] = temporary
        wake_compiler()
        families = Families(args.jobs)
        families.learn({m.file for m in chosen}, sanitized=False)
        verdicts = dict(families.try_all(chosen, sanitized=False))
        overlooked = [m for m, verdict in verdicts.items() if verdict == SURVIVED]
        if overlooked:
            print(f"# {len(overlooked)} overlooked; again inside the sanitizer", flush=True)
            families.learn({m.file for m in overlooked}, sanitized=True)
            verdicts.update(families.try_all(overlooked, sanitized=True))
    for mutant, verdict in verdicts.items():
        counts[verdict] += 1
        if verdict == SURVIVED:
            print(f"SURVIVED {mutant}")
    seconds = (time.monotonic() - begin) / max(1, len(chosen))
    print(", ".join(f"{n} {result}" for result, n in sorted(counts.items())), f"({seconds:.1f} s a mutant)")
    return 1 if counts[SURVIVED] else 0


if __name__ == "__main__":
    sys.exit(main())
