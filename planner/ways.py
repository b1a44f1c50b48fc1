"""What would make a load fit: the least of each change that does, and two at once if none does."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from planner import describe
from planner.hardware import parallel
from planner.inputs import overrides, presets
from planner.inputs.scenario import NUMBERS, Scenario
from planner.plan import plan
from planner.serving import Evaluation, enough_memory, evaluate
from planner.units import GB

EIGHT_BIT = presets.cache_format("fp8")
SMALL_STEP = 2048  # tokens; what engines take on small devices
DEVICE_COUNTS = (2, 4, 8, 16, 32, 64)  # as servers and groups of them have


@dataclass(frozen=True)
class Way:
    """One way to make a load fit: what it is in words, and the scenario with it."""

    text: str
    scenario: Scenario


def ways(evaluation: Evaluation) -> list[Way]:
    """What would make the load fit: less of it, small caches or steps, more devices or memory.

    Where nothing but a device of more memory would, two changes at once come first.
    """
    found = [*_less(evaluation), *_smaller(evaluation), *_more_devices(evaluation)]
    return [*(found or _pairs(evaluation)), *_more_memory(evaluation)]


def _less(evaluation):
    """Fewer requests of this context, or as many of a shorter one."""
    scenario = evaluation.plan.scenario
    most, longest = evaluation.max_concurrency, evaluation.max_context_tokens
    if 1 <= most < scenario.concurrency:
        yield Way(describe.requests(most), replace(scenario, concurrency=int(most)))
    if NUMBERS["context"].minimum <= longest < scenario.context:
        each = " each" if scenario.concurrency > 1 else ""
        text = f"{describe.whole(longest)} tokens{each}"
        yield Way(text, replace(scenario, context=int(longest)))


def _smaller(evaluation):
    """A cache of 8 bits, or fewer tokens in a step of the engine; each as far as that is less."""
    return [way for way in _shrunk(evaluation) if evaluate(way.scenario).fits]


def _shrunk(evaluation):
    scenario = evaluation.plan.scenario
    small = with_small_cache(scenario)
    if small != scenario:
        yield Way("an 8-bit cache", small)
    if not evaluation.ideal and SMALL_STEP < evaluation.engine.batched_tokens < math.inf:
        text = f"at most {describe.whole(SMALL_STEP)} batched tokens"
        yield Way(text, with_small_step(scenario))


def _more_devices(evaluation):
    found = on_more_devices(evaluation.plan.scenario)
    if found:
        yield Way(_named(found), found)


def _named(scenario):
    """So many devices; how the model lies on them, where that is not the usual way."""
    layout = scenario.layout
    usual = parallel.layouts(scenario.the_model, layout.devices)[0]
    text = f"{layout.devices} devices"
    return text if layout == usual else f"{text} ({describe.layout(layout)})"


def _more_memory(evaluation):
    scenario = evaluation.plan.scenario
    memory = enough_memory(evaluation)
    enough = math.ceil(memory / GB * 1e3) / 1e3
    if 0 < enough <= NUMBERS["memory"].maximum:
        where = " on each device" if scenario.layout.devices > 1 else ""
        text = f"{describe.enough(memory)} of memory{where}"
        yield Way(text, replace(scenario, memory=enough))


def _pairs(evaluation):
    """The least of two changes at once: a smaller cache or step, or devices, and then the rest."""
    first = list(_shrunk(evaluation))
    single = replace(evaluation.plan.scenario, concurrency=1)
    devices = on_more_devices(single)
    if devices:
        devices = replace(devices, concurrency=evaluation.plan.scenario.concurrency)
        first.append(Way(_named(devices), devices))
    found = []
    for way in first:
        changed = evaluate(way.scenario)
        second = [*_less(changed), *_smaller(changed), *_more_devices(changed)]
        found += [Way(f"{way.text} and {each.text}", each.scenario) for each in second]
    unlike = {each.scenario: each for each in reversed(found)}  # the same pair in either order
    return [each for each in found if unlike[each.scenario] is each]


def with_small_cache(scenario: Scenario) -> Scenario:
    """The scenario with keys and values at 8 bits, or as small as they are already."""
    small = {}
    for name in ("cache_k", "cache_v"):
        wide = presets.cache_format(getattr(scenario, name)).bits > EIGHT_BIT.bits
        small[name] = EIGHT_BIT.id if wide else getattr(scenario, name)
    return replace(scenario, **small)


def with_small_step(scenario: Scenario) -> Scenario:
    """The scenario with few tokens in a step, which frees activation memory."""
    own = overrides.read(scenario.set)
    return replace(scenario, set=overrides.write({**own, "batched_tokens": SMALL_STEP}))


@lru_cache(maxsize=256)
def on_more_devices(scenario: Scenario) -> Scenario | None:
    """The scenario on the fewest devices, more than now and a power of two, on which it fits.

    Every layout of them is tried, the usual one first. None where it fits on none.
    """
    now = plan(scenario)
    total = now.weights_bytes + now.cache_bytes  # what all devices together must hold at least
    for count in DEVICE_COUNTS:
        if count <= scenario.layout.devices or total > count * now.memory_usable_bytes:
            continue
        for layout in _unlike(parallel.layouts(scenario.the_model, count)):
            sizes = {"tp": layout.tensor, "pp": layout.pipeline, "dp": layout.data}
            laid = replace(scenario, **sizes, ep=layout.expert)
            if plan(laid).fits and evaluate(laid).fits:  # the plan alone is sooner known
                return laid
    return None


def _unlike(layouts):
    """Layouts that differ in more than how experts are split, which takes as much memory."""
    found = {}
    for each in layouts:
        found.setdefault((each.tensor, each.pipeline, each.data), each)
    return found.values()
