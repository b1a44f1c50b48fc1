"""Where words stand on a plot: beside what they name, on no other word and, if it can be, no line.

Places are counted from 0 to 1, across and up the plot. The words of several plots, as those of a
slider's stops, are placed at once where places have one more axis in front, for the plots.
"""

from collections.abc import Callable, Iterable

import numpy as np

PLOT = np.array([360, 190])  # pixels of a plot in half a page; a larger one has more room
LETTER, LINE = 6.2, 15  # pixels: how wide a letter is, and how high a line of text
GAP, RISE = 9, 12  # pixels from a place to the near end of its word, and to the word's middle
FAR = 2.4  # times as high, above a word that stands near
DOT = (12, 12)  # pixels: the size of a point
# Where a word may stand: left (-1) or right (1) of its place, and how far above it.
CORNERS = ((-1, 1), (1, 1), (-1, -1), (1, -1), (-1, FAR), (1, FAR))
RIGHT_ABOVE, LEFT_BELOW = CORNERS[1:2], CORNERS[2:3]


class Labels:
    """The words on a plot. Those written first have the first choice.

    across, up: from the plot's own units to places from 0 to 1. lines, dots: what words keep off,
    in the plot's own units; a line is its points across and up.
    """

    def __init__(self, across: Callable, up: Callable, lines: Iterable, dots: Iterable = ()):
        self.across, self.up, self.rows = across, up, []
        self.lines = [_pieces(self._at(*line)) for line in lines]
        self.taken = [_boxes(self._at(*dot), DOT) for dot in dots]

    def _at(self, x, y):
        """Places in an array of (across and up, plots, places)."""
        return np.stack(np.broadcast_arrays(np.atleast_2d(self.across(x)), self.up(y)))

    def write(self, text: str, x, y, corners=CORNERS, weight="normal", optional=False):
        """Write a text at the first of the places x, y that has room.

        It stands far only where no place is near, on a line only where no other is left, and on a
        word only at worst; an optional one is left out instead, its text empty.
        """
        place, corner, width = self._at(x, y), np.array(corners), len(text) * LETTER
        away = corner * [GAP + width / 2, RISE] / PLOT
        middle = place[..., None] + away.T[:, None, None]
        low, high = _boxes(middle.reshape(*place.shape[:2], -1), (width, LINE))
        inside = ((low >= 0) & (high <= 1)).all(0)
        free = inside & ~_meets(low, high, self.taken)
        clear = free & ~_meets(low, high, self.lines)
        near = np.tile(corner[:, 1] != FAR, place.shape[-1])
        rank = 1 * inside + free + clear + (clear & near)

        plots, best = np.arange(len(rank)), rank.argmax(-1)
        self.taken.append((low[:, plots, best, None], high[:, plots, best, None]))
        at, (side, rise) = best // len(corner), corner[best % len(corner)].T
        x, y = (np.broadcast_to(each, place.shape[1:])[plots, at] for each in (x, y))
        label = np.where(rank[plots, best] < 2, "", text) if optional else np.full(len(best), text)
        align = np.where(side < 0, "right", "left")
        self.rows.append((x, y, label, align, GAP * side, -RISE * rise, np.full(len(best), weight)))

    def columns(self, x: str, y: str, plot: int = 0) -> dict[str, np.ndarray]:
        """The words of a plot by column: places by the names given, and how each word stands."""
        names = (x, y, "label", "align", "dx", "dy", "fontWeight")
        words = ([values[plot] for values in row] for row in self.rows)
        return dict(zip(names, map(np.array, zip(*words, strict=True)), strict=True))


def _boxes(middle, size):
    """Low and high corners of boxes of a size in pixels."""
    reach = (np.array(size) / PLOT / 2)[:, None, None]
    return middle - reach, middle + reach


def _pieces(line):
    """Low and high corners of the boxes of a line's pieces, from each point to the next."""
    return np.minimum(line[..., :-1], line[..., 1:]), np.maximum(line[..., :-1], line[..., 1:])


def _meets(low, high, others):
    """Whether each box has room in common with any of the others, which come in several arrays."""
    if not others:
        return np.False_
    lows, highs = (np.concatenate(ends, -1)[:, :, None] for ends in zip(*others, strict=True))
    return ((low[..., None] < highs) & (lows < high[..., None])).all(0).any(-1)
