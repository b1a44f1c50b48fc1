"""Frames -> Altair charts. A chart is prepared once for its axes and fed new data afterwards.

Building a chart costs ten times what sending its data does, so every function here returns a chart
on *named* data, `prepared` keeps its Vega-Lite specification, and a page sends that with the frames
of the drawing of the same name in `planner.sweep` or `planner.bars`.
"""

from functools import lru_cache

import altair as alt

# One meaning a colour (Okabe-Ito, safe for colour-blind eyes), the same in light and dark.
COLOURS = {
    "weights": "#0072B2",
    "cache": "#E69F00",
    "overhead": "#8A8F98",
    "compute": "#CC79A7",
    "prompts": "#F0E442",
    "link": "#56B4E9",
    "fits": "#009E73",
    "does not fit": "#D55E00",
    "free": "transparent",
}
INK = {False: "#31333F", True: "#FAFAFA"}  # by dark
MUTED = {False: "#666B75", True: "#A6ABB5"}
PAPER = {False: "#FFFFFF", True: "#181715"}
OUTLINE = "#8A8F98"
HALO = {"strokeWidth": 4, "strokeJoin": "round", "strokeOpacity": 0.7, "aria": False}  # of words
HEIGHT = 240
# Words stand on the side of their place that their data say; some as high as these say, too.
BESIDE = {"align": alt.expr("datum.align"), "dx": alt.expr("datum.shift")}
LIFT = alt.expr("datum.lift")
HOVER = [alt.Tooltip("sentence:N", title=" ")]  # what shows under the pointer: the row in words
STEP_PARTS = ["weights", "cache", "compute", "overhead", "prompts"]
MEMORY_PARTS = ["weights", "cache", "free", "does not fit"]

CONTEXT_TICKS = [2**power for power in (7, 9, 11, 13, 15, 17, 20)]
CONCURRENCY_TICKS = [1, 4, 16, 64, 256, 1024, 4096]
TOKENS = (
    "datum.value >= 1048576 ? datum.value / 1048576 + 'M'"
    " : datum.value >= 1024 ? datum.value / 1024 + 'k' : datum.value"
)


@lru_cache(maxsize=256)
def prepared(chart, *bounds) -> dict:
    """The Vega-Lite specification of `chart(*bounds)`, without its data."""
    return chart(*bounds).to_dict()


def chart_on(name):
    """A chart on the data of that name."""
    return alt.Chart(alt.NamedData(name))


def bar_start(most, title):
    """Where the part of a bar starts, on an axis that ends at `most`."""
    return (
        alt.X("start:Q", title=title)
        .scale(domain=[0, most], nice=False)
        .axis(tickCount=6, format=",~r")
    )


def part_colours(parts, **legend):
    """The colour of each part of a bar, and a legend of those that can be seen."""
    return (
        alt.Color("part:N", title=None)
        .scale(domain=parts, range=[COLOURS[each] for each in parts])
        .legend(
            orient="bottom",
            symbolStrokeWidth=0,
            symbolSize=70,
            columnPadding=6,
            labelFontSize=11,
            values=[each for each in parts if each != "free"],
            **legend,
        )
    )


def _bars(most, title, parts, dark, marked=False, count=2):
    """Horizontal bars, one a variant, made of segments; where marked, a line across."""
    bars = (
        chart_on("rows")
        .mark_bar(size=min(34, 70 / count), strokeWidth=1 if count <= 8 else 0, stroke=OUTLINE)
        .encode(
            x=bar_start(most, title),
            x2=alt.X2("end:Q"),
            y=alt.Y("variant:N", title=None, sort=None).axis(
                ticks=False,
                domain=False,
                labelLimit=140,
                labelOverlap=True,
                labelExpr="split(datum.label, ', ')",  # a line each, so that none is cut off
            ),
            # On a phone five do not stand in one row.
            color=part_colours(parts, columns=alt.expr("width < 300 ? 3 : 0")),
            tooltip=HOVER,
        )
    )
    if not marked:
        return bars.properties(height=HEIGHT)
    line = chart_on("mark").mark_rule(color=INK[dark], strokeWidth=2, aria=False)
    words = chart_on("mark").mark_text(color=INK[dark], dy=-6, fontWeight="bold", aria=False)
    at, above = alt.X("at:Q"), alt.value(0)
    return (bars + line.encode(x=at) + words.encode(x=at, y=above, text="label:N")).properties(
        height=HEIGHT
    )


def memory(most, unit, dark):
    """Weights, cache and free space of each variant against the capacity. Data: rows, mark."""
    return _bars(most, f"Memory ({unit})", MEMORY_PARTS, dark, marked=True)


def engine_memory(most, unit, dark):
    """What is needed and what an engine takes of a device. Data: rows, mark."""
    named = ["weights", "cache", "overhead", "free", "does not fit"]
    return _bars(most, f"Memory ({unit})", named, dark, marked=True)


def engine_step(most, unit, dark):
    """What a step is made of with an engine. Data: rows."""
    return _bars(most, f"Time per token ({unit})", STEP_PARTS, dark, count=3)


def engine_first(most, unit, dark):
    """What the first token waits for with an engine. Data: rows."""
    return _bars(most, f"First token ({unit})", ["compute", "overhead", "weights", "link"], dark)


def devices(most, unit, count, dark):
    """Weights and cache on each of so many devices. Data: rows, mark."""
    return _bars(most, f"Memory ({unit})", MEMORY_PARTS, dark, marked=True, count=count)


def step(most, unit, dark):
    """What a decode step is made of, for each variant. Data: rows."""
    return _bars(most, f"Time per token ({unit})", ["weights", "cache"], dark)


def context_axis(name="context:Q", longest=CONTEXT_TICKS[-1]):
    """The context on a logarithmic axis up to `longest`."""
    ticks = [each for each in CONTEXT_TICKS if each <= longest]
    return (
        alt.X(name, title="Context (tokens)")
        .scale(type="log", base=2, domain=[ticks[0], longest], nice=False)
        .axis(values=ticks, labelExpr=TOKENS, grid=False)
    )


def token_time_axis(most, unit):
    """The time per token, on an axis that ends at `most`."""
    return (
        alt.Y("step:Q", title=f"Time per token ({unit})")
        .scale(domain=[0, most], nice=False)
        .axis(tickCount=6)
    )


def _lines(x, y, dark):
    """One line a variant: the plan's own in full ink, its counterpart dashed."""
    return (
        chart_on("rows")
        .mark_line(color=INK[dark], strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            detail="variant:N",
            strokeDash=alt.condition("datum.own", alt.value([1, 0]), alt.value([6, 4])),
        )
    )


def haloed(name, text, dark, lift, **style):
    """The halo that keeps words readable, and the words, beside their place."""
    style = {**BESIDE, "dy": lift, **style}
    base = chart_on(name).encode(text=text)
    halo = base.mark_text(**HALO, stroke=PAPER[dark], **style)
    return halo, base.mark_text(color=INK[dark], aria=False, **style)


def _point(x, y, dark):
    """The present state: a filled dot with its value beside it. Data: point."""
    dot = chart_on("point").mark_point(filled=True, size=110, color=INK[dark], opacity=1)
    halo, label = haloed("point", "label:N", dark, -10, fontWeight="bold")
    return halo.encode(x=x, y=y) + label.encode(x=x, y=y) + dot.encode(x=x, y=y, tooltip=HOVER)


def _ends(x, y, dark):
    """Names beside the lines instead of a legend. Data: ends."""
    halo, label = haloed("ends", "variant:N", dark, -4)
    return halo.encode(x=x, y=y) + label.encode(x=x, y=y)


def _own():
    return chart_on("rows").transform_filter("datum.own")


def _speeds_and_full(x, dark):
    """Lines at reading speeds, and where memory is full. Data: speeds, full."""
    speeds = chart_on("speeds").encode(y=alt.Y("step:Q"))
    speed = speeds.mark_rule(color=MUTED[dark], strokeDash=[2, 3], clip=True, aria=False)
    speed_name = [
        each.encode(x=alt.value(0), y=alt.Y("step:Q"))
        for each in haloed("speeds", "label:N", dark, -6)
    ]
    red = COLOURS["does not fit"]
    full = chart_on("full").encode(x=x).mark_rule(color=red, aria=False)
    full_name = (
        chart_on("full")
        .mark_text(color=INK[dark], aria=False, dy=-8, **BESIDE)
        .encode(x=x, y=alt.datum(0), text="label:N")
    )
    return alt.layer(speed, *speed_name, full, full_name)


def latency(most, unit, dark):
    """Decode step over context: areas of weights and cache, a line a variant, reading speeds.

    Data: rows, ends, point, speeds, full.
    """
    x = context_axis()
    y = token_time_axis(most, unit)
    weights = _own().mark_area(color=COLOURS["weights"], opacity=0.55, clip=True, aria=False)
    cache = _own().mark_area(color=COLOURS["cache"], opacity=0.55, clip=True, aria=False)
    hover = chart_on("rows").mark_point(size=120, opacity=0, clip=True, aria=False)
    return (
        weights.encode(x=x, y=alt.Y("weights:Q"))
        + cache.encode(x=x, y=y, y2=alt.Y2("weights:Q"))
        + _speeds_and_full(x, dark)
        + _lines(x, y, dark)
        + _ends(x, y, dark)
        + hover.encode(x=x, y=y, tooltip=HOVER)
        + _point(x, y, dark)
    ).properties(height=HEIGHT)


def engine_latency(most, unit, dark):
    """Decode step over context with an engine: its parts stacked, its band, the ideal line.

    Data: rows, ends, point, speeds, full.
    """
    x = context_axis()
    y = token_time_axis(most, unit)
    rows, areas = chart_on("rows"), []
    for below, part in zip([None, *STEP_PARTS], STEP_PARTS, strict=False):
        area = rows.mark_area(color=COLOURS[part], opacity=0.55, clip=True, aria=False)
        edge = {"y2": alt.Y2(f"{below}:Q")} if below else {}
        areas.insert(0, area.encode(x=x, y=alt.Y(f"{part}:Q"), **edge))
    band = rows.mark_area(color=INK[dark], opacity=0.15, clip=True, aria=False)
    line = rows.mark_line(color=INK[dark], strokeWidth=2, clip=True)
    ideal = rows.mark_line(color=INK[dark], strokeWidth=1.5, strokeDash=[6, 4], clip=True)
    hover = rows.mark_point(size=120, opacity=0, clip=True, aria=False)
    # One layer of all: layers within layers are copied at every step, which takes many seconds.
    return alt.layer(
        *areas,
        _speeds_and_full(x, dark),
        band.encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        ideal.encode(x=x, y=alt.Y("ideal:Q")),
        line.encode(x=x, y=y),
        _ends(x, y, dark),
        hover.encode(x=x, y=y, tooltip=HOVER),
        _point(x, y, dark),
    ).properties(height=HEIGHT)


def fit(dark):
    """Where a load fits: concurrency over context, the frontier of each variant.

    Data: rows, ends, corners, point.
    """
    x = context_axis("line:Q")
    y = (
        alt.Y("concurrency:Q", title="Concurrency (requests)")
        .scale(type="log", base=2, domain=[1, 4096], nice=False)
        .axis(values=CONCURRENCY_TICKS, grid=False)
    )
    area = {"aria": False, "orient": "horizontal"}
    inside = _own().mark_area(color=COLOURS["fits"], opacity=0.25, **area)
    outside = _own().mark_area(color=COLOURS["does not fit"], opacity=0.2, **area)
    corner = chart_on("corners").mark_text(color=MUTED[dark], aria=False, dy=LIFT, **BESIDE)
    return (
        inside.encode(x=context_axis("edge:Q"), x2=alt.X2("least:Q"), y=y)
        + outside.encode(x=context_axis("edge:Q"), x2=alt.X2("greatest:Q"), y=y)
        + _lines(x, y, dark).encode(tooltip=HOVER, order="concurrency:Q")
        + _ends(x, y, dark)
        + corner.encode(x=x, y=y, text="label:N")
        + _point(x, y, dark)
    ).properties(height=HEIGHT)


def experts(most, dark):
    """Weights that a step reads, over the concurrency. Data: rows, point."""
    x = (
        alt.X("concurrency:Q", title="Concurrency (requests)")
        .scale(type="log", base=2, domain=[1, 4096], nice=False)
        .axis(values=CONCURRENCY_TICKS, grid=False)
    )
    y = alt.Y("read:Q", title="Weights read in a step (GB)").scale(domain=[0, most], nice=False)
    line = chart_on("rows").mark_line(color=COLOURS["weights"], strokeWidth=2)
    hover = chart_on("rows").mark_point(size=120, opacity=0, aria=False)
    return (
        line.encode(x=x, y=y) + hover.encode(x=x, y=y, tooltip=HOVER) + _point(x, y, dark)
    ).properties(height=HEIGHT)
