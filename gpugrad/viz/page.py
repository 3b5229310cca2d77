"""A figure's text for the browser: its modules joined into one, and the page on which it lives without a kernel."""

from __future__ import annotations

import html
import importlib.resources
import json
import re
from functools import cache
from typing import Any

SHARED = ("core.js", "minimap.js", "grid.js", "controls.js", "source.js")

# A model as anywidget's, but with nobody behind it.
SHIM = """
const state = {state}, heard = {{}}, el = document.getElementById({id});
const model = {{
  get: name => state[name],
  set: (name, value) => {{
    if (state[name] === value) return;
    state[name] = value;
    (heard["change:" + name] ?? []).forEach(f => f());
  }},
  save_changes() {{}}, send() {{}},
  on: (event, f) => (heard[event] ??= []).push(f),
  off: (event, f) => {{ heard[event] = (heard[event] ?? []).filter(g => g !== f); }},
}};
const url = URL.createObjectURL(new Blob([{script}], {{ type: "text/javascript" }}));
(await import(url)).default.render({{ model, el }});
(window.gpugrad ??= {{}})[{id}] = model;
"""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; background: light-dark(#fff, #15181c); }}
body {{ margin: 20px 12px; max-width: 968px; }}
@media (min-width: 1000px) {{ body {{ margin-inline: auto; }} }}
.figure + .figure {{ margin-top: 48px; }}
{style}
</style>
<body>
{body}
</body>
</html>
"""


@cache
def read(name: str) -> str:
    return importlib.resources.files("gpugrad.viz").joinpath("static", name).read_text(encoding="utf-8")


@cache
def script(*names: str) -> str:
    """The shared modules and these, as one module: anywidget takes one text, and file:// refuses imports."""
    text = "\n".join(read(name) for name in (*SHARED, *names))
    text = re.sub(r"^import .* from \"\./.*\";$", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?=const|function|class)", "", text, flags=re.MULTILINE)


@cache
def style() -> str:
    return read("tokens.css") + read("figures.css")


def quoted(value: Any) -> str:
    """JSON that can stand in a script of a page: no text of the data can end it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def fragment(name: str, text: str, state: dict[str, Any]) -> str:
    """One figure, alive, as a piece of a page; `name` is its id there."""
    shim = SHIM.format(state=quoted(state), id=quoted(name), script=quoted(text))
    return (f'<div id="{html.escape(name)}" class="figure"></div>\n'
            f'<script type="module">{shim}</script>')  # fmt: skip


def page(title: str, *fragments: str) -> str:
    """A page of its own: nothing is fetched from anywhere."""
    return PAGE.format(title=html.escape(title), style=style(), body="\n".join(fragments))
