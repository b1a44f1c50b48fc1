"""What a headline figure consists of, and how sure it is: the sentences of its tooltip."""

import math

from planner import describe
from planner.hardware.accelerator import MEMORY_FROM
from planner.inputs import presets
from planner.inputs.scenario import device_numbers
from planner.latency.estimate import NEARLY, SATURATED
from planner.latency.measured import CASES
from planner.serving import Evaluation, capacities, neighbours
from planner.units import GIB

GIVEN, COMPUTED = "given", "computed"


def from_weights(evaluation: Evaluation) -> tuple[str, str]:
    """Kind and source of the weights' size."""
    plan = evaluation.plan
    stored = presets.weight_format(plan.scenario.weights)
    kind = "file size" if plan.weights.measured else COMPUTED
    return kind, f"{plan.weights.basis}: {stored.name}"


def from_device(name: str, evaluation: Evaluation) -> tuple[str, str]:
    """Kind and source of a number of one device."""
    scenario, device = evaluation.plan.scenario, evaluation.plan.scenario.the_device
    if getattr(scenario, name) == device_numbers(scenario.device)[name]:
        return "data sheet", f"{device.name}: {device.source}"
    return GIVEN, ""


def _together(plan):
    return " On all devices together." if plan.scenario.layout.devices > 1 else ""


def weights_help(evaluation: Evaluation) -> str:
    """What the weights' size is of."""
    plan, (_, source) = evaluation.plan, from_weights(evaluation)
    return f"{describe.gib(plan.weights_bytes)}, {source}.{_together(plan)}"


def cache_help(evaluation: Evaluation) -> str:
    """What the cache's size is of."""
    plan = evaluation.plan
    return (
        f"{describe.gib(plan.cache_bytes)}. Keys and values of all past tokens, all requests."
        f"{_together(plan)}"
    )


def token_help(evaluation: Evaluation) -> str:
    """What one more token adds to the cache of a request."""
    plan = evaluation.plan
    token = describe.whole(plan.cache_bytes_per_token)
    windowed = "".join(
        f", and {describe.whole(each)} bytes until {describe.whole(most)} tokens"
        for each, most in plan.cache.windowed
    )
    fixed = f"; {describe.data(plan.cache.fixed)} whatever the context" if plan.cache.fixed else ""
    return f"{token} bytes that one more token adds to one request{windowed}{fixed}."


def step_help(evaluation: Evaluation) -> str:
    """What the time per output token consists of and how sure it is."""
    if evaluation.ideal:
        return "Lower bound: weights and cache read once at peak bandwidth."
    new = " New prompts arrive meanwhile." if evaluation.mixed else ""
    new += _waits(evaluation)
    if evaluation.ideal_engine:
        ideal = describe.duration(evaluation.plan.decode_step_s)
        return (
            "The ideal engine with the figures that you changed. Reading weights and caches alone: "
            f"{ideal}.{new}"
        )
    fitted_on = evaluation.timing.fitted_on
    fitted = f"Fitted on {fitted_on}" if fitted_on else "Assumed"
    sure = certainty(evaluation)
    return (
        f"Calibrated for {evaluation.engine.name}; the range holds 80 % of the measurements that "
        f"were left out of the fit. {fitted}.{f' {sure}' if sure else ''} "
        f"Ideal: {describe.duration(evaluation.estimate.least_step_s)}.{new}"
    )


def certainty(evaluation: Evaluation) -> str:
    """How well a serving engine's step is known: the case, and the nearest measurements."""
    estimate = evaluation.estimate
    if not estimate.case:
        return ""
    sure = f"How sure: {CASES[estimate.case]}"
    found = neighbours(evaluation)
    if not found:
        return f"{sure}."
    here = [each for each in found if each.device == estimate.setup.device]
    count = len(here) or len(found)
    of = "measurements" if count > 1 else "measurement"
    where = " on this device" if here else " on other devices"
    nearest = (here or found)[0]
    times = f"{describe.duration(nearest.measured_s)} at {describe.requests(nearest.running)}"
    lengths = ""
    if nearest.output_tokens:  # else a batch that held still, whose context is not kept
        prompt, output = map(describe.whole, (nearest.prompt_tokens, nearest.output_tokens))
        lengths = f" of {prompt} + {output} tokens"
    return (
        f"{sure}; {count} {of} of this model{where}, the nearest {times}{lengths}, where "
        f"{describe.duration(nearest.predicted_s)} is predicted."
    )


def trust(evaluation: Evaluation) -> str:
    """How far the times of one plan can be trusted, for whoever asks that of theirs."""
    scenario = evaluation.plan.scenario
    plan = f"{scenario.the_model.name} on {describe.device(scenario)}"
    if evaluation.ideal:
        return (
            f"{plan} has no engine: memory is exact, times are lower bounds. Measured times are "
            "1.8 times as long (median); choose an engine for a forecast."
        )
    band = evaluation.tpot_s
    ends = describe.between(band.low, band.high, "s")
    sure = certainty(evaluation) or f"Fitted on {evaluation.timing.fitted_on or 'no measurement'}."
    return (
        f"{plan} with {evaluation.engine.name}: TPOT {describe.duration(band.value)}"
        f"{f', 80 % of measurements within {ends}' if ends else ''}. {sure}"
    )


def first_help(evaluation: Evaluation) -> str:
    """What the time to the first token is of."""
    plan = evaluation.plan
    spared = plan.prompt_tokens - plan.new_prompt_tokens
    cached = f", {describe.whole(spared)} of them in the cache already" if spared else ""
    prompt = f"A prompt of {describe.tokens(plan.prompt_tokens)}{cached}"
    if evaluation.ideal:
        return f"{prompt} at full peak; no queue."
    passes = math.ceil(plan.new_prompt_tokens / evaluation.engine.batched_tokens)
    chunks = f", read in {passes} passes" if passes > 1 else ""
    ideal = describe.duration(evaluation.ttft_bound_s)
    if not evaluation.ttft_loaded_s:
        return f"{prompt}{chunks}, alone on an idle engine; no queue. Lower bound: {ideal}."
    alone = describe.duration(evaluation.ttft_s.value)
    wait = {
        NEARLY: "The load is near saturation, where only a range can be said.",
        SATURATED: "The load is beyond what the engine admits, so the queue grows without bound.",
    }.get(evaluation.load, "Below saturation: each request that ends is replaced by a new one.")
    load = (
        f"{describe.requests(plan.concurrency)} kept at work, each writing "
        f"{describe.tokens(plan.output_tokens)}"
    )
    return f"{prompt}{chunks}, with {load}. {wait} Alone: {alone}; lower bound: {ideal}."


def total_help(evaluation: Evaluation) -> str:
    """Whose tokens the throughput counts."""
    return f"Tokens per second of all requests together.{_waits(evaluation)}"


def _waits(evaluation):
    """A sentence on the requests that wait, where some do."""
    if not evaluation.waiting:
        return ""
    run, wait = describe.whole(evaluation.running), describe.whole(evaluation.waiting)
    return f" Running: {run}, waiting: {wait}; the figure is of the running."


def memory_help(evaluation: Evaluation) -> str:
    """The three capacities of a device: on its label, to be allocated, for the engine to fill."""
    scenario, sizes = evaluation.plan.scenario, capacities(evaluation)
    device, engine = scenario.the_device, evaluation.engine
    many = " Of each device." if scenario.layout.devices > 1 else ""
    found = f"{_both(sizes.allocatable)} can be allocated: as given.{many}"
    if sizes.label is not None:
        label = f"{device.label_gb:g} GB on the label"
        if sizes.allocatable > sizes.label:  # makers of memory chips count in GiB
            label += f", which are GiB ({describe.data(device.label_gb * GIB)})"
        read = MEMORY_FROM[device.memory_from]
        found = f"{label}. {_both(sizes.allocatable)} can be allocated: {read}.{many}"
    if evaluation.ideal:
        return found
    part = "all" if engine.fraction == 1 else f"{engine.fraction:g}"
    fraction = f"{part} of the {engine.fraction_of}"
    if engine.pool_gib:
        fraction = "weights, what it keeps for itself, and a pool of a fixed size"
    return f"{found} {engine.name} may fill {_both(sizes.engine)}: {fraction}."


def _both(count):
    return f"{describe.data(count)} ({describe.gib(count)})"
