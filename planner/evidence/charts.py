"""Charts of the Accuracy page, made as those of `planner.charts`: once for axes, then fed data."""

import altair as alt

from planner.charts.charts import HOVER, INK, MUTED, OUTLINE, chart_on
from planner.evidence.times import IN_SAMPLE, LEFT_OUT, NEVER

BASES = [LEFT_OUT, IN_SAMPLE, NEVER]
SIDE = 420  # height of the scatter with its legend: about square in half a page
BAR = 24


def _scatter(low, high, unit, dark, name):
    def axis(field, title):
        return (
            alt.X(field, title=title) if title.startswith("Measured") else alt.Y(field, title=title)
        ).scale(type="log", domain=[low, high], nice=False)

    x = axis("measured:Q", f"Measured ({unit})").axis(tickCount=5, format="~g", grid=False)
    y = axis("predicted:Q", f"{name} ({unit})").axis(tickCount=5, format="~g", grid=False)
    at = alt.X("at:Q").scale(type="log", domain=[low, high], nice=False)
    band = (
        chart_on("band")
        .mark_area(color=OUTLINE, opacity=0.22, aria=False)
        .encode(x=at, y=alt.Y("least:Q"), y2=alt.Y2("most:Q"))
    )
    line = (
        chart_on("line")
        .mark_line(color=MUTED[dark], strokeDash=[5, 4], aria=False)
        .encode(x=at, y=alt.Y("at:Q"))
    )
    points = (
        chart_on("rows")
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


def predicted(low, high, unit, dark):
    """The calibrated model over the measured value, with its band. Data: rows, line, band."""
    return _scatter(low, high, unit, dark, "Predicted")


def ideal(low, high, unit, dark):
    """The lesson's formula over the measured value, on the same axes. Data: rows, line, band."""
    return _scatter(low, high, unit, dark, "Ideal formula")


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
    rows = chart_on("rows")
    bar = rows.mark_bar(size=10, color=OUTLINE).encode(x=x, y=y, tooltip=HOVER)
    reach = rows.mark_rule(color=INK[dark], strokeWidth=1.5, clip=True, aria=False).encode(
        x=alt.X("median:Q"), x2=alt.X2("p90:Q"), y=y, tooltip=HOVER
    )
    ring = rows.mark_point(size=46, color=INK[dark], strokeWidth=1.5, clip=True, aria=False).encode(
        x=alt.X("ideal_median:Q"), y=y, tooltip=HOVER
    )
    return (bar + reach + ring).properties(height=80 + BAR * count)
