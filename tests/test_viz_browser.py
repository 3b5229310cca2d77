"""The figures in a real browser: what the page shows is what the trace says. Run by `make test-deep`."""

import dataclasses
import json

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import cells, page, press, sentence

import gpugrad as gg
from gpugrad import viz
from gpugrad.models import course_cnn
from gpugrad.viz.page import page as page_of
from gpugrad.viz.words import num

pytestmark = pytest.mark.deep


def saved(figure, folder):
    return figure.save(folder / "figure.html").as_uri()


def product(variant="tiled"):
    rng = np.random.default_rng(5)
    a, b = (gg.Array.from_numpy(rng.integers(0, 9, s).astype("f4")) for s in ((6, 7), (7, 5)))
    with gg.trace(watch="*") as t:
        gg.kernels.gemm(a, b, variant=variant)
    return t.launches[-1]


# static pages


def test_im2col_at_every_position_is_what_the_trace_says(browser, tmp_path):
    figure = viz.im2col(padding=1, stride=2)
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        x, col = figure.relation.values
        for pos in range(9):
            figure.pos = pos
            assert sentence(tab) == figure.describe()
            column = {o: num(col[o]) for o in figure.cells(pos)}
            assert cells(tab, 1, "w0") == column
            read = {i: num(x[i]) for o in column for _, i in figure.relation.sources(o)}
            assert cells(tab, 0, "r0") == read
            press(tab, "ArrowRight")
        press(tab, "Home")
        assert tab.locator("input[type=range]").get_attribute("aria-valuetext") == "output (0,0), column 0 of 9"
        press(tab, "End")
        assert "column 8 of 9" in tab.locator("output").inner_text()


def test_pointing_at_a_pixel_shows_its_partners(browser, tmp_path):
    figure = viz.im2col()
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator(".gg svg.grid").nth(0).locator(".c[data-i='12']").hover()
        partners = {int(o) for o, i in zip(figure.relation.to, figure.relation.at, strict=True) if i == 12}
        assert set(cells(tab, 1, "w")) == partners and len(partners) == 9
        assert sentence(tab).startswith("x[0][0][2][2] = ") and "read 9 times" in sentence(tab)
        tab.locator(".gg svg.grid").nth(1).locator(".c[data-i='0']").hover()
        assert sentence(tab).startswith("col[0][0][0] holds x[0][0][0][0] = ")


def same_map(tab, figure):
    """Every number in view of a map's grids is the device's."""
    values = figure.relation.values
    for k, array in enumerate(values[:-1] if figure.function == "col2im" else values):  # col2im counts windows there
        drawn = cells(tab, k)
        assert drawn and drawn == {i: num(array[i]) for i in drawn}


def same_steps(tab, figure):
    """At the last step of the work-item, what it knows of the buffers in global memory is the device's."""
    tab.locator("input[type=range]").focus()
    press(tab, "End")
    figure.step = len(figure.steps.of(figure.work_item)) - 1
    for b in figure.launch.buffers:
        if b.space == "global":
            drawn = dict(
                tab.locator(f".buf.global svg.grid[aria-label^='{b.name},'] .c[data-i]:not(.none)").evaluate_all(
                    "all => all.map(c => [+c.dataset.i, c.querySelector('text').textContent])"
                )
            )
            array = b.after.reshape(-1)
            assert drawn and drawn == {i: num(array[i]) for i in drawn}
    press(tab, "Home")
    figure.step = 0


EXPLORERS = [
    *(viz.im2col, viz.conv2d, viz.softmax),
    *(
        pytest.param(f, marks=pytest.mark.full)
        for f in (viz.col2im, viz.pooling, viz.broadcasting, viz.gemm, viz.reduce)
    ),
]


@pytest.mark.parametrize("make", EXPLORERS)
def test_each_option_of_a_page_gives_what_the_device_gave(browser, tmp_path, make):
    figure = make()
    start, tried = dict(figure.params), 0
    same = same_map if hasattr(figure, "relation") else same_steps
    with page(browser, saved(figure, tmp_path)) as tab:
        for control in figure.controls:
            key, label = control["key"], control["label"]
            named = [o if isinstance(o, list) else [o, str(o)] for o in control["options"]]
            buttons = {v: tab.get_by_role("radio", name=f"{label} {text}", exact=True) for v, text in named}
            for value, button in buttons.items():
                if value == start[key] or button.is_disabled():
                    continue
                button.click()
                figure.choose(**{key: value})
                assert button.get_attribute("aria-checked") == "true"
                assert figure.describe().split(": ", 1)[-1] == sentence(tab).split(": ", 1)[-1]
                same(tab, figure)
                buttons[start[key]].click()
                figure.choose(**start)
                tried += 1
    assert tried >= 1  # of a product the page holds one more variant: the rest is more than a page takes


def test_what_needs_the_device_is_closed_on_a_page_and_says_so(browser, tmp_path):
    figure = viz.im2col(np.ones((1, 1, 3, 3)), 3)
    with page(browser, saved(figure, tmp_path)) as tab:
        closed = tab.get_by_role("radio", name="dilation 2", exact=True)
        assert closed.is_disabled() and closed.get_attribute("title").startswith("Needs the device")
        assert "needs the device" in tab.locator("small.closed").inner_text()


@pytest.mark.parametrize("variant", ["gather", pytest.param("scatter", marks=pytest.mark.full)])
def test_col2im_at_every_pixel_is_what_the_trace_says(browser, tmp_path, variant):
    figure = viz.col2im(variant=variant)
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        for pos in range(25):
            figure.pos = pos
            assert sentence(tab) == figure.describe()
            assert set(cells(tab, 0, "r")) == {i for _, i in figure.relation.sources(pos)}
            press(tab, "ArrowRight")
        counts = [len(figure.relation.sources(i)) for i in range(25)]
        assert cells(tab, 1) == {i: str(n) for i, n in enumerate(counts)}
        tab.get_by_role("radio", name="the sum").click()
        assert cells(tab, 1) == {i: num(v) for i, v in enumerate(figure.relation.values[1])}


@pytest.mark.parametrize("variant", ["naive", "tiled"])
def test_every_step_of_a_work_item_is_what_the_trace_says(browser, tmp_path, variant):
    launch = product(variant)
    figure = viz.stepper(launch)
    with page(browser, saved(figure, tmp_path)) as tab:
        for item in (0, 16 * 2 + 3):
            figure.work_item, figure.step = item, 0
            tab.locator(f".wis .c[data-i='{item}']").click()
            slider = tab.locator("input[type=range]")
            slider.focus()
            press(tab, "Home")
            steps = figure.steps.of(item)
            for n, step in enumerate(steps):
                figure.step = n
                assert figure.describe() == f"Step {n + 1} of {len(steps)}: {sentence(tab)}"
                marked = tab.locator(".src mark").all_inner_texts()
                site = launch.sites[step.site]
                assert (site.name if step.kind == "assign" and step.reads else site.text) in marked
                press(tab, "ArrowRight")
        c = launch.buffer("c").after.reshape(-1)
        out = tab.locator(".buf.out .c[data-i='13'] text")
        assert out.text_content() == num(c[2 * 5 + 3])


def test_the_player_jumps_plays_and_stops(browser, tmp_path):
    figure = viz.stepper(product())
    with page(browser, saved(figure, tmp_path), reduced_motion="reduce") as tab:
        tab.get_by_role("button", name="jump to the next store").click()
        assert " writes " in sentence(tab)
        tab.get_by_role("button", name="jump to the next barrier").click()
        assert "waits at the barrier for all 256 of group (0,0)" in sentence(tab)
        tab.locator("input[type=range]").focus()
        press(tab, " ")
        assert tab.get_by_role("button", name="pause").is_visible()
        before = tab.locator("output").inner_text()
        tab.wait_for_function(f"document.querySelector('.gg output').textContent !== {json.dumps(before)}")
        assert tab.locator(".say").get_attribute("aria-live") == "off"
        press(tab, " ")
        assert tab.get_by_role("button", name="play").is_visible()
        tab.get_by_role("radio", name="its group side by side").click()
        assert "their real order is not known" in sentence(tab)


def test_text_from_the_data_is_never_markup(browser, tmp_path):
    text = "__kernel void bad(__global float *a) { a[get_global_id(0)] = 1; /* <img src=x onerror=alert(1)> */ }"
    with gg.trace() as t:
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(4, "f4")), global_size=(4,), local_size=(4,))
    figure = viz.stepper(t.launches[-1], title="</script><script>window.broken = 1</script>", lead="<b>x</b>")
    with page(browser, saved(figure, tmp_path)) as tab:
        assert tab.evaluate("window.broken") is None and tab.locator("img").count() == 0
        assert tab.locator("h3").inner_text() == "</script><script>window.broken = 1</script>"


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


MAPS = [
    lambda: viz.pooling(kind="avg"),
    viz.broadcasting,
    lambda: viz.conv2d(kernel_size=2),
    lambda: viz.conv2d(kernel_size=2, stride=2, shows="dx"),
    lambda: viz.conv2d(kernel_size=2, dilation=2, shows="dweight"),
]


@pytest.mark.parametrize("make", MAPS)
def test_each_cell_of_a_map_is_what_the_trace_says(browser, tmp_path, make):
    figure = make()
    last = len(figure.names) - 1
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        for pos in range(int(np.prod(figure.shapes[last]))):
            figure.pos = pos
            assert sentence(tab) == figure.describe()
            for b in range(last):
                assert set(cells(tab, b, "r")) == {i for k, i in figure.relation.sources(pos) if k == b}
            assert cells(tab, last, "w") == {pos: num(figure.relation.values[last][pos])}
            press(tab, "ArrowRight")


ONLINE = pytest.param(lambda: viz.softmax(variant="online"), marks=pytest.mark.full, id="online softmax")


@pytest.mark.parametrize("make", [viz.softmax, ONLINE, viz.reduce, viz.gemm])
def test_each_step_of_a_family_is_what_the_trace_says(browser, tmp_path, make):
    figure = make()
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        steps = figure.steps.of(figure.work_item)
        for n in range(len(steps)):
            figure.step = n
            assert figure.describe() == f"Step {n + 1} of {len(steps)}: {sentence(tab)}"
            press(tab, "ArrowRight")


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


def test_the_stepper_opens_with_the_work_item_that_was_chosen(browser, tmp_path):
    n = 60_000  # too many events for all to be sent
    text = "__kernel void one(__global float *o) { int i = get_global_id(0); "
    text += "if (i != 9) o[i == 7 ? 3000000000L : i] = i; }"
    with gg.trace() as t:
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(n, "f4")), global_size=(n,), local_size=(100,))
    figure = viz.stepper(t)
    for item in (9, n - 1, 7):
        figure.work_item = item
        with page(browser, saved(figure, tmp_path)) as tab:
            assert figure.describe() in ("Step 1 of 1: " + sentence(tab), sentence(tab))
            assert tab.locator("[data-work-item]").get_attribute("data-work-item") == str(item)


def test_a_long_training_ends_with_its_own_last_loss(browser, tmp_path):
    figure = viz.training()
    for k in range(2000):
        figure.step(2 if k < 1999 else 0.25)
    figure.finish()
    with page(browser, saved(figure, tmp_path)) as tab:
        assert sentence(tab) == figure.describe() == "2,000 batches, the last loss 0.25."


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


def short_timeline():
    a = gg.Array.from_numpy(np.ones((32, 32), "f4"))
    with gg.profile() as p:
        gg.kernels.gemm(a, a)
    return viz.timeline(p)


def short_training():
    test = gg.data.mnist(train=False, source="subset")
    few = gg.data.ImageDataset(test.images[:100], test.labels[:100], "few")
    figure = viz.training(course_cnn(pretrained=True), few)
    figure.step(1)
    figure.epoch(0.5)
    figure.finish()
    return figure


def racing():
    """Each work-item reads what its neighbour writes, unordered; in this run, work-item 3 came too early."""
    text = """__kernel void shift(__global const float *a, __global float *b) {
      __local float t[8];
      int i = get_local_id(0);
      t[i] = a[i];
      b[i] = t[(i + 1) % 8];
    }"""
    a, b = (gg.Array.from_numpy(np.arange(8, dtype="f4") + k) for k in (1, 0))
    with gg.trace() as t:
        gg.kernel(text)(a, b, global_size=8, local_size=8)
    c = t.launches[-1].columns
    names = np.array([b.name for b in t.launches[-1].buffers])
    c.bits[(c.item == 3) & (c.kind == 0) & (names[c.buffer] == "t")] = 0
    return t.launches[-1]


def everything():
    w = gg.tensor([1.0], requires_grad=True)
    yield from (viz.im2col(), viz.col2im(), viz.conv2d(), viz.pooling(), viz.broadcasting(), viz.gemm(), viz.softmax())
    yield from (viz.reduce(), viz.digit(), viz.stepper(product()), viz.memory(product()), viz.graph(w * w))
    yield from (short_timeline(), short_training(), viz.race(racing()))


@pytest.mark.parametrize("width", [390, 1000])
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


def test_no_two_cells_of_a_page_have_one_id(browser, tmp_path):
    path = tmp_path / "two.html"
    path.write_text(page_of("two", *(viz.pooling().fragment(name) for name in "ab")), encoding="utf-8")
    with page(browser, path.as_uri()) as tab:
        tab.locator("#b .gg .say").wait_for(state="attached")
        ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids)) > 80


def test_arrows_choose_among_options(browser, tmp_path):
    with page(browser, saved(viz.pooling(), tmp_path)) as tab:
        checked = "[...document.querySelectorAll('[aria-checked=true]')].map(e => e.getAttribute('aria-label')).join()"
        tab.get_by_role("radio", name="stride 2").focus()
        press(tab, "ArrowRight")
        assert "stride 3" in tab.evaluate(checked)
        press(tab, "ArrowRight")  # round to the first, on the figure that was drawn anew
        assert "stride 1" in tab.evaluate(checked)
        assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "stride 1"


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


def test_what_is_marked_in_the_source_is_right_behind_characters_of_two_units(browser, tmp_path):
    text = "// 𝑦 = 2𝑥 🙂\n__kernel void k(__global float *x) { x[0] *= 2; }"
    x = gg.Array.from_numpy(np.ones(1, "f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    with page(browser, saved(viz.stepper(t), tmp_path)) as tab:
        assert tab.locator(".src mark").all_text_contents() == ["x[0]"]


def test_a_launch_that_took_no_time_is_drawn(browser, tmp_path):
    with gg.profile() as p:
        gg.kernels.elementwise("exp", gg.Array.from_numpy(np.ones(8, "f4")))
    p.launches[0] = dataclasses.replace(p.launches[0], end=p.launches[0].start)
    with page(browser, saved(viz.timeline(p), tmp_path)) as tab:  # fails on an error in the console
        assert tab.locator(".timeline .launch").count() == 1 and "NaN" not in sentence(tab)


def test_private_memory_that_is_left_is_told_as_in_python(browser, tmp_path):
    text = """__kernel void k(__global float *x) {
      int i = get_global_id(0) + 4;
      float own[2] = {1, 2}, *p = own, *none = 0;
      own[i] = p[i] = none[0] = 1;
      x[0] = own[0];
    }"""
    x = gg.Array.from_numpy(np.ones(1, "f4"))
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    figure = viz.stepper(t)
    with page(browser, saved(figure, tmp_path)) as tab:
        tab.locator("input[type=range]").focus()
        for figure.step in range(4):
            assert sentence(tab) == figure.describe().partition(": ")[2]
            press(tab, "ArrowRight")
