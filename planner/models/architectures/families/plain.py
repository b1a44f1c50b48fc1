"""Architectures whose layers store keys and values of every token, all alike."""

from dataclasses import replace

from planner.models.architectures import attention, beside, feeds, stacks
from planner.models.architectures.family import Family, experts_in

LLAMA = Family()
QWEN2 = Family(
    kinds=stacks.upper_windowed, feeds=feeds.sparse_step, bias="qkv",
    defaults={"max_window_layers": 28},
)  # fmt: skip
QWEN3 = replace(QWEN2, bias="", qk_norm="head")
MIXTRAL = Family(kinds=stacks.all_windowed, names=experts_in("intermediate_size"))
_GLM = Family(defaults={"attention_bias": True}, flag_bias="qkv")
_GLM_EXPERTS = replace(_GLM, feeds=feeds.after_dense)
_GPT2 = Family(
    tied=True, gated=False, bias="all", mlp_bias=True, norms_with_bias=True, mlp_factor=4
)
_AFTER_DENSE = Family(feeds=feeds.after_dense)
_M3_NAMES = {
    "intermediate": ("dense_intermediate_size",),
    "expert_intermediate": ("intermediate_size",),
}
_MINIMAX_M3 = Family(
    kinds=stacks.sparse_kinds,
    feeds=feeds.after_dense,
    mixers={"full": attention.heads, "indexed": attention.indexed_heads},
    names=_M3_NAMES,
    qk_norm="head",
    qk_flag="head",
)
_BAILING = Family(
    feeds=feeds.after_dense,
    qk_flag="head",
    shared_each=True,
    names={"attention_bias": ("use_qkv_bias",)},
    flag_bias="qkv",
)
_HUNYUAN = Family(qk_flag="head", qk_norm="head", names={"context": ("max_position_embeddings",)})

PLAIN = {
    "llama": LLAMA,
    "arcee": Family(gated=False),
    "apertus": Family(gated=False, qk_norm="head"),
    "apertus1p5": Family(gated=False, qk_norm="head"),
    "apertus1p5_text": Family(gated=False, qk_norm="head"),
    "baichuan": LLAMA,
    "internlm2": LLAMA,
    "internlm3": replace(LLAMA, names={"attention_bias": ("qkv_bias",)}, flag_bias="qkv"),
    "cohere": Family(tied=True, norms=1, qk_flag="full"),
    "cwm": Family(kinds=stacks.all_windowed),
    "dbrx": Family(
        inside=("attn_config", "ffn_config"),
        names={"kv_heads": ("kv_n_heads",), "expert_intermediate": ("ffn_hidden_size",)},
    ),
    "ernie4_5": Family(tied=True, names={"attention_bias": ("use_bias",)}),
    "ernie4_5_moe": Family(
        feeds=feeds.ernie_feeds, tied=True, names={"attention_bias": ("use_bias",)}
    ),
    "exaone": Family(tied=True),
    "exaone_moe": replace(
        _AFTER_DENSE, kinds=stacks.every_nth_full("pattern"), qk_norm="head",
        names={"pattern": ("sliding_window_pattern",)}, defaults={"pattern": 4},
    ),
    "gemma": Family(tied=True),
    "glm": _GLM,
    "glm4": replace(_GLM, norms=4),
    "glm4v_text": replace(_GLM, norms=4),
    "glm_ocr_text": replace(_GLM, norms=4, defaults={}),
    "glm4_moe": replace(_GLM_EXPERTS, qk_flag="head"),
    "glm4v_moe_text": _GLM_EXPERTS,
    "granite": LLAMA,
    "granitemoe": Family(names=experts_in("intermediate_size")),
    "granitemoeshared": Family(names=experts_in("intermediate_size")),
    "hunyuan": _HUNYUAN,
    "hunyuan_v1_dense": _HUNYUAN,
    "hunyuan_v1_moe": _HUNYUAN,
    "hy_v3": replace(_AFTER_DENSE, qk_norm="head", defaults={"first_dense": 1}),
    "minimax_m2": Family(
        kinds=stacks.minimax_kinds, qk_norm="full", qk_flag="full",
        names=experts_in("intermediate_size"),
    ),
    "minimax_m3": _MINIMAX_M3,
    "minimax_m3_vl": _MINIMAX_M3,
    "minimax_m3_vl_text": _MINIMAX_M3,
    "minicpm": Family(tied=True),
    "mixtral": MIXTRAL,
    "nemotron": Family(gated=False, norms_with_bias=True),
    "nemotron-nas": Family(
        blocks=stacks.pruned_stack,
        mixers={
            "full": attention.grouped_heads,
            "linear": attention.replaced_by_linear,
            "none": attention.nothing,
        },
    ),
    "olmo": Family(norms=0, names={}),
    "olmo2": Family(qk_norm="full"),
    "olmoe": Family(qk_norm="full", names=experts_in("intermediate_size")),
    "phimoe": replace(MIXTRAL, bias="all", norms_with_bias=True),
    "sarvam_moe": replace(_AFTER_DENSE, qk_flag="head", qk_norm="head"),
    "seed_oss": Family(bias="qkv"),
    "jais2": Family(
        gated=False, mlp_bias=True, norms_with_bias=True, defaults={"attention_bias": True}
    ),
    "smollm3": replace(QWEN2, bias="", tied=True),
    "mimo": replace(QWEN2, feeds=feeds.everywhere),
    "qwen2": QWEN2,
    "qwen2_moe": replace(QWEN2, shared_gate=True),
    "qwen2_vl_text": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_5_vl_text": QWEN2,
    "qwen2_5_omni_text": QWEN2,
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3,
    "qwen3_vl_text": QWEN3,
    "qwen3_vl_moe_text": QWEN3,
    "qwen3_omni_moe_text": QWEN3,
    "solar_open": Family(),
    "deepseek": _AFTER_DENSE,
    "bailing_moe": _BAILING,
    "gpt2": replace(_GPT2, positions=0),
    "gpt_bigcode": replace(_GPT2, positions=0, multi_query=True),
    "opt": replace(_GPT2, kinds=stacks.square_embedding, positions=2),
    "bloom": replace(
        _GPT2, names={"hidden": ("hidden_size", "n_embed")}, beside=beside.input_norm
    ),
    "gpt_neox": replace(_GPT2, tied=False),
    "starcoder2": replace(_GPT2, kinds=stacks.all_windowed),
    "stablelm": Family(norms_with_bias=True),
    "phi": replace(_GPT2, tied=False, norms=1, beside=beside.head_bias),
    "gptj": replace(_GPT2, tied=False, bias="", norms=1, beside=beside.head_bias),
    "mpt": replace(_GPT2, kinds=stacks.mpt_kinds, bias="", mlp_bias=False, norms_with_bias=False),
    "falcon": replace(
        _GPT2,
        bias="",
        mlp_bias=False,
        norms=1,
        multi_query=True,
        every=beside.second_norm,
        names={"kv_heads": ("num_kv_heads",), "intermediate": ("ffn_hidden_size",)},
    ),
}  # fmt: skip
