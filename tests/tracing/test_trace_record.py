"""What `gg.trace()` records, and that recording changes nothing."""

import contextlib
import random

import numpy as np
import pytest

import gpugrad as gg
import gpugrad.kernels as K
from gpugrad.array import Array
from gpugrad.program import intercepting
from gpugrad.trace import Trace, load
from gpugrad.trace.run import Run

ADD = """__kernel void add(__global const float *a, __global const float *b, __global float *out, int n) {
  int i = get_global_id(0);
  if (i < n)
    out[i] = a[i] + b[i];
}"""
REVERSE = """__kernel void reverse(__global float *a) {
  __local float t[4];
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = t[3 - l];
}"""


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [Array.from_numpy(rng.standard_normal(s).astype("f4")) for s in shapes]


@pytest.fixture(scope="module")
def added():
    a, b = arrays(10, 10)
    out = Array.from_numpy(np.zeros((2, 5), "f4"))
    kernel = gg.kernel(ADD, a="in N", b="in N", out="out N")
    with gg.trace() as t:
        kernel(a, b, out, 10, global_size=12, local_size=4)
    return t, a, b, out


def test_each_launch_of_the_block_is_recorded(added):
    t, *_ = added
    (launch,) = t.launches
    assert (launch.kernel, launch.global_size, launch.local_size) == ("add", (12,), (4,))
    assert launch.source == ADD
    assert launch.args == {"n": 10}
    assert [(b.name, b.role, b.axes, b.shape) for b in launch.buffers] == [
        ("a", "in", ("N",), (10,)),
        ("b", "in", ("N",), (10,)),
        ("out", "out", ("N",), (2, 5)),
    ]


def test_an_event_says_who_did_what_to_which_cell(added):
    t, a, b, _ = added
    e = t[0].select(work_item=6)
    assert e["kind"].tolist() == ["load", "load", "store"]
    assert e["buffer"].tolist() == ["a", "b", "out"]
    assert e["space"].tolist() == ["global"] * 3
    assert set(e["index"].tolist()) == {6}
    assert (e["group"].tolist(), e["local_id"].tolist(), e["seq"].tolist()) == ([1] * 3, [2] * 3, [0, 1, 2])
    assert set(e["line"].tolist()) == {4}
    total = a.numpy()[6] + b.numpy()[6]
    assert e["value"].tolist() == [a.numpy()[6], b.numpy()[6], total]
    assert e["bits"][2] == int(np.float32(total).view("u4"))
    assert t[0].nd_index(e[2:]) == [(1, 1)]


def test_columns_mark_the_text_of_the_access(added):
    line = ADD.split("\n")[3]
    e = added[0][0].select(work_item=0)
    assert [line[r["column"] - 1 : r["end"] - 1] for r in e] == ["a[i]", "b[i]", "out[i]"]


def test_the_public_columns_have_their_types(added):
    kinds = {n: added[0][0].events.dtype[n].kind for n in added[0][0].events.dtype.names}
    names = {
        "work_item",
        "group",
        "local_id",
        "seq",
        "phase",
        "line",
        "kind",
        "space",
        "buffer",
        "index",
        "value",
        "bits",
    }
    assert names <= set(kinds)
    assert added[0][0].events.dtype["value"] == np.float64 and added[0][0].events.dtype["bits"] == np.uint64


def test_filters_can_be_joined(added):
    launch = added[0][0]
    assert len(launch.select(buffer="out")) == 10
    assert len(launch.select(line=4, kind="load", group=0)) == 8
    assert len(launch.select(phase=1)) == 0
    with pytest.raises(ValueError, match="buffer is 'x'; add has a, b, out"):
        launch.select(buffer="x")


def test_results_are_those_of_the_plain_kernel(added):
    _, a, b, out = added
    assert out.numpy().tobytes() == (a.numpy() + b.numpy()).tobytes()


def test_nothing_is_recorded_outside_the_block(added):
    t, a, b, out = added
    gg.kernel(ADD)(a, b, out, 10, global_size=12, local_size=4)
    assert len(t) == 1
    launches = []
    with intercepting(lambda launch, run: (launches.append(launch), run())):
        gg.kernel(ADD)(a, b, out, 10, global_size=12, local_size=4)
    assert len(launches) == 1  # only ours: the trace's own interceptor is gone


def test_barriers_count_phases():
    (a,) = arrays(8)
    with gg.trace() as t:
        gg.kernel(REVERSE)(a, global_size=8, local_size=4)
    e = t[0].events
    assert set(e[e["phase"] == 0]["kind"]) == {"load", "store", "barrier"}
    assert e[(e["kind"] == "load") & (e["buffer"] == "t")]["phase"].tolist() == [1] * 8
    assert t[0].buffer("t").shape == (4,)
    order = [(r["group"], r["phase"]) for r in e]
    assert order == sorted(order)


def test_replay_rebuilds_memory_at_any_moment():
    (a,) = arrays(8)
    before = a.numpy()
    with gg.trace() as t:
        gg.kernel(REVERSE)(a, global_size=8, local_size=4)
    launch = t[0]
    assert launch.replay("a", 0).tobytes() == before.tobytes()
    assert launch.replay("a").tobytes() == a.numpy().tobytes()
    half = int(np.flatnonzero(launch.events["group"] == 1)[0])
    assert launch.replay("a", half).tolist() == [*before[3::-1], *before[4:]]
    assert launch.replay("t", group=1).tolist() == before[4:].tolist()
    assert np.isnan(launch.replay("t", 0)).all()
    with pytest.raises(ValueError, match="n is 1000"):
        launch.replay("a", 1000)
    with pytest.raises(ValueError, match="no buffer 'z'"):
        launch.replay("z")


def test_what_adds_to_memory_adds_once():
    x = gg.tensor([1.0, 2.0, 3.0, 4.0])
    k = gg.kernel("__kernel void k(__global float *x) { x[get_global_id(0)] += 1; }")
    with gg.trace() as t:
        k(x, global_size=4)
    assert x.tolist() == [2, 3, 4, 5]
    assert t[0].select(kind="load")["value"].tolist() == [1, 2, 3, 4]
    assert t[0].buffer("x").before.tolist() == [1, 2, 3, 4] and t[0].buffer("x").after.tolist() == [2, 3, 4, 5]


def test_a_beta_of_one_and_an_optimiser_apply_once():
    def step():
        a, b, c = arrays((5, 7), (7, 3), (5, 3))
        K.gemm(a, b, beta=1, out=c)
        p = gg.nn.Parameter(gg.tensor(np.arange(13, dtype="f4")))
        p.grad = gg.tensor(np.linspace(-1, 1, 13, dtype="f4"))
        gg.optim.Adam([p], lr=0.1).step()
        return c.numpy(), p.detach().numpy()

    plain = step()
    with gg.trace() as t:
        traced = step()
    assert {"adam", "gemm"} <= {launch.kernel.split("_")[0] for launch in t.launches}
    for a, b in zip(plain, traced):
        assert a.tobytes() == b.tobytes()


def test_watched_variables_are_events_with_their_name():
    text = """__kernel void k(__global float *x) {
  float acc = 0;
  for (int k = 0; k < 3; k++) acc += x[k];
  x[0] = acc;
}"""
    x = gg.tensor([1.0, 2.0, 3.0])
    with gg.trace(watch=("acc", "k")) as t:
        gg.kernel(text)(x, global_size=1)
    e = t[0].select(kind="assign")
    assert e[e["buffer"] == "acc"]["value"].tolist() == [0, 1, 3, 6]
    assert e[e["buffer"] == "k"]["value"].tolist() == [0, 1, 2, 3]
    assert set(e["space"].tolist()) == {"private"}
    last = list(t[0].steps(0))[-1]
    assert last[1] == {"acc": 6, "k": 3}


def run_add(**options):
    a, b, out = arrays(64, 64, 64)
    kernel = gg.kernel(ADD)
    with gg.trace(**options) as t:
        kernel(a, b, out, 64, global_size=64, local_size=8)
        kernel(a, b, out, 32, global_size=64, local_size=8)
    assert out.numpy().tobytes() == (a.numpy() + b.numpy()).tobytes()
    return t


def test_groups_and_work_items_choose_what_is_recorded():
    t = run_add(groups=(1, 3))
    assert set(t[0].events["group"].tolist()) == {1, 3}
    assert t[0].left_out == 48
    t = run_add(work_items=5)
    assert set(t[0].events["work_item"].tolist()) == {5}


def test_launches_and_kernels_choose_launches():
    t = run_add(launches=1)
    assert len(t) == 1 and t[0].args == {"n": 32} and t.unrecorded == 1
    assert "1 launch was not asked for" in str(t)
    assert len(run_add(kernels="add")) == 2
    assert len(run_add(kernels=["other"])) == 0


def test_a_small_budget_loses_events_and_says_so():
    t = run_add(budget=16 * 30)
    launch = t[0]
    assert len(launch.columns) == 30 and launch.lost == 64 * 3 - 30
    assert set(launch.events["group"].tolist()) == {0, 1}  # whole groups first
    assert "162 events found no room" in str(t)


def test_a_launch_that_depends_on_the_order_of_work_items_is_marked(monkeypatch):
    text = """__kernel void k(__global int *x) {
  int before = x[0];
  for (int n = 0; n < before; n++) x[1] = n;
  x[0] = before + 1;
}"""
    x = gg.tensor([0, 0], dtype=gg.int32)
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    assert t[0].repeatable
    # A race cannot be had for certain, so the second run is made to see what the first left behind.
    monkeypatch.setattr(Run, "undone", lambda self: contextlib.nullcontext())
    with gg.trace() as t:
        gg.kernel(text)(x, global_size=1)
    assert not t[0].repeatable
    assert t[0].lost > 0
    assert "depends on the order" in str(t)


def test_a_text_that_cannot_be_followed_runs_plain_and_is_listed():
    text = """__kernel void k(__global float *x, __local float *t) {
  event_t e = async_work_group_copy(t, x, 4, 0);
  wait_group_events(1, &e);
  x[get_global_id(0)] = 2 * t[get_local_id(0)];
}"""
    x = gg.tensor([1.0, 2.0, 3.0, 4.0])
    with gg.trace() as t:
        gg.kernel(text)(x, gg.Local(4, gg.float32), global_size=4, local_size=4)
    assert x.tolist() == [2, 4, 6, 8]
    assert t.launches == []
    ((name, reason),) = t.skipped
    assert name == "k" and "event_t" in reason
    assert "not recorded: k: event_t" in str(t)


def test_out_of_bounds_writes_are_recorded_and_left_out():
    x, y = gg.tensor([1.0, 2.0]), gg.tensor([7.0, 8.0])
    k = gg.kernel("__kernel void k(__global float *x, __global float *y) { x[get_global_id(0)] = y[0]; }")
    with gg.trace() as t:
        k(x, y, global_size=4, local_size=2)
    assert x.tolist() == [7, 7] and y.tolist() == [7, 8]
    bad = t[0].events[t[0].events["fault"] != ""]
    assert bad["fault"].tolist() == ["outside", "outside"] and bad["index"].tolist() == [2, 3]
    assert t[0].nd_index(bad) == [(2,), (3,)]


def test_an_error_on_the_way_leaves_memory_as_it_was_and_the_next_trace_works(monkeypatch):
    x = gg.tensor([1.0, 2.0])
    k = gg.kernel("__kernel void k(__global float *x) { x[get_global_id(0)] += 1; }")
    once = Run.once

    def fails(self, room):
        once(self, room)
        raise RuntimeError("in the middle")

    monkeypatch.setattr(Run, "once", fails)
    with pytest.raises(RuntimeError, match="middle"), gg.trace():
        k(x, global_size=2)
    assert x.tolist() == [1, 2]
    monkeypatch.undo()
    with gg.trace() as t:
        k(x, global_size=2)
    assert x.tolist() == [2, 3] and len(t) == 1


def test_zero_work_items_launch_nothing():
    x = gg.zeros(0)
    with gg.trace() as t:
        _ = x + 1
    assert t.launches == []
    assert str(t) == "no launch happened in the block"


def test_traces_nest_inside_gpugrad_code():
    w = gg.tensor(np.ones((3, 2), "f4"), requires_grad=True)
    x = gg.tensor(np.arange(6, dtype="f4").reshape(2, 3))
    with gg.trace() as t:
        (x @ w).sum().backward()
    assert len(t) >= 2 and not t.skipped
    assert w.grad.tolist() == [[3, 3], [5, 5], [7, 7]]


def test_options_are_checked():
    for options, error in (
        ({"budget": 1}, ValueError), ({"fuel": 0}, ValueError), ({"groups": "a"}, TypeError),
        ({"groups": -1}, ValueError), ({"watch": 3}, TypeError), ({"kernels": [1]}, TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match="trace: "):
            gg.trace(**options)
    t = gg.trace()
    with t:
        pass
    with pytest.raises(RuntimeError, match="make a new one"), t:
        pass


def test_the_stepper_shows_line_cells_and_variables(capsys):
    text = "__kernel void k(__global float *x) {\n  float s = 0;\n  s += x[2];\n  x[0] = s;\n}"
    x = gg.tensor([[1.0, 2.0], [3.5, 4.0]])
    with gg.trace(watch="s") as t:
        gg.kernel(text)(x, global_size=1)
    t.play(work_item=0, start=1)
    assert capsys.readouterr().out == (
        "step 1, phase 0: reads x[1, 0] = 3.5   [s = 0]\n     3 |   s += x[2];\n       |        ^^^^\n"
        "step 2, phase 0: sets s = 3.5   [s = 3.5]\n     3 |   s += x[2];\n       |   ^^^^^^^^^\n"
        "step 3, phase 0: writes x[0, 0] = 3.5   [s = 3.5]\n     4 |   x[0] = s;\n       |   ^^^^\n"
    )
    t.play(work_item=9)
    assert "no recorded step" in capsys.readouterr().out


ASTRAY = """__kernel void k(__global float *x) {
  int i = get_global_id(0) + 4;
  __local float tile[2][4];
  float own[2] = {1, 2}, *p = own, *none = 0;
  tile[0][i] = 1;
  own[i] = 1;
  p[i] = 1;
  none[0] = 1;
  x[0] = own[0];
}"""


def test_the_stepper_says_where_a_row_or_private_memory_is_left(capsys):
    x = gg.zeros(1)
    with gg.trace() as t:
        gg.kernel(ASTRAY)(x, global_size=1)
    t.play()
    lines = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines() if line.startswith("step")]
    assert lines == [
        "leaves a row in tile[0][i]: index 4 of 4   (outside: it lands in another row)",
        "writes tile[1, 0] = 1",
        "leaves private memory in own[i]: index 4 of 2   (outside: element 0 was used instead)",
        "leaves private memory in p[i]: index 4 of 2   (outside: not done)",
        "leaves private memory in none[0]: it leads to no variable   (outside: not done)",
        "writes x[0] = 1",
    ]


def test_save_and_load(tmp_path, added):
    t, *_ = added
    t.save(tmp_path / "t.npz")
    back = load(tmp_path / "t.npz")
    assert (back[0].events == t[0].events).all()
    assert repr(back) == repr(t) and str(back) == str(t)
    assert back[0].buffer("out").axes == ("N",)
    for name in ("a", "out"):
        assert back[0].replay(name).tobytes() == t[0].replay(name).tobytes()
    assert not list(tmp_path.glob("*.part"))


def test_where_a_trace_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*; make it first"):
        Trace().save(tmp_path / "nowhere" / "t.npz")
    with pytest.raises(ValueError, match="is a folder, a pipe or a device"):
        Trace().save(tmp_path)
    with pytest.raises(TypeError, match=r"trace\.save: path is 5"):
        Trace().save(5)
    with pytest.raises(TypeError, match=r"trace\.load: path is None"):
        load(None)
    assert not list(tmp_path.iterdir())


def test_loading_something_else_is_an_error(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(gg.GpugradError, match="not a saved trace"):
        load(bad)
    np.savez(bad, x=np.arange(3))
    with pytest.raises(gg.GpugradError, match="not a saved trace"):
        load(bad)
    Trace().save(bad)
    data = bad.read_bytes()
    bad.write_bytes(data[: len(data) // 2])
    with pytest.raises(gg.GpugradError, match="not a saved trace"):
        load(bad)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.npz")


def test_a_damaged_file_loads_whole_or_raises_gpugrads_error(tmp_path, added):
    t, *_ = added
    t.save(tmp_path / "t.npz")
    data = (tmp_path / "t.npz").read_bytes()
    draw = random.Random(5)
    refused = 0
    for _ in range(150):  # a few of them damage what zlib unpacks, which raises errors of its own
        broken = bytearray(data)
        broken[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        (tmp_path / "t.npz").write_bytes(broken)
        try:
            assert len(load(tmp_path / "t.npz")) == 1
        except gg.GpugradError:
            refused += 1
    assert refused > 100


def test_replay_of_a_group_that_did_not_run_is_refused():
    k = gg.kernel("__kernel void k(__global float *x) { __local float s[1]; s[0] = 7; x[get_group_id(0)] = s[0]; }")
    x = gg.zeros(3)
    with gg.trace() as t:
        k(x, global_size=3, local_size=1)
    assert t[0].replay("s", group=2).tolist() == [7]
    for group, error in ((3, ValueError), (-1, ValueError), (1.0, TypeError)):
        with pytest.raises(error, match=r"replay: group is"):
            t[0].replay("s", group=group)


def test_values_of_every_type_are_read_from_their_bits():
    text = """__kernel void k(__global const int *i, __global const uchar *u, __global half *h, __global float4 *v) {
  int n = i[0] + u[0];
  vstore_half(vload_half(0, h) + n, 1, h);
  v[0].zw = v[0].xy * 2;
}"""
    i, u = gg.tensor([-5], dtype=gg.int32), gg.tensor([200], dtype=gg.uint8)
    h, v = Array.from_numpy(np.array([0.1, 0], "f2")), gg.tensor([1.5, -2.5, 0.0, 0.0])
    with gg.trace() as t:
        gg.kernel(text)(i, u, h, v, global_size=1)
    got = [(str(e["buffer"]), int(e["index"]), float(e["value"])) for e in t[0].events]
    rounded = float(np.float16(np.float32(np.float16(0.1)) + 195))
    assert got == [
        ("i", 0, -5), ("u", 0, 200), ("h", 0, float(np.float16(0.1))), ("h", 1, rounded),
        ("v", 0, 1.5), ("v", 1, -2.5), ("v", 2, 3.0), ("v", 3, -5.0),
    ]  # fmt: skip
    assert h.numpy()[1] == rounded
