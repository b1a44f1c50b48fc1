"""What would make a load fit: less of it, small caches or steps, more devices or memory."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from planner import describe
from planner.hardware import parallel
from planner.inputs import overrides, presets
from planner.inputs.scenario import NUMBERS, Scenario
from planner.plan import plan
from planner.serving import Evaluation, evaluate, fits
from planner.units import GB

EIGHT_BIT = presets.cache_format("fp8")
SMALL_STEP = 2048  # tokens; what engines take on small devices
STEP_TEXT = f"at most {describe.whole(SMALL_STEP)} batched tokens"
DEVICE_COUNTS = (2, 4, 8, 16, 32, 64)


class Way(NamedTuple):
    """What would make a load fit: in words, and the inputs that it changes, as a link has them."""

    text: str
    changes: Mapping[str, object]


@dataclass(frozen=True)
class Remedies:
    """What else than less of a load would make it fit; arrays where the evaluation has some.

    small_cache, small_step, own_pool: whether an 8-bit cache would, few tokens in a step, or the
    engine's own pool. host_layers: the fewest in host memory, or layers' experts; devices: the
    fewest; memory_bytes: of one device; each 0 where none is enough. layout: which of the devices'
    `layouts`.
    """

    small_cache: bool
    small_step: bool
    own_pool: bool
    host_layers: int
    devices: int
    layout: int
    memory_bytes: float


def remedies(evaluation: Evaluation, **varied) -> Remedies:
    """What would help. varied: numbers in place of the scenario's, of the evaluation too."""
    scenario = evaluation.plan.scenario
    small, no = with_small_cache(scenario), np.zeros_like(evaluation.fits)
    long = not evaluation.ideal and np.any(_long(evaluation))
    own_pool = without_fixed_pool(scenario)
    devices, layout = more_devices(scenario, **varied)
    return Remedies(
        own_pool=fits(own_pool, **varied) if own_pool != scenario else no,
        host_layers=least_on_host(evaluation, **varied),
        small_cache=fits(small, **varied) if small != scenario else no,
        small_step=fits(with_small_step(scenario), **varied) & _long(evaluation) if long else no,
        devices=devices,
        layout=layout,
        memory_bytes=enough_memory(evaluation, **varied),
    )


def _long(evaluation):
    """Whether a step has more tokens than it needs to."""
    tokens = evaluation.engine.batched_tokens
    return np.less(SMALL_STEP, tokens) & np.less(tokens, math.inf)


def ways(evaluation: Evaluation, found: Remedies) -> list[Way]:
    """What would make the load fit: less of it, small caches or steps, more devices or memory.

    Where nothing but a device of more memory would, two changes at once come first.
    """
    first = _single(evaluation, found) or _pairs(evaluation)
    return [*first, *_more_memory(evaluation, found)]


def _single(evaluation, found):
    """Each change that is enough by itself, memory apart."""
    scenario, most = evaluation.plan.scenario, evaluation.max_concurrency
    able = []
    if most >= 1:
        able.append(Way(describe.requests(most), {"concurrency": int(most)}))
    longest = evaluation.max_context_tokens
    if longest >= NUMBERS["context"].minimum:
        of_each = " each" if scenario.concurrency > 1 else ""
        text = f"{describe.whole(longest)} tokens{of_each}"
        able.append(Way(text, {"context": int(longest)}))
    if found.own_pool:
        text = "the pool that the engine takes by itself"
        able.append(Way(text, {"set": without_fixed_pool(scenario).set}))
    if found.small_cache:
        small = with_small_cache(scenario)
        able.append(Way("an 8-bit cache", {"cache_k": small.cache_k, "cache_v": small.cache_v}))
    if found.small_step:
        able.append(Way(STEP_TEXT, {"set": with_small_step(scenario).set}))
    if found.host_layers:
        left = with_on_host(scenario, int(found.host_layers))
        text = describe.on_host(left).replace(f" at {left.host_bandwidth:,} GB/s:", "")
        name = _left_to_host(scenario)
        able.append(Way(text, {name: getattr(left, name)}))
    if found.devices:
        able.append(_on_devices(scenario, found))
    return able


def _more_memory(evaluation, found):
    if 0 < found.memory_bytes <= NUMBERS["memory"].maximum * GB:
        each = " on each device" if evaluation.plan.scenario.layout.devices > 1 else ""
        text = f"{describe.enough(found.memory_bytes)} of memory{each}"
        yield Way(text, {"memory": enough_gb(found.memory_bytes)})


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


def without_fixed_pool(scenario: Scenario) -> Scenario:
    """The scenario with a pool of the size that the engine chooses."""
    own = dict(overrides.read(scenario.set))
    fixed = own.pop("pool_gib", 0)
    return replace(scenario, set=overrides.write(own)) if fixed else scenario


def _left_to_host(scenario):
    """The input that leaves parts of this model to host memory: experts, or whole layers."""
    return "host_experts" if scenario.the_model.experts else "host_layers"


def with_on_host(scenario: Scenario, count: int) -> Scenario:
    """The scenario with the experts of so many layers in host memory, or with so many layers."""
    return replace(scenario, **{_left_to_host(scenario): int(count)})


def least_on_host(evaluation: Evaluation, **varied):
    """The fewest layers, or layers' experts, in host memory with which it fits; 0 for none.

    None where the engine leaves nothing to a host, and of the ideal engine, which has no host.
    varied: numbers in place of the scenario's, of which each stop has its own answer.
    """
    scenario = evaluation.plan.scenario
    shape = np.shape(evaluation.fits)
    if evaluation.ideal_engine or evaluation.engine.host == "none" or scenario.dp > 1:
        return np.zeros(shape, int)[()]
    model = scenario.the_model
    most = model.layers if model.experts else model.layers - scenario.pp
    low = np.full(shape, getattr(scenario, _left_to_host(scenario)))
    high = np.full(shape, most + 1)  # one more than all: it does not fit
    while np.any(high - low > 1):  # more in host memory never fits less
        for count in np.unique((low + high)[high - low > 1] // 2).tolist():
            fit = fits(with_on_host(scenario, count), **varied)
            at = (low < count) & (count < high)
            high = np.where(at & fit, count, high)
            low = np.where(at & ~np.asarray(fit), count, low)
    return np.where(high > most, 0, high)[()]


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
    """The fewest devices on which it fits, and which of their `layouts` holds it; 0, 0 for none.

    More than now, and a power of two; all layouts are tried, the usual one first. varied: numbers
    in place of the scenario's, of which each stop has its own answer.
    """
    now = plan(scenario, **varied)
    # What all devices together must hold.
    least = now.weights_bytes - now.host_weights_bytes + now.cache_bytes - now.host_cache_bytes
    fewest, which = np.zeros_like(least, int), np.zeros_like(least, int)
    for count in DEVICE_COUNTS:
        hopeless = np.all((least > count * now.memory_usable_bytes) | (fewest > 0))
        if count <= scenario.layout.devices or hopeless:
            continue
        for place, laid in enumerate(_laid(scenario, count)):
            if np.all(fewest > 0):
                break
            able = fits(replace(scenario, **laid), **varied) & (fewest == 0)
            fewest, which = np.where(able, count, fewest), np.where(able, place, which)
    return fewest[()], which[()]


def layouts(scenario: Scenario, count: int) -> list[dict[str, int]]:
    """The ways to lay the model on so many devices, as a link says them, the usual one first.

    Those that differ only in how experts are split take as much memory: one of them stands for all.
    """
    return list(_laid(scenario, count))


def _laid(scenario, count) -> Iterator[dict[str, int]]:
    """The same, each when it is asked for: the first is often enough."""
    found = {}
    for each in parallel.layouts(scenario.the_model, count):
        sizes = {"tp": each.tensor, "pp": each.pipeline, "dp": each.data}
        found.setdefault(tuple(sizes.values()), {**sizes, "ep": each.expert})
    return (laid for laid in found.values() if _is_possible(scenario, laid))


def _is_possible(scenario, laid):
    """Whether what else the scenario has (drafter, host memory) goes with a layout."""
    try:
        replace(scenario, **laid)
    except ValueError:
        return False
    return True


def _on_devices(scenario, found):
    """More devices as a way; how the model lies on them, where that is not the usual way."""
    count = int(found.devices)
    laid = next(islice(_laid(scenario, count), int(found.layout), None))
    how = describe.layout(replace(scenario, **laid).layout)
    return Way(f"{count} devices{f' ({how})' if found.layout else ''}", laid)


def _pairs(evaluation):
    """Two changes at once, for where no single one helps: a smaller cache or step, or devices that
    hold one request at least, and what it takes besides."""
    scenario, found = evaluation.plan.scenario, {}
    for first in _first(evaluation):
        changed = evaluate(replace(scenario, **first.changes))
        for way in _single(changed, remedies(changed)):
            changes = {**first.changes, **way.changes}
            found.setdefault(tuple(sorted(changes)), Way(f"{first.text} and {way.text}", changes))
    return list(found.values())


def _first(evaluation):
    """What can be the first of two changes."""
    scenario = evaluation.plan.scenario
    small = with_small_cache(scenario)
    if small != scenario:
        yield Way("an 8-bit cache", {"cache_k": small.cache_k, "cache_v": small.cache_v})
    if not evaluation.ideal and _long(evaluation):
        yield Way(STEP_TEXT, {"set": with_small_step(scenario).set})
    one = remedies(evaluate(replace(scenario, concurrency=1)))
    if one.devices:
        yield _on_devices(scenario, one)
