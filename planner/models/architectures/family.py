"""What one architecture is: the rules and names by which its config.json is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.models.architectures import feeds, stacks
from planner.models.architectures.attention import heads
from planner.models.architectures.fields import Fields, Refusal

ATTENTION = {"full": heads, "window": heads}


@dataclass(frozen=True)
class Family:
    """One architecture. What a row does not say is as in Llama.

    kinds, feeds: the rules of `stacks` and `feeds` that say what each layer is. mixers: kind -> its
    function. blocks: a rule for both at once. every: parameters of each layer beside both, where
    there are more than norms. beside: what stands beside the layers, a `Beside`. inside: objects of
    the file whose fields count as its own. names: the file's names where they are particular.
    defaults: what the architecture takes where the file is silent.
    tied: input and output share a matrix. gated: three matrices in a feed-forward block, else two.
    bias: on "qkv" or "all" matrices of attention. flag_bias: the same, of what attention_bias
    switches on. qk_norm: norms on queries and keys, of a "head" or of the "full" width;
    qk_flag: the same, where use_qk_norm says whether there are any.
    output_gate: attention multiplies its output by one more query; head_gate: by one number a head.
    norms: norms of a layer, of the hidden width. positions: rows of a learned position table beyond
    the context, None without one. mlp_factor: feed-forward width over hidden width where the file
    has none. shared_experts: how many where the file has none; shared_each: the file's width of
    the shared part is of each; shared_gate: a gate before them. multi_query: one key-value head by
    a flag.
    """

    kinds: Callable = stacks.all_full
    feeds: Callable = feeds.everywhere
    mixers: Mapping[str, Callable] = field(default_factory=lambda: ATTENTION)
    blocks: Callable | None = None
    every: Callable | None = None
    beside: Callable | None = None
    inside: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, int | bool] = field(default_factory=dict)
    tied: bool = False
    gated: bool = True
    bias: str = ""
    flag_bias: str = "all"
    mlp_bias: bool = False
    qk_norm: str = ""
    qk_flag: str = ""
    output_gate: bool = False
    head_gate: bool = False
    norms: int = 2
    norms_with_bias: bool = False
    positions: int | None = None
    mlp_factor: int = 0
    shared_experts: int = 0
    shared_each: bool = False
    shared_gate: bool = False
    multi_query: bool = False

    def stack(self, fields: Fields) -> list[tuple[str, str]]:
        """Each layer's kind of mixer and kind of feed-forward, in order."""
        if self.blocks:
            return self.blocks(fields)
        layers = fields.layers()
        if self.kinds in stacks.OWN_LISTS:
            fields.touched.add("layer_types")
            kinds = self.kinds(fields, layers)
        else:
            kinds = stacks.listed(fields, layers) or self.kinds(fields, layers)
        return list(zip(kinds, self.feeds(fields, layers), strict=True))

    def mixer(self, kind: str) -> Callable:
        """The function for a kind of layer; Refusal where this architecture has none such.

        A number after a colon, as in “window:48”, is the layer's own and not part of the kind.
        """
        found = self.mixers.get(kind.partition(":")[0]) or self.mixers.get("any")
        if found is None:
            raise Refusal(f"This architecture is not known to have {kind} layers.")
        return found


def experts_in(name: str) -> dict[str, tuple[str, ...]]:
    """Names for a file that gives the experts' width under another field."""
    return {"expert_intermediate": (name,)}
