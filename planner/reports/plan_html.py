"""A plan's charts, and the plan as one HTML page with these in it."""

from planner import answer, describe
from planner.charts import bars, charts, curves
from planner.inputs.scenario import Scenario, encode
from planner.reports import document, images, plan_report
from planner.reports.document import Chart
from planner.reports.images import Origin
from planner.serving import Evaluation, evaluate


def drawings(served: Evaluation) -> dict:
    """The charts of a plan by title: each a chart function and the drawing that it shows."""
    return dict(drawn(served))


def drawn(served: Evaluation):
    """The charts of a plan, title and pair, each worked out when it is asked for."""
    own, scenario = served.plan, served.plan.scenario
    pair = curves.variants(scenario)
    if served.ideal:
        yield "Memory at this load", (charts.memory, bars.memory(pair))
        yield "Time per token", (charts.latency, curves.latency(scenario, pair))
        yield "Where it fits", (charts.fit, curves.fit(scenario, pair))
        yield "What a step is made of", (charts.step, bars.step(pair))
    else:
        yield "Needed, and taken by the engine", (charts.engine_memory, bars.engine_memory(served))
        yield "Time per token", (charts.engine_latency, curves.engine_latency(served))
        yield "What a step is made of", (charts.engine_step, bars.engine_step(served))
        yield "What the first token waits for", (charts.engine_first, bars.engine_first(served))
        reserved = "Where weights and cache fit, nothing reserved"
        yield reserved, (charts.fit, curves.fit(scenario, pair))
    if scenario.layout.devices > 1:
        yield "Memory on each device", (charts.devices, bars.devices(own))
    if own.model.experts:
        yield "Experts read in a step", (charts.experts, curves.experts(scenario))


def origin(served: Evaluation, address: str = "") -> Origin:
    """What pictures of a plan say of it: its inputs, and its link."""
    said = f"{describe.inputs(served.plan)} · {served.engine.name}"
    return Origin(said, f"{address}?{encode(served.plan.scenario)}")


def pictured(scenario: Scenario, address: str) -> tuple[str, dict, Origin]:
    """The verdict on a scenario, its charts, and what pictures of them say of it."""
    served = evaluate(scenario)
    return answer.verdict(served)[0], drawings(served), origin(served, address)


def as_html(served: Evaluation, address: str = "") -> str:
    """The plan as one HTML page. address: where the app is, to make the link a whole one."""
    shown = (picture(title, *pair) for title, pair in drawn(served))
    return document.html(plan_report.document(served, address, shown))


def picture(title: str, chart, drawing) -> Chart:
    """A chart as a document has it."""
    return Chart(title, drawing.alt, lambda: images.svg(images.specification(chart, drawing)))
