"""Scenario -> Plan: every number that the page, the charts, the report and the API show.

There is this one path. A chart is the same function called with an array for the input that varies.
A plan has three parts, to be read beside their parts of `planner.formulas`: memory, a decode step,
a prompt. Their numbers stand side by side: `plan.fits`, `plan.decode_step_s`, `plan.ttft_s`.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner import formulas
from planner.hardware import adapters, drafted, host, parallel
from planner.hardware.accelerator import Accelerator
from planner.hardware.drafted import Draft
from planner.hardware.parallel import Stage
from planner.inputs import presets
from planner.inputs.scenario import Scenario
from planner.models import states
from planner.models.drafting import MTP
from planner.models.model import CacheShape, Model
from planner.models.precision import Weights, weight_bytes
from planner.units import GB, TERA

WIDTHS = ("key_bytes", "value_bytes", "index_bytes")
READING_TOKENS_PER_S = 11  # a fast reader, some 500 words a minute


@dataclass(frozen=True)
class Inputs:
    """What is planned, in SI units; arrays where an input was given as an array."""

    scenario: Scenario
    model: Model
    device: Accelerator
    weights: Weights
    stages: tuple[Stage, ...]  # with what drafts on them
    own_stages: tuple[Stage, ...]  # the model's own
    host: Stage  # what is in host memory
    draft: Draft | None
    slot_bytes: tuple[float, ...]  # of one adapter, on each device of each stage
    concurrency: float
    context_tokens: float
    prompt_tokens: float
    output_tokens: float  # 0 where no new prompts arrive
    memory_usable_bytes: float  # of one device, as bandwidth and peak are
    bandwidth_bytes_per_s: float
    peak_flops: float
    host_bandwidth_bytes_per_s: float


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
    host_weights_bytes: float
    host_cache_bytes: float
    draft_weights_bytes: float  # of all devices together, as the next
    draft_cache_bytes: float
    adapter_bytes: float  # of all slots on all devices
    memory_needed_bytes: float
    memory_free_bytes: float  # negative by as much as is missing
    fits: bool
    max_concurrency: float
    max_context_tokens: float


@dataclass(frozen=True)
class Decode:
    """One token for every request, or with a drafter a step that yields several: then its time is
    that of a token in the mean, and what is read is of the step. Bytes are those of the devices
    that read at once, stage after stage; FLOPs those of all requests and devices, for one token
    each. Crossovers are of what is on devices, and of the model alone.
    """

    experts_read: float  # part of the routed experts that a step reads, 0 to 1
    weights_read_bytes: float
    cache_read_bytes: float
    weights_read_s: float
    cache_read_s: float
    host_read_bytes: float  # of weights and caches there, which are read after the devices' own
    host_read_s: float
    draft_read_bytes: float  # for all tokens guessed in a step
    draft_read_s: float
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
    own = states.stored(model or scenario.the_model, scenario.state_format)
    device = device or scenario.the_device
    inputs = inputs_of(scenario, own, device, varied)
    parts = (inputs, _memory(inputs), _decode(inputs), _prefill(inputs))
    return Plan(**{name: value for part in parts for name, value in vars(part).items()})


def inputs_of(scenario: Scenario, model: Model, device: Accelerator, varied: dict) -> Inputs:
    """The inputs of a plan in SI units; `varied` replaces numbers of the scenario."""

    def given(name):
        return varied.pop(name, getattr(scenario, name))

    widths = dict(zip(WIDTHS, scenario.cache_widths, strict=True))
    widths["shared_by"] = scenario.dcp
    context = given("context")
    weights = weights_of(model, scenario.weights)
    own_stages, left = host.stages(
        scenario.layout, model.groups, weights, scenario.placed, **widths
    )
    draft = _draft(scenario, model, widths)
    slots = [_slot_bytes(scenario, model, stage.layers) for stage in own_stages]
    inputs = Inputs(
        scenario=scenario,
        model=model,
        device=device,
        weights=weights,
        stages=tuple(
            replace(each, weights_bytes=each.weights_bytes + scenario.loras * slot)
            for each, slot in zip(
                (drafted.beside(stage, draft) for stage in own_stages), slots, strict=True
            )
        ),
        own_stages=own_stages,
        host=left,
        draft=draft,
        slot_bytes=tuple(slots),
        concurrency=given("concurrency"),
        context_tokens=context,
        prompt_tokens=varied.pop("prompt", scenario.prompt or context),
        output_tokens=given("output"),
        # Whole bytes, so that a memory written as the bytes needed is not short by a rounding.
        memory_usable_bytes=np.round(given("memory") * GB),
        bandwidth_bytes_per_s=given("bandwidth") * GB,
        peak_flops=given("peak") * TERA,
        host_bandwidth_bytes_per_s=scenario.host_bandwidth * GB,
    )
    if varied:
        raise TypeError(f"not a number of a scenario: {', '.join(varied)}")
    return inputs


def _slot_bytes(scenario, model, layers):
    """What a device of a stage holds for one adapter; 0 where there are none."""
    if not scenario.loras:
        return 0.0
    return adapters.slot_bytes(model, scenario.layout, layers, scenario.lora_rank)


def _draft(scenario, model, widths):
    """Who guesses for the model; None for nobody."""
    found = scenario.drafter(model)
    if found is None:
        return None
    stored = scenario.weights if found.model.id == MTP else found.model.dtype
    weights, load = weights_of(found.model, stored), (scenario.drafted, scenario.accepted)
    return drafted.on_devices(found, weights, stored, scenario.layout, *load, **widths)


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

    draft_weights = draft_cache = 0.0
    if inputs.draft:
        draft, devices = inputs.draft, layout.stage_devices
        draft_weights = draft.held_bytes * devices
        held = formulas.load_cache_bytes(draft.request_bytes(context), concurrency)
        draft_cache = held * layout.tensor

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
        host_weights_bytes=inputs.host.weights_bytes,
        host_cache_bytes=formulas.load_cache_bytes(inputs.host.request_bytes(context), concurrency),
        draft_weights_bytes=draft_weights,
        draft_cache_bytes=draft_cache,
        adapter_bytes=inputs.scenario.loras
        * sum(inputs.slot_bytes)
        * (layout.devices // layout.pipeline),
        memory_needed_bytes=needed,
        memory_free_bytes=memory - needed,
        fits=needed <= memory,
        max_concurrency=parallel.max_concurrency(layout, stages, memory, context),
        max_context_tokens=parallel.max_context(layout, stages, memory, concurrency),
    )


def adapters_read_bytes(plan):
    """What a step reads of adapters on the devices that read at once, stage after stage.

    As many as there are requests in a group, at most all of them.
    """
    requests = parallel.requests_per_group(plan.concurrency, plan.scenario.dp)
    return np.minimum(plan.scenario.loras, requests) * sum(plan.slot_bytes)


# --- decode -------------------------------------------------------------------------------------


def _decode(inputs):
    layout, stages, model = inputs.scenario.layout, inputs.own_stages, inputs.model
    concurrency, context = inputs.concurrency, inputs.context_tokens
    bandwidth = inputs.bandwidth_bytes_per_s

    draft, requests = inputs.draft, parallel.requests_per_group(concurrency, layout.data)
    # A step checks every guess of each request, and one token more.
    experts_read = model.experts_read(concurrency * (1 + draft.tokens if draft else 1))
    read, cache_read = parallel.step_read_bytes(layout, stages, concurrency, context, experts_read)
    read = read + adapters_read_bytes(inputs)
    left = inputs.host.read_bytes(experts_read) + (
        concurrency * inputs.host.request_read_bytes(context)
    )
    left_s = formulas.read_seconds(left, inputs.host_bandwidth_bytes_per_s)
    step = formulas.decode_step_seconds(read, cache_read, bandwidth) + left_s
    guessed = guessed_s = 0.0
    if draft:
        guess = (draft.stage,)
        experts = draft.drafter.model.experts_read(concurrency)
        guessed = draft.tokens * sum(
            parallel.step_read_bytes(layout, guess, concurrency, context, experts)
        )
        guessed_s = formulas.read_seconds(guessed, bandwidth)
        step = formulas.speculative_seconds(step, guessed_s, draft.accepted)
    accepted = draft.accepted if draft else 1

    projection = formulas.projection_flops(model.active_parameters, concurrency)
    attention = concurrency * model.attention_flops(lambda group: group.attended(context))
    flops = projection + attention

    grows = [each for stage in stages for each, _ in stage.reads]
    windows = [most for stage in stages for _, most in stage.reads]
    fixed = sum(stage.fixed_bytes for stage in stages)
    return Decode(
        experts_read=experts_read,
        weights_read_bytes=read,
        cache_read_bytes=cache_read,
        weights_read_s=formulas.read_seconds(read, bandwidth),
        cache_read_s=formulas.read_seconds(cache_read, bandwidth),
        host_read_bytes=left,
        host_read_s=left_s,
        draft_read_bytes=guessed,
        draft_read_s=guessed_s,
        decode_step_s=step,
        tokens_per_s_per_request=formulas.tokens_per_second(step),
        tokens_per_s_total=formulas.tokens_per_second(step, concurrency),
        reading_bandwidth_bytes_per_s=formulas.bandwidth_for_step(
            read + guessed, cache_read, accepted / READING_TOKENS_PER_S, left_s
        ),
        decode_flops=flops,
        crossover_context_tokens=formulas.crossover_context(read, requests, fixed, grows, windows),
        crossover_concurrency=formulas.crossover_concurrency(
            formulas.read_seconds(
                parallel.weights_read_bytes(stages) + adapters_read_bytes(inputs), bandwidth
            ),
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

    covered = model.experts_read(new)
    read = parallel.weights_read_bytes(inputs.own_stages, covered)
    read_s = formulas.read_seconds(read, inputs.bandwidth_bytes_per_s) + formulas.read_seconds(
        inputs.host.read_bytes(covered), inputs.host_bandwidth_bytes_per_s
    )
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
