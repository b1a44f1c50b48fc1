"""The feed-forward part of each layer: which layers mix experts, and what they hold.

A rule takes the fields of a config and the number of layers, and names each layer's part in order:
dense, moe, linear or none, or two of them with a plus; a number after a colon, as in
“dense:8192”, is the layer's own inner width.
"""

from collections.abc import Mapping
from typing import NamedTuple

from planner.models.architectures.fields import Refusal, each

LAYERS = {"dense": "dense", "sparse": "moe"}


class Feeds(NamedTuple):
    """All feed-forward parts: parameters outside the routed experts and in them, experts a layer,
    and how many of them a token uses."""

    parameters: int
    routed: int
    experts: int
    per_token: int


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
    return [
        "moe" if (i + 1) % step == 0 and first <= i <= last else "dense" for i in range(layers)
    ]


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


def feed_forward(fields, kinds: Mapping[str, int]) -> Feeds:
    """What all layers' parts hold; `kinds` counts the layers of each kind."""
    family, hidden = fields.family, fields.count("hidden")
    matrices = 3 if family.gated else 2
    bias = fields.flag("mlp_bias", family.mlp_bias)

    def block(width, inner, bias=False):
        return matrices * width * inner + (width + (matrices - 1) * inner if bias else 0)

    dense = routed = experts = per_token = 0
    parts = [(part, layers) for kind, layers in kinds.items() for part in kind.split("+")]
    for kind, layers in parts:
        word, _, own = kind.partition(":")
        if word == "dense":
            usual = family.mlp_factor * hidden or None
            inner = int(own) if own else fields.number("intermediate", usual)
            inner = fields.count("intermediate") if inner is None else inner
            dense += layers * block(hidden, inner, bias)
        if word == "linear":  # all that pruning left of it (Nemotron-NAS)
            dense += layers * hidden**2
        if word == "moe":
            experts, per_token = fields.count("experts"), fields.count("experts_per_token")
            inner = fields.count("expert_intermediate")
            width = fields.number("moe_latent", None) or hidden
            routed += layers * experts * block(width, inner)
            shared = fields.number("shared_intermediate", None)
            if shared is None or family.shared_each:
                one = inner if shared is None else shared
                shared = fields.number("shared_experts", family.shared_experts) * one
            idle = fields.number("zero_expert_num", 0)  # routed to, but empty
            dense += layers * (block(hidden, shared) + hidden * (experts + idle))
            if shared and family.shared_gate:
                dense += layers * hidden
            if width != hidden:
                normed = width if fields.flag("latent_moe_use_norm") else 0
                dense += layers * (2 * hidden * width + normed)
    return Feeds(dense, routed, experts, per_token)
