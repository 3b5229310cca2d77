"""Sphinx: `make docs` builds these pages with no network."""

from gpugrad import __version__

project = "gpugrad"
author = "The gpugrad authors"
copyright = "2026, The gpugrad authors"
release = version = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"gpugrad {release}"
html_static_path = ["_static"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks are stored with their output, which `make test` checks

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


def setup(app):
    app.connect("autodoc-process-docstring", docstring_to_rst)
