"""What an engine sets by itself on a device: its step, how many requests share it, its fraction.

presets/step_defaults.csv has a row for each class of devices; the first of an engine's rows that
fits counts. An engine without rows, and what a row leaves empty, keeps the figures of engines.csv.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from planner.engines.memory import Engine, Figure
from planner.files import rows
from planner.units import GIB, MIB

# SGLang's rule for the memory that it leaves outside its pool, MiB. Source:
# https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/arg_groups/memory_hook.py
SPARE_MIB = 512
TOKEN_MIB, FEWEST_TOKENS = 1.5, 2048
DEVICE_MIB = 128
GRAPH_MIB, PREFILL_GRAPH_MIB, LATENT_GRAPHS_MIB = 2, 8, 1536
LARGE_GIB, LARGE_MIB = 60, 10 * 1024  # a large device keeps at least so much
LEAST_FRACTION = 0.001  # of devices that have less than is reserved, on which it does not start
WIDE = 4  # tensor-parallel devices from which more requests are captured as graphs


@dataclass(frozen=True)
class StepDefault:
    """One row of presets/step_defaults.csv.

    devices: the ids of the only devices that it is of, or none: then it is of all that have more
    than least_gib to allocate. batched_tokens: of a step. requests: most in a step; so many rows of
    logits are kept. None where the engine's own row says how many. graphs, wide_graphs: requests of
    the largest captured decode graph, below and from `WIDE` tensor-parallel devices.
    prefill_graphs: how many are captured. None of an engine whose fraction does not depend on them.
    """

    engine: str
    devices: tuple[str, ...]
    least_gib: float | None
    batched_tokens: float
    requests: float | None
    graphs: float | None
    wide_graphs: float | None
    prefill_graphs: float | None
    source: str


@cache
def step_defaults() -> dict[str, tuple[StepDefault, ...]]:
    """The rows of each engine that has some, in the order of the file."""
    found = {}
    for row in rows("step_defaults.csv"):
        engine, devices, source = (row.pop(name) for name in ("engine", "device", "source"))
        numbers = {name: float(value) if value else None for name, value in row.items()}
        own = StepDefault(engine=engine, devices=tuple(devices.split()), source=source, **numbers)
        found.setdefault(engine, []).append(own)
    return {engine: tuple(own) for engine, own in found.items()}


def on_device(engine: Engine, device: str, memory_bytes, *, tensor=1, pipeline=1,
              latent=False) -> Engine:  # fmt: skip
    """The engine with what it sets by itself on a device, each figure with its source.

    device: its id. memory_bytes: what can be allocated of it; an array gives figures that are
    arrays. tensor, pipeline: over how many devices the model is split. latent: whether it stores
    latents (MLA).
    """
    known = step_defaults().get(engine.id, ())
    able = [row for row in known if not row.devices or device in row.devices]
    if not able:
        return engine
    gib = np.asarray(memory_bytes) / GIB
    fits = [np.full(gib.shape, True) if row.devices else gib > row.least_gib for row in able]

    def chosen(values):
        return np.select(fits, values)[()]

    values = {"batched_tokens": chosen([row.batched_tokens for row in able])}
    if able[0].requests is not None:
        values["logit_rows"] = chosen([row.requests for row in able])
    if able[0].graphs is not None:
        many = tensor >= WIDE
        reserved = sglang_reserved_mib(
            gib,
            values["batched_tokens"],
            chosen([row.wide_graphs if many else row.graphs for row in able]),
            chosen([row.prefill_graphs for row in able]),
            devices=tensor * pipeline,
            latent=latent,
        )
        fraction = 1 - reserved * MIB / (gib * GIB)
        values["fraction"] = np.maximum(np.round(fraction, 3), LEAST_FRACTION)[()]
    first = able[int(np.argmax([np.ravel(each)[0] for each in fits]))]
    marks = {name: Figure(None, None, "documented", first.source) for name in values}
    return replace(engine, **values, figures={**engine.figures, **marks})


def sglang_reserved_mib(memory_gib, chunk, graphs, prefill_graphs, *, devices=1, latent=False):
    """MiB that SGLang leaves for activations, captured graphs and the rest; see `SPARE_MIB`.

    chunk: tokens of a step. graphs, prefill_graphs: requests of the largest decode graph, and how
    many of a prefill are captured; another size stands for these of a model that stores latents.
    """
    prefill = LATENT_GRAPHS_MIB if latent else PREFILL_GRAPH_MIB * prefill_graphs
    reserved = (
        SPARE_MIB
        + TOKEN_MIB * np.maximum(chunk, FEWEST_TOKENS)
        + DEVICE_MIB * devices
        + GRAPH_MIB * graphs
        + prefill
    )
    return np.where(memory_gib > LARGE_GIB, np.maximum(reserved, LARGE_MIB), reserved)[()]
