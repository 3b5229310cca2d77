"""What the figures make of odd input: it is drawn right, or refused in a sentence that names what was called."""

import json
import os
import subprocess
import sys
import xml.dom.minidom

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

import gpugrad as gg
from gpugrad import viz
from gpugrad.models import course_cnn
from gpugrad.viz.words import pack_integers, pack_numbers, unpack


def recorded(text, *args, global_size, local_size=None, **options):
    with gg.trace(**options) as t:
        gg.kernel(text)(*args, global_size=global_size, local_size=local_size)
    return t.launches[0]


def zeros(*shape):
    return gg.Array.from_numpy(np.zeros(shape, "f4"))


ONE = "__kernel void one(__global float *o) { int i = get_global_id(0); o[i] = i % 7; }"
NOTHING = "__kernel void nothing(int n) { int i = n; }"


# arrays as the browser gets them


@pytest.mark.parametrize(
    "values",
    [[], [3], [5] * 40, [0] * 30 + [1] * 30, list(range(300)), [-1, 2**31 - 1], [7] * 20 + [2] * 20 + list(range(3))],
)
def test_packed_integers_are_the_same_integers(values):
    a = np.array(values, "i8")
    np.testing.assert_array_equal(unpack(pack_integers(a)), a)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, 2.0, -3.0], "i1"),
        ([0.5, 2.0], "f4"),
        ([np.nan, 1.0], "f4"),
        ([np.inf, -np.inf], "f4"),
        ([-0.0, 1.0], "f4"),
        ([2.0**20, 1.0], "f4"),
        ([np.nan, 0.1], "f8"),
        ([1e300], "f8"),
    ],
)
def test_packed_numbers_keep_every_bit_in_the_narrowest_type(values, kind):
    packed = pack_numbers(np.array(values))
    assert packed["type"] == kind
    held = unpack(packed).astype("f8")
    np.testing.assert_array_equal(held, values)
    assert (np.signbit(held) == np.signbit(values)).all()


# sizes


@pytest.mark.parametrize(("n", "local"), [(20_000, 1), (20_000, 2), (1_000_000, 64)])
def test_a_launch_of_many_small_groups_stays_below_a_megabyte(n, local):
    figure = viz.stepper(recorded(ONE, zeros(n), global_size=n, local_size=local))
    assert len(json.dumps(figure.data)) < 1_000_000
    figure.work_item = n - 1  # its group came not along, and is fetched
    assert figure.describe() == f"Step 1 of 1: Work-item {n - 1} writes {(n - 1) % 7} to o[{n - 1}]."
    sent = []
    figure.send = sent.append
    figure.asked_group(figure, {"ask": "group", "group": (n - 1) // local}, [])
    assert unpack(sent[0]["chunk"]["items"])[-1] == n - 1


def test_a_work_item_that_reads_a_lot_before_it_writes_is_drawn():
    n = 20_000
    text = "__kernel void f(__global float *o, int n) { float s = 0; for (int k = 0; k < n; k++) s += o[k]; o[0] = s; }"
    figure = viz.stepper(recorded(text, zeros(n), n, global_size=1))
    figure.step = n
    assert figure.describe() == f"Step {n + 1} of {n + 1}: Work-item 0 writes 0 to o[0], from {n} reads."
    assert sum(len(step.reads) for step in figure.steps.of(0)) == n  # not half of its square


@pytest.mark.parametrize("draw", [lambda: viz.softmax(np.ones((4096, 1))), lambda: viz.gemm(variant="blocked")])
def test_a_page_of_much_data_leaves_out_options_rather_than_grow(draw, tmp_path):
    assert draw().save(tmp_path / "page.html").stat().st_size < 1_000_000


def many_places(n):
    """A kernel of n stores, each to a cell of the neighbour's too."""
    stores = " ".join(f"o[i + {k}] = {k};" for k in range(n))
    return f"__kernel void many(__global float *o) {{ int i = get_global_id(0); {stores} }}"


def test_of_a_hundred_places_a_few_requests_each_are_shown():
    figure = viz.memory(recorded(many_places(100), zeros(13_000), global_size=12_800, local_size=64))
    assert len(json.dumps(figure.data)) < 1_000_000
    assert len(figure.places) == 100 and {p["requests"] for p in figure.places} == {400}
    assert {p["shown"] for p in figure.places} == {12}
    few = viz.memory(recorded(many_places(2), zeros(13_000), global_size=12_800, local_size=64))
    assert {p["shown"] for p in few.places} == {400}


def test_of_many_races_the_first_are_drawn():
    figure = viz.race(recorded(many_places(30), zeros(100), global_size=64, local_size=64))
    assert figure.head() == "Data races of many: 20 of 29" and len(figure.data["races"]) == 20
    assert figure.describe().startswith("1 of 20: ")


# what an option can be


@pytest.mark.parametrize("draw", [viz.im2col, viz.col2im, viz.pooling, viz.conv2d])
def test_a_pair_is_an_option_as_any_number(draw):
    figure = draw(kernel_size=(2, 3), stride=[1, 2], padding=gg.tensor(1))
    (kernel,) = (c for c in figure.data["controls"] if c["key"] == "kernel")
    assert kernel["options"][-1] == [[2, 3], "2×3"] and figure.params["kernel"] == (2, 3)
    assert (figure.params["stride"], figure.params["padding"]) == ((1, 2), 1)
    here = json.loads(json.dumps(figure.data))["params"]
    chosen = [here[c["key"]] for c in figure.data["controls"]]
    key = "|".join(",".join(map(str, v)) if isinstance(v, list) else str(v) for v in chosen)
    assert key in figure.state()["store"]  # as the browser looks it up
    figure.choose(kernel=2)
    figure.choose(kernel=[2, 3])  # as the browser sends it
    assert figure.params["kernel"] == (2, 3)


def test_an_option_that_does_not_fit_leaves_the_figure_as_it_was():
    figure = viz.im2col()
    relation, said = figure.relation, figure.describe()
    with pytest.raises(ValueError, match="the picture would hold"):
        figure.choose(images=300)
    assert figure.relation is relation and figure.describe() == said


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_names_itself_in_what_it_refuses(kind):
    x = np.zeros((1, 1, 4, 4), "f4")
    for bad in ({"kernel_size": 5}, {"kernel_size": 0}, {"stride": 0}, {"padding": 2}, {"padding": -1}):
        with pytest.raises(ValueError, match=r"^pooling: "):
            viz.pooling(x, kind=kind, **bad)
    with pytest.raises(TypeError, match=r"^pooling: x is int32; it must be floating point"):
        viz.pooling(gg.ones(1, 1, 4, 4, dtype=gg.int32), kind=kind)
    with pytest.raises(ValueError, match=r"^pooling: padding is"):
        viz.pooling(x, kind=kind).choose(padding=2)


def test_what_is_not_given_fits_what_is():
    half = gg.ones(1, 1, 5, 5, dtype=gg.float16)
    assert viz.conv2d(half, shows="dweight").relation.values[2].dtype == np.float16
    assert viz.conv2d(None, np.ones((2, 3, 7, 6))).shapes[0] == (1, 3, 7, 6)
    assert viz.gemm(gg.ones(3, 4, dtype=gg.float16)).b.dtype == np.float16
    assert viz.gemm(None, np.ones((7, 2))).a.shape == (6, 7)


REFUSED = [
    (lambda: viz.softmax([[1.0, 1e300]]), "softmax: x holds 1e300, which is too large for float32"),
    (lambda: viz.reduce([[1.0]]), "reduce: x has shape .*; it needs 1 axis"),
    (lambda: viz.broadcasting([[1, 2], [3]], [1]), "broadcasting: x is list; give an array of real numbers"),
    (lambda: viz.broadcasting(gg.ones(2, dtype=gg.float16), [1.0]), "broadcasting: y is float32, x is float16"),
    (lambda: viz.broadcasting(np.ones((1,) * 5), [1.0]), "broadcasting: x has 5 axes; the picture has room for 4"),
    (lambda: viz.col2im(output_size=(None, 5)), "col2im: output_size is None"),
    (lambda: viz.conv2d(stride=np.array([1, 2])), "conv2d: stride is"),
    (lambda: viz.gemm(variant=np.array(["naive", "tiled"])), "gemm: variant is array"),
    (lambda: viz.pooling(kind=["max"]), "pooling: kind is"),
    (lambda: viz.race(recorded(NOTHING, 1, global_size=2)), "race: the launch of nothing holds no events"),
    (lambda: viz.stepper(recorded(ONE, zeros(4), global_size=4), title=3), "stepper: title is 3; give a text"),
    (lambda: viz.digit(gg.nn.Sequential(gg.nn.Flatten())), "digit: the model has no layer that computes"),
    (lambda: viz.training().step("x"), "training: loss is 'x'; give a number, or a tensor of one element"),
    (lambda: viz.training().epoch(None), "training: accuracy is None; give a number"),
    (lambda: viz.training().look("x"), "training: index is 'x'; it must be an integer"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_drawn_is_refused_by_name(number):
    call, said = REFUSED[number]
    with pytest.raises((ValueError, TypeError), match="^" + said):
        call()


def test_digits_that_are_none_are_refused_before_the_training():
    images, labels = np.zeros((3, 28, 28), "u1"), np.zeros(3, "u1")
    model = course_cnn(pretrained=True)
    for bad, said in (
        ((images[:0], labels[:0]), "it needs"),
        ((images[:, ::2], labels), "it needs"),
        ((images, labels + np.uint8(10)), "they must be digits, 0 to 9"),
    ):
        with pytest.raises(ValueError, match=f"training: test holds .*{said}"):
            viz.training(model, gg.data.ImageDataset(*bad, "few"))


def test_a_buffer_without_elements_has_no_range():
    figure = viz.stepper(recorded(ONE, zeros(0), global_size=1))
    assert "writes o[0], but o has 0 elements. Nothing was written." in figure.describe()


def test_a_position_beyond_the_last_is_the_last():
    with gg.profile() as p:
        gg.kernels.elementwise("exp", zeros(8))
    figure = viz.timeline(p)
    figure.pos = 10**9
    assert "Launch 1 is" in figure.describe()


# graphs


def test_a_graph_with_more_edges_than_a_page_holds_is_refused_at_once():
    made = [gg.ones(2, requires_grad=True)]
    for _ in range(250):
        made.append(gg.stack(made).sum(0))
    with pytest.raises(ValueError, match=r"graph: the edges behind this tensor pass [0-9,]+ layers"):
        viz.graph(made[-1])
    assert viz.graph(made[20]).describe().startswith("40 operations")


def test_a_weight_that_is_used_hundreds_of_times_is_drawn():
    y = w = gg.ones(2, requires_grad=True)
    for _ in range(800):
        y = y + w
    figure = viz.graph(y, {"w": w})
    assert len(json.dumps(figure.data)) + len(figure.picture()) < 1_000_000
    assert sum(figure.data["passed"]) == 800 * 799 // 2 and len(figure.data["lanes"]["0"]) == 799


def test_a_graph_of_thousands_of_leaves_is_refused():
    with pytest.raises(ValueError, match="graph: 2,000 leaves lie behind this tensor"):
        viz.graph(gg.cat([gg.ones(1, requires_grad=True) for _ in range(2000)]))


def test_names_of_leaves_are_texts_of_tensors():
    w = gg.ones(2, requires_grad=True)
    for names in ({3: w}, {"w": 3}, {w: "w"}):
        with pytest.raises(TypeError, match=r"graph: names has .* in it; give a text and the tensor it names"):
            viz.graph(w * w, names)


@pytest.mark.parametrize("name", ["a\0b", "\x1b[0m", "\ud800", "\uffff", "<img src=x onerror=alert(1)>", "&lt;"])
def test_a_first_frame_is_well_formed_whatever_the_names(name, tmp_path):
    w = gg.ones(2, requires_grad=True)
    figures = (viz.graph(w * w, {name: w}), viz.stepper(recorded(ONE, zeros(4), global_size=4), title=name))
    for figure in figures:
        xml.dom.minidom.parseString(figure.first_frame())
        assert "<img src=x" not in figure.first_frame()
        figure.picture()
        figure.save(tmp_path / "figure.HTML")


def test_a_long_name_stays_in_its_box():
    w = gg.ones(2, requires_grad=True)
    frame = viz.graph(w * w, {"features.0.convolution.weight": w}).first_frame()
    assert ">features.0.convol…<" in frame and "convolution" not in frame


# devices

MOVED = """
import numpy as np, gpugrad as gg
from gpugrad import viz
from gpugrad.models import course_cnn
first, second = gg.devices()
gg.use_device(first)
test = gg.data.mnist(train=False, source="subset")
few = gg.data.ImageDataset(test.images[:20], test.labels[:20], "few")
figure, digit, training = viz.conv2d(), viz.digit(), viz.training(course_cnn(pretrained=True), few)
gg.use_device(second)
for shows in ("dx", "dweight", "y"):
    figure.choose(shows=shows, padding=1)
digit.look(digit.examples[3])
training.step(1)
training.finish()
assert all(str(first) in f.data["caption"] for f in (figure, digit, training))
print(digit.describe())
"""


def test_figures_go_on_where_they_began_when_another_device_is_chosen():
    platform = gg.current_device().cl_device.platform.name
    if platform != "Portable Computing Language":
        pytest.skip("PoCL can show one CPU as two devices")
    env = {**os.environ, "POCL_DEVICES": "pthread basic"}
    env.pop("GPUGRAD_DEVICE", None)
    done = subprocess.run([sys.executable, "-c", MOVED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The network says 3")
