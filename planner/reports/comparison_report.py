"""A comparison to take along, as JSON, CSV and Markdown, each with its link and the app's version.

Each plan in it is reported as `planner.report` does it. One that is reckoned with a known mistake
says so wherever its numbers stand.
"""

from planner import __version__, answer, describe
from planner.compare import differences
from planner.compare.comparison import Comparison, encode
from planner.compare.differences import Shown
from planner.reports import plan_report, writing


def fits(all_: list[Shown]) -> bool:
    """Whether all plans fit that are reckoned rightly; where none is, nothing is known to fit."""
    right = [each.fits for each in all_ if not each.mistake]
    return bool(right) and all(right)


def as_dict(comparison: Comparison, of_plan=plan_report.as_dict) -> dict:
    """The comparison, and the report of each plan under `plans`, with letter and name.

    `mistake` is the id of the known mistake that a plan's numbers are wrong by, or “”. of_plan:
    what makes the report of one.
    """
    all_ = differences.shown(comparison)
    return {
        "report_version": plan_report.REPORT_VERSION,
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
                **of_plan(each.served),
            }
            for each in all_
        ],
    }


def as_csv(comparison: Comparison) -> str:
    """Every number of every plan, a row each: the plan's letter, name and whether it is right, then
    as `report.as_csv` has it."""
    of_all = {"app_version": __version__, "link": encode(comparison), "say": comparison.say}
    rows = [("", "", "", key, "", writing.cell(text), *[""] * 5) for key, text in of_all.items()]
    for each in differences.shown(comparison):
        first = (each.letter, writing.cell(each.variant.title), each.reckoned)
        rows += [(*first, *row) for row in plan_report.cells(each.served)]
    return writing.as_table(("plan", "name", "reckoned", *plan_report.COLUMNS), rows)


def numbers(all_: list[Shown]) -> list[tuple[str, ...]]:
    """Every number in words: what it is, its kind, then a text for each plan, with its band."""
    found = []
    for rows in zip(*(plan_report.numbers(each.served) for each in all_), strict=True):
        kinds = dict.fromkeys(row.kind for row in rows)
        texts = [_written(row) for row in rows]
        if any(texts):
            found.append((rows[0].label, " / ".join(kinds), *texts))
    return found


def _written(row):
    text = writing.shown(row.value, row.unit)
    if row.low is None:
        return text
    return f"{text} ({writing.shown(row.low, row.unit)} – {writing.shown(row.high, row.unit)})"


def lines(comparison: Comparison) -> list[str]:
    """The comparison in plain lines: verdicts, what differs, what comes of it, its link."""
    all_ = differences.shown(comparison)
    found = [differences.headline(all_), *([comparison.say] if comparison.say else []), ""]
    found += [f"{each.label}. {' '.join(answer.served_verdict(each.served))}" for each in all_]
    found += [differences.against(all_[0], each) for each in all_[1:]]
    for table in (differences.inputs(all_), differences.figures(all_).iloc[1:]):
        found += ["", *describe.columns([list(table.columns), *table.itertuples(index=False)])]
    return [*found, "", f"For all: {differences.alike(all_)}", f"?{encode(comparison)}"]


def as_markdown(comparison: Comparison, address: str = "") -> str:
    """The comparison as a Markdown page. address: where its page is, to make the link a whole one.

    A comparison of nothing is a ValueError.
    """
    all_ = differences.shown(comparison)
    if not all_:
        raise ValueError("nothing is compared")
    labels = [describe.as_text(each.label) for each in all_]
    apart = differences.inputs(all_).itertuples(index=False)
    found = [f"# {differences.headline(all_)}", ""]
    found += [describe.as_text(comparison.say), ""] if comparison.say else []
    found += [f"- {differences.against(all_[0], each)}" for each in all_[1:]]
    found += ["", "## What differs", "", *_table(["input", *labels], apart, describe.as_text)]
    found += ["", f"For all: {describe.as_text(differences.alike(all_))}"]
    come = differences.figures(all_).itertuples(index=False)
    found += ["", "## What comes of it", "", *_table(["figure", *labels], come, writing.marked)]
    listed = _table(["what", "kind", *labels], numbers(all_), writing.marked)
    found += ["", "## The numbers", "", *listed]
    found += ["", f"`{address}?{encode(comparison)}`"]
    found += ["", plan_report.SIGNATURE, ""]
    return "\n".join(found)


def _table(header, rows, written):
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    yield from (f"| {' | '.join(map(written, row))} |" for row in rows)
