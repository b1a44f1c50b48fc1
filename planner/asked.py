"""What a plan asks of its devices, and with which constants an engine answers."""

from dataclasses import replace

from planner.engines.calibration import Timing, timings
from planner.engines.passes import Work
from planner.engines.timing import KernelTiming, by_kernels, serving_engines
from planner.hardware.drafted import cut
from planner.inputs import overrides, presets
from planner.latency import measured
from planner.latency.guesses import Guess
from planner.latency.measured import Setup
from planner.latency.work import Formats, Host, Load, Rates, kernels, work
from planner.plan import Plan, adapters_read_bytes
from planner.units import GB


def _formats(plan):
    scenario = plan.scenario
    return Formats(
        plan.weights,
        presets.weight_format(scenario.weights),
        presets.cache_format(scenario.cache_k),
        presets.cache_format(scenario.cache_v),
    )


def _load(plan):
    shared_by = plan.scenario.dcp
    return Load(plan.context_tokens, plan.prompt_tokens, plan.new_prompt_tokens, shared_by)


def work_of(plan: Plan) -> Work:
    """What a plan asks of each of its devices."""
    rates = Rates(plan.device, plan.bandwidth_bytes_per_s, plan.peak_flops)
    load = _load(plan)
    scenario = plan.scenario
    host = Host(scenario.placed, scenario.host_bandwidth * GB, scenario.host_link * GB)
    asked = work(plan.model, _formats(plan), scenario.layout, rates, load, host)
    if not scenario.loras:
        return asked
    return replace(asked, dense_bytes=asked.dense_bytes + adapters_read_bytes(plan))


def guess_of(plan: Plan, engine: str, groups=1.0) -> Guess | None:
    """What guessing asks of each device, with an engine's constants; None where nobody guesses."""
    draft, scenario = plan.draft, plan.scenario
    if draft is None:
        return None
    model, layout = draft.drafter.model, cut(draft.drafter, scenario.layout)
    formats = replace(
        _formats(plan), weights=draft.weights, stored=presets.weight_format(draft.stored)
    )
    rates = Rates(plan.device, plan.bandwidth_bytes_per_s, plan.peak_flops)
    load = _load(plan)
    asked = replace(work(model, formats, layout, rates, load), groups=groups)
    timing = _timing(scenario, engine, model, formats, layout, plan.device)
    return Guess(asked, timing, draft.tokens, draft.accepted)


def timing_of(plan: Plan, engine: str) -> Timing | KernelTiming:
    """The constants of an engine for a plan, with those that the scenario sets."""
    scenario = plan.scenario
    return _timing(scenario, engine, plan.model, _formats(plan), scenario.layout, plan.device)


def _timing(scenario, engine, model, formats, layout, device):
    if engine in serving_engines():
        chosen = kernels(model, formats, layout, device)
        timing = by_kernels(engine, chosen)
    else:
        timing = timings()[engine]
    return timing.changed(overrides.of_time(overrides.read(scenario.set)))


def setup_of(plan: Plan, timing: Timing | KernelTiming) -> Setup:
    """Whom to ask about a plan among the measurements."""
    scenario = plan.scenario
    family = timing.family if isinstance(timing, KernelTiming) else timing.engine
    shape = measured.shape(plan.model)
    return Setup(shape, plan.device.id, family, scenario.weights, scenario.tp)
