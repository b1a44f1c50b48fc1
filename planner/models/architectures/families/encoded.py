"""Decoders over an encoder: they store their own tokens and, once more, the source's.

The encoder's parameters are resident but no part of writing, so they stand with the towers'.
"""

from planner.models.architectures import attention, sound, stacks
from planner.models.architectures.beside import Beside
from planner.models.architectures.family import Family
from planner.models.architectures.towers import plain_block

_NAMES = {
    "hidden": ("d_model",),
    "layers": ("decoder_layers",),
    "heads": ("decoder_attention_heads",),
    "intermediate": ("decoder_ffn_dim",),
}
_T5_NAMES = {
    "hidden": ("d_model",),
    "layers": ("num_decoder_layers", "num_layers"),
    "heads": ("num_heads",),
    "head_dim": ("d_kv",),
    "intermediate": ("d_ff",),
    "context": ("n_positions",),
}
_MIXERS = {"full": attention.crossing}


def whisper_encoder(fields):
    """Whisper: 30 seconds of sound, always read as a whole; positions stored beside."""
    own = fields.renamed(
        layers=("encoder_layers",), hidden=("d_model",), intermediate=("encoder_ffn_dim",)
    )
    fields.notes.append(
        "The source's keys and values are counted at 16 bits, for the whole 30 seconds, beside the "
        "text's own. Reading the sound is not in the time to first token."
    )
    return Beside(reading=sound.encoder(own) + fields.count("source_tokens") * own.count("hidden"))


def text_encoder(fields):
    """BART: plain blocks, learned positions on both sides, a norm after each embedding."""
    _say_source(fields)
    hidden, rows = fields.count("hidden"), fields.count("context") + fields.number("spare", 2)
    block = plain_block(hidden, fields.count("encoder_ffn_dim"))
    reading = fields.count("encoder_layers") * block + rows * hidden + 2 * hidden
    return Beside(rows * hidden, reading=reading)


def t5_encoder(fields):
    """T5: no biases, relative positions shared by all layers of a side."""
    _say_source(fields)
    hidden, heads, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    relative = fields.number("relative_attention_num_buckets", 32) * heads
    inner = fields.count("intermediate")
    gate = _gated(fields) * hidden * inner
    block = 4 * hidden * heads * width + 2 * hidden * inner + gate + 2 * hidden
    layers = fields.layers()
    reading = fields.count("num_layers", layers) * block + hidden + relative
    return Beside(relative + layers * gate, reading=reading)


def _gated(fields):
    return (fields.text("feed_forward_proj") or "").startswith("gated")


def _say_source(fields):
    fields.notes.append(
        "The context is the source and the text together: every layer stores each token of either "
        "once. Reading the source is counted as if the decoder did it."
    )


_BART = Family(
    kinds=stacks.all_full, mixers=_MIXERS, beside=text_encoder, names=_NAMES, tied=True,
    gated=False, bias="all", mlp_bias=True, norms=3, norms_with_bias=True,
)  # fmt: skip
_T5 = Family(mixers=_MIXERS, beside=t5_encoder, names=_T5_NAMES, tied=True, gated=False, norms=3)

ENCODED = {
    "whisper": Family(
        mixers=_MIXERS,
        beside=whisper_encoder,
        names={**_NAMES, "source_tokens": ("max_source_positions",)},
        defaults={"source_tokens": 1500, "context": 448},
        tied=True,
        gated=False,
        bias="qv",
        mlp_bias=True,
        norms=3,
        norms_with_bias=True,
        positions=0,
    ),
    "bart": _BART,
    "mbart": _BART,
    "t5": _T5,
    "mt5": _T5,
}
