"""The feed-forward part of each layer: which layers mix experts, and what they hold.

A rule takes the fields of a config and the number of layers, and names each layer's part in order:
dense, moe, linear or none, or two of them with a plus; a number after a colon, as in
“dense:8192”, is the layer's own inner width.
"""

from typing import NamedTuple

from planner.models.architectures.fields import Refusal, each

LAYERS = {"dense": "dense", "sparse": "moe"}


class Feed(NamedTuple):
    """One layer's part: parameters of its dense block, of experts that every token uses, of routed
    ones, and of routers; how many routed experts there are, how many a token uses, how wide each
    is inside."""

    dense: int = 0
    shared: int = 0
    routed: int = 0
    small: int = 0
    experts: int = 0
    per_token: int = 0
    inner: int = 0


def everywhere(fields, layers):
    return ["moe" if fields.number("experts", 0) else "dense"] * layers


def after_dense(fields, layers):
    """DeepSeek, GLM, Kimi: the first few layers are dense; some files list them all."""
    if not fields.number("experts", 0):
        return ["dense"] * layers
    if fields.entries("mlp_layer_types", str) is not None:
        return each(fields, "mlp_layer_types", str, layers, LAYERS)
    if isinstance(fields.find("moe_layer_freq")[1], list):
        return each(fields, "moe_layer_freq", int, layers, {0: "dense", 1: "moe"})
    if fields.find("is_moe_layer")[1] is not None:  # EXAONE lists yes and no
        return ["moe" if yes else "dense" for yes in fields.flags("is_moe_layer", layers)]
    first, step = fields.number("first_dense", 0), fields.count("moe_layer_freq", 1)
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


def ernie_feeds(fields, layers):
    """ERNIE 4.5: every nth layer between a first and a last one."""
    if not fields.number("experts", 0):
        return ["dense"] * layers
    first, last = fields.number("moe_layer_start_index", 0), fields.find("moe_layer_end_index")[1]
    last = layers - 1 if last in (None, -1) else fields.number("moe_layer_end_index")
    step = fields.count("moe_layer_interval", 1)
    return ["moe" if (i + 1) % step == 0 and first <= i <= last else "dense" for i in range(layers)]


def step_feeds(fields, layers):
    """Step 3: the numbers of the layers with experts, in a word or a list."""
    if fields.find("moe_layers_enum")[1] is None:
        return after_dense(fields, layers)
    word = fields.find("moe_layers_enum")[1]
    numbers = word.split(",") if isinstance(word, str) else word
    if not isinstance(numbers, list) or not all(str(each).strip().isdigit() for each in numbers):
        raise Refusal("moe_layers_enum is not a list of layer numbers.")
    moe = {int(each) for each in numbers}
    return ["moe" if layer in moe else "dense" for layer in range(layers)]


def jamba_feeds(fields, layers):
    step, first = fields.count("expert_layer_period"), fields.number("expert_layer_offset")
    many = fields.number("experts") > 1
    return ["moe" if many and i % step == first else "dense" for i in range(layers)]


def rounded(fields, layers):
    """LFM2: two thirds of the width in the file, rounded up, unless it says not to."""
    inner = fields.count("intermediate")
    if fields.flag("block_auto_adjust_ff_dim", True):
        factor, step = fields.share("block_ffn_dim_multiplier", 1.0), fields.count("multiple", 256)
        inner = -(-int(factor * int(2 * inner / 3)) // step) * step
    return [f"dense:{inner}"] * layers


def listed_widths(fields, layers):
    """Gemma 3n: each layer's own width in a list, or one for all."""
    widths = fields.find("intermediate")[1]
    if not isinstance(widths, list):
        return [f"dense:{fields.count('intermediate')}"] * layers
    widths = fields.entries("intermediate", int, layers)
    return [f"dense:{width}" for width in widths[:layers]]


def gemma4_feeds(fields, layers):
    """Gemma 4: layers that reuse another's keys may have a feed-forward of twice the width."""
    if fields.number("experts", 0):
        return ["moe"] * layers
    inner = fields.count("intermediate")
    own = layers - fields.number("num_kv_shared_layers", 0)
    wide = 2 if fields.flag("use_double_wide_mlp") else 1
    return [f"dense:{inner if i < own else wide * inner}" for i in range(layers)]


def no_feeds(fields, layers):
    return ["none"] * layers


def feed_forward(fields, kind: str) -> Feed:
    """What one layer's part of this kind holds."""
    family, hidden = fields.family, fields.count("hidden")
    found = Feed()
    for part in kind.split("+"):
        word, _, own = part.partition(":")
        if word == "dense":
            usual = family.mlp_factor * hidden or None
            inner = int(own) if own else fields.number("intermediate", usual)
            inner = fields.count("intermediate") if inner is None else inner
            found = found._replace(dense=_block(fields, hidden, inner))
        elif word == "linear":  # all that pruning left of it (Nemotron-NAS)
            found = found._replace(dense=hidden**2)
        elif word == "moe":
            found = _mixture(fields)._replace(dense=found.dense)
    return found


def _block(fields, width, inner):
    """A feed-forward block of two or, with a gate, three matrices."""
    matrices = 3 if fields.family.gated else 2
    biased = fields.flag("mlp_bias", fields.family.mlp_bias)
    return matrices * width * inner + (width + (matrices - 1) * inner if biased else 0)


def _mixture(fields):
    """Routed experts, the shared ones, and the router with what else stands before them."""
    family, hidden = fields.family, fields.count("hidden")
    experts, inner = fields.count("experts"), fields.count("expert_intermediate")
    width = fields.number("moe_latent", None) or hidden
    shared = fields.number("shared_intermediate", None)
    if shared is None or family.shared_each:
        one = inner if shared is None else shared
        shared = fields.number("shared_experts", family.shared_experts) * one
    idle = fields.number("zero_expert_num", 0)  # routed to, but empty
    small = hidden * (experts + idle) + (hidden if shared and family.shared_gate else 0)
    latent = 0
    if width != hidden:
        latent = 2 * hidden * width
        small += width if fields.flag("latent_moe_use_norm") else 0
    return Feed(
        shared=(_block(fields, hidden, shared) if shared else 0) + latent,
        routed=experts * _block(fields, width, inner),
        small=small,
        experts=experts,
        per_token=fields.count("experts_per_token"),
        inner=inner,
    )
