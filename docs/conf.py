"""Sphinx: `make docs` builds these pages with no network."""

import inspect
import subprocess
import sys
from pathlib import Path

import gpugrad
from gpugrad import __version__

project = "gpugrad"
author = "The gpugrad authors"
copyright = "2026, The gpugrad authors"
release = version = __version__

# sphinx-mathjax-offline: formulas, too, need no network.
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx-mathjax-offline"]
html_theme = "furo"
html_title = f"gpugrad {release}"
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
exclude_patterns = ["_build", "api/generated"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # tools/live_lessons.py has run them

default_role = "literal"  # docstrings write `x` for code, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # a signature of PyTorch's is known by its names; the types stand in the text
autodoc_default_options = {"members": True}


def docstring_to_rst(app, what, name, obj, options, lines):
    """Docstrings are written as one writes to a person: lists and indented code as in Markdown, `x` for code."""
    out, in_code = [], False
    for line in lines:
        indented = line.startswith("    ")
        if in_code and line and not indented:
            in_code = False
        before = out[-1] if out else ""
        if indented and not in_code and not before:
            in_code = True
            out += ["::", ""]
        elif line.startswith("- ") and before and not before.startswith(("- ", "  ")):
            out.append("")
        if not in_code:
            pieces = line.split("`")  # what is not between backticks is plain text
            pieces[::2] = [p.replace("*", r"\*").replace("|", r"\|") for p in pieces[::2]]
            line = "`".join(pieces)
        out.append(line)
    lines[:] = out


# Which names of `import gpugrad as gg` stand under which heading, by the module they come from.
SECTIONS = {
    "functions": ("autograd.ops",),
    "gradients": ("autograd", "autograd.gradcheck"),
    "files": ("serialize",),
    "kernels": ("custom", "kernels", "program"),
    "watching": ("trace", "profiling"),
    "devices": ("device", "generator", "memory"),
    "errors": ("errors",),
}
ELSEWHERE = {"array", "dtypes", "optim", ""}  # have a page of their own; in words on the page; modules


def write_sections():
    """docs/api/generated: an entry for each public name, taken from the package, so that none is missing."""
    folder = Path(__file__).parent / "api" / "generated"
    folder.mkdir(exist_ok=True)
    home = {name: module[1:] if attribute else "" for name, (module, attribute) in gpugrad._OFFERED.items()}
    left = {name for name, module in home.items() if module not in ELSEWHERE} - {"Tensor"}
    for section, modules in SECTIONS.items():
        entries = []
        for name in sorted(n for n in left if home[n] in modules):
            value = getattr(gpugrad, name)
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            entries.append(f".. auto{kind}:: gpugrad.{name}\n" + "   :no-value:\n" * (kind == "data"))
            left.discard(name)
        (folder / f"{section}.rst").write_text("\n".join(entries), encoding="utf-8")
    if left:
        raise ValueError(f"docs/conf.py: say in SECTIONS where {', '.join(sorted(left))} belong")


def write_lessons():
    """docs/lessons: the lessons, run on this machine, with their figures alive; those that have changed."""
    subprocess.run([sys.executable, "tools/live_lessons.py"], cwd=Path(__file__).parent.parent, check=True)


def write_explorers():
    """docs/_static/explorers: the live figures, computed on this machine's device, unless they are there and newer."""
    root = Path(__file__).parent.parent
    made = root / "docs" / "_static" / "explorers" / "timeline.html"  # the last to be written
    sources = [root / "tools" / "explorers.py", *(root / "gpugrad").rglob("*.*")]  # they show kernels, too
    if not made.exists() or made.stat().st_mtime < max(p.stat().st_mtime for p in sources if p.suffix != ".pyc"):
        subprocess.run([sys.executable, "tools/explorers.py"], cwd=root, check=True)


write_sections()
write_lessons()
write_explorers()


def setup(app):
    app.connect("autodoc-process-docstring", docstring_to_rst)
