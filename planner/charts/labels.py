"""Where words stand on a plot: beside what they name, on no other word and, if it can be, no line.

Places are counted from 0 to 1, across and up the plot. A word has the same size in pixels on every
screen and a plot has not, so a place has room only where it has on plots from the smallest to the
largest.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from planner.charts.picture import by_column

# Pixels of a plot, across and up: on a low projector in its larger type, a phone, wider screens.
SIZES = np.array([(250, 185), (280, 240), (960, 240)], np.float32)
LETTER, LINE = 6.2, 15  # pixels: how wide a letter is, and how high a line of text
GAP, RISE = 9, 12  # pixels from a place to the near end of its word, and to the word's middle
FARTHER = (2.4, 3.8, 5.2, 7)  # times as high or low as a word that stands near
DOT = 13  # pixels that words keep off about a dot
NAME_EVERY = 3  # points of a line from one place for its name to the next, at first
# Where a word may stand: left (-1) or right (1) of its place or at neither side, and how far above.
NEAR = ((-1, 1), (1, 1), (-1, -1), (1, -1), (0, 1.5), (0, -1.5))
CORNERS = (
    *NEAR,
    *((side, up * far) for far in FARTHER for up in (1, -1) for side in (-1, 1, 0)),
)
ALIGN = {-1: "right", 0: "center", 1: "left"}  # of a word, by its side
OFF, ON_A_WORD, ON_A_LINE, ON_A_RULE, AFAR, CLEAR = range(6)  # how well it stands, the best last
RIGHT_ABOVE, LEFT_BELOW = CORNERS[1:2], CORNERS[2:3]


class Box(NamedTuple):
    """The sides of a rectangle, or of many in arrays."""

    left: np.ndarray
    right: np.ndarray
    bottom: np.ndarray
    top: np.ndarray

    @classmethod
    def about(cls, x, y, width: float, height: float) -> "Box":
        """Of a size in pixels, about its middle, on a plot of each of `SIZES`: (..., sizes)."""
        across, up = (half / SIZES.T for half in (width / 2, height / 2))
        return cls(x - across[0], x + across[0], y - up[1], y + up[1])

    @property
    def inside(self):
        """Whether all of it is on the plot."""
        return (self.left >= 0) & (self.right <= 1) & (self.bottom >= 0) & (self.top <= 1)

    def meets(self, other: "Box"):
        """Whether it has room in common with another, or with each of many."""
        across = (self.left < other.right) & (other.left < self.right)
        return across & (self.bottom < other.top) & (other.bottom < self.top)


class Labels:
    """The words on a plot. Those written first have the first choice.

    across, up: from the plot's own units to places from 0 to 1. lines, dots: what words keep off,
    in the plot's own units; a line is its points across and up. rules: lines that words keep off
    if they can, and that give way to them where they cannot (`crossed`).
    """

    def __init__(self, across: Callable, up: Callable, lines: Iterable, dots=(), rules=()):
        self.across, self.up, self.rows, self.taken = across, up, [], []
        self.lines, self.rules = self._pieces(lines), self._pieces(rules)
        for x, y in dots:
            place = (np.full(len(SIZES), at, np.float32) for at in (across(x), up(y)))
            self.taken.append(Box.about(*place, DOT, DOT))

    def write(self, text: str, places: Iterable, corners=CORNERS, weight="normal", optional=False):
        """Write a text at the first of some places (x, y) that has room.

        It stands far only where no place is near, on a line only where no other is left, and on a
        word only at worst; an optional one is left out instead of either. Whether it was written.
        """
        places, best = list(places), None
        for some in (places[:1], places[1:]):  # most often the first has room, and is found at once
            found = self._best(text, some, corners) if some else None
            if found and (best is None or found[0] > best[0]):
                best = found
            if best and best[0] == CLEAR:
                break
        room, box, row = best
        written = room > (ON_A_RULE if optional else OFF)
        if written:
            self.taken.append(box)
            self.rows.append((*row, weight))
        return written

    def crossed(self, x: np.ndarray, y: np.ndarray) -> bool:
        """Whether a line would pass through a word, or by it within half a line of text."""
        pieces, margin = self._pieces([(x, y)]), LINE / 2 / SIZES[:, 1]
        for left, right, bottom, top in self.taken:
            word = Box(left, right, bottom - margin, top + margin)
            if Box(*(side[:, None] for side in word)).meets(pieces).any():
                return True
        return False

    def _best(self, text, places, corners):
        """How much room the best of the places has, the word's box there, and its row."""
        width = len(text) * LETTER
        at = np.array(places, float).T
        x, y = (np.repeat(each, len(corners)) for each in (self.across(at[0]), self.up(at[1])))
        side, rise = np.tile(np.array(corners, np.float32).T, len(places))
        middle = x[:, None] + side[:, None] * (GAP + width / 2) / SIZES[:, 0]
        boxes = Box.about(middle, y[:, None] + rise[:, None] * RISE / SIZES[:, 1], width, LINE)
        room = self._room(boxes, np.abs(rise) < FARTHER[0])
        best = int(room.argmax())
        (place_x, place_y), (own_side, own_rise) = (
            places[best // len(corners)],
            corners[best % len(corners)],
        )
        row = (place_x, place_y, text, ALIGN[own_side], GAP * own_side, -RISE * own_rise)
        return int(room[best]), Box(*(side[best] for side in boxes)), row

    def name(self, text: str, x: np.ndarray, y: np.ndarray):
        """Write a line's name beside it, as near to its end as there is room."""
        seen = ~np.isnan(x)
        places = list(zip(x[seen], y[seen], strict=True))[::-1]
        if places and not self.write(text, places[::NAME_EVERY], optional=True):
            self.write(text, places)

    def _room(self, boxes, near):
        """How well a word would stand in each box, of (places, sizes)."""
        room = np.where(near, CLEAR, AFAR)
        sides = Box(*(side[..., None] for side in boxes))
        room[sides.meets(self.rules).any((1, 2))] = ON_A_RULE
        room[sides.meets(self.lines).any((1, 2))] = ON_A_LINE
        for word in self.taken:
            room[boxes.meets(word).any(1)] = ON_A_WORD
        room[~boxes.inside.all(1)] = OFF
        return room

    def _pieces(self, lines):
        """The box of each piece of some lines, from one point to the next."""
        sides = [np.empty((4, 0), np.float32)]
        for x, y in lines:
            x, y = self.across(x), self.up(y)
            ends = (x[:-1], x[1:]), (y[:-1], y[1:])
            sides.append([side(*each) for each in ends for side in (np.minimum, np.maximum)])
        return Box(*np.concatenate(sides, axis=1).astype(np.float32))

    def columns(self, x: str, y: str) -> dict[str, list]:
        """The words by column: their places by the names given, and how each stands there."""
        return by_column(self.rows, x, y, "label", "align", "dx", "dy", "fontWeight")
