"""Figures of an engine that a person set, in a link: fraction:0.95,layer_us:60.

Names are the fields of `memory.Engine` and `calibration.Timing` (time) that hold a number.
"""

from functools import lru_cache

from planner.engines.memory import Engine
from planner.inputs.link import Number
from planner.models.notation import shorten

MEMORY = {
    "fraction": Number("Memory fraction", "", 0.01, 1),
    "pool_gib": Number("Cache pool of a fixed size", "GiB", 0, 100_000),
    "state_blocks": Number("Recurrent states", "states", 0, 1_000_000, whole=True),
    "non_torch_gib": Number("CUDA context and buffers", "GiB", 0, 1000),
    "link_gib": Number("More with several devices", "GiB", 0, 1000),
    "graphs_gib": Number("CUDA graphs", "GiB", 0, 1000),
    "activation_per_width": Number("Activations, bytes for each width and token", "", 0, 1000),
    "batched_tokens": Number("Max batched tokens", "tokens", 1, 10_000_000),
    "logit_rows": Number("Max batched requests", "requests", 1, 1_000_000),
    "block_tokens": Number("Block", "tokens", 1, 65_536, whole=True),
}
TIME = {
    "bandwidth_efficiency": Number("Bandwidth efficiency", "", 0.01, 1),
    "compute_efficiency": Number("Compute efficiency in a step", "", 0.01, 1),
    "layer_us": Number("Overhead of a layer", "µs", 0, 100_000),
    "device_layer_us": Number("Overhead of a layer at 30 TFLOP/s of FP32", "µs", 0, 100_000),
    "expert_layer_us": Number("More where layers hold experts", "µs", 0, 100_000),
    "tensor_layer_us": Number("More where devices split layers", "µs", 0, 100_000),
    "prefill_efficiency": Number("Compute efficiency in prefill", "", 0.01, 1),
    "prefill_floor_steps": Number("Fixed cost of a prefill, in decode steps", "", 0, 1000),
}
KNOWN = {**MEMORY, **TIME}


@lru_cache(maxsize=256)
def read(text: str) -> dict[str, float]:
    """The figures that a text sets, by name. ValueError, a plain sentence, where one cannot be."""
    found = {}
    for entry in filter(None, text.split(",")):
        name, colon, value = entry.partition(":")
        number = KNOWN.get(name)
        if not colon or number is None:
            raise ValueError(f"“{shorten(entry)}” sets no figure of an engine")
        figure = number.parse(value)
        if number.nearest(figure) != figure:
            low, high = f"{number.minimum:,}", f"{number.maximum:,}"
            raise ValueError(f"“{shorten(entry)}” is not from {low} to {high}")
        found[name] = number.nearest(figure)
    return found


def write(figures: dict[str, float]) -> str:
    """The text that sets these figures."""
    return ",".join(f"{name}:{value:.12g}" for name, value in figures.items())


def apply_engine(engine: Engine, figures: dict[str, float]) -> Engine:
    """The engine with those of the figures that are about its memory."""
    own = {name: value for name, value in figures.items() if name in MEMORY}
    return engine.changed(**own) if own else engine


def of_time(figures: dict[str, float]) -> dict[str, float]:
    """Those of the figures that are about an engine's time."""
    return {name: value for name, value in figures.items() if name in TIME}
