"""A plan as one HTML page with its pictures in it, and what these say where they stand alone."""

from planner import answer, describe
from planner.charts.of_plan import pictures
from planner.charts.picture import Picture
from planner.inputs.scenario import Scenario, encode
from planner.reports import page, plan_report
from planner.reports.images import Origin
from planner.serving import Evaluation, evaluate


def origin(evaluation: Evaluation, address: str = "") -> Origin:
    """What pictures of a plan say of it: its inputs, and its link."""
    inputs = f"{describe.inputs(evaluation.plan)} · {evaluation.engine.name}"
    return Origin(inputs, f"{address}?{encode(evaluation.plan.scenario)}")


def pictured(scenario: Scenario, address: str) -> tuple[str, list[Picture], Origin]:
    """The verdict on a scenario, its pictures, and what they say of it where they stand alone."""
    evaluation = evaluate(scenario)
    verdict, _ = answer.verdict(evaluation)
    return verdict, list(pictures(evaluation)), origin(evaluation, address)


def as_html(evaluation: Evaluation, address: str = "") -> str:
    """The plan as one HTML page. address: where the app is, to make the link a whole one."""
    return page.html(plan_report.document(evaluation, address, pictures(evaluation)))
