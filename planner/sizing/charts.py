"""The charts of the Size page in Altair."""

import altair as alt

from planner.charts.marks import HOVER, SAID, hover, on, words
from planner.charts.style import COLOURS, DASHED, HEIGHT, INK, MUTED, OUTLINE, SOLID

DOT, BEST, RING = 70, 150, 45
BAR = 24  # height of a bar with its gap


def percentile(value: float) -> str:
    """A percentile's name: 95th percentile, 99.9th percentile."""
    last = f"{value:g}"[-1] if value == int(value) and value not in (11, 12, 13) else ""
    return f"{value:g}{ {'1': 'st', '2': 'nd', '3': 'rd'}.get(last, 'th') } percentile"


def front(across, up, dark):
    """The front as a line, deployments as dots, rings where the price is out of date, the promise
    as a shaded part.

    Data: rows, points, promise, words.
    """
    x = (
        alt.X("speed:Q", title="Speed per user (tokens/s)")
        .scale(domain=[0, across], nice=False)
        .axis(tickCount=5, grid=False)
    )
    y = (
        alt.Y("tokens:Q", title="Tokens/s per device")
        .scale(domain=[0, up], nice=False)
        .axis(tickCount=5)
    )
    kept = (
        on("promise")
        .mark_rect(color=COLOURS["fits"], opacity=0.08, aria=False)
        .encode(x=x, x2=alt.X2("end:Q"))
    )
    edge = (
        on("promise")
        .mark_rule(color=COLOURS["fits"], strokeDash=[4, 3], aria=False)
        .encode(x=alt.X("speed:Q"))
    )
    line = on("rows").mark_line(color=MUTED[dark], strokeWidth=1.6).encode(x=x, y=y)
    dots = (
        on("points")
        .mark_point(filled=True, strokeWidth=1.5, opacity=1)
        .encode(
            alt.X("speed:Q"),
            alt.Y("tokens:Q"),
            alt.Stroke("best:N", legend=None).scale(
                domain=[True, False], range=[COLOURS["fits"], OUTLINE]
            ),
            alt.Fill("best:N", legend=None).scale(
                domain=[True, False], range=[COLOURS["fits"], OUTLINE]
            ),
            alt.FillOpacity("stale:N", legend=None).scale(domain=[True, False], range=[0, 1]),
            alt.Size("best:O", legend=None).scale(domain=[True, False], range=[BEST, DOT]),
            SAID,
            tooltip=HOVER,
        )
    )
    layers = [kept, edge, line, hover(alt.X("speed:Q"), alt.Y("tokens:Q")), dots]
    return alt.layer(*layers, *words(alt.X("speed:Q"), alt.Y("tokens:Q"), dark)).properties(
        height=HEIGHT
    )


def tipping(wide, top, tail, dark):
    """Mean and percentile over the load, with the percentile's band; load and promise as rules,
    measured means as rings.

    Data: rows, band, load, promise, measured, words.
    """
    x = (
        alt.X("rate:Q", title="Requests per second")
        .scale(domain=[0, wide], nice=False)
        .axis(tickCount=5, grid=False)
    )
    y = (
        alt.Y("ttft:Q", title="Time to first token (s)")
        .scale(domain=[0, top], nice=False)
        .axis(tickCount=5)
    )
    band = (
        on("band")
        .mark_area(color=OUTLINE, opacity=0.22, clip=True, aria=False)
        .encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    )
    line = (
        on("rows")
        .mark_line(color=COLOURS["link" if dark else "weights"], strokeWidth=2, clip=True)
        .encode(
            x,
            y,
            alt.StrokeDash("line:N", legend=None).scale(
                domain=["mean", tail], range=[SOLID, DASHED]
            ),
        )
    )
    load = on("load").mark_rule(color=INK[dark], aria=False).encode(x=alt.X("rate:Q"))
    promise = (
        on("promise").mark_rule(color=COLOURS["does not fit"], aria=False).encode(y=alt.Y("ttft:Q"))
    )
    rings = (
        on("measured")
        .mark_point(size=RING, strokeWidth=1.5, color=COLOURS["fits"], opacity=1, clip=True)
        .encode(alt.X("rate:Q"), alt.Y("ttft:Q"), SAID, tooltip=HOVER)
    )
    layers = [band, line, hover(alt.X("rate:Q"), alt.Y("ttft:Q")), load, promise, rings]
    return alt.layer(*layers, *words(alt.X("rate:Q"), alt.Y("ttft:Q"), dark)).properties(
        height=HEIGHT
    )


def tornado(low, high, count, dark):
    """A bar for each change, left or right of today's rate, on a logarithmic axis of factors.

    Data: rows.
    """
    ticks = [2.0**power for power in range(-3, 5) if low <= 2.0**power <= high]
    x = (
        alt.X("factor:Q", title="Highest rate, times today's")
        .scale(type="log", base=2, domain=[low, high], nice=False)
        .axis(values=ticks, labelExpr="'×' + datum.value")
    )
    y = alt.Y("label:N", title=None, sort=None).axis(
        ticks=False, domain=False, labelLimit=220, labelOverlap=False
    )
    bars = (
        on("rows")
        .mark_bar(size=14, clip=True)
        .encode(
            x,
            y,
            alt.X2("today:Q"),
            alt.Color("better:N", legend=None).scale(
                domain=[True, False], range=[COLOURS["fits"], COLOURS["does not fit"]]
            ),
            SAID,
            tooltip=HOVER,
        )
    )
    today = on("rows").mark_rule(color=INK[dark], aria=False).encode(x=alt.X("today:Q"))
    return alt.layer(bars, today).properties(height=40 + BAR * count)
