"""Which model, which format and which device a start-up log speaks of, by name or by memory."""

import re
from functools import cache
from itertools import islice

from planner.inputs import presets
from planner.logs.parse import LogReading
from planner.models.notation import shorten
from planner.units import GB, GIB

# Words of a checkpoint's name that say how it was tuned or stored, not what it is.
TUNED = (
    r"meta|instruct|chat|hf|it|base|awq|gptq|int\d+|fp\d+|bf16|\d+bit|bnb|unsloth|gguf|dynamic|"
    r"static|block|per|tensor|pertensor|w\d+a\d+|i?q\d\w*|k|m|s|l|nvfp4|mxfp4|autoround|qat|\d{4}"
)
STORED = (  # part of a checkpoint's name: how its weights are stored
    (r"nvfp4", "nvfp4"),
    (r"bnb-4bit|nf4", "nf4"),
    (r"awq|gptq-int4|gptq|int4|w4a16|4bit", "int4-g128"),
    (r"w8a8|int8", "int8"),
    (r"fp8", "fp8"),
)
GGUF = {"f16": "fp16", "bf16": "fp16", "f32": "fp32", "mxfp4": "mxfp4-gguf"}
MAKER = re.compile(
    r"\b(?:NVIDIA|AMD|Tesla|GeForce|Radeon|Instinct|Apple|Intel|Jetson)[ \w.+-]{1,60}"
)
FORM = r"geforce|radeon|instinct|tesla|nvidia|apple|sxm\d?|pcie|nvl|hgx|per|gpu|hbm\d\w?|\d+gb"
PUBLISHED = re.compile(r"(?:config\.json of |https://huggingface\.co/)\S+/(\S+):")
FROM_NAME, FROM_MEMORY = "named in the log", "by its memory"
MOST_PHRASES = 500  # places looked at for a device's name
MOST_NAMED = 4  # devices of one memory that a note names


@cache
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
    name = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    parts = re.split(r"[-_ :]+", name.removesuffix(".gguf"))
    return "".join(part for part in parts if not re.fullmatch(TUNED, part))


def model(reading: LogReading, notes: list[str]) -> str:
    """The id of the preset that the log names; "" and a note where there is none."""
    if reading.model is None:
        notes.append("The log does not name its model.")
        return ""
    found = model_names().get(plain(reading.model), "")
    if not found:
        notes.append(f"The model “{shorten(reading.model, 80)}” is not in the list.")
    return found


def stored(reading: LogReading, published: str) -> str:
    """The format of the weights, from the log's words for it or the checkpoint's name."""
    said = (reading.dtype or "").lower().replace(" - ", "_")
    said = re.sub(r"_(medium|small|large)\b", lambda word: f"_{word[1][0]}", said).split(" ")[0]
    said = GGUF.get(said, said)
    if said in presets.weight_formats():
        return said
    name = (reading.model or "").lower().replace("_", "-")
    return next((id for pattern, id in STORED if re.search(pattern, name)), published)


# --- the device -----------------------------------------------------------------------------------


@cache
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
    named = _named(text)
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
