"""The answer in words: the verdict, the headline figures, how sure they are, what is left out."""

import math
from dataclasses import replace
from typing import NamedTuple

from planner import describe
from planner.hardware import parallel
from planner.hardware.accelerator import MEMORY_FROM
from planner.inputs import overrides, presets, support
from planner.inputs.scenario import NUMBERS, Scenario
from planner.latency.estimate import NEARLY, SATURATED
from planner.latency.measured import CASES
from planner.plan import Plan
from planner.plan import plan as plan_of
from planner.pools import longest_context
from planner.serving import Band, Served, capacities, enough_memory, neighbours, serve
from planner.units import GB, GIB

EIGHT_BIT = presets.cache_format("fp8")
SMALL_STEP = 2048  # tokens; what engines take on small devices
DEVICE_COUNTS = (2, 4, 8, 16, 32, 64)


class Figure(NamedTuple):
    """A headline figure: its name and value, in a word what it is, and that explained."""

    name: str
    value: str
    kind: str
    help: str


def figures(served: Served) -> list[Figure]:
    """The headline figures of a plan with its engine."""
    plan = served.plan
    stored = presets.weight_format(plan.scenario.weights)
    many = plan.scenario.layout.devices > 1
    together = " On all devices together." if many else ""
    windowed = "".join(
        f", and {describe.whole(each)} bytes until {describe.whole(most)} tokens"
        for each, most in plan.cache.windowed
    )
    fixed = f"; {describe.data(plan.cache.fixed)} whatever the context" if plan.cache.fixed else ""
    token = describe.whole(plan.cache_bytes_per_token)
    token = f"{token} bytes that one more token adds to one request"
    step, first = served.token_s, served.first_token_s
    total = served.all_per_s
    return [
        Figure(
            "Weights",
            describe.data(plan.weights_bytes),
            "file size" if plan.weights.measured else "computed",
            f"{describe.gib(plan.weights_bytes)}, {plan.weights.basis}: {stored.name}.{together}",
        ),
        Figure(
            "Cache",
            describe.data(plan.cache_bytes),
            "computed",
            f"{describe.gib(plan.cache_bytes)}. Keys and values of all past tokens, all requests."
            f"{together}",
        ),
        Figure(
            "Cache per token",
            describe.data(plan.cache_bytes_per_token),
            "computed",
            f"{token}{windowed}{fixed}.",
        ),
        Figure(
            "Time per token", describe.duration(step.value), band(served, step), step_help(served)
        ),
        Figure("First token", first_text(first), band(served, first), first_help(served)),
        Figure(
            "All, tokens/s",
            describe.significant(total.value),
            band(served, total, describe.significant),
            f"Tokens per second of all requests together.{_waits(served)}",
        ),
    ]


def memory_help(served: Served) -> str:
    """The three capacities of a device: on its label, to be allocated, for the engine to fill."""
    device, sizes = served.plan.scenario.the_device, capacities(served)
    many = " Of each device." if served.plan.scenario.layout.devices > 1 else ""
    found = f"{_both(sizes.allocatable)} can be allocated: as given.{many}"
    if sizes.label is not None:
        label = f"{device.label_gb:g} GB on the label"
        if sizes.allocatable > sizes.label:  # makers of memory chips count in GiB
            label += f", which are GiB ({describe.data(device.label_gb * GIB)})"
        read = MEMORY_FROM[device.memory_from]
        found = f"{label}. {_both(sizes.allocatable)} can be allocated: {read}.{many}"
    if served.ideal:
        return found
    part = "all" if served.engine.fraction == 1 else f"{served.engine.fraction:g}"
    fraction = f"{part} of the {served.engine.fraction_of}"
    return f"{found} {served.engine.name} may fill {_both(sizes.engine)}: {fraction}."


def _both(count):
    return f"{describe.data(count)} ({describe.gib(count)})"


def band(served: Served, figure: Band, written=describe.duration) -> str:
    """What a time is: ideal, ideal save for what was changed, or the ends of its band."""
    if served.ideal_engine:
        return "as set" if served.plan.scenario.set else "ideal"
    if math.isinf(figure.high):
        return f"at least {written(figure.low)}"
    return f"{written(figure.low)} – {written(figure.high)}"


def first_text(first: Band) -> str:
    """A time to first token: near saturation a range, beyond it without end."""
    if math.isnan(first.value):
        return f"{describe.duration(first.low)} – {describe.duration(first.high)}"
    return "without end" if math.isinf(first.value) else describe.duration(first.value)


def _waits(served):
    """A sentence on the requests that wait, where some do."""
    if not served.waiting:
        return ""
    run, wait = describe.whole(served.running), describe.whole(served.waiting)
    return f" Running: {run}, waiting: {wait}; the figure is of the running."


def certainty(served: Served) -> str:
    """How well a serving engine's step is known: the case, and the nearest measurements."""
    estimate = served.estimate
    if not estimate.case:
        return ""
    said = f"How sure: {CASES[estimate.case]}"
    found = neighbours(served)
    if not found:
        return f"{said}."
    here = [each for each in found if each.device == estimate.setup.device]
    count = len(here) or len(found)
    of = "measurements" if count > 1 else "measurement"
    where = " on this device" if here else " on other devices"
    nearest = (here or found)[0]
    times = f"{describe.duration(nearest.measured_s)} at {describe.requests(nearest.running)}"
    return f"{said}; {count} {of} of this model{where}, the nearest {times}."


def step_help(served: Served) -> str:
    """What the time per token consists of and how sure it is."""
    if served.ideal:
        return "Reading the weights and every cache once, at full bandwidth. The least it can be."
    new = " New prompts arrive meanwhile." if served.mixed else ""
    new += _waits(served)
    if served.ideal_engine:
        changed = " with the figures that you changed" if served.plan.scenario.set else ""
        ideal = describe.duration(served.plan.decode_step_s)
        return f"The ideal engine{changed}. Reading weights and caches alone: {ideal}.{new}"
    timing = served.timing
    fitted = f"Fitted on {timing.fitted_on}" if timing.fitted_on else "Assumed"
    sure = certainty(served)
    return (
        f"Calibrated for {served.engine.name}; the range holds 80 % of the measurements that were "
        f"left out of the fit. {fitted}.{f' {sure}' if sure else ''} "
        f"Ideal: {describe.duration(served.estimate.least_step_s)}.{new}"
    )


def first_help(served: Served) -> str:
    """What the time to the first token is of."""
    plan = served.plan
    spared = plan.prompt_tokens - plan.new_prompt_tokens
    cached = f", {describe.whole(spared)} of them in the cache already" if spared else ""
    prompt = f"A prompt of {describe.whole(plan.prompt_tokens)} tokens{cached}"
    if served.ideal:
        return f"{prompt} at full peak; no queue."
    passes = math.ceil(plan.new_prompt_tokens / served.engine.batched_tokens)
    chunks = f", read in {passes} passes" if passes > 1 else ""
    ideal = describe.duration(served.ttft_bound_s)
    if not served.ttft_loaded_s:
        return f"{prompt}{chunks}, alone on an idle engine; no queue. Lower bound: {ideal}."
    alone = describe.duration(served.ttft_s.value)
    wait = {
        NEARLY: "The load is near saturation, where only a range can be said.",
        SATURATED: "The load is beyond what the engine admits, so that requests wait without end.",
    }.get(served.load, "Below saturation: each request that ends is replaced by a new one.")
    return f"{prompt}{chunks}, with {_load(served)}. {wait} Alone: {alone}; lower bound: {ideal}."


def _load(served):
    output = describe.whole(served.plan.output_tokens)
    return (
        f"{describe.requests(served.plan.concurrency)} kept at work, each writing {output} tokens"
    )


IDEAL_LEFT_OUT = """
- This is the **ideal engine**: full bandwidth, full peak, nothing reserved. Over 930 published
  measurements the ideal time per token was 45 % too short in the median (38 % for the fastest
  engines). Choose an engine under “Engine” to see what it makes of it.
- Memory that an engine takes for itself (activations, graphs, fragments) is not counted, and with
  some hundred requests at once computing may take longer than reading; that is not in the time.
"""
CHANGED_LEFT_OUT = """
- This is the ideal engine with the figures that you changed. Nothing in it is calibrated.
"""
ENGINE_LEFT_OUT = """
- Times are **calibrated** on published measurements; their range holds 80 % of the measurements
  that were left out of the fit. Your model, device or version may lie outside. The page “Accuracy”
  shows predicted against measured.
- Published measurements mostly do not say in which format the cache was, whether tokens were
  guessed ahead, and whether a figure is a mean or a median; what was assumed is on that page.
- Without an output length the first token is that of a prompt alone on an idle engine. With one it
  is that of a closed loop: so many requests are kept at work. Near saturation it is a range.
- With more requests than the engine's pool admits, the rest waits: time per token and rates are
  those of the requests that run.
- A device whose link no source states is taken to be on PCIe 4.0 of 16 lanes.
- What an engine keeps for itself depends on its version and options; its figures and where they are
  from are listed under “What the engine takes”.
"""
LEFT_OUT = """
- All requests have the same context, and nothing is shared between them.
- Several devices: the stages of a pipeline wait for one another. Experts are taken to be chosen
  evenly, which reads the most of them.
"""
SPARSE_LEFT_OUT = """
- This model's attention is **sparse**: a step scores all past tokens by a short key and reads only
  the best of them. The times are those of reading all, the most it can be.
"""


def left_out(served: Served) -> str:
    """What the numbers do not hold, as a Markdown list."""
    first = IDEAL_LEFT_OUT if served.ideal_engine else ENGINE_LEFT_OUT
    if served.ideal_engine and not served.ideal:
        first = CHANGED_LEFT_OUT
    sparse = any(group.index_bytes for group in served.plan.model.groups)
    return (first + LEFT_OUT + (SPARSE_LEFT_OUT if sparse else "")).replace("\n\n", "\n").strip()


def fits(served: Served) -> bool:
    """The answer to the scenario: with its engine, or of counting alone where it is ideal."""
    return bool(served.plan.fits if served.ideal else served.fits)


def engine_warning(served: Served) -> str:
    """That the engine is not for the scenario's device, in words; “” where it is."""
    scenario = served.plan.scenario
    refusal = support.refusal(scenario.engine, scenario.device)
    return f"{refusal} Every figure with it is hypothetical." if refusal else ""


def served_verdict(served: Served, warned: bool = True) -> tuple[str, str]:
    """The answer with the scenario's engine: whether its pool holds the load, and the speed.

    warned: whether the second part begins with the warning that the engine is not for the device.
    """
    found, detail = _served_verdict(served)
    warning = engine_warning(served) if warned else ""
    return found, f"{warning} {detail}" if warning else detail


def _served_verdict(served):
    if served.ideal:
        return verdict(served.plan)
    scenario, name = served.plan.scenario, served.engine.name
    rate = served.each_per_s
    least = f"{describe.significant(rate.low)} to " if rate.low < rate.high else ""
    speed = f"each sees {least}{describe.rate(rate.high)}"
    speed = speed.replace("each", "it", 1) if scenario.concurrency == 1 else speed
    each = f"of {describe.whole(scenario.context)} tokens"
    where = " on each device" if scenario.layout.devices > 1 else ""
    pool = served.reserve.pool_bytes
    pool = f"Its pool is {describe.data(pool)} ({describe.gib(pool)}){where}"
    if served.fits:
        limit = NUMBERS["concurrency"].maximum
        most = served.max_concurrency
        most = (
            f"more than {describe.requests(limit)}"
            if most > limit
            else f"up to {describe.requests(most)}"
        )
        answer = f"Fits: {name} holds {most} {each}."
        return answer, f"{pool}. With {describe.whole(served.running)}{_waiting(served)}, {speed}."
    held = (
        describe.requests(served.max_concurrency) if served.max_concurrency else "not one request"
    )
    answer = f"Does not fit: {name} holds {held} {each}."
    ways = engine_ways(served)
    ways = f" It would fit with {', or '.join(ways)}." if ways else ""
    return answer, f"{pool}.{ways} {_what_runs(served)}"


def _waiting(served):
    """Those that wait although the pool holds them all: an engine that reserves whole requests."""
    return f" ({describe.whole(served.waiting)} wait)" if served.waiting else ""


def _what_runs(served):
    """For which load the times hold where not all of it runs."""
    if not served.running:
        return "None runs: times are those of one, if it fitted."
    run, wait = describe.whole(served.running), describe.whole(served.waiting)
    return f"Running: {run}, waiting: {wait}; times and rates are of the running."


def engine_ways(served: Served) -> list[str]:
    """What would make an engine hold the load: less of it, small caches or steps, more devices."""
    scenario, ways = served.plan.scenario, []
    if served.max_concurrency >= 1:
        ways.append(describe.requests(served.max_concurrency))
    longest = longest_context(served.plan, served.engine)
    if longest >= NUMBERS["context"].minimum:
        each = " each" if scenario.concurrency > 1 else ""
        ways.append(f"{describe.whole(longest)} tokens{each}")
    small = with_small_cache(scenario)
    if small != scenario and _held(small):
        ways.append("an 8-bit cache")
    if SMALL_STEP < served.engine.batched_tokens < math.inf and _held(with_small_step(scenario)):
        ways.append(f"at most {describe.whole(SMALL_STEP)} batched tokens")
    ways += [f"{n} devices" for n in [more_devices(scenario, _held)] if n]
    where = " on each device" if scenario.layout.devices > 1 else ""
    ways += [f"{describe.enough(n * GB)} of memory{where}" for n in [enough_memory(scenario)] if n]
    return ways


def _held(scenario):
    return bool(serve(plan_of(scenario)).fits)


def verdict(plan: Plan) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentence that goes with it.

    Where it does not fit, the second sentence says what would make it fit.
    """
    scenario = plan.scenario
    tokens = f"{describe.whole(scenario.context)} tokens"
    count = scenario.layout.devices
    where = f" on each of {count} devices" if count > 1 else ""
    if plan.fits:
        each = "it" if scenario.concurrency == 1 else "each"
        limit = NUMBERS["concurrency"].maximum
        most = plan.max_concurrency
        up_to = (
            f"More than {describe.requests(limit)}"
            if most > limit
            else f"Up to {describe.requests(most)}"
        )
        return (
            f"Fits, with {describe.data(plan.memory_free_bytes)} to spare{where}.",
            f"{up_to} of {tokens}; with "
            f"{describe.whole(scenario.concurrency)}, {each} sees "
            f"{describe.rate(plan.tokens_per_s_per_request)}.",
        )
    missing = f"Does not fit: {describe.data(-plan.memory_free_bytes)} too much{where}."
    more = f"{describe.enough(plan.memory_needed_bytes)} of memory{where}"
    ways = [f"{n} devices" for n in [more_devices(scenario)] if n]
    if plan.device_weights_bytes > plan.memory_usable_bytes:
        need = f"The weights alone need {describe.data(plan.device_weights_bytes)}{where}."
        return missing, f"{need} It would fit with {', or '.join([*ways, more])}."
    if plan_of(with_small_cache(scenario)).fits:
        ways.insert(0, "an 8-bit cache")
    if plan.max_context_tokens >= NUMBERS["context"].minimum:
        each = " each" if scenario.concurrency > 1 else ""
        ways.insert(0, f"{describe.whole(plan.max_context_tokens)} tokens{each}")
    if plan.max_concurrency >= 1:
        ways.insert(0, describe.requests(plan.max_concurrency))
    return missing, f"It would fit with {', or '.join([*ways, more])}."


def with_small_cache(scenario: Scenario) -> Scenario:
    """The scenario with keys and values at 8 bits, or as small as they are already."""
    small = {}
    for name in ("cache_k", "cache_v"):
        wide = presets.cache_format(getattr(scenario, name)).bits > EIGHT_BIT.bits
        small[name] = EIGHT_BIT.id if wide else getattr(scenario, name)
    return replace(scenario, **small)


def with_small_step(scenario: Scenario) -> Scenario:
    """The scenario with few tokens in a step, which frees working memory and shortens windows."""
    own = overrides.read(scenario.set)
    return replace(scenario, set=overrides.write({**own, "batched_tokens": SMALL_STEP}))


def _counted(scenario):
    return plan_of(scenario).fits


def more_devices(scenario: Scenario, holds=_counted) -> int:
    """The fewest devices, more than now and a power of two, on which it fits; 0 where none do.

    holds: whether a scenario does, by counting alone where nothing is said.
    """
    for count in DEVICE_COUNTS:
        if count > scenario.layout.devices:
            for each in parallel.layouts(scenario.the_model, count)[:1]:
                sizes = {"tp": each.tensor, "pp": each.pipeline, "dp": each.data, "ep": each.expert}
                if holds(replace(scenario, **sizes)):
                    return count
    return 0
