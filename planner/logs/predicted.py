"""What is predicted of a log's set-up: the model's share of one device, and the rows against it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from planner.engines.memory import CacheLayers, Engine
from planner.hardware import adapters, parallel
from planner.hardware.parallel import ONE_DEVICE
from planner.inputs.scenario import Scenario
from planner.logs import defaults
from planner.logs.parse import LogReading
from planner.logs.reconcile import Row, reconcile
from planner.models.model import Model
from planner.plan import WIDTHS, weights_of
from planner.pools import cache_layers
from planner.units import GB

# Ways of drafting whose drafter keeps a layer of cache like the model's own.
ONE_LAYER = ("mtp", "eagle", "eagle3", "nextn", "medusa")


class Setup(NamedTuple):
    """All that rows are predicted from. known: whether the device is known, not a stand-in."""

    reading: LogReading
    scenario: Scenario
    engine: Engine
    known: bool
    weights_known: bool = True
    cache_known: bool = True


def predicted(setup: Setup) -> tuple[Row, ...]:
    """Predicted against printed, for a model that is known."""
    rows = reconcile(
        setup.reading,
        _engine(setup),
        total_bytes=setup.scenario.memory * GB if setup.known else None,
        **model_of(setup.scenario, setup.reading),
    )
    llama = setup.reading.engine == "llama.cpp"
    reading = setup.reading
    moved = reading.offload_gib or (reading.overridden and not reading.host_expert_layers)
    weighed = not moved and setup.weights_known
    own = () if weighed else ("weights_gib", "projected_gib")
    own += () if setup.cache_known else ALLOCATED if llama else CACHED
    if _cut_short(setup, rows):
        own += ("pool_gib",)
    release = setup.reading.release or 0
    if setup.scenario.pp > 1 and FIRST_ALL_LAYERS <= release <= LAST_ALL_LAYERS:
        own += ("needed_gib", "longest_len")
    if not setup.weights_known and setup.reading.weights_gib is None and not llama:
        own += ("pool_gib",)
    return tuple(
        row for row in rows if row.figure not in own or row.how.startswith("the log's own")
    )


def _cut_short(setup, rows):
    """Whether llama.cpp's lines on its cache are of some layers only, as where one is missing."""
    held = [group for group in setup.scenario.the_model.groups if group.kv_heads]
    printed = setup.reading.cached_layers
    return bool(rows) and printed is not None and printed < sum(each.layers for each in held)


# vLLM 0.x that asked of each pipeline stage that it hold one request of all layers.
# Source: https://github.com/vllm-project/vllm/issues/34076
FIRST_ALL_LAYERS, LAST_ALL_LAYERS = 12, 16

# Figures that depend on how keys and values are stored.
CACHED = ("tokens", "blocks", "concurrency", "longest_len", "needed_gib", "context_gib")
ALLOCATED = (*CACHED, "pool_gib", "projected_gib")


def without_model(setup: Setup) -> tuple[Row, ...]:
    """The rows that come out the same whatever the model is."""
    small, large = (
        reconcile(setup.reading, setup.engine, bytes_per_token=size, width=width, vocabulary=width)
        for size, width in ((50_000.0, 1_000), (170_000.0, 9_000))
    )
    return tuple(a for a, b in zip(small, large, strict=True) if a.predicted == b.predicted)


def _engine(setup):
    """The engine with what follows from the log and from no figure of a link."""
    engine, reading = setup.engine, setup.reading
    if reading.engine == "vllm":
        release = defaults.release(reading, engine.id)
        engine = engine.changed(state_slots=defaults.state_slots(reading, release))
    return engine


def model_of(scenario: Scenario, reading: LogReading) -> dict:
    """What `reconcile` needs of the model: bytes, layers and sizes of one device's share.

    llama.cpp's figures are of all its devices together.
    """
    model = scenario.the_model
    whole = reading.engine == "llama.cpp"
    layout = ONE_DEVICE if whole else scenario.layout
    widths = dict(zip(WIDTHS, scenario.cache_widths, strict=True))
    weights = weights_of(model, scenario.weights)
    stage = parallel.stages(layout, model.groups, weights, **widths)[0]
    held = stage.weights_bytes
    if scenario.loras and not whole:
        slot = adapters.slot_bytes(model, layout, stage.layers, scenario.lora_rank)
        held += scenario.loras * slot  # which engines count with the weights
    if whole:
        held -= weights.embedding  # which stays with the processor
        held -= weights.experts * scenario.host_experts / model.layers
    alone = replace(scenario, tp=1, pp=1, dp=1, ep=1, dcp=1) if whole else scenario
    layers = cache_layers(alone, stage)
    layers = _with_drafter(model, reading, layers)
    return {
        "bytes_per_token": sum(each.layers * each.token_bytes for each in layers) or 1.0,
        "layers": layers,
        "weights_bytes": held,
        "width": model.width,
        "vocabulary": model.vocabulary,
        "query_heads": max(group.query_heads for group in model.groups) // layout.tensor,
    }


def _with_drafter(model: Model, reading, layers: Sequence[CacheLayers]) -> list[CacheLayers]:
    """The layers with those of a drafter that caches as the model's own full layers do."""
    method = (reading.drafting or "").lower()
    # SGLang keeps the drafter's cache in a pool of its own.
    if reading.engine != "vllm" or not method.endswith(ONE_LAYER):
        return list(layers)
    full = max(layers, key=lambda each: (each.token_bytes > 0, each.window, each.token_bytes))
    more = max(1, model.draft_layers) if method.endswith(("mtp", "nextn")) else 1
    return [
        CacheLayers(each.layers + more, each.token_bytes, each.window, each.state_bytes)
        if each is full
        else each
        for each in layers
    ]
