"""A comparison to take along, as JSON, CSV and a document, with its link and the app's version.

Each plan in it is reported as `plan_report` does it. One with a deliberate error says so wherever
its numbers stand.
"""

from collections.abc import Iterable

from planner import __version__, answer, figures
from planner.compare import differences
from planner.compare.comparison import Comparison, encode
from planner.compare.differences import Shown
from planner.reports import plan_report, writing
from planner.reports.document import REPORT_VERSION, Document, Section, Table


def fits(all_: list[Shown]) -> bool:
    """Whether every plan without a deliberate error fits; of none, nothing is known to fit."""
    right = [each.fits for each in all_ if not each.mistake]
    return bool(right) and all(right)


def as_dict(comparison: Comparison, of_plan=plan_report.as_dict) -> dict:
    """The comparison, and the report of each plan under `plans`, with letter and name.

    `mistake` is the id of the known mistake that a plan's numbers are wrong by, or “”. of_plan:
    what makes the report of one.
    """
    all_ = differences.shown(comparison)
    return {
        "report_version": REPORT_VERSION,
        "app_version": __version__,
        "link": encode(comparison),
        "say": comparison.say,
        "headline": differences.headline(all_) if all_ else "",
        "fits": fits(all_),
        "plans": [
            {
                "letter": each.letter,
                "name": each.variant.title,
                "mistake": each.variant.mistake,
                **of_plan(each.evaluation),
            }
            for each in all_
        ],
    }


def as_csv(comparison: Comparison) -> str:
    """Every number of every plan, a row each: the plan's letter, name and whether it is right, then
    as `plan_report.as_csv` has it."""
    of_all = {"app_version": __version__, "link": encode(comparison), "say": comparison.say}
    rows = [("", "", "", key, "", writing.cell(text), *[""] * 5) for key, text in of_all.items()]
    for each in differences.shown(comparison):
        first = (each.letter, writing.cell(each.variant.title), each.calculation)
        rows += [(*first, *row) for row in plan_report.cells(each.evaluation)]
    return writing.as_table(("plan", "name", "reckoned", *plan_report.COLUMNS), rows)


def numbers(all_: list[Shown]) -> list[tuple[str, ...]]:
    """Every number in words: what it is, its kind, then a text for each plan, with its band."""
    found = []
    for entries in zip(*(figures.entries(each.evaluation) for each in all_), strict=True):
        kinds = dict.fromkeys(each.kind for each in entries)
        texts = [f"{each.text} ({each.band})" if each.band else each.text for each in entries]
        if any(texts):
            found.append((entries[0].label, " / ".join(kinds), *texts))
    return found


def document(comparison: Comparison, address: str = "", pictures: Iterable = ()) -> Document:
    """The whole report: verdicts, what differs, the results, pictures, every number.

    pictures: those of `charts.picture`. address: where its page is, to make the link a whole one.
    A comparison of nothing is a ValueError.
    """
    if not comparison.variants:
        raise ValueError("nothing is compared")
    all_ = differences.shown(comparison)
    labels = [each.label for each in all_]
    verdicts = [f"{each.label}. {' '.join(answer.verdict(each.evaluation))}" for each in all_]
    alike = f"Same in all plans: {differences.alike(all_)}"
    results = differences.results(all_).iloc[1:]  # the first row is the verdicts
    sections = (
        Section(
            paragraphs=[comparison.say, *verdicts] if comparison.say else verdicts,
            bullets=[differences.against(all_[0], each) for each in all_[1:]],
        ),
        Section("What differs", (alike,), table=_table(differences.inputs(all_))),
        Section("Results", table=_table(results), pictures=pictures),
        Section("The numbers", table=Table(["what", "kind", *labels], numbers(all_))),
    )
    return Document(differences.headline(all_), sections, f"{address}?{encode(comparison)}")


def _table(frame):
    return Table(list(frame.columns), list(frame.itertuples(index=False)))
