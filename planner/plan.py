"""Scenario -> Plan: every number that the page, the charts, the report and the API show.

There is this one path. A chart is the same function called with an array for the input that varies.
A plan has three parts, to be read beside their parts of `planner.formulas`: memory, a decode step,
a prompt. Their numbers stand side by side: `plan.fits`, `plan.decode_step_s`, `plan.ttft_s`.
"""

from dataclasses import dataclass

import numpy as np

from planner import formulas
from planner.hardware import parallel
from planner.hardware.accelerator import Accelerator
from planner.hardware.parallel import Stage
from planner.inputs import presets
from planner.inputs.scenario import Scenario
from planner.models.model import CacheShape, Model
from planner.models.precision import Weights, weight_bytes
from planner.units import GB, TERA

READING_TOKENS_PER_S = 11  # a fast reader, some 500 words a minute


@dataclass(frozen=True)
class Inputs:
    """What is planned, in SI units; arrays where an input was given as an array."""

    scenario: Scenario
    model: Model
    device: Accelerator
    weights: Weights
    stages: tuple[Stage, ...]
    concurrency: float
    context_tokens: float
    prompt_tokens: float
    output_tokens: float  # 0 where no new prompts arrive
    memory_usable_bytes: float  # of one device, as bandwidth and peak are
    bandwidth_bytes_per_s: float
    peak_flops: float


@dataclass(frozen=True)
class Memory:
    """What is stored. Weights and caches are those of the whole model and load; `device_` ones, and
    the memory, are of the fullest device. On one device the two are the same.
    """

    weights_bytes: float
    cache: CacheShape
    cache_fixed_bytes_per_request: float
    cache_bytes_per_token: float  # once every window is full
    cache_bytes_per_request: float
    cache_bytes: float
    device_weights_bytes: float
    device_cache_bytes: float
    memory_needed_bytes: float
    memory_free_bytes: float  # negative by as much as is missing
    fits: bool
    max_concurrency: float
    max_context_tokens: float


@dataclass(frozen=True)
class Decode:
    """One token for every request. Bytes are those of the devices that read at once, stage after
    stage; FLOPs those of all requests and devices.
    """

    experts_read: float  # part of the routed experts that a step reads, 0 to 1
    weights_read_bytes: float
    cache_read_bytes: float
    weights_read_s: float
    cache_read_s: float
    decode_step_s: float
    tokens_per_s_per_request: float
    tokens_per_s_total: float
    reading_bandwidth_bytes_per_s: float  # at which each request gets READING_TOKENS_PER_S
    decode_flops: float
    crossover_context_tokens: float
    crossover_concurrency: float  # with every expert read, where there are any

    @property
    def cache_share_of_step(self):
        """The part of a decode step spent reading caches, 0 to 1."""
        return self.cache_read_s / self.decode_step_s


@dataclass(frozen=True)
class Prefill:
    """One prompt up to its first token."""

    new_prompt_tokens: float  # those that no cached prefix spares
    projection_flops: float
    attention_flops: float
    prefill_flops: float
    prefill_peak_flops: float  # of the devices that work on one prompt at once
    prefill_read_bytes: float
    prefill_s: float
    ttft_s: float


@dataclass(frozen=True)
class Plan(Inputs, Memory, Decode, Prefill):
    """The numbers of one scenario in SI units: inputs, memory, decode and prefill side by side."""


def plan(
    scenario: Scenario,
    *,
    model: Model | None = None,
    device: Accelerator | None = None,
    **varied,
) -> Plan:
    """Work out a scenario with the ideal engine: full bandwidth, full peak, nothing reserved.

    `model` and `device` replace the scenario's own, to hold one against another. Any number of the
    scenario (concurrency, context, prompt, output, bandwidth, memory, peak; its units) may be
    replaced by another or by an array; arrays broadcast. Varied numbers are taken as given,
    unchecked.

    >>> from planner import Scenario, plan
    >>> print(plan(Scenario(context=8192)).cache_bytes)
    17179869184.0
    """
    own = model or scenario.the_model, device or scenario.the_device
    inputs = inputs_of(scenario, *own, varied)
    parts = (inputs, _memory(inputs), _decode(inputs), _prefill(inputs))
    return Plan(**{name: value for part in parts for name, value in vars(part).items()})


def inputs_of(scenario: Scenario, model: Model, device: Accelerator, varied: dict) -> Inputs:
    """The inputs of a plan in SI units; `varied` replaces numbers of the scenario."""

    def given(name):
        return varied.pop(name, getattr(scenario, name))

    key_bytes, value_bytes = scenario.cache_widths
    context = given("context")
    weights = weights_of(model, scenario.weights)
    inputs = Inputs(
        scenario=scenario,
        model=model,
        device=device,
        weights=weights,
        stages=parallel.stages(
            scenario.layout, model.groups, weights, key_bytes=key_bytes, value_bytes=value_bytes
        ),
        concurrency=given("concurrency"),
        context_tokens=context,
        prompt_tokens=varied.pop("prompt", scenario.prompt or context),
        output_tokens=given("output"),
        # Whole bytes, so that a memory written as the bytes needed is not short by a rounding.
        memory_usable_bytes=np.round(given("memory") * GB),
        bandwidth_bytes_per_s=given("bandwidth") * GB,
        peak_flops=given("peak") * TERA,
    )
    if varied:
        raise TypeError(f"not a number of a scenario: {', '.join(varied)}")
    return inputs


def weights_of(model: Model, stored: str) -> Weights:
    """A model's weights in a format; the size of its published file where that is the format."""
    return weight_bytes(
        model.parameters,
        presets.weight_format(stored),
        embedding_parameters=model.embedding_parameters,
        head_parameters=model.head_parameters,
        expert_parameters=model.expert_parameters,
        vision_parameters=model.vision_parameters,
        host_parameters=model.host_parameters,
        file_bytes=model.file_bytes if stored == model.dtype else None,
    )


# --- memory -------------------------------------------------------------------------------------


def _memory(inputs):
    layout, stages = inputs.scenario.layout, inputs.stages
    memory, concurrency = inputs.memory_usable_bytes, inputs.concurrency
    context = inputs.context_tokens

    shape = inputs.model.cache_shape(*inputs.scenario.cache_widths)
    request = shape.request_bytes(context)

    requests = parallel.requests_per_group(concurrency, layout.data)
    weights = [stage.weights_bytes for stage in stages]
    caches = [formulas.load_cache_bytes(stage.request_bytes(context), requests) for stage in stages]
    needs = list(map(formulas.memory_needed_bytes, weights, caches))
    needed = parallel.where_greatest(needs, needs)
    return Memory(
        weights_bytes=inputs.weights.total,
        cache=shape,
        cache_fixed_bytes_per_request=shape.fixed,
        cache_bytes_per_token=shape.per_token,
        cache_bytes_per_request=request,
        cache_bytes=formulas.load_cache_bytes(request, concurrency),
        device_weights_bytes=parallel.where_greatest(weights, needs),
        device_cache_bytes=parallel.where_greatest(caches, needs),
        memory_needed_bytes=needed,
        memory_free_bytes=memory - needed,
        fits=needed <= memory,
        max_concurrency=parallel.max_concurrency(layout, stages, memory, context),
        max_context_tokens=parallel.max_context(layout, stages, memory, concurrency),
    )


# --- decode -------------------------------------------------------------------------------------


def _decode(inputs):
    layout, stages, model = inputs.scenario.layout, inputs.stages, inputs.model
    concurrency, context = inputs.concurrency, inputs.context_tokens
    bandwidth = inputs.bandwidth_bytes_per_s

    experts_read = model.experts_read(concurrency)
    read, cache_read = parallel.step_read_bytes(layout, stages, concurrency, context, experts_read)
    step = formulas.decode_step_seconds(read, cache_read, bandwidth)

    projection = formulas.projection_flops(model.active_parameters, concurrency)
    attention = concurrency * model.attention_flops(lambda group: group.attended(context))
    flops = projection + attention

    requests = parallel.requests_per_group(concurrency, layout.data)
    grows = [each for stage in stages for each in stage.bytes_per_token]
    windows = [each for stage in stages for each in stage.windows]
    fixed = sum(stage.fixed_bytes for stage in stages)
    return Decode(
        experts_read=experts_read,
        weights_read_bytes=read,
        cache_read_bytes=cache_read,
        weights_read_s=formulas.read_seconds(read, bandwidth),
        cache_read_s=formulas.read_seconds(cache_read, bandwidth),
        decode_step_s=step,
        tokens_per_s_per_request=formulas.tokens_per_second(step),
        tokens_per_s_total=formulas.tokens_per_second(step, concurrency),
        reading_bandwidth_bytes_per_s=formulas.bandwidth_for_step(
            read, cache_read, 1 / READING_TOKENS_PER_S
        ),
        decode_flops=flops,
        crossover_context_tokens=formulas.crossover_context(read, requests, fixed, grows, windows),
        crossover_concurrency=formulas.crossover_concurrency(
            formulas.read_seconds(parallel.weights_read_bytes(stages), bandwidth),
            formulas.compute_seconds(flops / concurrency, inputs.peak_flops * layout.stage_devices),
            formulas.read_seconds(cache_read / requests, bandwidth) / layout.data,
        ),
    )


# --- prefill ------------------------------------------------------------------------------------


def _prefill(inputs):
    scenario, model, prompt = inputs.scenario, inputs.model, inputs.prompt_tokens

    new = prompt - np.minimum(scenario.prefix, prompt - 1)  # at least the last token is read
    projection = formulas.projection_flops(model.active_parameters, new)
    attention = model.attention_flops(
        lambda group: group.attended_pairs(prompt) - group.attended_pairs(prompt - new)
    )
    together = inputs.peak_flops * scenario.tp
    seconds = formulas.compute_seconds(projection + attention, together)

    read = parallel.weights_read_bytes(inputs.stages, model.experts_read(new))
    read_s = formulas.read_seconds(read, inputs.bandwidth_bytes_per_s)
    return Prefill(
        new_prompt_tokens=new,
        projection_flops=projection,
        attention_flops=attention,
        prefill_flops=projection + attention,
        prefill_peak_flops=together,
        prefill_read_bytes=read,
        prefill_s=seconds,
        ttft_s=formulas.time_to_first_token_seconds(seconds, read_s),
    )
