"""The charts of a simulation in Altair."""

import altair as alt

from planner.charts.marks import HOVER, hover, on, words
from planner.charts.style import COLOURS, DASHED, HEIGHT, INK, OUTLINE, SOLID

WAITING, RUNNING = "waiting", "running"
SHOWN = ("spread", "queue", "blocks")


def spread(wide, dark):
    """The part of the requests that have their first token by a time; the closed form's percentile
    as a bar from end to end of its band; the promise as a rule.

    Data: rows, closed, promise, words.
    """
    x = (
        alt.X("ttft:Q", title="Time to first token (s)")
        .scale(domain=[0, wide], nice=False)
        .axis(tickCount=5, grid=False)
    )
    y = (
        alt.Y("part:Q", title="Requests served by then (%)")
        .scale(domain=[0, 100], nice=False)
        .axis(tickCount=5)
    )
    line = on("rows").mark_line(color=COLOURS["weights"], strokeWidth=2, clip=True).encode(x=x, y=y)
    at, up = alt.X("ttft:Q"), alt.Y("part:Q")
    closed = (
        on("closed")
        .mark_rule(color=OUTLINE, strokeWidth=7, opacity=0.6, clip=True, aria=False)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=up)
    )
    promise = on("promise").mark_rule(color=COLOURS["does not fit"], aria=False).encode(x=at)
    layers = [closed, line, hover(at, up), promise]
    return alt.layer(*layers, *words(at, up, dark)).properties(height=HEIGHT)


def _time(wide):
    return (
        alt.X("time:Q", title="Time (s)")
        .scale(domain=[0, wide], nice=False)
        .axis(tickCount=5, grid=False)
    )


def queue(wide, top, dark):
    """Requests that run and that wait, over time. Data: rows, words."""
    y = alt.Y("requests:Q", title="Requests").scale(domain=[0, top], nice=False).axis(tickCount=5)
    at, up = alt.X("time:Q"), alt.Y("requests:Q")
    line = (
        on("rows")
        .mark_line(color=INK[dark], strokeWidth=1.6, clip=True)
        .encode(
            _time(wide),
            y,
            alt.StrokeDash("line:N", legend=None).scale(
                domain=[RUNNING, WAITING], range=[SOLID, DASHED]
            ),
        )
    )
    return alt.layer(line, hover(at, up), *words(at, up, dark)).properties(height=HEIGHT)


def blocks(wide, dark):
    """The part of the pool's blocks that is held, over time. Data: rows."""
    y = (
        alt.Y("held:Q", title="Blocks held (% of the pool)")
        .scale(domain=[0, 100], nice=False)
        .axis(tickCount=5)
    )
    area = (
        on("rows")
        .mark_area(color=COLOURS["cache"], opacity=0.75, clip=True)
        .encode(_time(wide), y, tooltip=HOVER)
    )
    return alt.layer(area).properties(height=HEIGHT)
