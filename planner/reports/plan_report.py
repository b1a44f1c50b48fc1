"""A plan to take along: every number with unit, kind, band and source, as JSON, CSV, a document.

All are written from the table of figures. The JSON is flat and its keys say their unit (SI):
`decode_step_s`, and with an engine `decode_step_calibrated_s` with the ends of its band,
`decode_step_calibrated_low_s` and `decode_step_calibrated_high_s`. Every key is always there; null
means unbounded, or of a calibrated number that no engine is chosen. A key keeps its meaning;
`report_version` grows when one is taken away.
"""

import math
from collections.abc import Iterable
from dataclasses import fields

from planner import __version__, answer, describe, explain, figures
from planner.inputs import presets
from planner.inputs.scenario import Scenario, encode
from planner.reports import arithmetic
from planner.reports.document import REPORT_VERSION, Document, Section, Table
from planner.reports.writing import as_table, cell
from planner.serving import Evaluation

WHOLE = ("bytes", "tokens", "requests", "devices", "FLOP")  # units written without a point
COLUMNS = ("key", "what", "value", "unit", "kind", "low", "high", "source")


# --- JSON -----------------------------------------------------------------------------------------


def as_dict(evaluation: Evaluation) -> dict:
    """The flat report: strings, true or false, numbers and null; ready for strict JSON.

    `fits` is the answer, with the engine where one is chosen; `fits_ideal` that of counting alone.
    """
    plan, scenario = evaluation.plan, evaluation.plan.scenario
    verdict, detail = answer.verdict(evaluation, warned=False)
    found = {
        "report_version": REPORT_VERSION,
        "app_version": __version__,
        "link": encode(scenario),
        "model": scenario.model,
        "model_name": plan.model.name,
        "weights": scenario.weights,
        "cache_k": scenario.cache_k,
        "cache_v": scenario.cache_v,
        "device": scenario.device,
        "device_name": scenario.the_device.name,
        "engine": scenario.engine,
        "engine_name": evaluation.engine.name,
        "engine_set": scenario.set,
        "draft": scenario.draft,
        "state_format": scenario.state_format,
        "fits": bool(evaluation.fits),
        "fits_ideal": bool(plan.fits),
        "fits_calibrated": None if evaluation.ideal else bool(evaluation.fits),
        "engine_warning": answer.engine_warning(evaluation),
        "load_calibrated": None if evaluation.ideal else str(evaluation.load),
        "verdict": verdict,
        "verdict_detail": detail,
    }
    for each in figures.entries(evaluation):
        found[each.key] = _plain(each.value, each.unit)
        for end, key in each.ends.items():
            found[key] = _plain(getattr(each, end), each.unit)
    return found


def with_sources(evaluation: Evaluation) -> dict:
    """The flat report, and under `numbers` each with its label, unit, kind, band and source."""
    listed = [
        {
            **each._asdict(),
            "value": _plain(each.value, each.unit),
            "low": _plain(each.low, each.unit),
            "high": _plain(each.high, each.unit),
        }
        for each in figures.entries(evaluation)
    ]
    return {**as_dict(evaluation), "numbers": listed}


def _plain(value, unit):
    """A number as strict JSON has it: null for ∞ and for what is not there."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if unit in WHOLE and float(value).is_integer() else float(value)


# --- CSV ------------------------------------------------------------------------------------------


def as_csv(evaluation: Evaluation) -> str:
    """Every input and number, a row each: key, what, value, unit, kind, low, high, source."""
    return as_table(COLUMNS, cells(evaluation))


def cells(evaluation: Evaluation):
    """The rows of the CSV, safe to open in a spreadsheet."""
    for key, value in {
        "app_version": __version__,
        "link": encode(evaluation.plan.scenario),
    }.items():
        yield (key, "", cell(value), "", "", "", "", "")
    for field in fields(Scenario):
        value = getattr(evaluation.plan.scenario, field.name)
        if isinstance(value, str):
            yield (field.name, "input", cell(value), "", "given", "", "", "")
    yield ("model_name", "", cell(evaluation.plan.model.name), "", "", "", "", "")
    yield ("verdict", "", cell(answer.verdict(evaluation)[0]), "", "", "", "", "")
    yield ("engine_warning", "", cell(answer.engine_warning(evaluation)), "", "", "", "", "")
    for each in figures.entries(evaluation):
        value, low, high = (_number(each, name) for name in ("value", "low", "high"))
        yield (each.key, each.label, value, each.unit, each.kind, low, high, cell(each.source))


def _number(each, name):
    value = getattr(each, name)
    if value is not None and math.isinf(value):
        return "inf"
    plain = _plain(value, each.unit)
    return "" if plain is None else plain


# --- in words -------------------------------------------------------------------------------------


def rows(evaluation: Evaluation) -> list[tuple[str, str, str, str]]:
    """The numbers as a person reads them: what, value, what kind it is with its band, source."""
    return [
        (each.label, each.text, ", ".join(filter(None, (each.kind, each.band))), each.source)
        for each in figures.entries(evaluation)
        if each.value is not None or each.low is not None
    ]


def equations(evaluation: Evaluation) -> list[arithmetic.Worked]:
    """The arithmetic, that of the engine first."""
    engine = [] if evaluation.ideal else arithmetic.with_engine(evaluation)
    return [*engine, *arithmetic.arithmetic(evaluation.plan)]


LEADING = ("tokens_per_s_per_request", "first_token_s", "max_concurrency")


def _in_short(evaluation, said):
    """What whoever decides reads first: question, answer, how sure, and three figures."""
    scenario = evaluation.plan.scenario
    load = f"{describe.requests(scenario.concurrency)} of {describe.tokens(scenario.context)}"
    engine = "" if evaluation.ideal_engine else f" with {evaluation.engine.name}"
    stored = presets.weight_format(scenario.weights).name
    leading = [figures.BY_KEY[key] for key in LEADING]
    return Section(
        "In short",
        paragraphs=(
            f"Question: can {describe.device(scenario)} serve {load} at once, with "
            f"{scenario.the_model.name} ({stored}){engine}?",
            f"Answer: {said}",
            f"How sure: {explain.trust(evaluation)}",
        ),
        table=Table(
            ["figure", "value", "how sure"],
            [(each.label, each.shown(evaluation), each.note(evaluation)) for each in leading],
            numbers=(1,),
        ),
    )


def document(evaluation: Evaluation, address: str = "", pictures: Iterable = ()) -> Document:
    """The whole report: verdict, pictures, numbers, the arithmetic, assumptions and limits.

    pictures: those of `charts.picture`. address: where the app is, to make the link a whole one.
    """
    verdict, detail = answer.verdict(evaluation)
    of = f"{describe.inputs(evaluation.plan)} · engine: {evaluation.engine.name}"
    table = Table(["what", "value", "kind", "source"], rows(evaluation), numbers=(1,), narrow=3)
    steps = [
        f"**{each.title}** = {each.symbols}\n`{each.numbers}` = **{each.result}**"
        for each in equations(evaluation)
    ]
    sections = (
        _in_short(evaluation, f"{verdict} {detail}".strip()),
        Section(paragraphs=(of,), pictures=pictures),
        Section("The numbers", table=table),
        Section("The arithmetic", bullets=steps),
        Section("Assumptions and limits", bullets=answer.limits(evaluation)),
    )
    return Document(verdict, sections, f"{address}?{encode(evaluation.plan.scenario)}")
