"""Every input of one plan, checked; and the link that carries it.

The link is the only place where a state is written down, so its words never change their meaning:
a name, once used, stays, and a new one gets as its default what older links meant by its absence.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from urllib.parse import parse_qsl, urlencode

from planner import presets
from planner.accelerator import Accelerator
from planner.model import Model
from planner.notation import shorten

VERSION = 1
DEFAULT_MODEL = "lesson-7b-gqa"
DEFAULT_DEVICE = "lesson"


@dataclass(frozen=True)
class Number:
    """What a numeric input may be. Bounds are inclusive; `unit` is as written on screen."""

    label: str
    unit: str
    minimum: float
    maximum: float
    whole: bool = False

    def parse(self, text: str) -> float:
        """The number that a text states, in bounds or not; ValueError where it states none."""
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text.strip(), re.ASCII):
            raise ValueError(f"“{shorten(text)}” is not a number")
        return float(text)

    def nearest(self, value: float) -> float:
        """The closest value that is allowed: in bounds, and whole where it must be."""
        value = min(max(value, self.minimum), self.maximum)
        return round(value) if self.whole or value == int(value) else value


NUMBERS = {
    "concurrency": Number("Concurrency", "requests", 1, 4096, whole=True),
    "context": Number("Context", "tokens", 128, 1_048_576, whole=True),
    "bandwidth": Number("Bandwidth", "GB/s", 1, 100_000),
    "memory": Number("Memory", "GB", 1, 100_000),
    "peak": Number("Compute", "TFLOP/s", 0.1, 100_000),
}


@dataclass(frozen=True)
class Scenario:
    """One complete set of inputs. What is left out gets its default, a device's numbers its own.

    model: the id of a preset, or a model's notation (`notation.model_to_text`). concurrency:
    requests decoding at once. context: tokens of each request, prompt and generated so far.
    bandwidth in GB/s, memory in GB (decimal, what can be allocated), peak in dense 16-bit TFLOP/s.
    Raises ValueError, naming the input, on a value that is not allowed.
    """

    model: str = DEFAULT_MODEL
    device: str = DEFAULT_DEVICE
    concurrency: int = 16
    context: int = 8192
    bandwidth: float | None = None
    memory: float | None = None
    peak: float | None = None

    def __post_init__(self):
        try:
            presets.model(self.model)
        except ValueError as problem:
            raise ValueError(f"model: {problem}") from None
        try:
            presets.accelerator(self.device)
        except ValueError as problem:
            raise ValueError(f"device: {problem}") from None
        for name, value in device_numbers(self.device).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        for name, number in NUMBERS.items():
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise ValueError(f"{name}: {shorten(repr(value))} is not a number")
            if not math.isfinite(value) or number.nearest(value) != value:
                kind = "a whole number" if number.whole else "a number"
                raise ValueError(
                    f"{name}: {value} is not {kind} from {number.minimum:,} to {number.maximum:,}"
                )
            object.__setattr__(self, name, number.nearest(value))

    @property
    def the_model(self) -> Model:
        return presets.model(self.model)

    @property
    def the_device(self) -> Accelerator:
        return presets.accelerators()[self.device]


def device_numbers(device: str) -> dict[str, float]:
    """What choosing a device fills in, in the link's units."""
    row = presets.accelerators()[device]
    return {"bandwidth": row.bandwidth_gb_s, "memory": row.memory_gb, "peak": row.fp16_tflops}


@dataclass(frozen=True)
class Notice:
    """One thing in a link that could not be taken as it stands, in a plain sentence."""

    parameter: str
    text: str


def encode(scenario: Scenario) -> str:
    """The query string that holds the whole scenario: every parameter, in one fixed order."""
    values = {field.name: getattr(scenario, field.name) for field in fields(scenario)}
    return urlencode({"v": VERSION, **values})


def decode(query: str | Mapping[str, Sequence[str]]) -> tuple[Scenario, tuple[Notice, ...]]:
    """The scenario that a link holds, and what in it could not be taken as it stands.

    Never raises. A missing parameter takes its default; a bad one takes the nearest sane value and
    is named in a notice. `query` is the text after the question mark or its values by name.
    """
    given, notices = _collect(query)
    values = {}
    if given.get("v", str(VERSION)) != str(VERSION):
        version = shorten(given["v"])
        notices.append(
            Notice("v", f"Written for link version “{version}”; it was read as version {VERSION}.")
        )
    for name, find in (("model", presets.model), ("device", presets.accelerator)):
        fallback = getattr(Scenario, name)
        values[name] = given.get(name, fallback)
        try:
            find(values[name])
        except ValueError as problem:
            notices.append(Notice(name, f"{problem}; {find(fallback).name} is used instead."))
            values[name] = fallback
    defaults = Scenario(**values)
    for name, number in NUMBERS.items():
        default = getattr(defaults, name)
        values[name], problem = _read(given.get(name), number, default)
        if problem:
            notices.append(Notice(name, problem))
    return Scenario(**values), tuple(notices)


def _collect(query):
    """Values by name, one each, and a notice for what was repeated or is no parameter of ours."""
    if isinstance(query, str):
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True)
    else:
        pairs = [(name, value) for name, values in query.items() for value in values]
    known = {"v", *(field.name for field in fields(Scenario))}
    given, notices, unknown = {}, [], []
    for name, value in pairs:
        if name not in known:
            unknown.append(name)
        elif name in given and given[name] != value:
            text = f"Given more than once; the first, “{shorten(given[name])}”, is used."
            notices.append(Notice(name, text))
        else:
            given[name] = value
    if unknown:
        names = ", ".join(f"“{shorten(name)}”" for name in dict.fromkeys(unknown[:5]))
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        notices.append(Notice("", f"Not a parameter of this app, so left aside: {names}{more}."))
    return given, notices


def _read(text, number, default):
    """The value to use for one numeric parameter, and the sentence to show if it had to change."""
    if text is None:
        return default, ""
    try:
        value = number.parse(text)
    except ValueError as problem:
        return default, f"{problem}; {default:,} is used instead."
    nearest = number.nearest(value)
    if nearest == value:
        return nearest, ""
    if value < number.minimum:
        why = f"is less than {number.minimum:,}"
    elif value > number.maximum:
        why = f"is more than {number.maximum:,}"
    else:
        why = "is not a whole number"
    return nearest, f"“{shorten(text)}” {why}; {nearest:,} is used instead."
