"""What is refused by name: kinds of models that are not planned here, and fields nobody reads."""

_DIFFUSION = (
    "this model writes by block diffusion: it denoises many tokens at once, several times over, so "
    "neither the cost of a step nor its cache is that of a decoder. Plan the autoregressive model "
    "of the same layers, and read its time per output token as that of one denoising pass."
)
_SPEECH = (
    "this model writes sound, not text; what is planned here is a decoder of text. Plan the text "
    "model inside it by pasting the part of the file that describes it."
)

# model_type -> why it is refused, and what to do instead.
REASONS = {
    **dict.fromkeys(
        (
            "diffusion_gemma",
            "llada",
            "llada2_moe",
            "llada_moe",
            "dream",
            "Dream",
            "sdar",
            "sdar_moe",
            "nemotron_labs_diffusion",
            "fast_dllm",
        ),
        _DIFFUSION,
    ),
    **dict.fromkeys(("vits", "qwen3_tts", "bark", "csm", "musicgen"), _SPEECH),
}

# Fields by which a file says that its layers differ from what the architecture's name promises.
_LAYOUT = {
    "altup_num_inputs",
    "attn_layer_indices",
    "attn_type_list",
    "block_configs",
    "compress_ratios",
    "cross_attention_layers",
    "engram_layer_ids",
    "full_attn_idxs",
    "hc_count",
    "hc_mult",
    "hidden_size_per_layer_input",
    "hybrid_layer_pattern",
    "hybrid_override_pattern",
    "index_head_dim",
    "index_kpool",
    "indexer_head_dim",
    "indexer_types",
    "kv_lora_rank",
    "kv_source_layer_ids",
    "layer_types",
    "linear_attn_config",
    "moe_latent_size",
    "moe_num_experts",
    "n_routed_experts",
    "num_attention_heads_per_layer",
    "num_experts",
    "num_kv_shared_layers",
    "num_local_experts",
    "num_mem_blocks",
    "ple_layer_ids",
    "routed_expert_hidden_size",
    "sparse_attention_config",
    "swa_num_attention_heads",
    "swa_num_key_value_heads",
    "zero_expert_num",
}
_NOTHING = (None, 0, False, 1, "", [], {}, -1)


def layout_left_over(fields):
    """The fields that speak of layers, hold something, and were not asked for."""
    return [
        name
        for name in fields.left_over()
        if name.rpartition(".")[2] in _LAYOUT
        and fields.values[name.removeprefix(fields.prefix)] not in _NOTHING
    ]
