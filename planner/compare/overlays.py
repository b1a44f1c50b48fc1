"""The two drawings of a comparison: memory as bars, time per token as lines, all plans overlaid."""

import numpy as np
import pandas as pd

from planner import describe
from planner.charts import bars, curves
from planner.charts.curves import (
    CONTEXTS,
    LONGEST,
    MEMORY_UNITS,
    SHORTEST,
    TIME_UNITS,
    Drawing,
    axis,
)
from planner.compare import mistakes
from planner.compare.differences import Shown
from planner.models.notation import shorten

# A plot is some 400 by 190 px: the width of a sign in its words and their height, as parts of it.
WIDE, HIGH, SIGN, LINE = 400, 190, 0.0155, 0.08
AXIS_SIGNS = 22  # of a name on an axis
SIDES = (("right", -9, -10), ("left", 9, -10), ("right", -9, 15), ("left", 9, 15))


def memory(all_: list[Shown]) -> Drawing:
    """A bar each: weights, what the engine keeps for itself, cache, and where its memory ends."""
    rows, limits, sentences = [], [], []
    for each in all_:
        plan, held = each.evaluation.plan, each.evaluation.reserve
        pieces = [("weights", plan.device_weights_bytes)]
        limit = plan.memory_usable_bytes
        if not each.evaluation.ideal:
            pieces.append(("overhead", held.overhead_bytes))
            limit = min(limit, held.weights_bytes + held.overhead_bytes + held.pool_bytes)
        pieces.append(("cache", plan.device_cache_bytes))
        named = " + ".join(
            f"{describe.data(count)} {'for the engine' if part == 'overhead' else part}"
            for part, count in pieces
            if count
        )
        needed = sum(count for _, count in pieces)
        sentence = f"{each.label}: {named} = {describe.data(needed)} of {describe.data(limit)}"
        sentences.append(sentence)
        bar = short(each)
        rows += [(bar, each.label, *piece, sentence) for piece in bars.cut(pieces, limit)]
        limits.append((bar, limit))
    rows = pd.DataFrame(rows, columns=["bar", "variant", "part", "start", "end", "sentence"])
    # Longer than the longest bar by the room that the words beside it take.
    most, size, unit = axis(1.2 * rows.end.max(), MEMORY_UNITS)
    ends = pd.DataFrame(limits, columns=["bar", "at"])
    ends["label"] = [f"of {describe.data(at)}" for at in ends["at"]]
    ends["beside"] = rows.groupby("bar", sort=False).end.max().to_numpy()
    return Drawing(
        {
            "rows": rows.assign(start=rows.start / size, end=rows.end / size),
            "limits": ends.assign(at=ends["at"] / size, beside=ends["beside"] / size),
        },
        (most, unit),
        {"variant": "variant", "part": "part", "start": f"from ({unit})", "end": f"to ({unit})"},
        f"Memory of the fullest device. {'. '.join(sentences)}.",
    )


def short(each: Shown) -> str:
    """What a plan is called, as far as an axis has room: never cut off is that it is wrong."""
    wrong = " (wrong)" if each.mistake else ""
    return shorten(each.label.removesuffix(wrong), AXIS_SIGNS - len(wrong)) + wrong


def latency(all_: list[Shown]) -> Drawing:
    """Time per token over the context, a line each, with its point and where its memory is full."""
    slowest = max(each.evaluation.tpot_s.value for each in all_)
    most, size, unit = axis(max(1.05 * curves.SLOWEST_READING_S, 1.5 * slowest), TIME_UNITS)
    lines, points, full, sentences = [], [], [], []
    for each in all_:
        contexts = np.union1d(CONTEXTS, each.scenario.context)
        seconds = _steps(each, contexts)
        load = describe.requests(each.scenario.concurrency)
        said = [
            f"{each.label}: {n:,.0f} tokens, {load}: {describe.duration(s)} a token"
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
        points.append((each.scenario.context, each.evaluation.tpot_s.value / size, here))
        most_tokens = longest(each)
        if SHORTEST <= most_tokens < LONGEST:
            at = float(_steps(each, np.array([most_tokens]))[0])
            text = f"{each.label}: memory is full at {describe.whole(most_tokens)} tokens"
            full.append((most_tokens, at / size, text))
    rows, speeds = pd.concat(lines, ignore_index=True), curves.speeds(most, size)
    points = pd.DataFrame(points, columns=["context", "step", "sentence"])
    page = _Words(most, lines, speeds)
    for each, context, step in zip(all_, points.context, points.step, strict=True):
        page.write("values", [(context, step)], describe.duration(each.evaluation.tpot_s.value))
    for each, line in zip(all_, lines, strict=True):
        page.write("ends", _far(line, most), each.marked)
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
    swept = mistakes.evaluated(each.scenario, each.variant.mistake, context=contexts)
    return np.broadcast_to(swept.tpot_s.value, contexts.shape)


def longest(each: Shown) -> float:
    """The longest context at which the load fits; with an engine to an eighth of an octave."""
    if each.evaluation.ideal:
        return float(each.evaluation.plan.max_context_tokens)
    swept = mistakes.evaluated(each.scenario, each.variant.mistake, context=curves.FINE)
    return curves.longest(swept.fits)


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
            for step, text in zip(speeds["step"], speeds["label"], strict=True)
            if text
        ]
        dense = np.linspace(0, 1, 400)
        self.curves = [
            (dense, np.interp(dense, [curves.along(n) for n in line.context], line.step / most))
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
        left = curves.along(context) + shift / WIDE - (width if align == "right" else 0)
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
