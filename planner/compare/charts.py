"""The charts of a comparison: frames -> Altair, like `planner.charts`, all variants overlaid.

Variants are told apart by the tone and the dash of their ink, never by a colour, and their letter
stands at their line. Bounds and frames are those of `planner.comparison_drawings`.
"""

import altair as alt

from planner.charts import charts
from planner.charts.charts import COLOURS, HEIGHT, HOVER, INK, MUTED, OUTLINE, chart_on

LETTERS = ["A", "B", "C", "D"]
DASHES = [[1, 0], [7, 4], [10, 3, 2, 3], [2, 3]]
PARTS = ["weights", "overhead", "cache", "free", "does not fit"]


def overlaid_memory(most, unit, dark):
    """A bar a variant, and a mark on each where its memory ends. Data: rows, limits."""
    # No limit: words are cut by the data, which know what must not be cut off.
    y = alt.Y("bar:N", title=None, sort=None).axis(ticks=False, domain=False, labelLimit=0)
    bars = (
        chart_on("rows")
        .mark_bar(size=18, strokeWidth=1, stroke=OUTLINE)
        .encode(
            x=charts.bar_start(most, f"Memory ({unit})"),
            x2=alt.X2("end:Q"),
            y=y,
            color=charts.part_colours(PARTS, columns=3),
            tooltip=HOVER,
        )
    )
    ends = chart_on("limits").encode(y=y)
    tick = ends.mark_tick(color=INK[dark], thickness=2, size=28, aria=False)
    words = ends.mark_text(color=INK[dark], align="left", dx=6, aria=False)
    return (
        bars + tick.encode(x=alt.X("at:Q")) + words.encode(x=alt.X("beside:Q"), text="label:N")
    ).properties(height=HEIGHT)


def overlaid_latency(most, unit, dark):
    """Time per token over context, a line a variant; a cross where its memory is full.

    Data: rows, points, values, ends, full, speeds.
    """
    x, y = charts.context_axis(), charts.token_time_axis(most, unit)
    tones = [INK[dark], INK[dark], MUTED[dark], MUTED[dark]]
    rows = chart_on("rows").encode(x=x, y=y)
    lines = rows.mark_line(strokeWidth=2, clip=True).encode(
        detail="variant:N",
        stroke=alt.Stroke("letter:N", legend=None).scale(domain=LETTERS, range=tones),
        strokeDash=alt.StrokeDash("letter:N", legend=None).scale(domain=LETTERS, range=DASHES),
    )
    hover = rows.mark_point(size=120, opacity=0, clip=True, aria=False)
    speeds = chart_on("speeds").encode(y=alt.Y("step:Q"))
    speed = speeds.mark_rule(color=MUTED[dark], strokeDash=[2, 5], clip=True, aria=False)
    named = speeds.mark_text(color=MUTED[dark], align="left", dx=4, dy=-6, fontSize=10, aria=False)
    full = chart_on("full").mark_point(
        shape="cross", angle=45, size=110, filled=True, opacity=1, color=COLOURS["does not fit"]
    )
    points = chart_on("points").mark_point(filled=True, size=90, color=INK[dark], opacity=1)
    return (
        speed
        + named.encode(x=alt.value(0), text="label:N")
        + lines
        + hover.encode(tooltip=HOVER)
        + full.encode(x=x, y=y, tooltip=HOVER)
        + points.encode(x=x, y=y, tooltip=HOVER)
        + _words("values", x, y, dark, fontWeight="bold")
        + _words("ends", x, y, dark, fontSize=13)
    ).properties(height=HEIGHT)


def _words(name, x, y, dark, **style):
    """Words where their data say, on their halo."""
    halo, label = charts.haloed(name, "label:N", dark, charts.LIFT, **style)
    return halo.encode(x=x, y=y) + label.encode(x=x, y=y)
