"""Scenario -> Plan: every number that the page, the charts, the report and the API show.

There is this one path. A chart is the same function called with an array for the input that varies.
"""

from dataclasses import dataclass

import numpy as np

from planner import formulas
from planner.accelerator import GB
from planner.model import Model
from planner.scenario import Scenario

TERA = 10**12
READING_TOKENS_PER_S = 11  # a fast reader, some 500 words a minute


@dataclass(frozen=True)
class Plan:
    """The numbers of one scenario in SI units; arrays where an input was given as an array."""

    scenario: Scenario
    model: Model
    concurrency: float
    context_tokens: float
    bandwidth_bytes_per_s: float
    peak_flops: float

    weights_bytes: float
    cache_fixed_bytes_per_request: float
    cache_bytes_per_token: float
    cache_bytes_per_request: float
    cache_bytes: float
    memory_needed_bytes: float
    memory_usable_bytes: float
    memory_free_bytes: float  # negative by as much as is missing
    fits: bool
    max_concurrency: float
    max_context_tokens: float

    weights_read_bytes: float  # not the input embedding's matrix, nor experts no token asked for
    weights_read_s: float
    cache_read_s: float
    decode_step_s: float
    tokens_per_s_per_request: float
    tokens_per_s_total: float
    crossover_context_tokens: float
    reading_bandwidth_bytes_per_s: float  # at which each request gets READING_TOKENS_PER_S

    attention_flops: float
    projection_flops: float
    prefill_flops: float
    prefill_s: float
    ttft_s: float

    @property
    def cache_share_of_step(self):
        """The part of a decode step spent reading caches, 0 to 1."""
        return self.cache_read_s / self.decode_step_s


def plan(scenario: Scenario, *, model: Model | None = None, **varied) -> Plan:
    """Work out a scenario with the ideal engine: full bandwidth, full peak, nothing reserved.

    `model` replaces the scenario's own, to hold one against another. Any number of the scenario
    (concurrency, context, bandwidth, memory, peak; its units) may be replaced by another or by an
    array; arrays broadcast. Varied numbers are taken as given, unchecked.
    """
    model = model or scenario.the_model

    def given(name):
        return varied.pop(name, getattr(scenario, name))

    concurrency, context = given("concurrency"), given("context")
    bandwidth, memory = given("bandwidth") * GB, given("memory") * GB
    peak = given("peak") * TERA
    if varied:
        raise TypeError(f"not a number of a scenario: {', '.join(varied)}")

    weights = model.weight_bytes()
    fixed = model.fixed_bytes
    stores = model.stores()
    per_token = [each for each, _ in stores]
    windows = [most for _, most in stores]
    grown = sum(each * formulas.cached_tokens(context, most) for each, most in stores)
    request = formulas.request_cache_bytes(fixed, 1, grown)
    cache = formulas.load_cache_bytes(request, concurrency)
    needed = formulas.memory_needed_bytes(weights, cache)
    room = (memory, weights)
    shape = (fixed, per_token, windows)

    weights_read = weights * model.read_parameters(concurrency) / model.parameters
    step = formulas.decode_step_seconds(weights_read, cache, bandwidth)

    attention = sum(
        formulas.attention_flops(
            g.layers, g.query_heads, g.query_dim, g.output_dim, g.attended_pairs(context)
        )
        for g in model.groups
        if g.query_heads
    )
    projection = formulas.projection_flops(model.active_parameters, context)
    prefill = formulas.compute_seconds(projection + attention, peak)
    prompt_read = weights * model.read_parameters(context) / model.parameters
    prompt_read_s = formulas.read_seconds(prompt_read, bandwidth)
    return Plan(
        scenario=scenario,
        model=model,
        concurrency=concurrency,
        context_tokens=context,
        bandwidth_bytes_per_s=bandwidth,
        peak_flops=peak,
        weights_bytes=weights,
        cache_fixed_bytes_per_request=fixed,
        cache_bytes_per_token=sum(each for each, most in stores if np.isinf(most)),
        cache_bytes_per_request=request,
        cache_bytes=cache,
        memory_needed_bytes=needed,
        memory_usable_bytes=memory,
        memory_free_bytes=memory - needed,
        fits=needed <= memory,
        max_concurrency=formulas.max_concurrency(*room, request),
        max_context_tokens=formulas.max_context(*room, concurrency, *shape),
        weights_read_bytes=weights_read,
        weights_read_s=formulas.read_seconds(weights_read, bandwidth),
        cache_read_s=formulas.read_seconds(cache, bandwidth),
        decode_step_s=step,
        tokens_per_s_per_request=formulas.tokens_per_second(step),
        tokens_per_s_total=formulas.tokens_per_second(step, concurrency),
        crossover_context_tokens=formulas.crossover_context(weights_read, concurrency, *shape),
        reading_bandwidth_bytes_per_s=formulas.bandwidth_for_step(
            weights_read, cache, 1 / READING_TOKENS_PER_S
        ),
        attention_flops=attention,
        projection_flops=projection,
        prefill_flops=projection + attention,
        prefill_s=prefill,
        ttft_s=formulas.time_to_first_token_seconds(prefill, prompt_read_s),
    )
