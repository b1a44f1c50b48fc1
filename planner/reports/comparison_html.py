"""A comparison's charts, and the comparison as one HTML page with these in it."""

from planner.compare import charts as comparison_charts
from planner.compare import differences, overlays
from planner.compare.comparison import Comparison, encode
from planner.compare.differences import Shown
from planner.reports import comparison_report, document
from planner.reports.images import Origin
from planner.reports.plan_html import picture


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
    return document.html(comparison_report.document(comparison, address, _charts(comparison)))


def _charts(comparison):
    for title, pair in drawings(differences.shown(comparison)).items():
        yield picture(title, *pair)
