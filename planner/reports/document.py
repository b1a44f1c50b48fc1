"""A report as a document: title, paragraphs, lists, tables, pictures, link; and its three writers.

The HTML page loads nothing and runs nothing: its charts are pictures in it, so it opens without a
network and prints as it looks. A text is written as it stands, whatever signs are in it.
"""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from planner import __version__, describe

REPORT_VERSION = 1
SIGNATURE = f"LLM capacity planner {__version__}, report {REPORT_VERSION}."
STYLE = """
:root { color-scheme: light }
body { font: 15px/1.45 system-ui, sans-serif; color: #31333f; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 1.6rem 0 .5rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0;
  border-bottom: 1px solid #ddd }
.number { white-space: nowrap }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem;
  margin-top: 1.2rem }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 } img { max-width: 100% }
footer { margin: 2rem 0; font-size: .85rem }
@media print { body { margin: 0; max-width: none; font-size: 11px } tr { break-inside: avoid }
  .charts { grid-template-columns: 1fr 1fr } @page { margin: 1.5cm } }
"""
TAGS = {"**": ("<b>", "</b>"), "`": ("<code>", "</code>"), "": ("", "")}


class Table(NamedTuple):
    """Rows of texts under their header.

    numbers: the places of columns that hold numbers. narrow: how many columns, the first, are for a
    screen with room for no more.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: tuple[int, ...] = ()
    narrow: int | None = None


class Chart(NamedTuple):
    """A picture: its title, what it shows in words, and what draws it as SVG."""

    title: str
    alt: str
    svg: Callable[[], str]


class Section(NamedTuple):
    """One part of a document, in this order.

    bullets: a list in the project's own words, in which **…** is bold, `…` code, and a new line
    just that. charts: pictures, which only a page has; they are worked out when they are drawn.
    """

    heading: str = ""
    paragraphs: Sequence[str] = ()
    bullets: Sequence[str] = ()
    table: Table | None = None
    charts: Iterable[Chart] = ()


class Document(NamedTuple):
    """A title, sections, and the link that reopens what the document is of."""

    title: str
    sections: Sequence[Section]
    link: str


def _spans(item):
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
        for text, mark in _spans(item)
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
        lines += ["- " + "".join(piece for piece, _ in _spans(item)) for item in section.bullets]
        if section.table:
            header, rows, numbers, narrow = section.table
            cells = [row[:narrow] for row in (header, *rows)]
            lines += ["", *describe.columns(cells, right=numbers)]
    return "\n".join([*lines, "", document.link])


def html(document: Document) -> str:
    """The document as one HTML page that needs nothing else."""
    title, sections = escape(document.title), "\n".join(map(_html_section, document.sections))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{title}</h1>
{sections}
<footer>{_html_link(document.link)}<br>{SIGNATURE}</footer>
</body>
</html>
"""


def _html_section(section):
    parts = [f"<h2>{escape(section.heading)}</h2>"] if section.heading else []
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.bullets:
        parts += ["<ul>", *map(_html_item, section.bullets), "</ul>"]
    if section.table:
        table = section.table
        parts += ["<table>", _html_row("th", table.header, table.numbers)]
        parts += [*(_html_row("td", row, table.numbers) for row in table.rows), "</table>"]
    charts = [_html_chart(chart) for chart in section.charts]
    return "\n".join([*parts, *(['<div class="charts">', *charts, "</div>"] if charts else [])])


def _html_item(item):
    pieces = (f"{TAGS[mark][0]}{escape(text)}{TAGS[mark][1]}" for text, mark in _spans(item))
    return f"<li>{''.join(pieces)}</li>".replace("\n", "<br>")


def _html_row(tag, row, numbers):
    kinds = (' class="number"' if place in numbers else "" for place in range(len(row)))
    cells = (f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, row, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _html_chart(chart):
    drawn = base64.b64encode(chart.svg().encode()).decode()
    return (
        f"<figure><figcaption>{escape(chart.title)}</figcaption>"
        f'<img src="data:image/svg+xml;base64,{drawn}" alt="{escape(chart.alt)}"></figure>'
    )


def _html_link(address):
    """An address as a link, where it is one of the web; else as it stands."""
    shown = escape(address)
    whole = address.startswith(("http://", "https://"))
    return f'<a href="{shown}">{shown}</a>' if whole else f"<code>{shown}</code>"
