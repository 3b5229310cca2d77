"""Exercises of lesson 13: what a launch must do, what a step can gain, segments, banks, fusing, and where to begin."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel_exercise import Case, KernelExercise, Out, loads, rounded_up, whole
from ..python_exercise import PythonExercise
from ..spec import Lesson, Prediction

if TYPE_CHECKING:
    from ...profiling import Timed
    from ...trace import LaunchTrace


def _linear_layer() -> list[int]:
    import gpugrad as gg

    with gg.profile() as p:
        gg.kernels.gemm(gg.zeros(32, 1568).array, gg.zeros(1568, 128).array, variant="naive")
    (t,) = (t for t in p.launches if t.kernel == "gemm_naive")
    return [int(t.flops or 0), int(t.bytes or 0)]


def _amdahl() -> list[float]:
    rest, products = 20, 80
    return [rest + products / 2, rest + products / 4, (rest + products) / rest]


def _segments() -> list[int]:
    import gpugrad as gg

    apart = gg.kernel(
        "__kernel void apart(__global const float *x, __global float *out, int s) "
        "{ int i = get_global_id(0); out[i] = x[s * i]; }"
    )
    found = []
    for s in (1, 4, 100):
        with gg.trace(kernels="apart") as t:
            apart(gg.zeros(3200), gg.zeros(32), s, global_size=32, local_size=32)
        found.append(round(next(m["segments"] for m in t[0].report().memory if m["kind"] == "load")))
    return found


def _held_up_by(held_up_by: Any) -> str:
    from ...profiling import Peaks

    # flops, bytes, GB/s, GFLOP/s
    for flops, moved, gbs, gflops in (
        (1000, 400, 10, 50), (1000, 100, 10, 50), (3000, 400, 10, 50), (10**9, 10**7, 4000, 60000),
        (10**9, 10**8, 4000, 60000), (10**5, 10**6, 20, 1),
    ):  # fmt: skip
        by_memory = moved / gbs > flops / gflops
        expected, said = "memory" if by_memory else "arithmetic", held_up_by(flops, moved, Peaks(gbs, gflops))
        if said != expected:
            longer = "the bytes" if by_memory else "the operations"
            return (
                f"with {flops:,} operations, {moved:,} bytes, and peaks of {gbs} GB/s and {gflops} GFLOP/s it says "
                f"{said!r}; {longer} take longer."
            )
    return ""


def _side_by_side(launch: "LaunchTrace") -> str:
    most = max(m["segments"] for m in launch.report().memory if m["space"] == "global")
    return "" if most <= 1 else f"right, but 32 neighbours touch {most:.2f} segments at once; side by side it is 1."


def _neighbours_write_neighbours(launch: "LaunchTrace") -> bool:
    """Does the next work-item write the next element, in groups of 32?"""
    stores = launch.select(buffer="out", kind="store")
    writer = np.full(launch.buffer("out").shape, -1)
    writer[stores["index"]] = stores["work_item"]
    inside = writer[:-1] % 32 != 31
    return bool(np.all(writer[1:][inside] == writer[:-1][inside] + 1))


def _one_after_another(launch: "LaunchTrace") -> str:
    # Behind a condition the n-th access of a work-item is not its neighbour's n-th: the count of segments is too high.
    return "" if _neighbours_write_neighbours(launch) else _side_by_side(launch)


def _relu(rng: np.random.Generator) -> Iterator[Case]:
    for n in (1000, 7, 256, 1024):
        x = rng.standard_normal(n).astype("f4")
        size = (rounded_up(-(-n // 8), 32),)
        yield Case(f"with n = {n}", (x, Out(np.maximum(x, 0)), n), size, (32,), demand=_one_after_another)


def _flip(rng: np.random.Generator) -> Iterator[Case]:
    def no_queue(launch: "LaunchTrace") -> str:
        queues = [m for m in launch.report().memory if m["space"] == "local" and m["conflicts"] > 1]
        if queues:
            worst = max(queues, key=lambda m: float(m["conflicts"]))
            what = "write" if worst["kind"] == "store" else "read"
            return (
                f"right, but {worst['conflicts']:.0f} of 32 neighbours queue up at the same bank, where they {what} "
                f"{worst['text']} in line {worst['line']}."
            )
        return _side_by_side(launch)

    for R, C in ((32, 64), (64, 32), (32, 32)):
        x = rng.standard_normal((R, C)).astype("f4")
        args = (x, Out(x.T.copy()), R, C)
        # groups of 32 x 2: PoCL takes nine times as long to compile 32 x 4
        yield Case(f"with R = {R}, C = {C}", args, (C, R // 32 * 2), (32, 2), demand=no_queue)


def _relu_pool(rng: np.random.Generator) -> Iterator[Case]:
    def once(launch: "LaunchTrace") -> str:
        read = launch.select(buffer="x", kind="load")["index"]
        again = len(read) - len(np.unique(read))
        if again:
            return (
                f"right, but of its {loads(launch, 'x')} reads of x, {again} fetch an element for the second time. "
                "Keep it in a variable."
            )
        stores, elements = len(launch.select(buffer="out", kind="store")), int(np.prod(launch.buffer("out").shape))
        return "" if stores <= elements else f"right, but it writes {stores} times for {elements} results."

    for planes, H, W in ((2, 5, 7), (1, 2, 2), (3, 4, 4), (2, 8, 10), (5, 3, 2)):
        OH, OW = H // 2, W // 2
        x = whole(rng, planes, H, W)
        if planes == 2:
            x[0, 0, 0] = x[1, 3, 3] = np.nan  # the first of its window, and the last
        windows = x[:, : 2 * OH, : 2 * OW].reshape(planes, OH, 2, OW, 2)
        args = (x, Out(np.maximum(windows.max(axis=(2, 4)), 0)), planes, H, W, OH, OW)
        size = (rounded_up(OW, 4), rounded_up(OH, 4), rounded_up(planes, 2))
        yield Case(f"with planes = {planes}, H = {H}, W = {W}", args, size, (4, 4, 2), demand=once)


def _launch(kernel: str, seconds: float, moved: int | None, flops: int | None) -> "Timed":
    from ...profiling import Timed

    end = round(seconds * 1e9)
    return Timed(kernel, "", "", {}, (64,), (64,), "a device", 0, end, moved, flops)


def _most_to_gain(most_to_gain: Any) -> str:
    """Made-up profiles, on a device of 10 GB/s and 100 GFLOP/s, and what their launch with the most to gain is."""
    from ...profiling import Peaks

    near = _launch("near its roof", 9e-3, 80_000_000, 0)
    wasteful = _launch("six milliseconds above its least", 8e-3, 1000, 200_000_000)
    busy = _launch("that computes all the time", 9.5e-3, 1000, 900_000_000)
    balanced = _launch("whose bytes and operations take equally long", 10.5e-3, 50_000_000, 500_000_000)
    tiny = _launch("a thousand times its least, but tiny", 1e-4, 1000, None)
    secret = _launch("of which nothing is known", 2e-2, None, None)
    bytes_only = _launch("whose operations nobody counted", 7e-3, 60_000_000, None)
    flops_only = _launch("whose bytes nobody counted", 6e-3, None, 50_000_000)
    for launches, best in (
        ([near, busy, wasteful, tiny], wasteful), ([tiny, near], near), ([secret, tiny, near], near),
        ([near, balanced], balanced),
        ([bytes_only, near, flops_only, tiny], flops_only), ([bytes_only], bytes_only),
    ):  # fmt: skip
        said = most_to_gain(list(launches), Peaks(10, 100))
        if said is not best:
            asked = ", ".join(f"one {t.kernel}" for t in launches)
            name = f"the one {said.kernel}" if said in launches else repr(said)
            return f"of these launches ({asked}) it gives {name}; the most can be gained from the one {best.kernel}."
    return ""


LESSON = Lesson(
    "13_profile",
    "A training step, and where its time goes",
    "Which kernel should you make faster, and how much will it help?",
    exercises=(
        Prediction(
            "13.1", "predict", "A linear layer",
            hints=(
                "The result has 32 rows and 128 columns. Each element takes 1568 multiplications and 1568 additions.",
                "Three matrices: two are read, one is written. 4 bytes for each of their numbers.",
                "[2 * 32 * 128 * 1568, 4 * (32 * 1568 + 1568 * 128 + 32 * 128)]",
            ),
            truth=_linear_layer,
            why="Two operations for each pair of factors; and each number of the three matrices moves once.",
            misconceptions=(
                ([32 * 128 * 1568, 4 * (32 * 1568 + 1568 * 128 + 32 * 128)],
                 "A multiplication and an addition are two operations."),
                ([2 * 32 * 128 * 1568, 4 * (32 * 1568 + 1568 * 128)], "The result has to be written, too."),
                ([2 * 32 * 128 * 1568, 32 * 1568 + 1568 * 128 + 32 * 128], "A float32 has four bytes."),
                ([2 * 32 * 128 * 1568, 8 * 32 * 128 * 1568],
                 "That is what the naive kernel asks for; at the least each number moves once."),
            ),
        ),
        Prediction(
            "13.2", "predict", "Amdahl's law",
            hints=(
                "20 milliseconds stay as they are, whatever you do to the products.",
                "20 + 80 / 2 and 20 + 80 / 4. And for nothing at all: 20 of 100.",
            ),
            truth=_amdahl,
            why="The 20 milliseconds that are no products stay: 20 + 40, 20 + 20, and never less than 20.",
            misconceptions=(
                ([50, 25, 5], "Only the products become faster; 20 milliseconds stay as they are."),
                ([60, 30, 5], "Four times as fast means a quarter of the first 80: 20, and the other 20 stay."),
                ([60, 40, 4], "Products that take no time at all leave 20 of 100 milliseconds."),
                ([60, 40, 20], "20 milliseconds are left at the least. How many times as fast is that?"),
            ),
        ),
        Prediction(
            "13.3", "predict", "Side by side, or not",
            hints=(
                "A segment holds 128 bytes: 32 floats.",
                "With s = 4 the last one reads x[124]: that is 125 floats from the first one on.",
                "With s = 100 the neighbours are 400 bytes apart: can two of them meet in a segment?",
            ),
            truth=_segments,
            why="The bytes from first to last fill 1 and 4 segments; 400 bytes apart, each has one of its own.",
            misconceptions=(
                ([1, 4, 100], "32 work-items cannot touch more than 32 segments, one each."),
                ([32, 32, 32], "Floats that lie in the same segment come together."),
                ([1, 1, 1], "32 neighbours fetch together, but a segment holds no more than 32 floats in a row."),
                ([1, 32, 32], "With s = 4, eight neighbours still find their floats in one segment."),
            ),
        ),
        PythonExercise(
            "13.4", "fill in", "What holds it up",
            hints=(
                "Arithmetic intensity: operations for each byte.",
                "At the ridge both take equally long: flops / peaks.gflops is bytes / peaks.gbytes_per_second.",
                "flops / bytes, and peaks.gflops / peaks.gbytes_per_second.",
            ),
            function="held_up_by", complaint=_held_up_by,
            done="Two divisions say what kind of work a kernel needs.",
        ),
        KernelExercise(
            "13.5", "find the bug", "Each its own stretch",
            hints=(
                "In the same turn of the loop, neighbours are EACH elements apart. They should be 1 apart.",
                "Begin with the work-item's own number. How far is the next turn, if all work-items have had one?",
                "int first = get_global_id(0); and int i = first + k * get_global_size(0);",
            ),
            kernel="relu", cases=_relu,
            done="On a processor the stretch is the better choice, on a GPU this is. The package asks which it has.",
        ),
        KernelExercise(
            "13.6", "make it faster", "The queue at the bank",
            hints=(
                "tile[i][k]: neighbours differ in i, so they are a row apart: 32 floats. And there are 32 banks.",
                "If a row were one float longer, the next row would begin one bank further on.",
                "__local float tile[32][33];",
            ),
            kernel="flip", cases=_flip,
            done="32 floats that hold nothing, and 32 neighbours no longer wait for each other.",
        ),
        KernelExercise(
            "13.7", "make it faster", "ReLU and pooling in one",
            hints=(
                "ReLU after the maximum gives the same as before it. So a maximum that starts with 0 is both.",
                "The window's pixels: x[(plane * H + 2 * oh + kh) * W + 2 * ow + kw], where kh and kw are 0 or 1.",
                "float best = 0; and for each pixel: float a = x[...]; if (best == best && !(a <= best)) best = a; "
                "Guard all three axes.",
            ),
            kernel="relu_pool", cases=_relu_pool,
            done="Nothing is written in between. Together the two launches touched memory more than twice as often.",
        ),
        PythonExercise(
            "13.8", "write Python", "Worth your week",
            hints=(
                "Leave out what is unknown: [t for t in launches if t.bytes is not None or t.flops is not None].",
                "The least time is the larger one of (t.bytes or 0) / (peaks.gbytes_per_second * 1e9) and "
                "(t.flops or 0) / (peaks.gflops * 1e9).",
                "max(known, key=lambda t: t.seconds - least(t))",
            ),
            function="most_to_gain", complaint=_most_to_gain,
            done="Not the slowest launch, and not the one with the worst ratio: the one with the most seconds to gain.",
        ),
    ),
    minutes=60,
)  # fmt: skip
