"""Pooling, broadcasting, convolution, products, softmax and reductions: the figures' data against NumPy."""

import json

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

from gpugrad import viz
from gpugrad.viz.words import unpack


def made_of(figure, cell):
    """{(name of an input, flat index)} of an output cell."""
    return {(figure.names[b], i) for b, i in figure.relation.sources(cell)}


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_reads_the_pixels_of_its_window(kind):
    x = np.random.default_rng(1).standard_normal((1, 2, 5, 5)).astype("f4")
    figure = viz.pooling(x, 3, 2, 1, kind=kind)
    out = figure.relation.values[1].reshape(2, 3, 3)
    for c, oh, ow in np.ndindex(2, 3, 3):
        rows = [h for h in range(oh * 2 - 1, oh * 2 + 2) if 0 <= h < 5]
        columns = [w for w in range(ow * 2 - 1, ow * 2 + 2) if 0 <= w < 5]
        window = x[0, c][np.ix_(rows, columns)]
        expected = window.max() if kind == "max" else window.sum() / 9
        np.testing.assert_allclose(out[c, oh, ow], expected, rtol=1e-6)  # nine additions
        cells = {("x", (c * 5 + h) * 5 + w) for h in rows for w in columns}
        assert made_of(figure, (c * 3 + oh) * 3 + ow) == cells
    figure.pos = 0
    assert figure.describe().endswith("the largest of them." if kind == "max" else "their sum, divided by 9.")


@pytest.mark.parametrize("shapes", [((3, 1), (1, 4)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((2, 3), (1,))])
def test_broadcasting_reads_the_cell_that_serves(shapes):
    x, y = (np.random.default_rng(2).integers(0, 9, s).astype("f4") for s in shapes)
    figure = viz.broadcasting(x, y, "sub")
    shape = np.broadcast_shapes(*shapes)
    rows = [np.broadcast_to(np.arange(a.size).reshape(a.shape), shape).reshape(-1) for a in (x, y)]
    np.testing.assert_array_equal(figure.relation.values[2], (x - y).reshape(-1))
    for cell in range(int(np.prod(shape))):
        assert made_of(figure, cell) == {("x", int(rows[0][cell])), ("y", int(rows[1][cell]))}


def test_convolution_and_its_gradients_read_what_the_definition_says():
    figure = viz.conv2d(stride=2, padding=1, kernel_size=2)
    x, w, y = (v.reshape(s) for v, s in zip(figure.relation.values, figure.shapes, strict=True))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for co, oh, ow in np.ndindex(y.shape[1:]):
        assert y[0, co, oh, ow] == (padded[0, :, oh * 2 : oh * 2 + 2, ow * 2 : ow * 2 + 2] * w[co]).sum()
    seen = set()
    for o in range(y.size):
        seen |= {(i, o) for name, i in made_of(figure, o) if name == "x"}
    figure.choose(shows="dx")
    assert {(i, o) for i in range(x.size) for name, o in made_of(figure, i) if name == "dy"} == seen
    figure.choose(shows="dweight")
    dy, dw = figure.relation.values[1].reshape(y.shape), figure.relation.values[2].reshape(w.shape)
    for co, c, kh, kw in np.ndindex(w.shape):
        image = padded[0, c, kh : kh + 2 * y.shape[2] : 2, kw : kw + 2 * y.shape[3] : 2]
        assert dw[co, c, kh, kw] == (dy[0, co] * image).sum()


def test_gemm_counts_the_loads_of_each_variant():
    figure = viz.gemm(variant="tiled")
    rows = {r["name"]: r["value"] for r in figure.data["bars"]["rows"]}
    assert rows == {"naive": 2 * 6 * 5 * 20, "tiled": 6 * 20 + 20 * 5, "blocked": 6 * 20 + 20 * 5}
    product = figure.launch.buffer("c").after
    a, b = (figure.launch.buffer(n).before for n in "ab")
    np.testing.assert_array_equal(product, a @ b)
    assert figure.head().startswith("gemm (tiled), 16×16 work-items in groups of 16×16, ")


@pytest.mark.parametrize("variant", ["naive", "tiled", "blocked"])
def test_a_gemm_figure_stays_under_a_megabyte(variant):
    assert len(json.dumps(viz.gemm(variant=variant).data, allow_nan=False)) < 1_000_000


def test_softmax_overflows_where_the_trace_says_and_only_naively():
    figure = viz.softmax(variant="naive")
    said = [figure.steps.sentence(0, n) for n in range(len(figure.steps.of(0)))]
    assert sum("It overflows" in s for s in said) == 1 and any("That is no number" in s for s in said)
    assert np.isnan(figure.launch.buffer("out").after).any()
    for variant in ("stable", "online"):
        figure.choose(variant=variant)
        out = figure.launch.buffer("out").after
        x = figure.launch.buffer("x").before.astype("f8")
        # exp, a sum of six and a quotient, each rounded
        np.testing.assert_allclose(out, np.exp(x - x.max()) / np.exp(x - x.max()).sum(), rtol=2e-6)
        assert figure.step == 0


def test_softmax_names_its_stages():
    figure = viz.softmax(variant="stable")
    stages = {figure.data["stages"][str(s.site)] for s in figure.steps.of(0) if str(s.site) in figure.data["stages"]}
    assert stages == {"maximum", "sum", "result"}


def test_a_reduction_tree_halves_to_the_sum():
    figure = viz.reduce(np.arange(40))
    assert figure.launch.buffer("out").after == 780 and figure.data["tree"]
    figure.choose(variant="serial", op="max")
    assert figure.launch.buffer("out").after == 39 and not figure.data["tree"]
    assert figure.head().startswith("reduce (serial, max of 40), ")


@pytest.mark.parametrize("make", [viz.pooling, viz.broadcasting, viz.conv2d, viz.gemm, viz.softmax, viz.reduce])
def test_texts_are_the_same_in_every_run_and_name_no_device(make, tmp_path):
    first, second = make(), make()
    assert repr(first) == repr(second) and first.first_frame() == second.first_frame()
    device = (first.launch if hasattr(first, "launch") else first.relation.launch).device
    assert device not in repr(first) + first.first_frame() and device in first.data["caption"]
    page = first.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(page) < 1_000_000 and '"live":false' in page


def test_infinities_reach_the_browser():
    figure = viz.softmax(np.array([[1, -np.inf, 2]]))
    data = json.loads(json.dumps(figure.data, allow_nan=False))
    (x,) = [b for b in data["buffers"] if b["name"] == "x"]
    np.testing.assert_array_equal(unpack(x["values"]), np.array([1, -np.inf, 2], "f4"))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: viz.pooling(kind="mean"), "it is 'max' or 'avg'"),
        (lambda: viz.pooling(np.zeros((4, 4))), "needs 4 axes"),
        (lambda: viz.pooling(kernel_size=9), "pool"),
        (lambda: viz.broadcasting(np.zeros(3), np.zeros(4)), "do not broadcast"),
        (lambda: viz.broadcasting(np.zeros((1, 1, 1, 1, 2)), np.zeros(2)), "room for 4"),
        (lambda: viz.broadcasting(op="pow"), "one of add, sub, mul"),
        (lambda: viz.conv2d(shows="db"), "one of y, dx, dweight"),
        (lambda: viz.conv2d(np.zeros((1, 3, 4, 4)), np.zeros((1, 2, 2, 2))), "channels"),
        (lambda: viz.gemm(np.zeros((2, 3)), np.zeros((2, 3))), "as many as b's rows"),
        (lambda: viz.gemm(np.zeros((900, 900)), np.zeros((900, 900))), "too many to step through"),
        (lambda: viz.gemm(variant="warp"), "viz.stepper draws any"),
        (lambda: viz.softmax(np.zeros((0, 3))), "nothing to draw"),
        (lambda: viz.reduce(op="var"), "one of sum, max, min"),
        (lambda: viz.broadcasting(op=["add"]), "op is \\['add'\\]; it is one of add, sub, mul"),
        (lambda: viz.conv2d(shows=["y"]), "shows is \\['y'\\]; it is one of y, dx, dweight"),
        (lambda: viz.gemm(variant=["naive"]), "variant is \\['naive'\\]; the figure draws naive, tiled, blocked"),
        (lambda: viz.broadcasting(np.zeros(3)), "y is missing; give both"),
        (lambda: viz.broadcasting().choose(op="pow"), "op is 'pow'; it is one of add, sub, mul"),
        (lambda: viz.broadcasting().choose(shapes="zz"), "shapes is 'zz'; it is one of column and row"),
        (lambda: viz.gemm().choose(variant="warp"), "one of naive, tiled, blocked"),
        (lambda: viz.conv2d().choose(shows="zz"), "one of y, dx, dweight"),
        (lambda: viz.conv2d(weight=np.ones((1, 2, 2, 2))).choose(kernel=3), "no option kernel"),
        (lambda: viz.pooling().choose(kind="zz"), "one of max, avg"),
        (lambda: viz.softmax().choose(row="zz"), "one of small, large, masked"),
        (lambda: viz.im2col().choose(channels=0), "channels is 0; it is a whole number from 1 on"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("x", [["1", "2"], [1 + 2j], np.array([1j]), [[1], [2, 3]], [None]])
def test_what_is_no_real_number_is_refused(x):
    with pytest.raises(TypeError, match=r"reduce: x is .* give an array of real numbers"):
        viz.reduce(x)
