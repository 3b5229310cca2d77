"""Where the boxes of a graph stand: in layers, what is needed first above what needs it."""

from __future__ import annotations

WIDTH, HEIGHT, ACROSS, DOWN = 132, 38, 20, 22


def layered(needs: list[list[int]]) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """needs[i]: the boxes that i is made from, all with a smaller number -> (x, y) of each box, and the whole size.

    A box stands one layer below the lowest that it needs; one that needs nothing (a leaf), just above the first that
    needs it. Within a layer boxes stand near those that they are tied to.
    """
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
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for i in range(n):
        rows[layer[i]].append(i)
    place = [0.0] * n
    for row in rows:
        for k, i in enumerate(row):
            place[i] = k - (len(row) - 1) / 2
    for sweep in range(6):
        ties, order = (needs, rows) if sweep % 2 else (users, rows[::-1])
        for row in order:
            wish = {i: sum(place[j] for j in ties[i]) / len(ties[i]) if ties[i] else place[i] for i in row}
            row.sort(key=lambda i: (wish[i], i))
            settle(row, wish, place)
    left = min(place, default=0.0)
    spots = [(round((place[i] - left) * (WIDTH + ACROSS)), layer[i] * (HEIGHT + DOWN)) for i in range(n)]
    return spots, (max((x for x, _ in spots), default=0) + WIDTH, len(rows) * (HEIGHT + DOWN) - DOWN)


def settle(row: list[int], wish: dict[int, float], place: list[float]) -> None:
    """Give a row's boxes places a whole step apart, as near to what they wish as that allows."""
    at = float("-inf")
    for i in row:
        at = max(wish[i], at + 1)
        place[i] = at
    shift = sum(place[i] - wish[i] for i in row) / len(row)
    for i in row:
        place[i] -= shift
