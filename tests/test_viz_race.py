"""The race card: which pair it names, which pair did harm, and what it advises; against values worked out by hand."""

import json

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the figures are widgets: pip install 'gpugrad[lab]'")

import traitlets
from figures import SHIFT

import gpugrad as gg
from gpugrad import viz
from gpugrad.trace.report import Finding

SMOOTH = "__kernel void smooth(__global float *a) { int i = get_global_id(0); if (i > 0) a[i] = a[i] + a[i - 1]; }"


def traced(text, *arrays, n=8, local=None):
    given = [gg.Array.from_numpy(np.array(a, "f4")) for a in arrays]
    with gg.trace() as t:
        gg.kernel(text)(*given, global_size=n, local_size=local or n)
    return t.launches[-1]


@pytest.fixture(scope="module")
def shift():
    return traced(SHIFT, np.arange(8) + 1, np.zeros(8))


def saw(launch, reads):
    """The launch as it would be if its loads of {(work-item, cell): value} had found these values."""
    c = launch.columns
    for (item, cell), value in reads.items():
        c.bits[(c.item == item) & (c.kind == 0) & (c.offset == 4 * cell)] = np.array([value], "f4").view("u4")[0]
    return launch


def shifted(values):
    """A run of SHIFT in which work-item i read values[i]."""
    launch = traced(SHIFT, np.arange(8) + 1, np.zeros(8))
    c = launch.columns
    rows = np.flatnonzero((c.kind == 0) & (np.array([b.name for b in launch.buffers])[c.buffer] == "t"))
    c.bits[rows] = np.array(values, "f4").view("u4")[c.item[rows]]
    return launch


def test_the_card_names_the_lowest_numbered_pair_without_values(shift):
    figure = viz.race(shift)
    (finding,) = [f for f in shift.report() if f.kind == "data race"]
    assert figure.describe() == (
        "Work-item 0 writes t[0] (line 4), and work-item 7 reads it (line 5). Both are in phase 0, with no barrier "
        f"between them: either can come first. {finding.count} cells are affected."
    )
    assert finding.count == 8 and figure.data["races"][0]["cells"] == list(range(8))


def test_the_live_card_shows_a_pair_whose_value_came_too_early():
    figure = viz.race(shifted([2, 3, 4, 0, 6, 7, 8, 1]))  # only work-item 3 read before t[4] = 5 was there
    pair = figure.data["races"][0]["pairs"]["harm"]
    assert [e["who"] for e in pair["ends"]] == ["work-item 4", "work-item 3"] and pair["cell"] == 4
    assert pair["said"] == "In this run work-item 3 read 0, and not the 5 of work-item 4: it came too early."
    assert "work-item 3" not in figure.describe() and figure.pair == "harm"


def test_where_every_read_saw_its_write_no_harm_is_claimed():
    figure = viz.race(shifted([2, 3, 4, 5, 6, 7, 8, 1]))
    assert list(figure.data["races"][0]["pairs"]) == ["lowest"]
    assert figure.data["races"][0]["pairs"]["lowest"]["said"] == ""


def test_a_value_that_was_overwritten_before_it_was_read_came_too_late():
    """Work-item i reads a[i - 1] before it writes a[i]: all at the same step would read the old values, 1 to 8."""
    old = {(i, i - 1): i for i in range(1, 8)}
    launch = saw(traced(SMOOTH, np.arange(8) + 1), old)
    assert list(viz.race(launch).data["races"][0]["pairs"]) == ["lowest"]
    c = launch.columns
    put = c.bits[(c.item == 4) & (c.kind == 1)].astype("u4").view("f4")[0]
    figure = viz.race(saw(launch, {(5, 4): put}))
    said = figure.data["races"][0]["pairs"]["harm"]["said"]
    assert said.startswith("In this run work-item 5 read ")
    assert said.endswith(", which work-item 4 had just written over 5: it came too late.")


def test_two_writes_of_different_values_do_harm():
    launch = traced("__kernel void meet(__global float *o) { o[0] = get_global_id(0); }", np.zeros(1))
    (race,) = viz.race(launch).data["races"]
    assert race["pairs"]["harm"]["said"].endswith("only one of them can stay.")


@pytest.mark.parametrize(
    ("text", "n", "local", "advice"),
    [(SHIFT, 8, 8, "barrier(CLK_LOCAL_MEM_FENCE) after line 4, before line 5."),
     (SMOOTH, 8, 8, "Read what is needed into private variables, then barrier(CLK_GLOBAL_MEM_FENCE), then write."),
     ("__kernel void meet(__global float *o) { o[0] = get_global_id(0); }", 8, 1, "Give each cell one owner")],
)  # fmt: skip
def test_the_card_says_what_would_order_the_two(text, n, local, advice):
    arrays = [np.arange(8) + 1, np.zeros(8)][: text.count("__global")]
    assert advice in viz.race(traced(text, *arrays, n=n, local=local)).data["races"][0]["fix"]


@pytest.mark.parametrize(("memory", "fence", "other"), [("a", "GLOBAL", "LOCAL"), ("s", "LOCAL", "GLOBAL")])
def test_a_barrier_without_the_right_fence_is_said_to_be_the_reason(memory, fence, other):
    text = """__kernel void turn(__global float *a) {
      int i = get_local_id(0);
      __local float s[8];
      M[i] = i;
      barrier(CLK_OTHER_MEM_FENCE);
      float v = M[7 - i];
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      a[i] = v;
    }""".replace("M[", memory + "[").replace("OTHER", other)
    launch, why = traced(text, np.zeros(8)), f"The barrier between them has no CLK_{fence}_MEM_FENCE, so it does not"
    assert why in viz.race(launch).describe()
    assert why in str(launch.report())


def test_texts_are_the_same_in_every_run_and_name_no_device(shift, tmp_path):
    first, second = viz.race(shift), viz.race(shift.report())
    assert repr(first) == repr(second) and first.first_frame() == second.first_frame()
    assert shift.device not in repr(first) + first.first_frame() and shift.device in first.data["caption"]
    json.dumps(first.data, allow_nan=False)
    assert len(first.save(tmp_path / "race.html").read_text(encoding="utf-8")) < 200_000


def test_what_is_no_race_is_refused(shift):
    clean = traced("__kernel void one(__global float *o) { o[get_global_id(0)] = 1; }", np.zeros(8))
    with pytest.raises(ValueError, match="holds no data race; it says: one: no mistakes found"):
        viz.race(clean)
    with pytest.raises(TypeError, match="record one with"):
        viz.race(7)
    with pytest.raises(ValueError, match="number is 3; the figure draws the report's data races 0 to 0"):
        viz.race(shift, 3)
    with pytest.raises(traitlets.TraitError, match=r"race is 3; the report has 1 \(0 to 0\)"):
        viz.race(shift).race = 3
    assert isinstance(shift.report().findings[0], Finding)
