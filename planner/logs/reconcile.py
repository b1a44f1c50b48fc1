"""Holds what an engine printed at start against what we predict, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.engines.memory import WHEN, CacheLayers, Engine, cells_bytes, reserve
from planner.logs.clean import Line
from planner.logs.parse import LogReading
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
OWN_TERMS = ("weights_gib", "activation_gib", "non_torch_gib", "pool_gib")
SOME_LENGTHS = (4096, 131_072)  # longest requests that stand for any
LONGEST = 2**24  # tokens up to which a longest request is looked for


@dataclass(frozen=True)
class Row:
    """One quantity, predicted and printed, in `unit`; `how` says from what it was predicted.

    printed: None where an engine only says that it cannot start. figure: its name in a
    `LogReading`. bytes_per_unit turns a difference into bytes: 2^30 for GiB,
    a token's or a block's bytes. assumed: what of it the log does not say, a few words each.
    """

    quantity: str
    unit: str
    predicted: float
    printed: float | None
    bytes_per_unit: float
    how: str
    line: Line | None
    figure: str = ""
    assumed: tuple[str, ...] = ()

    @property
    def percent(self):
        """By how much the prediction is off, in percent of what was printed.

        NaN where a pool that cannot be is predicted or printed: there only the difference counts.
        """
        if self.predicted < 0 or self.printed is None or self.printed < 0:
            return float("nan")
        return 100 * (self.predicted / self.printed - 1) if self.printed else float("inf")

    @property
    def difference_gib(self):
        if self.printed is None:
            return float("nan")
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
    where the log does not name the device's memory. Without the longest request there is no row for
    what depends on it. Each row starts from what was printed before it (the pool from the printed
    weights, tokens from the printed pool), so that errors do not add up.
    """
    layers = tuple(layers) or (CacheLayers(layers=1, token_bytes=bytes_per_token),)
    if not reading.max_model_len:
        sizes = {"total_bytes": total_bytes, "weights_bytes": weights_bytes, "width": width}
        sizes |= {"vocabulary": vocabulary, "query_heads": query_heads, "layers": layers}
        return _of_any_length(reading, engine, bytes_per_token=bytes_per_token, **sizes)
    engine = _as_said(engine, reading)
    size = {
        "layers": layers,
        "context_tokens": reading.max_model_len,
        "batched_tokens": reading.batched_tokens or None,
    }
    rows = []

    def add(quantity, unit, predicted, figure, bytes_per_unit, how):
        printed, line = getattr(reading, figure), reading.lines.get(figure)
        sizes = float(predicted), printed, float(bytes_per_unit)
        rows.append(Row(quantity, unit, *sizes, how, line, figure))

    weights = weights_bytes if reading.weights_gib is None else reading.weights_gib * GIB
    total = total_bytes if reading.total_gib is None else reading.total_gib * GIB
    if weights_bytes is not None and reading.weights_gib is not None:
        parts = weights_bytes / GIB * _on_device(reading)
        add("weights", "GiB", parts, "weights_gib", GIB, _weights_how(reading))
    if total and reading.budget_gib is not None and engine.fraction_of == "total memory":
        add("budget", "GiB", engine.fraction * total / GIB, "budget_gib", GIB, "fraction of total")
    if engine.pool_taken == "as needed":
        _allocated(add, reading, engine, layers, weights)
        return tuple(rows)
    pool = None if reading.pool_gib is None else reading.pool_gib * GIB
    if not reading.is_set and (pool is not None or reading.refused):
        _pools(add, reading, engine, size, total, weights, (width, vocabulary, query_heads))
    elif pool is None and not reading.is_set:
        # Without a printed pool, what is printed of it is held against the predicted one.
        pool = _pool(reading, engine, size, total, weights, (width, vocabulary, query_heads))
    bare = Engine(engine.id, engine.name, **{name: getattr(engine, name) for name in CUTTING})
    if reading.needed_gib is not None:
        one = _of_request(bare, size, np.array([reading.max_model_len]))[0]
        how = f"one request of {reading.max_model_len:,} tokens"
        add("needed for one request", "GiB", one / GIB, "needed_gib", GIB, how)
    if engine.paging == "shared":
        size["layers"] = _printed_together(reading, layers)
    if pool is not None and pool > 0:
        _held(add, reading, bare, size, pool)
    return tuple(rows)


def _of_any_length(reading, engine, **sizes):
    """The rows that are the same whatever the longest request is."""
    short, long = (
        reconcile(replace(reading, max_model_len=length), engine, **sizes)
        for length in SOME_LENGTHS
    )
    both = zip(short, long, strict=True)
    return tuple(a for a, b in both if abs(a.predicted - b.predicted) <= 1e-9 * abs(a.predicted))


def _as_said(engine, reading):
    """The engine with the figures that the log states."""
    if reading.fraction is not None and 0 < reading.fraction <= 1:
        engine = engine.changed(fraction=reading.fraction)
    if reading.block_tokens:
        engine = engine.changed(block_tokens=reading.block_tokens)
    if reading.sequences and reading.engine == "vllm":
        engine = engine.changed(logit_rows=reading.sequences)
    if reading.window_share:
        engine = engine.changed(window_share=reading.window_share)
    if reading.state_blocks:
        engine = engine.changed(state_blocks=reading.group_state_blocks)
    if reading.eager == "True":
        engine = engine.changed(graphs_gib=0.0)
    if reading.groups_counted:
        engine = engine.changed(printed_tokens="by groups")
    return engine


def _on_device(reading):
    """The part of the layers that is on a device, where llama.cpp says how many are."""
    if reading.all_layers and reading.offloaded_layers is not None:
        return min(1.0, reading.offloaded_layers / reading.all_layers)
    return 1.0


def _weights_how(reading):
    if _on_device(reading) < 1:
        return f"{reading.offloaded_layers} of {reading.all_layers} layers, evenly"
    return "the model's parameters"


def _allocated(add, reading, engine, layers, weights):
    """llama.cpp: the cache is what was asked for."""
    # Recurrent states are printed on a line of their own.
    kept = tuple(each for each in layers if each.token_bytes) or layers
    asked = (reading.max_model_len, reading.sequences or 1, reading.batched_tokens or 512)
    if reading.pool_gib is not None:
        cells = cells_bytes(engine, kept, *asked)
        add("pool", "GiB", cells / GIB, "pool_gib", GIB, "cells of the context")
    if reading.context_gib is not None:
        cells = cells_bytes(engine, layers, *asked)
        add("cache and states", "GiB", cells / GIB, "context_gib", GIB, "cells of the context")
    if reading.projected_gib is not None and weights and reading.activation_gib is not None:
        cells = cells_bytes(engine, layers, *asked) / GIB
        used = weights / GIB + cells + reading.activation_gib
        how = "weights, cells of the context and the printed compute buffer"
        add("projected use", "GiB", used, "projected_gib", GIB, how)


def _pool(reading, engine, size, total, weights, sizes):
    """Bytes of the pool by the engine's rule, below 0 where it would not start; None if unknown."""
    start, free, left = _at_start(engine, reading, total, weights)
    if free is None or left is None:
        return None
    width, vocabulary, heads = sizes
    devices = (reading.tensor_parallel or 1) * (reading.pipeline_parallel or 1)
    model = {"width": width, "vocabulary": vocabulary, "query_heads": heads}
    plan = reserve(start, total_bytes=free, weights_bytes=left, devices=devices, **size, **model)
    names = ("weights", "non_torch", "activation", "graphs", "headroom")
    charged = {name: getattr(start, f"{name}_charged") for name in names}
    inside = sum(getattr(plan, f"{name}_bytes") for name in names if charged[name] == WHEN[1])
    room = float(plan.budget_bytes - inside)
    if room > 0 and engine.paging == "shared":
        return float(plan.blocks * plan.block_tokens) * _printed_bytes(reading, engine, size)
    return room - (reading.state_gib or 0.0) * GIB  # taken of the same memory, printed apart


def _printed_together(reading, layers):
    """The layers whose cache SGLang's printed pool is of: it prints states, and windows, apart."""
    kept = [each for each in layers if each.token_bytes]
    full = [each for each in kept if np.isinf(each.window)]
    return tuple(full if full and not reading.window_tokens else kept) or tuple(layers)


def _printed_bytes(reading, engine, size):
    """Bytes of SGLang's printed pool for each token that it says it holds."""
    found = 0.0
    for each in _printed_together(reading, size["layers"]):
        share = 1.0 if np.isinf(each.window) else engine.window_share
        found += share * each.layers * each.token_bytes
    return found


def _pools(add, reading, engine, size, total, weights, sizes):
    """The pool by the engine's rule, and by the log's own terms where one rank printed them all."""
    pool = _pool(reading, engine, size, total, weights, sizes)
    if pool is not None:
        how = f"{engine.fraction:g} of the {engine.fraction_of}, less what this engine keeps"
        add("pool", "GiB", pool / GIB, "pool_gib", GIB, how)
    terms = [getattr(reading, name) for name in OWN_TERMS[:3]]
    writers = {reading.ranks.get(name) for name in OWN_TERMS} - {None, ""}
    whole = None not in (*terms, reading.budget_gib, reading.pool_gib)
    if whole and len(writers) < 2:
        held = (reading.graphs_held_gib or 0) * (engine.graphs_charged == "inside")
        rest = reading.budget_gib - sum(terms) - held
        add("pool", "GiB", rest, "pool_gib", GIB, "the log's own terms: budget less the rest")


def _held(add, reading, bare, size, pool):
    """What a pool holds: tokens, blocks, requests, the longest one."""
    context, whose = reading.max_model_len, "predicted" if reading.pool_gib is None else "printed"
    held = reserve(bare, total_bytes=pool, weights_bytes=0, **size)
    how = f"{whose} pool in blocks of {held.block_tokens:,.0f} tokens"
    request = float(held.blocks_per_request * held.block_bytes)
    if reading.longest_len is not None:
        longest = _longest(bare, size, pool)
        each = request / context
        add(
            "longest request", "tokens", longest, "longest_len", each, f"what fits the {whose} pool"
        )
    if reading.set_tokens or reading.set_blocks:
        return
    if reading.tokens is not None:
        add("tokens", "tokens", held.printed_tokens, "tokens", request / context, how)
    if reading.blocks is not None:
        add("blocks", "blocks", held.blocks, "blocks", held.block_bytes, how)
    if reading.concurrency is not None:
        add("concurrency", "requests", held.concurrency, "concurrency", request, how)


def _of_request(bare, size, lengths):
    """Bytes that one request of each length takes of the pool."""
    held = reserve(bare, total_bytes=0.0, weights_bytes=0, **size | {"context_tokens": lengths})
    return np.broadcast_to(held.blocks_per_request * held.block_bytes, lengths.shape)


def _longest(bare, size, pool):
    """Tokens of the longest request that fits a pool, in bytes."""
    low, high = 0, LONGEST
    while high - low > 1:
        tried = np.unique(np.linspace(low + 1, high, 64).astype(int))
        fits = tried[_of_request(bare, size, tried) <= pool]
        low = int(fits.max()) if len(fits) else low
        over = tried[tried > low]
        high = int(over.min()) if len(over) else low + 1
    return low


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
