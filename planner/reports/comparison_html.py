"""A comparison's charts, and the comparison as one HTML page with these in it."""

from html import escape

from planner.compare import charts as comparison_charts
from planner.compare import differences, overlays
from planner.compare.comparison import Comparison, encode
from planner.compare.differences import Shown
from planner.reports import comparison_report
from planner.reports.images import Origin
from planner.reports.plan_html import figure, linked, shell, table


def drawings(all_: list[Shown]) -> dict:
    """The charts of a comparison by title: each a chart function and the drawing that it shows."""
    lines = overlays.latency(all_)
    full = ", × where memory is full" if len(lines.frames["full"]) else ""
    return {
        "Memory of the fullest device": (
            comparison_charts.overlaid_memory,
            overlays.memory(all_),
        ),
        f"Time per token{full}": (comparison_charts.overlaid_latency, lines),
    }


def origin(comparison: Comparison, address: str = "") -> Origin:
    """What pictures of a comparison say of it: what is compared, and its link."""
    return Origin(" · ".join(comparison.named()), f"{address}?{encode(comparison)}")


def pictured(comparison: Comparison, address: str) -> tuple[str, dict, Origin]:
    """The headline of a comparison, its charts, and what pictures of them say of it.

    address: where the app is, below which the comparison has its page.
    """
    all_ = differences.shown(comparison)
    said = origin(comparison, f"{address}compare")
    return differences.headline(all_), drawings(all_), said


def as_html(comparison: Comparison, address: str = "") -> str:
    """The comparison as one HTML page. address: where its page is, to make the link a whole one.

    A comparison of nothing is a ValueError.
    """
    all_ = differences.shown(comparison)
    if not all_:
        raise ValueError("nothing is compared")
    headline = differences.headline(all_)
    labels = [each.label for each in all_]
    against = "\n".join(
        f"<li>{escape(differences.against(all_[0], each))}</li>" for each in all_[1:]
    )
    figures = "\n".join(figure(title, *drawn) for title, drawn in drawings(all_).items())
    apart, come = differences.inputs(all_), differences.figures(all_)
    say = f"<p>{escape(comparison.say)}</p>" if comparison.say else ""
    body = f"""<h1>{escape(headline)}</h1>
{say}
<ul>
{against}
</ul>
<h2>What differs</h2>
{table(["input", *labels], apart.itertuples(index=False))}
<p>For all: {escape(differences.alike(all_))}</p>
<h2>What comes of it</h2>
{table(["figure", *labels], come.itertuples(index=False))}
<div class="charts">
{figures}
</div>
<h2>The numbers</h2>
<div class="values">
{table(["what", "kind", *labels], comparison_report.numbers(all_))}
</div>"""
    return shell(headline, body, linked(f"{address}?{encode(comparison)}"))
