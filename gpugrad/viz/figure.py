"""What all figures share: a widget whose picture is drawn in the browser, and that can be said, saved and compared."""

from __future__ import annotations

import html
import itertools
import operator
import re
import string
import urllib.parse
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GpugradError
from ..files import write_whole
from .page import fragment, page, quoted, style
from .words import by_shape

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError(
        f"gpugrad.viz: the figures need anywidget, which is not installed ({error}). Install it with: "
        "pip install 'gpugrad[lab]'"
    ) from error


READABLE = "".join(set(string.printable) - set('"#%&\n\r\t\x0b\x0c'))  # what a data: URI between "" leaves as it is


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
            "text/html": self.picture(),
        }
        return bundle, {}

    def picture(self) -> str:
        """The first frame as an image in HTML: a notebook that is not trusted shows no widget and no SVG, but this."""
        frame = urllib.parse.quote(self.first_frame(), safe=READABLE)
        note = "Run the cell for the figure itself: it steps, and shows what this first frame leaves out."
        label = html.escape(f"{self.head()}. {self.describe()}")
        return f'<img alt="{label}" src="data:image/svg+xml;charset=utf-8,{frame}">\n<p>{note}</p>'

    def state(self) -> dict[str, Any]:
        """Everything that the browser needs, when there is no kernel to ask."""
        return {"data": self.data, "store": self.store, "live": False, **{n: getattr(self, n) for n in self.position}}

    def fragment(self, name: str) -> str:
        """This figure, alive, as a piece of a page that has `gpugrad.viz.page.style()`; `name` is its id there."""
        return fragment(name, str(self._esm), self.state())

    def save(self, path: str | Path) -> Path:
        """Write a page with this figure alive in it. It needs no kernel and no network; options that need the device
        are disabled there, and say so."""
        if not isinstance(path, (str, Path)) or "\0" in str(path):
            raise TypeError(f"save: path is {path!r}; give the name of a file that ends in .html")
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"save: path is {str(path)!r}; a figure is saved as a page, so end it in .html")
        name = re.sub(r"\W+", "-", path.stem)
        write_whole(path, page(self.data["title"], self.fragment(f"figure-{name}")).encode(errors="replace"))
        return path


class Explorer(Figure):
    """A figure with options: it runs its kernel on the device again when one of them is changed.

    `params` are the options as they stand, `controls` what each can be. Where there is no kernel to ask, the page holds
    what `save` computed for it: each combination of `spread`, as far as `PAGE_LIMIT` goes, and each option alone.
    """

    spread: tuple[str, ...] = ()
    controls: tuple[dict[str, Any], ...] = ()
    function = "explorer"

    def __init__(self, params: dict[str, Any], **traits: Any) -> None:
        params = {key: plain(value) for key, value in params.items()}
        self.controls = tuple(with_current(c, params) for c in self.controls)
        super().__init__(data=self.show(params), **traits)
        self.on_msg(self._asked)

    def compute(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run the kernel with these options and give the picture's data; ValueError says what does not fit."""
        raise NotImplementedError

    def show(self, params: dict[str, Any]) -> dict[str, Any]:
        params = {key: plain(value) for key, value in params.items()}
        held = dict(self.__dict__)
        try:
            data = self.compute(params)
        except BaseException:
            self.__dict__.update(held)  # what is drawn is still what was computed before
            raise
        self.params = params
        return {**data, "params": params, "controls": list(self.controls)}

    def choose(self, **changes: Any) -> None:
        """Change options, as the buttons do: `figure.choose(stride=2)`. ValueError where they do not fit together."""
        known = {c["key"]: values_of(c) for c in self.controls}
        unknown = set(changes) - set(known)
        if unknown:
            raise ValueError(
                f"{self.function}: there is no option {', '.join(sorted(unknown))}; it has {', '.join(known)}"
            )
        for key, value in changes.items():
            names = [o for o in known[key] if isinstance(o, str)]  # of numbers any goes that the kernel takes
            if names and not one_of(value, names):
                raise ValueError(f"{self.function}: {key} is {value!r}; it is one of {', '.join(names)}")
        self.data = self.show({**self.params, **changes})

    def _asked(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("ask") == "params":
            known = {c["key"] for c in self.controls}
            try:
                self.choose(**{k: v for k, v in content["params"].items() if k in known})
            except (ValueError, TypeError, GpugradError) as error:
                self.send({"error": str(error)})

    def state(self) -> dict[str, Any]:
        held, own = dict(self.__dict__), self.params
        store: dict[str, Any] = {}
        room = PAGE_LIMIT - len(quoted(self.data))
        for params in self._variations():
            try:
                data = {**self.compute(params), "params": params, "controls": list(self.controls)}
            except (ValueError, TypeError, GpugradError):
                continue  # does not fit together: stays closed
            room -= len(quoted(data))
            if room < 0:
                break
            store["|".join(written(params[c["key"]]) for c in self.controls)] = data
        self.__dict__.update(held)
        self.params = own
        return {**super().state(), "store": store}

    def _variations(self) -> Iterator[dict[str, Any]]:
        """The options as they stand with one changed, then all combinations of `spread`."""
        values = {c["key"]: values_of(c) for c in self.controls}
        yield self.params
        for key, options in values.items():
            for value in options:
                if value != self.params[key]:
                    yield {**self.params, key: value}
        spread = [k for k in self.spread if k in values]  # what was given is not chosen
        for combination in itertools.product(*(values[k] for k in spread)):
            changed = dict(zip(spread, combination, strict=True))
            if sum(self.params[k] != v for k, v in changed.items()) > 1:
                yield {**self.params, **changed}


PAGE_LIMIT = 850_000  # characters of a page for what it shows and what its options give


def one_of(value: Any, names: Container[str]) -> bool:
    """Is it one of these names? A list or an array is none."""
    return isinstance(value, str) and value in names


def plain(value: Any) -> Any:
    """An option as JSON knows it: whole numbers of any kind as Python's, a pair as a tuple, of equal ones as one."""
    if isinstance(value, (list, tuple)):
        each = tuple(plain(v) for v in value)
        return each[0] if len(each) == 2 and each[0] == each[1] else each
    if isinstance(value, (bool, str)):
        return value
    try:
        return operator.index(value)
    except TypeError:
        return value.item() if isinstance(value, np.generic) else value


def written(value: Any) -> str:
    """An option's value as the browser writes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def values_of(control: dict[str, Any]) -> list[Any]:
    """What a control can be set to, without the texts of its buttons."""
    return [plain(o[0]) if isinstance(o, list) else o for o in control["options"]]


def with_current(control: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """A control that offers the current value too."""
    options = list(control["options"])
    current = params[control["key"]]
    if current not in values_of(control):
        pair = [list(current), by_shape(current)] if isinstance(current, tuple) else current
        options = sorted([*options, current]) if isinstance(current, int) else [*options, pair]
    return {**control, "options": options}
