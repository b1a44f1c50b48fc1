"""Many plans worked out at once, cut into one each: every array becomes the numbers of one plan."""

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from planner.hardware.accelerator import Accelerator
from planner.inputs.scenario import Scenario
from planner.models.model import Model

WHOLE = (Scenario, Model, Accelerator, str, int, float, bool, type(None))  # never cut


def apart(value: Any, cut: Callable[[np.ndarray], list | None], count: int) -> list:
    """`count` copies of a value, each with its own part of every array within.

    cut: the parts of one array, or None where all copies have it as it is.
    """
    found = _apart(value, cut)
    return [value] * count if found is None else found


def _apart(value, cut):
    """The copies, or None where nothing in the value differs between them."""
    if isinstance(value, np.ndarray):
        return cut(value)
    if isinstance(value, WHOLE):
        return None
    if is_dataclass(value):
        rows = _rows(vars(value).items(), cut)
        return rows and [copied(value, **row) for row in rows]
    if isinstance(value, dict):
        rows = _rows(value.items(), cut)
        return rows and [{**value, **row} for row in rows]
    if isinstance(value, tuple | list):
        make = getattr(value, "_make", type(value))
        rows = _rows(enumerate(value), cut)
        return rows and [
            make(row.get(place, each) for place, each in enumerate(value)) for row in rows
        ]
    return None


def _rows(items, cut):
    """What differs, by name, in each of the copies; None where nothing does."""
    found = {name: parts for name, each in items if (parts := _apart(each, cut)) is not None}
    if not found:
        return None
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def copied(value: Any, /, **changed) -> Any:
    """A copy of a frozen object with some of its attributes, what it has cached among them."""
    copy = object.__new__(type(value))
    copy.__dict__.update(value.__dict__, **changed)
    return copy


# --- ways to cut ----------------------------------------------------------------------------------


def stops(count: int) -> Callable:
    """Of arrays over the stops, (stops,), one number each."""

    def cut(array):
        return list(array) if array.shape == (count,) else None

    return cut


def grid(count: int) -> Callable:
    """Of arrays over stops and points, (stops, points), either of them 1: those of one stop."""

    def cut(array):
        if array.ndim != 2:
            return None
        rows = list(array) if array.shape[0] == count else [array[0]] * count
        return [row[0] for row in rows] if array.shape[1] == 1 else rows

    return cut


def chosen(places: list[np.ndarray], count: int) -> Callable:
    """Of arrays over points, (points,), of which there are `count`: those at each stop's places."""

    def cut(array):
        return [array[each] for each in places] if array.shape == (count,) else None

    return cut
