"""What the number of requests changes: where a load fits, and which experts a step reads."""

from dataclasses import replace

import altair as alt
import numpy as np

from planner import describe
from planner.charts import marks
from planner.charts.axes import CONCURRENCIES, LONGEST, MOST, SHORTEST, along, ceiling, up
from planner.charts.labelled import Labelled
from planner.charts.labels import LEFT_BELOW, RIGHT_ABOVE, Labels
from planner.charts.picture import Picture, by_column, stacked
from planner.charts.style import COLOURS, HEIGHT
from planner.plan import plan
from planner.serving import Evaluation
from planner.units import GB

FITS = {True: "fits", False: "does not fit"}


def fit(shown: list[Labelled], own: Labelled) -> Picture:
    """The longest context that fits at each concurrency, a line a plan.

    The areas and the present point are those of `own`, which has the first ink.
    """
    counts = np.union1d(CONCURRENCIES, own.scenario.concurrency)
    rows = []
    for each in shown:
        most = each.longest_at(counts)
        named = {"variant": [each.label] * len(counts), "ink": [each.ink] * len(counts)}
        rows.append({**named, "concurrency": counts, **frontier(most)})
    evaluation, load = own.evaluation, (own.scenario.context, own.scenario.concurrency)
    verdict = FITS[bool(evaluation.fits)]
    frontiers = {each: row["context"] for each, row in zip(shown, rows, strict=True)}
    words = Labels(along, up, [(line, counts) for line in frontiers.values()], [load])
    least, greatest = rows[shown.index(own)]["longest"][[0, -1]]
    words.write(verdict, [load], weight="bold")
    words.write(FITS[least >= SHORTEST], [(SHORTEST, 1)], RIGHT_ABOVE, optional=True)
    words.write(FITS[greatest >= LONGEST], [(LONGEST, MOST)], LEFT_BELOW, optional=True)
    for each, line in frontiers.items():
        words.name(each.line or each.label, line[::-1], counts[::-1])  # from the fewest requests
    sentence = f"{describe.requests(load[1])} of {load[0]:,} tokens: {verdict}"
    return Picture(
        "fit",
        "Where it fits",
        fit_chart,
        (),
        {
            "rows": stacked(rows),
            "points": by_column([load], "context", "concurrency"),
            "words": words.columns("context", "concurrency"),
        },
        {
            "variant": "variant",
            "concurrency": "concurrency (requests)",
            "longest": "max context (tokens)",
        },
        f"Where a load fits, by concurrency and context. {sentence}; up to "
        f"{describe.whole(evaluation.max_concurrency)} requests of this context, or "
        f"{describe.whole(own.longest)} tokens at this concurrency.",
        {"rows": lambda: [text for row in rows for text in _sentences(row)], "points": [sentence]},
    )


def _sentences(row):
    """What a line says under the pointer, at each of its concurrencies."""
    columns = row["variant"], row["concurrency"].tolist(), row["longest"].tolist()
    return [
        f"{label}: {describe.requests(count)} of up to {describe.whole(tokens)} tokens fit"
        for label, count, tokens in zip(*columns, strict=True)
    ]


def frontier(longest: np.ndarray) -> dict[str, np.ndarray]:
    """The longest contexts that fit as a line, where it is on the map, and as the areas' edge."""
    on_map = (longest >= SHORTEST) & (longest <= LONGEST)
    return {
        "longest": longest,
        "context": np.where(on_map, longest, np.nan),
        "edge": longest.clip(SHORTEST, LONGEST),
    }


def fit_chart(dark):
    """Concurrency over context, and the frontier of each plan. Data: rows, points, words."""
    x, y = alt.X("context:Q"), alt.Y("concurrency:Q")
    own = marks.on("rows").transform_filter("datum.ink == 0")
    edge, areas = alt.X("edge:Q"), []
    for part, end, opacity in (("fits", SHORTEST, 0.25), ("does not fit", LONGEST, 0.2)):
        area = own.mark_area(color=COLOURS[part], opacity=opacity, aria=False, orient="horizontal")
        areas.append(area.encode(edge, y, alt.X2Datum(end)))
    axes = marks.context_axis("context:Q"), marks.concurrency_axis(alt.Y)
    order = alt.Order("concurrency:Q")
    return alt.layer(
        *areas,
        marks.lines(*axes, dark, order=order, tooltip=marks.HOVER),
        marks.points(x, y, dark),
        *marks.words(x, y, dark),
    ).properties(height=HEIGHT)


def experts(evaluation: Evaluation) -> Picture:
    """What a step reads of a mixture of experts over the concurrency, in GB, on all devices."""
    scenario = replace(evaluation.plan.scenario, tp=1, pp=1, dp=1, ep=1, dcp=1)
    counts = np.union1d(CONCURRENCIES, scenario.concurrency)
    swept = plan(scenario, concurrency=counts)
    read = swept.weights_read_bytes / GB
    sentences = [
        f"{describe.requests(count)} read {describe.data(size)}, "
        f"{describe.significant(100 * share)} % of the experts"
        for count, size, share in zip(
            counts, swept.weights_read_bytes, swept.experts_read, strict=True
        )
    ]
    now = int(np.searchsorted(counts, scenario.concurrency))
    most = ceiling(swept.weights_bytes / GB)
    here = (counts[now], read[now])
    words = Labels(up, lambda size: size / most, [(counts, read)], [here])
    words.write(describe.data(read[now] * GB), [here], weight="bold")
    return Picture(
        "experts",
        "Experts read in a step",
        experts_chart,
        (most,),
        {
            "rows": {"concurrency": counts, "read": read},
            "points": by_column([here], "concurrency", "read"),
            "words": words.columns("concurrency", "read"),
        },
        {"concurrency": "concurrency (requests)", "read": "weights read in a step (GB)"},
        f"Weights that a step reads, over the concurrency. {sentences[now]}.",
        {"rows": sentences, "points": [sentences[now]]},
    )


def experts_chart(most, dark):
    """Weights that a step reads, over the concurrency. Data: rows, points, words."""
    x, y = alt.X("concurrency:Q"), alt.Y("read:Q")
    line = marks.on("rows").mark_line(color=COLOURS["weights"], strokeWidth=2)
    return alt.layer(
        line.encode(
            marks.concurrency_axis(alt.X),
            alt.Y("read:Q", title="Weights read in a step (GB)").scale(
                domain=[0, most], nice=False
            ),
        ),
        marks.hover(x, y),
        marks.points(x, y, dark),
        *marks.words(x, y, dark),
    ).properties(height=HEIGHT)
