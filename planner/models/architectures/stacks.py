"""Which layer of a model is of which kind, and which has a mixture of experts.

A rule takes the fields of a config and the number of layers, and names each layer in order: full,
window, recurrent or another word that the family ties to a kind of layer; for the feed-forward
part dense, moe or none.
"""

from planner.models.architectures.fields import Fields, Refusal, each
from planner.models.notation import shorten

WORDS = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "recurrent",
    "lightning_attention": "recurrent",
    "mamba": "recurrent",
    "conv": "conv",
    "hybrid": "hybrid",
    "indexed_attention": "indexed",
    "minimax_m3_sparse": "indexed",
    "hybrid_sliding": "window",
}


def all_full(fields, layers):
    return ["full"] * layers


def all_windowed(fields, layers):
    """One window for every layer, unless the file sets it to null (Mistral 7B v0.2 and later)."""
    return ["window" if fields.number("window", None) else "full"] * layers


def upper_windowed(fields, layers):
    """Qwen2: a window is named in the file, and used only where use_sliding_window says so."""
    if not fields.flag("use_sliding_window") or not fields.number("window", None):
        return ["full"] * layers
    below = fields.number("max_window_layers")
    return ["full" if layer < below else "window" for layer in range(layers)]


def all_recurrent(fields, layers):
    return ["recurrent"] * layers


def square_embedding(fields, layers):
    """OPT: the smallest one embeds in a narrower space, which is not counted here."""
    if fields.number("word_embed_proj_dim", None) not in (None, fields.count("hidden")):
        raise Refusal("word_embed_proj_dim differs from hidden_size, which is not counted here.")
    return ["full"] * layers


def mpt_kinds(fields, layers):
    """MPT: sharing of heads is said in attn_config; only the plain kind is known here."""
    attention = fields.within("attn_config")
    if attention.text("attn_type") not in (None, "multihead_attention"):
        raise Refusal("attn_config.attn_type is not multihead_attention, the only kind known here.")
    return ["full"] * layers


def every_nth_full(word):
    """All layers of the lesser kind but every nth: a pattern number or an interval in the file.

    EXAONE spells the pattern as a word such as LLLG, and has no window at all where it is null.
    """

    def kinds(fields, layers):
        lesser = "window" if "window" in fields.family.mixers else "recurrent"
        if lesser == "window" and fields.states_no("window"):
            return ["full"] * layers
        pattern = fields.find(word)[1]
        if isinstance(pattern, str):
            if not pattern or set(pattern) - {"L", "G"}:
                raise Refusal(
                    f"{fields.find(word)[0]} is {shorten(repr(pattern))}, not of L and G."
                )
            spelled = {"L": lesser, "G": "full"}
            return [spelled[pattern[layer % len(pattern)]] for layer in range(layers)]
        step = fields.count(word)
        return ["full" if (layer + 1) % step == 0 else lesser for layer in range(layers)]

    return kinds


def llama4_kinds(fields, layers):
    """Layers with rotary positions are chunked; the ones without see everything."""
    rotary = fields.entries("no_rope_layers", int)
    if not rotary:
        return every_nth_full("no_rope_layer_interval")(fields, layers)
    return each(fields, "no_rope_layers", int, layers, {1: "window", 0: "full"})


def flagged(word, kinds):
    """A list of small numbers, one a layer."""

    def rule(fields, layers):
        if fields.find(word)[1] is None:
            raise Refusal(f"{word} is missing: it says which layers are of which kind.")
        return each(fields, word, int, layers, kinds)

    return rule


def minimax_kinds(fields, layers):
    if fields.find("attn_type_list")[1] is None:
        return ["full"] * layers
    return each(fields, "attn_type_list", int, layers, {0: "recurrent", 1: "full"})


def must_be_listed(fields, layers):
    raise Refusal("layer_types is missing: it says which layers attend and which are recurrent.")


def one_based_lists(fields, layers):
    """Kimi Linear: the numbers of the layers of each kind, counted from 1."""
    if fields.find("linear_attn_config")[1] is None and (kinds := listed(fields, layers)):
        return kinds
    linear = fields.within("linear_attn_config")
    full = linear.entries("full_attn_layers", int) or []
    recurrent = linear.entries("kda_layers", int) or []
    if sorted([*full, *recurrent]) != list(range(1, layers + 1)):
        raise Refusal("full_attn_layers and kda_layers do not name each layer once.")
    return ["full" if layer in set(full) else "recurrent" for layer in range(1, layers + 1)]


def jamba_kinds(fields, layers):
    step, first = fields.count("attn_layer_period"), fields.number("attn_layer_offset")
    return ["full" if layer % step == first else "recurrent" for layer in range(layers)]


def shared_kinds(fields, layers):
    """Gemma 3n and 4: the last few layers read the cache of an earlier one."""
    kinds = listed(fields, layers) or every_nth_full("pattern")(fields, layers)
    own = layers - fields.number("num_kv_shared_layers", 0)
    return [kind if i < own else f"shared {kind}" for i, kind in enumerate(kinds)]


def indexed_kinds(fields, layers):
    """GLM: a layer either has an indexer of its own or uses that of the one before."""
    if fields.entries("indexer_types", str) is None:
        return ["full"] * layers
    return each(fields, "indexer_types", str, layers, {"full": "full", "shared": "unindexed"})


def compressed_kinds(fields, layers):
    return [str(ratio) for ratio in _ratios(fields, layers)]


def sourced_kinds(fields, layers):
    """DeepSeek-V4.1: the ratio of each layer, and whether it stores or chooses entries itself."""
    stores = set(fields.entries("kv_source_layer_ids", int) or ())
    chooses = set(fields.entries("index_source_layer_ids", int) or ())
    return [
        f"{ratio}{'s' if i in stores else ''}{'i' if i in chooses else ''}"
        for i, ratio in enumerate(_ratios(fields, layers))
    ]


def _ratios(fields, layers):
    ratios = fields.entries("compress_ratios", int, layers)
    if ratios is None:
        raise Refusal("compress_ratios is missing: it says how many tokens become one entry.")
    if any(not 0 <= ratio <= 65_536 for ratio in ratios):
        raise Refusal("compress_ratios has an entry that is no number of tokens.")
    return ratios[:layers]


def convolved_kinds(fields, layers):
    """LFM2: the numbers of the layers that attend, counted from 0; the others convolve."""
    full = fields.entries("full_attn_idxs", int)
    if full is None:
        raise Refusal("layer_types is missing: it says which layers attend and which convolve.")
    return ["full" if layer in set(full) else "conv" for layer in range(layers)]


def named_attention(fields, layers):
    """Bamba: the numbers of the layers that attend; the others are recurrent."""
    full = set(fields.entries("attn_layer_indices", int) or ())
    return ["full" if layer in full else "recurrent" for layer in range(layers)]


def grouped_kinds(fields, layers):
    """Ling 2.5 and later: the last layer of each group attends, and all of an unfinished one.

    Ling 3 has short convolutions in the others; before it they are lightning attention.
    """
    size = fields.count("layer_group_size")
    whole = layers // size * size
    newer = fields.find("kda_taps")[1] is not None
    attends, other = ("full", "recurrent") if newer else ("plain", "lightning")
    return [
        attends if (layer + 1) % size == 0 or layer >= whole else other for layer in range(layers)
    ]


def all_recurrent_and_attending(fields, layers):
    """Falcon-H1: every layer holds attention and a recurrent part."""
    return ["both"] * layers


def sparse_kinds(fields, layers):
    """MiniMax-M3: a list of the layers that choose blocks of the past."""
    table = fields.table("sparse_attention_config")
    if not table or table.get("use_sparse_attention") is False:
        return ["full"] * layers
    own = fields.within("sparse_attention_config")
    if own.find("sparse_attention_freq")[1] is None:
        return ["indexed"] * layers
    return each(own, "sparse_attention_freq", int, layers, {0: "full", 1: "indexed"})


def pooled_kinds(fields, layers):
    """GLM-5.3-Flash: every fourth layer attends, with an indexer of its own or an earlier one's."""
    kinds = listed(fields, layers) or every_nth_full("pattern")(fields, layers)
    owners = indexed_kinds(fields, layers)
    return [
        owner if kind in ("full", "indexed") else kind
        for kind, owner in zip(kinds, owners, strict=True)
    ]


def dots3_kinds(fields, layers):
    """Dots 3: the first two layers and every fourth after choose among all tokens."""
    words = {"full_attention": "full", "indexed_attention": "full", "sliding_attention": "window"}
    if fields.find("layer_types")[1] is not None:
        return each(fields, "layer_types", str, layers, words)
    return ["full" if layer < 2 or layer % 4 == 1 else "window" for layer in range(layers)]


def alternating(fields, layers):
    """GPT-Neo: kinds in words with how often they repeat, a window in the local ones."""
    words = {"global": "full", "local": "window"}
    if fields.find("attention_layers")[1] is not None:
        return each(fields, "attention_layers", str, layers, words)
    types = fields.find("attention_types")[1] or [[["global", "local"], -(-layers // 2)]]
    try:
        kinds = [words[word] for names, times in types for word in names * min(times, layers)]
    except (KeyError, TypeError, ValueError):
        raise Refusal(
            "attention_types is not a list of kinds with how often they repeat."
        ) from None
    if len(kinds) < layers:
        raise Refusal(f"attention_types names {len(kinds)} layers of {layers}.")
    return kinds[:layers]


def headed_kinds(fields, layers):
    """Laguna: each layer has its own number of query heads."""
    kinds = listed(fields, layers) or ["full"] * layers
    heads = fields.entries("num_attention_heads_per_layer", int, layers)
    if not heads:
        return kinds
    return [f"{kind}:{many}" for kind, many in zip(kinds, heads[:layers], strict=True)]


def local_kinds(fields, layers):
    """Inkling: a list of the layers with a window, or every sixth without."""
    local = fields.entries("local_layer_ids", int)
    if local is None:
        return every_nth_full("pattern")(fields, layers)
    return ["window" if layer in set(local) else "full" for layer in range(layers)]


def nemotron_stack(fields):
    """Blocks in a row, each either a mixer or a feed-forward: letters in a word, or a list."""
    blocks = {"M": ("recurrent", "none"), "*": ("full", "none"), "-": ("none", "dense")}
    blocks["E"] = ("none", "moe")
    words = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
    word = "hybrid_override_pattern"
    if fields.find(word)[1] is None:
        word = "layers_block_type"
    entries = fields.entries(word, str)
    if not entries:
        raise Refusal("hybrid_override_pattern is missing: it says what each block is.")
    layers = fields.number("layers", None)
    if layers is not None and layers != len(entries):
        raise Refusal(f"{word} has {len(entries)} blocks, num_hidden_layers says {layers}.")
    letters = each(
        fields, word, str, len(entries), {**words, **{letter: letter for letter in blocks}}
    )
    return [blocks[letter] for letter in letters]


def doubled_stack(fields):
    """LongCat: each layer has two attentions, two dense parts, and experts beside them."""
    return [("full", "dense"), ("full", "dense+moe")] * fields.layers()


def hybrid_stack(fields):
    """Zamba2: Mamba layers, and those that a shared block feeds; no feed-forward of their own."""
    entries = fields.entries("layers_block_type", str)
    if not entries:
        raise Refusal("layers_block_type is missing: it says which layers a shared block feeds.")
    words = {"mamba": "recurrent", "linear_attention": "recurrent", "hybrid": "hybrid"}
    kinds = each(fields, "layers_block_type", str, fields.layers(), words)
    return [(kind, "none") for kind in kinds]


def pruned_stack(fields):
    """Nemotron-NAS: each block says what is left of its attention and its feed-forward."""
    name, blocks = fields.find("block_configs")
    if not isinstance(blocks, list) or len(blocks) != fields.layers():
        raise Refusal(f"{name} is not a list with an entry for each layer.")
    return [_pruned(fields, block, i) for i, block in enumerate(blocks)]


def _pruned(fields, block, i):
    name = f"block_configs[{i}]"
    parts = [block.get(part) for part in ("attention", "ffn")] if isinstance(block, dict) else []
    if len(parts) != 2 or not all(isinstance(part, dict) for part in parts):
        raise Refusal(f"{name} does not say what its attention and its ffn are.")
    if parts[0].get("sparsify") or parts[1].get("sparsify"):
        raise Refusal(f"{name} is sparsified, which is not counted here.")
    attention, ffn = (Fields(part, fields.family, f"{name}.") for part in parts)
    if attention.flag("no_op"):
        kind = "none"
    elif attention.flag("replace_with_linear"):
        kind = "linear"
    else:
        kind = f"full:{attention.count('n_heads_in_group')}"
    if ffn.flag("no_op"):
        return kind, "none"
    if ffn.flag("replace_with_linear"):
        return kind, "linear"
    hidden = fields.count("hidden")
    inner = int(2 * ffn.share("ffn_mult", None) * hidden / 3)
    return kind, f"dense:{-(-inner // 256) * 256}"


def listed(fields, layers):
    if fields.find("layer_types")[1] is None:
        return None
    return each(fields, "layer_types", str, layers, WORDS)


# The rules that read a list of their own; what layer_types says beside it is no more than that.
OWN_LISTS = (
    shared_kinds,
    compressed_kinds,
    sourced_kinds,
    indexed_kinds,
    one_based_lists,
    headed_kinds,
    dots3_kinds,
    pooled_kinds,
)
