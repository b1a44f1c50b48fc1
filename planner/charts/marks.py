"""What the charts of all pages share in Altair: axes, words on a halo, points, parts in colour.

In a chart of several layers one has the axes; the others name their fields, and share its scales.
"""

import altair as alt

from planner.charts.style import COLOURS, DASHES, INK, PAPER, tones

HALO = {"strokeWidth": 4, "strokeJoin": "round", "strokeOpacity": 0.7}  # of words
HOVER = [alt.Tooltip("sentence:N", title=" ")]  # what shows under the pointer: the row in words
SAID = alt.Description("sentence:N")  # what a mark is called where it is read aloud
CONTEXT_TICKS = [2**power for power in (7, 9, 11, 13, 15, 17, 20)]
CONCURRENCY_TICKS = [1, 4, 16, 64, 256, 1024, 4096]
TOKENS = (
    "datum.value >= 1048576 ? datum.value / 1048576 + 'M'"
    " : datum.value >= 1024 ? datum.value / 1024 + 'k' : datum.value"
)


def on(name: str) -> alt.Chart:
    """A chart on the data set of that name."""
    return alt.Chart(alt.NamedData(name))


def end(most: float) -> alt.Parameter:
    """Where an axis from zero ends, as a parameter that can be moved without a new chart."""
    return alt.param(name="most", value=most)


def context_axis(field: str, longest: int = CONTEXT_TICKS[-1]) -> alt.X:
    """The context on a logarithmic axis up to `longest`."""
    ticks = [each for each in CONTEXT_TICKS if each <= longest]
    return (
        alt.X(field, title="Context (tokens)")
        .scale(type="log", base=2, domain=[ticks[0], longest], nice=False)
        .axis(values=ticks, labelExpr=TOKENS, grid=False)
    )


def concurrency_axis(channel) -> alt.X | alt.Y:
    """The concurrency on a logarithmic axis, across or up."""
    return (
        channel("concurrency:Q", title="Concurrency (requests)")
        .scale(type="log", base=2, domain=[1, CONCURRENCY_TICKS[-1]], nice=False)
        .axis(values=CONCURRENCY_TICKS, grid=False)
    )


def part_colours(parts, **legend) -> alt.Color:
    """The colour of each part, by what it means."""
    colour = alt.Color("part:N", title=None)
    colour = colour.scale(domain=list(parts), range=[COLOURS[each] for each in parts])
    return colour.legend(**legend) if legend else colour.legend(None)


def lines(x, y, dark: bool, **more) -> alt.Chart:
    """A line a plan, told apart by tone and dash. Data: rows, with their `variant` and `ink`."""
    inks = list(range(len(DASHES)))
    drawn = on("rows").mark_line(color=INK[dark], strokeWidth=2, clip=True)
    return drawn.encode(
        x,
        y,
        alt.Detail("variant:N"),
        alt.Stroke("ink:N", legend=None).scale(domain=inks, range=tones(dark)),
        alt.StrokeDash("ink:N", legend=None).scale(domain=inks, range=DASHES),
        **more,
    )


def words(x, y, dark: bool) -> list[alt.Chart]:
    """The words on a plot where `charts.labels` has placed them, on their halo. Data: words."""
    style = {name: alt.expr(f"datum.{name}") for name in ("align", "dx", "dy", "fontWeight")}
    style |= {"baseline": "middle", "aria": False}
    base = on("words").encode(x, y, alt.Text("label:N"))
    return [
        base.mark_text(**HALO, stroke=PAPER[dark], **style),
        base.mark_text(color=INK[dark], **style),
    ]


def points(x, y, dark: bool) -> alt.Chart:
    """The present state: filled dots, in words for who hears the page. Data: points."""
    dots = on("points").mark_point(filled=True, size=110, color=INK[dark], opacity=1)
    return dots.encode(x, y, SAID, tooltip=HOVER)


def hover(x, y) -> alt.Chart:
    """What is under the pointer anywhere on a line, unseen. Data: rows."""
    unseen = on("rows").mark_point(size=120, opacity=0, clip=True, aria=False)
    return unseen.encode(x, y, tooltip=HOVER)
