"""A comparison worked out: what differs between its scenarios, in words and as tables."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from planner import answer, describe
from planner.compare import mistakes
from planner.compare.comparison import LETTERS, Comparison, Variant
from planner.inputs import presets
from planner.inputs.scenario import ADDED, ALL_NUMBERS, LENGTHS, Scenario
from planner.serving import Served


class Shown(NamedTuple):
    """A variant with its letter, what it is called, and its figures."""

    letter: str
    label: str
    variant: Variant
    served: Served

    @property
    def scenario(self) -> Scenario:
        return self.variant.scenario

    @property
    def fits(self) -> bool:
        return answer.fits(self.served)

    @property
    def step(self):
        return self.served.token_s

    @property
    def mistake(self) -> mistakes.Mistake | None:
        return mistakes.KNOWN.get(self.variant.mistake)

    @property
    def reckoned(self) -> str:
        """How: right, or wrong and by which mistake."""
        return f"wrong: {self.mistake.label}" if self.mistake else "right"


class Row(NamedTuple):
    """A figure that is compared: its unit in SI, its value, how it is written, and its band."""

    name: str
    unit: str
    value: Callable[[Shown], float]
    written: Callable[[float], str] = describe.data
    band: Callable[[Shown], str] = lambda each: ""


def _sure(band, written=describe.duration):
    """How sure a figure with a band is, in words; nothing to say of the ideal engine."""
    return lambda each: "" if each.served.ideal else answer.band(each.served, band(each), written)


FIGURES = (
    Row("Weights", "bytes", lambda each: each.served.plan.weights_bytes),
    Row("Cache", "bytes", lambda each: each.served.plan.cache_bytes),
    Row("Cache per token", "bytes", lambda each: each.served.plan.cache_bytes_per_token),
    Row("Memory, fullest device", "bytes", lambda each: each.served.plan.memory_needed_bytes),
    Row("Most requests", "", lambda each: _most_requests(each.served), describe.whole),
    Row(
        "Time per token",
        "s",
        lambda each: each.step.value,
        describe.duration,
        _sure(lambda each: each.step),
    ),
    Row(
        "First token",
        "s",
        lambda each: each.served.first_token_value_s,
        describe.duration,
        _sure(lambda each: each.served.first_token_s),
    ),
    Row(
        "All, tokens/s",
        "1/s",
        lambda each: each.served.all_per_s.value,
        describe.significant,
        _sure(lambda each: each.served.all_per_s, describe.significant),
    ),
)
SUMMED_UP = ("Weights", "Cache", "Time per token", "All, tokens/s")


def _most_requests(served: Served) -> float:
    """The most requests of this context that fit, by the engine's own pool where there is one."""
    return float(served.plan.max_concurrency if served.ideal else served.max_concurrency)


def shown(comparison: Comparison) -> list[Shown]:
    """Every variant of a comparison, worked out."""
    return [
        Shown(letter.upper(), label, each, mistakes.reckoned(each.scenario, each.mistake))
        for letter, label, each in zip(
            LETTERS, comparison.labels(), comparison.variants, strict=False
        )
    ]


# --- in words ---


def headline(all_: list[Shown]) -> str:
    """Which fit and which do not, in a sentence."""
    named = {each.letter: each.letter + " (wrong)" * bool(each.mistake) for each in all_}
    fit = [named[each.letter] for each in all_ if each.fits]
    rest = [named[each.letter] for each in all_ if not each.fits]
    said = [f"{_and(fit)} {'fits' if len(fit) == 1 else 'fit'}"] if fit else []
    negated = "does not" if len(rest) == 1 else "do not"
    said += [f"{_and(rest)} {negated}{'' if fit else ' fit'}"] if rest else []
    return f"{', '.join(said)}."


def _and(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def against(first: Shown, other: Shown) -> str:
    """What one is against the first, in its headline figures; plainly where it is wrong."""
    ratios = {
        row.name: describe.factor(row.value(other) / row.value(first))
        for row in FIGURES
        if row.name in SUMMED_UP and row.value(first)
    }
    same = describe.factor(1)
    found = [f"{name.lower()} {text}" for name, text in ratios.items() if text != same]
    said = f"{other.letter} against {first.letter}: {', '.join(found) or 'the same figures'}."
    wrong = other.mistake
    return f"{said} Wrong on purpose: {wrong.why}" if wrong else said


# --- as tables ---


def _written(scenario, name):
    """An input as a person reads it."""
    value = getattr(scenario, name)
    if name in LENGTHS and not value:
        return "not given"
    if name in ALL_NUMBERS:
        number = ALL_NUMBERS[name]
        one = number.whole and value == 1
        return f"{value:,} {number.unit.removesuffix('s') if one else number.unit}"
    return NAMED[name][1](value) if value else "its own"


NAMED = {
    "model": ("Model", lambda value: presets.model(value).name),
    "weights": ("Weights", lambda value: presets.weight_format(value).name),
    "cache_k": ("Keys", lambda value: presets.cache_format(value).name),
    "cache_v": ("Values", lambda value: presets.cache_format(value).name),
    "device": ("Device", lambda value: presets.accelerator(value).name),
    "engine": ("Engine", lambda value: presets.engine(value).name),
    "set": ("Engine's figures", str),
}
INPUTS = {
    **{name: label for name, (label, _) in NAMED.items()},
    **{name: number.label for name, number in ALL_NUMBERS.items()},
}


def inputs(all_: list[Shown]) -> pd.DataFrame:
    """The inputs that are not the same for all, a column a variant."""
    rows = {}
    for name, label in INPUTS.items():
        if len({getattr(each.scenario, name) for each in all_}) > 1:
            rows[label] = [_written(each.scenario, name) for each in all_]
    if any(each.mistake for each in all_):
        rows["Reckoned"] = [each.reckoned for each in all_]
    return _table(rows, all_, "input")


def alike(all_: list[Shown]) -> str:
    """The inputs that are the same for all, in one line; those at rest are left out."""
    first = all_[0].scenario
    return " · ".join(
        f"{label}: {_written(first, name)}"
        for name, label in INPUTS.items()
        if len({getattr(each.scenario, name) for each in all_}) == 1
        and getattr(first, name) != ADDED.get(name)
    )


def figures(all_: list[Shown]) -> pd.DataFrame:
    """Verdict and figures in words, a column a variant; after the first, the difference to it."""
    rows = {"Verdict": [answer.served_verdict(each.served)[0] for each in all_]}
    warnings = [answer.engine_warning(each.served) for each in all_]
    if any(warnings):
        rows["Warning"] = warnings
    for row in FIGURES:
        first = row.value(all_[0])
        rows[row.name] = []
        for place, each in enumerate(all_):
            value, sure = row.value(each), row.band(each)
            text = f"{row.written(value)} ({sure})" if sure else row.written(value)
            if place and first and np.isfinite(first) and np.isfinite(value):
                text = f"{text}, {describe.factor(value / first)}"
            rows[row.name].append(text)
    return _table(rows, all_, "figure")


def _table(rows, all_, heading):
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[each.label for each in all_])
    return frame.rename_axis(heading).reset_index()


def numbers(all_: list[Shown]) -> pd.DataFrame:
    """Every figure unrounded in SI units, with its ratio to that of the first; for a CSV."""
    rows = []
    for row in FIGURES:
        values = [float(row.value(each)) for each in all_]
        ratios = [value / values[0] if values[0] else np.nan for value in values[1:]]
        rows.append((row.name, row.unit, *values, *ratios))
    others = [f"{each.letter} / {all_[0].letter}" for each in all_[1:]]
    return pd.DataFrame(rows, columns=["figure", "unit", *(each.label for each in all_), *others])
