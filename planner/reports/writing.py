"""Tables in files to take along: CSV that no spreadsheet runs."""

import csv
import io

RUNS = "=+-@\t\r\n|%＝＋－＠"  # first signs of a cell that a spreadsheet may take for a formula


def as_table(header, rows) -> str:
    """Rows of cells as CSV under their header."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def cell(text: str) -> str:
    """A text as a cell that no spreadsheet runs: a quote before what would start a formula."""
    return f"'{text}" if text[:1] and (text[0] in RUNS or not text[0].isprintable()) else text
