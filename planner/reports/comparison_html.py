"""A comparison as one HTML page with its pictures in it, and what these say standing alone."""

from planner.charts.picture import Picture
from planner.compare import differences
from planner.compare.comparison import Comparison, encode
from planner.compare.overlays import pictures
from planner.reports import comparison_report, page
from planner.reports.images import Origin


def origin(comparison: Comparison, address: str = "") -> Origin:
    """What pictures of a comparison say of it: what is compared, and its link."""
    return Origin(" · ".join(comparison.named()), f"{address}?{encode(comparison)}")


def pictured(comparison: Comparison, address: str) -> tuple[str, list[Picture], Origin]:
    """The headline of a comparison, its pictures, and what they say of it where they stand alone.

    address: where the app is, below which the comparison has its page.
    """
    all_ = differences.shown(comparison)
    at = origin(comparison, f"{address}compare")
    return differences.headline(all_), list(pictures(all_)), at


def as_html(comparison: Comparison, address: str = "") -> str:
    """The comparison as one HTML page. address: where its page is, to make the link a whole one.

    A comparison of nothing is a ValueError.
    """
    drawn = pictures(differences.shown(comparison))
    return page.html(comparison_report.document(comparison, address, drawn))
