"""Shape arithmetic of broadcasting: the shape of the result, and operands' strides over as few axes as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

Shape = tuple[int, ...]


@lru_cache(4096)
def broadcast_shape(function: str, *shapes: Shape) -> Shape:
    """The shape that `shapes` broadcast to, by NumPy's rule; ValueError names the axis where they don't.

    Shapes are aligned at their last axes; along each axis sizes are equal, or 1, which serves for all.
    """
    ndim = max(len(s) for s in shapes)
    result = []
    for axis in range(-ndim, 0):
        sizes = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(sizes) > 1:
            given = " and ".join(str(s) for s in shapes)
            raise ValueError(
                f"{function}: shapes {given} do not broadcast: along dim {axis} they have "
                f"{' and '.join(str(s[axis]) for s in shapes if len(s) >= -axis)}; sizes must be equal or 1"
            )
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


@lru_cache(4096)
def collapse(shape: Shape, *operands: Shape) -> tuple[Shape, tuple[Shape, ...]]:
    """`shape` over as few axes as possible, and each operand's strides along them (0 where it is repeated).

    Neighbouring axes become one where every operand either has both or repeats both: (8, 16, 7, 7) with a bias
    (16, 1, 1) is (8, 16, 49), and the bias's strides are (0, 1, 0).
    """
    padded = [(1,) * (len(shape) - len(s)) + s for s in operands]
    sizes: list[int] = []
    repeats: list[tuple[bool, ...]] = []  # for each kept axis, whether each operand is repeated along it
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        repeated = tuple(p[axis] == 1 for p in padded)
        if repeats and repeats[-1] == repeated:
            sizes[-1] *= size
        else:
            sizes.append(size)
            repeats.append(repeated)
    strides = []
    for operand in range(len(operands)):
        stride, found = 1, []
        for size, repeated in zip(reversed(sizes), reversed(repeats), strict=True):
            found.append(0 if repeated[operand] else stride)
            if not repeated[operand]:
                stride *= size
        strides.append(tuple(reversed(found)))
    return tuple(sizes), tuple(strides)


def in_three(sizes: Sequence[int], strides: Sequence[Shape]) -> tuple[Shape, tuple[Shape, ...]]:
    """The same with exactly three axes, the first of them of size 1 where there are fewer."""
    missing = 3 - len(sizes)
    return (1,) * missing + tuple(sizes), tuple((0,) * missing + tuple(s) for s in strides)
