"""Kinds of layers: what one layer stores, and how many parameters mix its tokens.

Each function reads the numbers of its kind from the fields of a config and gives a pair: a
LayerGroup of one layer, and its parameters without norms of the hidden width. Shapes follow the
papers named at each function and the published implementations in Transformers.
"""

from dataclasses import replace

from planner.models.architectures.fields import Fields, Refusal
from planner.models.model import LayerGroup
from planner.models.notation import shorten

FP32, FP16 = 4, 2


def heads(fields, kind):
    """Softmax attention with stored keys and values: MHA, GQA, MQA, with or without a window."""
    family, hidden, query = fields.family, fields.count("hidden"), fields.count("heads")
    kv = _kv_heads(fields, query)
    key = fields.number("head_dim", None) or _share(fields, hidden, query)
    value = fields.number("value_dim", None) or key
    gated = fields.flag("attn_output_gate", family.output_gate)
    stores = not kind.startswith("shared")
    window = fields.count("window") if kind.endswith("window") else None
    group = LayerGroup(1, query, kv if stores else 0, key, value, window=window)
    parameters = hidden * query * (key * (2 if gated else 1) + value)
    if stores:
        one = kind == "full" and fields.flag("attention_k_eq_v")
        parameters += hidden * kv * (key if one else key + value)
    bias = "all" if fields.flag("attention_bias") else family.bias
    if bias:
        parameters += query * key + kv * (key + value) + (hidden if bias == "all" else 0)
    norm = {"": 0, "head": 2 * key, "full": query * key + kv * key}[family.qk_norm]
    return group, parameters + norm


def latent(fields, kind):
    """Multi-head latent attention (DeepSeek-V2): one latent and one rotated key for all heads.

    With an indexer (DeepSeek-V3.2) one more key of 16-bit elements is stored for each token.
    """
    hidden, query = fields.count("hidden"), fields.count("heads")
    rank, rope = fields.count("kv_lora_rank"), fields.number("qk_rope_head_dim")
    plain, value = fields.number("qk_nope_head_dim"), fields.count("v_head_dim")
    low = fields.number("q_lora_rank", None)
    index = fields.number("index_head_dim", 0) if kind == "full" else 0
    group = LayerGroup(
        1, query, 1, rank + rope, 0,
        index_bytes=FP16 * index, query_dim=plain + rope, output_dim=value,
    )  # fmt: skip
    into_queries = low * (hidden + 1) if low else 0
    parameters = into_queries + (low or hidden) * query * (plain + rope)
    parameters += hidden * (rank + rope) + rank + rank * query * (plain + value)
    parameters += query * value * hidden
    if index:
        scorers = fields.count("index_n_heads")
        parameters += (low or hidden) * scorers * index + hidden * (index + scorers) + 2 * index
        fields.notes.append(
            "The indexer's keys are counted at 16 bits, as Transformers stores them; serving "
            "engines store 8 bits and a scale. All past tokens are counted as read, though "
            "sparse attention reads fewer."
        )
    return group, parameters


def compressed(fields, kind):
    """Compressed attention (DeepSeek-V4): a window in full, and one entry for every r tokens."""
    ratio = int(kind)
    hidden, query, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    low, out, parts = (
        fields.count("q_lora_rank"),
        fields.count("o_lora_rank"),
        fields.count("o_groups"),
    )
    index, scorers = fields.count("index_head_dim"), fields.count("index_n_heads")
    streams = fields.count("hc_mult")
    sparse = ratio == 4
    group = LayerGroup(
        1, query, 1, width, 0,
        window=fields.count("window"), stride=max(ratio, 1),
        index_bytes=FP16 * index if sparse else 0, output_dim=width,
    )  # fmt: skip
    parameters = hidden * (low + width) + low * query * width + low + width + query
    parameters += query * width * out + parts * out * hidden
    mixing = (2 + streams) * streams
    parameters += 2 * (mixing * (streams * hidden + 1) + 3)
    if ratio:  # a key and a gate for each entry; twice as wide where entries overlap
        wide = 2 if sparse else 1
        parameters += wide * width * (2 * hidden + ratio) + width
    if sparse:
        parameters += low * scorers * index + hidden * scorers
        parameters += 2 * index * (2 * hidden + ratio) + index
    return group, parameters


def gated_delta(fields, kind):
    """Gated DeltaNet (Yang et al. 2024): a 32-bit state per head, 16-bit convolution tail."""
    hidden, taps = fields.count("hidden"), fields.count("linear_conv_kernel_dim")
    keys, key = fields.count("linear_num_key_heads"), fields.count("linear_key_head_dim")
    values, value = fields.count("linear_num_value_heads"), fields.count("linear_value_head_dim")
    channels = 2 * keys * key + values * value
    state = values * key * value * _state_width(fields) + channels * taps * FP16
    parameters = hidden * (channels + values * value + 2 * values) + channels * taps
    parameters += 2 * values + value + values * value * hidden
    return _recurrent(state, values), parameters


def delta_attention(fields, kind):
    """Kimi Delta Attention (Kimi Linear 2025): as DeltaNet, three convolutions, low-rank gates."""
    linear = fields.within("linear_attn_config")
    hidden, taps = fields.count("hidden"), linear.count("short_conv_kernel_size")
    many, width = linear.count("num_heads"), linear.count("head_dim")
    inner = many * width
    state = many * width * width * FP32 + 3 * inner * taps * FP16
    parameters = 4 * hidden * inner + 3 * inner * taps + hidden * many
    parameters += 2 * width * (hidden + inner) + many + inner + width
    return _recurrent(state, many), parameters


def mamba2(fields, kind):
    """Mamba-2 (Dao & Gu 2024): 32-bit state of heads × width × N, 16-bit convolution tail."""
    hidden, taps, size = fields.count("hidden"), fields.count("conv"), fields.count("state_size")
    many, width, shared = (
        fields.count("mamba_heads"),
        fields.count("mamba_width"),
        fields.count("mamba_groups"),
    )
    inner = many * width
    channels = inner + 2 * shared * size
    state = inner * size * _state_width(fields) + channels * taps * FP16
    parameters = hidden * (inner + channels + many) + channels * (taps + 1)
    parameters += 3 * many + inner + inner * hidden
    return _recurrent(state, many), parameters


def mamba1(fields, kind):
    """Mamba (Gu & Dao 2023): 32-bit state of d_inner × N, 16-bit convolution tail."""
    hidden, taps, size = fields.count("hidden"), fields.count("conv"), fields.count("state_size")
    inner = fields.number("mamba_inner", None) or fields.count("mamba_expand") * hidden
    step = fields.find("step_rank")[1]
    rank = -(-hidden // 16) if step in (None, "auto") else fields.count("step_rank")
    state = inner * size * FP32 + inner * taps * FP16
    parameters = 3 * hidden * inner + inner * (taps + 1) + inner * (rank + 2 * size)
    parameters += rank * inner + inner + inner * size + inner
    return _recurrent(state, 0), parameters


def lightning(fields, kind):
    """Lightning attention (MiniMax-01 2025): a matrix per head in the model's own 16 bits."""
    hidden, query, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    fields.notes.append(
        "The state of the linear layers is counted at 16 bits, the model's own width."
    )
    group = _recurrent(query * width * width * FP16, query)
    return group, 5 * hidden * query * width + query * width


def nothing(fields, kind):
    """A layer without attention, in files that count feed-forward blocks as layers."""
    return LayerGroup(1, 0, 0, 0, 0), 0


def _state_width(fields):
    """Bytes of one element of a recurrent state: 32 bits unless the file says otherwise."""
    stored = fields.text("state_dtype")
    if stored not in (None, "float32", "bfloat16", "float16"):
        raise Refusal(f"The recurrent state is stored as “{shorten(stored)}”, not known here.")
    return FP32 if stored in (None, "float32") else FP16


def _recurrent(state, many):
    """A layer with a state of so many bytes over so many heads, which devices may share out."""
    return LayerGroup(1, many, 0, 0, 0, state_bytes=state)


def _kv_heads(fields, query):
    family = fields.family
    if family.multi_query:  # Falcon and BigCode say so in a flag; their number of heads may mislead
        if fields.flag("multi_query", True) and not fields.flag("new_decoder_architecture"):
            return 1
        if fields.find("new_decoder_architecture")[1] is False:
            return query
    kv = fields.number("kv_heads", None) or query
    if kv > query:
        raise Refusal(f"{kv} key-value heads are more than the {query} query heads.")
    return kv


def _share(fields, hidden, query):
    if hidden % query:
        raise Refusal(
            f"hidden size {hidden} does not divide by {query} heads, and head_dim is missing."
        )
    return hidden // query


def renamed(mixer, **names):
    """The same kind of layer, its numbers under names of their own."""

    def read(fields, kind):
        usual = {**fields.family.names}
        family = replace(fields.family, names={**usual, **names})
        other = Fields(fields.values, family, fields.prefix, fields.used, fields.notes)
        other.touched = fields.touched
        return mixer(other, kind)

    return read
