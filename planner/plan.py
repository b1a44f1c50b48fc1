"""Scenario -> Plan: every number that the page, the charts, the report and the API show.

There is this one path. A chart is the same function called with an array for the input that varies.
"""

from dataclasses import dataclass

import numpy as np

from planner import formulas
from planner.hardware import parallel
from planner.hardware.parallel import Stage
from planner.inputs import presets
from planner.inputs.scenario import Scenario
from planner.models.model import CacheShape, Model
from planner.models.precision import Weights, weight_bytes
from planner.units import GB, TERA

READING_TOKENS_PER_S = 11  # a fast reader, some 500 words a minute


@dataclass(frozen=True)
class Plan:
    """The numbers of one scenario in SI units; arrays where an input was given as an array.

    Weights and caches are those of the whole model and load; `device_` ones, and the memory, are of
    the fullest device. On one device the two are the same.
    """

    scenario: Scenario
    model: Model
    concurrency: float
    context_tokens: float
    bandwidth_bytes_per_s: float  # of one device, as the peak is
    peak_flops: float

    weights: Weights
    cache: CacheShape
    stages: tuple[Stage, ...]

    weights_bytes: float
    cache_fixed_bytes_per_request: float
    cache_bytes_per_token: float  # once every window is full
    cache_bytes_per_request: float
    cache_bytes: float
    device_weights_bytes: float
    device_cache_bytes: float
    memory_needed_bytes: float
    memory_usable_bytes: float
    memory_free_bytes: float  # negative by as much as is missing
    fits: bool
    max_concurrency: float
    max_context_tokens: float

    experts_read: float  # part of the routed experts that a step reads, 0 to 1
    weights_read_bytes: float  # by the devices that read at once, stage after stage
    cache_read_bytes: float
    weights_read_s: float
    cache_read_s: float
    decode_step_s: float
    tokens_per_s_per_request: float
    tokens_per_s_total: float
    crossover_context_tokens: float
    decode_flops: float  # of one step, all requests and devices
    crossover_concurrency: float  # with every expert read, where there are any
    reading_bandwidth_bytes_per_s: float  # at which each request gets READING_TOKENS_PER_S

    prompt_tokens: float
    new_prompt_tokens: float  # those that no cached prefix spares
    attention_flops: float
    projection_flops: float
    prefill_flops: float
    prefill_peak_flops: float  # of the devices that work on one prompt at once
    prefill_read_bytes: float
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

    >>> from planner import Scenario, plan
    >>> print(plan(Scenario(context=8192)).cache_bytes)
    17179869184.0
    """
    model = model or scenario.the_model
    layout = scenario.layout

    def given(name):
        return varied.pop(name, getattr(scenario, name))

    concurrency, context = given("concurrency"), given("context")
    # Whole bytes, so that a memory written as the bytes needed is not short by a rounding.
    bandwidth, memory = given("bandwidth") * GB, np.round(given("memory") * GB)
    peak = given("peak") * TERA
    if varied:
        raise TypeError(f"not a number of a scenario: {', '.join(varied)}")

    weights = weights_of(model, scenario.weights)
    widths = (
        presets.cache_format(scenario.cache_k).bytes,
        presets.cache_format(scenario.cache_v).bytes,
    )
    shape = model.cache_shape(*widths)
    stores = model.stores(*widths)
    request = formulas.layered_cache_bytes(
        shape.fixed, [each for each, _ in stores], [most for _, most in stores], context
    )

    made = _stages(scenario, model, weights, concurrency)
    requests = parallel.requests_per_group(concurrency, layout.data)
    held = [formulas.load_cache_bytes(stage.request_bytes(context), requests) for stage in made]
    needs = [
        formulas.memory_needed_bytes(stage.weights_bytes, cache)
        for stage, cache in zip(made, held, strict=True)
    ]
    needed = _most(needs, needs)

    read, cache_read = parallel.step_read_bytes(layout, made, concurrency, context)
    step = formulas.decode_step_seconds(read, cache_read, bandwidth)
    grows = [each for stage in made for each in stage.bytes_per_token]
    windows = [each for stage in made for each in stage.windows]
    fixed = sum(stage.fixed_bytes for stage in made)

    each_token = _attention_flops(model, lambda g: formulas.cached_tokens(context, g.span))
    decode_flops = formulas.projection_flops(model.active_parameters, concurrency)
    decode_flops = decode_flops + each_token * concurrency
    all_read = sum(stage.weights_read_bytes for stage in _stages(scenario, model, weights, np.inf))

    prompt = scenario.prompt or context
    new = prompt - np.minimum(scenario.prefix, prompt - 1)  # at least the last token is read
    attention = _attention_flops(
        model, lambda g: g.attended_pairs(prompt) - g.attended_pairs(prompt - new)
    )
    projection = formulas.projection_flops(model.active_parameters, new)
    together = peak * layout.tensor
    prefill = formulas.compute_seconds(projection + attention, together)
    prompt_stages = _stages(scenario, model, weights, new)
    prompt_read = sum(stage.weights_read_bytes for stage in prompt_stages)
    prompt_read_s = formulas.read_seconds(prompt_read, bandwidth)
    return Plan(
        scenario=scenario,
        model=model,
        concurrency=concurrency,
        context_tokens=context,
        bandwidth_bytes_per_s=bandwidth,
        peak_flops=peak,
        weights=weights,
        cache=shape,
        stages=made,
        weights_bytes=weights.total,
        cache_fixed_bytes_per_request=shape.fixed,
        cache_bytes_per_token=shape.per_token,
        cache_bytes_per_request=request,
        cache_bytes=formulas.load_cache_bytes(request, concurrency),
        device_weights_bytes=_most([stage.weights_bytes for stage in made], needs),
        device_cache_bytes=_most(held, needs),
        memory_needed_bytes=needed,
        memory_usable_bytes=memory,
        memory_free_bytes=memory - needed,
        fits=needed <= memory,
        max_concurrency=parallel.max_concurrency(layout, made, memory, context),
        max_context_tokens=parallel.max_context(layout, made, memory, concurrency),
        experts_read=_experts_read(model, concurrency),
        weights_read_bytes=read,
        cache_read_bytes=cache_read,
        weights_read_s=formulas.read_seconds(read, bandwidth),
        cache_read_s=formulas.read_seconds(cache_read, bandwidth),
        decode_step_s=step,
        tokens_per_s_per_request=formulas.tokens_per_second(step),
        tokens_per_s_total=formulas.tokens_per_second(step, concurrency),
        crossover_context_tokens=formulas.crossover_context(read, requests, fixed, grows, windows),
        decode_flops=decode_flops,
        crossover_concurrency=formulas.crossover_concurrency(
            formulas.read_seconds(all_read, bandwidth),
            formulas.compute_seconds(decode_flops / concurrency, peak * layout.stage_devices),
            formulas.read_seconds(cache_read / requests, bandwidth) / layout.data,
        ),
        reading_bandwidth_bytes_per_s=formulas.bandwidth_for_step(
            read, cache_read, 1 / READING_TOKENS_PER_S
        ),
        prompt_tokens=prompt,
        new_prompt_tokens=new,
        attention_flops=attention,
        projection_flops=projection,
        prefill_flops=projection + attention,
        prefill_peak_flops=together,
        prefill_read_bytes=prompt_read,
        prefill_s=prefill,
        ttft_s=formulas.time_to_first_token_seconds(prefill, prompt_read_s),
    )


def plan_stages(plan: Plan, tokens) -> tuple[Stage, ...]:
    """What each device holds and, in one pass over so many tokens of text, reads."""
    return _stages(plan.scenario, plan.model, plan.weights, tokens)


def _stages(scenario, model, weights, tokens):
    return parallel.stages(
        scenario.layout,
        model.groups,
        weights,
        key_bytes=presets.cache_format(scenario.cache_k).bytes,
        value_bytes=presets.cache_format(scenario.cache_v).bytes,
        experts_read=_experts_read(model, tokens),
    )


def weights_of(model: Model, stored: str) -> Weights:
    """A model's weights in a format; the size of its published file where that is the format."""
    return weight_bytes(
        model.parameters,
        presets.weight_format(stored),
        embedding_parameters=model.embedding_parameters,
        head_parameters=model.head_parameters,
        expert_parameters=model.expert_parameters,
        vision_parameters=model.vision_parameters,
        file_bytes=model.file_bytes if stored == model.dtype else None,
    )


def _attention_flops(model, pairs):
    """FLOPs of all layers with attention; `pairs` counts a group's query-key pairs of one head."""
    return sum(
        formulas.attention_flops(g.layers, g.query_heads, g.query_dim, g.output_dim, pairs(g))
        for g in model.groups
        if g.query_heads
    )


def _experts_read(model, tokens):
    if not model.experts:
        return 0.0
    return formulas.experts_covered(model.experts, model.experts_per_token, tokens) / model.experts


def _most(values, needs):
    """The value at the stage that needs most; stages after the first only where there are some."""
    if len(values) == 1:
        return values[0]
    both = np.broadcast_arrays(*values, *needs)
    values, needs = np.stack(both[: len(values)]), np.stack(both[len(values) :])
    return np.take_along_axis(values, needs.argmax(axis=0)[None], axis=0)[0]
