"""Which model, which format and which device a start-up log speaks of, by name or by memory."""

import re
from functools import cache as once
from itertools import islice
from typing import NamedTuple

from planner.inputs import presets
from planner.logs.parse import LogReading
from planner.models.notation import shorten
from planner.units import GB, GIB

# Words of a checkpoint's name that say how it was tuned or stored, not what it is.
TUNED = (
    r"meta|instruct|chat|hf|it|base|awq|gptq|int\d+|fp\d+|bf16|\d+bit|bnb|unsloth|gguf|dynamic|"
    r"static|block|per|tensor|pertensor|w\d+a\d+|i?q\d\w*|ud|nvfp4|mxfp4|"
    r"autoround|qat|\d{4}|mlx|ct|pt|quantized(?:\.w\d+a\d+)?|unquantized|lmhead|mxfp8|"
    # One's own way with a model of the same layout; gb10 and the like: for which device.
    r"mtp|fast|abliterated|obliterated|uncensored|heretic|gb10|rtx\d{4}"
)
SIZES = r"k|m|s|l|xs|xl|xxs|nl|0|1"  # what may follow such a word, as in Q4_K_XL
STORED = (  # part of a checkpoint's name: how its weights are stored
    (r"nvfp4", "nvfp4"),
    (r"mxfp4", "mxfp4-experts"),
    (r"bnb-4bit|nf4", "nf4"),
    (r"gptq-int8|w8a16", "int8"),
    (r"awq|gptq-int4|gptq|int4|w4a16|4bit", "int4-g128"),
    (r"w8a8|int8", "int8"),
    (r"fp8", "fp8"),
)
# What engines call the way a checkpoint is quantised, where that says how its weights are stored.
METHODS = {
    **dict.fromkeys(("none", "false"), ""),
    **dict.fromkeys(("fp8", "modelopt", "fbgemm_fp8", "ptpc_fp8", "w8a8_fp8"), "fp8"),
    **dict.fromkeys(("fp8_block_scales", "fp8_per_block", "deepseek_fp8"), "fp8-block"),
    **dict.fromkeys(("modelopt_fp4", "nvfp4", "fp4", "petit_nvfp4"), "nvfp4"),
    **dict.fromkeys(("mxfp4", "gpt_oss_mxfp4", "w4a8_mxfp4_mxfp8"), "mxfp4-experts"),
    **dict.fromkeys(("awq", "awq_marlin", "gptq", "gptq_marlin", "gptq_bitblas"), "int4-g128"),
    **dict.fromkeys(("auto_round", "autoround", "inc", "moe_wna16", "w4a16_awq"), "int4-g128"),
    **dict.fromkeys(("int8", "experts_int8", "w8a8_int8", "w8a8_sq_per_channel", "w8a16"), "int8"),
    **dict.fromkeys(("bitsandbytes", "bnb"), "nf4"),
}
GROUPED = ("int4-g128",)  # whose groups an engine does not name
GGUF = {"f16": "fp16", "bf16": "fp16", "f32": "fp32", "mxfp4": "mxfp4-gguf"}
SIXTEEN = ("bfloat16", "float16", "half", "bf16", "fp16", "auto")
MAKER = re.compile(
    r"\b(?:NVIDIA|AMD|Tesla|GeForce|Radeon|Instinct|Apple|Intel|Jetson)[ \w.+-]{1,60}"
)
FORM = r"geforce|radeon|instinct|tesla|nvidia|apple|sxm\d?|pcie|nvl|hgx|per|gpu|hbm\d\w?|\d+gb"
PUBLISHED = re.compile(r"(?:config\.json of |https://huggingface\.co/)\S+/(\S+):")
FROM_NAME, FROM_MEMORY = "named in the log", "by its memory"
MOST_PHRASES = 500  # places looked at for a device's name
MOST_NAMED = 4  # devices of one memory that a note names


@once
def model_names() -> dict[str, str]:
    """Presets by every name they go by, each name as `plain` writes it."""
    return names_of({id: model.source for id, model in presets.models().items()})


def names_of(sources: dict[str, str]) -> dict[str, str]:
    """The same for presets that the list may not have yet; sources: id -> source of its figures."""
    found = {}
    for id, source in sources.items():
        published = PUBLISHED.match(source)
        for name in (id, *(published.groups() if published else ())):
            found.setdefault(plain(name), id)
    return found | {plain(row["name"]): row["model"] for row in presets.rows("model_aliases.csv")}


def plain(name: str) -> str:
    """A model's name without its owner and without words on how it was tuned or stored."""
    cached = re.search(r"models--[^/]+?--([^/\\]+)", name)  # in a hub's cache, beside a checksum
    name = cached[1] if cached else name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = name.lower()
    name = re.sub(r"-\d{5}-of-\d{5}$", "", name.removesuffix(".gguf"))  # one of several files
    parts = re.split(r"[-_ :]+", name)
    kept, left_out = [], False
    for part in parts:
        left_out = bool(re.fullmatch(TUNED, part) or (left_out and re.fullmatch(SIZES, part)))
        if not left_out:
            kept.append(part)
    return "".join(kept)


def model(reading: LogReading, notes: list[str]) -> str:
    """The id of the preset that the log names; "" and a note where there is none."""
    named = names(reading)
    if not named:
        notes.append("The log does not name its model.")
        return ""
    # A maker's name may stand before the model's, as “maker_model.gguf”.
    tried = [*named, *(name.rpartition("/")[2].partition("_")[2] for name in named)]
    found = next(filter(None, (model_names().get(plain(name), "") for name in tried)), "")
    if not found:
        notes.append(f"The model “{shorten(named[0], 80)}” is not in the list.")
    return found


def names(reading: LogReading) -> list[str]:
    """What a log calls its model; a checksum, as ollama's files have for a name, is none."""
    both = filter(None, (reading.model, reading.model_file))
    return [name for name in both if "sha256" not in name]


class Stored(NamedTuple):
    """How weights are stored: the id of a format, and a clause on what was taken for granted.

    format: “” where it must be asked for; assumed then says why. assumed: “” where the log says it.
    """

    format: str
    assumed: str = ""


def weights(reading: LogReading, published: str, source: str = "") -> Stored:
    """The format of the weights: what the log says of it, its name, then how it was published.

    published: the format of the preset's own checkpoint, read from `source`.
    """
    said = _gguf(reading.dtype)
    if said in presets.weight_formats():
        return Stored(said)
    name = " ".join(filter(None, (reading.model, reading.model_file))).lower().replace("_", "-")
    in_file = re.search(r"[.-](i?q\d[\w-]*?|f16|bf16|mxfp4)(?:-\d{5}-of-\d{5})?\.gguf", name)
    in_file = in_file or re.search(r"gguf:(?:ud-)?(i?q\d[\w-]*|f16|bf16|mxfp4)$", name)
    in_file = _gguf(in_file[1].replace("-", "_")) if in_file else ""
    if in_file in presets.weight_formats():
        return Stored(in_file)
    if reading.engine == "llama.cpp":
        if not said and published == "mxfp4-experts":
            return Stored("mxfp4-gguf", "as published; the log does not say it")
        what = f"the format “{shorten(reading.dtype)}” is not known" if reading.dtype else ""
        return Stored("", what or "the log does not say the format of the weights")
    named = next((id for pattern, id in STORED if re.search(pattern, name)), "")
    method = (reading.quantization or "").lower().replace("-", "_")
    if method:
        return _by_method(reading, method, named, published)
    if named:
        return Stored(named)
    if said and said not in SIXTEEN and said != "float32":
        return Stored("", f"the format “{shorten(reading.dtype)}” is not known")
    if published not in ("fp16", "fp32") and any(
        re.search(each, source.lower()) for each, _ in STORED
    ):
        return Stored("", "the log does not say the format of the weights")
    if published == "fp16" and said in SIXTEEN[:-1]:
        return Stored("fp16", "no quantisation is named beside 16-bit sums")
    return Stored(published, "as published; the log does not say it")


def _by_method(reading, method, named, published):
    """The format that a method of quantisation means for this checkpoint."""
    if method not in METHODS:
        clause = f"“{shorten(reading.quantization)}” does not say how many bits"
        return Stored(named, "" if named else clause)
    found = METHODS[method]
    if not found:
        wide = (reading.dtype or "").lower() in ("float32", "fp32")
        return Stored("fp32" if wide else "fp16")
    # A checkpoint's own mix is finer than the word that an engine has for it.
    if found == "fp8" and not named and published not in ("fp16", "fp32"):
        return Stored(published, "as published, which the engine calls fp8")
    if named and named != "fp8":
        return Stored(named)
    return Stored(found, "groups of 128, as usual" if found in GROUPED else "")


def _gguf(dtype):
    """The id of a format that llama.cpp and ollama name."""
    said = re.sub(r"(?: - [\d.]+ bpw\b.*| \(guessed\)|, may not work)$", "", (dtype or "").lower())
    said = said.removeprefix("all ").replace("iq3_s mix", "iq3_m").replace(" - ", "_")
    said = re.sub(r"_(medium|small|large)\b", lambda word: f"_{word[1][0]}", said).split(" ")[0]
    return GGUF.get(said, said)


CACHES = {  # what engines call a cache's format, where the presets call it otherwise
    **dict.fromkeys(("auto", "bfloat16", "float16", "half", "f16", "bf16", "fp16"), "fp16"),
    **dict.fromkeys(("fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2", "fp8_inc"), "fp8"),
    **dict.fromkeys(("float8_e4m3fnuz", "float8_e5m2fnuz"), "fp8"),
}


def cache(reading: LogReading) -> dict[str, Stored]:
    """The formats of keys and values; where only one is said, it is that of both."""
    keys = reading.cache_k or reading.cache_dtype
    values = reading.cache_v or (keys if reading.cache_v is None else None)
    return {"cache_k": _cached(reading, keys), "cache_v": _cached(reading, values)}


def _cached(reading, said):
    if said is None:
        return Stored("fp16", "16 bits, the engine's default; the log does not say it")
    said = said.lower().removeprefix("torch.")
    found = CACHES.get(said, said)
    if found not in presets.cache_formats():
        return Stored("", f"the cache type “{shorten(said)}” is not known")
    quantized = "nvfp4" in (reading.model or "").lower() or "modelopt" in (
        reading.quantization or ""
    )
    if said == "auto" and quantized:
        return Stored(found, "16 bits for “auto”; such a checkpoint may set FP8")
    return Stored(found)


# --- the device -----------------------------------------------------------------------------------


@once
def _device_words():
    """For each device the words of its name that drivers print too, longest first."""
    found = {}
    for id, row in presets.accelerators().items():
        parts = re.sub(r"\(.*?\)", "", row.name.lower()).split()
        kept = " ".join(part for part in parts if not re.fullmatch(FORM, part))
        found[id] = re.compile(rf"(?<![\w.]){re.escape(kept)}(?![\w.])")
    longest = sorted(found, key=lambda id: -len(found[id].pattern))
    return {id: found[id] for id in longest if id != "lesson"}


def device(reading: LogReading, text: str, notes: list[str]) -> str:
    """The device named in the log, else the one whose memory it is; "" where neither tells."""
    total, free = reading.total_gib, reading.free_gib
    if reading.engine == "llama.cpp":
        total = free = None  # it sums free memory over its devices
    near = _of_memory(total, free)
    named = _named(f"{text}\nNVIDIA {reading.device_name or ''}\nAMD {reading.device_name or ''}")
    both = [id for id in named if id in near] or ([] if near else named)
    able = both or near
    if not able:
        notes.append("The log does not tell its device; the lesson's stands in for it.")
        return ""
    chosen = able[0]
    how = FROM_NAME if both else FROM_MEMORY
    name = presets.accelerator(chosen).name
    others = [presets.accelerator(id).name for id in able[1 : 1 + MOST_NAMED]]
    also = f" It could also be {' or '.join(others)}." if others else ""
    notes.append(f"Device: {name}, {how}.{also}")
    return chosen


def _named(text):
    phrases = {each.group().lower() for each in islice(MAKER.finditer(text), MOST_PHRASES)}
    found = []
    for id, pattern in _device_words().items():
        if any(pattern.search(phrase) for phrase in phrases):
            found.append(id)
    if not found:
        return []
    longest = len(_device_words()[found[0]].pattern)
    return [id for id in found if len(_device_words()[id].pattern) == longest]


def _of_memory(total, free):
    """Devices of that much memory, the closest first; free memory is up to 8 % less than all."""
    wanted = total if total is not None else free
    if wanted is None:
        return []
    least, most = (0.99, 1.01) if total is not None else (0.995, 1.08)
    off = {
        id: row.memory_gb * GB / GIB / wanted
        for id, row in presets.accelerators().items()
        if id != "lesson" and wanted > 0
    }
    return sorted((id for id in off if least <= off[id] <= most), key=lambda id: abs(off[id] - 1))
