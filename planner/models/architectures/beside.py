"""What a model holds beside its layers' two blocks: tables, mixers of streams, shared blocks.

The functions ending in `_layers` give the parameters of one layer; the others give a `Beside` for
the whole model.
"""

from typing import NamedTuple

from planner.models.architectures.attention import stream_mixing


class Beside(NamedTuple):
    """Parameters that are multiplied; those of embeddings, which are looked up; those of tables
    that engines keep in host memory; those of an encoder, which writes no text."""

    parameters: int = 0
    embedding: int = 0
    host: int = 0
    reading: int = 0


# --- a further embedding for each layer (Gemma 3n, Gemma 4 E) -----------------------------------


def per_layer_embedding(fields):
    """A table with a vector for every token and layer, and the matrix that adds the input's own."""
    width = fields.number("hidden_size_per_layer_input", 0)
    if not width:
        return Beside()
    layers, hidden = fields.layers(), fields.count("hidden")
    rows = fields.count("vocab_size_per_layer_input")
    fields.notes.append(
        f"{rows * layers * width:,} parameters are per-layer embeddings: they are on the device, "
        "as in vLLM, but a step reads a row of them (llama.cpp keeps them in host memory)."
    )
    return Beside(layers * width * hidden + width, embedding=rows * layers * width)


def per_layer_layers(fields):
    """The gate and the projection by which a layer takes its embedding in."""
    width, hidden = fields.number("hidden_size_per_layer_input", 0), fields.count("hidden")
    return 2 * hidden * width + hidden if width else 0


def alternating_streams(fields):
    """Gemma 3n: per-layer embeddings, and projections into and out of the streams beside."""
    own, hidden = per_layer_embedding(fields), fields.count("hidden")
    return own._replace(
        parameters=own.parameters + 2 * (fields.count("altup_num_inputs") - 1) * hidden**2
    )


def alternating_layers(fields):
    """AltUp predicts the other streams from the active one; LAuReL is a low-rank skip."""
    streams, hidden = fields.count("altup_num_inputs"), fields.count("hidden")
    altup = streams**2 + streams**3 + streams * hidden + 2 * hidden
    laurel = 2 * fields.count("laurel_rank") * hidden + hidden
    return altup + laurel + per_layer_layers(fields)


# --- tables of hashed n-grams (Qwen 4, DeepSeek-V4.1, LongCat) ----------------------------------


def _in_host_memory(fields, rows, width, option):
    if rows:
        fields.notes.append(
            f"{rows * width:,} parameters are n-gram tables, of which a token reads a few rows: "
            f"they are taken to be in host memory ({option}) and on no device."
        )
    return rows * width


def gated_residuals(fields):
    """Qwen 4: one more mixer of the streams before the head, and the n-gram tables' layers."""
    streams, hidden = fields.count("hc_count"), fields.count("hidden")
    wide, low = streams * hidden, fields.count("hc_lowrank")
    layers = fields.entries("ple_layer_ids", int) or ()
    if not layers:
        fields.notes.append("ple_layer_ids is not in the file: no n-gram tables are counted.")
        return Beside(wide + 2 * wide * low - hidden)  # it ends without the usual norm
    width, taps = fields.number("ple_embed_dim", hidden), fields.count("ple_conv_kernel_size")
    tables = (fields.count("ngram_size") - 1) * fields.count("heads_per_ngram")
    rows = len(layers) * tables * fields.count("ngram_vocab_size_base")
    each = wide * width + width * hidden + wide * (3 + taps)
    host = _in_host_memory(
        fields, rows, width // tables, "vLLM's default; --ple-offload-embedding in SGLang"
    )
    return Beside(wide + 2 * wide * low - hidden + len(layers) * each, host=host)


def gated_residual_layers(fields):
    streams, hidden = fields.count("hc_count"), fields.count("hidden")
    wide = streams * hidden
    return 2 * (wide + 2 * wide * fields.count("hc_lowrank") + streams * wide)


def engrams(fields):
    """DeepSeek-V4.1: n-gram tables at a few layers, and the matrix that reads them."""
    layers = fields.entries("engram_layer_ids", int) or ()
    rows = fields.entries("engram_num_embeddings", int, len(layers)) or ()
    if not layers:
        return Beside()
    hidden, streams = fields.count("hidden"), fields.count("hc_mult")
    width = fields.count("engram_head_dim")
    columns = (fields.count("engram_max_ngram_size") - 1) * fields.count("engram_n_heads")
    each = columns * width * hidden * (streams + 1) + 2 * streams * hidden
    host = _in_host_memory(fields, sum(rows[: len(layers)]), width, "vLLM's default")
    return Beside(len(layers) * each, host=host)


def hashed_input(fields):
    """LongCat with n-grams: tables added to the input embedding, each through a matrix."""
    hidden, vocabulary = fields.count("hidden"), fields.count("vocabulary")
    many = fields.count("emb_split_num") * (fields.count("emb_neighbor_num") - 1)
    rows = fields.count("ngram_vocab_size_ratio") * vocabulary * many + many**2
    fields.notes.append(
        f"{rows * (hidden // many):,} parameters are n-gram embeddings: counted on the device, but "
        "a step reads a few rows of them."
    )
    return Beside(many * (hidden // many) * hidden, embedding=rows * (hidden // many))


# --- mixers of residual streams, and blocks that several layers use ------------------------------


def stream_head(fields):
    """Hyper-connections' last mixture of the streams, before the head (Hunyuan 4)."""
    streams = fields.count("hc_mult")
    return Beside(streams * streams * fields.count("hidden") + streams + 1)


def two_way_mixing(fields):
    """Hunyuan 4 mixes its streams with fewer numbers: one vector in and one out."""
    streams = fields.count("hc_mult")
    return 2 * (2 * streams * (streams * fields.count("hidden") + 1) + 2)


def mixing_layers(fields):
    return stream_mixing(fields)


def attention_residuals(fields):
    """Kimi K3: layers attend to the outputs of those before; once more before the head."""
    return Beside(2 * fields.count("hidden") if fields.number("attn_res_block_size", 0) else 0)


def attention_residual_layers(fields):
    return 4 * fields.count("hidden") if fields.number("attn_res_block_size", 0) else 0


def shared_blocks(fields):
    """Zamba2: blocks of attention and feed-forward that layers take in turn, with an adapter each.

    A block reads twice the hidden width; the adapter is of low rank, one for each layer that uses
    a block.
    """
    hidden, query = fields.count("hidden"), fields.count("heads")
    width = fields.number("head_dim", None) or 2 * hidden // query
    inner, rank = fields.count("intermediate"), fields.count("adapter_rank")
    blocks = fields.count("num_mem_blocks")
    wide = query * width
    block = 3 * 2 * hidden * wide + wide * hidden + 3 * hidden * inner + 3 * hidden
    used = sum(kind == "hybrid" for kind in fields.entries("layers_block_type", str) or ())
    adapter = rank * (hidden + 2 * inner)
    if fields.flag("use_shared_attention_adapter"):
        adapter += 3 * rank * (2 * hidden + wide)
    return Beside(blocks * block + used * adapter)


def second_norm(fields):
    """Falcon 40B and 180B norm the input of attention and of the feed-forward apart."""
    return 2 * fields.count("hidden") if fields.flag("new_decoder_architecture") else 0


def adapters(fields):
    """Phi-4 multimodal: an adapter of low rank for pictures and one for sound on every matrix, and
    the two towers, which come in one size."""
    hidden, query = fields.count("hidden"), fields.count("heads")
    kv, inner = fields.count("kv_heads"), fields.count("intermediate")
    width = fields.number("head_dim", None) or hidden // query
    each = 2 * hidden + 2 * query * width + 2 * kv * width + 2 * hidden + 3 * inner
    ranks = [
        fields.within(word).count("r")
        for word in ("vision_lora", "speech_lora")
        if fields.table(word)
    ]
    towers = 907_966_432 if ranks else 0
    return Beside(reading=sum(ranks) * fields.layers() * each + towers)


def head_bias(fields):
    """A bias for every logit (GPT-J, Phi-2)."""
    return Beside(fields.count("vocabulary"))


def input_norm(fields):
    """A norm right after the embedding (BLOOM, Inkling)."""
    return Beside(fields.count("hidden") * (2 if fields.family.norms_with_bias else 1))
