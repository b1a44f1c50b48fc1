"""Encoders: models that read a text and write none. They are counted, to say what they weigh."""

from planner.models.architectures.towers import plain_block

_NAMES = {
    "hidden": ("hidden_size", "dim"),
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "intermediate": ("intermediate_size", "hidden_dim"),
}


def bert(fields, pooled=True):
    """BERT, RoBERTa, XLM-R: learned positions and token types, plain blocks, a pooler."""
    own = fields.renamed(**_NAMES)
    hidden, vocabulary = own.count("hidden"), own.count("vocabulary")
    rows = own.count("context") + own.number("type_vocab_size", 2 if pooled else 0)
    block = plain_block(hidden, own.count("intermediate"))
    pooler = hidden**2 + hidden if pooled else 0
    return (vocabulary + rows) * hidden + 2 * hidden + own.layers() * block + pooler


def distilled(fields):
    """DistilBERT: no token types and no pooler."""
    return bert(fields, pooled=False)


def modern(fields):
    """ModernBERT: gated, no biases and no positions; the first layer has one norm."""
    hidden, inner = fields.count("hidden"), fields.count("intermediate")
    block = 4 * hidden**2 + 3 * hidden * inner + 2 * hidden
    return fields.count("vocabulary") * hidden + fields.layers() * block + hidden


# model_type -> how to count it; None for those that are known for encoders and not counted.
ENCODERS = {
    "bert": bert,
    "roberta": bert,
    "xlm-roberta": bert,
    "camembert": bert,
    "distilbert": distilled,
    "modernbert": modern,
    **dict.fromkeys(
        ("albert", "deberta", "deberta-v2", "electra", "eurobert", "mpnet", "new", "nomic_bert")
    ),
}


def refusal(kind, fields):
    """Why an encoder is not planned, and what it weighs."""
    count = ENCODERS[kind]
    weighs = ""
    if count:
        parameters = count(fields)
        weighs = (
            f" Its {parameters:,} parameters take {parameters * 2 / 1e9:.3g} GB at 16 bits and "
            "twice that at 32."
        )
    return (
        f"{kind} is an encoder: it reads a text and writes none, so it has no KV cache and no "
        f"decode step to plan.{weighs} A device needs room for the weights and for the activations "
        "of one batch."
    )
