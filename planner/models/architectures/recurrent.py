"""Kinds of layers with a state of fixed size: what one stores, and its parameters.

As in `attention`, each function gives a LayerGroup of one layer and its parameters without norms
of the hidden width. A state is stored at 32 bits unless the file says otherwise, the last inputs of
a short convolution at 16. Engines let a person choose the type of the states of Mamba and Gated
DeltaNet alone; those of other kinds have the type that is said there.
Source: https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/mamba/
mamba_utils.py (MambaStateDtypeCalculator)
"""

from dataclasses import replace

from planner.models.architectures.attention import heads
from planner.models.architectures.fields import Refusal
from planner.models.model import FP16_BYTES as FP16
from planner.models.model import LayerGroup
from planner.models.notation import shorten

FP32 = 4


def gated_delta(fields, kind):
    """Gated DeltaNet (Yang et al. 2024): a matrix per head and the tail of a convolution."""
    hidden, taps = fields.count("hidden"), fields.count("linear_conv_kernel_dim")
    keys, key = fields.count("linear_num_key_heads"), fields.count("linear_key_head_dim")
    values, value = fields.count("linear_num_value_heads"), fields.count("linear_value_head_dim")
    channels = 2 * keys * key + values * value
    elements, tail = values * key * value, channels * taps * FP16
    parameters = hidden * (channels + values * value + 2 * values) + channels * taps
    parameters += 2 * values + value + values * value * hidden
    return _selective(fields, elements, tail, values), parameters


def delta_attention(fields, kind):
    """Kimi Delta Attention (Kimi Linear 2025): as DeltaNet, three convolutions, two gates.

    Each gate goes through a narrow matrix or, in later models, a full one. vLLM keeps the matrices
    at 32 bits whatever it is told (`kda_state_dtype`); no config.json names another type.
    """
    own = fields
    if fields.find("linear_attn_config")[1] is not None:
        own = fields.within("linear_attn_config")
    hidden, taps = fields.count("hidden"), own.count("kda_taps")
    many, width = own.count("kda_heads"), own.count("kda_width")
    inner = many * width
    state = many * width * width * FP32 + 3 * inner * taps * FP16
    parameters = 4 * hidden * inner + 3 * inner * taps + hidden * many
    parameters += many + inner + width
    narrow, full = width * (hidden + inner), hidden * inner
    parameters += full if fields.flag("no_kda_lora") else narrow
    parameters += full if own.flag("use_full_rank_gate", fields.flag("no_kda_lora")) else narrow
    return _recurrent(state, many), parameters


def mamba2(fields, kind):
    """Mamba-2 (Dao & Gu 2024): a state of heads × width × N and the tail of a convolution."""
    hidden, taps, size = fields.count("hidden"), fields.count("conv"), fields.count("state_size")
    many, shared = fields.count("mamba_heads"), fields.count("mamba_groups")
    inner = fields.number("mamba_inner", None)
    width = fields.number("mamba_width", None)
    if not inner:
        inner = many * width if width else fields.count("mamba_expand") * hidden
    channels = inner + 2 * shared * size
    elements, tail = inner * size, channels * taps * FP16
    biased = fields.flag("mamba_bias", True)
    parameters = hidden * (inner + channels + many) + channels * (taps + biased)
    parameters += 3 * many + inner * hidden
    parameters += inner if fields.flag("mamba_rms_norm", True) else 0
    return _selective(fields, elements, tail, many), parameters


def mamba1(fields, kind):
    """Mamba (Gu & Dao 2023): a state of d_inner × N and the tail of a convolution."""
    hidden, taps, size = fields.count("hidden"), fields.count("conv"), fields.count("state_size")
    inner = fields.number("mamba_inner", None) or fields.count("mamba_expand") * hidden
    step = fields.find("step_rank")[1]
    rank = -(-hidden // 16) if step in (None, "auto") else fields.count("step_rank")
    elements, tail = inner * size, inner * taps * FP16
    parameters = 3 * hidden * inner + inner * (taps + 1) + inner * (rank + 2 * size)
    parameters += rank * inner + inner + inner * size + inner
    return _selective(fields, elements, tail, 0), parameters


def lightning(fields, kind):
    """Lightning attention (MiniMax-01 2025): a matrix per head in the model's own 16 bits."""
    hidden, query = fields.count("hidden"), fields.count("heads")
    width = fields.number("head_dim", None) or hidden // query
    fields.notes.append(
        "The state of the linear layers is counted at 16 bits, the model's own width."
    )
    parameters = 5 * hidden * query * width + query * width
    if fields.flag("use_qk_norm"):
        parameters += 2 * width
    return _recurrent(query * width * width * FP16, query), parameters


def short_convolution(fields, kind):
    """LFM2: two gates around a convolution over the last few inputs, which are all it keeps."""
    hidden, taps = fields.count("hidden"), fields.count("conv")
    biased = fields.flag("conv_bias")
    parameters = hidden * (4 * hidden + taps) + biased * 5 * hidden
    return _recurrent(hidden * taps * FP16, 0), parameters


def beside_mamba2(fields, kind):
    """Falcon-H1: attention and Mamba-2 side by side in one layer."""
    attention, parameters = heads(fields, "full")
    state, more = mamba2(fields, kind)
    return replace(attention, **_state_of(state)), parameters + more


def over_mamba2(fields, kind):
    """Zamba2: a Mamba-2 layer that a shared block of attention feeds through one matrix.

    The block reads the hidden state beside the embedding, twice the width; its parameters stand
    beside the layers, since several layers use the same ones.
    """
    state, parameters = mamba2(fields, kind)
    hidden, query = fields.count("hidden"), fields.count("heads")
    width = fields.number("head_dim", None) or 2 * hidden // query
    group = LayerGroup(1, query, query, width, width, **_state_of(state))
    return group, parameters + hidden * hidden


def convolved_heads(mixer):
    """Inkling: attention whose keys, values and both blocks' outputs pass short convolutions.

    Each keeps its last few inputs, as a window of that many tokens would.
    """

    def read(fields, kind):
        group, parameters = mixer(fields, kind)
        hidden, taps = fields.count("hidden"), fields.count("conv")
        channels = 2 * group.kv_heads * group.key_dim + 2 * hidden
        relative, reach = fields.count("d_rel"), fields.count("rel_extent")
        parameters += channels * taps + hidden * group.query_heads * relative
        parameters += relative * (group.window or reach)
        return replace(group, state_bytes=channels * taps * FP16), parameters

    return read


def _state_width(fields):
    """Bytes of one element of a recurrent state: 32 bits unless the file says otherwise."""
    stored = fields.text("state_dtype")
    if stored not in (None, "float32", "bfloat16", "float16"):
        raise Refusal(f"The recurrent state is stored as “{shorten(stored)}”, not known here.")
    return FP32 if stored in (None, "float32") else FP16


def _selective(fields, elements, tail, many):
    """A layer whose state has so many elements of a type that engines let a person choose.

    tail: bytes of a convolution's last inputs, which keep theirs.
    """
    width = _state_width(fields)
    state = {"state_bytes": elements * width + tail, "conv_bytes": tail, "state_width": width}
    return LayerGroup(1, many, 0, 0, 0, **state)


def _state_of(group):
    """What a layer of this kind says of its state, for one that keeps more beside it."""
    return {name: getattr(group, name) for name in ("state_bytes", "conv_bytes", "state_width")}


def _recurrent(state, many):
    """A layer with a state of so many bytes over so many heads, which devices may share out."""
    return LayerGroup(1, many, 0, 0, 0, state_bytes=state)
