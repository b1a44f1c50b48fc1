"""Operation counts: the lesson's numbers to the digit, and counts made by doing the work."""

import numpy as np
import pytest

from planner.lesson import operations
from planner.lesson.operations import WITH, WITHOUT


def test_first_state_of_the_lesson():
    first = operations.totals(operations.FIRST_WIDTH, operations.FIRST_STEPS)
    assert (first.without, first.with_cache) == (496, 240)
    assert first.ratio == pytest.approx(2.0667, abs=5e-5)
    later = operations.totals(operations.LATER_WIDTH, operations.LATER_STEPS)
    assert round(later.ratio) == 611


def test_steps_spelled_out():
    table = operations.spelled_out(width=4)
    by_way = {way: list(rows["multiply_adds"]) for way, rows in table.groupby("cache")}
    assert by_way == {WITHOUT: [72, 160, 264], WITH: [72, 80, 88]}
    for row in table.itertuples():
        text = row.equation.replace("×", "*").replace("²", "**2")
        assert eval(text, {"__builtins__": {}}) == row.multiply_adds


@pytest.mark.parametrize(("width", "steps"), [(1, 1), (4, 3), (8, 17)])
def test_sums_against_counting_every_product(width, steps):
    """Counts the inner loops of the matrix products themselves."""

    def product(rows, inner, columns):
        return sum(1 for _ in range(rows) for _ in range(columns) for _ in range(inner))

    without = cached = 0
    for t in range(1, steps + 1):
        without += 4 * product(t, width, width) + product(t, width, t) + product(t, t, width)
        cached += 4 * product(1, width, width) + product(1, width, t) + product(1, t, width)
    found = operations.totals(width, steps)
    assert (found.without, found.with_cache) == (without, cached)


@pytest.mark.parametrize(("width", "steps"), [(4, 3), (128, 300), (4096, 100_000)])
def test_curves(width, steps):
    table = operations.curves(width, steps)
    assert len(table) <= 2 * 300
    for way, rows in table.groupby("cache"):
        assert (rows["step"].iloc[0], rows["step"].iloc[-1]) == (1, steps)
        assert rows["step"].is_monotonic_increasing
        assert rows["step"].is_unique
        exact = sum(
            4 * t * width**2 + 2 * t * t * width if way == WITHOUT else 4 * width**2 + 2 * t * width
            for t in range(1, steps + 1)
        )
        assert rows["summed"].iloc[-1] == pytest.approx(exact, rel=1e-14)
        assert rows["summed"].iloc[0] == rows["multiply_adds"].iloc[0]
    # Every step is there while they are few, and then each sum is the running total.
    if steps <= 300:
        for _, rows in table.groupby("cache"):
            assert np.allclose(rows["summed"], rows["multiply_adds"].cumsum(), rtol=1e-14)


def test_leading_terms_tend_to_the_sums():
    far = operations.totals(width=64, steps=1_000_000)
    assert far.leading_without / far.without == pytest.approx(1, abs=1e-4)
    assert far.leading_with_cache / far.with_cache == pytest.approx(1, abs=1e-4)
