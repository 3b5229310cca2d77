"""Plant one small mistake after another in the kernels, and see the tests find each.

    python tests/mutate.py --sample 20 --seed 7     # twenty mutants, chosen by the seed
    python tests/mutate.py --file im2col.cl         # every mutant of one file
    python tests/mutate.py --list                   # only say which there are

A mutant is one token changed: a comparison, an arithmetic or logical operator, an axis's name (KH for KW), an
integer. The family's tests run against a copy of the package with that one change; a mutant that no test
notices survives, and the exit status is 1. Mutants that change nothing anyone could see stand in
`mutants_equivalent.toml`, each with its reason.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

try:
    import tomllib
except ImportError:  # Python 3.10
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "gpugrad" / "kernels"

#: Which tests have to notice a mistake in a kernel file; the others' are tests/test_<name before '_'>.py.
TESTS: dict[str, tuple[str, ...]] = {
    "argmax.cl": ("test_reduce.py",),
    "avg_pool.cl": ("test_pooling.py",),
    "batch_norm.cl": ("test_batch_norm.py",),
    "max_pool.cl": ("test_pooling.py",),
    "cross_entropy.cl": ("test_loss.py",),
    "pick.cl": ("test_reduce.py",),
}

OPERATORS = {
    "<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",),
    "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "&&": ("||",), "||": ("&&",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("+=",),
}  # fmt: skip
AXES = {a + "H": a + "W" for a in ("", "K", "O", "S", "P", "D")}
AXES.update({w: h for h, w in AXES.items()})

TOKEN = re.compile(
    r"(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*|\s+)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)"
    r"|(?P<op><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|->|.)",
    re.DOTALL | re.MULTILINE,
)
BEFORE_UNARY = {None, "(", "[", "{", ",", ";", "=", "return", "?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||",
                "+", "-", "*", "/", "%", "!", "+=", "-=", "*="}  # fmt: skip
TYPES = re.compile(r"(T|A|R|I|void|char|uchar|short|ushort|int|uint|long|ulong|float|double|half|size_t)\d*$")


@dataclass(frozen=True)
class Mutant:
    file: str
    start: int
    old: str
    new: str
    line: int
    text: str  # the line it stands in, stripped
    nth: int  # which of the same mutants of that line it is, from 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.file, self.text, self.old, self.new, self.nth

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}    {self.text}"

    def apply(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of one kernel file: inside function bodies only."""
    found: list[Mutant] = []
    lines = source.split("\n")
    before: str | None = None
    depth = 0
    for match in TOKEN.finditer(source):
        if match.lastgroup == "skip":
            continue
        token = match[0]
        depth += (token == "{") - (token == "}")
        changes: tuple[str, ...] = ()
        if depth > 0:
            if match.lastgroup == "op" and token in OPERATORS:
                unary = before in BEFORE_UNARY
                pointer = token == "*" and (unary or (before is not None and TYPES.match(before)) or before == "const")
                changes = () if pointer or (unary and token == "+") else OPERATORS[token]
                if unary and token == "-":
                    changes = ("+",)
            elif match.lastgroup == "word" and token in AXES:
                changes = (AXES[token],)
            elif match.lastgroup == "number" and token.isdecimal():
                changes = (str(int(token) + 1),)
        line = source.count("\n", 0, match.start()) + 1
        for new in changes:
            nth = sum(m.line == line and (m.old, m.new) == (token, new) for m in found)
            found.append(Mutant(file, match.start(), token, new, line, lines[line - 1].strip(), nth))
        before = token
    return found


def tests_of(file: str) -> list[str]:
    names = TESTS.get(file) or (f"test_{pathlib.Path(file).stem.split('_')[0]}.py",)
    return [f"tests/{name}" for name in names]


def kernel_names(source: str) -> list[str]:
    """The kernels in a file, its comments left out."""
    return re.findall(r"\b__kernel\s+void\s+(\w+)", re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL))


class Workplace:
    """A copy of the package that one mutant at a time is planted in."""

    def __init__(self, folder: pathlib.Path, cache: pathlib.Path):
        self.folder = folder
        for name in ("gpugrad", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        self.env = {**os.environ, "PYTHONPATH": str(folder), "POCL_CACHE_DIR": str(cache)}

    def run(self, file: str, timeout: float) -> tuple[str, str]:
        """('killed' | 'survived' | 'does not compile', what pytest said) for the tests of `file`."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests_of(file)]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=self.env,
                timeout=timeout,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return "killed", f"no end within {timeout:.0f} s"
        if "KernelBuildError" in done.stdout:
            return "does not compile", done.stdout
        return ("survived" if done.returncode == 0 else "killed"), done.stdout[-3000:]

    def try_mutant(self, mutant: Mutant, timeout: float) -> tuple[Mutant, str]:
        path = self.folder / "gpugrad" / "kernels" / mutant.file
        source = path.read_text()
        path.write_text(mutant.apply(source))
        try:
            return mutant, self.run(mutant.file, timeout)[0]
        finally:
            path.write_text(source)


def equivalents() -> dict[tuple[str, str, str, str, int], str]:
    """Mutant.key -> the reason why that mutant changes nothing anyone could see."""
    path = ROOT / "tests" / "mutants_equivalent.toml"
    if not path.exists():
        return {}
    if tomllib is None:
        raise SystemExit("the list of equivalent mutants needs Python 3.11 or newer")
    listed = tomllib.loads(path.read_text())["mutant"]
    return {(m["file"], m["text"], m["old"], m["new"], m.get("nth", 0)): m["reason"] for m in listed}


def choose(args: argparse.Namespace) -> list[Mutant]:
    files = sorted(p.name for p in KERNELS.glob("*.cl"))
    if args.file:
        if unknown := set(args.file) - set(files):
            raise SystemExit(f"no kernel file {', '.join(sorted(unknown))}; there is {', '.join(files)}")
        files = args.file
    for file in files:
        if missing := [test for test in tests_of(file) if not (ROOT / test).exists()]:
            raise SystemExit(f"{file}: its tests {missing} do not exist; mend TESTS in tests/mutate.py")
    every = [m for f in files for m in mutants(f, (KERNELS / f).read_text())]
    known = equivalents()
    if not args.file and (stale := set(known) - {m.key for m in every}):
        raise SystemExit(f"mutants_equivalent.toml lists mutants that no longer exist: {sorted(stale)}")
    chosen = [m for m in every if m.key not in known]
    print(f"{len(every)} mutants in {len(files)} files, {len(every) - len(chosen)} of them listed as equivalent")
    if args.sample and args.sample < len(chosen):
        chosen = random.Random(args.seed).sample(chosen, args.sample)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants only")
    parser.add_argument("--seed", type=int, default=0, help="which N")
    parser.add_argument("--file", action="append", metavar="X.cl", help="mutants of this kernel file only (repeatable)")
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = choose(args)
    if args.list:
        print(*chosen, sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        top = pathlib.Path(temporary)
        places = [Workplace(top / f"place{i}", top / "cache") for i in range(args.jobs)]
        timeouts = {}
        for file in sorted({m.file for m in chosen}):
            begin = time.monotonic()
            result, said = places[0].run(file, 600)
            if result != "survived":
                raise SystemExit(f"the tests of {file} fail without any mutant:\n{said}")
            timeouts[file] = 30 + 5 * (time.monotonic() - begin)
        free = list(places)

        def work(mutant: Mutant) -> tuple[Mutant, str]:
            place = free.pop()
            try:
                return place.try_mutant(mutant, timeouts[mutant.file])
            finally:
                free.append(place)

        counts: dict[str, int] = {}
        survivors = []
        with ThreadPoolExecutor(args.jobs) as executor:
            for mutant, result in executor.map(work, chosen):
                counts[result] = counts.get(result, 0) + 1
                print(f"{result:>16}  {mutant}", flush=True)
                if result == "survived":
                    survivors.append(mutant)
    print(", ".join(f"{n} {result}" for result, n in sorted(counts.items())))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
