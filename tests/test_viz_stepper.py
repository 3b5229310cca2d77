"""The stepper's data and words against the trace they come from; its page; what it refuses."""

import ast
import itertools
import json
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

import gpugrad as gg
from gpugrad import viz
from gpugrad.trace.session import Trace
from gpugrad.viz import still
from gpugrad.viz.lines import function_span, kept_lines
from gpugrad.viz.page import read, script
from gpugrad.viz.steps import Steps
from gpugrad.viz.words import num, numbers, pack, pack_numbers, unpack

TILED = """#define TS 2
// C = A B, tile by tile.
__kernel void product(__global const float *A, __global const float *B, __global float *C, int M, int N, int K) {
  __local float As[TS][TS], Bs[TS][TS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int col = get_global_id(0), row = get_global_id(1);
  float acc = 0.0f;
  for (int t = 0; t < K; t += TS) {
    As[ly][lx] = row < M && t + lx < K ? A[row * K + t + lx] : 0.0f;
    Bs[ly][lx] = t + ly < K && col < N ? B[(t + ly) * N + col] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TS; k++)
      acc += As[ly][k] * Bs[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < M && col < N)
    C[row * N + col] = acc;
}"""
M, N, K = 3, 2, 5


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(7)
    a, b = rng.integers(1, 9, (M, K)).astype("f4"), rng.integers(1, 9, (K, N)).astype("f4")
    with gg.trace(watch="*") as t:
        c = gg.Array.from_numpy(np.zeros((M, N), "f4"))
        kernel, x, y = gg.kernel(TILED), gg.Array.from_numpy(a), gg.Array.from_numpy(b)
        kernel(x, y, c, M, N, K, global_size=(2, 4), local_size=(2, 2))
    return t.launches[-1], a, b


def launch(text, *args, **sizes):
    with gg.trace(watch="*") as t:
        gg.kernel(text)(*args, **sizes)
    return t.launches[-1]


def test_a_work_item_has_the_steps_of_its_events_in_its_own_order(product):
    t, a, b = product
    steps = Steps(t)
    row, col = 2, 1
    mine = steps.of(row * 2 + col)
    assert [s.kind for s in mine[:6]] == ["assign", "load", "store", "load", "store", "barrier"]
    final = mine[-1]
    assert final.kind == "store" and final.index == [row * N + col] and final.value == [a[row] @ b[:, col]]
    assert [s.seq for s in mine] == sorted(s.seq for s in mine)
    assert mine[-1].before["t"] == 6 and mine[-1].before["acc"] == a[row] @ b[:, col]


def test_sentences_say_who_wrote_what_is_read_from_local_memory(product):
    t, a, b = product
    figure = viz.stepper(t)
    figure.work_item = 2 * 2 + 1
    said = []
    for n in range(len(figure.steps.of(5))):
        figure.step = n
        said.append(figure.describe())
    assert said[1] == f"Step 2 of {len(said)}: Work-item (1,2) reads A[2][1] = {a[2, 1]:.0f} from global memory."
    assert f"Work-item (1,2) reads As[0][0] = {a[2, 0]:.0f}, written in phase 0 by work-item (0,2)." in "\n".join(said)
    assert said[-1].endswith(f"Work-item (1,2) writes {a[2] @ b[:, 1]:.0f} to C[2][1].")
    assert "waits at the barrier for all 4 of group (0,1). Phase 0 ends here." in said[5]


def test_what_the_browser_gets_is_what_was_recorded(product):
    t, a, b = product
    data = json.loads(json.dumps(viz.stepper(t).data, allow_nan=False))
    assert data["global"] == [2, 4] and data["groups"] == [1, 2]
    by_name = {x["name"]: x for x in data["buffers"]}
    np.testing.assert_array_equal(unpack(by_name["A"]["values"]), a.reshape(-1))
    assert by_name["As"]["values"] is None and by_name["As"]["shape"] == [2, 2]
    events = sum(len(unpack(c["site"])) for c in data["chunks"].values())
    assert events == np.isin(t.events["kind"], ["load", "store", "atomic", "barrier", "assign"]).sum()
    chunk = data["chunks"]["1"]
    assert unpack(chunk["items"]).tolist() == [4, 5, 6, 7]
    stores = [i for i, s in enumerate(unpack(chunk["site"])) if data["sites"][s]["text"] == "C[row * N + col]"]
    np.testing.assert_array_equal(unpack(chunk["value"])[stores], (a @ b)[2:].reshape(-1))


def test_texts_are_the_same_in_every_run_and_name_no_device(product):
    t, _, _ = product
    first, second = viz.stepper(t), viz.stepper(t)
    for text in (repr(first), first.first_frame(), first.describe()):
        assert t.device not in text and "0x" not in text
    assert repr(first) == repr(second) and first.first_frame() == second.first_frame()
    assert repr(first).startswith("Stepper on product, 2×4 work-items in groups of 2×2, ")
    bundle, _ = first._repr_mimebundle_()
    assert bundle["text/plain"] == repr(first)
    assert t.device in first.data["caption"]


def test_a_notebook_keeps_the_first_frame_as_an_image_that_needs_no_trust(product):
    """JupyterLab cleans the HTML of a notebook that it does not trust: an <img> stays, a widget and an <svg> do not."""
    figure = viz.stepper(product[0], title='<b>"50 %" & more</b>')
    text = figure._repr_mimebundle_()[0]["text/html"]
    (image,) = re.findall(r'<img alt="[^"<>]*" src="data:image/svg\+xml;charset=utf-8,([^"]*)">', text)
    assert urllib.parse.unquote(image) == figure.first_frame() and "#" not in image
    assert text.endswith("it steps, and shows what this first frame leaves out.</p>")


def test_the_first_frame_is_that_of_the_work_item_that_was_chosen(product):
    figure = viz.stepper(product[0])
    before = figure.first_frame()
    figure.work_item = 5
    sentence = figure.describe()
    assert sentence.startswith("Step 1 of ") and sentence.split(" reads ")[0] in figure.first_frame() != before


def test_no_name_stands_in_two_of_the_modules_that_are_joined():
    """The browser gets one text: two modules with a name in common would not even parse."""
    sources = [path.read_text(encoding="utf-8") for path in Path(viz.__file__).parent.glob("*_figure.py")]
    lists = [ast.literal_eval(f"({names},)") for s in sources for names in re.findall(r"_esm = script\(([^)]*)\)", s)]
    assert len(lists) == 8
    for text in itertools.starmap(script, lists):
        names = re.findall(r"^(?:const|let|function\*?|class) (\w+)", text, re.MULTILINE)
        names += [n for group in re.findall(r"^const \[(.*?)\] =", text, re.MULTILINE) for n in group.split(", ")]
        assert sorted(names) == sorted(set(names))
        assert not re.search(r"^(import|export (?!default))", text, re.MULTILINE)


def test_the_page_holds_the_data_and_fetches_nothing(product, tmp_path):
    t, _, _ = product
    figure = viz.stepper(t, title="<script>alert(1)</script> & more")
    text = figure.save(tmp_path / "steps.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in text and "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", text)
    state = json.loads(re.search(r"const state = (\{.*?\}), heard", text, re.DOTALL)[1])
    assert state["live"] is False and state["data"]["kernel"] == "product"
    with pytest.raises(ValueError, match=r"end it in \.html"):
        figure.save(tmp_path / "steps.svg")


def test_a_vector_is_one_step_with_its_components():
    text = """__kernel void twice(__global const float4 *a, __global float *o) {
  int i = get_global_id(0);
  vstore4(a[i] * 2.0f, i, o);
}"""
    x = gg.Array.from_numpy(np.arange(8, dtype="f4"))
    t = launch(text, x, gg.Array.from_numpy(np.zeros(8, "f4")), global_size=(2,), local_size=(2,))
    load, store = Steps(t).of(1)
    assert load.index == [4, 5, 6, 7] and store.value == [8, 10, 12, 14]
    assert Steps(t).sentence(1, 1).startswith("Work-item 1 writes 8, 10, 12, 14 to o[4] to [7]")


def test_an_access_outside_says_how_many_there_are():
    text = "__kernel void late(__global float *a) { int i = get_global_id(0); a[i + 1] = i; }"
    t = launch(text, gg.Array.from_numpy(np.zeros(4, "f4")), global_size=(4,), local_size=(4,))
    figure = viz.stepper(t)
    figure.work_item = 3
    assert figure.describe() == (
        "Step 1 of 1: Work-item 3 writes a[4], but a has 4 elements (0 to 3). Nothing was written."
    )


ASTRAY = """__kernel void k(__global float *x) {
  int i = get_global_id(0) + 4;
  float own[2] = {1, 2}, *p = own, *none = 0;
  own[i] = 1;
  p[i] = 1;
  none[0] = 1;
  x[0] = own[0];
}"""


def test_private_memory_that_is_left_is_no_address_in_no_buffer():
    x, said = gg.zeros(1), []
    with gg.trace() as t:
        gg.kernel(ASTRAY)(x, global_size=1)
    figure = viz.stepper(t)
    for figure.step in range(3):
        said.append(figure.describe().partition(": ")[2])
    assert said == [
        "Work-item 0 uses index 4 in own[i], which is outside.",
        "Work-item 0 leaves private memory in p[i]: it goes to element 4 of 2. The access was left out.",
        "Work-item 0 leaves private memory in none[0]: its pointer leads to no variable. The access was left out.",
    ]


def test_an_overflow_is_said_where_it_happens():
    text = """__kernel void square(__global const float *a, __global float *o) {
  int i = get_global_id(0);
  float s = a[i] * a[i];
  o[i] = s - s;
}"""
    x = gg.Array.from_numpy(np.array([1e30, 2], "f4"))
    t = launch(text, x, gg.Array.from_numpy(np.zeros(2, "f4")), global_size=(2,), local_size=(2,))
    sentences = [Steps(t).sentence(0, n) for n in range(len(Steps(t).of(0)))]
    assert sum("It overflows" in s for s in sentences) == 1 and "sets s to ∞" in next(
        s for s in sentences if "overflows" in s
    )


def test_an_atomic_on_the_bits_of_a_float_shows_the_float():
    with gg.trace(kernels="col2im_scatter") as t:
        col = gg.Array.from_numpy(np.full((1, 4, 4), 1.5, "f4"))
        gg.kernels.col2im(col, (3, 3), 2, variant="scatter")
    steps = Steps(t.launches[0])
    values = steps.value[steps.c.kind == 2]
    assert set(values.tolist()) <= {1.5, 3.0, 4.5, 6.0}
    # where work-items meet, they try again, perhaps more often than there is room to record
    assert 6.0 in values or t.launches[0].lost


def test_a_launch_without_events_and_a_trace_of_several_are_refused(product):
    with gg.trace(work_items=[99]) as t:
        gg.kernel("__kernel void one(__global float *a) { a[0] = 1; }")(
            gg.Array.from_numpy(np.zeros(1, "f4")), global_size=(1,), local_size=(1,)
        )
    with pytest.raises(ValueError, match="holds no events"):
        viz.stepper(t.launches[-1])
    with pytest.raises(ValueError, match="choose one"):
        viz.stepper(Trace([product[0], product[0]]))
    with pytest.raises(TypeError, match="record one with"):
        viz.stepper(product[1])
    with pytest.raises(AttributeError, match="its figures are"):
        _ = viz.steper


def test_a_report_stands_for_its_launch(product):
    report = product[0].report()
    assert viz.stepper(report).launch is viz.memory(report).launch is product[0]


def test_a_position_that_does_not_exist_is_refused(product):
    import traitlets

    figure = viz.stepper(product[0])
    with pytest.raises(traitlets.TraitError, match=r"the launch has 8 \(0 to 7\)"):
        figure.work_item = 8


def test_large_arrays_send_only_what_was_touched_and_groups_come_when_asked_for():
    n = 60_000
    text = "__kernel void one(__global const float *a, __global float *o) { int i = get_global_id(0); o[i] = a[i]; }"
    x = gg.Array.from_numpy(np.arange(n, dtype="f4"))
    t = launch(text, x, gg.Array.from_numpy(np.zeros(n, "f4")), global_size=(n,), local_size=(100,))
    figure = viz.stepper(t)
    assert all(b["values"] is None for b in figure.data["buffers"])
    assert unpack(figure.data["missing"]).sum() == 599  # the last: each is told by how much it is above the one before
    assert len(json.dumps(figure.data)) < 1_000_000
    sent = []
    figure.send = sent.append
    figure.asked_group(figure, {"ask": "group", "group": 599}, [])
    assert sent[0]["group"] == 599 and unpack(sent[0]["chunk"]["index"]).max() == n - 1
    figure.work_item = n - 1
    assert "599" not in figure.data["chunks"]
    assert unpack(figure.state()["data"]["chunks"]["599"]["index"]).max() == n - 1  # a page holds what was chosen


def test_a_work_item_that_was_not_recorded_is_not_said_to_be_idle():
    text = "__kernel void some(__global float *a) { int i = get_global_id(0); if (i != 2) a[i] = i; }"
    with gg.trace() as t:
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(8, "f4")), global_size=(8,), local_size=(4,))
    figure = viz.stepper(t)
    figure.work_item = 2
    assert figure.describe() == "Work-item 2 touches no memory."
    with gg.trace(groups=[0]) as t:
        gg.kernel(text)(gg.Array.from_numpy(np.zeros(8, "f4")), global_size=(8,), local_size=(4,))
    figure = viz.stepper(t)
    figure.work_item = 5
    assert figure.describe() == "Work-item 5 touches no memory, or was not recorded."


@pytest.mark.parametrize(("index", "says"), [(3_000_000_000, "or more"), (-3_000_000_000, "or less"), (7, "a[7], but")])
def test_an_index_beyond_what_an_event_holds_is_not_told_as_the_real_one(index, says):
    text = f"__kernel void far(__global float *a) {{ a[{index}L] = 1; }}"
    t = launch(text, gg.Array.from_numpy(np.zeros(4, "f4")), global_size=(1,), local_size=(1,))
    figure = viz.stepper(t)
    assert says in figure.describe()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.0, "0"), (7, "7"), (-12, "−12"), (9999, "9999"), (10000, "1e4"), (0.125, "0.13"), (99.96, "100"),
     (12.345, "12.3"), (1e-7, "1e−7"), (-2.5e8, "−3e8"), (float("nan"), "NaN"), (float("-inf"), "−∞"), (9.999, "10.0"),
     (None, "·"), (0.00451, "5e−3"), (9.6e9, "1e10")],
)  # fmt: skip
def test_numbers_take_five_characters(value, text):
    assert num(value) == text and len(num(value)) <= 5


def test_the_first_frame_has_the_colours_of_the_live_figure_on_paper():
    tokens = dict(re.findall(r"--gg-(\w+):.*?light-dark\((#\w+),", read("tokens.css")))
    for name in ("ink", "muted", "line", "paper", "read", "write", "atomic", "fault"):
        assert getattr(still, name.upper()) == tokens[name], name


def test_a_cell_is_as_wide_as_its_longest_number():
    assert still.fit([1, 22, 333]) == still.CELL < still.fit([4444]) < still.fit([-4444])


def test_packed_arrays_keep_every_bit():
    x = np.array([0.1, np.nan, np.inf, -0.0], "f4")
    np.testing.assert_array_equal(unpack(pack_numbers(x)), x)
    assert pack_numbers(np.array([0.1]))["type"] == "f8"
    with pytest.raises(ValueError, match="one of u1"):
        pack([1], "i8")
    assert numbers(13, (4, 2, 3)) == "(1,1,1)"


def test_only_the_functions_that_ran_are_shown(product):
    t, _, _ = product
    assert kept_lines(t) == list(range(1, TILED.count("\n") + 2))
    with gg.trace(watch="*") as t:
        x = gg.Array.from_numpy(np.ones((1, 1, 3, 3), "f4"))
        gg.kernels.im2col(x, 2, variant="window")
    shown = [t.launches[0].source.split("\n")[n - 1] for n in kept_lines(t.launches[0])]
    assert any("__kernel void im2col_window(" in line for line in shown) and shown[-1] == "}"
    assert not any("im2col_naive" in line or "im2col_rows" in line for line in shown)
    assert function_span("int f(int a);\nint f(int a) { return a; }", "f") == (14, 39)


def test_importing_viz_needs_no_widgets_and_a_figure_without_them_says_what_to_install():
    code = """import sys
sys.modules["anywidget"] = None
import gpugrad.viz
assert "ipywidgets" not in sys.modules and "matplotlib" not in sys.modules
try:
    gpugrad.viz.stepper
except ImportError as error:
    print(error)"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'gpugrad[lab]'" in run.stdout


def test_play_prints_outside_a_notebook(product, capsys):
    product[0].play(work_item=0, start=0, stop=2)
    product[0].play(work_item=0)
    assert "step 0, phase 0: sets" in capsys.readouterr().out
