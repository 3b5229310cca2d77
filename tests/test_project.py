"""The project around the package: what is in the wheel, what importing loads, what make does."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import gpugrad

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gpugrad"

needs_make = pytest.mark.skipif(os.name == "nt" or not shutil.which("make"), reason="needs make")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# the package


def test_there_is_one_version():
    assert f"\nversion: {gpugrad.__version__}\n" in text("CITATION.cff")
    assert re.search(r"^## (\S+)", text("CHANGELOG.md"), re.M)[1] == gpugrad.__version__
    assert 'dynamic = ["version"]' in text("pyproject.toml")
    command = [sys.executable, "-m", "gpugrad.cli", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == f"gpugrad {gpugrad.__version__}\n"


def test_importing_gpugrad_loads_no_device_and_no_heavy_package():
    heavy = ("pyopencl", "matplotlib", "ipywidgets", "anywidget", "pooch", "requests", "tqdm", "torch", "safetensors")
    assert python(f"import sys, gpugrad; print([m for m in {heavy} if m in sys.modules])") == "[]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_every_file_of_the_package_that_is_not_made_by_running_it(wheel):
    files = [p.relative_to(ROOT) for p in PACKAGE.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    wanted = {p.as_posix() for p in files if not any(part.startswith(".") for part in p.parts)}
    assert wanted <= set(wheel.namelist())
    assert any(name.endswith(".cl") for name in wanted)
    assert "gpugrad/data/mnist_subset.npz" in wanted and "gpugrad/data/course_cnn.safetensors" in wanted


def test_the_wheel_holds_both_licences_and_the_command(wheel):
    names = wheel.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("LICENSE-MNIST.txt") and "dist-info" in name for name in names)
    (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
    assert "gpugrad = gpugrad.cli:main" in wheel.read(entry_points).decode()


def test_the_wheel_brings_the_lessons_along(wheel):
    lessons = {f"gpugrad/course/notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert lessons and lessons <= set(wheel.namelist())


def test_the_wheel_is_small(wheel):
    assert sum(info.compress_size for info in wheel.infolist()) < 5_500_000  # digits 2.0 MB, lessons 1.7, a network 0.8


def test_conda_environment_names_every_dependency_of_pip_and_the_lessons():
    names = set(re.findall(r"^  - ([a-z]+)", text("environment.yml"), re.M))
    block = re.search(r"\ndependencies = \[\n(.*?)\n\]", text("pyproject.toml"), re.S)[1]
    base = set(re.findall(r'^    "([a-z]+)', block, re.M))
    assert base - {"pocl"} <= names  # PoCL's wheel has a longer name
    assert {"numpy", "pyopencl", "pocl", "matplotlib", "ipywidgets", "jupyter", "nbval"} <= names


def test_pocl_comes_from_pip_only_where_it_has_a_wheel():
    (line,) = [line for line in text("pyproject.toml").splitlines() if '"pocl-binary-distribution' in line]
    assert "sys_platform == 'linux' and platform_machine == 'x86_64'" in line


# the layers: a module imports only from its own layer and those below

LAYERS = [
    {"errors", "words", "files", "dtypes", "generator", "guards", "memory", "device"},
    {"array"},
    {"source"},
    {"program", "build_errors", "slips", "custom"},
    {"trace"},
    {"kernels"},
    {"profiling"},
    {"autograd"},
    {"nn", "optim", "serialize"},
    {"data", "models"},
    {"viz", "course", "train", "bench", "doctor", "diagnoses", "cli", "__main__"},
]


def imported(path):
    """The parts of gpugrad that a file names in its imports at module level, outside `if TYPE_CHECKING`."""
    inside = path.relative_to(PACKAGE).parts
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".") if node.module else []
            if node.level:
                module = ["gpugrad", *inside[: len(inside) - node.level], *module]
            if module[:1] == ["gpugrad"]:
                yield from [module[1]] if len(module) > 1 else [alias.name for alias in node.names]


def layer(part):
    for i, parts in enumerate(LAYERS):
        if part in parts:
            return i
    return None


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downwards_only(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return  # the package's front gathers names from all layers
    here = layer(own)
    assert here is not None, f"{own} is in no layer; say in LAYERS where it belongs"
    above = [part for part in imported(path) if (layer(part) or 0) > here]
    assert not above, f"{path.name} imports {above} from above"


# make


@pytest.fixture
def bare(tmp_path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(folder, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True, env=environment)


@needs_make
def test_make_mnist_on_a_bare_clone_makes_an_environment_then_trains(bare):
    lines = make(bare, "-n", "mnist").stdout
    assert lines.index("-m venv") < lines.index("pip install") < lines.index("gpugrad train")


@needs_make
def test_a_second_make_sets_nothing_up_again(bare):
    (bare / ".venv").mkdir()
    (bare / ".venv/.base").touch()
    assert make(bare, "-n", "mnist", "ARGS=--epochs 1").stdout == ".venv/bin/gpugrad train --epochs 1\n"
    os.utime(bare / ".venv/.base", (0, 0))  # older than pyproject.toml: what it needs may have changed
    assert "pip install" in make(bare, "-n", "mnist").stdout


FAKE = """#!/bin/sh
case "$*" in
  *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/gpugrad;;
  train|lab) echo "$1 runs";;
esac
"""


@needs_make
def test_make_says_what_it_downloads_and_says_nothing_the_next_time(bare):
    fake = bare / "python3"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    base, lab = make(bare, "lab", f"PYTHON={fake}").stdout.splitlines()[:2]
    assert base.startswith("Setting up .venv: downloading NumPy") and base.endswith("This takes a few minutes, once.")
    assert lab == "Adding to .venv: downloading JupyterLab. This takes a few minutes, once."
    assert make(bare, "lab", f"PYTHON={fake}").stdout.splitlines() == [".venv/bin/gpugrad lab ", "lab runs"]
    assert make(bare, "mnist", f"PYTHON={fake}").stdout.splitlines() == [".venv/bin/gpugrad train ", "train runs"]


@needs_make
def test_make_knows_what_each_set_of_packages_is():
    makefile = text("Makefile")
    block = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\n", text("pyproject.toml"), re.S)[1]
    for extra in re.findall(r"^(\w+) = \[", block, re.M):
        assert re.search(rf"^{extra} +:= \w", makefile, re.M), extra


@needs_make
@pytest.mark.parametrize(
    "broken, says",
    [
        ("ensurepip", "On Debian and Ubuntu: sudo apt-get install python3-venv"),
        ("version_info", "gpugrad needs Python 3.10 or newer"),
    ],
)
def test_make_says_what_is_wrong_with_the_python_it_finds(bare, broken, says):
    fake = bare / "python3"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *{broken}*) exit 1;; esac\nexit 0\n')
    fake.chmod(0o755)
    done = make(bare, "mnist", f"PYTHON={fake}")
    assert done.returncode != 0 and says in done.stdout
    assert not (bare / ".venv").exists()


@needs_make
def test_make_alone_lists_the_targets(bare):
    said = make(bare).stdout
    for target in ("mnist", "lab", "test", "test-deep", "test-full", "bench", "docs", "clean", "doctor"):
        assert f"  make {target} " in said


@needs_make
def test_every_make_target_named_in_the_texts_exists(bare):
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    for name in ("README.md", "CONTRIBUTING.md", "docs/platforms.md", "docs/training.md"):
        named = set(re.findall(r"\bmake ([a-z-]+)`|^    make ([a-z-]+)", text(name), re.M))
        assert {a or b for a, b in named} <= targets, name


def test_every_file_that_the_texts_link_to_exists():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_page_of_platforms_has_each_variable_that_the_package_reads():
    read = {v for p in PACKAGE.rglob("*.py") for v in re.findall(r"GPUGRAD_[A-Z_]*[A-Z]\b", p.read_text("utf-8"))}
    assert set(re.findall(r"^\| `(GPUGRAD_\w+)` \|", text("docs/platforms.md"), re.M)) == read


def test_the_texts_count_the_lessons():
    count = len(list((ROOT / "notebooks").glob("*.ipynb")))
    for name in ("README.md", "docs/course.md", "CHANGELOG.md"):
        assert re.findall(r"(\d+)\s+lessons", text(name)) == [str(count)], name


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_script_of_ci_is_executable_and_parses():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)


def python_blocks():
    for page in ("README.md", "docs/index.md", "docs/training.md"):
        for i, block in enumerate(re.findall(r"```python\n(.*?)```", text(page), re.S)):
            yield pytest.param(block, id=f"{page}-{i}")


@pytest.mark.parametrize("block", list(python_blocks()))
def test_python_in_the_texts_runs_and_prints_what_it_says(block, capsys):
    exec(compile(block, "page", "exec"), {})
    said = re.findall(r"^print\(.*\)  +# (.*)$", block, re.M)
    assert capsys.readouterr().out.splitlines()[: len(said)] == said
