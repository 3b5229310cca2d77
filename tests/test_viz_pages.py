"""What holds of every figure in a real browser: sizes, names, no markup from data. Run by `make test-deep`."""

import json

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import cells, page, press, saved, sentence
from figures import product, racing, short_timeline, short_training
from sampling import some

import gpugrad as gg
from gpugrad import viz
from gpugrad.viz.page import page as page_of
from gpugrad.viz.page import read
from gpugrad.viz.words import num

pytestmark = pytest.mark.deep


def everything():
    w = gg.tensor([1.0], requires_grad=True)
    yield from (viz.im2col(padding=1), viz.col2im(), viz.conv2d(), viz.pooling(), viz.broadcasting(), viz.gemm())
    yield from (
        viz.softmax(),
        viz.reduce(),
        viz.digit(),
        viz.stepper(product()),
        viz.memory(product()),
        viz.graph(w * w),
    )
    yield from (short_timeline(), short_training(), viz.race(racing()))


@pytest.mark.parametrize("width", some([390, 1000, 760], every=2))
def test_nothing_hangs_over_the_edge_of_the_page_or_of_its_grid(browser, tmp_path, width):
    hidden = "[...document.querySelectorAll('.gridbox > .scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
    for figure in everything():
        with page(browser, saved(figure, tmp_path), width=width) as tab:
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, figure.head()
            assert tab.evaluate(hidden) == 0, figure.head()  # what does not fit is cropped, with a map that says so


def test_all_figures_live_on_one_page_each_under_a_megabyte(browser, tmp_path):
    figures = list(everything())
    assert all(len(json.dumps(f.data, allow_nan=False)) < 1_000_000 for f in figures)
    path = tmp_path / "all.html"
    path.write_text(page_of("all", *(f.fragment(f"f{k}") for k, f in enumerate(figures))), encoding="utf-8")
    with page(browser, path.as_uri()) as tab:
        assert tab.locator("section.gg").count() == len(figures) == 15
        assert all(text.strip() for text in tab.locator(".gg .say").all_inner_texts())


def test_everything_that_takes_the_focus_has_a_name_and_each_figure_a_live_region(browser, tmp_path):
    nameless = """[...document.querySelectorAll("button, input, [tabindex='0']")]
      .filter(e => !(e.getAttribute("aria-label") ?? e.textContent).trim()).map(e => e.outerHTML)"""
    for figure in everything():
        with page(browser, saved(figure, tmp_path)) as tab:
            assert tab.evaluate(nameless) == []
            assert tab.locator(".say[role=status][aria-live=polite]").count() == 1


@pytest.mark.parametrize(("wish", "seconds"), [("reduce", "0s"), ("no-preference", "0.12s")])
def test_nothing_moves_for_those_who_want_it_still(browser, tmp_path, wish, seconds):
    with page(browser, saved(viz.pooling(), tmp_path), reduced_motion=wish) as tab:
        cell = "getComputedStyle(document.querySelector('.c > rect')).transitionDuration"
        assert tab.evaluate(cell) == seconds


def test_no_two_cells_of_a_page_have_one_id(browser, tmp_path):
    path = tmp_path / "two.html"
    path.write_text(page_of("two", *(viz.pooling().fragment(name) for name in "ab")), encoding="utf-8")
    with page(browser, path.as_uri()) as tab:
        tab.locator("#b .gg .say").wait_for(state="attached")
        ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids)) > 80


def test_numbers_are_written_as_in_python(browser, tmp_path, rng):
    """Both cut a number to five characters, each with its own language's rounding."""
    halves = [sign * (k + 0.5) * 10.0**e for k in range(10) for e in range(-5, 12) for sign in (1, -1)]
    edges = [factor * edge for edge in (0.005, 9.995, 99.95, 9999.5) for factor in (0.9999, 1, 1.0001)]
    values = [*(rng.standard_normal(5000) * 10.0 ** rng.integers(-12, 13, 5000)).tolist(), *halves, *edges, -0.0]
    written = """async ([text, values]) => {
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      return values.map((await import(url)).num);
    }"""
    with page(browser, saved(viz.pooling(), tmp_path)) as tab:
        assert tab.evaluate(written, [read("core.js"), values]) == [num(v) for v in values]


def test_tab_stops_once_at_a_choice_where_the_chosen_one_is_or_at_the_first(browser, tmp_path):
    stops = "g => [...g.querySelectorAll('button')].filter(b => b.tabIndex === 0).map(b => b.ariaLabel)"
    drawn = viz.digit()
    drawn.look(np.zeros((28, 28), "u1"))
    for figure, stop in ((viz.pooling(), "stride 2"), (viz.digit(), "recorded 7"), (drawn, "recorded 0")):
        with page(browser, saved(figure, tmp_path)) as tab:
            groups = [group.evaluate(stops) for group in tab.get_by_role("radiogroup").all()]
            assert [stop] in groups and all(len(names) == 1 for names in groups)


def test_arrows_choose_among_options(browser, tmp_path):
    with page(browser, saved(viz.pooling(), tmp_path)) as tab:
        checked = "[...document.querySelectorAll('[aria-checked=true]')].map(e => e.getAttribute('aria-label')).join()"
        tab.get_by_role("radio", name="stride 2").focus()
        press(tab, "ArrowRight")
        assert "stride 3" in tab.evaluate(checked)
        press(tab, "ArrowRight")  # round to the first, on the figure that was drawn anew
        assert "stride 1" in tab.evaluate(checked)
        assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "stride 1"


def test_text_from_the_data_is_never_markup(browser, tmp_path):
    text = "__kernel void bad(__global float *a) { a[get_global_id(0)] = 1; /* <img src=x onerror=alert(1)> */ }"
    with gg.trace() as t:
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(4, "f4")), global_size=(4,), local_size=(4,))
    figure = viz.stepper(t.launches[-1], title="</script><script>window.broken = 1</script>", lead="<b>x</b>")
    with page(browser, saved(figure, tmp_path)) as tab:
        assert tab.evaluate("window.broken") is None and tab.locator("img").count() == 0
        assert tab.locator("h3").inner_text() == "</script><script>window.broken = 1</script>"


def test_names_from_the_data_are_never_markup_in_graph_and_image(browser, tmp_path):
    w = gg.tensor([1.0], requires_grad=True)
    name = "<img src=x onerror='window.broken = 1'>"
    figure = viz.graph(w * w, {name: w})
    path = tmp_path / "picture.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{figure.picture()}", encoding="utf-8")
    for address in (saved(figure, tmp_path), path.as_uri()):
        with page(browser, address, live=address != path.as_uri()) as tab:
            assert tab.evaluate("window.broken") is None
            assert tab.locator("img[src=x]").count() == 0
    assert name in figure.data["boxes"][0]["name"]


def test_a_million_cells_five_axes_and_what_is_no_number_are_drawn(browser, tmp_path):
    text = """__kernel void touch(__global const float *a, __global float *b) {
      int i = get_global_id(0);
      b[i] = a[i * 7];
    }"""
    a = gg.Array.from_numpy(np.full((1000, 1000), np.nan, "f4"))
    b = gg.Array.from_numpy(np.array([np.inf, -np.inf, 1, 2, 3, 4, 5, 6] * 3, "f4").reshape(2, 2, 1, 2, 3))
    with gg.trace() as t:
        gg.kernel(text)(a, b, global_size=16, local_size=8)
    figure = viz.stepper(t)
    assert len(json.dumps(figure.data, allow_nan=False)) < 100_000
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab) == "Work-item 0 reads a[0][0] = NaN from global memory."
        assert tab.locator(".gg svg *").count() < 8000
        assert "of 1000, columns 0–" in tab.locator(".where:visible").first.inner_text()
        # b's first cells: ∞, then −∞, in planes by its three leading axes
        assert tab.locator(".gg svg.grid[aria-label^='b,'] .pl").first.inner_html() == "0, 0, 0"
        assert {"∞", "−∞"} <= set(tab.locator(".gg svg.grid[aria-label^='b,'] .c text").all_text_contents())


def test_a_large_grid_is_cropped_and_its_minimap_moves_the_view(browser, tmp_path):
    figure = viz.im2col(np.arange(3 * 20 * 20).reshape(1, 3, 20, 20), 2)
    with page(browser, saved(figure, tmp_path)) as tab:
        assert "of 361" in tab.locator(".where").nth(1).inner_text()
        assert len(cells(tab, 1)) < 1000
        tab.locator("input[type=range]").focus()
        press(tab, "End")
        assert set(cells(tab, 1, "w0")) == set(figure.cells(360))
        tab.locator(".mini").nth(1).focus()
        shown = set(cells(tab, 1))
        press(tab, "ArrowLeft", 2)
        assert set(cells(tab, 1)) != shown


def test_the_frame_of_the_minimap_is_dragged_to_the_last_columns(browser, tmp_path):
    figure = viz.im2col(np.arange(2 * 12 * 12).reshape(1, 2, 12, 12), 3)
    with page(browser, saved(figure, tmp_path)) as tab:
        where = tab.locator(".where:visible").last
        assert "columns 0–" in where.inner_text() and "drag the frame" in where.inner_text()
        box = where.locator(".mini").bounding_box()
        tab.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=4)
        tab.mouse.up()
        assert "–99 of 100" in where.inner_text() and 99 in cells(tab, 1)


def test_what_is_marked_in_the_source_is_right_behind_characters_of_two_units(browser, tmp_path):
    text = "// 𝑦 = 2𝑥 🙂\n__kernel void k(__global float *x) { x[0] *= 2; }"
    x = gg.Array.from_numpy(np.ones(1, "f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    with page(browser, saved(viz.stepper(t), tmp_path)) as tab:
        assert tab.locator(".src mark").all_text_contents() == ["x[0]"]
