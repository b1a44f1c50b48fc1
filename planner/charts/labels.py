"""Where words stand on a plot: beside what they name, on no other word and, if it can be, no line.

Places are counted from 0 to 1, across and up the plot. Everything here takes arrays with further
axes in front, so that the words of many plots can be placed at once.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

WIDTH, HEIGHT = 360, 190  # pixels of a plot in half a page; a larger one has more room
LETTER, LINE = 6.2, 15  # pixels: how wide a letter is, and how high a line of text
GAP, RISE = 9, 12  # pixels from a place to the near end of its word, and to the word's middle
FAR = 2.4  # times as far, above a word that stands near
DOT = 12  # pixels: the width of a point
# Where a word may stand: left (-1) or right (1) of its place, and how far above it.
CORNERS = ((-1, 1), (1, 1), (-1, -1), (1, -1), (-1, FAR), (1, FAR))
RIGHT_ABOVE, LEFT_BELOW = CORNERS[1:2], CORNERS[2:3]


class Box(NamedTuple):
    """The sides of a rectangle, or of each of many."""

    left: np.ndarray
    right: np.ndarray
    bottom: np.ndarray
    top: np.ndarray

    @classmethod
    def around(cls, x, y, width, height) -> "Box":
        """About a place, of a size in pixels."""
        across, up = width / WIDTH / 2, height / HEIGHT / 2
        return cls(x - across, x + across, y - up, y + up)

    def meets(self, other: "Box"):
        """Whether two have room in common."""
        across = (self.left < other.right) & (other.left < self.right)
        return across & (self.bottom < other.top) & (other.bottom < self.top)

    def at(self, *index) -> "Box":
        """Those at an index of the last axes; with one axis more where it is None."""
        return Box(*(np.asarray(side)[(..., *index)] for side in self))


class Labels:
    """The words on one plot, or on each of several. Those written first have the first choice.

    across, up: from the plot's own units to places from 0 to 1. lines, dots: what words keep off,
    in the plot's own units; a line is its points across and up, along the last axis.
    """

    def __init__(self, across: Callable, up: Callable, lines: Iterable, dots: Iterable = ()):
        self.across, self.up, self.rows = across, up, []
        self.taken = [Box.around(across(x), up(y), DOT, DOT) for x, y in dots]
        pieces = [_pieces(across(np.asarray(x)), up(np.asarray(y))) for x, y in lines]
        self.lines = Box(*(np.concatenate(sides, -1) for sides in zip(*pieces, strict=True)))

    def write(self, text: str, x, y, corners=CORNERS, weight="normal", optional=False):
        """Write a text at the first of the places x, y, along their last axis, that has room.

        It stands far only where no place is near, on a line only where no other is left, and on a
        word only at worst; an optional one is left out instead, its text empty.
        """
        x, y = np.broadcast_arrays(x, y)
        side, level = np.tile(corners, (x.shape[-1], 1)).T
        x, y = (np.repeat(each, len(corners), -1) for each in (x, y))
        width = len(text) * LETTER
        box = Box.around(
            self.across(x) + side * (GAP + width / 2) / WIDTH,
            self.up(y) + level * RISE / HEIGHT,
            width,
            LINE,
        )
        inside = (box.left >= 0) & (box.right <= 1) & (box.bottom >= 0) & (self.up(y) <= 1)
        free = inside & (box.top <= 1)
        for word in self.taken:
            free &= ~box.meets(word.at(None))
        on_line = box.at(slice(None), None).meets(self.lines.at(None, slice(None))).any(-1)
        clear = free & ~on_line
        rank = 1 * inside + free + clear + (clear & (level != FAR))
        best = rank.argmax(-1)[..., None]
        label = np.where(rank.max(-1) < 2, "", text) if optional else text
        side, level = side[best[..., 0]], level[best[..., 0]]
        x, y, *sides = (np.take_along_axis(each, best, -1)[..., 0] for each in (x, y, *box))
        self.taken.append(Box(*sides))
        align = np.where(side < 0, "right", "left")
        self.rows.append((x, y, label, align, GAP * side, -RISE * level, weight))

    def columns(self, x: str, y: str) -> dict[str, np.ndarray]:
        """The words by column, one along the first axis: places by the names given, and how each
        stands at its place."""
        names = (x, y, "label", "align", "dx", "dy", "fontWeight")
        return dict(zip(names, map(np.array, zip(*self.rows, strict=True)), strict=True))


def _pieces(x, y):
    """The box of each piece of a line, from one of its points to the next."""
    left, right, low, high = x[..., :-1], x[..., 1:], y[..., :-1], y[..., 1:]
    return Box(left, right, np.minimum(low, high), np.maximum(low, high))
