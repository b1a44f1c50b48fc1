"""Reads an engine's start-up log.

A log is text that somebody pasted: any length, any junk around it, colours, several ranks. So a
line is looked for by its fixed words (a plain search, linear in the text) and only then matched, at
that place and no further than `REACH` characters; every repetition in a pattern has a bound.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

from planner.inputs import presets
from planner.units import GIB

REACH = 1000  # characters after a line's first words in which its figures must stand
MOST = 2000  # places looked at for one kind of line

NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
    "llama.cpp": "llama.cpp",
}


WORDS = {  # figures that are words, and how far such a word may reach
    "version": r"[\w.+-]{1,40}",
    "model": r"(?!-)[^\s'\",]{1,200}?(?=[\s'\",]|\.\.\.|$)",
    "dtype": r"[a-z0-9_]{1,20}",
    "cache_dtype": r"[A-Za-z][\w.]{1,30}",
    "flash": r"\w{1,10}",
    "device": r"(?!\w{0,20}Host|CPU)[A-Za-z]\w{0,20}",
    "model_line": r"[^\s|][^\n]{0,120}",
    "dtype_line": r"[^\s|][^\n]{0,60}",
}
# Some copies lose the escape character and keep the rest, so it need not be there.
COLOURS = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]|\[\d{1,3}(?:;\d{1,3}){0,5}m")
NUMBER = r"-?\d{1,3}(?:,\d{3}){1,4}|-?\d{1,13}(?:\.\d{1,9})?"
COUNT = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,13}"
# Since which 0.x, the newest first; of which a log is that does not say.
VLLM = ((34, "vllm-0.34"), (26, "vllm-0.26"), (20, "vllm"), (6, "vllm-0.20"), (0, "vllm-0.5"))
UNSAID, EARLY = 26, 6
UNITS = {"_gib": 1.0, "_mib": 1 / 1024, "_mb": 10**6 / GIB, "_bytes": 1 / GIB}
WHOLE = ("tokens", "blocks", "parallel", "len", "sequences")


@dataclass(frozen=True)
class Line:
    """Where a figure was read: the line's number, from 1, and its text, cut to 300 characters."""

    number: int
    text: str


@dataclass(frozen=True)
class LogReading:
    """What a log says; None where it does not. Sizes of one device in GiB, whatever it calls them.

    engine: vllm, sglang, tensorrt-llm, llama.cpp or "". fraction: as set. total_gib: of the device;
    free_gib: at the moment that matters to the engine. graphs_held_gib: what was kept back for
    graphs before they were captured; vLLM since 0.27 adds it to activation_gib, where it stays if
    the log does not print it by itself too. state_gib: recurrent states, beside the pool.
    llama.cpp's sizes are summed over its devices. lines: for each figure, where it was read.
    """

    engine: str = ""
    version: str | None = None
    model: str | None = None
    dtype: str | None = None
    cache_dtype: str | None = None
    flash: str | None = None
    device: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    fraction: float | None = None
    max_model_len: int | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    block_tokens: int | None = None
    total_gib: float | None = None
    free_gib: float | None = None
    budget_gib: float | None = None
    weights_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    graphs_gib: float | None = None
    graphs_held_gib: float | None = None
    state_gib: float | None = None
    pool_gib: float | None = None
    tokens: int | None = None
    blocks: int | None = None
    concurrency: float | None = None
    lines: Mapping[str, Line] = field(default_factory=dict)

    @property
    def engine_id(self):
        """The row of presets/engines.csv that fits best, "" where no engine was recognised."""
        if self.engine == "vllm":
            release = re.match(r"v?0\.(\d{1,3})(?!\d)", self.version or "")
            # Only early versions print blocks, or tokens that are not concurrency times length;
            # without either sign one of the newer is meant.
            early = self.blocks is not None or self.groups_counted
            unsaid = EARLY if early else UNSAID
            minor = int(release[1]) if release else unsaid
            return next(id for since, id in VLLM if minor >= since)
        if self.engine == "llama.cpp":
            device = (self.device or "").lower()
            if device.startswith(("metal", "mtl", "vulkan")):
                return "llama.cpp-vulkan" if device.startswith("vulkan") else "llama.cpp-metal"
            off = self.flash in ("0", "off", "disabled", "false")
            return "llama.cpp-cuda-nofa" if off else "llama.cpp-cuda"
        return self.engine

    @property
    def groups_counted(self):
        """Whether the printed tokens are those of one group of a hybrid model's blocks."""
        if not (self.tokens and self.concurrency and self.max_model_len):
            return False
        return abs(self.tokens / self.max_model_len / self.concurrency - 1) > 0.1

    def missing(self):
        """What the comparison needs and this log does not say, a plain sentence each."""
        if not self.engine:
            known = ", ".join(NAMES.values())
            return (f"No line that {known} print at start was found. Paste the log from the top.",)
        return tuple(
            f"{what} is not in this log. Look for a line with {where}."
            for names, what, where in NEEDED
            if all(getattr(self, name) is None for name in names)
        )


NEEDED = (
    (("total_gib", "free_gib"), "The memory of the device", "“memory on device” or “MiB free”"),
    (("weights_gib",), "The size of the weights", "“loading took”, “mem usage” or “buffer size”"),
    (("pool_gib",), "The size of the cache pool", "“KV cache memory”, “K size” or “KV self size”"),
    (
        ("tokens", "blocks", "concurrency", "max_model_len"),
        "What the pool holds",
        "“KV cache size”, “# GPU blocks”, “#tokens” or “n_ctx”",
    ),
)


def _compile(template):
    """The fixed first words of a line of presets/log_lines.csv, and its pattern.

    <name> is a figure; ~ any space or none; ≈ an equals sign, a colon or a bracket; … anything in
    the line.
    """
    first = re.split(r"[<~≈…]", template, maxsplit=1)[0]
    pattern = ""
    for part in re.findall(r"<\w+>|[~≈… ]|[^<~≈… ]+", template):
        if part.startswith("<"):
            name = part[1:-1]
            kind = WORDS.get(name) or (COUNT if name.endswith(WHOLE) else NUMBER)
            pattern += f"(?P<{name}>{kind})"
        else:
            pattern += {
                "~": r"\s{0,40}",
                "≈": r"['\"]?\s{0,40}(?:[=:(]\s{0,8}|\s)['\"]?",
                "…": r"[^\n]{0,400}?",
                " ": r"\s{1,20}",
            }.get(part) or re.escape(part)
    return first, re.compile(pattern)


TABLE = tuple((row.engine, row.take, *_compile(row.line)) for row in presets.log_lines())


def read_log(text: str) -> LogReading:
    """Read a start-up log of vLLM, SGLang, TensorRT-LLM or llama.cpp. Never raises on any text.

    The engine is the one most of whose lines are there. Of several ranks the first counts, for pool
    and tokens the least, as engines do; of several tries in one log, TensorRT-LLM's last.
    """
    text = COLOURS.sub("", text).replace("\r", "\n")
    found = {engine: {} for engine in (*NAMES, "any")}
    for engine, take, first, pattern in TABLE:
        for name, value, place in _take(text, take, first, pattern):
            found[engine].setdefault(name, (value, place))
    engine = max(NAMES, key=lambda each: len(found[each]))
    own = found[engine]
    if not own:
        return LogReading()
    for name, read in found["any"].items():
        own.setdefault(name, read)
    _derive(own)
    kept = [each.name for each in fields(LogReading) if each.name in own]
    return LogReading(
        engine=engine,
        **{name: own[name][0] for name in kept},
        lines=MappingProxyType({name: _line(text, own[name][1]) for name in kept}),
    )


def _take(text, take, first, pattern):
    """Figures of one kind of line: (name, value, place), one of each name."""
    places, place = [], text.find(first)
    while place >= 0 and len(places) < MOST:
        places.append(place)
        place = text.find(first, place + len(first))
    read = {}
    for place in reversed(places) if take == "last" else places:
        match = pattern.match(text, place, place + REACH)
        if not match:
            continue
        for name, raw in match.groupdict().items():
            name, value = _value(name, raw)
            if name not in read or (take == "least" and value < read[name][0]):
                read[name] = (value, place)
            elif take == "sum" and isinstance(value, float):
                read[name] = (read[name][0] + value, read[name][1])
        if take in ("first", "last"):
            break
    return [(name, *value) for name, value in read.items()]


def _value(name, raw):
    """A figure's name and value: sizes become GiB, counts whole numbers, words stay words."""
    if name in WORDS:
        return name.removesuffix("_line"), raw.strip()
    number = float(raw.replace(",", ""))
    for unit, factor in UNITS.items():
        if name.endswith(unit) and name != "token_bytes":
            return name.removesuffix(unit) + "_gib", number * factor
    if name.endswith(WHOLE):
        return name, int(number)
    return name, number


# Figures that a log gives in parts: (figure, parts, how). The last part names the line to show.
DERIVED = (
    ("fraction", ("fraction_percent",), lambda percent: percent / 100),
    ("weights_gib", ("free_gib", "after_gib"), lambda free, after: free - after),
    ("free_gib", ("weights_gib", "after_gib"), lambda weights, after: weights + after),
    ("activation_gib", ("weights_gib", "peak_torch_gib"), lambda weights, peak: peak - weights),
    ("activation_gib", ("graphs_held_gib", "step_gib"), lambda held, step: step - held),
    ("activation_gib", ("step_gib",), lambda step: step),
    ("non_torch_gib", ("weights_gib", "consumed_gib"), lambda weights, both: both - weights),
    ("pool_gib", ("key_gib", "value_gib"), lambda key, value: key + value),
    ("state_gib", ("conv_gib", "ssm_gib"), lambda conv, state: conv + state),
    ("free_gib", ("total_gib", "peak_gib"), lambda total, peak: total - peak),
)


def _derive(own):
    for name, parts, how in DERIVED:
        if name not in own and all(part in own for part in parts):
            own[name] = (how(*(own[part][0] for part in parts)), own[parts[-1]][1])


def _line(text, place):
    start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place, place + 300)
    shown = text[max(start, place - 100) : end if end >= 0 else place + 200]
    return Line(text.count("\n", 0, place) + 1, shown.strip()[:300])
