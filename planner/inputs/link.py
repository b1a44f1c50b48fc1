"""Links, read and written: every value checked, every problem a plain sentence.

A page has a table of its parameters: for each a kind (`Number`, `Choice`, `Named`), which reads its
text, and a default. `read_values` is the one way in and `write` the one way out.

What a link holds is text that anybody may have written. Nothing here raises on it: what cannot be
taken as it stands is replaced by the nearest sane value and named in a notice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from planner.models.notation import shorten

VERSION = 1
NAMED_UNKNOWN = 5  # unknown parameters that a notice names before it only counts


@dataclass(frozen=True)
class Number:
    """What a numeric input may be. Bounds are inclusive; `unit` is as written on screen."""

    label: str
    unit: str
    minimum: float
    maximum: float
    whole: bool = False

    def parse(self, text: str) -> float:
        """The number that a text states, in bounds or not; ValueError where it states none.

        Thousands may be separated as the page writes them (8,192); a decimal comma is refused.
        """
        if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text.strip(), re.ASCII):
            text = text.replace(",", "")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text.strip(), re.ASCII):
            raise ValueError(f"“{shorten(text)}” is not a number")
        return float(text)

    def nearest(self, value: float) -> float:
        """The closest value that is allowed: in bounds, and whole where it must be."""
        value = min(max(value, self.minimum), self.maximum)
        return round(value) if self.whole or value == int(value) else value

    def read(self, name: str, text: str | None, default: float) -> tuple[float, list["Notice"]]:
        """The value to use for a parameter's text, and what had to change in it."""
        if text is None:
            return default, []
        try:
            value = self.parse(text)
        except ValueError as problem:
            return default, [Notice(name, str(problem), f"{default:,} is used instead")]
        nearest = self.nearest(value)
        if nearest == value:
            return nearest, []
        if value < self.minimum:
            why = f"is less than {self.minimum:,}"
        elif value > self.maximum:
            why = f"is more than {self.maximum:,}"
        else:
            why = "is not a whole number"
        return nearest, [Notice(name, f"“{shorten(text)}” {why}", f"{nearest:,} is used instead")]


@dataclass(frozen=True)
class Choice:
    """One of several: what a link writes, and what stands on screen for it."""

    label: str
    options: Mapping[str, str]

    def read(self, name: str, text: str | None, default: str) -> tuple[str, list["Notice"]]:
        """The option to use for a parameter's text, and what had to change in it."""
        if text is None or text in self.options:
            return default if text is None else text, []
        problem = f"“{shorten(text)}” is not one of the choices"
        return default, [Notice(name, problem, f"{self.options[default]} is used instead")]


@dataclass(frozen=True)
class Named:
    """A text that `find` understands; it raises ValueError, a plain clause, where it does not.

    instead: what is used then, in words, made from the default.
    """

    find: Callable[[str], object]
    instead: Callable[[str], str]

    def read(self, name: str, text: str | None, default: str) -> tuple[str, list["Notice"]]:
        """The text to use for a parameter's text, and what had to change in it."""
        if text is None:
            return default, []
        try:
            self.find(text)
        except ValueError as problem:
            return default, [Notice(name, str(problem), self.instead(default))]
        return text, []


@dataclass(frozen=True)
class Notice:
    """One thing in a link that could not be taken as it stands.

    parameter: its name, or “”. problem: what is wrong. used: what was done about it, which is for a
    page only; a program's request is refused instead. Both are clauses without a full stop.
    """

    parameter: str
    problem: str
    used: str = ""

    @property
    def text(self) -> str:
        """The notice as a sentence."""
        return f"{self.problem}; {self.used}." if self.used else f"{self.problem}."


def collect(
    query: str | Mapping[str, Sequence[str]], known: set[str]
) -> tuple[dict[str, str], list[Notice]]:
    """Values by name, one each; notices for what is repeated, unknown or of another version.

    `query` is the text after the question mark, or its values by name.
    """
    if isinstance(query, str):
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True)
    else:
        pairs = [(name, value) for name, values in query.items() for value in values]
    given, notices, unknown = {}, [], {}
    for name, value in pairs:
        if name not in known and name != "v":
            unknown[name] = None
        elif name in given and given[name] != value.strip():
            first = f"the first, “{shorten(given[name])}”, is used"
            twice = Notice(name, "Given more than once", first)
            if twice not in notices:
                notices.append(twice)
        else:
            given[name] = value.strip()
    if unknown:
        names = ", ".join(f"“{shorten(name)}”" for name in [*unknown][:NAMED_UNKNOWN])
        more = len(unknown) - NAMED_UNKNOWN
        more = f" and {more} more" if more > 0 else ""
        notices.append(Notice("", f"Not a parameter of this page: {names}{more}", "left aside"))
    version = given.pop("v", str(VERSION))
    if version != str(VERSION):
        text = f"Written for link version “{shorten(version)}”"
        notices.append(Notice("v", text, f"it was read as version {VERSION}"))
    return given, notices


def read_values(
    query: str | Mapping[str, Sequence[str]],
    kinds: Mapping[str, Number | Choice | Named],
    default: Callable[[str, dict], float | str],
) -> tuple[dict[str, float | str], list[Notice]]:
    """A value for every parameter of a page, in the order of `kinds`, and what had to change.

    default: called with a parameter's name and the values read before it. Never raises.
    """
    given, notices = collect(query, set(kinds))
    values = {}
    for name, kind in kinds.items():
        values[name], wrong = kind.read(name, given.get(name), default(name, values))
        notices += wrong
    return values, notices


def write(values: Mapping[str, float | str]) -> str:
    """The query string of a page's parameters, in their order, with the link's version."""
    return urlencode({"v": VERSION, **values}, safe="~:,")
