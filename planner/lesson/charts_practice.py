"""The charts of the pages to practise on, each of its picture's bounds and whether it is dark."""

import altair as alt

from planner.charts import marks
from planner.charts.marks import HOVER, on
from planner.charts.style import DASHED, HEIGHT, INK, MUTED


def fitted(most, dark):
    """What one device holds, a bar of parts, and where its memory ends. Data: rows, limit."""
    x = alt.X("start:Q", title="Memory (GB)").scale(domain=[0, most], nice=False)
    bars = on("rows").mark_rect(clip=True).encode(y=alt.value(30), y2=alt.value(80))
    limit = on("limit").encode(x=alt.X("at:Q"))
    rule = limit.mark_rule(color=INK[dark], strokeWidth=2, aria=False)
    words = limit.mark_text(
        color=INK[dark], align="right", baseline="top", dx=-5, fontWeight="bold", aria=False
    )
    return (
        bars.encode(
            x=x.axis(tickCount=6, grid=False),
            x2=alt.X2("end:Q"),
            color=marks.part_colours(("weights", "cache"), orient="bottom"),
            tooltip=HOVER,
        )
        + rule
        + words.encode(y=alt.value(8), text="label:N")
    ).properties(height=170)


def curve(title, ends, longest, dark):
    """Something over the batch: predicted a line, measured dots, dashed as if it were free.

    Logarithmic upwards where it does not begin at 0. Data: rows, points, dots, free.
    """
    batches = [2**power for power in range(longest.bit_length())]
    x = (
        alt.X("batch:Q", title="Batch (requests)")
        .scale(type="log", base=2, domain=[1, longest], nice=False)
        .axis(values=batches, grid=False)
    )
    y = alt.Y("value:Q", title=title)
    kind = "log" if ends[0] else "linear"
    y = y.scale(type=kind, domain=list(ends), nice=False).axis(tickCount=6, format="~s")
    line = on("rows").mark_line(color=INK[dark], strokeWidth=2, clip=True, aria=False)
    free = on("free").mark_line(color=MUTED[dark], strokeDash=DASHED, clip=True, aria=False)
    measured = on("dots").mark_point(
        size=90, strokeWidth=2, color=MUTED[dark], opacity=1, aria=False
    )
    return (
        free.encode(x=x, y=y)
        + line.encode(x=x, y=y)
        + marks.points(x, y, dark)
        + measured.encode(x=x, y=y, tooltip=HOVER)
    ).properties(height=HEIGHT)
