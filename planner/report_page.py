"""A plan as one HTML page with its charts in it, and the charts as SVG and PNG.

The page loads nothing and runs nothing: charts are pictures, so it opens without a network and
prints as it looks. Drawing them takes vl-convert, which is imported when first needed.
"""

import base64
import io
import json
import re
import zipfile
from html import escape

from planner import __version__, answer, bars, charts, report, sweep, words
from planner.scenario import encode
from planner.serving import Served

SCALE = 2  # pixels of a PNG for each of a chart, for screens and slides
WIDTH = 460
STYLE = """
:root { color-scheme: light }
body { font: 15px/1.45 system-ui, sans-serif; color: #31333f; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 1.6rem 0 .5rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere }
td:nth-child(2) { white-space: nowrap }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem }
figure { margin: 0; break-inside: avoid } figcaption { font-weight: 600 } img { max-width: 100% }
code { overflow-wrap: anywhere } footer { margin: 2rem 0; font-size: .85rem }
@media print { body { margin: 0; max-width: none; font-size: 11px } tr { break-inside: avoid }
  .charts { grid-template-columns: 1fr 1fr } @page { margin: 1.5cm } }
"""


def drawings(served: Served) -> dict:
    """The charts of a plan by title: each a chart function and the drawing that it shows."""
    own, scenario = served.plan, served.plan.scenario
    pair = sweep.variants(scenario)
    if served.ideal:
        found = {
            "Memory at this load": (charts.memory, bars.memory(pair)),
            "Time per token": (charts.latency, sweep.latency(scenario, pair)),
            "Where it fits": (charts.fit, sweep.fit(scenario, pair)),
            "What a step is made of": (charts.step, bars.step(pair)),
        }
    else:
        reserved = "Where weights and cache fit, nothing reserved"
        found = {
            "Needed, and taken by the engine": (charts.engine_memory, bars.engine_memory(served)),
            "Time per token": (charts.engine_latency, sweep.engine_latency(served)),
            "What a step is made of": (charts.engine_step, bars.engine_step(served)),
            "What the first token waits for": (charts.engine_first, bars.engine_first(served)),
            reserved: (charts.fit, sweep.fit(scenario, pair)),
        }
    if scenario.layout.devices > 1:
        found["Memory on each device"] = (charts.devices, bars.devices(own))
    if own.model.experts:
        found["Experts read in a step"] = (charts.experts, sweep.experts(scenario))
    return found


def specification(chart, drawing) -> dict:
    """One chart with its data in it, as Vega-Lite; on paper, so light."""
    spec = charts.prepared(chart, *drawing.bounds, False)
    frames = {
        name: json.loads(frame.to_json(orient="records")) for name, frame in drawing.frames.items()
    }
    return {**spec, "width": WIDTH, "datasets": {**spec.get("datasets", {}), **frames}}


def svg(chart, drawing) -> str:
    """One chart as SVG."""
    import vl_convert

    return vl_convert.vegalite_to_svg(specification(chart, drawing), allowed_base_urls=[])


def png(chart, drawing) -> bytes:
    """One chart as PNG, on white."""
    import vl_convert

    spec = {**specification(chart, drawing), "background": "white"}
    return vl_convert.vegalite_to_png(spec, scale=SCALE, allowed_base_urls=[])


def pictures(served: Served) -> bytes:
    """A ZIP file with every chart as SVG and as PNG, and the link they were drawn from."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("link.txt", f"?{encode(served.plan.scenario)}\nversion {__version__}\n")
        for chart, drawing in drawings(served).values():
            archive.writestr(f"{chart.__name__}.svg", svg(chart, drawing))
            archive.writestr(f"{chart.__name__}.png", png(chart, drawing))
    return held.getvalue()


def as_html(served: Served, address: str = "") -> str:
    """The plan as one HTML page. address: where the app is, to make the link a whole one."""
    plan = served.plan
    verdict, detail = answer.served_verdict(served)
    link = f"{address}?{encode(plan.scenario)}"
    whole = address.startswith(("http://", "https://"))
    link = (
        f'<a href="{escape(link)}">{escape(link)}</a>' if whole else f"<code>{escape(link)}</code>"
    )
    figures = "\n".join(_figure(title, *drawn) for title, drawn in drawings(served).items())
    lines = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in report.rows(served))
    steps = "\n".join(
        f"<li><b>{escape(each.title)}</b> = {escape(each.symbols)}<br><code>{escape(each.numbers)}"
        f"</code> = <b>{escape(each.result)}</b></li>"
        for each in report.equations(served)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(verdict)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(verdict)}</h1>
<p>{escape(detail)}</p>
<p>{escape(words.inputs(plan))} · engine: {escape(served.engine.name)}</p>
<div class="charts">
{figures}
</div>
<h2>The numbers</h2>
<table>
<tr><th>what</th><th>value</th><th>kind</th><th>source</th></tr>
{lines}
</table>
<h2>The arithmetic</h2>
<ul>
{steps}
</ul>
<h2>What this leaves out</h2>
<ul>
{_items(report.left_out(served))}
</ul>
<footer>{link}<br>LLM capacity planner {__version__}, report {report.REPORT_VERSION}.</footer>
</body>
</html>
"""


def _figure(title, chart, drawing):
    picture = base64.b64encode(svg(chart, drawing).encode()).decode()
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<img src="data:image/svg+xml;base64,{picture}" alt="{escape(drawing.alt)}"></figure>'
    )


def _cell(text):
    return f"<td>{escape(text)}</td>"


def _items(listed):
    """A Markdown list of the project's own, whose only mark is **bold**, as HTML."""
    items = [each for each in re.split(r"(?:^|\n)- ", listed) if each.strip()]
    bold = (re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(each.strip())) for each in items)
    return "\n".join(f"<li>{each}</li>" for each in bold)
