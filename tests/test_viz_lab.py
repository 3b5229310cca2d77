"""The figures in JupyterLab, driven by a real browser: a kernel behind them answers. Run by `make test-deep`."""

import contextlib
import json
import time

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import cells, page, press, sentence
from jupyter_lab import HERE, opened, run_cell, server

import gpugrad as gg
from gpugrad import viz
from gpugrad.viz.words import num

pytestmark = pytest.mark.deep

MANY = """import numpy as np, gpugrad as gg
from gpugrad import viz
n = 60_000
with gg.trace() as t:
    gg.kernel("__kernel void one(__global float *o) { int i = get_global_id(0); o[i] = i % 7; }")(
        gg.Array.from_numpy(np.zeros(n, "f4")), global_size=n, local_size=25)
figure = viz.stepper(t)
figure"""
TEN = """import numpy as np, gpugrad as gg
from gpugrad import viz
with gg.trace() as t:
    gg.kernels.gemm(gg.ones(6, 7).array, gg.ones(7, 5).array, variant="tiled")
w = gg.tensor([1.0, 2.0], requires_grad=True)
ten = [viz.im2col(), viz.col2im(), viz.conv2d(), viz.pooling(), viz.broadcasting(), viz.gemm(), viz.softmax(),
       viz.stepper(t[0]), viz.memory(t[0]), viz.graph((w * w).sum())]
for figure in ten:
    display(figure)"""
BOOKS = {
    "figure": ["from gpugrad import viz\nfigure = viz.im2col(padding=1, stride=2)\nfigure",
               "print('POS', figure.pos, figure.params['stride'], figure.describe())"],
    "digit": ["from gpugrad import viz\npad = viz.digit(); pad", "print(pad.describe())"],
    "ten": [TEN, "import json\nprint(max(len(json.dumps(f.data)) for f in ten))"],
    "many": [MANY, "print(sorted(figure.data['chunks'], key=int)[-1], figure.work_item, figure.describe())"],
}  # fmt: skip


def notebook(texts, outputs=()):
    """A notebook of these cells; `outputs` are those of the first."""
    count = 1 if outputs else None
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    book = [{**cell, "id": f"c{i}", "source": text} for i, text in enumerate(texts)]
    book[0] |= {"outputs": list(outputs), "execution_count": count}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": book})


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab with the notebooks -> (its folder, the address they are opened at)."""
    folder = tmp_path_factory.mktemp("lab")
    for name, texts in BOOKS.items():
        (folder / f"{name}.ipynb").write_text(notebook(texts))
    figure = viz.im2col(padding=1, stride=2)
    data = {k: v for k, v in figure._repr_mimebundle_()[0].items() if "widget-view" not in k}
    kept = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data}
    (folder / "kept.ipynb").write_text(notebook(["viz.im2col()"], [kept]))
    with server(folder) as address:
        yield folder, address


@contextlib.contextmanager
def shown(browser, lab, name):
    """A notebook in JupyterLab whose first cell has run."""
    with opened(browser, lab[1], name) as tab:
        run_cell(tab, 0)
        tab.locator(".gg .say").first.wait_for(timeout=120_000)
        yield tab


def printed(tab):
    """What the second cell prints when it is run now."""
    said = run_cell(tab, 1).locator(".jp-OutputArea-output")
    said.wait_for(timeout=30_000)
    return said.inner_text().strip()


def shows(tab, text):
    tab.wait_for_function(
        "text => document.querySelector('.gg .say').innerText.replaceAll('\\n', ' ') === text", arg=text
    )


def test_each_control_of_a_figure_runs_the_kernel_and_shows_its_numbers(browser, lab, record_property):
    figure = viz.im2col(padding=1, stride=2)
    with shown(browser, lab, "figure") as tab:
        slider = tab.locator(".gg input[type=range]")
        slider.focus()
        for pos in range(9):
            figure.pos = pos
            assert sentence(tab) == figure.describe()
            press(tab, "ArrowRight")
        press(tab, "Home")
        figure.pos = 0
        assert sentence(tab) == figure.describe()
        press(tab, " ")
        assert tab.get_by_role("button", name="pause").is_visible()
        press(tab, " ")
        press(tab, "End")
        figure.pos = 8
        assert sentence(tab) == figure.describe()
        key = "document.querySelector('.gg input[type=range]').dispatchEvent(new InputEvent('input', {bubbles: true}))"
        step = f"""() => {{ const t = performance.now(); for (let k = 0; k < 20; k++) {{
          document.querySelector('.gg input[type=range]').value = k % 9; {key}; document.body.offsetHeight; }}
          return (performance.now() - t) / 20 }}"""
        record_property("a step of im2col in JupyterLab", f"{tab.evaluate(step):.1f} ms")

        start, changed = dict(figure.params), 0
        for control in figure.controls:
            key, label = control["key"], control["label"]
            for value in [v for v in control["options"] if v != start[key]] + [start[key]]:
                button = tab.get_by_role("radio", name=f"{label} {value}", exact=True)
                button.click()
                figure.choose(**{key: value})
                pressed = "([label]) => [...document.querySelectorAll('.gg [role=radio]')].find(b => "
                pressed += "b.getAttribute('aria-label') === label).getAttribute('aria-checked') === 'true'"
                tab.wait_for_function(pressed, arg=[f"{label} {value}"])
                col, drawn = figure.relation.values[1], cells(tab, 1)
                assert drawn == {i: num(col[i]) for i in drawn} and len(drawn) > 20
                assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == f"{label} {value}"
                changed += 1
        assert changed == sum(len(c["options"]) for c in figure.controls)
        tab.get_by_role("radio", name="stride 1", exact=True).click()
        tab.wait_for_function("document.querySelector('.gg output').textContent.includes(' of 25')")
        figure.choose(stride=1)
        figure.pos = int(tab.locator("[data-pos]").get_attribute("data-pos"))
        assert printed(tab) == f"POS {figure.pos} 1 {figure.describe()}"


def test_a_work_item_whose_events_were_not_sent_is_fetched_from_the_kernel(browser, lab):
    n = 60_000
    with gg.trace() as t:
        text = "__kernel void one(__global float *o) { int i = get_global_id(0); o[i] = i % 7; }"
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(n, "f4")), global_size=n, local_size=25)
    figure = viz.stepper(t)
    assert "2399" not in figure.data["chunks"]  # the last group's events stay with the kernel
    with shown(browser, lab, "many") as tab:
        assert sentence(tab) == figure.describe().removeprefix("Step 1 of 1: ")
        box = tab.locator(".wis .mini").bounding_box()
        tab.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
        tab.locator(f".wis .c[data-i='{n - 1}']").click()
        figure.work_item = n - 1
        shows(tab, figure.describe().removeprefix("Step 1 of 1: "))
        assert f"o[{n - 1}]" in sentence(tab)
        last, item, said = printed(tab).split(" ", 2)
        assert int(last) < 2399 and int(item) == n - 1 and said == figure.describe()


def test_a_notebook_of_ten_figures_opens_and_stays_small(browser, lab, record_property):
    folder, _ = lab
    with shown(browser, lab, "ten") as tab:
        start = time.monotonic()
        tab.wait_for_function("document.querySelectorAll('.jp-OutputArea .gg .say').length === 10")
        record_property("ten figures in JupyterLab, after the first", f"{time.monotonic() - start:.1f} s")
        assert int(printed(tab)) < 1_000_000
        press(tab, "Control+s")
        book, until = folder / "ten.ipynb", time.monotonic() + 30
        while "image/svg" not in book.read_text(encoding="utf-8"):
            assert time.monotonic() < until
            time.sleep(0.5)
        assert book.stat().st_size < 1_000_000


def answers(tab):
    """The digit that the figure names, once it has answered."""
    time.sleep(1)
    return sentence(tab)


def test_a_digit_is_drawn_with_the_mouse_and_with_the_keyboard(browser, lab):
    with shown(browser, lab, "digit") as tab:
        pad = tab.locator(".pad.live")
        pad.scroll_into_view_if_needed()
        box = pad.bounding_box()
        tab.mouse.move(box["x"] + 150, box["y"] + 50)
        tab.mouse.down()
        for k in range(20):
            tab.mouse.move(box["x"] + 150 - k, box["y"] + 50 + 9 * k)
        tab.mouse.up()
        tab.wait_for_function("document.querySelector('.gg .say').textContent.includes('says 1')")
        by_mouse = answers(tab)
        pad.focus()
        press(tab, "Delete")
        tab.wait_for_function("said => document.querySelector('.gg .say').innerText !== said", arg=by_mouse)
        ink = "[...document.querySelectorAll('.pad .px')].filter(c => +c.getAttribute('fill-opacity') > 0.3).length"
        assert tab.evaluate(ink) == 0
        press(tab, "ArrowRight", 2)
        assert tab.evaluate(ink) == 0  # the pen is lifted
        press(tab, " ")
        press(tab, "ArrowDown", 17)
        press(tab, " ")
        press(tab, "ArrowRight", 5)
        assert 30 < tab.evaluate(ink) < 60
        tab.wait_for_function("document.querySelector('.gg .say').textContent.includes('says 1')")
        said = answers(tab)
        assert printed(tab) == said


def test_a_notebook_that_is_not_trusted_shows_the_first_frame_and_says_what_to_do(browser, lab):
    with page(browser, f"{lab[1]}kept.ipynb?reset", width=1280, allowed=HERE) as tab:
        output = tab.locator(".jp-OutputArea-output")
        output.wait_for(timeout=90_000)
        tab.wait_for_function("document.querySelector('.jp-OutputArea-output img')?.naturalWidth > 300")
        assert "Run the cell" in output.inner_text()
        assert output.locator("img").get_attribute("alt").startswith("im2col (naive, ")
