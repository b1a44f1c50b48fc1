"""The answer in words: the verdict, what would make a load fit, and what the numbers leave out."""

from dataclasses import replace

from planner import describe
from planner.hardware import parallel
from planner.inputs import presets
from planner.inputs.scenario import NUMBERS, Scenario
from planner.serving import Evaluation, enough_memory, evaluate

EIGHT_BIT = presets.cache_format("fp8")
DEVICE_COUNTS = (2, 4, 8, 16, 32, 64)


IDEAL_LIMITS = (
    "This is the **ideal engine**: full bandwidth, full peak, nothing reserved. Over 930 published "
    "measurements the ideal time per token was 45 % too short in the median (38 % for the fastest "
    "engines). Choose an engine under “Engine” to see what it makes of it.",
    "Memory that an engine takes for itself (activations, graphs, fragments) is not counted, and "
    "with some hundred requests at once computing may take longer than reading; that is not in the "
    "time.",
)
CHANGED_LIMITS = (
    "This is the ideal engine with the figures that you changed. Nothing in it is calibrated.",
)
ENGINE_LIMITS = (
    "Times are **calibrated** on published measurements; their range holds 80 % of the "
    "measurements whose source was left out of the fit. Your model, device or version may lie "
    "outside. The page “Accuracy” shows predicted against measured.",
    "The first token is that of a prompt alone on an idle engine. In real serving, below "
    "saturation, it is known only to about a factor of two; at saturation it is queueing.",
    "What an engine keeps for itself depends on its version and options; its figures and where "
    "they are from are listed under “What the engine takes”.",
)
LIMITS = (
    "All requests have the same context, and nothing is shared between them.",
    "Several devices: the stages of a pipeline wait for one another. Experts are taken to be "
    "chosen evenly, which reads the most of them.",
)
SPARSE_LIMITS = (
    "This model's attention is **sparse**: a step scores all past tokens by a short key and reads "
    "only the best of them. The times are those of reading all, the most it can be.",
)


def limits(evaluation: Evaluation) -> tuple[str, ...]:
    """What the numbers do not hold, a text each, in which **…** is bold."""
    own = ENGINE_LIMITS
    if evaluation.ideal_engine:
        own = IDEAL_LIMITS if evaluation.ideal else CHANGED_LIMITS
    sparse = any(group.index_bytes for group in evaluation.plan.model.groups)
    return own + LIMITS + (SPARSE_LIMITS if sparse else ())


def verdict(evaluation: Evaluation) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentence that goes with it.

    Where it does not fit, the second sentence says what would make it fit.
    """
    answer, detail = (_counted if evaluation.ideal else _with_engine)(evaluation)
    ways = [] if evaluation.fits else ways_to_fit(evaluation)
    if ways:
        detail = f"{detail} It would fit with {', or '.join(ways)}.".lstrip()
    return answer, detail


def _counted(evaluation):
    """Room and speed by counting alone."""
    plan, scenario = evaluation.plan, evaluation.plan.scenario
    count = scenario.layout.devices
    where = f" on each of {count} devices" if count > 1 else ""
    if plan.fits:
        rate = describe.rate(plan.tokens_per_s_per_request)
        most = _up_to(plan.max_concurrency).capitalize()
        return (
            f"Fits, with {describe.data(plan.memory_free_bytes)} to spare{where}.",
            f"{most} of {describe.whole(scenario.context)} tokens; with "
            f"{describe.whole(scenario.concurrency)}, {_each(scenario)} sees {rate}.",
        )
    answer = f"Does not fit: {describe.data(-plan.memory_free_bytes)} too much{where}."
    if plan.device_weights_bytes > plan.memory_usable_bytes:
        weights = describe.data(plan.device_weights_bytes)
        return answer, f"The weights alone need {weights}{where}."
    return answer, ""


def _with_engine(evaluation):
    """What the engine's pool holds, and the speed."""
    scenario, name = evaluation.plan.scenario, evaluation.engine.name
    load = f"of {describe.whole(scenario.context)} tokens"
    where = " on each device" if scenario.layout.devices > 1 else ""
    pool = evaluation.reserve.pool_bytes
    pool = f"Its pool is {describe.data(pool)} ({describe.gib(pool)}){where}."
    if not evaluation.fits:
        most = evaluation.max_concurrency
        most = describe.requests(most) if most else "not one request"
        return f"Does not fit: {name} holds {most} {load}.", pool
    rate = evaluation.tokens_per_s_per_request
    least = f"{describe.significant(rate.low)} to " if rate.low < rate.high else ""
    return (
        f"Fits: {name} holds {_up_to(evaluation.max_concurrency)} {load}.",
        f"{pool} With {describe.whole(scenario.concurrency)}, {_each(scenario)} sees "
        f"{least}{describe.rate(rate.high)}.",
    )


def _each(scenario):
    return "it" if scenario.concurrency == 1 else "each"


def _up_to(most):
    limit = NUMBERS["concurrency"].maximum
    if most > limit:
        return f"more than {describe.requests(limit)}"
    return f"up to {describe.requests(most)}"


def ways_to_fit(evaluation: Evaluation) -> list[str]:
    """What would make the load fit: less of it, an 8-bit cache, devices, memory."""
    scenario, ways = evaluation.plan.scenario, []
    if evaluation.max_concurrency >= 1:
        ways.append(describe.requests(evaluation.max_concurrency))
    longest = evaluation.max_context_tokens
    if longest >= NUMBERS["context"].minimum:
        each = " each" if scenario.concurrency > 1 else ""
        ways.append(f"{describe.whole(longest)} tokens{each}")
    small = with_small_cache(scenario)
    if small != scenario and evaluate(small).fits:
        ways.append("an 8-bit cache")
    count = more_devices(scenario)
    if count:
        ways.append(f"{count} devices")
    memory = enough_memory(evaluation)
    if memory:
        where = " on each device" if scenario.layout.devices > 1 else ""
        ways.append(f"{describe.enough(memory)} of memory{where}")
    return ways


def with_small_cache(scenario: Scenario) -> Scenario:
    """The scenario with keys and values at 8 bits, or as small as they are already."""
    small = {}
    for name in ("cache_k", "cache_v"):
        wide = presets.cache_format(getattr(scenario, name)).bits > EIGHT_BIT.bits
        small[name] = EIGHT_BIT.id if wide else getattr(scenario, name)
    return replace(scenario, **small)


def more_devices(scenario: Scenario) -> int:
    """The fewest devices, more than now and a power of two, on which it fits; 0 where none do."""
    for count in DEVICE_COUNTS:
        if count > scenario.layout.devices:
            for each in parallel.layouts(scenario.the_model, count)[:1]:
                sizes = {"tp": each.tensor, "pp": each.pipeline, "dp": each.data, "ep": each.expert}
                if evaluate(replace(scenario, **sizes)).fits:
                    return count
    return 0
