"""A report as a document: title, paragraphs, lists, tables, pictures, link; as Markdown, as lines.

A text is written as it stands, whatever signs are in it. `page` writes a document as HTML; it is
apart, because pictures need pandas and a terminal is to start without.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planner import __version__, describe

REPORT_VERSION = 1
SIGNATURE = f"LLM capacity planner {__version__}, report {REPORT_VERSION}."


class Table(NamedTuple):
    """Rows of texts under their header.

    numbers: the places of columns that hold numbers. narrow: how many columns, the first, are for a
    screen with room for no more.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: tuple[int, ...] = ()
    narrow: int | None = None


class Section(NamedTuple):
    """One part of a document, in this order.

    bullets: a list in the project's own words, in which **…** is bold, `…` code, and a new line
    just that. pictures: those of `charts.picture`, which only a page has; they are worked out when
    they are drawn.
    """

    heading: str = ""
    paragraphs: Sequence[str] = ()
    bullets: Sequence[str] = ()
    table: Table | None = None
    pictures: Iterable = ()


class Document(NamedTuple):
    """A title, sections, and the link that reopens what the document is of."""

    title: str
    sections: Sequence[Section]
    link: str


def spans(item):
    """The pieces of a bullet: each its text, and its mark, “**”, “`” or “”."""
    for piece in re.split(r"(\*\*.+?\*\*|`.+?`)", item):
        mark = next((mark for mark in ("**", "`") if piece.startswith(mark)), "")
        yield piece.removeprefix(mark).removesuffix(mark), mark


def markdown(document: Document) -> str:
    """The document as a Markdown page."""
    parts = [f"# {describe.as_text(document.title)}"]
    for section in document.sections:
        parts += [f"## {section.heading}"] if section.heading else []
        parts += map(describe.as_text, section.paragraphs)
        parts += ["\n".join(map(_markdown_item, section.bullets))] if section.bullets else []
        parts += [_markdown_table(section.table)] if section.table else []
    return "\n\n".join([*parts, f"`{document.link}`", SIGNATURE]) + "\n"


def _markdown_item(item):
    pieces = (
        f"{mark}{text if mark == '`' else describe.as_text(text)}{mark}"
        for text, mark in spans(item)
    )
    return f"- {''.join(pieces)}".replace("\n", "  \n  ")


def _markdown_table(table):
    line = ["--:" if place in table.numbers else "---" for place in range(len(table.header))]
    cells = [[describe.as_text(text) for text in row] for row in (table.header, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (cells[0], line, *cells[1:]))


def text(document: Document, sections: int | None = None) -> str:
    """The document as plain lines, its tables in columns; of it the first so many sections."""
    lines = [document.title]
    for section in document.sections[:sections]:
        lines += ["", section.heading] if section.heading else []
        lines += section.paragraphs
        lines += ["- " + "".join(piece for piece, _ in spans(item)) for item in section.bullets]
        if section.table:
            header, rows, numbers, narrow = section.table
            cells = [row[:narrow] for row in (header, *rows)]
            lines += ["", *describe.columns(cells, right=numbers)]
    return "\n".join([*lines, "", document.link])
