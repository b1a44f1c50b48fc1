"""An engine: what it keeps for itself, and what it leaves for the cache.

The ideal engine keeps nothing and cuts nothing: fraction 1, no overhead, blocks of one token. Every
other engine is the same arithmetic with other figures (presets/engines.csv). Where the counting
really differs, it is one small function of `paging`, named by the engine's row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np

from planner import formulas
from planner.engines.paging import COMPRESSED, PAGINGS, PRINTED, CacheLayers
from planner.units import GIB

# When an engine takes a term off: before the fraction is applied, inside the budget, or on top of
# it, in what the fraction leaves over.
WHEN = ("before", "inside", "on top")
TERMS = ("weights", "non_torch", "activation", "graphs", "headroom")
POOL_TAKEN = ("all", "as needed")
HOSTS = ("processor", "none")
GROUPS = ("", "older")


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
    whole_prompt_tokens: prompts up to that length are not cut, and a step is at least as long.
    logit_rows: rows of logits at the peak. headroom_gib, headroom_share: kept free, the larger of a
    size and a part of the activations; spare_share: besides, this part of the whole memory.
    block_tokens: tokens in a block. pad_tokens: a context is padded to a multiple of it. paging: a
    key of `PAGINGS`. printed_tokens: a key of `PRINTED`. group_slack, steps_in_flight, state_slots:
    see `paging.grouped`; window_share, states_share: `paging.shared`, the former also of models
    whose entries stand for several tokens; compressed_blocks: `paging.compressed`. hidden_tile,
    expert_tile: multiples to which MXFP4 experts are padded. pool_gib: a device's pool where its
    size is set by hand (vLLM's kv_cache_memory_bytes), whatever the fraction; 0: what is left.
    state_blocks: recurrent states that the engine is told to hold, whose number bounds the requests
    (SGLang's max_mamba_cache_size); 0: as many as its own rule gives. pool_taken: “all” where the
    pool takes all that is left at start, as vLLM does, so that its size says nothing about need;
    else “as needed”. host: “processor” where the host works on layers in its own memory, or “none”.
    flags: the version whose start command is known here. group: “older” for an engine of the past.
    """

    id: str
    name: str
    fraction: float = 1.0
    weights_charged: str = "inside"
    non_torch_charged: str = "inside"
    activation_charged: str = "inside"
    graphs_charged: str = "inside"
    headroom_charged: str = "inside"
    non_torch_gib: float = 0.0
    link_gib: float = 0.0
    graphs_gib: float = 0.0
    activation_per_width: float = 0.0
    logit_bytes: float = 0.0
    score_bytes: float = 0.0
    headroom_gib: float = 0.0
    headroom_share: float = 0.0
    spare_share: float = 0.0
    batched_tokens: float = float("inf")
    whole_prompt_tokens: float = 0.0
    logit_rows: float = 0.0
    block_tokens: int = 1
    pad_tokens: int = 1
    paging: str = "paged"
    printed_tokens: str = "capacity"
    group_slack: float = 1.0
    steps_in_flight: int = 1
    state_slots: int = 1
    window_share: float = 1.0
    compressed_window_share: float = 1.0
    states_share: float = 1.0
    compressed_blocks: str = "widest"
    pool_gib: float = 0.0
    state_blocks: float = 0.0
    pool_taken: str = "as needed"
    host: str = "processor"
    hidden_tile: int = 1
    expert_tile: int = 1
    flags: str = ""
    group: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict, compare=False, hash=False)

    def __post_init__(self):
        charged = [f.name for f in fields(self) if f.name.endswith("_charged")]
        choices = {
            **dict.fromkeys(charged, WHEN),
            "paging": PAGINGS,
            "printed_tokens": PRINTED,
            "compressed_blocks": COMPRESSED,
            "pool_taken": POOL_TAKEN,
            "host": HOSTS,
            "group": GROUPS,
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{self.id}: {name}: “{getattr(self, name)}” is not known")
        if np.any(np.asarray(self.fraction) <= 0) or np.any(np.asarray(self.fraction) > 1):
            raise ValueError(f"{self.id}: fraction: {self.fraction} is not above 0 and at most 1")
        whole = ("block_tokens", "pad_tokens", "batched_tokens", "steps_in_flight", "state_slots")
        whole += ("hidden_tile", "expert_tile")
        for name in whole:
            if np.any(np.asarray(getattr(self, name)) < 1):
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
class Reserve:
    """What an engine does with one device, in bytes; arrays where an input was an array.

    headroom_bytes: kept free. states_pool_bytes: the part of the pool that is set apart for states.
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
    headroom_bytes: float
    pool_bytes: float
    states_pool_bytes: float
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
        kept = self.activation_bytes + self.graphs_bytes + self.headroom_bytes
        return self.non_torch_bytes + kept

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
    whole = np.asarray(context_tokens) <= engine.whole_prompt_tokens
    step = np.where(whole, np.maximum(step, context_tokens), step)
    rows = np.minimum(engine.logit_rows, step)
    scores = engine.score_bytes * query_heads * step * np.asarray(context_tokens)
    activation = formulas.activation_bytes(
        engine.activation_per_width, step, width, engine.logit_bytes, rows, vocabulary, scores
    )
    terms = {
        "weights": weights_bytes,
        "non_torch": (engine.non_torch_gib + engine.link_gib * (devices > 1)) * GIB,
        "activation": activation,
        "graphs": engine.graphs_gib * GIB,
        "headroom": np.maximum(engine.headroom_gib * GIB, engine.headroom_share * activation)
        + engine.spare_share * total_bytes,
    }
    taken = dict.fromkeys(WHEN, 0)
    for name, term in terms.items():
        when = getattr(engine, f"{name}_charged")
        taken[when] = taken[when] + term
    pool = formulas.pool_bytes(engine.fraction, total_bytes, taken["before"], taken["inside"])
    if engine.pool_gib:
        pool = formulas.fixed_pool_bytes(engine.pool_gib * GIB, total_bytes, sum(terms.values()))
    cut = PAGINGS[engine.paging](engine, layers, pool, context_tokens, step)
    if engine.state_blocks and any(each.state_bytes for each in layers):
        cut = cut.with_most(engine.state_blocks // engine.state_slots)
    return Reserve(
        engine=engine,
        total_bytes=total_bytes,
        budget_bytes=engine.fraction * (total_bytes - taken["before"]),
        **{f"{name}_bytes": term for name, term in terms.items()},
        pool_bytes=pool,
        states_pool_bytes=cut.apart_bytes,
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
