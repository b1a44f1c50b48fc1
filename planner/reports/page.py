"""A report as one HTML page.

It loads nothing and runs nothing: its charts are pictures in it, so it opens without a network and
prints as it looks.
"""

import base64
from html import escape

from planner.reports import images
from planner.reports.document import SIGNATURE, Document, spans

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


def html(document: Document) -> str:
    """The document as one HTML page that needs nothing else."""
    title, sections = escape(document.title), "\n".join(map(_section, document.sections))
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
<footer>{_link(document.link)}<br>{SIGNATURE}</footer>
</body>
</html>
"""


def _section(section):
    parts = [f"<h2>{escape(section.heading)}</h2>"] if section.heading else []
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.paragraphs]
    if section.bullets:
        parts += ["<ul>", *map(_item, section.bullets), "</ul>"]
    if section.table:
        table = section.table
        parts += ["<table>", _row("th", table.header, table.numbers)]
        parts += [*(_row("td", row, table.numbers) for row in table.rows), "</table>"]
    figures = [_picture(picture) for picture in section.pictures]
    parts += ['<div class="charts">', *figures, "</div>"] if figures else []
    return "\n".join(parts)


def _item(item):
    pieces = (f"{TAGS[mark][0]}{escape(text)}{TAGS[mark][1]}" for text, mark in spans(item))
    return f"<li>{''.join(pieces)}</li>".replace("\n", "<br>")


def _row(tag, row, numbers):
    kinds = (' class="number"' if place in numbers else "" for place in range(len(row)))
    cells = (f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, row, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _picture(picture):
    drawn = base64.b64encode(images.svg(images.specification(picture)).encode()).decode()
    return (
        f"<figure><figcaption>{escape(picture.title)}</figcaption>"
        f'<img src="data:image/svg+xml;base64,{drawn}" alt="{escape(picture.alt)}"></figure>'
    )


def _link(address):
    """An address as a link, where it is one of the web; else as it stands."""
    shown = escape(address)
    whole = address.startswith(("http://", "https://"))
    return f'<a href="{shown}">{shown}</a>' if whole else f"<code>{shown}</code>"
