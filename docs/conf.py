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
