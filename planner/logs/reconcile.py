"""Holds what an engine printed at start against what we predict, row by row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.engines.memory import CacheLayers, Engine, cells_bytes, reserve
from planner.logs.parse import Line, LogReading
from planner.units import GIB

# The figures of an engine that say how a pool is cut, whatever its size.
CUTTING = (
    "block_tokens",
    "pad_tokens",
    "paging",
    "printed_tokens",
    "group_slack",
    "steps_in_flight",
    "state_slots",
    "window_share",
    "compressed_window_share",
    "states_share",
    "compressed_blocks",
)


@dataclass(frozen=True)
class Row:
    """One quantity, predicted and printed, in `unit`; `how` says from what it was predicted.

    bytes_per_unit turns a difference into bytes: 2^30 for GiB, a token's or a block's bytes.
    """

    quantity: str
    unit: str
    predicted: float
    printed: float
    bytes_per_unit: float
    how: str
    line: Line | None

    @property
    def percent(self):
        """By how much the prediction is off, in percent of what was printed."""
        return 100 * (self.predicted / self.printed - 1) if self.printed else float("inf")

    @property
    def difference_gib(self):
        return (self.predicted - self.printed) * self.bytes_per_unit / GIB


def reconcile(
    reading: LogReading,
    engine: Engine,
    *,
    bytes_per_token: float,
    layers: Sequence[CacheLayers] = (),
    total_bytes: float | None = None,
    weights_bytes: float | None = None,
    width: int = 0,
    vocabulary: int = 0,
    query_heads: int = 0,
) -> tuple[Row, ...]:
    """Predicted against printed, row by row, for as much as the log says; () where it says nothing.

    bytes_per_token, layers, weights_bytes: one device's share. `layers` is needed for models whose
    layers differ; without it every layer is like every other. A fraction or a block size that the
    log states replaces the engine's, as does its way of counting tokens. total_bytes stands in
    where the log does not name the device's memory. Each row starts from what was printed before it
    (the pool from the printed weights, tokens from the printed pool), so that errors do not add up.
    """
    layers = tuple(layers) or (CacheLayers(layers=1, token_bytes=bytes_per_token),)
    if reading.fraction is not None and 0 < reading.fraction <= 1:
        engine = engine.changed(fraction=reading.fraction)
    if reading.block_tokens:
        engine = engine.changed(block_tokens=reading.block_tokens)
    if reading.groups_counted:
        engine = engine.changed(printed_tokens="by groups")
    batched = reading.batched_tokens or None
    context = reading.max_model_len or 1
    size = {"layers": layers, "context_tokens": context, "batched_tokens": batched}
    rows = []

    def add(quantity, unit, predicted, name, bytes_per_unit, how):
        rows.append(
            Row(
                quantity,
                unit,
                float(predicted),
                getattr(reading, name),
                float(bytes_per_unit),
                how,
                reading.lines.get(name),
            )
        )

    if weights_bytes is not None and reading.weights_gib is not None:
        how = "the model's parameters"
        add("weights", "GiB", weights_bytes / GIB, "weights_gib", GIB, how)
    weights = weights_bytes if reading.weights_gib is None else reading.weights_gib * GIB
    total = total_bytes if reading.total_gib is None else reading.total_gib * GIB
    if total and reading.budget_gib is not None:
        add("budget", "GiB", engine.fraction * total / GIB, "budget_gib", GIB, "fraction of total")
    if reading.pool_gib is None:
        return tuple(rows)

    if engine.pool_taken == "as needed":
        if reading.max_model_len is None:
            return tuple(rows)
        # Recurrent states are printed on a line of their own.
        kept = tuple(each for each in layers if each.token_bytes) or layers
        cells = cells_bytes(engine, kept, context, reading.sequences or 1, batched or 512)
        add("pool", "GiB", cells / GIB, "pool_gib", GIB, "cells of the context")
        return tuple(rows)
    # SGLang prints the pools of windows and of states apart: the first is that of full layers.
    whole = tuple(each for each in layers if each.token_bytes and math.isinf(each.window))
    printed_apart = bool(whole) and engine.paging == "shared"
    start, free, left = _at_start(engine, reading, total, weights)
    if free is not None and left is not None:
        model = {"width": width, "vocabulary": vocabulary, "query_heads": query_heads}
        devices = (reading.tensor_parallel or 1) * (reading.pipeline_parallel or 1)
        plan = reserve(
            start, total_bytes=free, weights_bytes=left, devices=devices, **size, **model
        )
        how = f"{start.fraction:g} of the {start.fraction_of}, less what this engine keeps"
        if printed_apart:
            found = plan.blocks * plan.block_tokens * sum(_token_bytes(each) for each in whole)
        else:
            found = plan.pool_bytes - (reading.state_gib or 0.0) * GIB  # taken of the same memory
        add("pool", "GiB", found / GIB, "pool_gib", GIB, how)
    terms = (reading.weights_gib, reading.activation_gib, reading.non_torch_gib)
    if reading.budget_gib is not None and None not in terms:
        held = (reading.graphs_held_gib or 0) * (engine.graphs_charged == "inside")
        rest = reading.budget_gib - sum(terms) - held
        add("pool", "GiB", rest, "pool_gib", GIB, "the log's own terms: budget less the rest")

    bare = Engine(engine.id, engine.name, **{name: getattr(engine, name) for name in CUTTING})
    if printed_apart:
        size["layers"] = whole
    held = reserve(bare, total_bytes=reading.pool_gib * GIB, weights_bytes=0, **size)
    how = f"printed pool in blocks of {held.block_tokens:,.0f} tokens"
    request = float(held.blocks_per_request * held.block_bytes)
    if reading.tokens is not None:
        add("tokens", "tokens", held.printed_tokens, "tokens", request / context, how)
    if reading.blocks is not None:
        add("blocks", "blocks", held.blocks, "blocks", held.block_bytes, how)
    if reading.concurrency is not None:
        add("concurrency", "requests", held.concurrency, "concurrency", request, how)
    return tuple(rows)


def _token_bytes(each):
    return each.layers * each.token_bytes


def _at_start(engine, reading, total, weights):
    """The engine, the memory and the weights to count from, as far as the log is.

    An engine whose fraction is of free memory prints how much is free; all that it charges before
    the fraction is then gone already.
    """
    if engine.fraction_of == "total memory" or reading.free_gib is None:
        return engine, total, weights
    gone = {"non_torch_gib": 0.0, "link_gib": 0.0}
    if engine.activation_charged == "before":
        gone |= {"activation_per_width": 0.0, "logit_bytes": 0.0, "score_bytes": 0.0}
    left = 0.0 if engine.weights_charged == "before" else weights
    return engine.changed(**gone), reading.free_gib * GIB, left
