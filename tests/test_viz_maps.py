"""Which cell goes into which: the figures of im2col and col2im against loops in NumPy."""

import errno
import json
import os
from itertools import product as every

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

import gpugrad as gg
from gpugrad import viz
from gpugrad.viz.words import num, unpack


def windows(N, C, H, W, KH, KW, SH, SW, PH, PW, DH, DW):
    """{cell of col: pixel of x}, both flat, by the definition."""
    OH, OW = (H + 2 * PH - DH * (KH - 1) - 1) // SH + 1, (W + 2 * PW - DW * (KW - 1) - 1) // SW + 1
    found = {}
    for n, c, kh, kw, oh, ow in every(*map(range, (N, C, KH, KW, OH, OW))):
        h, w = oh * SH - PH + kh * DH, ow * SW - PW + kw * DW
        if 0 <= h < H and 0 <= w < W:
            k = (c * KH + kh) * KW + kw
            found[(n * C * KH * KW + k) * OH * OW + oh * OW + ow] = ((n * C + c) * H + h) * W + w
    return found, (OH, OW)


@pytest.mark.parametrize("variant", gg.kernels.variants("im2col"))
def test_im2col_links_each_cell_of_col_with_its_pixel(variant):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 2, 5, 4)).astype("f4")
    figure = viz.im2col(x, (2, 3), stride=(2, 1), padding=(1, 2), dilation=(2, 1), variant=variant)
    expected, (OH, OW) = windows(2, 2, 5, 4, 2, 3, 2, 1, 1, 2, 2, 1)
    r = figure.relation
    assert dict(zip(r.to.tolist(), r.at.tolist(), strict=True)) == expected
    reference = np.zeros(2 * 12 * OH * OW, "f4")
    reference[list(expected)] = x.reshape(-1)[list(expected.values())]
    np.testing.assert_array_equal(r.values[1], reference)
    assert figure.shapes[1] == (2, 12, OH * OW)


@pytest.mark.parametrize("variant", ["gather", "scatter"])
def test_col2im_links_each_pixel_with_the_cells_that_are_added_to_it(variant):
    figure = viz.col2im(output_size=(5, 4), kernel_size=(3, 2), stride=(2, 1), padding=1, variant=variant)
    expected, _ = windows(1, 1, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1)
    r = figure.relation
    assert {(int(j), int(i)) for j, i in zip(r.at, r.to, strict=True)} == set(expected.items())
    assert len(r.to) == len(expected)
    sums = np.zeros(20)
    np.add.at(sums, list(expected.values()), r.values[0][list(expected)])
    np.testing.assert_array_equal(r.values[1], sums)
    assert r.atomic == (variant == "scatter")


def test_the_browser_gets_the_device_s_numbers():
    figure = viz.im2col(padding=1, stride=2)
    data = json.loads(json.dumps(figure.data, allow_nan=False))
    x, col = (unpack(b["values"]) for b in data["buffers"])
    reference = gg.kernels.im2col(gg.Array.from_numpy(x.reshape(1, 2, 5, 5).astype("f4")), 3, 2, 1).numpy()
    np.testing.assert_array_equal(col, reference.reshape(-1))
    assert data["params"]["stride"] == 2 and len(json.dumps(data)) < 20_000


def test_im2col_says_what_a_position_is():
    figure = viz.im2col(padding=1, stride=2)
    figure.pos = 4
    assert figure.describe() == (
        "Output position (1,1): the 3×3 window of every channel is read and written as column 4 of col, "
        "2·3·3 = 18 numbers."
    )
    figure.pos = 0
    assert figure.describe().endswith("18 numbers, 10 of them padding.")
    figure.choose(images=2)
    figure.pos = 9 + 5
    assert figure.describe().startswith("Output position (1,2) of image 1: ")
    assert figure.head() == (
        "im2col (naive, work-groups of 64): x 2×2×5×5 to col 2×18×9, kernel 3×3, stride 2, padding 1, dilation 1"
    )
    assert figure.data["bars"]["text"].startswith("col takes 3.24 times the memory of x")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_memory_of_an_im2col_is_that_of_its_numbers(dtype):
    figure = viz.im2col(gg.Array.from_numpy(np.ones((1, 1, 4, 4), dtype)), 2)
    says = [row["text"] for row in figure.data["bars"]["rows"]]
    size = np.dtype(dtype).itemsize
    assert says == [f"16 numbers, {16 * size} B", f"36 numbers, {36 * size} B"]


def test_col2im_says_what_is_added_and_in_which_order():
    figure = viz.col2im()
    values = figure.relation.values
    figure.pos = 6
    terms = [num(values[0][i]) for _, i in figure.relation.sources(6)]
    assert figure.describe() == (
        f"x[0][0][1][1]: 4 windows cover it, so 4 cells of col are added: {' + '.join(terms)} = {num(values[1][6])}. "
        "One work-item adds them, in this order."
    )
    figure.choose(variant="scatter")
    assert figure.describe().endswith("atomically, in no known order.")
    figure.choose(kernel=1, padding=0)
    figure.pos = 1
    assert figure.describe() == "x[0][0][0][1] is in no window: it becomes 0."


def test_texts_are_the_same_in_every_run_and_name_no_device():
    first, second = viz.im2col(), viz.im2col()
    assert repr(first) == repr(second) and first.first_frame() == second.first_frame()
    for text in (repr(first), first.first_frame()):
        assert first.relation.launch.device not in text
    scattered = [viz.col2im(variant="scatter").first_frame() for _ in range(2)]
    assert scattered[0] == scattered[1]


def test_nan_and_infinity_reach_the_browser():
    x = np.full((1, 1, 2, 2), np.nan, "f4")
    x[0, 0, 1, 1] = -np.inf
    figure = viz.im2col(x, 2)
    values = unpack(json.loads(json.dumps(figure.data, allow_nan=False))["buffers"][1]["values"])
    np.testing.assert_array_equal(values, x.reshape(-1))
    assert "NaN" in figure.first_frame()


def test_a_page_knows_the_options_that_were_computed_for_it(tmp_path):
    figure = viz.im2col()
    before = figure.describe(), dict(figure.params)
    store = figure.state()["store"]
    assert (figure.describe(), figure.params) == before
    names = [c["key"] for c in figure.controls]
    for key, value in (("kernel", 2), ("padding", 2), ("images", 2), ("variant", "rows")):
        name = "|".join(str({**figure.params, key: value}[n]) for n in names)
        assert store[name]["params"][key] == value
    assert len(figure.save(tmp_path / "im2col.html").read_bytes()) < 1_000_000


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: viz.im2col(np.zeros((1, 1, 2, 2)), 3), "im2col"),
        (lambda: viz.im2col(np.zeros((2, 2)), 3), "it needs 4 axes"),
        (lambda: viz.im2col(np.zeros((1, 0, 4, 4)), 3), "nothing to draw"),
        (lambda: viz.im2col(np.zeros((1, 1, 1, 1, 1)), 3), "it needs 4 axes"),
        (lambda: viz.im2col(np.zeros((8, 8, 28, 28)), 3), "fewer channels or images"),
        (lambda: viz.im2col(variant="fast"), "the figure draws naive, window, rows"),
        (lambda: viz.im2col(stride=0), "stride"),
        (lambda: viz.col2im(variant="planes"), "viz.stepper draws any"),
        (lambda: viz.col2im(np.zeros((1, 9, 9)), output_size=5), "give \\(height, width\\)"),
        (lambda: viz.col2im(np.zeros((1, 9, 8))), "col2im"),
        (lambda: viz.im2col().choose(strides=2), "there is no option strides"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()
    with pytest.raises(TypeError, match="give an array of real numbers"):
        viz.im2col("image")


def test_a_choice_from_the_browser_that_does_not_fit_is_answered():
    figure, sent = viz.im2col(np.zeros((1, 1, 3, 3)), 2), []
    figure.send = sent.append
    figure._asked(figure, {"ask": "params", "params": {**figure.params, "kernel": 3, "dilation": 2}}, [])
    assert "im2col" in sent[0]["error"] and figure.params["kernel"] == 2
    figure._asked(figure, {"ask": "params", "params": {**figure.params, "kernel": 3}}, [])
    assert figure.data["params"]["kernel"] == 3 and len(sent) == 1


def test_arrays_of_ones_own_are_saved_with_the_options_that_are_left(tmp_path):
    # The shapes and the kernel's size are given there, and so no option.
    for figure in (viz.broadcasting(np.ones((2, 1)), np.ones(3)), viz.conv2d(weight=np.ones((1, 2, 3, 3)))):
        assert figure.save(tmp_path / "own.html").stat().st_size > 50_000


@pytest.mark.parametrize("draw", [viz.im2col, viz.pooling, viz.conv2d])
def test_numpys_whole_numbers_are_numbers_as_any(draw):
    figure = draw(kernel_size=np.int64(2), padding=np.int32(1))
    figure.choose(stride=np.int64(2))
    assert (figure.params["kernel"], figure.params["stride"], figure.params["padding"]) == (2, 2, 1)
    json.dumps(figure.data, allow_nan=False)


HUGE = {
    "an image": lambda: viz.im2col(np.zeros((1, 1, 1000, 1000), "f4")),
    "channels": lambda: viz.im2col().choose(channels=10**9),
    "columns": lambda: viz.col2im().choose(images=10**9),
    "pooling": lambda: viz.pooling(np.zeros((1, 1, 1000, 1000), "f4")),
    "a result": lambda: viz.broadcasting(np.zeros((1000, 1)), np.zeros((1, 1000))),
    "filters": lambda: viz.conv2d().choose(kernel=10**6),
    "padding": lambda: viz.im2col(padding=1000),
    "padding of a convolution": lambda: viz.conv2d(padding=10_000),
    "reads of a convolution": lambda: viz.conv2d(np.zeros((1, 1, 100, 100)), np.zeros((1, 1, 50, 50))),
    "reads of pooling": lambda: viz.pooling(np.zeros((1, 1, 100, 100)), 50, 1),
}


@pytest.mark.parametrize("what", HUGE)
def test_what_is_too_large_to_draw_is_refused_before_it_is_recorded(what):
    with pytest.raises(ValueError, match=r"the picture would hold ([0-9,]+ cells and more|up to [0-9,]+ reads)"):
        HUGE[what]()


def test_a_window_that_is_none_is_refused_by_name():
    for bad in (None, 2.5, "x", float("nan")):
        with pytest.raises((ValueError, TypeError), match="conv2d: kernel_size is"):
            viz.conv2d().choose(kernel=bad)


@pytest.mark.parametrize("path", [None, 3, "a\0.html"])
def test_a_page_is_saved_under_the_name_of_a_file(path):
    with pytest.raises(TypeError, match="give the name of a file that ends in"):
        viz.im2col().save(path)


def test_a_page_that_cannot_be_written_leaves_the_one_before_whole(tmp_path, monkeypatch):
    figure, file = viz.im2col(), tmp_path / "im2col.html"
    before = figure.save(file).read_bytes()

    def full(opened):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        figure.save(file)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]
