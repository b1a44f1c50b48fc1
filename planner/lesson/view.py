"""What a Learn page shows for its state: figures, pictures and arithmetic, ready to be drawn."""

import math
from dataclasses import dataclass

from planner import describe
from planner.charts.picture import Picture
from planner.inputs.question import Figure

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Line:
    """One line of arithmetic: the equation in symbols, with its numbers, and what it comes to."""

    title: str
    symbols: str
    numbers: str
    result: str


@dataclass(frozen=True)
class View:
    """Everything a page shows besides its words.

    gives: figures that the arithmetic gives away. sources: ids of what the figures rest on.
    """

    figures: tuple[Figure, ...]
    pictures: tuple[Picture, ...]
    lines: tuple[Line, ...] = ()
    gives: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def count(number: float) -> str:
    """A count in full up to ten million, then as 1.36 × 10¹²."""
    return describe.whole(number) if number < 1e7 else scientific(number)


def scientific(number: float) -> str:
    """A number as 8.94 × 10⁻⁷; one of everyday size as 3.84."""
    if number == 0 or 0.01 <= abs(number) < 1000:
        return describe.significant(number)
    power = math.floor(math.log10(abs(number)))
    digits = f"{number / 10**power:.2f}"
    if digits == "10.00":
        digits, power = "1.00", power + 1
    return f"{digits} × 10{str(power).translate(RAISED)}"


def decade(value: float) -> float:
    """The power of ten at or above a value: where a logarithmic axis ends."""
    return 10.0 ** math.ceil(math.log10(value) - 1e-9)
