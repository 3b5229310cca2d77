"""A real browser for tests: Debian's Chromium, driven by Playwright, with nothing but the page to talk to."""

import contextlib
import os
import shutil

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def chromium():
    """A browser; skips the test where there is none, and says what is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="drives the browser: pip install playwright")
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium, or CHROMIUM=/path/to/it")
    with sync_api.sync_playwright() as p:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = p.chromium.launch(executable_path=CHROMIUM, args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page(browser, address, width=1000, allowed="file://", live=True, **options):
    """An open page. At the end: no error was logged, and nothing was asked for from anywhere but `allowed`."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, **options)
    errors, requests = [], []
    tab.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda e: errors.append(str(e)))
    tab.on("request", lambda r: requests.append(r.url))
    try:
        tab.goto(address, timeout=90_000)
        if live and address.startswith("file:"):  # its script draws once the page is loaded
            tab.locator(".gg .say").first.wait_for(state="attached")
        yield tab
        assert errors == []
        elsewhere = [r for r in requests if not r.startswith((allowed, "blob:", "data:"))]
        assert elsewhere == []
    finally:
        tab.close()


def saved(figure, folder):
    """The address of the figure's page."""
    return figure.save(folder / "figure.html").as_uri()


def sentence(tab):
    """What the figure says now, as describe() would."""
    return tab.locator(".gg .say").first.inner_text().replace("✕ ", "").replace("\n", " ")


def cells(tab, grid, sign=None):
    """{flat index: text} of the cells in view of a grid (its number on the page), or of those that wear a sign."""
    chosen = f".c.{sign}" if sign else ".c"
    script = """([grid, chosen]) => [...document.querySelectorAll('.gg svg.grid')[grid].querySelectorAll(chosen)]
      .filter(c => c.dataset.i != null).map(c => [+c.dataset.i, c.querySelector('text').textContent])"""
    return dict(tab.evaluate(script, [grid, chosen]))


def press(tab, key, times=1):
    for _ in range(times):
        tab.keyboard.press(key)
