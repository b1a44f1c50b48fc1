"""A comparison worked out: what differs between its scenarios, as tables and drawings."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from planner import answer, mistakes, presets, sweep, words
from planner.comparison import LETTERS, Comparison, Variant
from planner.scenario import ADDED, ALL_NUMBERS, LENGTHS, Scenario
from planner.serving import Served
from planner.sweep import CONTEXTS, LONGEST, MEMORY_UNITS, SHORTEST, TIME_UNITS, Drawing, axis

FINE = np.geomspace(SHORTEST, LONGEST, 105).round()  # eight an octave
# A plot is some 400 by 190 px: the width of a sign in its words and their height, as parts of it.
WIDE, HIGH, SIGN, LINE = 400, 190, 0.0155, 0.08
SIDES = (("right", -9, -10), ("left", 9, -10), ("right", -9, 15), ("left", 9, 15))


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
        return bool(self.served.plan.fits if self.served.ideal else self.served.fits)

    @property
    def step(self):
        return self.served.mixed_s or self.served.step_s

    @property
    def mistake(self) -> mistakes.Mistake | None:
        return mistakes.KNOWN.get(self.variant.mistake)


class Row(NamedTuple):
    """A figure that is compared: its unit in SI, its value, how it is written, and its band."""

    name: str
    unit: str
    value: Callable[[Shown], float]
    written: Callable[[float], str] = words.data
    band: Callable[[Shown], str] = lambda each: ""


def _sure(band, written=words.duration):
    """How sure a figure with a band is, in words; nothing to say of the ideal engine."""
    return lambda each: "" if each.served.ideal else answer.band(each.served, band(each), written)


FIGURES = (
    Row("Weights", "bytes", lambda each: each.served.plan.weights_bytes),
    Row("Cache", "bytes", lambda each: each.served.plan.cache_bytes),
    Row("Cache per token", "bytes", lambda each: each.served.plan.cache_bytes_per_token),
    Row("Memory, fullest device", "bytes", lambda each: each.served.plan.memory_needed_bytes),
    Row("Most requests", "", lambda each: most_requests(each.served), words.whole),
    Row(
        "Time per token",
        "s",
        lambda each: each.step.value,
        words.duration,
        _sure(lambda each: each.step),
    ),
    Row(
        "First token",
        "s",
        lambda each: each.served.ttft_s.value,
        words.duration,
        _sure(lambda each: each.served.ttft_s),
    ),
    Row(
        "All, tokens/s",
        "1/s",
        lambda each: answer.parallel_rate(each.served).value,
        words.significant,
        _sure(lambda each: answer.parallel_rate(each.served), words.significant),
    ),
)
SUMMED_UP = ("Weights", "Cache", "Time per token", "All, tokens/s")


def most_requests(served: Served) -> float:
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
    fit = [each.letter for each in all_ if each.fits]
    rest = [each.letter for each in all_ if not each.fits]
    said = [f"{_and(fit)} {'fits' if len(fit) == 1 else 'fit'}"] if fit else []
    negated = "does not" if len(rest) == 1 else "do not"
    said += [f"{_and(rest)} {negated}{'' if fit else ' fit'}"] if rest else []
    return f"{', '.join(said)}."


def _and(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def against(first: Shown, other: Shown) -> str:
    """What one is against the first, in its headline figures; plainly where it is wrong."""
    ratios = {
        row.name: words.factor(row.value(other) / row.value(first))
        for row in FIGURES
        if row.name in SUMMED_UP and row.value(first)
    }
    same = words.factor(1)
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
        return f"{value:,} {ALL_NUMBERS[name].unit}"
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
        rows["Reckoned"] = [
            f"wrong: {each.mistake.label}" if each.mistake else "right" for each in all_
        ]
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
    for row in FIGURES:
        first = row.value(all_[0])
        rows[row.name] = []
        for place, each in enumerate(all_):
            value, sure = row.value(each), row.band(each)
            text = f"{row.written(value)} ({sure})" if sure else row.written(value)
            if place and first and np.isfinite(first) and np.isfinite(value):
                text = f"{text}, {words.factor(value / first)}"
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


# --- as drawings ---


def memory(all_: list[Shown]) -> Drawing:
    """A bar each: weights, what the engine keeps for itself, cache, and where its memory ends."""
    rows, limits, sentences = [], [], []
    for each in all_:
        plan, held = each.served.plan, each.served.reserve
        pieces = [("weights", plan.device_weights_bytes)]
        limit = plan.memory_usable_bytes
        if not each.served.ideal:
            pieces.append(("overhead", held.overhead_bytes))
            limit = min(limit, held.weights_bytes + held.overhead_bytes + max(held.pool_bytes, 0))
        pieces.append(("cache", plan.device_cache_bytes))
        named = " + ".join(
            f"{words.data(count)} {'for the engine' if part == 'overhead' else part}"
            for part, count in pieces
            if count
        )
        needed = sum(count for _, count in pieces)
        sentence = f"{each.label}: {named} = {words.data(needed)} of {words.data(limit)}"
        sentences.append(sentence)
        rows += [(each.label, *piece, sentence) for piece in _stacked(pieces, limit)]
        limits.append((each.label, limit))
    rows = pd.DataFrame(rows, columns=["variant", "part", "start", "end", "sentence"])
    # Longer than the longest bar by the room that the words beside it take.
    most, size, unit = axis(1.2 * rows.end.max(), MEMORY_UNITS)
    ends = pd.DataFrame(limits, columns=["variant", "at"])
    ends["label"] = [f"of {words.data(at)}" for at in ends["at"]]
    ends["beside"] = rows.groupby("variant", sort=False).end.max().to_numpy()
    return Drawing(
        {
            "rows": rows.assign(start=rows.start / size, end=rows.end / size),
            "limits": ends.assign(at=ends["at"] / size, beside=ends["beside"] / size),
        },
        (most, unit),
        {"variant": "variant", "part": "part", "start": f"from ({unit})", "end": f"to ({unit})"},
        f"Memory of the fullest device. {'. '.join(sentences)}.",
    )


def _stacked(pieces, limit):
    """Parts as they lie in a bar with room up to a limit: what fits, what does not, the rest."""
    rows, start = [], 0.0
    for part, count in pieces:
        end = start + count
        if min(end, limit) > start:
            rows.append((part, start, min(end, limit)))
        if end > max(start, limit):
            rows.append(("does not fit", max(start, limit), end))
        start = end
    return rows + ([("free", start, limit)] if start < limit else [])


def latency(all_: list[Shown]) -> Drawing:
    """Time per token over the context, a line each, with its point and where its memory is full."""
    slowest = max(each.step.value for each in all_)
    most, size, unit = axis(max(1.05 * sweep.SLOWEST_READING_S, 1.5 * slowest), TIME_UNITS)
    lines, points, full, sentences = [], [], [], []
    for each in all_:
        contexts = np.union1d(CONTEXTS, each.scenario.context)
        seconds = _steps(each, contexts)
        load = words.requests(each.scenario.concurrency)
        said = [
            f"{each.label}: {n:,.0f} tokens, {load}: {words.duration(s)} a token"
            for n, s in zip(contexts, seconds, strict=True)
        ]
        lines.append(
            pd.DataFrame(
                {
                    "letter": each.letter,
                    "variant": each.label,
                    "context": contexts,
                    "step": seconds / size,
                    "sentence": said,
                }
            )
        )
        here = said[int(np.searchsorted(contexts, each.scenario.context))]
        sentences.append(here)
        points.append((each.scenario.context, each.step.value / size, here))
        most_tokens = longest(each)
        if SHORTEST <= most_tokens < LONGEST:
            at = float(_steps(each, np.array([most_tokens]))[0])
            text = f"{each.label}: memory is full at {words.whole(most_tokens)} tokens"
            full.append((most_tokens, at / size, text))
    rows, speeds = pd.concat(lines, ignore_index=True), sweep.speeds(most, size)
    points = pd.DataFrame(points, columns=["context", "step", "sentence"])
    page = _Words(most, lines, speeds)
    for each, context, step in zip(all_, points.context, points.step, strict=True):
        page.write("values", [(context, step)], words.duration(each.step.value))
    for each, line in zip(all_, lines, strict=True):
        page.write("ends", _far(line, most), each.letter + " (wrong)" * bool(each.mistake))
    return Drawing(
        {
            "rows": rows,
            "points": points,
            "values": page.frame("values"),
            "ends": page.frame("ends"),
            "full": pd.DataFrame(full, columns=["context", "step", "sentence"]),
            "speeds": speeds,
        },
        (most, unit),
        {"variant": "variant", "context": "context (tokens)", "step": f"time per token ({unit})"},
        f"Time per token over the context. {'. '.join(sentences)}.",
    )


def _steps(each, contexts):
    swept = mistakes.reckoned(each.scenario, each.variant.mistake, context=contexts)
    return np.broadcast_to((swept.mixed_s or swept.step_s).value, contexts.shape)


def longest(each: Shown) -> float:
    """The longest context at which the load fits; with an engine to an eighth of an octave."""
    if each.served.ideal:
        return float(each.served.plan.max_context_tokens)
    holds = mistakes.reckoned(each.scenario, each.variant.mistake, context=FINE).fits
    return float(FINE[holds].max()) if np.any(holds) else 0.0


def _far(line, most):
    """Where a line's name may stand: at its end inside the plot, then further and further in."""
    inside = line[line.step <= 0.86 * most]
    return list(zip(inside.context, inside.step, strict=True))[::-1]


class _Words:
    """Places words on the plot of lines so that they stand on no other words and, if at all
    possible, on no line. Boxes are left, right, bottom, top, in parts of the plot."""

    def __init__(self, most, lines, speeds):
        self.most, self.rows = most, {"values": [], "ends": []}
        self.boxes = [
            (0, len(text) * SIGN, step / most, step / most + LINE)
            for step, text in zip(speeds.step, speeds.label, strict=True)
            if text
        ]
        dense = np.linspace(0, 1, 400)
        self.curves = [
            (dense, np.interp(dense, [sweep.along(n) for n in line.context], line.step / most))
            for line in lines
        ]

    def write(self, frame, places, text):
        """Write a text at the first of the places where there is room for it, on any side."""
        found = [(*place, text, *side) for place in places for side in SIDES]
        free = [each for each in found if self._free(self._box(each))]
        clear = (each for each in free if not self._crossed(self._box(each)))
        row = next(clear, (free or found)[0])
        if row[:3] not in [each[:3] for each in self.rows[frame]]:
            self.rows[frame].append(row)
            self.boxes.append(self._box(row))

    def frame(self, name):
        columns = ["context", "step", "label", "align", "shift", "lift"]
        return pd.DataFrame(self.rows[name], columns=columns)

    def _box(self, row):
        context, step, text, align, shift, lift = row
        width, bottom = len(text) * SIGN, step / self.most - (lift + 6) / HIGH
        left = sweep.along(context) + shift / WIDE - (width if align == "right" else 0)
        return (left, left + width, bottom, bottom + LINE)

    def _free(self, box):
        left, right, bottom, top = box
        inside = left >= 0 and right <= 1 and bottom >= 0 and top <= 1
        return inside and not any(
            left < other[1] and other[0] < right and bottom < other[3] and other[2] < top
            for other in self.boxes
        )

    def _crossed(self, box):
        left, right, bottom, top = box
        for x, y in self.curves:
            under = y[(x >= left) & (x <= right)]
            if len(under) and under.min() < top and under.max() > bottom:
                return True
        return False
