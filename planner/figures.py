"""The table of figures: what each number of a plan is called, its unit, its formula, its value.

Page, report, comparison, questions and the API's description read this one table. A value is a
number in SI units, or an array where the evaluation has arrays; its text is made apart from it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from planner import describe, explain
from planner.engines.memory import Engine
from planner.explain import COMPUTED, GIVEN
from planner.inputs.question import Figure
from planner.inputs.scenario import ALL_NUMBERS
from planner.latency.estimate import Band
from planner.plan import Plan
from planner.pools import engine_band, longest_context, most_requests, reserve
from planner.serving import Evaluation, running_requests
from planner.units import GB

# What a number is, besides given and computed. “as set” is of the ideal engine, figures changed.
IDEAL, CALIBRATED = "ideal", "calibrated"
# The same beside a number on screen. What counting alone gives is passed by no engine: no time is
# shorter, no rate and no count higher.
NOTES = {COMPUTED: "exact", IDEAL: "upper bound"}


class Headline(NamedTuple):
    """A figure that is shown large: what a question calls it, its label where there is little room,
    the unit of a guess and its size in SI, what it consists of, and what says the same."""

    id: str
    label: str
    unit: str
    size: float
    help: Callable[[Evaluation], str]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Definition:
    """What one figure of a plan is.

    key: its name in JSON and CSV, with its SI unit. label: its name in words. kind: what the number
    by counting alone is; CALIBRATED where only an engine has the figure. formula: how it is worked
    out, in the lesson's symbols. counted: the number by counting alone; the plan's own of that key
    where it is left out. timed, reserved: the figure with an engine, where that changes it: a time
    with its band, None where it is not known, or an amount of the memory that it manages. origin:
    kind and source of the counted number, where they depend on the plan. reported: whether reports
    list it; not where it is another figure of the table, by the plan.
    """

    key: str
    label: str
    unit: str
    kind: str
    formula: str = ""
    counted: Callable[[Evaluation], Any] | None = None
    timed: Callable[[Evaluation], Band | None] | None = None
    reserved: Callable[[Plan, Engine], Any] | None = None
    origin: Callable[[Evaluation], tuple[str, str]] | None = None
    headline: Headline | None = None
    reported: bool = True

    def ideal(self, evaluation: Evaluation):
        """The number by counting alone."""
        if self.counted:
            return self.counted(evaluation)
        return getattr(evaluation.plan, self.key)

    @property
    def calibrated(self) -> bool:
        """Whether an engine changes it."""
        return bool(self.timed or self.reserved)

    def band(self, evaluation: Evaluation) -> Band | None:
        """The number as the engine serves it, and the ends of its band; None where not known.

        Its value is NaN where only the ends are known.
        """
        if evaluation.ideal or not self.calibrated:
            value = self.ideal(evaluation)
            return Band(value, value, value)
        if self.timed:
            return self.timed(evaluation)
        engines = (evaluation.engine, *engine_band(evaluation.engine))
        value, *ends = (self.reserved(evaluation.plan, engine) for engine in engines)
        return Band(value, np.minimum(*ends), np.maximum(*ends))

    def number(self, evaluation: Evaluation) -> float:
        """The same where one number is needed: a time of which no value is known is its least."""
        band = self.band(evaluation)
        return band.low if self.timed and not math.isfinite(band.value) else band.value

    def shown(self, evaluation: Evaluation) -> str:
        """The number as people read it: a range where only its ends are known."""
        band = self.band(evaluation)
        if math.isnan(band.value):
            return describe.between(band.low, band.high, self.unit)
        return self.text(band.value)

    def text(self, value: float) -> str:
        """One value as people read it."""
        return describe.amount(value, self.unit)

    def counted_origin(self, evaluation: Evaluation) -> tuple[str, str]:
        """What the number by counting alone is, and where it is from."""
        return self.origin(evaluation) if self.origin else (self.kind, self.formula)

    def engine_origin(self, evaluation: Evaluation) -> tuple[str, str]:
        """What the number with the engine is, and where it is from; no source without an engine."""
        if evaluation.ideal:
            return CALIBRATED, ""
        name, fitted_on = evaluation.engine.name, evaluation.timing.fitted_on
        if evaluation.ideal_engine:
            return "as set", f"figures of {name}"
        if self.reserved:
            return CALIBRATED, f"figures of {name}"
        if not self.timed(evaluation):
            return CALIBRATED, ""
        host = "; the speed of the host is assumed" if evaluation.plan.scenario.placed.any else ""
        return CALIBRATED, f"{name}, fitted on {fitted_on}{host}" if fitted_on else "assumed"

    def note(self, evaluation: Evaluation) -> str:
        """What the figure is, in a word or two: the ends of its band, or else its kind."""
        if evaluation.ideal or not self.calibrated:
            kind = self.counted_origin(evaluation)[0]
            return "lower bound" if (kind, self.unit) == (IDEAL, "s") else NOTES.get(kind, kind)
        band = self.band(evaluation)
        return describe.between(band.low, band.high, self.unit) or self.engine_origin(evaluation)[0]


# --- the table ------------------------------------------------------------------------------------


def _most_requests(plan, engine):
    return most_requests(reserve(plan, engine), plan.scenario)


def _known(value):
    """A number without a band; None where there is none."""
    return None if value is None else Band(value, value, value)


def _waiting(plan, engine):
    return plan.concurrency - running_requests(plan, engine)


def _input(key, name, unit, formula=""):
    """An input of the scenario that a plan does not repeat, under the label of its control."""
    label = ALL_NUMBERS[name].label
    return Definition(
        key, label, unit, GIVEN, formula, lambda own: getattr(own.plan.scenario, name)
    )


def _device(key, name, unit, counted=None):
    """A number of one device, out of its data sheet unless it was changed."""
    label = f"{ALL_NUMBERS[name].label} of a device"
    return Definition(
        key, label, unit, GIVEN, counted=counted, origin=partial(explain.from_device, name)
    )


FIGURES = (
    Definition("concurrency", ALL_NUMBERS["concurrency"].label, "requests", GIVEN),
    Definition("context_tokens", ALL_NUMBERS["context"].label, "tokens", GIVEN),
    Definition("prompt_tokens", ALL_NUMBERS["prompt"].label, "tokens", GIVEN),
    _input("prefix_tokens", "prefix", "tokens"),
    _input("output_tokens", "output", "tokens", "0: not given"),
    Definition("devices", "Devices", "devices", GIVEN,
               counted=lambda own: own.plan.scenario.layout.devices),
    _input("tensor_parallel", "tp", "devices"),
    _input("pipeline_parallel", "pp", "devices"),
    _input("data_parallel", "dp", "devices"),
    _input("expert_parallel", "ep", "devices"),
    _input("decode_context_parallel", "dcp", "devices"),
    _input("host_layers", "host_layers", "layers"),
    _input("host_expert_layers", "host_experts", "layers"),
    Definition("host_bandwidth_bytes_per_s", ALL_NUMBERS["host_bandwidth"].label, "bytes/s", GIVEN),
    Definition("host_link_bytes_per_s", ALL_NUMBERS["host_link"].label, "bytes/s", GIVEN,
               counted=lambda own: own.plan.scenario.host_link * GB),
    _input("drafted_tokens", "drafted", "tokens", "in a step, where there is a drafter"),
    _input("accepted_tokens", "accepted", "tokens", "that a step yields, where there is a drafter"),
    _input("lora_adapters", "loras", "adapters"),
    _input("lora_rank", "lora_rank", "dimensions", "where there are adapters"),
    _device("bandwidth_bytes_per_s", "bandwidth", "bytes/s"),
    _device("peak_flops_per_s", "peak", "FLOP/s", lambda own: own.plan.peak_flops),
    _device("memory_usable_bytes", "memory", "bytes"),
    # --- memory ---
    Definition("weights_bytes", "Weights", "bytes", COMPUTED, "Σ P · bits / 8",
               origin=explain.from_weights,
               headline=Headline("weights", "Weights", "GB", GB, explain.weights_help)),
    Definition("cache_bytes", "Cache", "bytes", COMPUTED, "C = c · B",
               headline=Headline("cache", "Cache", "GB", GB, explain.cache_help)),
    Definition("cache_bytes_per_token", "Cache per token", "bytes", COMPUTED,
               "2 · L · H_kv · d_h · b",
               headline=Headline("token", "Cache per token", "kB", 1e3, explain.token_help)),
    Definition("cache_bytes_per_request", "Cache of one request", "bytes", COMPUTED,
               "Σ bytes per token · n"),
    Definition("cache_fixed_bytes_per_request", "Cache of one request, whatever its context",
               "bytes", COMPUTED, "Σ L · s"),
    Definition("device_weights_bytes", "Weights on the fullest device", "bytes", COMPUTED,
               origin=explain.from_weights),
    Definition("device_cache_bytes", "Cache on the fullest device", "bytes", COMPUTED),
    Definition("host_weights_bytes", "Weights in host memory", "bytes", COMPUTED),
    Definition("host_cache_bytes", "Cache in host memory", "bytes", COMPUTED),
    Definition("draft_weights_bytes", "Weights of the drafter", "bytes", COMPUTED),
    Definition("draft_cache_bytes", "Cache of the drafter", "bytes", COMPUTED),
    Definition("adapter_bytes", "LoRA adapters", "bytes", COMPUTED, "slots · Σ 2 · r · (m + n)"),
    Definition("memory_needed_bytes", "Memory needed on the fullest device", "bytes", COMPUTED,
               "W + C"),
    Definition("memory_free_bytes", "Memory left on the fullest device", "bytes", COMPUTED,
               "M − W − C"),
    Definition("cache_pool_bytes", "Cache pool of a device", "bytes", CALIBRATED,
               reserved=lambda plan, engine: reserve(plan, engine).pool_bytes),
    Definition("engine_overhead_bytes", "Engine overhead on a device", "bytes", CALIBRATED,
               reserved=lambda plan, engine: reserve(plan, engine).overhead_bytes),
    Definition("max_concurrency", "Max concurrent requests", "requests", IDEAL, "⌊(M − W) / c⌋",
               reserved=_most_requests),
    Definition("max_context_tokens", "Max context", "tokens", IDEAL,
               "⌊((M − W) / B − fixed) / bytes per token⌋", reserved=longest_context),
    Definition("running", "Requests that run", "requests", CALIBRATED, reserved=running_requests),
    Definition("waiting", "Requests that wait", "requests", CALIBRATED, reserved=_waiting),
    # --- time ---
    Definition("decode_step_s", "Time per output token (TPOT)", "s", IDEAL, "(W + C) / BW",
               timed=lambda own: own.tpot_s,
               headline=Headline("step", "Time per output token", "ms", 1e-3, explain.step_help,
                                 ("total",))),
    # Under load where that is known, else of a prompt alone.
    Definition("first_token_s", "Time to first token (TTFT)", "s", IDEAL,
               counted=lambda own: own.plan.ttft_s,
               timed=lambda own: own.first_token_s, reported=False,
               headline=Headline("first", "Time to first token", "ms", 1e-3, explain.first_help)),
    Definition("tokens_per_s_total", "Throughput (tokens/s)", "tokens/s", IDEAL,
               "B · BW / (W + C)",
               timed=lambda own: own.tokens_per_s_total,
               headline=Headline("total", "Throughput (tokens/s)", "", 1, explain.total_help,
                                 ("step",))),
    Definition("tokens_per_s_per_request", "Speed per user (tokens/s)", "tokens/s", IDEAL,
               "BW / (W + C)",
               timed=lambda own: own.tokens_per_s_per_request),
    Definition("weights_read_s", "Reading the weights", "s", IDEAL, "W / BW"),
    Definition("cache_read_s", "Reading the caches", "s", IDEAL, "C / BW"),
    Definition("host_read_s", "Reading host memory", "s", IDEAL, "host bytes / host bandwidth"),
    Definition("draft_read_s", "Guessing the tokens of a step", "s", IDEAL, "k · (W + C) / BW"),
    Definition("draft_gain", "Speed with the drafter, of that without", "times", IDEAL,
               "max(reading, FLOPs / peak) without / with", lambda own: own.draft_gain(ideal=True),
               timed=lambda own: _known(own.draft_gain())),
    Definition("draft_gains_up_to", "Most requests at which the drafter gains", "requests", IDEAL,
               counted=lambda own: own.drafts_up_to(ideal=True),
               timed=lambda own: _known(own.drafts_up_to())),
    Definition("prefill_flops", "Work on a prompt", "FLOP", IDEAL, "2 · P · n + …"),
    Definition("prefill_s", "Prefill of a prompt", "s", IDEAL, "FLOPs / peak",
               timed=lambda own: own.ttft_s),
    Definition("ttft_s", "TTFT of a prompt alone", "s", IDEAL, "max(prefill, W / BW)",
               timed=lambda own: own.ttft_s),
    Definition("ttft_loaded_s", "TTFT under load", "s", CALIBRATED,
               timed=lambda own: own.ttft_loaded_s),
    Definition("prefill_bound_s", "Prefill, each format at its own peak", "s", IDEAL,
               "Σ FLOPs / peak of the format", lambda own: own.prefill_bound_s),
    Definition("ttft_bound_s", "TTFT of a prompt alone, lower bound", "s", IDEAL,
               "max(prefill bound, W / BW)", lambda own: own.ttft_bound_s),
    Definition("crossover_context_tokens", "Context at which caches take as long as weights",
               "tokens", IDEAL, "⌊(W / B − fixed) / bytes per token⌋"),
    Definition("crossover_concurrency", "Requests at which computing takes as long as reading",
               "requests", IDEAL, "(W / BW) / (FLOPs / peak − c / BW)"),
)  # fmt: skip
BY_KEY = {each.key: each for each in FIGURES}
HEADLINES = tuple(each for each in FIGURES if each.headline)


# --- the figures of one evaluation ----------------------------------------------------------------


def headlines(evaluation: Evaluation) -> tuple[Figure, ...]:
    """The headline figures of one scenario, with what is needed to ask for them."""
    found = []
    for each in HEADLINES:
        value, headline = float(each.number(evaluation)), each.headline
        found.append(
            Figure(
                headline.id,
                headline.label,
                each.shown(evaluation),
                headline.help(evaluation),
                value / headline.size,
                headline.unit,
                also=headline.also,
                note=each.note(evaluation),
            )
        )
    return tuple(found)


class Entry(NamedTuple):
    """One number of a report, in SI units.

    value: ∞ where there is no end; None where there is none, as of an engine that is not chosen, or
    where only the ends are known. low, high: the ends of its band, None where it has none. source:
    where it is from, in words.
    """

    key: str
    label: str
    unit: str
    value: float | None
    kind: str
    source: str
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The value as people read it; “” where there is none."""
        return "" if self.value is None else describe.amount(self.value, self.unit)

    @property
    def band(self) -> str:
        """The ends of its band as people read them; “” where it has none."""
        return "" if self.low is None else describe.between(self.low, self.high, self.unit)

    @property
    def ends(self) -> dict[str, str]:
        """The keys of the ends of its band; none where it never has one."""
        if "_calibrated" not in self.key:
            return {}
        ends = ("low", "high")
        return {end: self.key.replace("_calibrated", f"_calibrated_{end}") for end in ends}


def entries(evaluation: Evaluation) -> list[Entry]:
    """Every number of an evaluation, in the table's order: as counted, then with the engine."""
    found = []
    for each in (each for each in FIGURES if each.reported):
        if each.kind != CALIBRATED:
            kind, source = each.counted_origin(evaluation)
            value = each.ideal(evaluation)
            found.append(Entry(each.key, each.label, each.unit, value, kind, source))
        if each.calibrated:
            kind, source = each.engine_origin(evaluation)
            label = f"{each.label}, with the engine"
            own = Entry(with_engine(each.key), label, each.unit, None, kind, source)
            band = None if evaluation.ideal else each.band(evaluation)
            if band:
                value = None if math.isnan(band.value) else band.value
                own = own._replace(value=value, low=band.low, high=band.high)
            found.append(own)
    return found


def with_engine(key: str) -> str:
    """The key of a figure with an engine, its unit at its end: decode_step_calibrated_s."""
    ending = next((each for each in ("_s", "_tokens", "_bytes") if key.endswith(each)), "")
    return f"{key.removesuffix(ending)}_calibrated{ending}"
