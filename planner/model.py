"""A model as the planner sees it: groups of alike layers, and its parameters."""

from dataclasses import dataclass, replace

from planner import formulas

FP16_BYTES = 2


@dataclass(frozen=True)
class LayerGroup:
    """Layers that store the same for every token. Widths in elements, window in tokens."""

    layers: int
    query_heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None

    def bytes_per_token(self, key_bytes=FP16_BYTES, value_bytes=FP16_BYTES):
        """Bytes one token adds to the cache of one request in these layers together."""
        return formulas.kv_bytes_per_token(
            self.layers, self.kv_heads, self.key_dim, self.value_dim, key_bytes, value_bytes
        )

    @property
    def span(self):
        """Tokens these layers keep at most; ∞ without a window."""
        return float("inf") if self.window is None else self.window


@dataclass(frozen=True)
class Model:
    """Groups of layers and parameter counts.

    `embedding_parameters` is the input embedding where it is a matrix of its own: resident, but
    looked up and not multiplied, and not read in a decode step. 0 where a source does not say.
    """

    id: str
    name: str
    groups: tuple[LayerGroup, ...]
    parameters: float
    embedding_parameters: float = 0
    source: str = ""

    @property
    def layers(self):
        return sum(group.layers for group in self.groups)

    @property
    def active_parameters(self):
        """Parameters that multiply each token."""
        return self.parameters - self.embedding_parameters

    def weight_bytes(self, bytes_per_parameter=FP16_BYTES):
        """Bytes of all weights at one width."""
        return self.parameters * bytes_per_parameter

    @property
    def attention(self):
        """The kind of attention in the field's word: MHA, GQA or MQA."""
        heads = {(group.kv_heads, group.query_heads) for group in self.groups}
        if all(kv == query for kv, query in heads):
            return "MHA"
        return "MQA" if all(kv == 1 for kv, _ in heads) else "GQA"

    def with_kv_heads(self, share):
        """The same model with one key-value head for every `share` query heads."""
        groups = tuple(replace(g, kv_heads=-(-g.query_heads // share)) for g in self.groups)
        return replace(self, groups=groups)

    def counterpart(self):
        """What to hold this model against: MHA if it shares heads, else GQA with four a head.

        Four is the lesson's step from 32 key-value heads to 8.
        """
        return self.with_kv_heads(4 if self.attention == "MHA" else 1)
