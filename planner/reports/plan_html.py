"""A plan's charts, and the plan as one HTML page with these in it.

The page loads nothing and runs nothing: charts are pictures, so it opens without a network and
prints as it looks.
"""

import base64
import re
from html import escape

from planner import answer, describe
from planner.charts.of_plan import pictures
from planner.charts.picture import Picture
from planner.inputs.scenario import Scenario, encode
from planner.plan import plan
from planner.reports import images, plan_report
from planner.reports.images import Origin
from planner.serving import Served, serve

STYLE = """
:root { color-scheme: light }
body { font: 15px/1.45 system-ui, sans-serif; color: #31333f; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 1.6rem 0 .5rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0;
  border-bottom: 1px solid #ddd }
.values td:nth-child(2) { white-space: nowrap }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem;
  margin-top: 1.2rem }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 } img { max-width: 100% }
footer { margin: 2rem 0; font-size: .85rem }
@media print { body { margin: 0; max-width: none; font-size: 11px } tr { break-inside: avoid }
  .charts { grid-template-columns: 1fr 1fr } @page { margin: 1.5cm } }
"""


def origin(served: Served, address: str = "") -> Origin:
    """What pictures of a plan say of it: its inputs, and its link."""
    said = f"{describe.inputs(served.plan)} · {served.engine.name}"
    return Origin(said, f"{address}?{encode(served.plan.scenario)}")


def pictured(scenario: Scenario, address: str) -> tuple[str, list[Picture], Origin]:
    """The verdict on a scenario, its pictures, and what they say of it where they stand alone."""
    served = serve(plan(scenario))
    return answer.served_verdict(served)[0], list(pictures(served)), origin(served, address)


def as_html(served: Served, address: str = "") -> str:
    """The plan as one HTML page. address: where the app is, to make the link a whole one."""
    verdict, detail = answer.served_verdict(served)
    figures = "\n".join(figure(picture) for picture in pictures(served))
    steps = "\n".join(
        f"<li><b>{escape(each.title)}</b> = {escape(each.symbols)}<br><code>{escape(each.numbers)}"
        f"</code> = <b>{escape(each.result)}</b></li>"
        for each in plan_report.equations(served)
    )
    body = f"""<h1>{escape(verdict)}</h1>
<p>{escape(detail)}</p>
<p>{escape(describe.inputs(served.plan))} · engine: {escape(served.engine.name)}</p>
<div class="charts">
{figures}
</div>
<h2>The numbers</h2>
<div class="values">
{table(["what", "value", "kind", "source"], plan_report.rows(served))}
</div>
<h2>The arithmetic</h2>
<ul>
{steps}
</ul>
<h2>What this leaves out</h2>
<ul>
{_items(answer.left_out(served))}
</ul>"""
    return shell(verdict, body, linked(f"{address}?{encode(served.plan.scenario)}"))


def shell(title: str, body: str, link: str) -> str:
    """A whole page: its head, its body, and at its end its link and the version."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}
<footer>{link}<br>{plan_report.SIGNATURE}</footer>
</body>
</html>
"""


def linked(address: str) -> str:
    """An address as a link, where it is one of the web; else as it stands."""
    text = escape(address)
    whole = address.startswith(("http://", "https://"))
    return f'<a href="{text}">{text}</a>' if whole else f"<code>{text}</code>"


def table(header, rows) -> str:
    """Rows of texts under their header."""
    lines = [("th", header), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{escape(text)}</{tag}>" for text in row) for tag, row in lines)
    return "\n".join(["<table>", *(f"<tr>{row}</tr>" for row in cells), "</table>"])


def figure(picture: Picture) -> str:
    """One picture in the page."""
    drawn = base64.b64encode(images.svg(images.specification(picture)).encode()).decode()
    return (
        f"<figure><figcaption>{escape(picture.title)}</figcaption>"
        f'<img src="data:image/svg+xml;base64,{drawn}" alt="{escape(picture.alt)}"></figure>'
    )


def _items(listed):
    """A Markdown list of the project's own, whose only mark is **bold**, as HTML."""
    items = [each for each in re.split(r"(?:^|\n)- ", listed) if each.strip()]
    bold = (re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(each.strip())) for each in items)
    return "\n".join(f"<li>{each}</li>" for each in bold)
