"""Words on a plot: on no other word, inside the plot, and off the lines where there is room."""

from dataclasses import replace

import numpy as np
import pytest

from planner import evaluate
from planner.charts import lines
from planner.charts.axes import along
from planner.charts.labelled import pair
from planner.charts.labels import (
    CORNERS,
    FARTHER,
    GAP,
    LETTER,
    LINE,
    RISE,
    SIZES,
    Box,
    Labels,
)
from planner.compare import differences, overlays
from tests.test_charts import SCENARIOS
from tests.test_differences import COMPARISONS


def boxes(words, across, up):
    """The boxes of the words in a data set on each size of plot, by their text."""
    found = []
    for row in words.itertuples():
        width = len(row.label) * LETTER
        side = {"right": -1, "center": 0, "left": 1}[row.align]
        x = across(row.context) + (row.dx + side * width / 2) / SIZES[:, 0]
        found.append((row.label, Box.about(x, up(row.step) - row.dy / SIZES[:, 1], width, LINE)))
    return found


def apart_and_inside(picture):
    most = picture.bounds[0]
    placed = boxes(picture.frames["words"], along, lambda step: step / most)
    for place, (text, box) in enumerate(placed):
        assert (box.left >= -1e-6).all(), text
        assert (box.right <= 1 + 1e-6).all(), text
        assert (box.bottom >= -1e-6).all(), text
        for other, taken in placed[:place]:
            assert not box.meets(taken).any(), (text, other)


@pytest.mark.parametrize("concurrency", [1, 16, 300])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_words_of_a_plan_stand_apart(scenario, concurrency):
    for context in (128, 900, 8192, 100_000, 2**20):
        changed = replace(scenario, concurrency=concurrency, context=context)
        own, both = pair(evaluate(changed))
        picture = lines.latency("latency", both, own)
        apart_and_inside(picture)
        assert {each.line or each.label for each in both} <= set(picture.frames["words"].label)


@pytest.mark.parametrize("name", COMPARISONS)
def test_words_of_a_comparison_stand_apart(name):
    if name == "same":  # four lines on one another: their words have one place between them
        return
    _, picture = overlays.pictures(differences.shown(COMPARISONS[name]))
    apart_and_inside(picture)


FLAT = (np.array([0.0, 1.0]), np.array([0.5, 0.5]))


def labels(*lines, dots=()):
    return Labels(np.asarray, np.asarray, lines, dots)


def where(words):
    """Left or right, and above or below, of each word."""
    columns = words.columns("x", "y")
    return [
        (align, "above" if dy < 0 else "below")
        for align, dy in zip(columns["align"], columns["dy"], strict=True)
    ]


def test_the_first_place_that_is_free_is_taken():
    words = labels(FLAT)
    for text in ("one", "two", "three", "four", "five"):
        words.write(text, [(0.5, 0.5)])
    assert where(words) == [
        ("right", "above"),
        ("left", "above"),
        ("right", "below"),
        ("left", "below"),
        ("right", "above"),
    ]
    columns = words.columns("x", "y")
    assert columns["label"] == ["one", "two", "three", "four", "five"]
    assert columns["dx"] == [-GAP, GAP, -GAP, GAP, -GAP]
    assert columns["dy"] == [-RISE, -RISE, RISE, RISE, -FARTHER[0] * RISE]


def test_a_word_keeps_off_lines_dots_and_the_edge():
    rising = (np.array([0.0, 0.5]), np.array([0.8, 0.5]))  # comes down to the place from the left
    words = labels(FLAT, rising)
    words.write("word", [(0.5, 0.5)])
    assert where(words) == [("left", "above")]
    words = labels(FLAT, rising, dots=[(0.55, 0.56)])
    words.write("word", [(0.5, 0.5)])
    assert where(words) == [("right", "below")]
    words = labels(FLAT)
    words.write("word", [(0.0, 0.5)])
    words.write("word", [(1.0, 0.0)])
    assert where(words) == [("left", "above"), ("right", "above")]


def test_a_near_place_further_on_is_better_than_a_far_one():
    wall = (np.array([0.0, 1.0]), np.array([0.66, 0.66]))
    words = labels(FLAT, wall)
    words.write("word", [(0.4, 0.6), (0.6, 0.8)])
    columns = words.columns("x", "y")
    assert (columns["x"], columns["dy"]) == ([0.6], [-RISE])


def test_a_word_stands_above_its_place_where_neither_side_has_room():
    walls = [(np.full(2, x), np.array([0.0, 1.0])) for x in (0.48, 0.52)]
    words = labels(*walls, dots=[(0.44, 0.5), (0.56, 0.5)])
    words.write("i", [(0.5, 0.5)])
    assert where(words) == [("center", "above")]


def test_a_rule_gives_way_to_a_word_that_has_no_other_place():
    rules = [(np.array([0.0, 1.0]), np.full(2, step / 40)) for step in range(41)]
    words = Labels(np.asarray, np.asarray, [], rules=rules)
    assert words.write("word", [(0.5, 0.5)])
    assert any(words.crossed(*rule) for rule in rules)
    assert not words.crossed(*rules[0])
    assert not words.write("left out", [(0.5, 0.5)], optional=True)


def test_a_place_off_the_plot_is_not_taken():
    words = labels(FLAT)
    words.write("word", [(0.9, 1.2), (0.6, 0.7)])
    assert words.columns("x", "y")["x"] == [0.6]


def test_a_word_stands_on_a_line_rather_than_on_a_word():
    wall = (np.array([0.5, 0.5001]), np.array([0.0, 1.0]))
    words = labels(wall)
    right = (CORNERS[1], CORNERS[3])
    words.write("across the wall", [(0.45, 0.5)], right)
    words.write("across the wall", [(0.45, 0.5)], right)
    assert where(words) == [("left", "above"), ("left", "below")]
    words.write("left out", [(0.45, 0.5)], right, optional=True)
    assert len(words.rows) == 2
    words.write("on a word", [(0.45, 0.5)], right)
    assert where(words)[2] == ("left", "above")
