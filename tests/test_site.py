"""The site: lessons whose figures live on the page, without a kernel or a network. Run by `make test-deep`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")
pytest.importorskip("nbclient", reason="runs notebooks: pip install nbclient ipykernel")

import nbformat
from browser import page, press

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.deep

LESSON = [
    "import gpugrad as gg\nfrom gpugrad import viz\nfigure = viz.pooling()\nfigure",
    "with gg.trace() as t:\n    gg.exp(gg.tensor([0.0, 1.0]))\nviz.stepper(t)",
    "figure",
    "figure.choose(stride=3)",
    "print('no figure')",
]


@pytest.fixture
def live_lessons(monkeypatch):
    """tools/live_lessons.py, which is no module of the package."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    sys.modules.pop("notebooks", None)
    import live_lessons

    return live_lessons


def shown(cell):
    return "".join(o.data["text/html"] for o in cell.outputs if "data" in o and "text/html" in o.data)


def test_the_figures_of_a_lesson_live_in_its_page_as_the_lesson_left_them(live_lessons, browser, tmp_path):
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in LESSON])
    with live_lessons.apart():
        live_lessons.alive(lesson, tmp_path)
    assert [cell.source for cell in lesson.cells] == LESSON
    explorer, stepper, again, *others = map(shown, lesson.cells)
    assert explorer.startswith("<style>") and "<style>" not in stepper and "<script" in stepper
    assert again == '<p>The figure <a href="#figure-0">above</a>.</p>' and others == ["", ""]
    assert lesson.cells[4].outputs[0].text == "no figure\n"
    path = tmp_path / "lesson.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'>{explorer}{stepper}{again}", encoding="utf-8")
    with page(browser, path.as_uri()) as tab:
        assert tab.locator("section.gg").count() == 2
        assert tab.get_by_role("radio", name="stride 3").get_attribute("aria-checked") == "true"
        for figure in ("#figure-0", "#figure-1"):
            before = tab.locator(f"{figure} .say").inner_text()
            tab.locator(f"{figure} input[type=range]").focus()
            press(tab, "ArrowRight")
            assert tab.locator(f"{figure} .say").inner_text() != before
        tab.get_by_role("radio", name="stride 1").click()  # computed while the lesson ran
        assert tab.get_by_role("radio", name="stride 1").get_attribute("aria-checked") == "true"


def test_a_lesson_runs_again_when_it_or_the_package_is_newer_than_its_page(live_lessons, monkeypatch, tmp_path):
    monkeypatch.setattr(live_lessons, "PAGES", tmp_path)
    lesson, made = ROOT / "notebooks" / "00_first_kernel.ipynb", tmp_path / "00_first_kernel.ipynb"
    assert live_lessons.out_of_date([lesson]) == [lesson]
    made.write_text("{}")
    assert live_lessons.out_of_date([lesson]) == []
    os.utime(made, (0, 0))
    assert live_lessons.out_of_date([lesson]) == [lesson]


@pytest.mark.full
def test_the_site_builds_without_a_warning_and_every_lesson_moves(browser, tmp_path):
    for name in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(name, reason="builds the site: pip install 'gpugrad[docs]'")
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", tmp_path], cwd=ROOT, check=True)
    said = "slider => slider.closest('.gg').innerText"
    lessons = sorted((tmp_path / "lessons").glob("*.html"))
    assert [p.stem for p in lessons] == sorted(p.stem for p in (ROOT / "notebooks").glob("*.ipynb"))
    for path in lessons:
        with page(browser, path.as_uri()) as tab:
            sliders = tab.locator(".gg input[type=range]:enabled")
            assert sliders.count() >= 1, path.stem
            before = sliders.first.evaluate(said)
            sliders.first.focus()
            press(tab, "ArrowRight")
            assert sliders.first.evaluate(said) != before, path.stem
