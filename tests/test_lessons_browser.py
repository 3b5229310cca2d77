"""Each lesson in JupyterLab, as `gpugrad lab` opens it: every control of every figure is moved through its range.

What the page says at each position is what the figure in the kernel says. `make test-deep` takes every lesson;
`.ci/run`, whose time is limited, the first LESSONS_SAMPLE of them.
"""

import contextlib
import os
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import press
from jupyter_lab import Kernel, opened, server

from gpugrad.course.lab import copy_lessons, shipped

pytestmark = pytest.mark.deep

LESSONS = [path.stem for path in sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))]
SAMPLE = int(os.environ.get("LESSONS_SAMPLE", len(LESSONS)))

# [title, what it says now] of each figure in the kernel; null where the page cannot say the same: of one without a
# position, and of a timeline, whose page says times.
SAYS = """[[f.data["title"], f.describe() if f.position and type(f).__name__ != "Timeline" else None]
  for f in __import__("ipywidgets").Widget.widgets.values() if hasattr(f, "describe")]"""

# What of a figure is cut off, or runs out of its cell or of the figure; what scrolls is not cut off. A grid does not
# scroll: it is cropped to its room, with a map that says so.
CUT_OFF = """figure => {
  const bad = [], all = figure.getBoundingClientRect();
  for (const e of figure.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest(".vh")) continue;
    const style = getComputedStyle(e);
    if (["hidden", "clip"].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && !(e instanceof SVGElement))
      bad.push("cut off: " + e.className + " " + e.textContent);
    if (e.matches(".gridbox > .scroll") && e.scrollWidth > e.clientWidth + 1) bad.push("scrolls: " + e.textContent);
    if (!e.closest(".scroll, .src, svg") && (box.right > all.right + 1 || box.left < all.left - 1))
      bad.push("over the edge: " + e.outerHTML.slice(0, 200));
  }
  for (const text of figure.querySelectorAll(".c text:not(.badge)")) {
    const [cell, box] = [text.parentNode.querySelector("rect"), text.getBoundingClientRect()];
    const room = cell?.getBoundingClientRect();
    if (room?.width && box.width && (box.left < room.left - 1 || box.right > room.right + 1))
      bad.push("wider than its cell: " + text.textContent);
  }
  return bad;
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The working copy that `gpugrad lab` makes, and JupyterLab on it -> (folder, address)."""
    folder = tmp_path_factory.mktemp("lessons")
    copy_lessons(shipped(), folder)
    with server(folder, GPUGRAD_DEVICE="pocl", GPUGRAD_PROGRESS=str(folder)) as address:
        yield folder, address


@contextlib.contextmanager
def run(browser, lab, lesson):
    """A lesson whose cells have all run, and its kernel, which ends after the page."""
    folder, address = lab
    kernel = None
    try:
        with opened(browser, address, lesson) as tab:
            kernel = Kernel(folder, address, lesson)
            tab.locator("#jp-MainMenu").get_by_text("Run", exact=True).click()
            tab.get_by_text("Run All Cells", exact=True).click()
            number = tab.locator(".jp-CodeCell").count()
            until = time.monotonic() + 600
            while kernel.value("get_ipython().execution_count") <= number:
                assert time.monotonic() < until, "the lesson has not come to its end"
                time.sleep(1)
            prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]"
            tab.wait_for_function(prompts + ".every(p => /\\d/.test(p.textContent))")
            yield tab, kernel
    finally:
        if kernel:
            kernel.close()


class Driver:
    """One figure on the page, moved by keyboard; after each key it is compared with the kernel."""

    def __init__(self, tab, kernel, number):
        self.tab, self.kernel = tab, kernel
        self.figure = tab.locator(".jp-OutputArea .gg").nth(number)
        self.figure.scroll_into_view_if_needed()
        self.moved = 0

    @property
    def title(self):
        """An option may change it."""
        return self.figure.locator("h3").inner_text()

    def sentence(self):
        """What the page says, but for the words about the rest of the group, which describe() leaves out."""
        said = self.figure.locator(".say").inner_text().replace("✕ ", "").replace("\n", " ")
        return said.split(" illustration ")[0]

    def agrees(self):
        """Wait until the page says what the kernel says -> the sentence."""
        until = time.monotonic() + 30
        while True:
            here = self.sentence()
            name = self.title
            mine = [said for title, said in self.kernel.value(SAYS) if title == name]
            # describe() puts the number of the step first
            if here and (None in mine or any(re.fullmatch(r"(Step \d+ of \d+: )?" + re.escape(here), m) for m in mine)):
                self.moved += 1
                return here
            assert time.monotonic() < until, f"{self.title}: the page says {here!r}, the kernel {mine}"
            time.sleep(0.2)

    def whole(self):
        assert self.figure.evaluate(CUT_OFF) == [], self.title

    def slider(self):
        """From its first position to its last in at most ten strides, and back by one."""
        bar = self.figure.locator("input[type=range]")
        last = int(bar.get_attribute("max"))
        bar.focus()
        press(self.tab, "Home")
        assert bar.input_value() == "0"
        said, texts, at = {self.agrees()}, [bar.get_attribute("aria-valuetext")], 0
        while at < last:
            press(self.tab, "PageUp")
            before, at = at, int(bar.input_value())
            assert at > before
            said.add(self.agrees())
            texts.append(bar.get_attribute("aria-valuetext"))
        press(self.tab, "End")
        assert int(bar.input_value()) == last
        self.whole()
        if last:
            assert len(said) > 1 and len(set(texts)) == len(texts), f"{self.title}: {texts}"
            press(self.tab, "ArrowLeft")
            assert int(bar.input_value()) == last - 1
            self.agrees()

    def groups(self):
        """Each option of each choice, and the first again."""
        groups = self.figure.locator("[role=radiogroup]")
        for k in range(groups.count()):
            options = groups.nth(k).locator("[role=radio]")
            labels = [options.nth(n).get_attribute("aria-label") for n in range(options.count())]
            first = groups.nth(k).locator("[aria-checked=true]").first.get_attribute("aria-label")
            for label in [x for x in labels if x != first] + [first]:
                self.option(label)

    def option(self, label):
        button = self.figure.get_by_role("radio", name=label, exact=True)
        button.focus()
        press(self.tab, "Enter")
        until = time.monotonic() + 30
        while button.get_attribute("aria-checked") != "true":
            assert time.monotonic() < until, f"{self.title}: {label} is not taken; {self.sentence()}"
            time.sleep(0.1)
        self.agrees()
        self.whole()

    def buttons(self):
        """Whatever else is pressed: it must not fail, and what plays is stopped again."""
        labels = self.figure.locator("button:not([role=radio])").evaluate_all(
            "all => all.map(b => b.getAttribute('aria-label') ?? b.textContent)"
        )
        for n, label in enumerate(labels):
            button = self.figure.locator("button:not([role=radio])").nth(n)
            if button.is_disabled():
                continue
            button.focus()
            press(self.tab, "Enter", 2 if label == "play" else 1)
            self.agrees()

    def grids(self):
        """Each grid and map that takes the focus: its cells by arrows, its ends, and the cell one is at is chosen."""
        places = self.figure.locator("svg.grid[tabindex='0'], .mini[tabindex='0'], .graph[tabindex='0']")
        for n in range(places.count()):
            if not places.nth(n).is_visible():
                continue
            places.nth(n).focus()
            for key in ("ArrowRight", "ArrowDown", "Enter", "End", "Enter", "Home", "Enter"):
                press(self.tab, key)
            places.nth(n).blur()  # a cell pointed at is told instead of the position, if it is one of no position
            self.agrees()
            self.whole()
        self.figure.locator("h3").hover()

    def all(self):
        self.agrees()
        self.whole()
        sliders = self.figure.locator("input[type=range]").count()
        assert sliders <= 1
        if sliders:
            self.slider()
        self.grids()
        self.groups()
        self.buttons()
        self.whole()


def test_a_first_start_asks_nothing_over_the_lesson(browser, lab):
    with opened(browser, lab[1], LESSONS[0]) as tab:
        time.sleep(5)  # JupyterLab asks for leave to fetch news some time after it has opened
        assert tab.locator(".Toastify__toast").all_inner_texts() == []


@pytest.mark.parametrize("lesson", LESSONS[:SAMPLE])
def test_every_control_of_every_figure_of_a_lesson(browser, lab, lesson, record_property):
    with run(browser, lab, lesson) as (tab, kernel):
        broken = ".jp-OutputArea-output:is([data-mime-type$='stderr'], [data-mime-type$='error'])"
        assert tab.locator(broken).all_inner_texts() == []
        number = tab.locator(".jp-OutputArea .gg").count()
        assert number == len(kernel.value(SAYS)) > 0
        # no kind of control but those that the driver knows
        assert tab.locator(".gg :is(select, textarea, input:not([type=range]))").count() == 0
        moved = 0
        for k in range(number):
            driver = Driver(tab, kernel, k)
            driver.all()
            moved += driver.moved
        record_property(f"{lesson}: positions compared with the kernel, of {number} figures", moved)
