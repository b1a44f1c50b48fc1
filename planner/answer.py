"""The answer in words: the verdict, what would make a load fit, and what the numbers leave out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner import describe
from planner.hardware import parallel
from planner.inputs import overrides, presets, support
from planner.inputs.scenario import NUMBERS, Scenario
from planner.serving import Evaluation, fits
from planner.units import GB

EIGHT_BIT = presets.cache_format("fp8")
SMALL_STEP = 2048  # tokens; what engines take on small devices
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
    "measurements that were left out of the fit. Your model, device or version may lie outside. "
    "The page “Accuracy” shows predicted against measured.",
    "Published measurements mostly do not say in which format the cache was, whether tokens were "
    "guessed ahead, and whether a figure is a mean or a median; what was assumed is on that page.",
    "Without an output length the first token is that of a prompt alone on an idle engine. With "
    "one it is that of a closed loop: so many requests are kept at work. Near saturation it is a "
    "range.",
    "With more requests than the engine's pool admits, the rest waits: time per token and rates "
    "are those of the requests that run.",
    "A device whose link no source states is taken to be on PCIe 4.0 of 16 lanes.",
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


def engine_warning(evaluation: Evaluation) -> str:
    """That the engine is not for the scenario's device, in words; “” where it is."""
    scenario = evaluation.plan.scenario
    refusal = support.refusal(scenario.engine, scenario.device)
    return f"{refusal} Every figure with it is hypothetical." if refusal else ""


def verdict(evaluation: Evaluation, warned: bool = True) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentences that go with it.

    Where it does not fit, the second part says what would make it fit. warned: whether that begins
    with the warning that the engine is not for the device.
    """
    answer, detail = stated(evaluation)
    ways = [] if evaluation.fits else ways_to_fit(evaluation)
    parts = [
        engine_warning(evaluation) if warned else "",
        detail,
        f"It would fit with {', or '.join(ways)}." if ways else "",
        what_runs(evaluation),
    ]
    return answer, " ".join(filter(None, parts))


def stated(evaluation: Evaluation) -> tuple[str, str]:
    """Whether it fits and by how much, and what goes with it, without what would make it fit."""
    return (_counted if evaluation.ideal else _with_engine)(evaluation)


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
        f"{pool} With {describe.whole(evaluation.running)}{_waiting(evaluation)}, "
        f"{_each(scenario)} sees {least}{describe.rate(rate.high)}.",
    )


def _waiting(evaluation):
    """Those that wait although the pool holds them all: an engine that reserves whole requests."""
    return f" ({describe.whole(evaluation.waiting)} wait)" if evaluation.waiting else ""


def what_runs(evaluation: Evaluation) -> str:
    """For which load the times hold where not all of it fits; by counting alone all of it does."""
    if evaluation.ideal or evaluation.fits:
        return ""
    if not evaluation.running:
        return "None runs: times are those of one, if it fitted."
    run, wait = describe.whole(evaluation.running), describe.whole(evaluation.waiting)
    return f"Running: {run}, waiting: {wait}; times and rates are of the running."


def _each(scenario):
    return "it" if scenario.concurrency == 1 else "each"


def _up_to(most):
    limit = NUMBERS["concurrency"].maximum
    if most > limit:
        return f"more than {describe.requests(limit)}"
    return f"up to {describe.requests(most)}"


class Way(NamedTuple):
    """What would make a load fit: in words, and the inputs that it changes, as a link has them."""

    text: str
    changes: Mapping[str, object]


@dataclass(frozen=True)
class Remedies:
    """What else than less of a load would make it fit; arrays where the evaluation has some.

    small_cache, small_step: whether an 8-bit cache would, or few tokens in a step. devices: the
    fewest, 0 where none are enough. memory_bytes: of one device, 0 where none is enough.
    """

    small_cache: bool
    small_step: bool
    devices: int
    memory_bytes: float


def remedies(evaluation: Evaluation, **varied) -> Remedies:
    """What would help. varied: numbers in place of the scenario's, of the evaluation too."""
    scenario = evaluation.plan.scenario
    small, no = with_small_cache(scenario), np.zeros_like(evaluation.fits)
    long = not evaluation.ideal and np.any(_long(evaluation))
    return Remedies(
        small_cache=fits(small, **varied) if small != scenario else no,
        small_step=fits(with_small_step(scenario), **varied) & _long(evaluation) if long else no,
        devices=more_devices(scenario, **varied),
        memory_bytes=enough_memory(evaluation, **varied),
    )


def _long(evaluation):
    """Whether a step has more tokens than it needs to."""
    tokens = evaluation.engine.batched_tokens
    return np.less(SMALL_STEP, tokens) & np.less(tokens, math.inf)


def ways(evaluation: Evaluation, found: Remedies) -> list[Way]:
    """What would make the load fit: less of it, small caches or steps, more devices or memory."""
    scenario, most = evaluation.plan.scenario, evaluation.max_concurrency
    each = " on each device" if scenario.layout.devices > 1 else ""
    able = []
    if most >= 1:
        able.append(Way(describe.requests(most), {"concurrency": int(most)}))
    longest = evaluation.max_context_tokens
    if longest >= NUMBERS["context"].minimum:
        of_each = " each" if scenario.concurrency > 1 else ""
        text = f"{describe.whole(longest)} tokens{of_each}"
        able.append(Way(text, {"context": int(longest)}))
    if found.small_cache:
        small = with_small_cache(scenario)
        able.append(Way("an 8-bit cache", {"cache_k": small.cache_k, "cache_v": small.cache_v}))
    if found.small_step:
        text = f"at most {describe.whole(SMALL_STEP)} batched tokens"
        able.append(Way(text, {"set": with_small_step(scenario).set}))
    if found.devices:
        able.append(Way(f"{found.devices} devices", sizes(scenario, int(found.devices))))
    if 0 < found.memory_bytes <= NUMBERS["memory"].maximum * GB:
        text = describe.enough(found.memory_bytes)
        able.append(Way(f"{text} of memory{each}", {"memory": enough_gb(found.memory_bytes)}))
    return able


def ways_to_fit(evaluation: Evaluation) -> list[str]:
    """What would make the load of one plan fit, in words."""
    return [each.text for each in ways(evaluation, remedies(evaluation))]


def enough_gb(count: float) -> float:
    """Bytes in GB, rounded up to three digits, as `describe.enough` writes them."""
    step = 10 ** (math.floor(math.log10(count)) - 2)
    return float(f"{math.ceil(count / step * (1 - 1e-12)) * step / GB:.6g}")


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


def enough_memory(evaluation: Evaluation, **varied):
    """Bytes of a device with which it fits, with an engine to a part in 5,000; 0 for none.

    varied: numbers in place of the scenario's, of the evaluation too; arrays of one axis.
    """
    scenario = evaluation.plan.scenario
    if evaluation.ideal:
        return evaluation.plan.memory_needed_bytes
    upright = {name: np.asarray(values)[..., None] for name, values in varied.items()}
    low = upright.pop("memory", np.full((*np.shape(evaluation.fits), 1), float(scenario.memory)))
    high = np.full_like(low, float(NUMBERS["memory"].maximum))
    enough = True
    for tries in (400, 100):
        tried = np.geomspace(low[..., 0], high[..., 0], tries, axis=-1)
        holds = fits(scenario, memory=tried, **upright)
        enough = enough & holds.any(-1)
        first = holds.argmax(-1)[..., None]
        low = np.take_along_axis(tried, np.maximum(first - 1, 0), -1)
        high = np.take_along_axis(tried, first, -1)
    return np.where(enough, high[..., 0] * GB, 0.0)[()]


def more_devices(scenario: Scenario, **varied):
    """The fewest devices, more than now and a power of two, on which it fits; 0 where none do.

    varied: numbers in place of the scenario's, of which each stop has its own answer.
    """
    fewest = 0
    for count in DEVICE_COUNTS:
        if count > scenario.layout.devices:
            wider = sizes(scenario, count)
            if wider:
                able = fits(replace(scenario, **wider), **varied)
                fewest = np.where(np.equal(fewest, 0) & able, count, fewest)[()]
        if np.all(fewest):
            break
    return fewest


def sizes(scenario: Scenario, count: int) -> dict[str, int]:
    """How the model is best laid on so many devices, as a link says it; {} where it cannot be."""
    for each in parallel.layouts(scenario.the_model, count)[:1]:
        return {"tp": each.tensor, "pp": each.pipeline, "dp": each.data, "ep": each.expert}
    return {}
