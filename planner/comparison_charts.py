"""The charts of a comparison: frames -> Altair, like `planner.charts`, all variants overlaid.

Variants are told apart by the tone and the dash of their ink, never by a colour, and their letter
stands at their line. Bounds and frames are those of the drawings in `planner.differences`.
"""

import altair as alt

from planner.charts import (
    COLOURS,
    CONTEXT_TICKS,
    HALO,
    HEIGHT,
    INK,
    MUTED,
    OUTLINE,
    PAPER,
    SIDE,
    TOKENS,
)

LETTERS = ["A", "B", "C", "D"]
DASHES = [[1, 0], [7, 4], [10, 3, 2, 3], [2, 3]]
PARTS = ["weights", "overhead", "cache", "free", "does not fit"]


def _named(name):
    return alt.Chart(alt.NamedData(name))


def _hover():
    return alt.Tooltip("sentence:N", title=" ")


def overlaid_memory(most, unit, dark):
    """A bar a variant, and a mark on each where its memory ends. Data: rows, limits."""
    # No limit: words are cut by the data, which know what must not be cut off.
    y = alt.Y("bar:N", title=None, sort=None).axis(ticks=False, domain=False, labelLimit=0)
    bars = (
        _named("rows")
        .mark_bar(size=18, strokeWidth=1, stroke=OUTLINE)
        .encode(
            x=alt.X("start:Q", title=f"Memory ({unit})")
            .scale(domain=[0, most], nice=False)
            .axis(tickCount=6, format=",~r"),
            x2=alt.X2("end:Q"),
            y=y,
            color=alt.Color("part:N", title=None)
            .scale(domain=PARTS, range=[COLOURS[part] for part in PARTS])
            .legend(
                orient="bottom",
                columns=3,
                symbolStrokeWidth=0,
                symbolSize=70,
                columnPadding=6,
                labelFontSize=11,
                values=[part for part in PARTS if part != "free"],
            ),
            tooltip=[_hover()],
        )
    )
    ends = _named("limits").encode(y=y)
    tick = ends.mark_tick(color=INK[dark], thickness=2, size=28, aria=False)
    words = ends.mark_text(color=INK[dark], align="left", dx=6, aria=False)
    return (
        bars + tick.encode(x=alt.X("at:Q")) + words.encode(x=alt.X("beside:Q"), text="label:N")
    ).properties(height=HEIGHT)


def overlaid_latency(most, unit, dark):
    """Time per token over context, a line a variant; a cross where its memory is full.

    Data: rows, points, values, ends, full, speeds.
    """
    x = (
        alt.X("context:Q", title="Context (tokens)")
        .scale(type="log", base=2, domain=[128, 2**20], nice=False)
        .axis(values=CONTEXT_TICKS, labelExpr=TOKENS, grid=False)
    )
    y = (
        alt.Y("step:Q", title=f"Time per token ({unit})")
        .scale(domain=[0, most], nice=False)
        .axis(tickCount=6)
    )
    tones = [INK[dark], INK[dark], MUTED[dark], MUTED[dark]]
    rows = _named("rows").encode(x=x, y=y)
    lines = rows.mark_line(strokeWidth=2, clip=True).encode(
        detail="variant:N",
        stroke=alt.Stroke("letter:N", legend=None).scale(domain=LETTERS, range=tones),
        strokeDash=alt.StrokeDash("letter:N", legend=None).scale(domain=LETTERS, range=DASHES),
    )
    hover = rows.mark_point(size=120, opacity=0, clip=True, aria=False)
    speeds = _named("speeds").encode(y=alt.Y("step:Q"))
    speed = speeds.mark_rule(color=MUTED[dark], strokeDash=[2, 5], clip=True, aria=False)
    named = speeds.mark_text(color=MUTED[dark], align="left", dx=4, dy=-6, fontSize=10, aria=False)
    full = _named("full").mark_point(
        shape="cross", angle=45, size=110, filled=True, opacity=1, color=COLOURS["does not fit"]
    )
    points = _named("points").mark_point(filled=True, size=90, color=INK[dark], opacity=1)
    return (
        speed
        + named.encode(x=alt.value(0), text="label:N")
        + lines
        + hover.encode(tooltip=[_hover()])
        + full.encode(x=x, y=y, tooltip=[_hover()])
        + points.encode(x=x, y=y, tooltip=[_hover()])
        + _words("values", x, y, dark, fontWeight="bold")
        + _words("ends", x, y, dark, fontSize=13)
    ).properties(height=HEIGHT)


def _words(name, x, y, dark, **style):
    """Words beside their place, where their data says, with a halo to stay readable."""
    side = {key: alt.expr(f"datum.{of}") for key, of in SIDE.items()}
    base = _named(name).encode(x=x, y=y, text="label:N")
    halo = base.mark_text(**HALO, stroke=PAPER[dark], **side, **style)
    return halo + base.mark_text(color=INK[dark], aria=False, **side, **style)
