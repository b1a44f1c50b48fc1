"""How published weights are stored: what a quantization_config says of each part, and their bytes.

Parts are what producers tell apart. Their lists name modules, globs or regular expressions; none
is run as one, since a file from outside may hold any: what a pattern speaks of is read from the
words and numbers in it.
"""

import re
from collections import Counter
from typing import NamedTuple

from planner.files import rows
from planner.models.architectures.quantization import PLAIN, scheme_of
from planner.models.notation import shorten

SIXTEEN = "fp16"
WIDE = {"float32": "fp32", "bfloat16": SIXTEEN, "float16": SIXTEEN}
CLOSE = 0.01  # a format whose bytes are off by less stands for the file without a word
WIDTHS = {"experts": "expert_bits", "embedding": "embedding_bits", "head": "head_bits"}
MAIN = 10  # how much more the bits of the largest part count than all bytes, in choosing a format

# The matrices of a part that producers name one by one, and what the rest of a name says.
SLOTS = {
    "mixer": {"in": r"q_proj|qkv|in_proj|q_a|q_b|kv_|k_proj|v_proj|wq|wk", "out": r"o_proj|out|wo"},
    "dense": {"gate": r"gate|w1", "up": r"up|w3|fc1", "down": r"down|w2|fc2"},
    "shared": {"gate": r"gate|w1", "up": r"up|w3", "down": r"down|w2"},
    "experts": {"all": r"."},
}
SMALL = re.compile(
    r"norm|bias|conv1d|indexer|in_proj_(a|b|ba)$|a_log|dt_|router|gate$|e_score|rotary|sinks|_scale"
    r"|altup|laurel|per_layer|hyper|mtp|^model\.layers$"
)
KINDS = (
    ("towers", r"vis|audio|mm_|multi_modal|patch_merge|image|projector"),
    ("head", r"lm_head|^head$|output_layer|embed_out"),
    ("embedding", r"embed|wte"),
    ("shared", r"shared|share_expert"),
    ("experts", r"expert|switch_mlp"),
    ("mixer", r"attn|attention|mamba|mixer|ssm"),
    ("dense", r"mlp|feed_forward|ffn|_proj|moe|dense|fc|w[123]"),
)


class Part(NamedTuple):
    """Parameters of one kind, in one layer or, where layer is None, outside the layers."""

    kind: str
    layer: int | None
    parameters: int


def weight_format(fields, around, parts):
    """(id of a format, bytes): how the file stores its parts; bytes None where the id says all.

    fields, around: of the text model and of the whole file.
    """
    table = around.table("quantization") or fields.table("quantization")
    stored = fields.text("dtype") or around.text("dtype")
    plain = WIDE.get(stored, SIXTEEN)
    if not table:
        bits = "32 bits are taken, as" if plain == "fp32" else "16 bits are assumed"
        said = f"{stored} says" if plain == "fp32" else "unless the files are smaller"
        fields.notes.append(
            f"The file has no quantization_config: {bits} {said}; give the files' size to be sure."
        )
        return plain, None
    scheme = scheme_of(table, fields.text("expert_dtype") or around.text("expert_dtype"))
    if scheme is None:
        words = (table.get(key) for key in ("quant_algo", "format", "quant_method"))
        named = next((word for word in words if isinstance(word, str)), "without a name")
        fields.notes.append(
            f"The quantisation ({shorten(named)}) is not known; 16 bits are taken. Choose its "
            "format under Weights, or give the files' size."
        )
        return SIXTEEN, None
    bits, strange = _bits(scheme, parts)
    if strange:
        fields.notes.append(f"Not understood of what stays unquantised: {', '.join(strange)}.")
    exact = sum(part.parameters * bits[part.kind, part.layer] for part in parts) / 8
    found, estimate = _nearest(scheme, parts, bits, exact)
    if abs(estimate / exact - 1) <= CLOSE:
        return found, None
    fields.notes.append(
        f"The weights mix formats: {exact / 1e9:,.1f} GB as the file says of each part, where "
        f"{found} alone would make {estimate / 1e9:,.1f} GB."
    )
    return found, round(exact)


def _bits(scheme, parts):
    """Bits of a weight by (kind, layer), and a few of the patterns that nothing is known of."""
    routed = any(part.kind == "experts" for part in parts)
    usual = PLAIN if scheme.only else scheme.usual
    if usual is PLAIN and not routed and scheme.experts:
        usual = scheme.experts
    slots = {}
    for part in parts:
        first = scheme.experts if part.kind == "experts" and scheme.experts else usual
        elsewhere = {
            "small": False,
            "embedding": scheme.outside,
            "head": scheme.outside,
            "towers": scheme.linear,
        }
        if not elsewhere.get(part.kind, True):
            first = PLAIN
        slots[part.kind, part.layer] = dict.fromkeys(SLOTS.get(part.kind, {"all": ""}), first.bits)
    strange = []
    rules = [(pattern, PLAIN) for pattern in scheme.spared] + list(scheme.single.items())
    for pattern, stored in rules:
        layers, kinds = _meant(pattern)
        if kinds is None:
            strange.append(shorten(pattern))
            continue
        for (kind, layer), own in slots.items():
            if (layers is None or layer in layers) and kind in kinds:
                own.update(dict.fromkeys(kinds[kind] or own, stored.bits))
    averages = {key: sum(own.values()) / len(own) for key, own in slots.items()}
    return averages, strange[:3]


def _meant(pattern):
    """(layers, kind -> slots): what a name or a pattern speaks of.

    layers is None for all; no slots means the whole part; the second is None where nothing is
    known.
    """
    plain = pattern.removeprefix("re:").replace("\\d+", "*").replace("[0-9]+", "*")
    text = plain.replace("\\", "").lower().strip("^$ ")
    if "mtp" in text or "nextn" in text:
        return None, {}  # draft layers, which are not counted
    if re.search(KINDS[0][1], text):
        return None, {"towers": ()}
    layers = None
    numbered = re.search(r"(?:layers|blocks|\bh)\.\(?(\d+(?:\|\d+)*)\)?(.*)", text)
    if numbered:
        layers, text = {int(one) for one in numbered[1].split("|")}, numbered[2]
    rest = re.sub(r"^.*layers", "", text).strip(".*+$()?[]")
    if numbered and not rest:
        return layers, dict.fromkeys(SLOTS, ())
    if SMALL.search(rest):
        return layers, {}
    for kind, words in KINDS:
        if re.search(words, rest):
            return layers, {each: _slots(each, rest) for each in _covered(kind, rest)}
    return layers, None


def _covered(kind, rest):
    """A word for the whole feed-forward speaks of its shared part too, unless it names one."""
    return ("dense", "shared") if kind == "dense" else (kind,)


def _slots(kind, rest):
    tail = rest.rpartition(".")[2]
    found = [slot for slot, words in SLOTS.get(kind, {}).items() if re.search(words, tail)]
    return () if tail in ("mlp", "ffn", "self_attn", "attn") else found


def _nearest(scheme, parts, bits, exact):
    """The id of the format that says most of it, and what its bytes would be."""
    sizes, stored = Counter(), Counter()
    for part in parts:
        sizes[part.kind] += part.parameters
        stored[part.kind] += part.parameters * bits[part.kind, part.layer]
    main = "experts" if sizes["experts"] else max(("mixer", "dense"), key=sizes.get)
    largest = stored[main] / max(sizes[main], 1) or exact
    kinds = (scheme.usual, scheme.experts, *scheme.single.values())
    stems = {each.stem for each in kinds if each} | {SIXTEEN}
    best = None
    for row in rows("precisions.csv"):
        if row["use"] != "weights" or not _is_one_of(row["id"], stems):
            continue
        wide = {kind: float(row[WIDTHS.get(kind, "body_bits")]) for kind in sizes}
        estimate = sum(many * wide[kind] for kind, many in sizes.items()) / 8
        score = MAIN * abs(wide[main] / largest - 1) + abs(estimate / exact - 1)
        if best is None or score < best[0]:
            best = score, row["id"], estimate
    return best[1:]


def _is_one_of(id, stems):
    if id.endswith("-gguf"):
        return False
    return any(id == stem or id.startswith(f"{stem}-") or id.endswith(f"-{stem}") for stem in stems)
