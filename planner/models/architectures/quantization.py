"""What a quantization_config says, whoever wrote it: the format of matrices, and which differ.

Each producer has words of its own; one function each puts them into a `Scheme`. What no function
understands gives None, so that nothing unknown becomes 16 bits in silence.
"""

from dataclasses import dataclass, field, replace

SCALE = 16


@dataclass(frozen=True)
class Stored:
    """One way to store a matrix. stem: the kind of number, as ids of formats begin; bits: of one
    weight with its share of scales and zeros."""

    stem: str
    bits: float


PLAIN = Stored("fp16", 16)
FP8 = Stored("fp8", 8)
INT8 = Stored("int8", 8)
MXFP8 = Stored("mxfp8", 8.25)
MXFP4 = Stored("mxfp4", 4.25)
NVFP4 = Stored("nvfp4", 4.5)
NF4 = Stored("nf4", 4.5)
NF4_DOUBLE = Stored("nf4", 4.126953125)


@dataclass(frozen=True)
class Scheme:
    """How a checkpoint is stored.

    usual: of every matrix in the layers. experts: of routed ones where that differs. spared:
    patterns of what stays at 16 bits. single: name of a module or pattern -> how it is stored.
    outside: whether embedding and head are stored so too. linear: whether towers are, where they
    are not spared. only: whether nothing but what `single` names is quantised.
    """

    usual: Stored
    experts: Stored | None = None
    spared: tuple[str, ...] = ()
    single: dict[str, Stored] = field(default_factory=dict)
    outside: bool = False
    linear: bool = False
    only: bool = False


def scheme_of(table, expert_dtype=None):
    """The Scheme of a quantization_config; None where it is not understood."""
    method = _word(table, "quant_method") or ""
    if not method and _word(table, "quant_algo", "producer") is None and table.get("bits"):
        method = "mlx"
    if isinstance(table.get("quantization"), dict):  # hf_quant_config.json
        table, method = table["quantization"], "modelopt"
    if not method and _word(table, "quant_algo"):
        method = "modelopt"
    read = _PRODUCERS.get(method.partition("_")[0]) or _PRODUCERS.get(method)
    found = read(table) if read else None
    if found is None:
        return None
    if found.experts and _word(table, "moe_quant_algo"):
        return found  # its list names what stays as it was before, not what stays at 16 bits
    named = _named(expert_dtype or _word(table, "expert_dtype", "routed_experts_quant_method"))
    return replace(found, experts=named or found.experts, spared=_spared(table))


def integers(bits, group, zeros=True):
    """Whole numbers of a few bits, with a 16-bit scale a group and a zero of the same bits."""
    if not isinstance(bits, int) or isinstance(bits, bool) or not 1 <= bits <= 8:
        return None
    size = group if isinstance(group, int) and group > 0 else None
    beside = (SCALE + bits * bool(zeros)) / size if size else 0
    return Stored(f"int{bits}", bits + beside)


def _named(word):
    """A format by the short name that a file uses for it."""
    words = {
        "fp4": MXFP4, "mxfp4": MXFP4, "mx_fp4": MXFP4, "nvfp4": NVFP4, "nv_fp": NVFP4,
        "fp8": FP8, "mxfp8": MXFP8, "int8": INT8, "int4": integers(4, 32, zeros=False),
    }  # fmt: skip
    return words.get((word or "").lower())


def _fine_fp8(table):
    """FP8 with a scale for each block (DeepSeek), each channel or each tensor."""
    block = table.get("weight_block_size")
    area = 1
    if isinstance(block, list) and block and all(isinstance(n, int) and n > 0 for n in block):
        for side in block:
            area *= side
        scale = 8 if table.get("scale_fmt") == "ue8m0" and area < 4096 else 32
        return Scheme(Stored("fp8", 8 + scale / area), linear=True)
    return Scheme(FP8, linear=True)


def _awq(table):
    bits = table.get("bits", table.get("w_bit"))
    stored = integers(bits, table.get("group_size", table.get("q_group_size")))
    return stored and Scheme(stored)


def _gptq(table):
    """GPTQ, with exceptions by pattern: “-:” leaves a module out, “+:” gives it numbers."""
    stored = integers(table.get("bits"), table.get("group_size"))
    if stored is None:
        return None
    single = {}
    for pattern, own in _inside(table, "dynamic").items():
        numbers = own if isinstance(own, dict) else {}
        kept = pattern.startswith("-:")
        one = PLAIN if kept else integers(numbers.get("bits"), numbers.get("group_size", 128))
        single[pattern.lstrip("+-:")] = one or stored
    return Scheme(stored, single=single)


def _auto_round(table):
    """AutoRound: integers or MX and NV floats; extra_config has numbers of single modules."""
    usual = _rounded(table)
    if usual is None:
        return None
    single = {
        name: _rounded({**table, **own}) or usual
        for name, own in _inside(table, "extra_config").items()
        if isinstance(own, dict)
    }
    return Scheme(usual, single=single)


def _rounded(numbers):
    if numbers.get("bits") == 16:
        return PLAIN
    kind = numbers.get("data_type", "int")
    named = _named(kind) if isinstance(kind, str) and numbers.get("bits") == 4 else None
    if named is None and kind in ("fp8", "mx_fp", "fp") and numbers.get("bits") == 8:
        return MXFP8 if kind == "mx_fp" else FP8
    if named is None and kind == "mx_fp":
        return MXFP4
    return named or integers(numbers.get("bits"), numbers.get("group_size"))


def _compressed_tensors(table):
    """Groups of modules by name, kind or pattern; the first of all linear ones rules."""
    usual, single = None, {}
    for group in _inside(table, "config_groups").values():
        weights = _inside(group, "weights") if isinstance(group, dict) else {}
        stored = _numbers(weights, group.get("format") or table.get("format"))
        targets = group.get("targets") or ["Linear"]
        if stored is None or not isinstance(targets, list):
            return None
        if "Linear" in targets and usual is None:
            usual = stored
        else:
            single.update({str(target): stored for target in targets if target != "Linear"})
    if usual is None and not single:
        return None
    only = usual is None
    first = usual or next(iter(single.values()))
    return Scheme(first, single=single, only=only, linear=not only)


def _numbers(weights, form=""):
    """One group's weights: bits, kind of number, and how many share a scale."""
    bits, kind, group = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if kind == "float" and bits == 4:
        return MXFP4 if "mxfp4" in str(form) or group == 32 else NVFP4
    if kind == "float" and bits == 8:
        block = weights.get("block_structure")
        if isinstance(block, list):
            return _fine_fp8({"weight_block_size": block}).usual
        return MXFP8 if group == 32 else FP8
    return integers(bits, group, zeros=weights.get("symmetric") is False)


def _modelopt(table):
    """TensorRT Model Optimizer: one algorithm, or one for each module."""
    algorithm = (_word(table, "quant_algo", "moe_quant_algo") or "").upper()
    if algorithm == "MIXED_PRECISION":
        return _mixed(table)
    usual = _algorithm(algorithm, table) or _first_group(table)
    return usual and Scheme(usual, linear=True)


def _mixed(table):
    layers = _inside(table, "quantized_layers")
    single = {
        name: _algorithm((_word(own, "quant_algo") or "").upper(), own)
        for name, own in layers.items()
        if isinstance(own, dict)
    }
    if None in single.values():
        return None
    if experts := _algorithm((_word(table, "moe_quant_algo") or "").upper(), table):
        rest = _fine_fp8(table).usual if table.get("weight_block_size") else PLAIN
        return Scheme(rest, experts=experts, linear=True)
    if not single:
        usual = _first_group(table)
        return usual and Scheme(usual)
    return Scheme(next(iter(single.values())), single=single, only=True)


def _first_group(table):
    groups = [each for each in _inside(table, "config_groups").values() if isinstance(each, dict)]
    return _numbers(_inside(groups[0], "weights")) if groups else None


def _algorithm(word, numbers):
    if "NVFP4" in word:
        return NVFP4
    if "MXFP4" in word:
        return MXFP4
    if "MXFP8" in word:
        return MXFP8
    if word.startswith(("W4A16", "W4A8", "INT4")):
        return integers(4, numbers.get("group_size", 128), zeros=False)
    if word.startswith("FP8_PB"):
        return Stored("fp8", 8.001953125)
    if word.startswith("FP8"):
        return FP8
    return INT8 if word.startswith(("W8A8", "INT8", "W8A16")) else None


def _torchao(table):
    """TorchAO: a type by name, or an object with the name of its class and its numbers."""
    kind = table.get("quant_type")
    if isinstance(kind, dict):
        kind = kind.get("default", kind)
    numbers = (
        _inside(kind, "_data") if isinstance(kind, dict) else _inside(table, "quant_type_kwargs")
    )
    word = kind.get("_type", "") if isinstance(kind, dict) else kind
    if not isinstance(word, str):
        return None
    word = word.lower().replace("_", "")
    outside = table.get("include_input_output_embeddings") is True
    if "float8" in word or "fp8" in word:
        return Scheme(FP8, outside=outside)
    if "nvfp4" in word or "mxfp4" in word:
        return Scheme(NVFP4 if "nvfp4" in word else MXFP4, outside=outside)
    if "int4" in word:
        return Scheme(integers(4, numbers.get("group_size", 128)), outside=outside)
    if "int8" in word and "int4" not in word:
        return Scheme(INT8, outside=outside)
    return None


def _mlx(table):
    """MLX: integers with a scale and a bias a group, embedding and head too; modules may differ."""
    usual = _mlx_numbers(table)
    if usual is None:
        return None
    single = {
        name: (_mlx_numbers({**table, **own}) if isinstance(own, dict) else PLAIN)
        for name, own in table.items()
        if isinstance(own, dict) or own is False
    }
    return Scheme(usual, single={k: v for k, v in single.items() if v}, outside=True)


def _mlx_numbers(numbers):
    bits, group, mode = numbers.get("bits"), numbers.get("group_size"), numbers.get("mode")
    if mode in ("mxfp4", "nvfp4", "mxfp8"):
        return _named(mode)
    if not isinstance(bits, int) or not isinstance(group, int) or group < 1:
        return None
    return Stored(f"mlx-{bits}", bits + 2 * SCALE / group)


def _quark(table):
    """AMD Quark: one format for all, and patterns with one of their own."""
    usual = _quark_numbers(_inside(_inside(table, "global_quant_config"), "weight"))
    if usual is None:
        return None
    layers = _inside(table, "layer_quant_config")
    single = {
        name: _quark_numbers(_inside(own, "weight")) or PLAIN
        for name, own in layers.items()
        if isinstance(own, dict)
    }
    return Scheme(usual, single=single, linear=True)


def _quark_numbers(weight):
    word, group = str(weight.get("dtype", "")).lower(), weight.get("group_size")
    if "fp4" in word:
        return NVFP4 if group == 16 else MXFP4
    if "fp8" in word:
        return MXFP8 if group == 32 else FP8
    return integers(4 if "int4" in word else 8, group) if "int" in word else None


def _bitsandbytes(table):
    if table.get("load_in_8bit") is True or table.get("_load_in_8bit") is True:
        return Scheme(INT8)
    return Scheme(NF4_DOUBLE if table.get("bnb_4bit_use_double_quant") is True else NF4)


def _hqq(table):
    numbers = _inside(_inside(table, "quant_config"), "weight_quant_params")
    bits = numbers.get("nbits")
    stored = integers(bits, numbers.get("group_size", 64))
    return stored and Scheme(stored)


def _exl3(table):
    """EXL3: a mean number of bits a weight, and another for the head."""
    bits = table.get("bits")
    if not isinstance(bits, (int, float)) or isinstance(bits, bool) or not 1 <= bits <= 8:
        return None
    return Scheme(Stored("exl3", bits))


_PRODUCERS = {
    "exl3": _exl3,
    "fp8": lambda table: _mixed(table) if table.get("moe_quant_algo") else _fine_fp8(table),
    "fbgemm": lambda table: Scheme(FP8),
    "mxfp4": lambda table: Scheme(PLAIN, experts=MXFP4),
    "mxfp8": lambda table: Scheme(MXFP8),
    "nvfp4": lambda table: Scheme(NVFP4),
    "awq": _awq,
    "gptq": _gptq,
    "auto-round": _auto_round,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "torchao": _torchao,
    "mlx": _mlx,
    "quark": _quark,
    "bitsandbytes": _bitsandbytes,
    "eetq": lambda table: Scheme(INT8),
    "hqq": _hqq,
    "experts_int8": lambda table: Scheme(PLAIN, experts=INT8),
}


def _spared(table):
    """What stays at 16 bits: each producer's list, under whichever name."""
    names = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "exclude")
    lists = (table.get(name) for name in names)
    listed = [entry for each in lists if isinstance(each, list) for entry in each]
    return tuple(entry for entry in listed if isinstance(entry, str))


def _word(table, *names):
    return next((table[name] for name in names if isinstance(table.get(name), str)), None)


def _inside(table, key):
    found = table.get(key) if isinstance(table, dict) else None
    return found if isinstance(found, dict) else {}
