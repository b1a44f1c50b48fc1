"""Architectures some of whose layers store a window of the latest tokens alone."""

from dataclasses import replace

from planner.models.architectures import beside, feeds, stacks
from planner.models.architectures.attention import global_heads, heads, other_heads, renamed
from planner.models.architectures.family import Family, experts_in
from planner.models.architectures.recurrent import convolved_heads

_WINDOWED = Family(kinds=stacks.all_windowed)
_PATTERN = {"pattern": ("sliding_window_pattern", "_sliding_window_pattern", "layer_switch")}
_PATTERN4 = Family(
    kinds=stacks.every_nth_full("pattern"), names=_PATTERN, defaults={"pattern": 4},
    qk_norm="full",
)  # fmt: skip
_GEMMA2 = Family(
    kinds=stacks.every_nth_full("pattern"), names=_PATTERN,
    defaults={"pattern": 2, "window": 4096, "head_dim": 256}, tied=True, norms=4,
)  # fmt: skip
_GEMMA3 = replace(
    _GEMMA2,
    defaults={
        "pattern": 6,
        "window": 4096,
        "heads": 8,
        "kv_heads": 4,
        "head_dim": 256,
        "vocabulary": 262_208,
        "context": 131_072,
    },
    qk_norm="head",
)
_GEMMA3N = replace(
    _GEMMA3,
    kinds=stacks.shared_kinds,
    feeds=feeds.listed_widths,
    mixers={"full": heads, "window": heads, "shared full": heads, "shared window": heads},
    every=beside.alternating_layers,
    beside=beside.alternating_streams,
    defaults={"pattern": 5, "window": 512, "vocab_size_per_layer_input": 262_144},
)
_GEMMA4 = replace(
    _GEMMA3,
    kinds=stacks.shared_kinds,
    feeds=feeds.gemma4_feeds,
    mixers={
        "full": global_heads,
        "window": heads,
        "shared full": global_heads,
        "shared window": heads,
    },
    every=beside.per_layer_layers,
    beside=beside.per_layer_embedding,
    defaults={"pattern": 6, "vocab_size_per_layer_input": 262_144, "global_head_dim": 512},
    names={
        **_PATTERN,
        "expert_intermediate": ("expert_intermediate_size", "moe_intermediate_size"),
        "shared_intermediate": ("intermediate_size",),
    },
)
_MIMO_WINDOW = renamed(
    heads,
    heads=("swa_num_attention_heads", "num_attention_heads"),
    kv_heads=("swa_num_key_value_heads", "num_key_value_heads"),
    head_dim=("swa_head_dim", "head_dim"),
    value_dim=("swa_v_head_dim", "v_head_dim"),
)
_MIMO2 = Family(
    kinds=stacks.flagged("hybrid_layer_pattern", {0: "full", 1: "window"}),
    feeds=feeds.after_dense,
    mixers={"full": heads, "window": _MIMO_WINDOW},
)
_STEP = Family(
    mixers={"full": heads, "window": other_heads},
    feeds=feeds.step_feeds,
    names={
        "kv_heads": ("num_attention_groups", "num_key_value_heads"),
        "shared_intermediate": ("share_expert_dim", "share_expert_dims"),
    },
    qk_norm="head",
    head_gate=True,
)
_MUSE = Family(
    kinds=stacks.every_nth_full("pattern"),
    defaults={"pattern": 4},
    qk_norm="",
    output_gate=True,
    norms=4,
)
_PLAMO3 = Family(
    kinds=stacks.every_nth_full("pattern"),
    names={"window": ("window_size", "sliding_window"), "pattern": ("sliding_window_pattern",)},
    defaults={"pattern": 8},
    tied=True,
    qk_norm="head",
    norms=4,
)
_INKLING_NAMES = {
    "conv": ("conv_kernel_size", "sconv_kernel_size"),
    "window": ("sliding_window_size", "sliding_window"),
    "intermediate": ("dense_intermediate_size", "intermediate_size"),
    "expert_intermediate": ("moe_intermediate_size", "intermediate_size"),
    "first_dense": ("dense_mlp_idx", "first_k_dense_replace"),
}
_INKLING = Family(
    kinds=stacks.local_kinds,
    feeds=feeds.after_dense,
    mixers={
        "full": convolved_heads(heads),
        "hybrid": convolved_heads(heads),
        "window": convolved_heads(_MIMO_WINDOW),
    },
    beside=beside.input_norm,
    names=_INKLING_NAMES,
    defaults={"pattern": 6},
    qk_norm="head",
)

WINDOWED = {
    "mistral": _WINDOWED,
    "ministral": _WINDOWED,
    "ministral3": _WINDOWED,
    "phi3": _WINDOWED,
    "phi4mm": replace(_WINDOWED, beside=beside.adapters),
    "cohere2": replace(_PATTERN4, qk_norm="", tied=True, norms=1),
    "olmo3": _PATTERN4,
    "exaone4": replace(_PATTERN4, qk_norm="head"),
    "exaone4_5_text": replace(_PATTERN4, qk_norm="head"),
    "dots1": Family(kinds=stacks.upper_windowed, feeds=feeds.after_dense, qk_norm="head"),
    "gpt_neo": Family(
        kinds=stacks.alternating,
        names={"window": ("window_size",), "heads": ("num_heads",), "layers": ("num_layers",)},
        tied=True,
        gated=False,
        bias="out",
        mlp_bias=True,
        norms_with_bias=True,
        positions=0,
        mlp_factor=4,
    ),
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma3n_text": _GEMMA3N,
    "gemma4_text": _GEMMA4,
    "gemma4_unified_text": _GEMMA4,
    "gpt_oss": replace(
        _WINDOWED,
        kinds=stacks.every_nth_full("pattern"),
        names=experts_in("intermediate_size"),
        defaults={"pattern": 2},
        bias="all",
        mlp_bias=True,
    ),
    "llama4_text": Family(
        kinds=stacks.llama4_kinds,
        feeds=feeds.llama4_feeds,
        names={
            **experts_in("intermediate_size"),
            "intermediate": ("intermediate_size_mlp",),
            "window": ("attention_chunk_size",),
        },
        defaults={"no_rope_layer_interval": 4},
        shared_experts=1,
    ),
    "mimo_v2_flash": _MIMO2,
    "mimo_v2": _MIMO2,
    "muse_glimmer": _MUSE,
    "muse_glimmer_text": _MUSE,
    "plamo3": _PLAMO3,
    "step3p5": _STEP,
    "step3p7": _STEP,
    "afmoe": Family(
        kinds=stacks.every_nth_full("pattern"),
        feeds=feeds.after_dense,
        names={"pattern": ("global_attn_every_n_layers",)},
        defaults={"pattern": 4},
        qk_norm="head",
        output_gate=True,
        norms=4,
    ),
    "laguna": Family(
        kinds=stacks.headed_kinds, feeds=feeds.after_dense, qk_norm="head", head_gate=True
    ),
    "mellum": Family(kinds=stacks.every_nth_full("pattern"), defaults={"pattern": 4}),
    **dict.fromkeys(("inkling_mm_model", "inkling_model", "inkling_text"), _INKLING),
}
