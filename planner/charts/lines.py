"""TPOT over the context, a line a plan: of one plan, or of several in a comparison."""

from functools import cached_property

import altair as alt
import numpy as np

from planner import describe
from planner.charts import marks
from planner.charts.axes import CONTEXTS, LONGEST, SHORTEST, TIME_UNITS, along, axis
from planner.charts.bars import band_text, end_to_end
from planner.charts.labelled import Labelled
from planner.charts.labels import RIGHT_ABOVE, Labels
from planner.charts.picture import Picture, by_column, stacked
from planner.charts.style import COLOURS, HEIGHT, INK, MUTED
from planner.serving import Evaluation, comparable, parts

# Tokens a second at about 0.75 words a token: 238, 500 and 850 words a minute. The first is the
# lesson's own reader (planner/lesson/streaming.py).
READING_SPEEDS = {5.3: "reading", 11: "fast reading", 19: "skimming"}
MOST_MEASURED = 12  # measurements drawn, the nearest: more would hide the line
FULL = ("memory full", "full")  # at its cross, as there is room
SLOWEST_READING_S = 1 / min(READING_SPEEDS)


def latency(id: str, shown: list[Labelled], own: Labelled | None = None) -> Picture:
    """TPOT over the context, a line each, with reading speeds and where memory is full.

    own: the one of `shown` that the picture is about, in the first ink: its parts are areas, its
    band is drawn, and it alone is marked at its present load and where its memory is full. All are
    marked where there is none.
    """
    about = [own] if own else shown
    slowest = max(each.evaluation.tpot_s.value for each in about)
    most, size, unit = axis(max(1.05 * SLOWEST_READING_S, 2 * slowest), TIME_UNITS)
    lines = [_Line(each, size) for each in shown]
    about = [line for line in lines if line.plan in about]
    near = comparable(own.evaluation)[:MOST_MEASURED] if own else []
    full = [line for line in about if SHORTEST <= line.plan.longest < LONGEST]
    rows = stacked([line.columns for line in lines])
    words, speeds = _words(lines, about, full, near, most, size)
    return Picture(
        id,
        "Time per output token, × where memory is full"
        if full and not own
        else "Time per output token",
        chart,
        (most, unit, tuple(about[0].parts) if own else ()),
        {
            "rows": rows,
            "areas": about[0].areas() if own else {},
            "points": by_column([line.here for line in about], "context", "step"),
            "full": by_column([line.end for line in full], "context", "step"),
            "measured": {
                "context": [each.context_tokens for each in near],
                "step": [each.measured_s / size for each in near],
            },
            "speeds": {"step": speeds},
            "words": words.columns("context", "step"),
        },
        {
            "variant": "variant",
            "context": "context (tokens)",
            **{name: f"{name} ({unit})" for line in lines for name in line.parts},
            "step": f"time per output token ({unit})",
            "low": f"80 % band from ({unit})",
            "high": f"to ({unit})",
            "rate": "tokens/s per request",
        },
        f"Time per output token over the context. {'. '.join(line.sentence for line in lines)}."
        f"{f' {len(near)} measurements stand beside it.' if near else ''}",
        {
            "rows": lambda: [text for line in lines for text in line.sentences],
            "points": [line.sentence for line in about],
            "measured": [_measured(each) for each in near],
            "full": [
                f"{line.plan.label}: memory is full at {describe.whole(line.plan.longest)} tokens"
                for line in full
            ],
        },
        moving={"most": 0},
    )


def _measured(found):
    """What a measurement says under the pointer: what ran, and what is predicted for the same."""
    return (
        f"Measured: {describe.duration(found.measured_s)} a token at "
        f"{describe.requests(found.running)} of {describe.whole(found.prompt_tokens)} + "
        f"{describe.whole(found.output_tokens)} tokens, {found.engine_name}; "
        f"{describe.duration(found.predicted_s)} is predicted for it. Source: {found.source_name}"
    )


class _Line:
    """A plan's line: its columns, with times in units of `size` seconds, and its sentences."""

    def __init__(self, plan: Labelled, size: float):
        swept = plan.swept(context=np.union1d(CONTEXTS, plan.scenario.context))
        contexts = swept.plan.context_tokens
        self.plan = plan
        self.columns = {
            "variant": np.repeat(plan.label, len(contexts)),
            "ink": np.repeat(plan.ink, len(contexts)),
            "context": contexts,
            **times(swept, size),
        }
        self.parts = [name for name, _ in parts(swept.step) if np.any(self.columns[name])]
        self.swept = swept

    @cached_property
    def sentences(self):
        return sentences(self.plan.label, self.swept)

    @property
    def sentence(self):
        """That of the present load."""
        at = int(np.searchsorted(self.columns["context"], self.plan.scenario.context))
        return sentences(self.plan.label, self.swept, slice(at, at + 1))[0]

    def _at(self, context):
        """A context, and how high the line as it is drawn is there."""
        at, heights = along(self.columns["context"]), self.columns["step"]
        return context, float(np.interp(along(context), at, heights))

    @property
    def here(self):
        """The place of the present load."""
        return self._at(self.plan.scenario.context)

    @property
    def end(self):
        """The place where memory is full."""
        return self._at(self.plan.longest)

    def areas(self):
        """Its parts, one upon the other."""
        context, areas = self.columns["context"], []
        for part, ends in end_to_end({name: self.columns[name] for name in self.parts}).items():
            low, high = (np.broadcast_to(end, context.shape) for end in ends)
            named = np.repeat(part, len(context))
            areas.append({"context": context, "part": named, "start": low, "end": high})
        return stacked(areas)


def times(evaluation: Evaluation, size: float) -> dict[str, np.ndarray]:
    """The numbers of a line: a step, its band and its parts in units of `size` seconds; its rate.

    Each has the shape of the contexts. Where another input varies too, as one of (stops, 1) beside
    contexts of (1, points), each has a line for every stop.
    """
    step, band = evaluation.mixed or evaluation.step, evaluation.tpot_s
    seconds = {"step": band.value, "low": band.low, "high": band.high, **dict(parts(step))}
    columns = {name: np.divide(values, size) for name, values in seconds.items()}
    columns["rate"] = evaluation.tokens_per_s_per_request.value
    shape = np.broadcast_shapes(np.shape(evaluation.plan.context_tokens), np.shape(band.value))
    return {name: np.broadcast_to(values, shape) for name, values in columns.items()}


def sentences(label: str, evaluation: Evaluation, which: slice = slice(None)) -> list[str]:
    """What a line says under the pointer, at each of its contexts or at some of them."""
    step, band = evaluation.mixed or evaluation.step, evaluation.tpot_s
    load = describe.requests(evaluation.plan.concurrency)
    share = 100 * step.cache_s / step.total_s
    columns = (evaluation.plan.context_tokens, band.value, band.low, band.high, share)
    rows = np.transpose(np.broadcast_arrays(*columns))[which]
    return [
        f"{context:,.0f} tokens, {load}. {label}: {describe.duration(value)} a token"
        f"{band_text(low, high)}, {describe.significant(percent, 2)} % of it reading cache"
        for context, value, low, high, percent in rows.tolist()
    ]


def _words(lines, about, full, near, most, size):
    """The present times, where memory is full, each line's name; and the reading speeds to draw.

    A speed gives way: it is drawn where its name has room, and its line passes through no word.
    """
    drawn = [(line.columns["context"], line.columns["step"]) for line in lines]
    speeds = {
        1 / speed / size: f"{name}, {speed} tokens/s" for speed, name in READING_SPEEDS.items()
    }
    ends = np.array([SHORTEST, LONGEST])
    rules = {step: (ends, np.array([step, step])) for step in speeds}
    drops = [(np.repeat(line.end[0], 2), np.array([0, line.end[1]])) for line in full]
    rings = [(each.context_tokens, each.measured_s / size) for each in near]
    dots = [*(line.here for line in about), *(line.end for line in full), *rings]
    words = Labels(along, lambda step: step / most, [*drawn, *drops], dots, rules.values())
    for line in about:
        time = describe.duration(line.plan.evaluation.tpot_s.value)
        words.write(time, [line.here], weight="bold", optional=True)  # its dot says it, too
    for line in full if len(about) == 1 else ():  # of several the title says it
        context, step = line.end
        places = [(context, step * part / 8) for part in range(9)]
        words.write(FULL[0], places, optional=True) or words.write(FULL[1], places, optional=True)
    for line, (contexts, steps) in zip(lines, drawn, strict=True):
        words.name(line.plan.line or line.plan.label, contexts, steps)
    if rings:
        words.write("measured", rings, optional=True)
    shown = [
        step
        for step, text in speeds.items()
        if not words.crossed(*rules[step])
        and words.write(text, [(SHORTEST, step)], RIGHT_ABOVE, optional=True)
    ]
    return words, shown


def chart(most, unit, areas, dark):
    """Lines by their ink. areas: the parts of the one line that has some; there is a band, too.

    Data: rows, areas, points, full, measured, speeds, words.
    """
    x, y = alt.X("context:Q"), alt.Y("step:Q")
    rows, behind = marks.on("rows"), []
    if areas:
        laid = marks.on("areas").mark_area(opacity=0.55, clip=True, aria=False)
        band = rows.mark_area(color=INK[dark], opacity=0.15, clip=True, aria=False)
        behind = [
            laid.encode(x, alt.Y("start:Q"), y2=alt.Y2("end:Q"), color=marks.part_colours(areas)),
            band.transform_filter("datum.ink == 0").encode(x, alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        ]
    time = alt.Y("step:Q", title=f"Time per output token ({unit})")
    end = marks.end(most)
    time = time.scale(domain=[0, end], nice=False).axis(tickCount=6)
    speeds = marks.on("speeds").mark_rule(
        color=MUTED[dark], strokeDash=[2, 3], clip=True, aria=False
    )
    red, ends = COLOURS["does not fit"], marks.on("full")
    drop = ends.mark_rule(color=red, clip=True, aria=False).encode(x, y, y2=alt.Y2Datum(0))
    cross = ends.mark_point(
        shape="cross", angle=45, size=110, filled=True, opacity=1, color=red, clip=True
    )
    rings = marks.on("measured").mark_point(
        size=45, strokeWidth=1.5, color=COLOURS["fits"], opacity=1, clip=True
    )
    beside = [rings.encode(x, y, marks.SAID, tooltip=marks.HOVER)] if areas else []
    layers = alt.layer(
        *behind,
        speeds.encode(y),
        drop,
        marks.lines(marks.context_axis("context:Q"), time, dark),
        marks.hover(x, y),
        cross.encode(x, y, marks.SAID, tooltip=marks.HOVER),
        *beside,
        marks.points(x, y, dark),
        *marks.words(x, y, dark),
    )
    return layers.properties(height=HEIGHT).add_params(end)
