"""Parameters of the towers that turn sound into tokens, as `towers` has those for pictures."""

from planner.models.architectures.towers import Tower, plain_block, sizes


def whisper_encoder(fields, hidden):
    """Whisper's encoder before a text model (Qwen2.5-Omni), with one projection."""
    return encoder(fields) + 2 * hidden + fields.count("hidden") * hidden + hidden


def encoder(fields):
    """Whisper's encoder: two convolutions over the mel spectrum, blocks whose keys have no bias."""
    layers, width, inner = sizes(fields)
    convolutions = 3 * fields.number("num_mel_bins", 80) * width + 3 * width**2 + 2 * width
    return layers * (plain_block(width, inner) - width) + convolutions + 2 * width


def omni3(fields, hidden):
    """Qwen3-Omni: three convolutions, plain blocks, two projections."""
    layers, width, inner = sizes(fields)
    down, bands = fields.number("downsample_hidden_size", 480), fields.number("num_mel_bins", 128)
    convolutions = 9 * down * (1 + 2 * down) + 3 * down + width * down * -(-bands // 8)
    out = width**2 + width + width * hidden + hidden
    return layers * plain_block(width, inner) + convolutions + 2 * width + out


def conformer(fields, hidden):
    """Gemma 4's: two feed-forwards, attention and a convolution in each layer."""
    layers, width = fields.count("layers"), fields.count("hidden")
    first, second = 128, 32  # channels of the two convolutions before the layers
    block = 24 * width**2 + width * fields.number("conv_kernel_size", 5) + 9 * width
    block += width // fields.number("heads", 8)
    start = 10 * first + 9 * first * second + second + width**2
    out = fields.number("output_proj_dims", 1536)
    return layers * block + start + width * out + out + out * hidden


def conformer3n(fields, hidden):
    """Gemma 3n's, of one size: what Transformers builds."""
    return 681_348_640 + fields.number("hidden", 1536) * (hidden + 129)


def frames_alone(fields, hidden):
    """Gemma 4 12B: no tower; frames of sound are projected by one matrix."""
    return fields.number("audio_embed_dim", 640) * hidden


def spectrum(fields, hidden):
    """Inkling: a table with a vector for each value of each band of the mel spectrum."""
    return fields.count("n_mel_bins") * fields.count("mel_vocab_size") * hidden + hidden


_ENCODER = {
    "layers": ("encoder_layers", "num_hidden_layers"),
    "hidden": ("d_model", "hidden_size"),
    "intermediate": ("encoder_ffn_dim",),
}

# The model_type of the whole file -> what turns its sound into tokens.
SOUNDS = {
    "gemma3n": Tower(conformer3n, part="audio_config"),
    "gemma4": Tower(conformer, part="audio_config", usual=False),
    "gemma4_unified": Tower(frames_alone, part="audio_config", usual=False),
    "inkling_mm_model": Tower(spectrum, part="audio_config", usual=False),
    "qwen2_5_omni": Tower(whisper_encoder, _ENCODER, part="audio_config"),
    "qwen3_omni_moe": Tower(omni3, _ENCODER, part="audio_config"),
}
