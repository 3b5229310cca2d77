"""Memory, race, digit, graph, training, timeline in a real browser show what there is. Run by `make test-deep`."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import cells, page, press, saved, sentence
from figures import product, racing, short_training

import gpugrad as gg
from gpugrad import viz
from gpugrad.models import course_cnn

pytestmark = pytest.mark.deep


def test_memory_says_in_the_page_what_it_says_in_python(browser, tmp_path):
    figure = viz.memory(product())
    with page(browser, saved(figure, tmp_path)) as tab:
        for k, place in enumerate(figure.places):
            tab.locator(".place").nth(k).click()
            tab.locator("input[type=range]").focus()
            figure.place = k
            for request in range(min(5, place["shown"])):
                figure.request = request
                assert sentence(tab) == figure.describe()
                words = {int(o) // 4 for o in figure.touched(k, request)[1]}
                sign = {"load": "r", "store": "w"}[place["kind"]]
                assert set(cells(tab, 0, sign)) <= words
                press(tab, "ArrowRight")


def test_a_race_is_drawn_as_a_pair_that_did_harm_and_as_the_lowest_numbered_one(browser, tmp_path):
    figure = viz.race(racing())
    race = figure.data["races"][0]
    with page(browser, saved(figure, tmp_path)) as tab:
        for pair in ("harm", "lowest"):
            tab.get_by_role("radio", name="did harm" if pair == "harm" else "lowest numbers").click()
            a, b = race["pairs"][pair]["ends"]
            assert sentence(tab).startswith(f"{a['who'].capitalize()} writes ")
            assert (race["pairs"][pair]["said"] in sentence(tab)) and f"{b['who']} reads it" in sentence(tab)
            who, cell = cells(tab, 0), cells(tab, 1)
            assert (who[a["place"]], who[b["place"]]) == ("①", "②")
            assert [i for i, t in cell.items() if t == "✕"] == [race["pairs"][pair]["cell"]]
            assert sorted(i for i, t in cell.items() if t) == race["cells"]


def test_recorded_digits_are_answered_without_a_kernel(browser, tmp_path):
    figure = viz.digit()
    with page(browser, saved(figure, tmp_path)) as tab:
        for d in range(10):
            tab.get_by_role("radio", name=f"recorded {d}", exact=True).click()
            figure.look(figure.examples[d])
            assert sentence(tab) == figure.describe()
            assert tab.locator(".answer .now .mono").first.inner_text() == str(figure.probabilities().argmax())
        assert tab.get_by_role("button", name="clear the pad").is_disabled()
        assert tab.locator(".layer canvas").count() == 5


def test_the_graph_is_walked_by_arrows(browser, tmp_path):
    w = gg.tensor([[1.0, 2.0]], requires_grad=True)
    figure = viz.graph((w * w).sum(), {"w": w})
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab).startswith("Sum gives 1 number: value 5.")
        tab.locator(".graph").focus()
        press(tab, "ArrowUp", 2)
        assert sentence(tab).startswith("w is a leaf, 1×2: values 1, 2. It has no gradient yet.")
        before = tab.locator(".graph").get_attribute("viewBox")
        tab.get_by_role("button", name="zoom in").click()
        assert tab.locator(".graph").get_attribute("viewBox") != before


def test_a_longer_sentence_does_not_move_the_graph(browser, tmp_path):
    w = gg.tensor([[1.0, 2.0]], requires_grad=True)
    figure = viz.graph((w * w).sum(), {"w": w})
    boxes = [{**b, "value": "many values " * 20} if b["kind"] == "leaf" else b for b in figure.data["boxes"]]
    figure.data = {**figure.data, "boxes": boxes}
    with page(browser, saved(figure, tmp_path), width=390) as tab:
        root, height = tab.locator(".graph"), "document.querySelector('.gg .say').clientHeight"
        for _ in range(3):
            tab.get_by_role("button", name="zoom in").click()
        root.focus()
        seen, was = root.get_attribute("viewBox").split()[2:], tab.evaluate(height)
        press(tab, "ArrowUp", 2)
        tab.wait_for_timeout(200)
        assert tab.evaluate(height) > was
        assert root.get_attribute("viewBox").split()[2:] == seen  # as near as before


def test_the_timeline_names_each_launch(browser, tmp_path):
    a = gg.Array.from_numpy(np.ones((32, 32), "f4"))
    with gg.profile() as p:
        for variant in ("naive", "tiled"):
            gg.kernels.gemm(a, a, variant=variant)
        gg.kernels.elementwise("exp", a)
    with page(browser, saved(viz.timeline(p), tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        for launch in p.launches:
            assert sentence(tab).startswith(f"{launch.kernel} (") and "NaN" not in sentence(tab)
            press(tab, "ArrowRight")
        assert tab.locator(".timeline .launch").count() == 3 and tab.locator(".rung").count() == 1


def test_a_launch_of_seconds_is_told_in_seconds(browser, tmp_path):
    with gg.profile() as p:
        gg.kernels.elementwise("exp", gg.Array.from_numpy(np.ones(8, "f4")))
    (launch,) = p.launches
    p.launches[0] = dataclasses.replace(launch, end=launch.start + 2_880_000_000)
    with page(browser, saved(viz.timeline(p), tmp_path)) as tab:
        assert "takes 2.88 s, from" in sentence(tab)
        assert "2.00 s" in tab.locator(".timeline .ax").all_text_contents()


def test_a_launch_that_took_no_time_is_drawn(browser, tmp_path):
    with gg.profile() as p:
        gg.kernels.elementwise("exp", gg.Array.from_numpy(np.ones(8, "f4")))
    p.launches[0] = dataclasses.replace(p.launches[0], end=p.launches[0].start)
    with page(browser, saved(viz.timeline(p), tmp_path)) as tab:  # fails on an error in the console
        assert tab.locator(".timeline .launch").count() == 1 and "NaN" not in sentence(tab)


def test_a_point_of_the_roofline_counts_operations_and_bytes_of_the_same_launches(browser, tmp_path):
    a = gg.Array.from_numpy(np.ones((32, 32), "f4"))
    with gg.profile() as p:
        for _ in range(2):
            gg.kernels.gemm(a, a, variant="naive")
    p.launches[0] = dataclasses.replace(p.launches[0], start=0, end=1000, bytes=100, flops=1000)
    p.launches[1] = dataclasses.replace(p.launches[1], start=1000, end=2000, bytes=None, flops=9000)
    with page(browser, saved(viz.timeline(p), tmp_path)) as tab:
        assert "1.0 GFLOP/s" in tab.locator(".roofline").get_attribute("aria-label")
        assert tab.locator(".rates tbody td").nth(6).inner_text() == "5.0"


def test_training_is_drawn_afterwards_too(browser, tmp_path):
    test = gg.data.mnist(train=False, source="subset")
    figure = viz.training(
        course_cnn(pretrained=True), gg.data.ImageDataset(test.images[:200], test.labels[:200], "few")
    )
    for k in range(30):
        figure.step(1 / (k + 1))
    figure.epoch(0.9)
    figure.finish()
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab) == figure.describe()
        shown = tab.locator(".confusion .c text").all_text_contents()
        assert [int(t) for t in shown] == np.array(figure.data["confusion"]).reshape(-1).tolist()


def test_a_long_training_ends_with_its_own_last_loss(browser, tmp_path):
    figure = viz.training()
    for k in range(2000):
        figure.step(2 if k < 1999 else 0.25)
    figure.finish()
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab) == figure.describe() == "2,000 batches, the last loss 0.25."


def test_a_network_that_gives_no_number_says_so_in_its_page(browser, tmp_path):
    model = course_cnn(pretrained=True)
    with gg.no_grad():
        model[-1].weight.copy_(gg.full(model[-1].weight.shape, float("nan")))
    test = gg.data.mnist(train=False, source="subset")
    training = viz.training(model, gg.data.ImageDataset(test.images[:20], test.labels[:20], "few"))
    training.step(float("nan"))
    training.finish()
    for figure in (viz.digit(model), training):
        with page(browser, saved(figure, tmp_path)) as tab:
            assert sentence(tab) == figure.describe()
            assert set(tab.locator(".answer .mono:last-child").all_text_contents()) == {"NaN"}


THEMES = {
    "the system's": lambda tab, dark: tab.emulate_media(color_scheme="dark" if dark else "light"),
    "JupyterLab's": lambda tab, dark: tab.evaluate(f"document.body.dataset.jpThemeLight = '{not dark}'.toLowerCase()"),
    "Sphinx's": lambda tab, dark: tab.evaluate(f"document.body.dataset.theme = '{'dark' if dark else 'light'}'"),
}


@pytest.mark.parametrize("whose", [pytest.param(t, marks=[pytest.mark.full] * (t != "JupyterLab's")) for t in THEMES])
def test_canvases_are_drawn_in_the_ink_of_a_theme_that_is_switched_while_one_looks(browser, tmp_path, whose):
    inks = """[...document.querySelectorAll("canvas")].map(c => {
      const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) return d[i] > 128 ? "light" : "dark"; })"""
    for figure in (viz.digit(), short_training()):
        with page(browser, saved(figure, tmp_path)) as tab:
            for dark in (False, True, False):
                THEMES[whose](tab, dark)
                wanted = "light" if dark else "dark"
                tab.wait_for_function(f"{inks}.every(ink => ink == null || ink === '{wanted}')")
                assert wanted in tab.evaluate(inks)
