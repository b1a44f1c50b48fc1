"""An engine: what it keeps for itself, how it cuts the rest into blocks, and what it prints.

The ideal engine keeps nothing and cuts nothing: fraction 1, no overhead, blocks of one token. Every
other engine is the same arithmetic with other figures (presets/engines.csv). Where the counting
really differs, it is one small function in `PAGINGS`, named by the engine's row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from planner import formulas
from planner.units import GIB

# When an engine takes a term off: before the fraction is applied, inside the budget, or on top of
# it, in what the fraction leaves over.
WHEN = ("before", "inside", "on top")
POOL_TAKEN = ("all", "as needed")


@dataclass(frozen=True)
class Figure:
    """Where one figure of an engine comes from.

    low, high: its error band, in the figure's own unit; None for a choice (a default, a policy).
    kind: documented, calibrated (on start-up logs), assumed, or given (by the user).
    """

    low: float | None
    high: float | None
    kind: str
    source: str


@dataclass(frozen=True)
class Engine:
    """A serving engine's memory figures. Every default is the ideal engine's.

    fraction: of the memory that is left after the terms charged "before". weights_charged and its
    sisters: one of `WHEN`. non_torch_gib: context, libraries and communication buffers of one
    device; link_gib: what each device adds when there are several. graphs_gib: captured graphs.
    activation_per_width, logit_bytes, score_bytes: k, m and bytes per attention score in
    `formulas.activation_bytes`. batched_tokens: most tokens in one step (inf: a whole prompt).
    logit_rows: rows of logits at the peak. block_tokens: tokens in a block. pad_tokens: a context
    is padded to a multiple of it. paging: a key of `PAGINGS`. printed_tokens: a key of `PRINTED`.
    group_slack, steps_in_flight: see `grouped`. pool_taken: “all” where the pool takes all that is
    left at start, as vLLM does, so that its size says nothing about need; else “as needed”.
    hidden_tile, expert_tile: multiples to which MXFP4 experts are padded. flags: the version whose
    start command is known here.
    """

    id: str
    name: str
    fraction: float = 1.0
    weights_charged: str = "inside"
    non_torch_charged: str = "inside"
    activation_charged: str = "inside"
    graphs_charged: str = "inside"
    non_torch_gib: float = 0.0
    link_gib: float = 0.0
    graphs_gib: float = 0.0
    activation_per_width: float = 0.0
    logit_bytes: float = 0.0
    score_bytes: float = 0.0
    batched_tokens: float = float("inf")
    logit_rows: float = 0.0
    block_tokens: int = 1
    pad_tokens: int = 1
    paging: str = "paged"
    printed_tokens: str = "capacity"
    group_slack: float = 1.0
    steps_in_flight: int = 1
    pool_taken: str = "as needed"
    hidden_tile: int = 1
    expert_tile: int = 1
    flags: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict, compare=False, hash=False)

    def __post_init__(self):
        charged = [f.name for f in fields(self) if f.name.endswith("_charged")]
        choices = {
            **dict.fromkeys(charged, WHEN),
            "paging": PAGINGS,
            "printed_tokens": PRINTED,
            "pool_taken": POOL_TAKEN,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{self.id}: {name}: “{getattr(self, name)}” is not known")
        if not 0 < self.fraction <= 1:
            raise ValueError(f"{self.id}: fraction: {self.fraction} is not above 0 and at most 1")
        least_one = ("block_tokens", "pad_tokens", "batched_tokens", "steps_in_flight")
        for name in (*least_one, "hidden_tile", "expert_tile"):
            if getattr(self, name) < 1:
                raise ValueError(f"{self.id}: {name}: {getattr(self, name)} is less than 1")
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))

    def changed(self, **given):
        """The same engine with figures that a person set; each is marked as given."""
        marks = dict.fromkeys(given, Figure(None, None, "given", ""))
        return replace(self, **given, figures={**self.figures, **marks})

    @property
    def fraction_of(self):
        """What the fraction is a fraction of, in words."""
        if self.weights_charged == "before":
            return "memory free after loading"
        return "memory free at start" if self.non_torch_charged == "before" else "total memory"


@dataclass(frozen=True)
class CacheLayers:
    """Layers of one kind as one device stores them.

    layers: how many. token_bytes: keys and values of one token in one of them (0 for a recurrent
    layer). window: tokens kept at most. state_bytes: one layer's fixed state of one request.
    """

    layers: int
    token_bytes: float
    window: float = float("inf")
    state_bytes: float = 0.0


@dataclass(frozen=True)
class Paging:
    """How a pool is cut. All of one device.

    block_tokens: tokens of one block, of the kind of layer that stores most. block_bytes: bytes of
    one block in all layers that share it. blocks: in the pool. per_request: blocks that one request
    of the full context holds. groups: how many groups of layers draw blocks of their own.
    """

    block_tokens: float
    block_bytes: float
    blocks: float
    per_request: float
    groups: int = 1

    @property
    def concurrency(self):
        """Requests of the full context that fit, with their fraction, as engines print it."""
        return self.blocks / self.per_request


def paged(engine, layers, pool, context, batched_tokens):
    """Every layer has its own blocks; a window ends a layer's list, a state is one more piece.

    The unit is what one block of every layer without a window takes, so `per_request` is not whole
    for models of several kinds.
    """
    block = engine.block_tokens
    whole = [each for each in layers if np.isinf(each.window)] or list(layers)
    unit = block * sum(each.layers * each.token_bytes for each in whole)
    unit = unit or sum(each.layers * each.state_bytes for each in layers)
    request = sum(
        each.layers * each.state_bytes
        + each.layers
        * each.token_bytes
        * formulas.padded(formulas.cached_tokens(context, each.window), block)
        for each in layers
    )
    return Paging(block, unit, np.floor(pool / unit), request / unit)


def grouped(engine, layers, pool, context, batched_tokens):
    """vLLM: layers of one kind in groups of one size; every group draws from one list of blocks.

    All groups share pages of one size, so the block of the kind that stores most is stretched until
    its page holds a recurrent state, and kinds that store less put more tokens in a page. A full
    group holds ⌈n / b⌉ blocks of a request, a sliding one no more than `formulas.window_blocks` of
    the tokens of all `steps_in_flight` (2 where a step is scheduled before the last one is over), a
    recurrent one a single block. A kind whose layers do not divide evenly pads its last group; the
    size of a group is that of the smallest kind, or of the largest where that is less than
    `group_slack` times as many. Layers of one kind are one group, which is plain paging.
    Source: https://github.com/vllm-project/vllm/blob/main/vllm/v1/core/kv_cache_utils.py
    """
    attention = [each for each in layers if each.token_bytes]
    most = max((each.token_bytes for each in attention), default=0)
    state = max(each.state_bytes for each in layers)
    block = formulas.stretched_block(engine.block_tokens, most, state) if attention else 1
    page = block * most if attention else state
    fewest, largest = min(e.layers for e in layers), max(e.layers for e in layers)
    size = largest if largest < fewest * engine.group_slack else fewest
    groups, needed = 0, 0
    for each in layers:
        count = -(-each.layers // size)
        groups += count
        if not each.token_bytes:
            needed = needed + count
            continue
        tokens = page // each.token_bytes
        full = np.ceil(np.asarray(context) / tokens)
        in_flight = batched_tokens * engine.steps_in_flight
        most_blocks = formulas.window_blocks(each.window, in_flight, tokens)
        needed = needed + count * np.minimum(full, most_blocks)
    return Paging(block, page * size, np.floor(pool / (page * size)), needed, groups)


def cells(engine, layers, pool, context, batched_tokens):
    """llama.cpp: one array of cells a layer, sized when the context is created.

    Full layers have the padded context for every sequence. Window layers share one array whose
    part for the current step (see `cells_bytes`) is there once, whatever the number of sequences;
    it is taken off the pool first.
    Source: https://github.com/ggml-org/llama.cpp/pull/13194
    """
    context = formulas.padded(context, engine.pad_tokens)
    unit, request, once = 0, 0, 0
    for each in layers:
        cost = each.layers * each.token_bytes
        kept = formulas.cached_tokens(context, each.window)
        request = request + each.layers * each.state_bytes + cost * kept
        if np.isinf(each.window):
            unit += cost
        else:
            once = once + np.where(each.window < context, cost * batched_tokens, 0)
    unit = unit or sum(each.layers * (each.token_bytes or each.state_bytes) for each in layers)
    room = np.maximum(pool - once, 0)
    return Paging(1, unit, np.floor(room / unit), request / unit)


PAGINGS = {"paged": paged, "grouped": grouped, "cells": cells}


def capacity(paging, context):
    """Blocks times block: all that a model of one kind of layer can hold."""
    return paging.blocks * paging.block_tokens


def by_groups(paging, context):
    """vLLM up to 0.20.0: blocks shared out evenly over the groups, ⌊blocks / groups⌋ · block."""
    return paging.blocks // paging.groups * paging.block_tokens


def by_concurrency(paging, context):
    """vLLM since 0.20.1: concurrency · max_model_len, whole tokens."""
    return np.floor(paging.blocks * context / paging.per_request)


PRINTED = {"capacity": capacity, "by groups": by_groups, "by concurrency": by_concurrency}


def cells_bytes(engine, layers, total_context, sequences, batched_tokens):
    """Cache that llama.cpp allocates for a context of n_ctx cells in all, whatever it will hold.

    A full layer has padded(n_ctx) cells, a window layer min(n_ctx, padded(window · sequences +
    ubatch)), a recurrent one a state for each sequence.
    """
    whole = formulas.padded(total_context, engine.pad_tokens)
    needed = 0
    for each in layers:
        asked = each.window * sequences + batched_tokens
        kept = np.minimum(whole, formulas.padded(asked, engine.pad_tokens))
        needed = needed + each.layers * (each.token_bytes * kept + each.state_bytes * sequences)
    return needed


@dataclass(frozen=True)
class Reserve:
    """What an engine does with one device, in bytes; arrays where an input was an array.

    budget_bytes: the fraction of what it is a fraction of. pool_bytes: what is left for caches.
    left_bytes: neither pool nor any term; negative where terms on top do not fit. printed_tokens:
    the engine's own “tokens” line. tokens: what the pool holds in requests of this context.
    """

    engine: Engine
    total_bytes: float
    budget_bytes: float
    weights_bytes: float
    non_torch_bytes: float
    activation_bytes: float
    graphs_bytes: float
    pool_bytes: float
    left_bytes: float
    context_tokens: float
    block_tokens: float
    block_bytes: float
    blocks: float
    blocks_per_request: float
    tokens: float
    printed_tokens: float
    concurrency: float

    @property
    def overhead_bytes(self):
        """All that is neither weights nor cache."""
        return self.non_torch_bytes + self.activation_bytes + self.graphs_bytes

    def line(self):
        """The concurrency line as this engine's log would have it; for one scenario."""
        return (
            f"Maximum concurrency for {self.context_tokens:,.0f} tokens per request: "
            f"{self.concurrency:.2f}x"
        )


def reserve(
    engine: Engine,
    *,
    total_bytes,
    weights_bytes,
    layers: Sequence[CacheLayers],
    context_tokens,
    width=0,
    vocabulary=0,
    query_heads=0,
    devices=1,
    batched_tokens=None,
) -> Reserve:
    """What the engine takes of one device and what its pool holds.

    total_bytes: what the engine sees of the device. weights_bytes and `layers`: one device's share.
    context_tokens: longest request (max_model_len, n_ctx). width, vocabulary and query_heads of the
    model size the activations; 0 leaves that part out. batched_tokens: overrides the engine's.
    Totals, weights and contexts may be arrays. Raises ValueError where no layer stores anything.
    """
    if not any(each.layers * (each.token_bytes + each.state_bytes) > 0 for each in layers):
        raise ValueError("layers: at least one must store something")
    batched = engine.batched_tokens if batched_tokens is None else batched_tokens
    step = np.where(np.isinf(batched), context_tokens, batched)
    rows = np.minimum(engine.logit_rows, step)
    scores = engine.score_bytes * query_heads * step * np.asarray(context_tokens)
    terms = {
        "weights": weights_bytes,
        "non_torch": (engine.non_torch_gib + engine.link_gib * (devices > 1)) * GIB,
        "activation": formulas.activation_bytes(
            engine.activation_per_width, step, width, engine.logit_bytes, rows, vocabulary, scores
        ),
        "graphs": engine.graphs_gib * GIB,
    }
    taken = dict.fromkeys(WHEN, 0)
    for name, term in terms.items():
        when = getattr(engine, f"{name}_charged")
        taken[when] = taken[when] + term
    pool = formulas.pool_bytes(engine.fraction, total_bytes, taken["before"], taken["inside"])
    cut = PAGINGS[engine.paging](engine, layers, pool, context_tokens, step)
    return Reserve(
        engine=engine,
        total_bytes=total_bytes,
        budget_bytes=engine.fraction * (total_bytes - taken["before"]),
        **{f"{name}_bytes": term for name, term in terms.items()},
        pool_bytes=pool,
        left_bytes=total_bytes - pool - sum(terms.values()),
        context_tokens=context_tokens,
        block_tokens=cut.block_tokens,
        block_bytes=cut.block_bytes,
        blocks=cut.blocks,
        blocks_per_request=cut.per_request,
        tokens=np.floor(cut.concurrency * context_tokens),
        printed_tokens=PRINTED[engine.printed_tokens](cut, context_tokens),
        concurrency=cut.concurrency,
    )
