"""The charts of the Learn pages in Altair, each of its picture's bounds and whether it is dark."""

import math

import altair as alt

from planner.charts import marks
from planner.charts.marks import HOVER, on
from planner.charts.style import (
    COLOURS,
    DASHED,
    HEIGHT,
    INK,
    MUTED,
    OUTLINE,
    PAPER,
    SOLID,
    TALL,
)
from planner.lesson import attention, operations, past, roofline, stored

LOW = 200  # of a plot of two bars, its legend included
HIGH = 440  # of a grid of ten rows, its legend and words included
# Computed is compute, read or stored is cache; what is over and done with is grey.
STATES = {
    stored.NEW: COLOURS["compute"],
    stored.AGAIN: "#DDA9C5",  # the same, paler
    stored.READ: COLOURS["cache"],
    stored.KEPT: COLOURS["cache"],
    stored.GONE: COLOURS["overhead"],
    stored.DONE: COLOURS["overhead"],
    stored.UNSEEN: "transparent",
    stored.EMPTY: "transparent",
}


def _axis(title, domain, kind="linear", **axis):
    """Title, scale and axis of a quantity between fixed ends."""
    return {
        "title": title,
        "scale": alt.Scale(type=kind, domain=list(domain), nice=False),
        "axis": alt.Axis(**{"tickCount": 6, "grid": False, **axis}),
    }


def _powers(low, high, most=6):
    """Powers of ten from low to high, at most so many."""
    first, last = (round(math.log10(end)) for end in (low, high))
    step = -(-(last - first) // (most - 1)) or 1
    return [10.0**power for power in range(first, last + 1, step)]


# --- why, stored, proof -------------------------------------------------------------------------


def work(kind, x_ends, y_ends, dark):
    """Multiply-adds over the steps, with a cache in full ink, without one dashed. Data: rows, ends.

    kind: "linear" or "log".
    """
    ticks = {"values": _powers(*x_ends)} if kind == "log" else {"tickMinStep": 1}
    powers = {"values": _powers(*y_ends)} if kind == "log" else {}
    x = alt.X("step:Q", **_axis("Step (token)", x_ends, kind, format="~s", **ticks))
    y = alt.Y("value:Q", **_axis("Multiply-adds", y_ends, kind, format="~s", **powers))
    dashes = alt.condition(f"datum.way == '{operations.WITH}'", alt.value(SOLID), alt.value(DASHED))
    line = on("rows").mark_line(color=INK[dark], strokeWidth=2, clip=True)
    seen = alt.condition("datum.dot", alt.value(1), alt.value(0))
    dots = on("rows").mark_point(filled=True, size=45, color=INK[dark])
    away = alt.expr(f"datum.way == '{operations.WITH}' ? 20 : -12")  # on the line's outer side
    names = on("ends").mark_text(
        align="right", dx=-8, dy=away, color=INK[dark], fontWeight="bold", aria=False
    )
    return (
        line.encode(x=x, y=y, detail="way:N", strokeDash=dashes)
        + dots.encode(x=x, y=y, opacity=seen, tooltip=HOVER)
        + names.encode(x=x, y=y, text="way:N")
    ).properties(height=HEIGHT)


def _cells(x, y, states, height, columns):
    """A grid of cells coloured by their state, a sign in each. Data: rows."""
    colours = [states[state] for state in states]
    base = on("rows").encode(x=x, y=y, tooltip=HOVER)
    shown = [state for state in states if states[state] != "transparent"]
    cells = base.mark_rect(stroke=OUTLINE, strokeWidth=0.6).encode(
        color=alt.Color("state:N", title=None)
        .scale(domain=list(states), range=colours)
        .legend(
            orient="bottom",
            columns=columns,
            values=shown,
            symbolType="square",
            symbolStrokeWidth=0.5,
        )
    )
    signs = base.mark_text(color="#000000", fontWeight="bold", aria=False).encode(text="sign:N")
    return (cells + signs).properties(height=height)


def _only(states, names):
    return {name: states[name] for name in names}


def _place(field, title, words, angle=-35):
    """Positions from 1 along an axis, by their words, which stand at an angle."""
    named = f"{list(words)}[datum.value - 1]"
    return {
        "shorthand": f"{field}:O",
        "title": title,
        "scale": alt.Scale(domain=list(range(1, len(words) + 1)), padding=0.04),
        "axis": alt.Axis(
            labelAngle=angle, labelExpr=named, labelOverlap=False, ticks=False, domain=False
        ),
    }


def vectors(words, dark):
    """Query, key and value of each token, by what became of them. Data: rows."""
    x = alt.X(**_place("position", None, words))
    y = alt.Y("vector:N", title=None, sort=None).axis(ticks=False, domain=False)
    return _cells(x, y, _only(STATES, (stored.GONE, stored.KEPT)), 230, 2)


def grid(words, dark):
    """Queries against keys, by when their score is computed. Data: rows."""
    x = alt.X(**_place("key", "Key of", words))
    y = alt.Y(**_place("query", "Query of", words, angle=0))
    names = (stored.NEW, stored.AGAIN, stored.DONE, stored.UNSEEN, stored.EMPTY)
    return _cells(x, y, _only(STATES, names), HIGH, 3)


def edited(words, layers, dark):
    """Layers against tokens, by what an edit did to their keys and values. Data: rows."""
    x = alt.X(**_place("position", None, words))
    y = alt.Y("layer:O", title="Layer", scale=alt.Scale(domain=list(range(1, layers + 1))))
    y = y.axis(labelAngle=0, ticks=False, domain=False)
    states = {
        past.SAME: COLOURS["cache"],
        past.MOVED: COLOURS["compute"],
        past.NEW: "#DDA9C5",
    }
    return _cells(x, y, states, TALL, 3)


def differences(ends, words, dark):
    """Largest difference at each token on a logarithmic axis, decode filled. Data: rows, bands."""
    y = alt.Y("value:Q", **_axis("Largest difference", ends, "log", **_tens(ends)))
    base = on("rows").encode(x=alt.X(**_place("position", None, words)))
    stems = base.mark_rule(color=MUTED[dark], strokeWidth=2, aria=False)
    dots = base.mark_point(size=110, strokeWidth=2, color=INK[dark], opacity=1)
    names = alt.Scale(domain=[roofline.PREFILL, roofline.DECODE], range=["circle", "square"])
    band = on("bands").encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    shade = band.mark_rect(color=INK[dark], opacity=0.08, aria=False)
    place = {"align": "left", "baseline": "bottom", "dx": 5, "dy": -3, "aria": False}
    words_at = {"x": alt.value(0), "y": alt.Y("low:Q"), "text": "label:N"}
    halo = band.mark_text(stroke=PAPER[dark], strokeWidth=5, **place).encode(**words_at)
    said = band.mark_text(color=INK[dark], **place).encode(**words_at)
    return (
        shade
        + stems.encode(y=y, y2=alt.Y2("low:Q"))
        + dots.encode(
            y=y,
            shape=alt.Shape("phase:N", title=None, scale=names).legend(orient="bottom"),
            tooltip=HOVER,
        )
        + halo
        + said
    ).properties(height=300)


def agreement(end, dark):
    """Scores of the cached run over those of the full pass. Data: rows, diagonal."""
    x = alt.X("full:Q", **_axis("Score in the full pass", (-end, end)))
    y = alt.Y("cached:Q", **_axis("Score in the cached run", (-end, end)))
    equal = on("diagonal").mark_line(color=MUTED[dark], strokeDash=DASHED, clip=True, aria=False)
    dots = on("rows").mark_point(filled=True, size=28, color=INK[dark], opacity=0.7)
    return (
        equal.encode(x=alt.X("at:Q"), y=alt.Y("at:Q")) + dots.encode(x=x, y=y, tooltip=HOVER)
    ).properties(height=300)


def mistakes(ends, dark):
    """Largest difference of every mistake at each precision; the chosen one filled.

    Data: rows, bands.
    """
    x = alt.X("value:Q", **_axis("Largest difference", ends, "log", **_tens(ends)))
    order = ["Done right", *(each.name for each in attention.MISTAKES.values())]
    y = alt.Y("name:N", title=None, sort=order).axis(
        ticks=False, domain=False, grid=True, labelLimit=230
    )
    shape = alt.Scale(
        domain=["16 bits", "32 bits", "64 bits"], range=["triangle-up", "circle", "diamond"]
    )
    broken = on("bands").mark_rect(color=INK[dark], opacity=0.08, aria=False)
    return (
        broken.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
        + on("rows")
        .mark_point(size=110, strokeWidth=2, color=INK[dark], opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("bits:N", title=None, scale=shape).legend(orient="bottom"),
            fill=alt.condition("datum.chosen", alt.value(INK[dark]), alt.value("transparent")),
            tooltip=HOVER,
        )
    ).properties(height=300)


def _tens(ends):
    return {"values": _powers(*ends), "format": "~e"}


# --- phases, cost, managing, speed --------------------------------------------------------------


def roof(ends, dark):
    """What a device can do at each intensity, and where the phases stand. Data: roof, trail, …"""
    wide = (roofline.LOWEST, roofline.HIGHEST)
    x = _axis("FLOPs per byte", wide, "log", values=_powers(*wide), format=",~r")
    y = _axis("Attainable (TFLOP/s)", ends, "log", values=_powers(*ends), format=",~r")
    x, y = alt.X("intensity:Q", **x), alt.Y("attainable:Q", **y)
    roof = on("roof").mark_line(color=INK[dark], strokeWidth=2, clip=True, aria=False)
    ridge = on("ridge").encode(x=alt.X("at:Q"))
    line = ridge.mark_rule(color=MUTED[dark], strokeDash=[2, 3], aria=False)
    name = ridge.mark_text(color=MUTED[dark], align="left", dx=4, aria=False)
    trail = on("trail").mark_point(size=30, color=MUTED[dark], filled=True, clip=True)
    points = on("points").encode(x=x, y=y, tooltip=HOVER)
    dots = points.mark_point(filled=True, size=150, opacity=1, clip=True)
    colours = alt.Scale(
        domain=[roofline.PREFILL, roofline.DECODE], range=[COLOURS["compute"], COLOURS["weights"]]
    )
    text = points.mark_text(dy=18, color=INK[dark], fontWeight="bold", aria=False)
    return (
        roof.encode(x=x, y=y)
        + line
        + name.encode(y=alt.value(8), text="label:N")
        + trail.encode(x=x, y=y, tooltip=HOVER)
        + dots.encode(color=alt.Color("phase:N", scale=colours, legend=None))
        + text.encode(text="label:N")
    ).properties(height=HEIGHT)


def timeline(most, dark):
    """One request in time: prefill, then decode steps joined to bars. Data: rows."""
    colours = alt.Scale(
        domain=[roofline.PREFILL, roofline.DECODE], range=[COLOURS["compute"], COLOURS["weights"]]
    )
    return (
        on("rows")
        .mark_bar(size=34, stroke=PAPER[dark], strokeWidth=0.5)
        .encode(
            x=alt.X("start_s:Q", **_axis("Time since arrival (s)", (0, most))),
            x2=alt.X2("end_s:Q"),
            y=alt.Y("phase:N", title=None, sort=[roofline.PREFILL, roofline.DECODE]).axis(
                ticks=False, domain=False
            ),
            color=alt.Color("phase:N", scale=colours, legend=None),
            tooltip=HOVER,
        )
        .properties(height=LOW)
    )


def levers(most, dark):
    """Cache bytes to scale, a bar a lever, the value beside it. Data: rows."""
    x = alt.X("gigabytes:Q", **_axis("Cache of all requests (GB)", (0, most), format=",~r"))
    y = alt.Y("lever:N", title=None, sort=None).axis(ticks=False, domain=False, labelLimit=170)
    base = on("rows").encode(x=x, y=y, tooltip=HOVER)
    bars = base.mark_bar(color=COLOURS["cache"], size=18)
    inside = f"datum.gigabytes > {0.75 * most}"
    text = base.mark_text(color=INK[dark], fontWeight="bold", aria=False).encode(
        text="label:N", color=alt.condition(inside, alt.value("#000000"), alt.value(INK[dark]))
    )
    left = text.mark_text(align="left", dx=5, fontWeight="bold", aria=False)
    right = text.mark_text(align="right", dx=-5, fontWeight="bold", aria=False)
    return (
        bars + left.transform_filter(f"!({inside})") + right.transform_filter(inside)
    ).properties(height=HEIGHT)


def history(last, dark):
    """What of the memory is held over time, and whether it is filled. Data: rows, now."""
    parts = {
        "leaked": COLOURS["overhead"],
        "filled": COLOURS["cache"],
        "held and empty": "transparent",
    }
    areas = (
        on("rows")
        .mark_area(interpolate="step-after", stroke=OUTLINE, strokeWidth=1)
        .encode(
            x=alt.X("tick:Q", **_axis("Time (ticks)", (0, last))),
            y=alt.Y("start:Q", **_axis("Memory (%)", (0, 100))),
            y2=alt.Y2("end:Q"),
            color=alt.Color("part:N", title=None)
            .scale(domain=list(parts), range=list(parts.values()))
            .legend(orient="bottom", columns=3, symbolType="square", symbolStrokeColor=OUTLINE,
                    symbolStrokeWidth=1),
            tooltip=HOVER,
        )
    )  # fmt: skip
    now = on("now").mark_rule(color=INK[dark], strokeWidth=2, aria=False)
    return (areas + now.encode(x=alt.X("tick:Q"))).properties(height=HEIGHT)


def speeds(most, dark):
    """Tokens a second over the context, MHA and GQA, and a reader. Data: rows, points, …"""
    x = marks.context_axis("context_tokens:Q", longest=131_072)
    y = alt.Y("tokens_per_s:Q", **_axis("Tokens per second", (0, most), grid=True))
    dash = alt.condition("datum.attention == 'MHA'", alt.value(SOLID), alt.value(DASHED))
    line = on("rows").mark_line(color=INK[dark], strokeWidth=2, clip=True, aria=False)
    away = alt.expr("datum.attention == 'MHA' ? 14 : -12")  # each on its line's outer side
    names = on("ends").mark_text(dy=away, color=INK[dark], aria=False)
    reader = on("reading").encode(y=alt.Y("at:Q"))
    rule = reader.mark_rule(color=MUTED[dark], strokeDash=[2, 3], aria=False)
    said = reader.mark_text(align="left", dx=4, dy=-7, color=MUTED[dark], aria=False)
    points = on("points").encode(x=x, y=y, tooltip=HOVER)
    dots = points.mark_point(filled=True, size=110, color=INK[dark], opacity=1, clip=True)
    text = points.mark_text(
        dy=away, dx=-4, align="right", color=INK[dark], fontWeight="bold", aria=False
    )
    hover = on("rows").mark_point(size=100, opacity=0, clip=True, aria=False)
    return (
        line.encode(x=x, y=y, detail="attention:N", strokeDash=dash)
        + names.encode(x=x, y=y, text="attention:N")
        + rule
        + said.encode(x=alt.value(0), text="label:N")
        + hover.encode(x=x, y=y, tooltip=HOVER)
        + dots
        + text.encode(text="label:N")
    ).properties(height=HEIGHT)
