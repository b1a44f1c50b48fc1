"""A comparison worked out: what differs between its scenarios, in words and as tables."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from planner import answer, describe
from planner.compare import mistakes
from planner.compare.comparison import LETTERS, Comparison, Variant
from planner.figures import FIGURES, Definition
from planner.inputs import presets
from planner.inputs.scenario import ADDED, ALL_NUMBERS, FIND, LENGTHS, Scenario
from planner.models import drafting
from planner.serving import Evaluation


class Shown(NamedTuple):
    """A variant with its letter, what it is called, and its figures."""

    letter: str
    label: str
    name: str
    variant: Variant
    evaluation: Evaluation

    @property
    def scenario(self) -> Scenario:
        return self.variant.scenario

    @property
    def fits(self) -> bool:
        return bool(self.evaluation.fits)

    @property
    def mistake(self) -> mistakes.Mistake | None:
        return mistakes.KNOWN.get(self.variant.mistake)

    @property
    def calculation(self) -> str:
        """How its numbers come out: right, or wrong and by which mistake."""
        return f"wrong: {self.mistake.label}" if self.mistake else "right"

    def value(self, definition: Definition) -> float:
        """A figure of it."""
        return definition.number(self.evaluation)


# Compared besides the headline figures.
ALSO = ("memory_needed_bytes", "max_concurrency")
COMPARED = tuple(each for each in FIGURES if each.headline or each.key in ALSO)
SPEED = next(each for each in FIGURES if each.key == "tokens_per_s_per_request")
SUMMED_UP = ("weights_bytes", "cache_bytes", "decode_step_s", "tokens_per_s_total")


def shown(comparison: Comparison) -> list[Shown]:
    """Every variant of a comparison, worked out."""
    return [
        Shown(letter.upper(), label, name, each, mistakes.evaluated(each.scenario, each.mistake))
        for letter, label, name, each in zip(
            LETTERS, comparison.labels(), comparison.names(), comparison.variants, strict=False
        )
    ]


# --- in words ---


def headline(all_: list[Shown]) -> str:
    """Which fit and which do not, in a sentence; of two that fit, which is faster for a user."""
    fit = [each.name for each in all_ if each.fits]
    rest = [each.name for each in all_ if not each.fits]
    clauses = []
    if fit:
        clauses.append(f"{_and(fit)} {'fits' if len(fit) == 1 else 'fit'}")
    if rest:
        negated = "does not" if len(rest) == 1 else "do not"
        clauses.append(f"{_and(rest)} {negated}" if fit else f"{_and(rest)} {negated} fit")
    return f"{'; '.join(clauses)}{_faster(all_)}."


def _faster(all_):
    """How much faster one of two is for a user; “” where one does not run or is wrong."""
    if len(all_) != 2 or not all(each.fits and not each.mistake for each in all_):
        return ""
    slow, fast = sorted(all_, key=lambda each: each.value(SPEED))
    ratio = fast.value(SPEED) / slow.value(SPEED)
    if describe.factor(ratio) == describe.factor(1):
        return ""
    return f"; {fast.name} is {describe.significant(ratio)} times as fast for each user"


def _and(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def against(first: Shown, other: Shown) -> str:
    """What one is against the first, in its headline figures; plainly where it is wrong."""
    ratios = {
        each.label: describe.factor(other.value(each) / first.value(each))
        for each in COMPARED
        if each.key in SUMMED_UP and first.value(each) and _comparable(each, first, other)
    }
    same = describe.factor(1)
    apart = [
        f"{label[0].lower()}{label[1:]} {ratio}" for label, ratio in ratios.items() if ratio != same
    ]
    text = f"{other.name} against {first.name}: {', '.join(apart) or 'the same figures'}."
    if not (first.fits and other.fits):
        text += " Speeds are not compared: not both of them run."
    return f"{text} Wrong on purpose: {other.mistake.why}" if other.mistake else text


def _comparable(figure, first, other):
    """Whether a figure says something of both: times and rates only where both run."""
    return figure.unit not in ("s", "tokens/s") or (first.fits and other.fits)


# --- as tables ---


def _written(scenario, name):
    """An input as a person reads it."""
    value = getattr(scenario, name)
    if name in LENGTHS and not value:
        return "not given"
    if name == "draft":
        return drafting.NAMES.get(value) or presets.model(value).name
    if name in ALL_NUMBERS:
        number = ALL_NUMBERS[name]
        one = number.whole and value == 1
        return f"{value:,} {number.unit.removesuffix('s') if one else number.unit}"
    return FIND[name](value).name if name in FIND else value or "its own"


INPUTS = {
    "model": "Model",
    "weights": "Weights",
    "cache_k": "Keys",
    "cache_v": "Values",
    "device": "Device",
    "engine": "Engine",
    "set": "Engine's figures",
    "draft": "Drafter",
    "state_format": "Recurrent states",
    **{name: number.label for name, number in ALL_NUMBERS.items()},
}


def inputs(all_: list[Shown]) -> pd.DataFrame:
    """The inputs that are not the same for all, a column a variant."""
    rows = {}
    for name, label in INPUTS.items():
        if len({getattr(each.scenario, name) for each in all_}) > 1:
            rows[label] = [_written(each.scenario, name) for each in all_]
    if any(each.mistake for each in all_):
        rows["Calculation"] = [each.calculation for each in all_]
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


BETTER, WORSE = "better", "worse"
MORE_IS_BETTER = ("requests", "tokens", "tokens/s")  # units; of bytes and seconds less is


def results(all_: list[Shown]) -> pd.DataFrame:
    """Verdict and figures in words, a column a variant, then the differences to the first.

    A difference says whether it is for the better; it is “–” where one of the two does not run.
    """
    first = all_[0]
    rows = {"Verdict": [answer.verdict(each.evaluation)[0] for each in all_]}
    warnings = [answer.engine_warning(each.evaluation) for each in all_]
    if any(warnings):
        rows["Warning"] = warnings
    for figure in COMPARED:
        rows[figure.label] = [_result(figure, first)]
        for other in all_[1:]:
            rows[figure.label].append(_result(figure, other))
    table = _table(rows, all_, "figure")
    for other in all_[1:]:
        against = {each.label: _difference(each, first, other) for each in COMPARED}
        heading = f"{other.letter} against {first.letter}"
        table[heading] = [against.get(name, "") for name in table["figure"]]
    return table


def _difference(figure, first, other):
    """One figure against the first one's, and whether that is better or worse."""
    ends = first.value(figure), other.value(figure)
    if not _comparable(figure, first, other) or not ends[0] or not np.isfinite(ends).all():
        return "–"
    ratio = ends[1] / ends[0]
    text = describe.factor(ratio)
    if text == describe.factor(1):
        return text
    return f"{text} {BETTER if (ratio > 1) == (figure.unit in MORE_IS_BETTER) else WORSE}"


def _result(figure, each):
    """A figure in words; how sure it is where an engine changes it."""
    text = figure.shown(each.evaluation)
    if each.evaluation.ideal or not figure.calibrated:
        return text
    return f"{text} ({figure.note(each.evaluation)})"


def _table(rows, all_, heading):
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[each.label for each in all_])
    return frame.rename_axis(heading).reset_index()


def numbers(all_: list[Shown]) -> pd.DataFrame:
    """Every figure unrounded in SI units, with its ratio to that of the first; for a CSV."""
    rows = []
    for figure in COMPARED:
        values = [float(each.value(figure)) for each in all_]
        ratios = [value / values[0] if values[0] else np.nan for value in values[1:]]
        rows.append((figure.label, figure.unit, *values, *ratios))
    others = [f"{each.letter} / {all_[0].letter}" for each in all_[1:]]
    return pd.DataFrame(rows, columns=["figure", "unit", *(each.label for each in all_), *others])
