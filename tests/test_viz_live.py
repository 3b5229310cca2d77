"""Graph, memory, digit, training, timeline: what the figures say is what there is."""

import dataclasses
import json
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

import traitlets

import gpugrad as gg
import gpugrad.nn.functional as F
from gpugrad import viz
from gpugrad.models import course_cnn
from gpugrad.viz.graph_layout import HEIGHT, WIDTH, layered
from gpugrad.viz.network import layers
from gpugrad.viz.smoothing import smooth
from gpugrad.viz.words import unpack


@pytest.fixture(scope="module")
def model():
    return course_cnn(pretrained=True)


# the graph


def small_graph():
    x, w, b = gg.tensor([[1.0, 2.0]]), gg.tensor([[3.0], [-4.0]], requires_grad=True), gg.zeros(1, requires_grad=True)
    return (F.relu(x @ w + b) ** 2).sum(), {"w": w, "b": b}


def test_the_graph_holds_each_operation_once_and_its_leaves_by_name():
    loss, names = small_graph()
    figure = viz.graph(loss, names)
    kinds = [(b["kind"], b["name"]) for b in figure.data["boxes"]]
    assert [n for k, n in kinds if k == "op"] == ["MatMul", "Add", "ReLU", "Pow", "Sum"]
    assert [n for k, n in kinds if k == "leaf"] == ["w", "b"]
    assert all(a < b for a, b in figure.data["edges"]) and figure.data["boxes"][-1]["result"]
    assert figure.describe() == "5 operations and 2 leaves; 0 of the leaves have a gradient."


def test_after_backward_the_graph_shows_gradients_and_what_was_freed():
    loss, names = small_graph()
    figure = viz.graph(loss, names)
    before = {b["name"]: b for b in figure.data["boxes"]}
    assert before["w"]["grad"] is None and before["w"]["value"] == "values 3, −4" and not before["ReLU"]["freed"]
    loss.backward()
    figure.refresh()
    after = {b["name"]: b for b in figure.data["boxes"]}
    assert after["w"]["grad"].startswith("values ") and after["ReLU"]["freed"]
    assert figure.describe().endswith("2 of the leaves have a gradient. What backward needs was freed.")


def test_a_tensor_used_twice_is_one_box():
    x = gg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    figure = viz.graph((y + y).sum())
    assert [b["name"] for b in figure.data["boxes"]] == ["leaf", "Mul", "Add", "Sum"]
    assert figure.data["edges"] == [(0, 1), (1, 2), (2, 3)]


def test_boxes_do_not_overlap_and_stand_below_what_they_need():
    rng = np.random.default_rng(3)
    needs = [sorted(set(rng.integers(0, i, min(i, 3)).tolist())) for i in range(60)]
    spots, _, (width, height) = layered(needs)
    for i, before in enumerate(needs):
        assert all(spots[j][1] < spots[i][1] for j in before)
    for y in {y for _, y in spots}:
        row = sorted(x for x, at in spots if at == y)
        assert all(b - a >= WIDTH for a, b in pairwise(row))
    assert min(x for x, _ in spots) >= 0 and max(x for x, _ in spots) + WIDTH <= width and height > 0


def test_no_edge_passes_behind_a_box():
    rng = np.random.default_rng(3)
    needs = [sorted(set(rng.integers(0, i, min(i, 3)).tolist())) for i in range(60)]
    spots, lanes, (width, _) = layered(needs)
    rows = sorted({y for _, y in spots})
    longest = {}
    for i, before in enumerate(needs):
        for j in before:
            between = [y for y in rows if spots[j][1] < y < spots[i][1]]
            assert [y for _, y in lanes.get(j, [])][: len(between)] == between
            longest[j] = max(longest.get(j, 0), len(between))
    assert {j: len(lane) for j, lane in lanes.items()} == {j: n for j, n in longest.items() if n}
    passed = [point for lane in lanes.values() for point in lane]
    assert passed
    for x, y in passed:
        assert 0 <= x <= width
        assert all(x < left or left + WIDTH < x for left, top in spots if top == y)


def test_the_way_past_a_box_is_drawn_live_and_in_the_first_frame():
    a, b = (gg.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    figure = viz.graph(a * b + a, {"a": a, "b": b})
    names = [box["name"] for box in figure.data["boxes"]]
    assert figure.data["passed"][figure.data["edges"].index((names.index("a"), names.index("Add")))] == 1
    ((x, y),) = figure.data["lanes"][str(names.index("a"))]
    mul = figure.data["boxes"][names.index("Mul")]
    assert y == mul["y"] and not mul["x"] <= x <= mul["x"] + WIDTH
    assert f"v{HEIGHT}" in figure.first_frame()


def test_what_has_no_graph_is_refused():
    with pytest.raises(ValueError, match="no history"):
        viz.graph(gg.zeros(2))
    with pytest.raises(TypeError, match="give a gpugrad tensor"):
        viz.graph(np.zeros(2))
    with pytest.raises(TypeError, match="names is list; give a module"):
        viz.graph(small_graph()[0], ["w"])
    y = gg.zeros(1, requires_grad=True)
    for _ in range(900):
        y = y + 1
    with pytest.raises(ValueError, match="more than 800"):
        viz.graph(y)


# memory


def recorded(body):
    text = "__kernel void touch(__global const float *a, __global float *b) { int i = get_global_id(0); " + body + " }"
    a, b = (gg.Array.from_numpy(np.zeros(64 * 32, "f4")) for _ in range(2))
    with gg.trace() as t:
        gg.kernel(text)(a, b, global_size=(64,), local_size=(64,))
    return viz.memory(t.launches[-1])


@pytest.mark.parametrize(
    ("index", "says"),
    [("i", "1 segment of 128 bytes is moved for 128 bytes, 100 % of them."),
     ("2 * i", "2 segments of 128 bytes are moved for 128 bytes, 50 % of them."),
     ("32 * i", "32 segments of 128 bytes are moved for 128 bytes, 3 % of them."),
     ("0 * i", "1 segment of 128 bytes is moved for 4 bytes, 3 % of them.")],
)  # fmt: skip
def test_memory_counts_the_segments_of_32_neighbours(index, says):
    figure = recorded(f"b[i] = a[{index}];")
    assert figure.describe().startswith("Work-items 0 to 31 read ") and figure.describe().endswith(says)
    figure.request = 1
    assert figure.describe().startswith("Work-items 32 to 63 read ") and figure.data["places"][0]["requests"] == 2


def test_memory_counts_the_words_that_a_bank_must_give():
    figure = recorded("__local float t[64 * 4]; t[4 * i] = 1; barrier(CLK_LOCAL_MEM_FENCE); b[i] = t[i];")
    said = {}
    for k, p in enumerate(figure.places):
        figure.place = k
        said[p["text"]] = figure.describe()
    assert said["t[4 * i]"].endswith("the busiest bank is asked for 4 words, so it takes 4 turns.")
    assert said["t[i]"].endswith("no bank is asked for more than one word, so all come at once.")
    json.dumps(figure.data, allow_nan=False)


def test_a_place_or_a_request_that_does_not_exist_is_refused():
    figure = recorded("b[i] = a[i];")
    with pytest.raises(traitlets.TraitError, match="place is 99; the launch has 2"):
        figure.place = 99
    with pytest.raises(traitlets.TraitError, match="request is 99; no place has more than 2"):
        figure.request = 99


def test_memory_s_first_frame_shows_all_words_of_a_segment():
    assert "of which" not in recorded("b[i] = a[i];").first_frame()


# a digit


def diverged():
    model = course_cnn(pretrained=True)
    with gg.no_grad():
        model[-1].weight.copy_(gg.full(model[-1].weight.shape, float("nan")))
        model[0].weight.copy_(gg.full(model[0].weight.shape, float("inf")))
    return model


def test_a_network_that_gives_no_number_is_shown_as_such(tmp_path):
    model = diverged()
    pad = viz.digit(model)
    assert pad.describe().startswith("The network gives no number") and "nan" not in pad.first_frame()
    pad.save(tmp_path / "digit.html")
    test = gg.data.mnist(train=False, source="subset")
    figure = viz.training(model, gg.data.ImageDataset(test.images[:20], test.labels[:20], "few"))
    figure.step(float("nan"))
    figure.finish()
    assert figure.describe().startswith("1 batch, the last loss NaN")
    assert figure.describe().endswith("for 20 of them the network gives no number (NaN).")
    figure.save(tmp_path / "training.html")


def test_the_digit_pad_says_what_the_network_says(model):
    figure = viz.digit(choice=3)
    image = gg.tensor((figure.image.astype("f4") / 255)[None, None])
    with gg.no_grad():
        expected = F.softmax(model(image), 1).numpy()[0]
    np.testing.assert_allclose(figure.probabilities(), expected, atol=1e-5)  # rounded to six places
    assert figure.describe().startswith(f"The network says {expected.argmax()}: ")


def test_each_layer_is_sent_as_the_network_computed_it(model):
    figure = viz.digit()
    found = layers(model, figure.image)
    assert [v.shape for _, v in found] == [(16, 28, 28), (16, 14, 14), (32, 14, 14), (32, 7, 7), (128,), (10,)]
    for (_, values), sent in zip(found, figure.data["layers"], strict=False):
        bytes_ = unpack(sent["values"]).reshape(values.shape)
        np.testing.assert_allclose(bytes_ / 255 * sent["most"], np.maximum(values, 0), atol=sent["most"] / 500)


def test_a_drawing_from_the_browser_is_answered():
    figure, sent = viz.digit(), []
    figure.send = sent.append
    other = viz.digit(choice=1).data["image"]["data"]
    figure._asked(figure, {"ask": "image", "pixels": other}, [])
    assert int(np.argmax(sent[0]["seen"]["probabilities"])) == 1
    assert figure.describe().startswith("The network says 1: ")
    figure.look(np.zeros((28, 28)))
    assert figure.data["drawn"] and not figure.image.any()


def test_a_page_of_the_digit_knows_ten_recorded_ones(tmp_path):
    figure = viz.digit()
    state = figure.state()
    assert sorted(state["store"]) == list("0123456789")
    assert len(figure.save(tmp_path / "digit.html").read_bytes()) < 1_000_000


def test_what_is_no_digit_is_refused(model):
    with pytest.raises(ValueError, match="0 to 9"):
        viz.digit(choice=10)
    with pytest.raises(TypeError, match=r"give a nn\.Sequential"):
        viz.digit(gg.nn.Linear(2, 3))
    with pytest.raises(ValueError, match="must give 10"):
        viz.digit(gg.nn.Sequential(gg.nn.Flatten(), gg.nn.Linear(784, 3)))
    with pytest.raises(ValueError, match=r"must be \(28, 28\)"):
        viz.digit().look(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"float64 from 0\.0 to 255\.0.*divide by 255"):
        viz.digit().look(np.linspace(0, 255, 784).reshape(28, 28))
    with pytest.raises(ValueError, match="int64 from -1 to -1"):
        viz.digit().look(np.full((28, 28), -1))
    with pytest.raises(ValueError, match="from nan"):
        viz.digit().look(np.full((28, 28), np.nan))
    with pytest.raises(TypeError, match="holds complex128"):
        viz.digit().look(np.zeros((28, 28), complex))
    with pytest.raises(ValueError, match="0 to 9"):
        viz.digit(choice=True)


def test_bytes_and_floats_put_the_same_image_on_the_pad():
    figure = viz.digit()
    image = figure.examples[4]
    for same in (image, image.astype("i8"), image / 255, (image / 255).astype("f4")):
        figure.look(same)
        np.testing.assert_array_equal(figure.image, image)


# training


def test_training_sends_few_pictures_and_forgets_no_batch():
    figure, pictures = viz.training(every=3600), []
    figure.observe(lambda change: pictures.append(change["new"]), "data")
    for k in range(500):
        figure.step(1 / (k + 1))
    assert len(pictures) <= 1
    figure.epoch(0.5)
    assert len(pictures) <= 2 and pictures[-1]["batches"] == 500
    np.testing.assert_allclose(unpack(pictures[-1]["loss"]), 1 / np.arange(1, 501), rtol=1e-6)  # float32
    assert figure.describe() == "500 batches, the last loss 2e−3; 1 epoch, 50.0 % of the test digits right."


def test_long_runs_are_thinned_out():
    figure = viz.training(every=3600)
    figure.losses = [1.0] * 100_000
    figure.step(0.25)
    figure.epoch(1)
    assert len(json.dumps(figure.data)) < 100_000
    assert unpack(figure.data["loss"])[-1] == 1 and figure.data["last"] == "0.25"  # a thinned curve may lack the last


def test_at_the_end_training_shows_the_true_mistakes(model):
    test = gg.data.mnist(train=False, source="subset")
    few = gg.data.ImageDataset(test.images[:300], test.labels[:300], "a few")
    figure = viz.training(model, few)
    figure.step(gg.tensor(0.5))
    figure.finish()
    with gg.no_grad():
        said = model(gg.tensor(few[:300][0])).numpy().argmax(1)
    expected = np.zeros((10, 10), int)
    np.add.at(expected, (few.labels, said), 1)
    assert figure.data["confusion"] == expected.tolist()
    assert {m["index"] for m in figure.data["mistakes"]} <= set(np.flatnonzero(said != few.labels).tolist())
    assert figure.data["filters"]["shape"] == [16, 5, 5]
    figure.look(7)
    assert figure.data["digit"]["index"] == 7 and figure.data["digit"]["label"] == int(few.labels[7])
    with pytest.raises(IndexError, match="has 300 digits"):
        figure.look(300)
    json.dumps(figure.data, allow_nan=False)


def test_training_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match="0 to 1"):
        viz.training().epoch(97)
    with pytest.raises(TypeError, match="mnist"):
        viz.training(test=[1])
    with pytest.raises(TypeError, match=r"training: model is int; give a nn\.Sequential"):
        viz.training(5)
    with pytest.raises(ValueError, match="every is 'x'; it is a number of seconds"):
        viz.training(every="x")
    with pytest.raises(ValueError, match="nothing to look at yet"):
        viz.training(test=gg.data.mnist(train=False, source="subset")).look(0)


def test_a_running_mean_begins_with_what_there_is():
    np.testing.assert_allclose(smooth(np.array([2.0, 4, 6, 8]), 2), [2, 3, 5, 7])


# the timeline


def test_the_timeline_holds_each_launch_of_the_profile():
    a = gg.Array.from_numpy(np.ones((16, 16), "f4"))
    with gg.profile() as p:
        gg.kernels.gemm(a, a, variant="naive")
        gg.kernels.elementwise("exp", a)
    figure = viz.timeline(p)
    assert [t["kernel"] for t in figure.data["launches"]] == [t.kernel for t in p.launches]
    assert figure.data["launches"][0]["flops"] == 2 * 16**3 and figure.data["peaks"]["gbs"] > 0
    assert figure.describe().startswith("2 launches: ") and "ms" not in repr(figure) + figure.first_frame().replace(
        "ems", ""
    )
    json.dumps(figure.data, allow_nan=False)


def test_a_timeline_of_two_devices_is_refused_as_their_clocks_differ():
    a = gg.Array.from_numpy(np.ones(4, "f4"))
    with gg.profile() as p:
        for _ in range(2):
            gg.kernels.elementwise("exp", a)
    p.launches[0] = dataclasses.replace(p.launches[0], device="another")
    with pytest.raises(ValueError, match=r"launches of 2 devices .*a clock of its own"):
        viz.timeline(p)


def test_a_timeline_of_nothing_is_refused():
    with gg.profile() as p:
        pass
    with pytest.raises(ValueError, match="holds no launch"):
        viz.timeline(p)
    with pytest.raises(TypeError, match="the p of"):
        viz.timeline([1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: viz.digit(),
        lambda: viz.graph(small_graph()[0]),
        lambda: recorded("b[i] = a[i];"),
        lambda: viz.training(),
    ],
)
def test_texts_are_the_same_in_every_run_and_name_no_device(make):
    first, second = make(), make()
    assert repr(first) == repr(second) and first.first_frame() == second.first_frame()
    assert str(gg.current_device()) not in repr(first) + first.first_frame()
    assert first._repr_mimebundle_()[0]["text/plain"] == repr(first)
