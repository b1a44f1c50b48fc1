"""The table of architectures: model_type -> how its config.json is to be read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from planner.models.architectures import mixers, stacks
from planner.models.architectures.fields import Fields, Refusal
from planner.models.architectures.mixers import heads, renamed

ATTENTION = {"full": heads, "window": heads}
LATENT = {"full": mixers.latent}


@dataclass(frozen=True)
class Family:
    """One architecture. What a row does not say is as in Llama.

    kinds, feeds: the rules of `stacks` that say what each layer is; mixers: kind -> its function.
    blocks: a rule for both at once. names: the file's names where they are particular. defaults:
    what the architecture takes where the file is silent. tied: input and output share a matrix.
    gated: three matrices in a feed-forward block, else two. bias: on "qkv" or "all" matrices of
    attention. qk_norm: norms on queries and keys, of a "head" or of the "full" width. output_gate:
    attention multiplies its output by one more query. norms: norms of a layer, of the hidden width.
    positions: rows of a learned position table beyond the context, None without one. mlp_factor:
    feed-forward width over hidden width where the file has none. shared_experts: how many where the
    file has none; shared_gate: a gate before them. multi_query: one key-value head by a flag.
    """

    kinds: Callable = stacks.all_full
    feeds: Callable = stacks.everywhere
    mixers: Mapping[str, Callable] = field(default_factory=lambda: ATTENTION)
    blocks: Callable | None = None
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)
    tied: bool = False
    gated: bool = True
    bias: str = ""
    mlp_bias: bool = False
    qk_norm: str = ""
    output_gate: bool = False
    norms: int = 2
    norms_with_bias: bool = False
    positions: int | None = None
    mlp_factor: int = 0
    shared_experts: int = 0
    shared_gate: bool = False
    multi_query: bool = False

    def stack(self, fields: Fields) -> list[tuple[str, str]]:
        """Each layer's kind of mixer and kind of feed-forward, in order."""
        if self.blocks:
            return self.blocks(fields)
        layers = fields.layers()
        listed = None if self.kinds in stacks.OWN_LISTS else stacks.listed(fields, layers)
        kinds = listed or self.kinds(fields, layers)
        return list(zip(kinds, self.feeds(fields, layers), strict=True))

    def mixer(self, kind: str) -> Callable:
        """The function for a kind of layer; Refusal where this architecture has none such."""
        found = self.mixers.get(kind) or self.mixers.get("any")
        if found is None:
            raise Refusal(f"This architecture is not known to have {kind} layers.")
        return found


def _experts_in(name):
    return {"expert_intermediate": (name,)}


_LLAMA = Family()
_WINDOWED = Family(kinds=stacks.all_windowed)
_QWEN2 = Family(
    kinds=stacks.upper_windowed, feeds=stacks.sparse_step, bias="qkv",
    defaults={"max_window_layers": 28},
)  # fmt: skip
_QWEN3 = replace(_QWEN2, bias="", qk_norm="head")
_DELTA = Family(
    kinds=stacks.every_nth_full("full_attention_interval"),
    feeds=stacks.sparse_step,
    mixers={"full": heads, "recurrent": mixers.gated_delta},
    defaults={"full_attention_interval": 4},
    qk_norm="head",
    output_gate=True,
    shared_gate=True,
)
_DEEPSEEK = Family(feeds=stacks.after_dense, mixers=LATENT)
_GLM = Family(feeds=stacks.after_dense, bias="qkv")
_GEMMA = Family(tied=True)
_PATTERN = {"pattern": ("sliding_window_pattern", "_sliding_window_pattern", "layer_switch")}
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
_GLOBAL = renamed(
    heads,
    head_dim=("global_head_dim", "head_dim"),
    kv_heads=("num_global_key_value_heads", "num_key_value_heads"),
)
_GEMMA4 = replace(
    _GEMMA3,
    kinds=stacks.gemma4_kinds,
    mixers={"full": _GLOBAL, "window": heads, "shared full": _GLOBAL, "shared window": heads},
    defaults={"pattern": 6},
    names={
        **_PATTERN,
        "expert_intermediate": ("expert_intermediate_size", "moe_intermediate_size"),
        "shared_intermediate": ("intermediate_size",),
    },
)
_PATTERN4 = Family(
    kinds=stacks.every_nth_full("pattern"), names=_PATTERN, defaults={"pattern": 4},
    qk_norm="full",
)  # fmt: skip
_MIXTRAL = replace(_WINDOWED, names=_experts_in("intermediate_size"))
_MINIMAX = Family(
    kinds=stacks.minimax_kinds,
    mixers={"full": heads, "recurrent": mixers.lightning},
    names=_experts_in("intermediate_size"),
)
_GPT2 = Family(
    tied=True, gated=False, bias="all", mlp_bias=True, norms_with_bias=True, mlp_factor=4
)
_MAMBA_NAMES = {
    "conv": ("conv_kernel", "mamba_d_conv"),
    "state_size": ("ssm_state_size", "mamba_d_state", "state_size"),
    "mamba_heads": ("mamba_num_heads", "mamba_n_heads"),
    "mamba_width": ("mamba_head_dim", "mamba_d_head"),
    "mamba_groups": ("n_groups", "mamba_n_groups"),
    "step_rank": ("mamba_dt_rank", "time_step_rank"),
}
_MIMO_WINDOW = renamed(
    heads,
    heads=("swa_num_attention_heads", "num_attention_heads"),
    kv_heads=("swa_num_key_value_heads", "num_key_value_heads"),
    head_dim=("swa_head_dim", "head_dim"),
    value_dim=("swa_v_head_dim", "v_head_dim"),
)

FAMILIES = {
    "llama": _LLAMA,
    "internlm2": _LLAMA,
    "mistral": _WINDOWED,
    "ministral3": _WINDOWED,
    "phi3": _WINDOWED,
    "mixtral": _MIXTRAL,
    "cohere": Family(tied=True, norms=1),
    "cohere2": replace(_PATTERN4, qk_norm="", tied=True, norms=1),
    "granite": _LLAMA,
    "seed_oss": Family(bias="qkv"),
    "smollm3": replace(_QWEN2, bias="", tied=True),
    "olmoe": Family(qk_norm="full", names=_experts_in("intermediate_size")),
    "phimoe": replace(_MIXTRAL, bias="all", norms_with_bias=True),
    "olmo2": Family(qk_norm="full"),
    "olmo3": _PATTERN4,
    "exaone4": replace(_PATTERN4, qk_norm="head"),
    "mimo": replace(_QWEN2, feeds=stacks.everywhere),
    "qwen2": _QWEN2,
    "qwen2_moe": replace(_QWEN2, shared_gate=True),
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_vl_text": _QWEN3,
    "qwen3_vl_moe_text": _QWEN3,
    "qwen3_next": _DELTA,
    "qwen3_5_text": _DELTA,
    "qwen3_5_moe_text": _DELTA,
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma4_text": _GEMMA4,
    "gpt_oss": replace(
        _WINDOWED,
        kinds=stacks.every_nth_full("pattern"),
        names=_experts_in("intermediate_size"),
        defaults={"pattern": 2},
        bias="all",
        mlp_bias=True,
    ),
    "llama4_text": Family(
        kinds=stacks.llama4_kinds,
        feeds=stacks.llama4_feeds,
        names={
            **_experts_in("intermediate_size"),
            "intermediate": ("intermediate_size_mlp",),
            "window": ("attention_chunk_size",),
        },
        defaults={"no_rope_layer_interval": 4},
        shared_experts=1,
    ),
    "glm4_moe": replace(_GLM, qk_norm="head"),
    "glm4v_moe_text": _GLM,
    "minimax": _MINIMAX,
    "minimax_m1": _MINIMAX,
    "minimax_m2": replace(_MINIMAX, qk_norm="full", mixers={"full": heads}),
    "mimo_v2_flash": Family(
        kinds=stacks.flagged("hybrid_layer_pattern", {0: "full", 1: "window"}),
        feeds=stacks.after_dense,
        mixers={"full": heads, "window": _MIMO_WINDOW},
    ),
    "deepseek": Family(feeds=stacks.after_dense),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "glm4_moe_lite": _DEEPSEEK,
    "glm_moe_dsa": replace(
        _DEEPSEEK,
        kinds=stacks.indexed_kinds,
        mixers={"full": mixers.latent, "unindexed": mixers.latent},
    ),
    "kimi_linear": replace(
        _DEEPSEEK,
        kinds=stacks.one_based_lists,
        mixers={"full": mixers.latent, "recurrent": mixers.delta_attention},
    ),
    "deepseek_v4": Family(kinds=stacks.compressed_kinds, mixers={"any": mixers.compressed}),
    "deepseek_ref": Family(kinds=stacks.compressed_kinds, mixers={"any": mixers.compressed}),
    "nemotron_h": Family(
        blocks=stacks.nemotron_stack,
        mixers={"full": heads, "recurrent": mixers.mamba2, "none": mixers.nothing},
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
        mixers={"full": heads, "recurrent": mixers.mamba2},
        names={
            **_MAMBA_NAMES,
            **_experts_in("intermediate_size"),
            "intermediate": ("shared_intermediate_size",),
        },
        defaults={"mamba_groups": 1},
    ),
    "jamba": Family(
        kinds=stacks.jamba_kinds,
        feeds=stacks.jamba_feeds,
        mixers={"full": heads, "recurrent": mixers.mamba1},
        names={**_MAMBA_NAMES, **_experts_in("intermediate_size")},
    ),
    "falcon_mamba": Family(
        kinds=stacks.all_recurrent,
        feeds=stacks.no_feeds,
        mixers={"recurrent": mixers.mamba1},
        names={**_MAMBA_NAMES, "mamba_inner": ("intermediate_size",), "mamba_expand": ("expand",)},
        tied=True,
        norms=1,
    ),
    "gpt2": replace(_GPT2, positions=0),
    "gpt_bigcode": replace(_GPT2, positions=0, multi_query=True),
    "opt": replace(_GPT2, kinds=stacks.square_embedding, positions=2),
    "bloom": replace(_GPT2, names={"hidden": ("hidden_size", "n_embed")}),
    "gpt_neox": replace(_GPT2, tied=False),
    "starcoder2": replace(_GPT2, kinds=stacks.all_windowed),
    "phi": replace(_GPT2, tied=False, norms=1),
    "gptj": replace(_GPT2, tied=False, bias="", norms=1),
    "mpt": replace(_GPT2, kinds=stacks.mpt_kinds, bias="", mlp_bias=False, norms_with_bias=False),
    "falcon": replace(
        _GPT2,
        bias="",
        mlp_bias=False,
        norms=1,
        multi_query=True,
        names={"kv_heads": ("num_kv_heads",), "intermediate": ("ffn_hidden_size",)},
    ),
}
