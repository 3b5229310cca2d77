"""Write each explorer as a page that lives without a kernel, into docs/_static/explorers; or draw the README's picture.

python tools/explorers.py              # the pages, and the pieces that docs/explorers.md shows
python tools/explorers.py --picture    # docs/_static/explorer.png, by Chromium (pip install playwright)
"""

import argparse
import shutil
from pathlib import Path

import numpy as np

import gpugrad as gg
import gpugrad.nn.functional as F
from gpugrad import viz
from gpugrad.models import course_cnn
from gpugrad.viz.page import page, style

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "_static" / "explorers"
ON_THE_PAGE = ("im2col", "reduce", "digit")  # docs/explorers.md shows these, and links to the others


def stepper():
    """A product of two matrices, as the naive kernel makes it, recorded."""
    a, b = (gg.Array.from_numpy(np.random.default_rng(3).integers(0, 10, s).astype("f4")) for s in ((6, 7), (7, 5)))
    with gg.trace(watch="*") as t:
        gg.kernels.gemm(a, b, variant="naive")
    return viz.stepper(t)


def memory():
    a, b = (gg.Array.from_numpy(np.ones(s, "f4")) for s in ((32, 32), (32, 32)))
    with gg.trace() as t:
        gg.kernels.gemm(a, b, variant="tiled")
    return viz.memory(t)


def race():
    """A tiled product without the barrier between writing a tile and reading it."""
    text = """#define TS 4
// C = A B, tile by tile, with one barrier missing.
__kernel void product(__global const float *A, __global const float *B,
                      __global float *C, int M, int N, int K) {
  __local float As[TS][TS], Bs[TS][TS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int col = get_global_id(0), row = get_global_id(1);
  float acc = 0;
  for (int t = 0; t < K; t += TS) {
    As[ly][lx] = t + lx < K ? A[row * K + t + lx] : 0;
    Bs[ly][lx] = t + ly < K ? B[(t + ly) * N + col] : 0;
    for (int k = 0; k < TS; k++)
      acc += As[ly][k] * Bs[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * N + col] = acc;
}
"""
    rng = np.random.default_rng(3)
    a, b = (gg.Array.from_numpy(rng.integers(1, 10, s).astype("f4")) for s in ((8, 6), (6, 8)))
    c = gg.Array.from_numpy(np.zeros((8, 8), "f4"))
    return viz.race(gg.sanitize(text, a, b, c, 8, 8, 6, global_size=(8, 8), local_size=(4, 4)))


def batch():
    x, y = gg.data.mnist(source="subset")[:64]
    return gg.tensor(x), gg.tensor(y)


def graph():
    model = course_cnn(pretrained=True)
    x, y = batch()
    return viz.graph(F.cross_entropy(model(x), y), model)


def a_training():
    """A short run: two epochs on a fifth of the shipped digits."""
    model, train = course_cnn(), gg.data.mnist(source="subset")
    test = gg.data.mnist(train=False, source="subset")
    optimizer = gg.optim.Adam(model.parameters(), lr=2e-3)
    view = viz.training(model, test)
    for _ in range(2):
        for k in range(0, 2048, 64):
            x, y = train[k : k + 64]
            loss = F.cross_entropy(model(gg.tensor(x)), gg.tensor(y))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            view.step(loss)
        with gg.no_grad():
            right = [(model(gg.tensor(x)).numpy().argmax(1) == y).mean() for x, y in (test[:1000], test[1000:2000])]
        view.epoch(float(np.mean(right)))
    view.finish()
    return view


def timeline():
    model = course_cnn()
    optimizer = gg.optim.Adam(model.parameters())
    x, y = batch()

    def step():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    with gg.profile() as p:
        step()
    return viz.timeline(p)


FIGURES = {
    "im2col": lambda: viz.im2col(padding=1, stride=2), "col2im": viz.col2im, "conv2d": lambda: viz.conv2d(padding=1),
    "pooling": viz.pooling, "broadcasting": viz.broadcasting, "gemm": viz.gemm, "softmax": viz.softmax,
    "reduce": viz.reduce, "stepper": stepper, "memory": memory, "race": race, "graph": graph, "digit": viz.digit,
    "training": a_training, "timeline": timeline,
}  # fmt: skip


def write(folder=FOLDER, names=tuple(FIGURES)):
    """NAME.html for each, and NAME.fragment.html of those that the documentation shows."""
    gg.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "style.fragment.html").write_text(f"<style>{style()}</style>", encoding="utf-8")
    for name in names:
        figure = FIGURES[name]()
        piece = figure.fragment(f"explorer-{name}")
        (folder / f"{name}.html").write_text(page(figure.data["title"], piece), encoding="utf-8")
        if name in ON_THE_PAGE:
            (folder / f"{name}.fragment.html").write_text(piece, encoding="utf-8")


def picture(out=FOLDER.parent / "explorer.png"):
    """The im2col explorer, pointed at a pixel."""
    from playwright.sync_api import sync_playwright

    write(names=("im2col",))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 900, "height": 1200}, color_scheme="light")
        tab.goto((FOLDER / "im2col.html").as_uri())
        tab.locator("input[type=range]").focus()
        for _ in range(4):
            tab.keyboard.press("ArrowRight")
        tab.evaluate("document.activeElement.blur()")
        tab.locator(".gg svg.grid").nth(0).locator(".c[data-i='6']").hover()
        tab.locator(".gg").screenshot(path=out)
        browser.close()
    print(f"{out}: {out.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--picture", action="store_true")
    picture() if arguments.parse_args().picture else write()
