"""A report as a document: title, paragraphs, lists, tables, pictures, link; and its three writers.

The HTML page loads nothing and runs nothing: its charts are pictures in it, so it opens without a
network and prints as it looks. A text is written as it stands, whatever signs are in it.
"""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

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


@dataclass(frozen=True)
class Heading:
    """What the blocks after it are about."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """One text, as it stands."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list in the project's own words, in which **…** is bold, `…` code, a new line just that."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Rows of texts under their header. numbers: the places of columns that hold numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture: its title, what it shows in words, and what draws it as SVG."""

    title: str
    alt: str
    svg: Callable[[], str]


@dataclass(frozen=True)
class Charts:
    """Pictures side by side. Only a page has them; they are worked out when they are drawn."""

    shown: Iterable[Chart]


Block = Heading | Paragraph | Bullets | Table | Charts


@dataclass(frozen=True)
class Document:
    """A title, blocks in their order, and the link that reopens what the document is of."""

    title: str
    blocks: Sequence[Block]
    link: str


def _spans(item):
    """The pieces of a bullet: each its text, and its mark, “**”, “`” or “”."""
    for piece in re.split(r"(\*\*.+?\*\*|`.+?`)", item):
        mark = next((mark for mark in ("**", "`") if piece.startswith(mark)), "")
        yield piece.removeprefix(mark).removesuffix(mark), mark


# --- Markdown -------------------------------------------------------------------------------------


def markdown(document: Document) -> str:
    """The document as a Markdown page."""
    parts = [f"# {describe.as_text(document.title)}"]
    parts += [MARKDOWN[type(block)](block) for block in document.blocks if type(block) in MARKDOWN]
    return "\n\n".join([*parts, f"`{document.link}`", SIGNATURE]) + "\n"


def _markdown_item(item):
    return "".join(
        f"`{text}`" if mark == "`" else f"{mark}{describe.as_text(text)}{mark}"
        for text, mark in _spans(item)
    ).replace("\n", "  \n  ")


def _markdown_table(table):
    places = range(len(table.header))
    lines = [
        map(describe.as_text, table.header),
        ("--:" if place in table.numbers else "---" for place in places),
        *(map(describe.as_text, row) for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


MARKDOWN = {
    Heading: lambda block: f"## {describe.as_text(block.text)}",
    Paragraph: lambda block: describe.as_text(block.text),
    Bullets: lambda block: "\n".join(f"- {_markdown_item(item)}" for item in block.items),
    Table: _markdown_table,
}


# --- plain text -----------------------------------------------------------------------------------


def text(document: Document) -> str:
    """The document as plain lines, its tables in columns, for a terminal."""
    parts = [TEXT[type(block)](block) for block in document.blocks if type(block) in TEXT]
    lines = "\n".join([document.title, *parts, document.link])
    return re.sub(r"\n{3,}", "\n\n", lines)


def _text_item(item):
    return "".join(piece for piece, _ in _spans(item)).replace("\n", "\n  ")


def _text_table(table):
    lines = describe.columns([table.header, *table.rows], right=table.numbers)
    return "\n".join(["", *lines, ""])


TEXT = {
    Heading: lambda block: f"\n{block.text}",
    Paragraph: lambda block: block.text,
    Bullets: lambda block: "\n".join(f"- {_text_item(item)}" for item in block.items),
    Table: _text_table,
}


# --- HTML -----------------------------------------------------------------------------------------


def html(document: Document) -> str:
    """The document as one HTML page that needs nothing else."""
    blocks = "\n".join(HTML[type(block)](block) for block in document.blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(document.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(document.title)}</h1>
{blocks}
<footer>{_html_link(document.link)}<br>{SIGNATURE}</footer>
</body>
</html>
"""


def _html_link(address):
    """An address as a link, where it is one of the web; else as it stands."""
    shown = escape(address)
    whole = address.startswith(("http://", "https://"))
    return f'<a href="{shown}">{shown}</a>' if whole else f"<code>{shown}</code>"


def _html_bullets(block):
    tags = {"**": ("<b>", "</b>"), "`": ("<code>", "</code>"), "": ("", "")}
    lines = []
    for item in block.items:
        pieces = (tags[mark][0] + escape(text) + tags[mark][1] for text, mark in _spans(item))
        lines.append(f"<li>{''.join(pieces)}</li>".replace("\n", "<br>"))
    return "\n".join(["<ul>", *lines, "</ul>"])


def _html_table(table):
    classes = [' class="number"' if n in table.numbers else "" for n in range(len(table.header))]
    lines = [_html_row("th", table.header, classes)]
    lines += [_html_row("td", row, classes) for row in table.rows]
    return "\n".join(["<table>", *lines, "</table>"])


def _html_row(tag, row, classes):
    cells = (
        f"<{tag}{kind}>{escape(text)}</{tag}>" for text, kind in zip(row, classes, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _html_charts(block):
    lines = []
    for each in block.shown:
        drawn = base64.b64encode(each.svg().encode()).decode()
        lines.append(
            f"<figure><figcaption>{escape(each.title)}</figcaption>"
            f'<img src="data:image/svg+xml;base64,{drawn}" alt="{escape(each.alt)}"></figure>'
        )
    return "\n".join(['<div class="charts">', *lines, "</div>"])


HTML = {
    Heading: lambda block: f"<h2>{escape(block.text)}</h2>",
    Paragraph: lambda block: f"<p>{escape(block.text)}</p>",
    Bullets: _html_bullets,
    Table: _html_table,
    Charts: _html_charts,
}
