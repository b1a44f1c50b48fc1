"""Scenario -> Evaluation: a plan as its engine serves it, what it reserves and how long it takes.

The ideal engine is one more row of data: through the same lines it gives the plan's own numbers.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from planner import formulas
from planner.engines import memory as engines
from planner.engines import timing as latency
from planner.engines.memory import CacheLayers, Engine, Reserve
from planner.engines.timing import PrefillTime, StepTime, Timing
from planner.hardware import parallel
from planner.hardware.parallel import Stage
from planner.inputs.scenario import NUMBERS, Scenario
from planner.models.model import Model
from planner.plan import Plan
from planner.plan import plan as plan_of
from planner.units import GB

# Formats whose weights are multiplied at 8 bits, on devices that can.
EIGHT_BIT_WEIGHTS = ("fp8", "fp8-block")
NEAREST_VECTOR_SHARE = 1 / 4  # of the 16-bit peak, where no source has a device's FP32 rate


@dataclass(frozen=True)
class Band:
    """A number and the ends of its band; all three equal where nothing is uncertain.

    The band of a time or a rate holds 80 % of measurements; that of a memory, of all that an engine
    reserves at its most and at its least.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """A scenario worked out: its plan, and what its engine makes of it; arrays where that has some.

    plan: by counting alone, in SI units. step: a decode step of the plan's load by its parts.
    mixed: the same while new prompts arrive, None where the scenario has no output length. first:
    one prompt alone, by its parts. reserve: of a device of the pipeline stage whose pool holds the
    fewest requests. Where counting is all (`ideal`) the numbers are the plan's own.

    >>> from planner import Scenario, evaluate
    >>> found = evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26"))
    >>> print(found.fits, found.max_concurrency < found.plan.max_concurrency)
    True True
    >>> print(found.tpot_s.low < found.tpot_s.value < found.tpot_s.high)
    True
    """

    plan: Plan
    engine: Engine
    timing: Timing
    step: StepTime
    step_s: Band
    mixed: StepTime | None
    mixed_s: Band | None
    first: PrefillTime
    ttft_s: Band
    reserve: Reserve

    @property
    def ideal_engine(self):
        """Whether the engine is the ideal one, as it is or with figures changed."""
        return self.engine.id == "ideal"

    @property
    def ideal(self):
        """Whether counting is all: the ideal engine, and no figure of it changed."""
        return self.ideal_engine and not self.plan.scenario.set

    @property
    def tpot_s(self) -> Band:
        """The time per token: while new prompts arrive, where the scenario says how often."""
        return self.mixed_s or self.step_s

    @property
    def tokens_per_s_per_request(self) -> Band:
        """Tokens per second of one request; the slow end of the step is the low end."""
        return _rate(self.tpot_s, 1)

    @property
    def tokens_per_s_total(self) -> Band:
        """Tokens per second of all requests together."""
        return _rate(self.tpot_s, self.plan.concurrency)

    @property
    def max_concurrency(self):
        """The most requests of this context: those that the engine's own pool holds."""
        if self.ideal:
            return self.plan.max_concurrency
        return most_requests(self.reserve, self.plan.scenario)

    @cached_property
    def max_context_tokens(self):
        """The longest context at this concurrency, as the engine's own pool holds it."""
        if self.ideal:
            return self.plan.max_context_tokens
        return longest_context(self.plan, self.engine)

    @property
    def fits(self):
        """Whether the load fits: the engine's own pool holds it."""
        if self.ideal:
            return self.plan.fits
        return self.max_concurrency >= self.plan.concurrency


def parts(step: StepTime) -> list[tuple[str, float]]:
    """The parts of a step by the names that the page gives them, in drawing order; seconds."""
    return [
        ("weights", step.weights_s),
        ("cache", step.cache_s),
        ("compute", step.compute_s),
        ("overhead", step.overhead_s + step.tensor_s),
        ("prompts", step.prompts_s),
    ]


def evaluate(
    scenario: Scenario, *, model: Model | None = None, engine: Engine | None = None, **varied
) -> Evaluation:
    """Work out a scenario with its engine: what fits, how long it takes, and how sure that is.

    model: replaces the scenario's own. engine: replaces its own for what is reserved. Any number of
    the scenario (concurrency, context, bandwidth, memory, peak; its units) may be replaced by
    another or by an array, as `plan` takes them.

    >>> import numpy as np
    >>> from planner import Scenario, evaluate
    >>> evaluate(Scenario(), context=np.array([8192, 65_536])).fits
    array([ True, False])
    """
    plan = plan_of(scenario, model=model, **varied)
    model, timing = plan.model, scenario.the_timing
    engine = engine or scenario.the_engine
    step = _step(
        plan,
        timing,
        plan.weights_read_bytes,
        plan.cache_read_bytes,
        plan.decode_flops / scenario.layout.stage_devices,
    )
    mixed = None
    if scenario.output:
        mixed = timing.mix(
            step,
            parallel.requests_per_group(plan.concurrency, scenario.dp),
            scenario.output,
            plan.prefill_flops / scenario.tp,
            model.layers,
            plan.peak_flops,
        )
    dense = (timing.mix_low, timing.mix_high)
    band = (timing.mix_experts_low, timing.mix_experts_high) if model.experts else dense
    first = _first(plan, timing)
    first_s = np.maximum(first.total_s, plan.ttft_s) if engine.id == "ideal" else first.total_s
    return Evaluation(
        plan=plan,
        engine=engine,
        timing=timing,
        step=step,
        step_s=_band(step.total_s, timing.decode_low, timing.decode_high),
        mixed=mixed,
        mixed_s=_band(mixed.total_s, *band) if mixed else None,
        first=first,
        ttft_s=_band(first_s, timing.prefill_low, timing.prefill_high),
        reserve=reserve(plan, engine),
    )


def _rate(step, count):
    ends = (step.value, step.high, step.low)
    return Band(*(formulas.tokens_per_second(seconds, count) for seconds in ends))


def _band(value, low, high):
    return Band(value, value * low, value * high)


def _step(plan, timing, weights_bytes, cache_bytes, flops):
    """A pass over one token of each request: a device's own bytes and arithmetic, side by side."""
    scenario = plan.scenario
    return timing.step(
        weights_bytes,
        cache_bytes,
        flops,
        plan.model.layers,
        plan.bandwidth_bytes_per_s,
        plan.peak_flops,
        vector_flops=vector_flops(plan),
        experts=bool(plan.model.experts),
        tensor_parallel=scenario.tp > 1,
    )


def vector_flops(plan: Plan) -> float:
    """The device's FP32 rate without matrix units; a share of its peak where no source has it."""
    known = latency.vector_rates().get(plan.scenario.device)
    return known or plan.peak_flops * NEAREST_VECTOR_SHARE


def _first(plan, timing):
    """One prompt by itself on one group of devices."""
    scenario, model = plan.scenario, plan.model
    alone = parallel.weights_read_bytes(plan.stages, model.experts_read(tokens=1))
    floor = _step(plan, timing, alone, 0, 0)
    link = scenario.the_device.link_gb_s
    sent = formulas.all_reduce_bytes(model.layers, model.width, plan.prompt_tokens, scenario.tp)
    return timing.prefill(
        plan.prefill_flops,
        floor,
        plan.peak_flops * peak_share(scenario, timing),
        devices=scenario.tp,
        link_bytes=sent if scenario.tp > 1 and link else 0.0,
        link=link * GB if link else np.inf,
    )


def peak_share(scenario, timing) -> float:
    """The peak that an engine's prefill can reach, against the 16-bit one of the data sheet.

    8-bit weights are multiplied at 8 bits where the device can. llama.cpp sums 16-bit products at
    16 bits, which GeForce cards do at twice the rate of the figure with 32-bit sums.
    """
    device = scenario.the_device
    if timing.engine == "ideal":
        return 1.0
    if scenario.weights in EIGHT_BIT_WEIGHTS and device.fp8_tflops and timing.group == "serving":
        return device.fp8_tflops / device.fp16_tflops
    geforce = (device.vendor, device.kind) == ("NVIDIA", "consumer GPU")
    return 2.0 if geforce and timing.engine.startswith("llama.cpp-cuda") else 1.0


def reserve(plan: Plan, engine: Engine) -> Reserve:
    """What the engine takes of a device, and what its pool then holds.

    Of the pipeline stage whose pool holds the fewest requests, since all of them wait for it.
    """
    alike = {(stage.groups, stage.weights_bytes): stage for stage in plan.stages}
    held = [_stage_reserve(plan, engine, stage) for stage in alike.values()]
    fewest = [-each.concurrency for each in held]
    amounts = {
        field.name: parallel.where_greatest([getattr(each, field.name) for each in held], fewest)
        for field in fields(Reserve)
        if field.name != "engine"
    }
    return Reserve(engine=engine, **amounts)


def _stage_reserve(plan, engine, stage):
    """The same of one stage. One that stores nothing holds any number of requests, if it fits."""
    model, scenario = plan.model, plan.scenario
    layers = cache_layers(scenario, stage)
    held = engines.reserve(
        engine,
        total_bytes=plan.memory_usable_bytes,
        weights_bytes=stage.weights_bytes,
        layers=layers or [CacheLayers(1, token_bytes=1.0)],
        context_tokens=plan.context_tokens,
        width=model.width,
        vocabulary=model.vocabulary,
        query_heads=max(group.query_heads for group in model.groups) // scenario.tp,
        devices=scenario.layout.devices,
    )
    if layers:
        return held
    return replace(held, concurrency=np.where(held.pool_bytes > 0, np.inf, 0.0)[()])


def cache_layers(scenario: Scenario, stage: Stage) -> list[CacheLayers]:
    """What a device of a stage stores, kind by kind."""
    found = []
    for group in stage.groups:
        for each, most in group.stores(*scenario.cache_widths):
            found.append(CacheLayers(group.layers, each / group.layers, window=most))
        if group.state_bytes:
            state = float(parallel.state_bytes(group, scenario.tp))
            found.append(CacheLayers(group.layers, 0.0, state_bytes=state))
    return found


UNBOUNDED = 2**30  # tokens beyond which a context counts as without end


def most_requests(held: Reserve, scenario) -> float:
    """Whole requests that the pools of all data-parallel groups hold."""
    return scenario.dp * np.floor(held.concurrency * (1 + 1e-12))


def longest_context(plan: Plan, engine: Engine) -> float:
    """The most tokens of each request that the engine's pool holds at this concurrency, exactly.

    0 where it holds not even one token; ∞ where it still holds `UNBOUNDED` tokens. One for each
    concurrency, where the plan has several and all else of it is one scenario's.
    """
    counts = np.asarray(plan.concurrency, float)
    low, high = np.zeros_like(counts), np.full_like(counts, UNBOUNDED + 1)
    while np.any(high - low > 1):  # low is held; as far as is known, high is not
        tried = np.geomspace(np.maximum(low, 1), high, 48, axis=-1).round()
        tried = np.clip(tried, low[..., None] + 1, np.maximum(high - 1, low + 1)[..., None])
        held = reserve(replace(plan, context_tokens=tried), engine)  # which needs no more of it
        holds = most_requests(held, plan.scenario) >= counts[..., None]
        low = np.where(holds, tried, low[..., None]).max(-1)
        high = np.where(holds, high[..., None], tried).min(-1)
    return np.where(low >= UNBOUNDED, np.inf, low)[()]


def enough_memory(evaluation: Evaluation) -> float:
    """Bytes of a device with which it fits, with an engine to a part in 5,000; 0 for none."""
    scenario = evaluation.plan.scenario
    if evaluation.ideal:
        return evaluation.plan.memory_needed_bytes
    low, high = scenario.memory, float(NUMBERS["memory"].maximum)
    for tries in (400, 100):
        tried = np.geomspace(low, high, tries)
        holds = np.flatnonzero(evaluate(scenario, memory=tried).fits)
        if not len(holds):
            return 0.0
        low, high = tried[max(holds[0] - 1, 0)], tried[holds[0]]
    return high * GB


def engine_band(engine: Engine) -> tuple[Engine, Engine]:
    """The engine with all that it keeps for itself at its most, and at its least.

    Figures that a person or the engine's documentation chose stay as they are.
    """
    unsure = {
        name: each
        for name, each in engine.figures.items()
        if each.kind in ("calibrated", "assumed") and each.low is not None
    }
    most, least = (
        {name: getattr(each, end) for name, each in unsure.items()} for end in ("high", "low")
    )
    return engine.changed(**most), engine.changed(**least)
