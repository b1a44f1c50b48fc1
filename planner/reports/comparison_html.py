"""A comparison's charts, and the comparison as one HTML page with these in it."""

from html import escape

from planner.charts.picture import Picture
from planner.compare import differences
from planner.compare.comparison import Comparison, encode
from planner.compare.overlays import pictures
from planner.reports import comparison_report
from planner.reports.images import Origin
from planner.reports.plan_html import figure, linked, shell, table


def origin(comparison: Comparison, address: str = "") -> Origin:
    """What pictures of a comparison say of it: what is compared, and its link."""
    return Origin(" · ".join(comparison.named()), f"{address}?{encode(comparison)}")


def pictured(comparison: Comparison, address: str) -> tuple[str, list[Picture], Origin]:
    """The headline of a comparison, its pictures, and what they say of it where they stand alone.

    address: where the app is, below which the comparison has its page.
    """
    all_ = differences.shown(comparison)
    said = origin(comparison, f"{address}compare")
    return differences.headline(all_), pictures(all_), said


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
    figures = "\n".join(figure(picture) for picture in pictures(all_))
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
