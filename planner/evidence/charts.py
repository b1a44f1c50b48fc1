"""The charts of the Accuracy page in Altair."""

import altair as alt

from planner.charts.marks import HOVER, on
from planner.charts.style import INK, MUTED, OUTLINE
from planner.evidence.times import IN_SAMPLE, LEFT_OUT, NEVER

BASES = [LEFT_OUT, IN_SAMPLE, NEVER]
SIDE = 420  # height of the scatter with its legend: about square in half a page
BAR = 24


def scatter(low, high, unit, name, dark):
    """What is predicted, under its name, over what was measured, with its band.

    Data: rows, line, band.
    """
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(tickCount=5, format="~g", grid=False)
    x = alt.X("measured:Q", title=f"Measured ({unit})", scale=scale, axis=axis)
    y = alt.Y("predicted:Q", title=f"{name} ({unit})", scale=scale, axis=axis)
    at = alt.X("at:Q", scale=scale)
    band = (
        on("band")
        .mark_area(color=OUTLINE, opacity=0.22, aria=False)
        .encode(x=at, y=alt.Y("least:Q"), y2=alt.Y2("most:Q"))
    )
    line = (
        on("line")
        .mark_line(color=MUTED[dark], strokeDash=[5, 4], aria=False)
        .encode(x=at, y=alt.Y("at:Q"))
    )
    points = (
        on("rows")
        .mark_point(size=22, opacity=0.5, strokeWidth=1.1, color=INK[dark], clip=True)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("basis:N", title=None)
            .scale(domain=BASES, range=["circle", "square", "triangle-up"])
            .legend(orient="bottom", symbolSize=60, columnPadding=8, labelFontSize=11),
            tooltip=HOVER,
        )
    )
    return (band + line + points).properties(height=SIDE)


def bars(most, count, dark):
    """Median error of each group: a bar, a whisker to the 90th percentile, a ring for the ideal."""
    x = (
        alt.X("median:Q", title="Median error; line to 90 %; ring: ideal formula")
        .scale(domain=[0, most], nice=False)
        .axis(format="~%", tickCount=6, titleAnchor="end")  # to the left, where there is room
    )
    y = alt.Y("label:N", title=None, sort=None).axis(
        ticks=False, domain=False, labelLimit=190, labelOverlap=False
    )
    rows = on("rows")
    bar = rows.mark_bar(size=10, color=OUTLINE).encode(x=x, y=y, tooltip=HOVER)
    reach = rows.mark_rule(color=INK[dark], strokeWidth=1.5, clip=True, aria=False).encode(
        x=alt.X("median:Q"), x2=alt.X2("p90:Q"), y=y, tooltip=HOVER
    )
    ring = rows.mark_point(size=46, color=INK[dark], strokeWidth=1.5, clip=True, aria=False).encode(
        x=alt.X("ideal_median:Q"), y=y, tooltip=HOVER
    )
    return (bar + reach + ring).properties(height=80 + BAR * count)
