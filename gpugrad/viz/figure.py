"""What all figures share: a widget whose picture is drawn in the browser, and that can be said, saved and compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .page import fragment, page, style

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError(
        f"gpugrad.viz: the figures need anywidget, which is not installed ({error}). Install it with: "
        "pip install 'gpugrad[lab]'"
    ) from error


class Figure(anywidget.AnyWidget):
    """A figure in a notebook; without a kernel it stays alive in the page that `save` writes.

    `describe()` says in words what it shows now. It is an ipywidget: it goes into boxes, and its traits (`data`, and
    the position) can be observed.
    """

    _css = style()
    data = traitlets.Dict().tag(sync=True)
    store = traitlets.Dict().tag(sync=True)  # what else was computed, by its parameters: for pages without a kernel
    live = traitlets.Bool(True).tag(sync=True)
    position: tuple[str, ...] = ()  # the traits that say where in the figure one is

    def describe(self) -> str:
        """What the figure shows now, in words. It names no device."""
        raise NotImplementedError

    def first_frame(self) -> str:
        """What the figure opens with, as SVG: for places that show no widgets. It names no device."""
        raise NotImplementedError

    def head(self) -> str:
        """The figure in one line."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.head()}\n{self.describe()}"

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        bundle = {
            "application/vnd.jupyter.widget-view+json": view,
            "text/plain": repr(self),
            "image/svg+xml": self.first_frame(),
        }
        return bundle, {}

    def state(self) -> dict[str, Any]:
        """Everything that the browser needs, when there is no kernel to ask."""
        return {"data": self.data, "store": self.store, "live": False, **{n: getattr(self, n) for n in self.position}}

    def fragment(self, name: str) -> str:
        """This figure, alive, as a piece of a page that has `gpugrad.viz.page.style()`; `name` is its id there."""
        return fragment(name, str(self._esm), self.state())

    def save(self, path: str | Path) -> Path:
        """Write a page with this figure alive in it. It needs no kernel and no network; options that need the device
        are disabled there, and say so."""
        path = Path(path)
        if path.suffix not in (".html", ".htm"):
            raise ValueError(f"save: path is {str(path)!r}; a figure is saved as a page, so end it in .html")
        name = re.sub(r"\W+", "-", path.stem)
        path.write_text(page(self.data["title"], self.fragment(f"figure-{name}")), encoding="utf-8")
        return path
