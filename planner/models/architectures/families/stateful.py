"""Architectures some of whose layers keep a state of fixed size instead of every token."""

from dataclasses import replace

from planner.models.architectures import attention, beside, feeds, recurrent, stacks
from planner.models.architectures.attention import heads
from planner.models.architectures.family import Family, experts_in

_MAMBA_NAMES = {
    "conv": ("conv_kernel", "mamba_d_conv"),
    "state_size": ("ssm_state_size", "mamba_d_state", "state_size"),
    "mamba_heads": ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads"),
    "mamba_width": ("mamba_head_dim", "mamba_d_head", "mamba_headdim"),
    "mamba_groups": ("n_groups", "mamba_n_groups", "mamba_ngroups"),
    "step_rank": ("mamba_dt_rank", "time_step_rank"),
}
_DELTA = Family(
    kinds=stacks.every_nth_full("full_attention_interval"),
    feeds=feeds.sparse_step,
    mixers={"full": heads, "recurrent": recurrent.gated_delta},
    defaults={"full_attention_interval": 4},
    qk_norm="head",
    output_gate=True,
    shared_gate=True,
)
_KIMI = Family(
    kinds=stacks.one_based_lists,
    feeds=feeds.after_dense,
    mixers={"full": attention.latent, "recurrent": recurrent.delta_attention},
    every=beside.attention_residual_layers,
    beside=beside.attention_residuals,
)
_GLM_NEXT = Family(
    kinds=stacks.pooled_kinds,
    feeds=feeds.after_dense,
    mixers={
        "full": attention.latent,
        "unindexed": attention.latent,
        "recurrent": recurrent.delta_attention,
    },
    every=beside.mixing_layers,
    defaults={
        "pattern": 4,
        "vocabulary": 154_880,
        "hidden": 4096,
        "heads": 64,
        "intermediate": 12_288,
        "expert_intermediate": 2048,
        "shared_experts": 1,
        "first_dense": 3,
        "kda_heads": 64,
        "kda_width": 128,
        "kda_taps": 4,
        "index_head_dim": 128,
        "index_n_heads": 32,
        "index_kpool": 16,
        "hc_mult": 4,
    },
)
_MINIMAX = Family(
    kinds=stacks.minimax_kinds,
    mixers={"full": heads, "recurrent": recurrent.lightning},
    names=experts_in("intermediate_size"),
)
_LFM2 = Family(
    kinds=stacks.convolved_kinds,
    feeds=feeds.rounded,
    mixers={"full": heads, "conv": recurrent.short_convolution},
    names={
        "intermediate": ("block_ff_dim", "intermediate_size"),
        "multiple": ("block_multiple_of",),
        "conv": ("conv_L_cache",),
        "tie_word_embeddings": ("tie_word_embeddings", "tie_embedding"),
    },
    defaults={"conv": 3},
    tied=True,
    qk_norm="head",
)
_LING3 = Family(
    kinds=stacks.grouped_kinds,
    feeds=feeds.after_dense,
    mixers={
        "full": attention.latent,
        "recurrent": recurrent.delta_attention,
        "plain": attention.plain_latent,
        "lightning": recurrent.lightning,
    },
    defaults={"no_kda_lora": True},
    head_gate=True,
    shared_each=True,
)
_QWEN4 = replace(
    _DELTA,
    mixers={
        "full": attention.indexed_heads,
        "indexed": attention.indexed_heads,
        "recurrent": recurrent.gated_delta,
    },
    every=beside.gated_residual_layers,
    beside=beside.gated_residuals,
    defaults={
        "full_attention_interval": 4,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "expert_intermediate": 512,
        "shared_intermediate": 512,
        "hc_count": 4,
        "hc_lowrank": 320,
        "ngram_size": 3,
        "heads_per_ngram": 8,
        "ngram_vocab_size_base": 20_000_000,
        "ple_conv_kernel_size": 4,
    },
    norms=0,
)

STATEFUL = {
    "qwen3_next": _DELTA,
    "qwen3_5_text": _DELTA,
    "qwen3_5_moe_text": _DELTA,
    "qwen4_exp": _QWEN4,
    "qwen4_exp_text": _QWEN4,
    "olmo_hybrid": replace(
        _DELTA, feeds=feeds.everywhere, qk_norm="full", output_gate=False, shared_gate=False
    ),
    "minimax": _MINIMAX,
    "minimax_m1": _MINIMAX,
    "kimi_linear": _KIMI,
    "glm5_next": _GLM_NEXT,
    "glm5_next_text": _GLM_NEXT,
    "bailing_hybrid": _LING3,
    "lfm2": _LFM2,
    "lfm2_moe": replace(
        _LFM2,
        feeds=feeds.after_dense,
        names={**_LFM2.names, "intermediate": ("intermediate_size",)},
    ),
    "nemotron_h": Family(
        blocks=stacks.nemotron_stack,
        mixers={"full": heads, "recurrent": recurrent.mamba2, "none": attention.nothing},
        names={**_MAMBA_NAMES, "head_dim": ("head_dim", "attention_head_dim")},
        defaults={
            "head_dim": 128,
            "mamba_width": 64,
            "mamba_groups": 8,
            "conv": 4,
            "intermediate": 21_504,
        },
        gated=False,
        norms=1,
    ),
    "granitemoehybrid": Family(
        kinds=stacks.must_be_listed,
        mixers={"full": heads, "recurrent": recurrent.mamba2},
        names={
            **_MAMBA_NAMES,
            **experts_in("intermediate_size"),
            "intermediate": ("shared_intermediate_size",),
        },
        defaults={"mamba_groups": 1},
    ),
    "bamba": Family(
        kinds=stacks.named_attention,
        mixers={"full": heads, "recurrent": recurrent.mamba2},
        names=_MAMBA_NAMES,
        defaults={"mamba_groups": 1, "conv": 4},
    ),
    "falcon_h1": Family(
        kinds=stacks.all_recurrent_and_attending,
        mixers={"both": recurrent.beside_mamba2},
        names={**_MAMBA_NAMES, "mamba_inner": ("mamba_d_ssm",)},
        defaults={"mamba_groups": 1, "conv": 4, "mamba_expand": 2, "mamba_rms_norm": False},
    ),
    "zamba2": Family(
        blocks=stacks.hybrid_stack,
        mixers={"recurrent": recurrent.mamba2, "hybrid": recurrent.over_mamba2},
        beside=beside.shared_blocks,
        names={**_MAMBA_NAMES, "head_dim": ("attention_head_dim",)},
        defaults={"mamba_groups": 1, "adapter_rank": 128, "num_mem_blocks": 1},
        tied=True,
        norms=1,
    ),
    "jamba": Family(
        kinds=stacks.jamba_kinds,
        feeds=feeds.jamba_feeds,
        mixers={"full": heads, "recurrent": recurrent.mamba1},
        names={**_MAMBA_NAMES, **experts_in("intermediate_size")},
    ),
    "mamba2": Family(
        kinds=stacks.all_recurrent,
        feeds=feeds.no_feeds,
        mixers={"recurrent": recurrent.mamba2},
        names={**_MAMBA_NAMES, "mamba_width": ("head_dim",), "mamba_expand": ("expand",)},
        norms=1,
    ),
    "mamba": Family(
        kinds=stacks.all_recurrent,
        feeds=feeds.no_feeds,
        mixers={"recurrent": recurrent.mamba1},
        names={**_MAMBA_NAMES, "mamba_inner": ("intermediate_size",), "mamba_expand": ("expand",)},
        tied=True,
        norms=1,
    ),
    "falcon_mamba": Family(
        kinds=stacks.all_recurrent,
        feeds=feeds.no_feeds,
        mixers={"recurrent": recurrent.mamba1},
        names={**_MAMBA_NAMES, "mamba_inner": ("intermediate_size",), "mamba_expand": ("expand",)},
        tied=True,
        norms=1,
    ),
}
