"""A plan's memory as an engine takes it: what a device reserves, and what its pool then holds."""

from dataclasses import fields, replace

import numpy as np

from planner import formulas
from planner.engines import memory as engines
from planner.engines.memory import CacheLayers, Engine, Reserve
from planner.hardware import parallel
from planner.hardware.parallel import Stage
from planner.inputs.scenario import Scenario
from planner.models.model import FP16_BYTES
from planner.plan import Plan


def reserve(plan: Plan, engine: Engine) -> Reserve:
    """What the engine takes of a device, and what its pool then holds.

    Of the pipeline stage whose pool holds the fewest requests, since all of them wait for it.
    """
    alike = {(stage.groups, stage.weights_bytes): stage for stage in plan.stages}
    held = [_stage_reserve(plan, engine, stage) for stage in alike.values()]
    fewest = [-each.concurrency for each in held]
    amounts = {
        field.name: parallel.where_greatest([getattr(each, field.name) for each in held], fewest)
        for field in fields(Reserve)
        if field.name != "engine"
    }
    return Reserve(engine=engine, **amounts)


def held_requests(plan: Plan, engine: Engine):
    """Requests that the pools of all data-parallel groups hold, as `most_requests` of `reserve`."""
    alike = {(stage.groups, stage.weights_bytes): stage for stage in plan.stages}
    held = [_stage_reserve(plan, engine, stage).concurrency for stage in alike.values()]
    return _whole(np.minimum.reduce(held), plan.scenario)


def _stage_reserve(plan, engine, stage):
    """The same of one stage. One that stores nothing holds any number of requests, if it fits."""
    model, scenario = plan.model, plan.scenario
    layers = cache_layers(scenario, stage)
    held = engines.reserve(
        engine,
        total_bytes=plan.memory_usable_bytes,
        weights_bytes=stage.weights_bytes + padding_bytes(plan, engine, stage.layers),
        layers=layers or [CacheLayers(1, token_bytes=1.0)],
        context_tokens=plan.context_tokens,
        width=model.width,
        vocabulary=model.vocabulary,
        query_heads=max(group.query_heads for group in model.groups) // scenario.tp,
        devices=scenario.layout.devices,
    )
    if layers:
        return held
    return replace(held, concurrency=np.where(held.pool_bytes > 0, np.inf, 0.0)[()])


def padding_bytes(plan: Plan, engine: Engine, layers):
    """What an engine adds to the experts on one device where its kernels take whole tiles alone.

    MXFP4 experts are padded in the hidden width and, after they are cut over devices, in their own.
    layers: of the model, on the device's stage.
    """
    scenario, model = plan.scenario, plan.model
    if "mxfp4" not in scenario.weights or not (model.expert_width and model.width):
        return 0.0
    own = model.expert_width / (scenario.layout.stage_devices / scenario.ep)
    tiled = formulas.padded(own, engine.expert_tile) / own
    tiled = tiled * formulas.padded(model.width, engine.hidden_tile) / model.width
    share = layers / model.layers / scenario.layout.stage_devices
    return plan.weights.experts * share * (tiled - 1)


def cache_layers(scenario: Scenario, stage: Stage) -> list[CacheLayers]:
    """What a device of a stage stores, kind by kind."""
    found = []
    for group in stage.groups:
        for each, most in group.stores(*scenario.cache_widths):
            entry = _entry(group) if np.isinf(most) else {}
            token = each / group.layers / scenario.dcp
            found.append(CacheLayers(group.layers, token, window=most, **entry))
        if group.state_bytes:
            state = float(parallel.state_bytes(group, scenario.tp))
            found.append(CacheLayers(group.layers, 0.0, state_bytes=state))
    return found


def _entry(group):
    """What CacheLayers says of an entry that stands for several tokens; {} where none does."""
    if group.stride == 1:
        return {}
    index = group.index_bytes // FP16_BYTES
    return {"stride": group.stride, "key_dim": group.key_dim, "index_dim": index}


UNBOUNDED = 2**30  # tokens beyond which a context counts as without end


def most_requests(held: Reserve, scenario) -> float:
    """Whole requests that the pools of all data-parallel groups hold."""
    return _whole(held.concurrency, scenario)


def _whole(requests, scenario):
    return scenario.dp * np.floor(requests * (1 + 1e-12))


def longest_context(plan: Plan, engine: Engine) -> float:
    """The most tokens of each request that the engine's pool holds at this concurrency, exactly.

    0 where it holds not even one token; ∞ where it still holds `UNBOUNDED` tokens. One for each
    concurrency and memory, where the plan has several and all else of it is one scenario's.
    """
    memory = np.asarray(plan.memory_usable_bytes, float)
    counts, _ = np.broadcast_arrays(np.asarray(plan.concurrency, float), memory)
    # The contexts that are tried lie along an axis of their own, the last.
    plan, engine = replace(plan, memory_usable_bytes=memory[..., None]), _upright(engine)
    low, high = np.zeros_like(counts), np.full_like(counts, UNBOUNDED + 1)
    while np.any(high - low > 1):  # low is held; as far as is known, high is not
        tried = np.geomspace(np.maximum(low, 1), high, 48, axis=-1).round()
        tried = np.clip(tried, low[..., None] + 1, np.maximum(high - 1, low + 1)[..., None])
        held = reserve(replace(plan, context_tokens=tried), engine)  # which needs no more of it
        holds = most_requests(held, plan.scenario) >= counts[..., None]
        high = np.where(holds, high[..., None], tried).min(-1)
        # A step as long as a whole prompt may leave no room where two shorter ones do again.
        low = np.where(holds & (tried < high[..., None]), tried, low[..., None]).max(-1)
    return np.where(low >= UNBOUNDED, np.inf, low)[()]


def _upright(engine):
    """An engine whose figures that are arrays, one for each memory, have one axis more."""
    arrays = {name: each for name, each in vars(engine).items() if np.ndim(each)}
    return replace(engine, **{name: each[..., None] for name, each in arrays.items()})


def engine_band(engine: Engine) -> tuple[Engine, Engine]:
    """The engine with all that it keeps for itself at its most, and at its least.

    Figures that a person or the engine's documentation chose stay as they are.
    """
    unsure = {
        name: each
        for name, each in engine.figures.items()
        if each.kind in ("calibrated", "assumed") and each.low is not None
    }
    most, least = (
        {name: getattr(each, end) for name, each in unsure.items()} for end in ("high", "low")
    )
    return engine.changed(**most), engine.changed(**least)
