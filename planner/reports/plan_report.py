"""A plan to take along: every number with its unit, kind, band and source, as JSON, CSV, Markdown.

All three are written from one list, `numbers`. The JSON is flat and its keys say their unit (SI):
`decode_step_s`, and with an engine `decode_step_calibrated_s` with the ends of its band,
`decode_step_calibrated_low_s` and `decode_step_calibrated_high_s`. Every key is always there; null
is said of a number without end, and of a calibrated one where the engine is the ideal one. A key
keeps its meaning; `report_version` grows when one is taken away.
"""

import math
from dataclasses import fields
from typing import NamedTuple

from planner import __version__, answer, describe
from planner.inputs import presets
from planner.inputs.scenario import Scenario, device_numbers, encode
from planner.pools import engine_band, longest_context, most_requests, reserve
from planner.reports import arithmetic
from planner.reports.writing import as_table, cell, marked, shown
from planner.serving import Served, serve

REPORT_VERSION = 1
SIGNATURE = f"LLM capacity planner {__version__}, report {REPORT_VERSION}."
WHOLE = ("bytes", "tokens", "requests", "devices", "FLOP")  # units written without a point
COLUMNS = ("key", "what", "value", "unit", "kind", "low", "high", "source")


class Number(NamedTuple):
    """One number of a plan, in SI units.

    kind: given, data sheet, file size, computed, ideal, calibrated, or as set, which is of the
    ideal engine with figures changed.

    value: ∞ where there is no end; None where there is none, as of an engine that is not chosen.
    low, high: the ends of its band, None where it has none. source: where it is from, in words.
    """

    key: str
    label: str
    unit: str
    value: float | None
    kind: str
    source: str
    low: float | None = None
    high: float | None = None


def numbers(served: Served) -> list[Number]:
    """Every number of a plan, inputs first, in the order of a report."""
    return [*_given(served), *_memory(served), *_running(served), *_time(served)]


def _given(served):
    plan, scenario = served.plan, served.plan.scenario
    for key, label, unit, value in (
        ("concurrency", "Requests at once", "requests", plan.concurrency),
        ("context_tokens", "Context of each", "tokens", plan.context_tokens),
        ("prompt_tokens", "Prompt", "tokens", plan.prompt_tokens),
        ("prefix_tokens", "Prefix in cache", "tokens", scenario.prefix),
        ("output_tokens", "Output (0: not given)", "tokens", scenario.output),
        ("devices", "Devices", "devices", scenario.layout.devices),
        ("tensor_parallel", "Tensor parallel", "devices", scenario.tp),
        ("pipeline_parallel", "Pipeline stages", "devices", scenario.pp),
        ("data_parallel", "Data-parallel groups", "devices", scenario.dp),
        ("expert_parallel", "Expert parallel", "devices", scenario.ep),
    ):
        yield Number(key, label, unit, value, "given", "")
    sheet, device = device_numbers(scenario.device), scenario.the_device
    for key, name, label, unit, value in (
        ("bandwidth_bytes_per_s", "bandwidth", "Bandwidth", "bytes/s", plan.bandwidth_bytes_per_s),
        ("peak_flops_per_s", "peak", "Peak, dense 16-bit", "FLOP/s", plan.peak_flops),
        ("memory_usable_bytes", "memory", "Memory", "bytes", plan.memory_usable_bytes),
    ):
        own = getattr(scenario, name) == sheet[name]
        kind, source = ("data sheet", f"{device.name}: {device.source}") if own else ("given", "")
        yield Number(key, f"{label} of a device", unit, value, kind, source)


def _kind(served):
    """What the numbers with the engine are."""
    return "as set" if served.ideal_engine and not served.ideal else "calibrated"


def _memory(served):
    plan, real = served.plan, not served.ideal
    stored, counted = presets.weight_format(plan.scenario.weights), "counted by the model's layers"
    weights = f"{plan.weights.basis}: {stored.name}"
    for key, label, value, source in (
        ("weights_bytes", "Weights, all devices", plan.weights_bytes, weights),
        ("cache_bytes_per_token", "Cache of a token", plan.cache_bytes_per_token, counted),
        (
            "cache_fixed_bytes_per_request",
            "Cache of a request whatever its context",
            plan.cache_fixed_bytes_per_request,
            counted,
        ),
        ("cache_bytes_per_request", "Cache of a request", plan.cache_bytes_per_request, counted),
        ("cache_bytes", "Cache, all requests", plan.cache_bytes, counted),
        ("device_weights_bytes", "Weights on the fullest device", plan.device_weights_bytes, ""),
        ("device_cache_bytes", "Cache on the fullest device", plan.device_cache_bytes, ""),
        ("memory_needed_bytes", "Needed on the fullest device", plan.memory_needed_bytes, "W + C"),
        ("memory_free_bytes", "Left on the fullest device", plan.memory_free_bytes, "M − W − C"),
    ):
        measured = plan.weights.measured and "weights" in key
        yield Number(key, label, "bytes", value, "file size" if measured else "computed", source)
    for key, label, unit in (
        ("max_concurrency", "Most requests", "requests"),
        ("max_context_tokens", "Longest context", "tokens"),
    ):
        yield Number(key, label, unit, getattr(plan, key), "ideal", "nothing reserved")
    found = {}
    if real:
        most, least = engine_band(served.engine)
        ends = [reserve(plan, most), served.reserve, reserve(plan, least)]
        found = {
            "pool": [float(each.pool_bytes) for each in ends],
            "overhead": [float(each.overhead_bytes) for each in ends[::-1]],
            "requests": [float(most_requests(each, plan.scenario)) for each in ends],
            "context": [longest_context(plan, each) for each in (most, served.engine, least)],
        }
    for key, label, unit, name in (
        ("cache_pool_calibrated_bytes", "Cache pool of a device", "bytes", "pool"),
        ("engine_overhead_calibrated_bytes", "Kept by the engine, a device", "bytes", "overhead"),
        ("max_concurrency_calibrated", "Most requests", "requests", "requests"),
        ("max_context_calibrated_tokens", "Longest context", "tokens", "context"),
    ):
        low, value, high = found.get(name, (None, None, None))
        source = f"figures of {served.engine.name}" if real else ""
        kind = _kind(served)
        yield Number(key, f"{label}, with the engine", unit, value, kind, source, low, high)


def _running(served):
    """What runs of the requests asked for, by the pools of the engine at its most and least."""
    found = {}
    if not served.ideal:
        asked = served.plan.concurrency
        ends = [serve(served.plan, engine=each).running for each in engine_band(served.engine)]
        runs = [float(each) for each in (ends[0], served.running, ends[1])]
        found = {"running": runs, "waiting": [float(asked - each) for each in runs[::-1]]}
    for name, label in (("running", "Requests that run"), ("waiting", "Requests that wait")):
        low, value, high = found.get(name, (None, None, None))
        source = f"figures of {served.engine.name}" if found else ""
        key = f"{name}_calibrated"
        yield Number(
            key, f"{label}, with the engine", "requests", value, _kind(served), source, low, high
        )


def _time(served):
    plan, timing = served.plan, served.timing
    step, first = served.token_s, served.ttft_s
    each, total = served.each_per_s, served.all_per_s
    # Key and its unit's ending, label, unit, ideal and how, with an engine or None.
    rows = (
        ("weights_read", "_s", "Reading the weights", "s", plan.weights_read_s, "W / BW", None),
        ("cache_read", "_s", "Reading the caches", "s", plan.cache_read_s, "C / BW", None),
        ("decode_step", "_s", "Time per token", "s", plan.decode_step_s, "(W + C) / BW", step),
        (
            "tokens_per_s_per_request",
            "",
            "Tokens/s of each",
            "tokens/s",
            plan.tokens_per_s_per_request,
            "BW / (W + C)",
            each,
        ),
        (
            "tokens_per_s_total",
            "",
            "Tokens/s of all",
            "tokens/s",
            plan.tokens_per_s_total,
            "B · BW / (W + C)",
            total,
        ),
        (
            "prefill_flops",
            "",
            "Work on a prompt",
            "FLOP",
            plan.prefill_flops,
            "2 · P · n + …",
            None,
        ),
        ("prefill", "_s", "Prefill of a prompt", "s", plan.prefill_s, "FLOPs / peak", first),
        ("ttft", "_s", "TTFT of a prompt alone", "s", plan.ttft_s, "max(prefill, W / BW)", first),
        (
            "crossover_context",
            "_tokens",
            "Context at which caches take as long as weights",
            "tokens",
            plan.crossover_context_tokens,
            "",
            None,
        ),
        (
            "crossover_concurrency",
            "",
            "Requests at which computing takes as long as reading",
            "requests",
            plan.crossover_concurrency,
            "",
            None,
        ),
    )
    named = served.engine.name
    fitted = f"{named}, fitted on {timing.fitted_on}" if timing.fitted_on else "assumed"
    fitted = f"figures of {named}" if served.ideal_engine else fitted
    for key, ending, label, unit, value, how, band in rows:
        yield Number(f"{key}{ending}", label, unit, value, "ideal", how)
        if band:
            ends = (None,) * 3 if served.ideal else (band.value, band.low, band.high)
            source = "" if served.ideal else fitted
            name, label = f"{key}_calibrated{ending}", f"{label}, with the engine"
            yield Number(name, label, unit, ends[0], _kind(served), source, *ends[1:])
    for key, label, value in (
        ("prefill_bound_s", "Prefill, each format at its own peak", served.prefill_bound_s),
        ("ttft_bound_s", "TTFT of a prompt alone, lower bound", served.ttft_bound_s),
    ):
        yield Number(key, label, "s", value, "ideal", "each format at its own peak")
    loaded = None if served.ideal else served.ttft_loaded_s
    ends = (loaded.value, loaded.low, loaded.high) if loaded else (None,) * 3
    if loaded and math.isnan(loaded.value):
        ends = (None, *ends[1:])  # near saturation only a range is known
    source = f"{named}, below saturation" if loaded else ""
    label = "TTFT under load, with the engine"
    yield Number("ttft_loaded_calibrated_s", label, "s", ends[0], _kind(served), source, *ends[1:])


# --- JSON -----------------------------------------------------------------------------------------


def as_dict(served: Served) -> dict:
    """The flat report: strings, true or false, numbers and null; ready for strict JSON.

    `fits` is the answer, with the engine where one is chosen; `fits_ideal` that of counting alone.
    """
    plan, scenario = served.plan, served.plan.scenario
    verdict, detail = answer.served_verdict(served, warned=False)
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
        "engine_name": served.engine.name,
        "engine_set": scenario.set,
        "fits": answer.fits(served),
        "fits_ideal": bool(plan.fits),
        "fits_calibrated": None if served.ideal else bool(served.fits),
        "engine_warning": answer.engine_warning(served),
        "load_calibrated": None if served.ideal else str(served.load),
        "verdict": verdict,
        "verdict_detail": detail,
    }
    for each in numbers(served):
        found[each.key] = _plain(each.value, each.unit)
        if "_calibrated" in each.key:
            for end in ("low", "high"):
                key = each.key.replace("_calibrated", f"_calibrated_{end}")
                found[key] = _plain(getattr(each, end), each.unit)
    return found


def with_sources(served: Served) -> dict:
    """The flat report, and under `numbers` each with its label, unit, kind, band and source."""
    listed = [
        {
            **each._asdict(),
            "value": _plain(each.value, each.unit),
            "low": _plain(each.low, each.unit),
            "high": _plain(each.high, each.unit),
        }
        for each in numbers(served)
    ]
    return {**as_dict(served), "numbers": listed}


def _plain(value, unit):
    """A number as strict JSON has it: null for ∞ and for what is not there."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if unit in WHOLE and float(value).is_integer() else float(value)


# --- CSV ------------------------------------------------------------------------------------------


def as_csv(served: Served) -> str:
    """Every input and number, a row each: key, what, value, unit, kind, low, high, source."""
    return as_table(COLUMNS, cells(served))


def cells(served: Served):
    """The rows of the CSV, safe to open in a spreadsheet."""
    for key, value in {"app_version": __version__, "link": encode(served.plan.scenario)}.items():
        yield (key, "", cell(value), "", "", "", "", "")
    for field in fields(Scenario):
        value = getattr(served.plan.scenario, field.name)
        if isinstance(value, str):
            yield (field.name, "input", cell(value), "", "given", "", "", "")
    yield ("model_name", "", cell(served.plan.model.name), "", "", "", "", "")
    yield ("verdict", "", cell(answer.served_verdict(served)[0]), "", "", "", "", "")
    yield ("engine_warning", "", cell(answer.engine_warning(served)), "", "", "", "", "")
    for each in numbers(served):
        value, low, high = (_number(each, name) for name in ("value", "low", "high"))
        yield (
            each.key,
            each.label,
            value,
            each.unit,
            each.kind,
            low,
            high,
            cell(each.source),
        )


def _number(each, name):
    value = getattr(each, name)
    if value is not None and math.isinf(value):
        return "inf"
    plain = _plain(value, each.unit)
    return "" if plain is None else plain


# --- in words -------------------------------------------------------------------------------------


def rows(served: Served) -> list[tuple[str, str, str, str]]:
    """The numbers as a person reads them: what, value, what kind it is with its band, source."""
    found = []
    for each in numbers(served):
        if each.value is None and each.low is None:
            continue
        kind = each.kind
        if each.low is not None and each.low < each.high:
            kind = f"{kind}, {shown(each.low, each.unit)} – {shown(each.high, each.unit)}"
        found.append((each.label, shown(each.value, each.unit), kind, each.source))
    return found


def equations(served: Served) -> list[arithmetic.Worked]:
    """The arithmetic, that of the engine first."""
    engine = [] if served.ideal else arithmetic.with_engine(served)
    return [*engine, *arithmetic.arithmetic(served.plan)]


def as_markdown(served: Served, address: str = "") -> str:
    """The plan as a Markdown page. address: where the app is, to make the link a whole one."""
    plan = served.plan
    verdict, detail = answer.served_verdict(served)
    lines = [
        f"# {verdict}",
        "",
        detail,
        "",
        f"{describe.as_text(describe.inputs(plan))} · engine: {served.engine.name}",
        "",
        f"`{address}?{encode(plan.scenario)}`",
        "",
        "| what | value | kind | source |",
        "|---|--:|---|---|",
        *(f"| {' | '.join(map(marked, row))} |" for row in rows(served)),
        "",
        "## The arithmetic",
        "",
        *(
            f"- **{each.title}** = {marked(each.symbols)}  \n  `{each.numbers}` = **{each.result}**"
            for each in equations(served)
        ),
        "",
        "## What this leaves out",
        "",
        answer.left_out(served),
        "",
        SIGNATURE,
    ]
    return "\n".join(lines) + "\n"
