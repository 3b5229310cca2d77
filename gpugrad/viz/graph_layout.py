"""Where the boxes of a graph stand: in layers, what is needed first above what needs it."""

from __future__ import annotations

WIDTH, HEIGHT, ACROSS, DOWN = 132, 38, 20, 22
LANE = 24  # room that an edge takes where it passes between boxes

Point = tuple[int, int]


def layered(needs: list[list[int]]) -> tuple[list[Point], dict[int, list[Point]], Point]:
    """needs[i]: the boxes that i is made from, all with a smaller number.

    Gives (x, y) of each box; the lane of each box with an edge longer than a layer: (x, top) in each layer that its
    longest passes, of which a shorter one passes the first; and the whole size.

    A box stands one layer below the lowest that it needs; one that needs nothing (a leaf), just above the first that
    needs it. Within a layer boxes stand near those that they are tied to. The long edges of a box share a lane, which
    no box stands in.
    """
    layer, n = layers(needs), len(needs)
    users: list[list[int]] = [[] for _ in range(n)]
    for i, before in enumerate(needs):
        for j in sorted(set(before)):
            users[j].append(i)
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    lanes: dict[int, list[int]] = {}
    for j in range(n):
        lane = [j]
        for down in range(layer[j] + 1, max((layer[i] for i in users[j]), default=0)):
            below[lane[-1]].append(len(layer))
            above.append([lane[-1]])
            below.append([])
            lane.append(len(layer))
            layer.append(down)
        for i in users[j]:
            last = lane[layer[i] - layer[j] - 1]
            above[i].append(last)
            below[last].append(i)
        if lane[1:]:
            lanes[j] = lane[1:]
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for i, k in enumerate(layer):
        rows[k].append(i)
    room = [WIDTH + ACROSS] * n + [LANE] * (len(layer) - n)
    place = [0.0] * len(layer)
    for row in rows:
        settle(row, dict.fromkeys(row, 0.0), room, place)
    for sweep in range(6):
        ties, order = (above, rows) if sweep % 2 else (below, rows[::-1])
        for row in order:
            wish = {i: sum(place[j] for j in ties[i]) / len(ties[i]) if ties[i] else place[i] for i in row}
            row.sort(key=lambda i: (wish[i], i))
            settle(row, wish, room, place)
    left = min((place[i] - (WIDTH if i < n else LANE) / 2 for i in range(len(layer))), default=0.0)
    right = max((place[i] + (WIDTH if i < n else LANE) / 2 for i in range(len(layer))), default=0.0)
    at = [(round(x - left), k * (HEIGHT + DOWN)) for x, k in zip(place, layer, strict=True)]
    spots = [(x - WIDTH // 2, y) for x, y in at[:n]]
    ways = {j: [at[k] for k in lane] for j, lane in lanes.items()}
    return spots, ways, (round(right - left), len(rows) * (HEIGHT + DOWN) - DOWN)


def layers(needs: list[list[int]]) -> list[int]:
    """The layer of each box, counted from the top."""
    n = len(needs)
    users: list[list[int]] = [[] for _ in range(n)]
    layer = [0] * n
    for i, before in enumerate(needs):
        layer[i] = 1 + max((layer[j] for j in before), default=-1)
        for j in before:
            users[j].append(i)
    for i in range(n):
        if not needs[i] and users[i]:
            layer[i] = min(layer[j] for j in users[i]) - 1
    return layer


def settle(row: list[int], wish: dict[int, float], room: list[int], place: list[float]) -> None:
    """Give what stands in a row places with room for each, as near to what they wish as that allows."""
    at, before = float("-inf"), 0
    for i in row:
        at = max(wish[i], at + (before + room[i]) / 2)
        place[i], before = at, room[i]
    shift = sum(place[i] - wish[i] for i in row) / len(row)
    for i in row:
        place[i] -= shift
