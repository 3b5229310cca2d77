"""What figures make of answers that come late, of errors, and of answers meant for others; in a real browser.

Here the test is the kernel: it sees what a figure sends, and answers when it likes. Run by `make test-deep`.
"""

import contextlib

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from browser import page, press, sentence

import gpugrad as gg
from gpugrad import viz
from gpugrad.viz.page import fragment
from gpugrad.viz.page import page as page_of

pytestmark = pytest.mark.deep

SENDS = "send(m) { (window.sent ??= []).push(m); }"
TELL = "window.tell = m => (heard['msg:custom'] ?? []).forEach(f => f(m));"


@contextlib.contextmanager
def live(browser, folder, figure):
    """The figure on a page, as if it had a kernel: `window.sent` is what it asked, `window.tell` answers."""
    piece = fragment("figure", figure._esm, {**figure.state(), "live": True, "store": {}})
    assert piece.count("send() {}") == 1 and piece.count("const url") == 1
    piece = piece.replace("send() {}", SENDS).replace("const url", f"{TELL}\nconst url")
    path = folder / "live.html"
    path.write_text(page_of("live", piece), encoding="utf-8")
    with page(browser, path.as_uri()) as tab:
        yield tab


def sent(tab):
    """What was asked since the last look."""
    return tab.evaluate("window.sent?.splice(0) ?? []")


def answered(figure, question):
    answers = []
    figure.send = answers.append
    figure._asked(figure, question, [])
    return answers[0]


def test_the_answer_to_a_drawing_does_not_replace_the_digit_that_was_taken_since(browser, tmp_path):
    figure = viz.digit(choice=3)
    drawn = "[...document.querySelectorAll('.pad .px')].map(c => +c.getAttribute('fill-opacity'))"
    with live(browser, tmp_path, figure) as tab:
        tab.locator(".pad").focus()
        press(tab, " ")  # a dot, of which the figure asks at once
        (first,) = sent(tab)
        tab.get_by_role("radio", name="recorded 7").click()
        assert sent(tab) == []  # one question at a time
        tab.evaluate("m => tell(m)", answered(figure, first))
        (second,) = sent(tab)
        tab.evaluate("m => tell(m)", answered(figure, second))
        assert np.abs(np.array(tab.evaluate(drawn)) - figure.examples[7].reshape(-1) / 255).max() < 0.006
        assert sentence(tab) == figure.describe() and "says 7" in figure.describe()


def test_an_answer_to_another_output_of_the_figure_is_not_taken(browser, tmp_path):
    figure = viz.digit(choice=3)
    with live(browser, tmp_path, figure) as tab:
        before = sentence(tab)
        question = {"ask": "image", "pixels": viz.digit(choice=1).data["image"]["data"], "view": "another"}
        tab.evaluate("m => tell(m)", answered(figure, question))
        assert sentence(tab) == before


def test_a_network_that_fails_says_so_and_the_pad_lives_on(browser, tmp_path):
    figure = viz.digit()
    with live(browser, tmp_path, figure) as tab:
        tab.locator(".pad").focus()
        press(tab, " ")
        (question,) = sent(tab)
        figure.model = gg.nn.Sequential(gg.nn.Linear(3, 4))
        answer = answered(figure, question)
        tab.evaluate("m => tell(m)", answer)
        assert sentence(tab) == f"not possible {answer['error']}" and "linear" in answer["error"]
        press(tab, "ArrowDown")
        assert len(sent(tab)) == 1


def many():
    """A stepper whose last groups' events stay with the kernel."""
    n = 60_000
    x = gg.Array.from_numpy(np.zeros(n, "f4"))
    with gg.trace() as t:
        text = "__kernel void one(__global float *o) { int i = get_global_id(0); o[i] = i % 7; }"
        gg.kernel(text)(x, global_size=n, local_size=25)
    return viz.stepper(t)


def test_steps_that_arrive_late_do_not_take_the_reader_from_where_he_went_since(browser, tmp_path):
    figure = many()
    with live(browser, tmp_path, figure) as tab:
        mini, far = tab.locator(".wis .mini"), 59_999
        mini.click(position={"x": 121, "y": 2})
        tab.locator(f".wis .c[data-i='{far}']").click()
        (question,) = sent(tab)
        assert sentence(tab).startswith("Fetching the steps of group ")
        mini.click(position={"x": 2, "y": 2})
        near = tab.locator(".wis .c[data-i]").first
        here = f"Work-item {near.get_attribute('data-i')} "
        near.click()
        assert sentence(tab).startswith(here)
        tab.evaluate("m => tell(m)", {"group": question["group"], "chunk": figure.steps.chunk(question["group"])})
        assert sentence(tab).startswith(here)
        mini.click(position={"x": 121, "y": 2})
        tab.locator(f".wis .c[data-i='{far}']").click()
        assert sentence(tab).startswith(f"Work-item {far} ") and sent(tab) == []  # it is there now
