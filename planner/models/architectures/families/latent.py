"""Architectures that store a latent for each token instead of keys and values of every head."""

from dataclasses import replace

from planner.models.architectures import attention, beside, feeds, stacks
from planner.models.architectures.family import Family

_DEEPSEEK = Family(
    feeds=feeds.after_dense,
    mixers={"full": attention.latent, "unindexed": attention.latent},
)
_INDEXED = replace(_DEEPSEEK, kinds=stacks.indexed_kinds)
_DOTS3 = Family(
    kinds=stacks.dots3_kinds,
    feeds=feeds.after_dense,
    mixers={
        "full": attention.latent,
        "indexed": attention.latent,
        "window": attention.other_latent,
    },
    names={
        "window": ("sliding_window", "sliding_window_size"),
        "shared_intermediate": ("shared_experts_intermediate_size",),
    },
    defaults={"first_dense": 1, "window": 512},
    head_gate=True,
)
_COMPRESSED = Family(kinds=stacks.compressed_kinds, mixers={"any": attention.compressed})
_SOURCED = Family(
    kinds=stacks.sourced_kinds, mixers={"any": attention.sourced}, beside=beside.engrams
)
_LONGCAT = Family(
    blocks=stacks.doubled_stack,
    mixers={"full": attention.latent},
    names={
        "intermediate": ("ffn_hidden_size",),
        "expert_intermediate": ("expert_ffn_hidden_size",),
        "layers": ("num_layers", "num_hidden_layers"),
    },
)

LATENT = {
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "mistral4": _DEEPSEEK,
    "mistral_large_3": _DEEPSEEK,
    "axk1": replace(_DEEPSEEK, norms=3),
    "youtu": _DEEPSEEK,
    "youtu_llm": _DEEPSEEK,
    "glm4_moe_lite": _DEEPSEEK,
    "glm_moe_dsa": _INDEXED,
    "hy_v4": replace(
        _INDEXED, output_gate=True, every=beside.two_way_mixing, beside=beside.stream_head
    ),
    "sarvam_mla": _DEEPSEEK,
    "dots3_note": _DOTS3,
    "dots3_note_text": _DOTS3,
    "minicpm3": Family(mixers={"full": attention.expanded_latent}, tied=True),
    "deepseek_v4": _COMPRESSED,
    "deepseek_ref": _COMPRESSED,
    "deepseek_v41": _SOURCED,
    "deepseek_v41_text": _SOURCED,
    "longcat_flash": _LONGCAT,
    "longcat_flash_ngram": replace(_LONGCAT, beside=beside.hashed_input),
}
