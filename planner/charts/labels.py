"""Where words stand on a plot: beside what they name, on no other word and, if it can be, no line.

Places are counted from 0 to 1, across and up the plot.
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np

from planner.charts.picture import by_column

WIDTH, HEIGHT = 360, 160  # pixels of a plot in half a page; a larger one has more room
LETTER, LINE = 6.2, 15  # pixels: how wide a letter is, and how high a line of text
GAP, RISE = 9, 12  # pixels from a place to the near end of its word, and to the word's middle
FAR = 2.4  # times as high, above a word that stands near
NAME_EVERY = 4  # points of a line from one place for its name to the next
# Where a word may stand: left (-1) or right (1) of its place, and how far above it.
CORNERS = ((-1, 1), (1, 1), (-1, -1), (1, -1), (-1, FAR), (1, FAR))
ALIGN = {-1: "right", 1: "left"}  # of a word, by its side
ON_A_WORD, CLEAR = 1, 4
RIGHT_ABOVE, LEFT_BELOW = CORNERS[1:2], CORNERS[2:3]


class Box(NamedTuple):
    """The sides of a rectangle, or of many in arrays."""

    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def about(cls, x: float, y: float, width: float, height: float) -> "Box":
        """Of a size in pixels, about its middle."""
        across, up = width / WIDTH / 2, height / HEIGHT / 2
        return cls(x - across, x + across, y - up, y + up)

    @property
    def inside(self) -> bool:
        """Whether all of it is on the plot."""
        return self.left >= 0 and self.right <= 1 and self.bottom >= 0 and self.top <= 1

    def meets(self, other: "Box"):
        """Whether it has room in common with another, or with each of many."""
        across = (self.left < other.right) & (other.left < self.right)
        return across & (self.bottom < other.top) & (other.bottom < self.top)


class Labels:
    """The words on a plot. Those written first have the first choice.

    across, up: from the plot's own units to places from 0 to 1. lines, dots: what words keep off,
    in the plot's own units; a line is its points across and up.
    """

    def __init__(self, across: Callable, up: Callable, lines: Iterable, dots: Iterable = ()):
        self.across, self.up, self.rows = across, up, []
        pieces = zip(*(_pieces(across(x), up(y)) for x, y in lines), strict=True)
        self.lines = Box(*(np.concatenate(sides) for sides in pieces))
        self.taken = [Box.about(float(across(x)), float(up(y)), LINE, LINE) for x, y in dots]

    def write(self, text: str, places: Iterable, corners=CORNERS, weight="normal", optional=False):
        """Write a text at the first of some places (x, y) that has room.

        It stands far only where no place is near, on a line only where no other is left, and on a
        word only at worst; an optional one is left out instead.
        """
        best = (-1,)
        for (x, y), (side, rise) in product(places, corners):
            width = len(text) * LETTER
            middle = float(self.across(x)) + side * (GAP + width / 2) / WIDTH
            box = Box.about(middle, float(self.up(y)) + rise * RISE / HEIGHT, width, LINE)
            room = self._room(box, near=rise != FAR)
            if room > best[0]:
                best = (room, box, (x, y, text, ALIGN[side], GAP * side, -RISE * rise, weight))
            if room == CLEAR:
                break
        room, box, row = best
        if room > ON_A_WORD or not optional:
            self.taken.append(box)
            self.rows.append(row)

    def name(self, text: str, x: np.ndarray, y: np.ndarray):
        """Write a line's name beside it, as near to its end as there is room."""
        seen = ~np.isnan(x)
        places = list(zip(x[seen], y[seen], strict=True))[::-NAME_EVERY]
        if places:
            self.write(text, places)

    def _room(self, box, near):
        """How well a word would stand there, the best last: from 0, off the plot, to `CLEAR`."""
        if not box.inside:
            return 0
        if any(box.meets(word) for word in self.taken):
            return ON_A_WORD
        if box.meets(self.lines).any():
            return ON_A_WORD + 1
        return CLEAR if near else CLEAR - 1

    def columns(self, x: str, y: str) -> dict[str, list]:
        """The words by column: their places by the names given, and how each stands there."""
        return by_column(self.rows, x, y, "label", "align", "dx", "dy", "fontWeight")


def _pieces(x, y):
    """The box of each piece of a line, from one of its points to the next."""
    low, high = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
    return Box(np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:]), low, high)
