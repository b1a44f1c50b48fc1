"""Which layer of a model is of which kind, and which has a mixture of experts.

A rule takes the fields of a config and the number of layers, and names each layer in order: full,
window, recurrent or another word that the family ties to a kind of layer; for the feed-forward
part dense, moe or none.
"""

from collections.abc import Mapping

from planner.models.architectures.fields import Refusal

WORDS = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "linear_attention": "recurrent",
    "lightning_attention": "recurrent",
    "mamba": "recurrent",
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
    """All layers of the lesser kind but every nth: a pattern number or an interval in the file."""

    def kinds(fields, layers):
        step = fields.count(word)
        lesser = "window" if "window" in fields.family.mixers else "recurrent"
        return ["full" if (layer + 1) % step == 0 else lesser for layer in range(layers)]

    return kinds


def llama4_kinds(fields, layers):
    """Layers with rotary positions are chunked; the ones without see everything."""
    rotary = fields.entries("no_rope_layers", int)
    if not rotary:
        return every_nth_full("no_rope_layer_interval")(fields, layers)
    return _each(fields, "no_rope_layers", int, layers, {1: "window", 0: "full"})


def flagged(word, kinds):
    """A list of small numbers, one a layer."""

    def rule(fields, layers):
        if fields.find(word)[1] is None:
            raise Refusal(f"{word} is missing: it says which layers are of which kind.")
        return _each(fields, word, int, layers, kinds)

    return rule


def minimax_kinds(fields, layers):
    if fields.find("attn_type_list")[1] is None:
        return ["full"] * layers
    return _each(fields, "attn_type_list", int, layers, {0: "recurrent", 1: "full"})


def must_be_listed(fields, layers):
    raise Refusal("layer_types is missing: it says which layers attend and which are recurrent.")


def one_based_lists(fields, layers):
    """Kimi Linear: the numbers of the layers of each kind, counted from 1."""
    linear = fields.within("linear_attn_config")
    full = linear.entries("full_attn_layers", int) or []
    recurrent = linear.entries("kda_layers", int) or []
    if sorted([*full, *recurrent]) != list(range(1, layers + 1)):
        raise Refusal("full_attn_layers and kda_layers do not name each layer once.")
    return ["full" if layer in set(full) else "recurrent" for layer in range(1, layers + 1)]


def jamba_kinds(fields, layers):
    step, first = fields.count("attn_layer_period"), fields.number("attn_layer_offset")
    return ["full" if layer % step == first else "recurrent" for layer in range(layers)]


def gemma4_kinds(fields, layers):
    if fields.number("hidden_size_per_layer_input", 0):
        raise Refusal("Per-layer embeddings (hidden_size_per_layer_input) are not counted here.")
    kinds = listed(fields, layers) or every_nth_full("pattern")(fields, layers)
    own = layers - fields.number("num_kv_shared_layers", 0)
    return [kind if i < own else f"shared {kind}" for i, kind in enumerate(kinds)]


def indexed_kinds(fields, layers):
    """GLM: a layer either has an indexer of its own or uses that of the one before."""
    if fields.entries("indexer_types", str) is None:
        return ["full"] * layers
    return _each(fields, "indexer_types", str, layers, {"full": "full", "shared": "unindexed"})


def compressed_kinds(fields, layers):
    ratios = fields.entries("compress_ratios", int, layers)
    if ratios is None:
        raise Refusal("compress_ratios is missing: it says how many tokens become one entry.")
    if any(not 0 <= ratio <= 65_536 for ratio in ratios):
        raise Refusal("compress_ratios has an entry that is no number of tokens.")
    return [str(ratio) for ratio in ratios[:layers]]


def listed(fields, layers):
    if fields.find("layer_types")[1] is None:
        return None
    return _each(fields, "layer_types", str, layers, WORDS)


def _each(fields, word, kind, layers, words):
    entries = fields.entries(word, kind, layers)
    strange = next((entry for entry in entries[:layers] if entry not in words), None)
    if strange is not None:
        raise Refusal(f"{word} has an entry {str(strange)[:40]!r} that is not known here.")
    return [words[entry] for entry in entries[:layers]]


# The rules that read a list of their own, so that layer_types is not theirs to be read.
OWN_LISTS = (gemma4_kinds, compressed_kinds, indexed_kinds, one_based_lists)


# --- which layer has a mixture of experts -------------------------------------------------------


def everywhere(fields, layers):
    return ["moe" if fields.number("experts", 0) else "dense"] * layers


def after_dense(fields, layers):
    """DeepSeek, GLM, Kimi: the first few layers are dense; some files list them all."""
    if not fields.number("experts", 0):
        return ["dense"] * layers
    if fields.entries("mlp_layer_types", str) is not None:
        return _each(fields, "mlp_layer_types", str, layers, {"dense": "dense", "sparse": "moe"})
    if isinstance(fields.find("moe_layer_freq")[1], list):
        return _each(fields, "moe_layer_freq", int, layers, {0: "dense", 1: "moe"})
    first, step = fields.number("first_k_dense_replace", 0), fields.count("moe_layer_freq", 1)
    return ["moe" if i >= first and i % step == 0 else "dense" for i in range(layers)]


def sparse_step(fields, layers):
    """Qwen: every nth layer, but for those that mlp_only_layers names."""
    if not fields.number("experts", 0):
        return ["dense"] * layers
    plain = set(fields.entries("mlp_only_layers", int) or ())
    step = fields.count("decoder_sparse_step", 1)
    return ["dense" if i in plain or (i + 1) % step else "moe" for i in range(layers)]


def llama4_feeds(fields, layers):
    step = fields.count("interleave_moe_layer_step", 1)
    listed = fields.entries("moe_layers", int)
    moe = set(listed or range(step - 1, layers, step))
    return ["moe" if layer in moe else "dense" for layer in range(layers)]


def jamba_feeds(fields, layers):
    step, first = fields.count("expert_layer_period"), fields.number("expert_layer_offset")
    many = fields.number("experts") > 1
    return ["moe" if many and i % step == first else "dense" for i in range(layers)]


def no_feeds(fields, layers):
    return ["none"] * layers


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
    letters = _each(
        fields, word, str, len(entries), {**words, **{letter: letter for letter in blocks}}
    )
    return [blocks[letter] for letter in letters]


def feed_forward(fields, feeds: Mapping[str, int]):
    """Parameters outside the experts and in them, number of experts, number that a token uses.

    `feeds` counts the layers that are dense and those that are moe.
    """
    family, hidden = fields.family, fields.count("hidden")
    matrices = 3 if family.gated else 2

    def block(width, inner, bias=False):
        return matrices * width * inner + (width + (matrices - 1) * inner if bias else 0)

    dense = routed = experts = per_token = 0
    bias = fields.flag("mlp_bias", family.mlp_bias)
    if feeds.get("dense"):
        usual = family.mlp_factor * hidden or None
        inner = fields.number("intermediate", usual) if usual else fields.count("intermediate")
        dense += feeds["dense"] * block(hidden, inner, bias)
    if layers := feeds.get("moe"):
        experts, per_token = fields.count("experts"), fields.count("experts_per_token")
        inner = fields.count("expert_intermediate")
        width = fields.number("moe_latent_size", None) or hidden
        routed = layers * experts * block(width, inner, bias)
        own = fields.number("shared_intermediate", None)
        if own is None:
            own = fields.number("shared_experts", family.shared_experts) * inner
        dense += layers * (block(hidden, own) + hidden * experts)
        if own and family.shared_gate:
            dense += layers * hidden
        if width != hidden:
            dense += layers * 2 * hidden * width
    return dense, routed, experts, per_token
