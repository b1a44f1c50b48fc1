"""Text in files to take along: CSV that no spreadsheet runs, Markdown with nothing but words."""

import csv
import io
import math
import re

from planner import describe
from planner.units import GB, TERA

RUNS = "=+-@\t\r\n|%＝＋－＠"  # first signs of a cell that a spreadsheet may take for a formula


def as_table(header, rows) -> str:
    """Rows of cells as CSV under their header."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def cell(text: str) -> str:
    """A text as a cell that no spreadsheet runs: a quote before what would start a formula."""
    return f"'{text}" if text[:1] and (text[0] in RUNS or not text[0].isprintable()) else text


def marked(words_: str) -> str:
    """The project's own words in Markdown, where an underscore or a bar is nothing but itself."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", words_)


def shown(value: float | None, unit: str) -> str:
    """A number as people read it: bytes in decimal units, times in ms or s."""
    if value is None:
        return ""
    if unit == "bytes" and math.isfinite(value):
        sign = "−" if value < 0 else ""
        return f"{sign}{describe.data(abs(value))}"
    if unit == "s":
        return describe.duration(value)
    if unit in ("tokens", "requests", "devices"):
        return describe.whole(value)
    if unit in ("bytes/s", "FLOP/s", "FLOP"):
        size, name = (GB, "GB/s") if unit == "bytes/s" else (TERA, f"T{unit}")
        return f"{describe.significant(value / size)} {name}"
    return describe.significant(value)
