"""Explorers and steppers in a real browser: what the page shows is what the trace says. Run by `make test-deep`."""

import json

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import cells, page, press, saved, sentence
from figures import product

import gpugrad as gg
from gpugrad import viz
from gpugrad.viz.words import num

pytestmark = pytest.mark.deep


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


def test_a_cropped_grid_shows_all_the_cells_that_are_read_where_they_fit(browser, tmp_path):
    figure = viz.col2im(stride=1, padding=1)  # 25 columns, of which those that see a pixel span 13
    with page(browser, saved(figure, tmp_path), width=860) as tab:
        tab.locator("input[type=range]").focus()
        assert tab.locator(".mini").first.is_visible()
        for key, positions in (("ArrowRight", range(25)), ("ArrowLeft", reversed(range(25)))):
            for pos in positions:
                assert set(cells(tab, 0, "r")) == {i for _, i in figure.relation.sources(pos)}
                press(tab, key)


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


@pytest.mark.parametrize(("number", "group"), [(12, 4), (16, 1), (16, 16)])
def test_a_launch_of_a_few_work_items_is_seen_whole(browser, tmp_path, number, group):
    count = gg.kernel("__kernel void count(__global int *out) { int i = get_global_id(0); out[i] = i; }")
    out = gg.zeros(number, dtype=gg.int32)
    with gg.trace() as t:
        count(out, global_size=number, local_size=group)
    with page(browser, saved(viz.stepper(t), tmp_path)) as tab:
        assert tab.locator(".wis .c").count() == number
        assert not tab.locator(".wis .mini").is_visible()


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
