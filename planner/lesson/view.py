"""What a Learn page shows for its state: figures, pictures and arithmetic, ready to be drawn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
class Scene:
    """A picture that moves or is moved: the browser component that shows it, and what it shows.

    id: the component's name and its key. data: as that component's .js file says. alt: the scene in
    words. gives: ids of figures that it would give away. rows: the numbers behind it, in columns
    that say their unit.
    """

    id: str
    title: str
    data: Mapping[str, Any]
    alt: str
    gives: tuple[str, ...] = ()
    rows: Mapping[str, Sequence] = field(default_factory=dict)


class Agreeing(NamedTuple):
    """A number beside another one, in digits: those that agree with it, and the rest."""

    same: str
    rest: str


@dataclass(frozen=True)
class Table:
    """A few texts in columns, shown as they are. gives: ids of figures that it would give away."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Agreeing, ...], ...]
    gives: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """Everything a page shows besides its words.

    about: for which model and device the numbers hold, and what they leave out. says: what the
    state comes to, in sentences made from it; they wait where anything is hidden. gives: figures
    that the arithmetic gives away. sources: ids of what the figures rest on.
    """

    figures: tuple[Figure, ...]
    pictures: tuple[Picture, ...]
    lines: tuple[Line, ...] = ()
    gives: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    about: str = ""
    says: str = ""
    scenes: tuple[Scene, ...] = ()
    tables: tuple[Table, ...] = ()


def counted(number: float, thing: str) -> str:
    """A whole number of things: “1 token”, “2,048 tokens”."""
    return f"{describe.whole(number)} {thing}{'' if number == 1 else 's'}"


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
