"""Odd input in a real browser: nothing that the data holds runs, and nothing is cut off. Run by `make test-deep`."""

import dataclasses
import itertools

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import page, saved, sentence
from figures import racing, short_timeline

import gpugrad as gg
from gpugrad import viz

pytestmark = pytest.mark.deep

EVIL = "<img src=x onerror=\"document.title = 'run'\">'</script>\u2028&lt;"
LONG = "a_name_that_nobody_would_type_twice_if_they_could_help_it"


def named(launch, name):
    """The launch as a file of traces could hold it, all of whose texts are `name`."""
    buffers = tuple(
        dataclasses.replace(b, buffer=dataclasses.replace(b.buffer, name=name + b.name)) for b in launch.buffers
    )
    sites = tuple(dataclasses.replace(s, text=name, name=name if s.name else "") for s in launch.sites)
    return dataclasses.replace(
        launch, kernel=name, file=name, device=name, source=f"// {name}\n{launch.source}", buffers=buffers, sites=sites
    )


def of_names(name):
    launch = named(racing(), name)
    w = gg.ones(2, requires_grad=True)
    timeline = short_timeline()
    timeline.data = {
        **timeline.data,
        "launches": [{**t, "kernel": name, "family": name} for t in timeline.data["launches"]],
    }
    yield from (viz.stepper(launch, title=name, lead=name), viz.memory(launch), viz.race(launch))
    yield from (viz.graph(w * w, {name: w}), timeline)


@pytest.mark.parametrize("name", [EVIL, LONG])
@pytest.mark.parametrize("width", [390, 1000])
def test_names_are_text_and_have_room(browser, tmp_path, name, width):
    for figure in of_names(name):
        with page(browser, saved(figure, tmp_path), width=width) as tab:
            assert tab.locator(".gg img, .gg script").count() == 0 and tab.title() != "run"
            root = "document.documentElement"
            assert tab.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"), figure.head()


def test_four_axes_fit_a_phone(browser, tmp_path):
    x, y = np.full((3, 4, 5, 6), -1e30), np.full((4, 1, 6), 1e-30)
    with page(browser, saved(viz.broadcasting(x, y, "mul"), tmp_path), width=390) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") == 390


def test_a_pair_can_be_left_and_come_back_to_in_a_page(browser, tmp_path):
    figure = viz.im2col(kernel_size=(2, 3))
    with page(browser, saved(figure, tmp_path)) as tab:
        pair = tab.get_by_role("radio", name="kernel 2×3", exact=True)
        assert pair.get_attribute("aria-checked") == "true"
        said = sentence(tab)
        tab.get_by_role("radio", name="kernel 2", exact=True).click()
        assert "the 2×2 window" in sentence(tab) and pair.is_enabled()
        pair.click()
        assert sentence(tab) == said and "the 2×3 window" in said


def test_a_loss_of_all_sizes_has_an_axis_that_can_be_read(browser, tmp_path):
    figure = viz.training()
    for k in range(100):
        figure.step(10.0 ** (k % 61 - 30))
    figure.epoch(0.083)
    figure.finish()
    with page(browser, saved(figure, tmp_path)) as tab:
        boxes = [t.bounding_box() for t in tab.locator(".curve").first.locator("text.side").all()]
        tops = sorted(b["y"] for b in boxes)
        assert len(boxes) >= 3 and all(b - a >= 12 for a, b in itertools.pairwise(tops))
        assert all("." not in t for t in tab.locator(".curve").nth(1).locator("text.side").all_text_contents())


def test_a_graph_too_large_to_be_read_opens_at_its_result(browser, tmp_path):
    y = w = gg.ones(2, requires_grad=True)
    for _ in range(300):
        y = y + w
    with page(browser, saved(viz.graph(y), tmp_path)) as tab:
        box = tab.locator(".graph .now").bounding_box()
        assert box["width"] > 90 and 0 < box["y"] < 900
        tab.get_by_role("button", name="show the whole graph").click()
        assert tab.locator(".graph .now").bounding_box()["width"] < 10


def test_the_button_that_plays_keeps_the_focus_when_the_figure_is_drawn_anew(browser, tmp_path):
    figure = viz.pooling()
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.get_by_role("button", name="play").click()
        assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "pause"
        tab.evaluate("const m = Object.values(gpugrad)[0]; m.set('data', { ...m.get('data') })")
        assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "play"


def test_a_million_work_items_are_drawn(browser, tmp_path):
    n = 1_000_000
    a = gg.Array.from_numpy(np.zeros(n, "f4"))
    with gg.trace() as t:
        gg.kernel("__kernel void one(__global float *o) { int i = get_global_id(0); o[i] = i % 7; }")(
            a, global_size=n, local_size=64
        )
    figure = viz.stepper(t)
    figure.work_item = n - 1
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab) == figure.describe().removeprefix("Step 1 of 1: ")


def test_a_store_after_thousands_of_reads_is_drawn_at_once(browser, tmp_path):
    n = 40_000
    a = gg.Array.from_numpy(np.zeros(n, "f4"))
    with gg.trace() as t:
        gg.kernel(
            "__kernel void f(__global const float *x, __global float *o, int n) {"
            " float s = 0; for (int k = 0; k < n; k++) s += x[k]; o[0] = s; }"
        )(a, gg.Array.from_numpy(np.zeros(1, "f4")), n, global_size=1)
    with page(browser, saved(viz.stepper(t), tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        tab.keyboard.press("End")
        assert sentence(tab) == f"Work-item 0 writes 0 to o[0], from {n} reads."
        assert tab.locator(".src mark").count() == 2  # the place that reads once, and the one that writes
