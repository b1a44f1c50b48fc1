"""What fills a bar: memory and time by their parts, a bar a plan or a bar a device."""

from collections.abc import Mapping
from typing import NamedTuple

import altair as alt
import numpy as np

from planner import describe
from planner.charts import marks
from planner.charts.axes import MEMORY_UNITS, TIME_UNITS, axis
from planner.charts.labelled import Labelled
from planner.charts.picture import Picture, by_column
from planner.charts.style import HEIGHT, INK, OUTLINE
from planner.hardware import parallel
from planner.serving import Band, Evaluation, parts

A_ROW = 3  # parts in a row of the legend, for which a phone has room
FEW = 8  # bars up to which each has an outline and, where there is a limit, its words


class Bar(NamedTuple):
    """One bar: its label, its parts end to end in SI units, and itself in words.

    limit: where its memory ends; None where there is no such thing. name: what stands beside it,
    where there is room for less than its label.
    """

    label: str
    parts: Mapping[str, float]
    sentence: str
    limit: float | None = None
    name: str = ""

    @property
    def beside(self) -> str:
        return self.name or self.label


def memory(id: str, title: str, shown: list[Labelled]) -> Picture:
    """Memory of the fullest device, a bar a plan, up to where its engine's memory ends."""
    bars = []
    for each in shown:
        needs, limit = memory_parts(each.evaluation)
        needed = sum(needs.values())
        named = " + ".join(
            f"{describe.data(size)} {'for the engine' if part == 'overhead' else part}"
            for part, size in needs.items()
            if size
        )
        sentence = (
            f"{each.label}: {named} = {describe.data(needed)} of {describe.data(limit)} "
            f"({describe.gib(needed)} of {describe.gib(limit)})"
        )
        bars.append(Bar(each.label, needs, sentence, limit, each.bar))
    return _picture(id, title, "Memory", MEMORY_UNITS, bars)


def memory_parts(evaluation: Evaluation) -> tuple[dict[str, float], float]:
    """What fills the fullest device, part by part, and where its engine's memory ends; bytes."""
    plan, reserve = evaluation.plan, evaluation.reserve
    needs = {
        "weights": plan.device_weights_bytes,
        "overhead": reserve.overhead_bytes,
        "cache": plan.device_cache_bytes,
    }
    limit = plan.memory_usable_bytes
    if not evaluation.ideal:
        limit = min(limit, reserve.weights_bytes + reserve.overhead_bytes + reserve.pool_bytes)
    return needs, limit


def devices(own: Evaluation) -> Picture:
    """Memory of each device: its weights, its engine's share and the cache of its requests."""
    plan, bars = own.plan, []
    needs, limit = memory_parts(own)
    overhead, needed = needs["overhead"], sum(needs.values())
    engine = f"{describe.data(overhead)} for the engine + " if overhead else ""
    every = parallel.device_memory(
        plan.scenario.layout, plan.stages, plan.concurrency, plan.context_tokens
    )
    for each in every:
        label = f"device {each.device + 1}"
        sentence = (
            f"{label}, stage {each.stage + 1}, group {each.group + 1}: "
            f"{describe.data(each.weights_bytes)} weights + {engine}"
            f"{describe.data(each.cache_bytes)} cache of {describe.requests(each.requests)}"
        )
        parts = {"weights": each.weights_bytes, "overhead": overhead, "cache": each.cache_bytes}
        bars.append(Bar(label, parts, sentence, limit))
    alt = (
        f"Memory on each of {len(bars)} devices. "
        f"The fullest needs {describe.data(needed)} of {describe.data(limit)}."
    )
    return _picture("devices", "Memory on each device", "Memory", MEMORY_UNITS, bars, alt)


def step(id: str, shown: list[Labelled]) -> Picture:
    """What a decode step is made of, a bar a plan, and one for while new prompts arrive."""
    bars = []
    for each in shown:
        result = each.evaluation
        bars.append(_times(each.label, dict(parts(result.step)), result.step_s))
        if result.mixed and not result.ideal:
            bars.append(_times("with new prompts", dict(parts(result.mixed)), result.mixed_s))
    return _picture(id, "What a step is made of", "Time per output token", TIME_UNITS, bars)


def first(id: str, shown: list[Labelled]) -> Picture:
    """What the first token waits for, a bar a plan."""
    bars = []
    for each in shown:
        evaluation, waits = each.evaluation, each.evaluation.first
        if evaluation.ideal:  # the longer of computing, each format at its peak, and of reading
            least, compute = evaluation.ttft_bound_s, evaluation.prefill_bound_s
            named = {"compute": compute, "weights": least - compute}
            bars.append(_times(each.label, named, Band(least, least, least)))
            continue
        named = {"compute": waits.compute_s, "overhead": waits.floor_s, "link": waits.link_s}
        named["weights"] = evaluation.ttft_s.value - waits.total_s
        bars.append(_times(each.label, named, evaluation.ttft_s))
    return _picture(id, "What the first token waits for", "Time to first token", TIME_UNITS, bars)


def _times(label, named, band):
    """A bar of times in seconds. band: of their sum."""
    listed = ", ".join(
        f"{describe.duration(each)} {part}" for part, each in named.items() if each > 0
    )
    total = f"{describe.duration(band.value)}{band_text(band.low, band.high)}"
    return Bar(label, named, f"{label}: {total}: {listed}")


def band_text(low: float, high: float) -> str:
    """The ends of a band of times in brackets; nothing where there is none."""
    return f" ({describe.duration(low)} to {describe.duration(high)})" if low < high else ""


def end_to_end(parts: Mapping[str, np.ndarray], limit=None) -> dict[str, tuple]:
    """Start and end of each part, laid one after another; arrays of any shape.

    Cut at a limit: what lies beyond it does not fit, and what is left up to it is free.
    """
    laid, end = {}, 0.0
    for part, size in parts.items():
        laid[part] = (end, end + size)
        end = end + size
    if limit is None:
        return laid
    within = {
        part: (np.minimum(low, limit), np.minimum(high, limit))
        for part, (low, high) in laid.items()
    }
    free, beyond = (np.minimum(end, limit), limit), (limit, np.maximum(end, limit))
    return {**within, "free": free, "does not fit": beyond}


def _picture(id, title, quantity, units, bars, alt=""):
    """Bars, drawn in the unit that suits the longest."""
    limited = bars[0].limit is not None
    laid = [end_to_end(bar.parts, bar.limit) for bar in bars]
    longest = [max(high for _, high in each.values()) for each in laid]
    most, size, unit = axis(max(longest), units)
    rows = [
        (bar, part, low / size, high / size)
        for bar, each in zip(bars, laid, strict=True)
        for part, (low, high) in each.items()
        if high > low
    ]
    limits = []
    for bar in (
        bars if limited else ()
    ):  # many are alike, and have no room for words but at the first
        text = f"of {describe.data(bar.limit)}" if len(bars) <= FEW or bar is bars[0] else ""
        at = bar.limit / size
        limits.append((bar.beside, at, text, "right" if at > most / 2 else "left"))
    drawn = {part for _, part, *_ in rows} | {"does not fit", "free"}
    legend = tuple(part for part in laid[0] if part in drawn)
    beyond = float(any(part == "does not fit" for _, part, *_ in rows))
    return Picture(
        id,
        title,
        chart,
        (most, unit, quantity, legend, len(bars), limited, beyond),
        {
            "rows": {
                "bar": [bar.beside for bar, *_ in rows],
                "variant": [bar.label for bar, *_ in rows],
                **by_column([row[1:] for row in rows], "part", "start", "end"),
            },
            **({"limits": by_column(limits, "bar", "at", "label", "align")} if limited else {}),
        },
        {"variant": "variant", "part": "part", "start": f"from ({unit})", "end": f"to ({unit})"},
        alt or f"{title}. {'. '.join(bar.sentence for bar in bars)}.",
        {"rows": [bar.sentence for bar, *_ in rows]},
        moving={"most": 0, "beyond": 6},
        channel="x",
    )


def chart(most, unit, quantity, parts, count, limited, beyond, dark):
    """Horizontal bars of parts; where limited, a mark on each where its memory ends.

    beyond: 1 where something does not fit, which the legend says then; else 0. Data: rows, limits.
    """
    end, over = marks.end(most), alt.param(name="beyond", value=beyond)
    x = (
        alt.X("start:Q", title=f"{quantity} ({unit})")
        .scale(domain=[0, end], nice=False)
        .axis(tickCount=6, format=",~r")
    )
    y = alt.Y("bar:N", title=None, sort=None).axis(
        ticks=False,
        domain=False,
        labelLimit=0,  # the data know what must not be cut off
        labelOverlap=True,
        labelExpr="split(datum.label, ', ')",  # a line each
    )
    size = min(34, 70 / count)
    colours = marks.part_colours(
        parts,
        orient="bottom",
        symbolStrokeWidth=0,
        symbolSize=70,
        columnPadding=6,
        labelFontSize=11,
        values=_named(parts),
        columns=A_ROW,
    )
    bars = marks.on("rows").mark_bar(
        size=size, strokeWidth=1 if count <= FEW else 0, stroke=OUTLINE
    )
    bars = bars.encode(x, y, alt.X2("end:Q"), colours, tooltip=marks.HOVER)
    if not limited:
        return bars.properties(height=HEIGHT).add_params(end, over)
    limits = marks.on("limits").encode(y)
    tick = limits.mark_tick(color=INK[dark], thickness=2, size=size + 10, aria=False)
    words = limits.mark_text(
        color=INK[dark],
        baseline="bottom",
        dy=-(size / 2 + 7),
        align=alt.expr("datum.align"),
        aria=False,
    )
    at = alt.X("at:Q")
    layers = alt.layer(bars, tick.encode(at), words.encode(at, alt.Text("label:N")))
    return layers.properties(height=HEIGHT).add_params(end, over)


def _named(parts):
    """What the legend names: all there is to see, and what does not fit where there is any."""
    named = [part for part in parts if part not in ("free", "does not fit")]
    if "does not fit" not in parts:
        return named
    return alt.expr(f"beyond ? {[*named, 'does not fit']} : {named}")
