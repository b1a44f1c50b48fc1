"""A model as the planner sees it: groups of alike layers, and its parameters."""

import re
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from planner import formulas

FP16_BYTES = 2
ENDLESS = float("inf")

# Least and most of each number. Wide enough for any model in sight, narrow enough that a slip of
# the keyboard or a hostile file is caught before it is multiplied.
LIMITS = {
    "layers": (1, 2_000),
    "query_heads": (0, 4_096),
    "kv_heads": (0, 4_096),
    "key_dim": (0, 65_536),
    "value_dim": (0, 65_536),
    "query_dim": (0, 65_536),
    "output_dim": (0, 65_536),
    "window": (1, 10**9),
    "stride": (1, 65_536),
    "state_bytes": (0, 10**10),
    "conv_bytes": (0, 10**10),
    "state_width": (0, 8),
    "index_bytes": (0, 10**6),
    "top_k": (1, 10**9),
    "width": (0, 10**6),
    "expert_width": (0, 10**6),
    "parameters": (1, 10**15),
    "embedding_parameters": (0, 10**12),
    "head_parameters": (0, 10**12),
    "vision_parameters": (0, 10**12),
    "expert_parameters": (0, 10**15),
    "host_parameters": (0, 10**15),
    "experts": (0, 65_536),
    "experts_per_token": (0, 65_536),
    "draft_layers": (0, 100),
    "max_context": (1, 10**9),
    "file_bytes": (1, 10**16),
}
MAX_GROUPS = 64
MAX_NAME = 80


@dataclass(frozen=True)
class LayerGroup:
    """Layers that store the same. Widths in elements, window in tokens, bytes per layer.

    key_dim, value_dim: what one key-value head stores for a token. Latent attention stores one
    vector for all heads: one head of the latent's width and no value. query_dim, output_dim: what a
    query head multiplies and sums over in prefill, where that differs from what is stored.
    window: most tokens kept. stride: every so many tokens become one stored entry, beside the
    window in full. index_bytes: extra bytes of an entry, the key of a sparse-attention indexer.
    top_k: entries that a new token reads of those stored, the best by the indexer; None: all.
    state_bytes: the fixed state of a recurrent layer for one request, of which conv_bytes are the
    last inputs of a convolution. state_width: bytes of one element of the rest; 0 where that is not
    known, or one type for all engines. A layer with query heads and no key-value heads reads the
    cache of another one. Raises ValueError on an impossible number.

    >>> from planner import LayerGroup
    >>> LayerGroup(32, query_heads=32, kv_heads=8, key_dim=128, value_dim=128).bytes_per_token()
    131072
    """

    layers: int
    query_heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    stride: int = 1
    state_bytes: int = 0
    index_bytes: int = 0
    query_dim: int | None = None
    output_dim: int | None = None
    top_k: int | None = None
    conv_bytes: int = 0
    state_width: int = 0

    def __post_init__(self):
        _check(self, may_be_none=("window", "query_dim", "output_dim", "top_k"))
        if self.conv_bytes > self.state_bytes:
            raise ValueError("conv_bytes is more than the state_bytes that it is a part of")
        for given, stored in (("query_dim", self.key_dim), ("output_dim", self.value_dim)):
            if getattr(self, given) is None:
                object.__setattr__(self, given, stored)

    def stores(self, key_bytes=FP16_BYTES, value_bytes=FP16_BYTES, index_bytes=FP16_BYTES):
        """What these layers keep for one request: pairs of bytes per token and most tokens.

        The most is ∞ where the cache grows for ever. Layers that keep nothing give no pair.
        index_bytes: of an element of an indexer's key.
        """
        entry, index = self._entry_bytes(key_bytes, value_bytes, index_bytes)
        indexed = entry + index
        if self.stride == 1:
            pairs = [(indexed, self.span)]
        else:
            pairs = [(entry, self.window or 0), (indexed / self.stride, ENDLESS)]
        return [(each, most) for each, most in pairs if each and most]

    def reads(self, key_bytes=FP16_BYTES, value_bytes=FP16_BYTES, index_bytes=FP16_BYTES):
        """What a new token reads of what these layers keep, in the same pairs.

        All of it, or with an indexer every key of that and the `top_k` best of the entries.
        """
        if self.top_k is None:
            return self.stores(key_bytes, value_bytes, index_bytes)
        entry, index = self._entry_bytes(key_bytes, value_bytes, index_bytes)
        if self.stride == 1:
            pairs = [(entry, min(self.span, self.top_k)), (index, self.span)]
        else:
            far = (entry / self.stride, self.top_k * self.stride)
            pairs = [(entry, self.window or 0), far, (index / self.stride, ENDLESS)]
        return [(each, most) for each, most in pairs if each and most]

    def _entry_bytes(self, key_bytes, value_bytes, index_bytes):
        """Bytes of an entry in all these layers, and of its indexer's keys."""
        entry = formulas.kv_bytes_per_token(
            self.layers, self.kv_heads, self.key_dim, self.value_dim, key_bytes, value_bytes
        )
        keys = self.layers * self.index_bytes
        return entry, keys * index_bytes / FP16_BYTES if keys else 0

    def bytes_per_token(self, *widths):
        """Bytes one token adds to one request's cache in these layers, while no window is full.

        widths: of a stored element, as `stores` takes them.
        """
        return sum(each for each, _ in self.stores(*widths))

    @property
    def fixed_bytes(self):
        """Bytes of one request that do not depend on its context."""
        return self.layers * self.state_bytes

    def attended_pairs(self, tokens):
        """Query-key pairs of one head of one layer in a causal pass over so many tokens."""
        pairs = formulas.attended_pairs(tokens, self.span)
        if self.stride > 1:
            near = pairs if self.window else 0
            pairs = near + formulas.attended_pairs(tokens, ENDLESS) / self.stride
        return pairs

    def attended(self, tokens):
        """Keys that a new token attends to in one head of one layer, itself among `tokens`."""
        return self.attended_pairs(tokens) - self.attended_pairs(tokens - 1)

    @property
    def span(self):
        """Tokens these layers keep at most; ∞ without a window."""
        return ENDLESS if self.window is None else self.window

    @property
    def kind(self):
        """In a word: full, window, latent, compressed, recurrent, shared or none."""
        if not self.kv_heads:
            if self.state_bytes:
                return "recurrent"
            return "shared" if self.query_heads else "none"
        if self.stride > 1:
            return "compressed"
        if self.window:
            return "window"
        return "full" if self.value_dim else "latent"

    def with_kv_heads(self, share):
        """The same layers with a key-value head of full width for every `share` query heads.

        As they are where no query head says what full width is.
        """
        if not self.query_heads or not self.query_dim + self.output_dim:
            return self
        return replace(
            self,
            kv_heads=-(-self.query_heads // share),
            key_dim=self.query_dim,
            value_dim=self.output_dim,
        )


class CacheShape(NamedTuple):
    """The cache of one request as three numbers: cache(n) = fixed + per_token · n + windowed.

    windowed: pairs of bytes per token and the number of tokens after which they stop to grow.
    """

    fixed: float
    per_token: float
    windowed: tuple[tuple[float, float], ...]

    def request_bytes(self, context_tokens):
        """Cache of one request of so many tokens."""
        grows = ((self.per_token, ENDLESS), *self.windowed)
        return formulas.layered_cache_bytes(
            self.fixed, [each for each, _ in grows], [most for _, most in grows], context_tokens
        )


@dataclass(frozen=True)
class Model:
    """Groups of layers and parameter counts. Raises ValueError on an impossible number.

    parameters: all that are resident, without draft layers. embedding_parameters: the input
    embedding where it is a matrix of its own; it is looked up, not multiplied, so a decode step
    does not read it. head_parameters: the output head; where input and output share one matrix this
    is it, and embedding_parameters is 0. vision_parameters: resident, but no part of writing text.
    expert_parameters: all routed experts together; of each layer's `experts` a token takes
    `experts_per_token`. host_parameters: tables looked up by a few rows a token, which engines keep
    in host memory: no device holds them. draft_layers: layers that only speculative decoding loads,
    counted nowhere else. width: of the hidden state that layers pass on. expert_width: inside a
    routed expert. dtype: how the published weights are stored, by the id of a weight format.
    file_bytes: size of the published weights where it is known exactly, or what its config says of
    each part. 0 or None where a source is silent.

    >>> from planner import LayerGroup, Model, Scenario, evaluate
    >>> group = LayerGroup(32, query_heads=32, kv_heads=8, key_dim=128, value_dim=128)
    >>> own = Model("own", "My model", (group,), parameters=8_030_261_248)
    >>> evaluate(Scenario(), model=own).plan.weights_bytes
    16060522496.0
    """

    id: str
    name: str
    groups: tuple[LayerGroup, ...]
    parameters: int
    embedding_parameters: int = 0
    head_parameters: int = 0
    vision_parameters: int = 0
    expert_parameters: int = 0
    host_parameters: int = 0
    experts: int = 0
    experts_per_token: int = 0
    draft_layers: int = 0
    width: int = 0
    expert_width: int = 0
    max_context: int | None = None
    dtype: str = "fp16"
    file_bytes: int | None = None
    source: str = ""

    def __post_init__(self):
        _check(self, may_be_none=("max_context", "file_bytes"))
        if not 1 <= len(self.groups) <= MAX_GROUPS:
            raise ValueError(f"a model has 1 to {MAX_GROUPS} groups of layers")
        if not 1 <= len(self.name) <= MAX_NAME or not self.name.isprintable():
            raise ValueError(f"a model's name has 1 to {MAX_NAME} printable characters")
        if not re.fullmatch(r"[a-z0-9_-]{1,20}", self.dtype):
            raise ValueError("dtype is not the name of a format of weights such as fp16")
        parts = (
            self.embedding_parameters,
            self.head_parameters,
            self.vision_parameters,
            self.expert_parameters,
            self.host_parameters,
        )
        if sum(parts) > self.parameters:
            raise ValueError("the parts have more parameters than the whole model")
        if self.experts_per_token > self.experts:
            raise ValueError("experts_per_token is more than there are experts")
        if bool(self.expert_parameters) != bool(self.experts_per_token):
            raise ValueError("expert_parameters and experts_per_token go together")
        if not self.stores() and not self.fixed_bytes:
            raise ValueError("no layer stores anything: no key-value heads with a width, no state")

    @property
    def layers(self):
        return sum(group.layers for group in self.groups)

    @property
    def vocabulary(self):
        """Entries of the output head; 0 where the width is not known."""
        return self.head_parameters // self.width if self.width else 0

    @property
    def dense_parameters(self):
        """Those of the layers that every token runs through: all but experts and what is beside."""
        beside = self.embedding_parameters + self.head_parameters + self.vision_parameters
        return self.parameters - beside - self.host_parameters - self.expert_parameters

    def read_parameters(self, tokens):
        """Parameters that one pass over so many tokens reads: the dense part, and experts covered.

        A decode step is a pass over one token of every request.
        """
        always = (
            self.parameters
            - self.embedding_parameters
            - self.vision_parameters
            - self.host_parameters
            - self.expert_parameters
        )
        if not self.experts:
            return always
        return always + self.expert_parameters * self.experts_read(tokens)

    def experts_read(self, tokens):
        """The part of the routed experts that a pass over so many tokens reads; 0 without any."""
        if not self.experts:
            return 0.0
        covered = formulas.experts_covered(self.experts, self.experts_per_token, tokens)
        return covered / self.experts

    @property
    def active_parameters(self):
        """Parameters that multiply each token of text."""
        return self.read_parameters(1)

    def attention_flops(self, pairs):
        """FLOPs of all layers with attention.

        pairs: a function that counts the query-key pairs of one head of a group's layer.
        """
        return sum(
            formulas.attention_flops(
                group.layers, group.query_heads, group.query_dim, group.output_dim, pairs(group)
            )
            for group in self.groups
            if group.query_heads
        )

    def weight_bytes(self, bytes_per_parameter=FP16_BYTES):
        """Bytes of all weights at one width."""
        return self.parameters * bytes_per_parameter

    def cache_shape(self, *widths) -> CacheShape:
        """The three numbers of one request's cache, its elements at the given widths."""
        stores = self.stores(*widths)
        return CacheShape(
            self.fixed_bytes,
            sum(each for each, most in stores if most == ENDLESS),
            tuple(store for store in stores if store[1] < ENDLESS),
        )

    def stores(self, *widths):
        """Pairs of bytes per token and most tokens kept, of all groups; see LayerGroup.stores."""
        return [pair for group in self.groups for pair in group.stores(*widths)]

    @property
    def fixed_bytes(self):
        """Bytes of one request's recurrent states."""
        return sum(group.fixed_bytes for group in self.groups)

    @property
    def attention(self):
        """The kind of attention in the field's word: MHA, GQA, MQA, MLA; recurrent without any."""
        groups = [group for group in self.groups if group.kv_heads]
        if not groups:
            return "recurrent"
        if any(not group.value_dim for group in groups):
            return "MLA"
        heads = {(group.kv_heads, group.query_heads) for group in groups}
        if all(kv == query for kv, query in heads):
            return "MHA"
        return "MQA" if all(kv == 1 for kv, _ in heads) else "GQA"

    def with_kv_heads(self, share):
        """The same model with one key-value head for every `share` query heads."""
        groups = tuple(g.with_kv_heads(share) if g.kv_heads else g for g in self.groups)
        return replace(self, groups=groups)

    def counterpart(self):
        """What to hold this model against: MHA if it shares heads, else GQA with four a head.

        Four is the lesson's step from 32 key-value heads to 8.
        """
        return self.with_kv_heads(4 if self.attention == "MHA" else 1)


def _check(thing, may_be_none):
    """Every number of a group or a model is whole and within LIMITS."""
    for field in fields(thing):
        value = getattr(thing, field.name)
        if field.name not in LIMITS or (value is None and field.name in may_be_none):
            continue
        least, most = LIMITS[field.name]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{field.name} is not a number")
        if not least <= value <= most or value != int(value):
            raise ValueError(f"{field.name} is not a whole number from {least:,} to {most:,}")
