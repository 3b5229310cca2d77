"""A timeline of launches from `gg.profile()`: what ran when, by family, and how near it came to the device's peaks."""

from __future__ import annotations

from typing import Any

import traitlets

from ..profiling import Profile, Timed
from .figure import Figure
from .page import script
from .still import INK, MUTED, drawing, text
from .words import by_shape

MOST = 4000  # launches in a picture
LEAD = (
    "Each bar is a launch, in the row of its family, as the device timed it. Below, what the families reached, beside "
    "the device's own peaks, measured with a stream of copies and a product of matrices."
)


class Timeline(Figure):
    """`pos` is the launch, in the order in which they ran."""

    _esm = script("roofline.js", "timeline.js")
    pos = traitlets.Int(0, min=0).tag(sync=True)
    position = ("pos",)

    def __init__(self, profile: Profile) -> None:
        launches = profile.launches
        if not launches:
            raise ValueError("timeline: the profile holds no launch; run something inside `with gg.profile() as p:`")
        if len(launches) > MOST:
            raise ValueError(
                f"timeline: the profile holds {len(launches):,} launches; profile one step ({MOST:,} at most)"
            )
        devices = sorted({t.device for t in launches})
        if len(devices) > 1:
            raise ValueError(
                f"timeline: the profile holds launches of {len(devices)} devices ({', '.join(devices)}), and each has "
                "a clock of its own; profile a block that uses one of them"
            )
        self.launches = launches
        first = min(t.start for t in launches)
        peaks = profile.peaks()
        super().__init__(data={
            "title": "Timeline of a block", "lead": LEAD, "launches": [self._launch(t, first) for t in launches],
            "peaks": {"gbs": round(peaks.gbytes_per_second, 3), "gflops": round(peaks.gflops, 3)},
            "caption": f"Timed by {launches[0].device} with OpenCL's profiling events. Bytes count each argument once, "
            "as if caches were perfect, so GB/s can exceed what memory does.",
        })  # fmt: skip

    @staticmethod
    def _launch(t: Timed, first: int) -> dict[str, Any]:
        variant = f", {t.variant}" if t.variant else ""
        return {
            "kernel": t.kernel, "family": t.family or "yours", "variant": variant + (f", {t.form}" if t.form else ""),
            "at": round((t.start - first) / 1e3, 3), "us": round((t.end - t.start) / 1e3, 3), "bytes": t.bytes,
            "flops": t.flops, "shapes": " ".join(f"{n} {by_shape(s)}" for n, s in list(t.shapes.items())[:4]),
        }  # fmt: skip

    def families(self) -> dict[str, int]:
        """How many launches each family made, the most first."""
        count: dict[str, int] = {}
        for t in self.launches:
            count[t.family or "yours"] = count.get(t.family or "yours", 0) + 1
        return dict(sorted(count.items(), key=lambda item: (-item[1], item[0])))

    def many(self) -> str:
        return f"{len(self.launches):,} launch{'es' * (len(self.launches) != 1)}"

    def head(self) -> str:
        return f"Timeline of {self.many()}"

    def describe(self) -> str:
        """Counts only: times differ from run to run."""
        pos = min(int(self.pos), len(self.launches) - 1)
        families = ", ".join(f"{n} {name}" for name, n in self.families().items())
        return f"{self.many()}: {families}. Launch {pos + 1} is {self.launches[pos].kernel}."

    def first_frame(self) -> str:
        out = [text(16, 28, "Timeline of a block", 15, weight=650)]
        out.append(text(16, 50, f"{self.many()} by family; the live figure shows their times.", 13, MUTED))
        families = self.families()
        most = max(families.values())
        for k, (name, n) in enumerate(families.items()):
            y = 70 + 22 * k
            out.append(text(16, y + 12, name, 13))
            out.append(f'<rect x="190" y="{y + 2}" width="{max(2, 300 * n / most):.0f}" height="12" fill="{INK}"/>')
            out.append(text(200 + 300 * n / most, y + 12, str(n), 11, MUTED, mono=True))
        return drawing(560, 90 + 22 * len(families), self.describe(), out)


def timeline(profile: Profile) -> Timeline:
    """The launches of a block over time, by family, with GB/s and GFLOP/s beside the device's measured peaks.

    profile: from `with gg.profile() as p:`. Measuring the peaks takes a second or two, once. `.pos` is the launch.
    ValueError for a profile without launches, with more than 4,000, or with those of several devices.
    """
    if not isinstance(profile, Profile):
        raise TypeError(f"timeline: profile is {type(profile).__name__}; give the p of `with gg.profile() as p:`")
    return Timeline(profile)
