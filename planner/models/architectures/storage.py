"""How published weights are stored: quantization_config -> the id of a weight format.

The ids are those of presets/precisions.csv. What is not recognised is noted and taken at 16 bits.
"""

from planner.models.notation import shorten

SIXTEEN = "fp16"
PLAIN = {"float32": "fp32", "bfloat16": SIXTEEN, "float16": SIXTEEN}
GROUPS = (128, 64, 32)  # weights that share a scale in the 4-bit formats known here


def weight_format(fields, around, has_experts):
    """The format's id. fields, around: of the text model and of the whole file."""
    quantised = around.table("quantization") or fields.table("quantization")
    if not quantised:
        stored = fields.text("dtype") or around.text("dtype")
        if stored not in PLAIN:
            fields.notes.append("The file does not say how weights are stored; 16 bits are taken.")
        return PLAIN.get(stored, SIXTEEN)
    words = [quantised.get(key) for key in ("quant_algo", "format", "quant_method")]
    words = [word.lower() for word in words if isinstance(word, str)]
    found = next(filter(None, (_known(word, quantised, has_experts) for word in words)), None)
    if found is None:
        named = shorten(words[0]) if words else "without a name"
        fields.notes.append(f"The quantisation ({named}) is not known; 16 bits are taken.")
        return SIXTEEN
    if fields.text("expert_dtype") or "mixed_precision" in words:
        fields.notes.append(f"The weights mix several formats; all are taken as {found}.")
    elif found == "nvfp4" and _spares_attention(quantised):
        fields.notes.append("Parts of the layers stay at 16 bits, which nvfp4 does not count.")
    return found


def _known(word, quantised, has_experts):
    if word in ("fp8", "float-quantized"):
        return "fp8-block" if quantised.get("weight_block_size") else "fp8"
    if word in ("int8", "int-quantized"):
        return "int8"
    if word in ("awq", "gptq"):
        return _integers(quantised.get("bits"), quantised.get("group_size"))
    if word == "pack-quantized":
        weights = _inside(_inside(quantised, "config_groups"), "group_0")
        weights = _inside(weights, "weights")
        return _integers(weights.get("num_bits"), weights.get("group_size"))
    if word == "bitsandbytes":
        if quantised.get("load_in_8bit") is True:
            return "int8"
        return "nf4-double" if quantised.get("bnb_4bit_use_double_quant") is True else "nf4"
    if word in ("nvfp4", "nvfp4-pack-quantized", "mixed_precision"):
        spared = word == "mixed_precision" or _spares_attention(quantised)
        return "nvfp4-experts" if has_experts and spared else "nvfp4"
    if word == "mxfp4":
        return "mxfp4-experts" if has_experts else "mxfp4"
    return None


def _integers(bits, group):
    if bits == 8:
        return "int8"
    return f"int4-g{int(group)}" if bits == 4 and group in GROUPS else None


def _inside(table, key):
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _spares_attention(quantised):
    """Whether the list of what stays unquantised names attention."""
    spared = quantised.get("ignore")
    return isinstance(spared, list) and any(
        isinstance(name, str) and "attn" in name for name in spared
    )
