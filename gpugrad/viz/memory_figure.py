"""How neighbouring work-items meet memory: which segments, which banks, request after request."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from ..trace.launch import LaunchTrace
from ..trace.memory import BANKS, SEGMENT, WARP, memory_use, places, requests_of
from ..trace.session import one_launch
from .figure import Figure
from .lines import kept_lines
from .page import script
from .still import Picture, still
from .words import by_shape, counted, numbers, pack_integers, trimmed, unpack

REQUESTS = 400  # of each place, shown
ALL_REQUESTS = 2000  # of all places together: what a page of under 1 MB holds
VERB = {"load": "read", "store": "write", "atomic": "update"}
LEAD = (
    f"{WARP} neighbouring work-items run a place of the source together. Global memory comes in segments of {SEGMENT} "
    f"bytes, a row here: the fewer rows they touch, the better. Local memory has {BANKS} banks, a column here: each "
    "gives one word at a time."
)


class Memory(Figure):
    """`place` numbers the places of the source that touch memory, `request` what a group of 32 asks for there."""

    _esm = script("memory.js")
    place = traitlets.Int(0, min=0).tag(sync=True)
    request = traitlets.Int(0, min=0).tag(sync=True)
    position = ("place", "request")

    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        found = places(launch)
        if not found:
            raise ValueError(
                f"memory: the launch of {launch.kernel} holds no access to global or local memory: its work-items "
                "made none, or only outside the buffers, or none of them was recorded (groups=, work_items=)"
            )
        uses, shown = memory_use(launch), REQUESTS
        while shown > 1 and sum(min(use["requests"], shown) for use in uses) > ALL_REQUESTS:
            shown //= 2
        self.places = [self._place(m, rows, shown) for m, rows in zip(uses, found, strict=True)]
        size = by_shape(trimmed(launch.local_size))
        data = {
            "title": f"Memory: what {launch.kernel} asks for", "lead": LEAD, "source": launch.source,
            "keep": kept_lines(launch), "places": self.places,
            "caption": f"Recorded on {launch.device}: one launch of {launch.kernel}, work-groups of {size}. The "
            f"addresses are the trace's; warps of {WARP}, segments of {SEGMENT} bytes and {BANKS} banks are those of "
            "common GPUs.",
        }  # fmt: skip
        super().__init__(data=data)

    @traitlets.validate("place")
    def _a_place(self, proposal: Any) -> int:
        k, n = int(proposal["value"]), len(self.places)
        if k >= n:
            raise traitlets.TraitError(f"memory: place is {k}; the launch has {n} (0 to {n - 1})")
        return k

    @traitlets.validate("request")
    def _a_request(self, proposal: Any) -> int:
        """Up to what the place with the most has: place and request may change in any order."""
        k, n = int(proposal["value"]), max(p["shown"] for p in self.places)
        if k >= n:
            raise traitlets.TraitError(f"memory: request is {k}; no place has more than {n} (0 to {n - 1})")
        return k

    def _place(self, use: dict[str, Any], rows: np.ndarray, most: int) -> dict[str, Any]:
        """One place: its averages, and of its first requests who touched which bytes."""
        c, site = self.launch.columns, self.launch.sites[use["site"]]
        request = requests_of(self.launch, rows)
        keep = request < most
        rows, request = rows[keep], request[keep]
        average: dict[str, Any] = {k: round(float(use[k]), 3) for k in ("segments", "useful", "conflicts") if k in use}
        return {
            "line": use["line"], "kind": use["kind"], "text": use["text"], "space": use["space"],
            "buffer": use["buffer"], "start": site.start, "end": site.end, "requests": use["requests"],
            "shown": int(request.max()) + 1, "size": int(c.size[rows[0]]), **average,
            "request": pack_integers(request), "item": pack_integers(c.item[rows]),
            "lane": pack_integers(c.local_id[rows] % WARP), "offset": pack_integers(c.offset[rows]),
            "first": self._first(c.item[rows], request),
        }  # fmt: skip

    def _first(self, item: np.ndarray, request: np.ndarray) -> list[list[str]]:
        """The first and the last work-item of each request, by name."""
        sizes = trimmed(self.launch.global_size)
        out = []
        for r in range(int(request.max()) + 1):
            mine = item[request == r]
            out.append([numbers(int(mine.min()), sizes), numbers(int(mine.max()), sizes)])
        return out

    def touched(self, place: int, request: int) -> tuple[np.ndarray, np.ndarray]:
        """(lane, byte) of each access of a request."""
        p = self.places[place]
        mine = unpack(p["request"]) == request
        return unpack(p["lane"])[mine], unpack(p["offset"])[mine]

    def describe(self) -> str:
        n = min(self.place, len(self.places) - 1)
        p = self.places[n]
        r = min(self.request, p["shown"] - 1)
        lane, offset = self.touched(n, r)
        a, b = p["first"][r]
        count = len(set(lane.tolist()))
        who = f"Work-item {a}" if count == 1 else f"Work-items {a} to {b}"
        verb = VERB[p["kind"]] + ("s" if count == 1 else "")
        cells = np.unique(offset)
        head = f"{who} {verb} {p['text']}, {len(cells)} element{'s' * (len(cells) != 1)} of {p['buffer']}: "
        if p["space"] == "local":
            words = np.unique(offset // 4)
            most = int(np.bincount(words % BANKS).max())
            if most == 1:
                return head + "no bank is asked for more than one word, so all come at once."
            return head + f"the busiest bank is asked for {most} words, so it takes {most} turns."
        segments = len(np.unique(offset // SEGMENT))
        wanted, moved = len(cells) * p["size"], segments * SEGMENT
        many = f"{segments} segments of {SEGMENT} bytes are" if segments > 1 else f"1 segment of {SEGMENT} bytes is"
        return f"{head}{many} moved for {wanted} bytes, {100 * wanted / moved:.0f} % of them."

    def head(self) -> str:
        size = by_shape(trimmed(self.launch.local_size))
        return f"Memory of {self.launch.kernel}, work-groups of {size}: {counted(len(self.places), 'place')}"

    def first_frame(self) -> str:
        p = self.places[0]
        lane, offset = self.touched(0, 0)
        words = offset // 4
        first = int(words.min()) // 32 * 32
        rows = min(12, int(words.max() - first) // 32 + 1)
        seen = {int(w - first): str(n) for w, n in zip(words, lane, strict=True)}
        sign = "r" if p["kind"] == "load" else "w"
        picture = Picture(p["buffer"], f"words of 4 bytes, {p['space']}", (rows, 32),
                          lambda i: (seen.get(i, ""), sign if i in seen else ""), 22, 32)  # fmt: skip
        note = "Recorded; the numbers in the cells are work-items, counted within their 32."
        return still(self.data["title"], f"{self.head()}. {self.describe()}", [picture], note)


def memory(launch: Any) -> Memory:
    """How well a kernel uses memory: which segments and banks 32 neighbours touch, place by place, request by request.

    launch: `t.launches[i]` of `with gg.trace() as t:`, a trace of one launch, or a report on one. `.place`
    and `.request` hold where you are. ValueError where the launch touched no memory.
    """
    return Memory(one_launch("memory", launch))
