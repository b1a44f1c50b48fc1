"""Kinds of attention: what one layer stores, and how many parameters mix its tokens.

Each function reads the numbers of its kind from the fields of a config and gives a pair: a
LayerGroup of one layer, and its parameters without norms of the hidden width. Shapes follow the
papers named at each function and the published implementations in Transformers and vLLM. `kind`
may carry a number after a colon, which is the layer's own.
"""

from dataclasses import replace

from planner.models.architectures.fields import Refusal
from planner.models.model import FP16_BYTES as FP16
from planner.models.model import LayerGroup


def heads(fields, kind):
    """Softmax attention with stored keys and values: MHA, GQA, MQA, with or without a window."""
    word, _, own = kind.partition(":")
    family, hidden = fields.family, fields.count("hidden")
    query = int(own) if own else fields.count("heads")
    kv = _kv_heads(fields, query)
    key = fields.number("head_dim", None) or _share(fields, hidden, query)
    value = fields.number("value_dim", None) or key
    gated = fields.flag("attn_output_gate", family.output_gate)
    stores = not word.startswith("shared")
    window = fields.count("window") if word.endswith("window") else None
    group = LayerGroup(1, query, kv if stores else 0, key, value, window=window)
    parameters = hidden * query * (key * (2 if gated else 1) + value)
    if fields.flag("use_head_wise_attn_gate", family.head_gate):
        each = fields.find("gating")[1] in (None, True, "per-head")
        parameters += hidden * query * (1 if each else value)
    if stores:
        one = word == "full" and fields.flag("attention_k_eq_v")
        parameters += hidden * kv * (key if one else key + value)
    bias = family.flag_bias if fields.flag("attention_bias") else family.bias
    if bias:
        outward = hidden if bias in ("all", "out") else 0
        parameters += (query * key + kv * (key + value) if bias != "out" else 0) + outward
    normed = family.qk_norm
    if family.qk_flag:
        normed = family.qk_flag if fields.flag("use_qk_norm", bool(normed)) else ""
    if normed:
        parameters += query * key if normed == "full" else key
        parameters += stores * (kv * key if normed == "full" else key)
    return group, parameters


def global_heads(fields, kind):
    """Gemma 4: layers that see everything have heads of a width and number of their own."""
    changes = {}
    if fields.find("per_layer_config")[1] is None:
        changes["head_dim"] = fields.number("global_head_dim")
    if shared := fields.number("num_global_key_value_heads", None):
        changes["num_key_value_heads"] = shared
    return heads(fields.overlaid(changes.items()), kind)


def other_heads(fields, kind):
    """Step 3: layers with a window may have other heads, in a table of their own."""
    table = fields.table("attention_other_setting") or {}
    names = ("num_attention_heads", "num_attention_groups", "head_dim")
    changes = [(name, table[name]) for name in names if table.get(name) is not None]
    return heads(fields.overlaid(changes), kind)


def grouped_heads(fields, kind):
    """As `heads`, where each layer says how many query heads share a key (Nemotron-NAS)."""
    query, share = fields.count("heads"), int(kind.partition(":")[2])
    if not share or query % share:
        raise Refusal(f"{query} query heads do not divide into groups of {share}.")
    width = fields.number("head_dim", None) or _share(fields, fields.count("hidden"), query)
    kv = query // share
    return LayerGroup(1, query, kv, width, width), fields.count("hidden") * 2 * (query + kv) * width


def indexed_heads(fields, kind):
    """As `heads`, with a small key for each token by which blocks of the past are chosen.

    Qwen 4's QSA names its numbers indexer_…, MiniMax-M3's sparse attention in a table of its own.
    """
    group, parameters = heads(fields, kind)
    table = fields.table("sparse_attention_config")
    own = fields.within("sparse_attention_config") if table else fields
    width = own.number("index_width", None)
    if width is None:
        fields.notes.append("The file names no indexer, so none is counted.")
        return group, parameters
    parameters += fields.count("hidden") * (own.count("index_heads") + 1) * width + 2 * width
    pooled = fields.count("indexer_compress_ratio", 1)
    say_sparse(fields, pooled)
    return replace(group, index_bytes=max(1, FP16 * width // pooled)), parameters


def latent(fields, kind):
    """Multi-head latent attention (DeepSeek-V2): one latent and one rotated key for all heads.

    With an indexer (DeepSeek-V3.2) one more key of 16-bit elements is stored for each token, or one
    for the mean of a few (GLM-5.3-Flash).
    """
    hidden, query = fields.count("hidden"), fields.count("heads")
    rank, rope = fields.count("kv_lora_rank"), fields.number("qk_rope_head_dim")
    plain, value = fields.number("qk_nope_head_dim"), fields.count("v_head_dim")
    low = fields.number("q_lora_rank", None)
    word = kind.partition(":")[0]
    index = fields.number("index_head_dim", 0) if word in ("full", "indexed") else 0
    pool = fields.count("index_kpool", 1)
    group = LayerGroup(
        1, query, 1, rank + rope, 0,
        window=fields.count("window") if word == "window" else None,
        index_bytes=-(-FP16 * index // pool), query_dim=plain + rope, output_dim=value,
        # One entry for several tokens is chosen by in blocks, which is not counted here.
        top_k=fields.count("index_topk", None) if word != "window" and pool == 1 else None,
    )  # fmt: skip
    into_queries = low * (hidden + 1) if low else 0
    parameters = into_queries + (low or hidden) * query * (plain + rope)
    parameters += hidden * (rank + rope) + rank + rank * query * (plain + value)
    parameters += query * value * hidden
    if fields.flag("mla_use_output_gate", fields.family.output_gate):
        parameters += hidden * query * value
    elif fields.family.head_gate:
        parameters += hidden * query
    if index:
        scorers = fields.count("index_n_heads")
        parameters += (low or hidden) * scorers * index + hidden * (index + scorers) + 2 * index
        parameters += index * (hidden + pool) if pool > 1 else 0
        say_sparse(fields, pool, group.top_k)
    return group, parameters


def plain_latent(fields, kind):
    """As `latent`, without the gate that later models of the family have (Ling 2.5)."""
    return latent(fields.without(head_gate=False), kind)


def other_latent(fields, kind):
    """Dots 3: layers with a window have a latent and heads of their own, under swa_… names."""
    if fields.find("per_layer_config")[1] is not None:
        return latent(fields, kind)
    width, plain = fields.number("swa_head_dim", 256), fields.number("swa_qk_nope_head_dim", 192)
    changes = {
        "num_attention_heads": fields.number("swa_num_attention_heads", 64),
        "kv_lora_rank": fields.number("swa_kv_lora_rank", 1024),
        "q_lora_rank": fields.number("swa_q_lora_rank", 1024),
        "qk_nope_head_dim": plain,
        "qk_rope_head_dim": fields.number("swa_qk_rope_head_dim", width - plain),
        "v_head_dim": fields.number("swa_v_head_dim", 128),
    }
    return latent(fields.overlaid(changes.items()), kind)


def expanded_latent(fields, kind):
    """MiniCPM3: projections through a latent, but keys and values of every head are stored."""
    group, parameters = latent(fields, kind)
    query = group.query_heads
    stored = LayerGroup(1, query, query, group.query_dim, group.output_dim)
    return stored, parameters


def compressed(fields, kind):
    """Compressed attention (DeepSeek-V4): a window in full, and one entry for every r tokens."""
    ratio = int(kind)
    hidden, query, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    index, scorers = fields.count("index_head_dim"), fields.count("index_n_heads")
    sparse = ratio == 4
    group = LayerGroup(
        1, query, 1, width, 0,
        window=fields.count("window"), stride=max(ratio, 1),
        index_bytes=FP16 * index if sparse else 0, output_dim=width,
        top_k=fields.count("index_topk", None) if sparse else None,
    )  # fmt: skip
    parameters = _low_rank_projections(fields)
    if ratio:  # a key and a gate for each entry; twice as wide where entries overlap
        wide = 2 if sparse else 1
        parameters += wide * width * (2 * hidden + ratio) + width
    if sparse:
        parameters += fields.count("q_lora_rank") * scorers * index + hidden * scorers
        parameters += 2 * index * (2 * hidden + ratio) + index
    return group, parameters


def sourced(fields, kind):
    """DeepSeek-V4.1: a window in every layer; a few compress the past, for those after them too.

    kind: the ratio, with “s” where the layer stores compressed entries of its own and “i” where it
    chooses among them. A source of ratio 1 stores every token beside its window, which is then a
    fixed part of the request.
    """
    ratio, roles = int(kind.rstrip("si")), kind
    hidden, query, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    window = fields.count("window")
    parameters = _low_rank_projections(fields)
    index, scorers = fields.count("index_head_dim"), fields.count("index_n_heads")
    if "i" in roles:
        parameters += fields.count("q_lora_rank") * scorers * index + hidden * scorers
    if "s" not in roles:
        return LayerGroup(1, query, 1, width, 0, window=window, output_dim=width), parameters
    parameters += width * hidden * (2 if ratio > 1 else 1) + width + index * (width + 1)
    group = LayerGroup(1, query, 1, width, 0, index_bytes=FP16 * index, output_dim=width)
    if ratio > 1:
        return replace(group, window=window, stride=ratio), parameters
    return replace(group, state_bytes=window * width * FP16), parameters


def _low_rank_projections(fields):
    """Queries, the one key and the grouped output of DeepSeek-V4, with its streams' mixing."""
    hidden, query, width = fields.count("hidden"), fields.count("heads"), fields.count("head_dim")
    low, out = fields.count("q_lora_rank"), fields.count("o_lora_rank")
    parameters = hidden * (low + width) + low * query * width + low + width + query
    parameters += query * width * out + fields.count("o_groups") * out * hidden
    return parameters + stream_mixing(fields)


def stream_mixing(fields):
    """Hyper-connections around both blocks of a layer (DeepSeek-V4): h streams, mixed anew."""
    streams = fields.count("hc_mult")
    mixing = (2 + streams) * streams
    return 2 * (mixing * (streams * fields.count("hidden") + 1) + 3)


def crossing(fields, kind):
    """A decoder's layer over an encoder (Whisper, BART, T5): its own tokens and the source's.

    The source's keys and values are stored once more for each layer. Where the source has a fixed
    length, as Whisper's 30 seconds, they are a fixed part of the request; elsewhere the source's
    tokens are part of the context, and each is stored as one of the text's own is.
    """
    hidden, query = fields.count("hidden"), fields.count("heads")
    width = fields.number("head_dim", None) or _share(fields, hidden, query)
    source = fields.number("source_tokens", 0)
    group = LayerGroup(1, query, query, width, width, state_bytes=2 * source * query * width * FP16)
    bias = {"": 0, "qv": 3, "all": 4}[fields.family.bias]
    return group, 2 * (4 * hidden * query * width + bias * hidden)


def nothing(fields, kind):
    """A layer without attention: pruned away, or a feed-forward block that counts as a layer."""
    return LayerGroup(1, 0, 0, 0, 0), 0


def replaced_by_linear(fields, kind):
    """Attention that pruning replaced by one matrix (Nemotron-NAS): nothing is stored."""
    return LayerGroup(1, 0, 0, 0, 0), fields.count("hidden") ** 2


def say_sparse(fields, pooled=1, read=None):
    """Note how an indexer's keys are counted, and what they save or do not save here."""
    fields.notes.append(
        f"The indexer's keys are counted at 16 bits, one for every {pooled} tokens, as serving "
        "engines pool them."
        if pooled > 1
        else "The indexer's keys are counted at 16 bits, as Transformers stores them; serving "
        "engines store 8 bits and a scale."
    )
    fields.notes.append(
        f"A new token reads the {read:,} best of the past; a prompt is counted as if it read all."
        if read
        else "All past tokens are counted as read, though sparse attention reads fewer."
    )


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
        return mixer(fields.renamed(**names), kind)

    return read
