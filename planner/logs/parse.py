"""Reads an engine's start-up log.

A log is text that somebody pasted: any length, any junk around it, colours, several ranks, several
starts, wrapped by a terminal. `clean` makes lines of it, `templates` finds figures in them,
`starts` says which of them belong together; here one reading is made of what was found.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

from planner.logs import clean, templates
from planner.logs.arguments import arguments
from planner.logs.choose import chosen_start, kept_hits
from planner.logs.clean import Line
from planner.logs.starts import Places, devices_of
from planner.logs.templates import MOST, TABLE, Hit, hits

__all__ = ["MOST", "NAMES", "TABLE", "Line", "LogReading", "read_log"]

NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
    "llama.cpp": "llama.cpp",
    "atom": "ATOM",
}
DIALECTS = {  # which speak as another does: whose words, their names, and what only they print
    "ollama": (
        "llama.cpp",
        "ollama",
        re.compile(r'\bollama\b|source=ggml\.go|msg="model weights"'),
    ),
    "ik": (
        "llama.cpp",
        "ik_llama.cpp",
        re.compile(r"\bmla_attn +=|\battn_max_b +=|c\^KV \(|ik_llama"),
    ),
    "ascend": ("vllm", "vLLM on Ascend", re.compile(r"\bvllm[-_]ascend\b|plugin ascend\b")),
    "kt": (
        "sglang",
        "KTransformers",
        re.compile(r"\bkt[-_](?:num_gpu_experts|num-gpu-experts|cpuinfer)\b"),
    ),
}
# Engines that print no figure of their memory, by words that only they print.
SILENT = {
    "MLX": re.compile(r"\bmlx_lm\b|\bmlx[-_]community/|Starting httpd at \S+ on port"),
    "ExLlamaV3 (TabbyAPI)": re.compile(r"\bexllamav3\b|\btabbyAPI\b", re.I),
}
# Since which 0.x, the newest first; of which a log is that does not say.
VLLM = ((34, "vllm-0.34"), (26, "vllm-0.26"), (20, "vllm"), (6, "vllm-0.20"), (0, "vllm-0.5"))
UNSAID, EARLY = 26, 6
KINDS = ("config", "arguments", "command", "flag")  # of arguments, what counts first before
SHOWN = 300  # characters of a line that are kept


@dataclass(frozen=True)
class LogReading:
    """What a log says; None where it does not. Sizes of one device in GiB, whatever it calls them.

    engine: vllm, sglang, tensorrt-llm, llama.cpp, atom or ""; dialect: ollama, ik, ascend or kt,
    which speak as one of these does; silent: one that prints no figures. fraction: as set.
    total_gib: of the device; free_gib: at the moment that matters to the engine. graphs_held_gib:
    what was kept back for graphs before they were captured; vLLM since 0.27 adds it to
    activation_gib, where it stays if the log does not print it by itself too. state_gib: recurrent
    states, beside the pool. needed_gib, longest_len: what one request would have needed, and the
    longest that fits, where the engine refused to start. set_pool_gib, set_blocks, set_tokens: a
    pool that somebody fixed. window_tokens: of SGLang's second pool, of which window_share is a
    part. context_gib: cache and states together. llama.cpp's sizes are summed over its devices,
    device_count of them. drafting, drafted, draft_model: speculative decoding, and how many tokens
    it drafts. state_type: of recurrent states, and states_type of all that recurrent layers keep;
    state_blocks: how many states SGLang is told to hold, states_held: how many it holds. lines: for
    each figure, where it was read; ranks: which rank said it. line_count: lines with anything in
    them.
    """

    engine: str = ""
    dialect: str | None = None
    silent: str = ""
    version: str | None = None
    first_engine: str | None = None
    model: str | None = None
    model_file: str | None = None
    dtype: str | None = None
    quantization: str | None = None
    cache_dtype: str | None = None
    cache_k: str | None = None
    cache_v: str | None = None
    flash: str | None = None
    device: str | None = None
    device_name: str | None = None
    device_count: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: int | None = None
    context_parallel: int | None = None
    expert_parallel_on: str | None = None
    data_attention: str | None = None
    fraction: float | None = None
    max_model_len: int | None = None
    trained_len: int | None = None
    slot_tokens: int | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    block_tokens: int | None = None
    window_share: float | None = None
    eager: str | None = None
    prefix_caching: str | None = None
    chunked_prefill: str | None = None
    drafting: str | None = None
    drafted: int | None = None
    draft_model: str | None = None
    lora_on: str | None = None
    loras: int | None = None
    lora_rank: int | None = None
    state_type: str | None = None
    states_type: str | None = None
    state_blocks: int | None = None
    states_held: int | None = None
    offload_gib: float | None = None
    offloaded_layers: int | None = None
    all_layers: int | None = None
    cached_layers: int | None = None
    overridden: str | None = None
    host_expert_layers: int | None = None
    cpu_moe: str | None = None
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
    context_gib: float | None = None
    projected_gib: float | None = None
    refused: str | None = None
    needed_gib: float | None = None
    longest_len: int | None = None
    set_pool_gib: float | None = None
    set_blocks: int | None = None
    set_tokens: int | None = None
    tokens: int | None = None
    window_tokens: int | None = None
    blocks: int | None = None
    concurrency: float | None = None
    lines: Mapping[str, Line] = field(default_factory=dict)
    ranks: Mapping[str, str] = field(default_factory=dict)
    line_count: int = field(default=0, compare=False)
    start_count: int = 1

    @property
    def group_state_blocks(self):
        """Recurrent states of one data-parallel group, of the number that SGLang is told; or 0."""
        groups = (self.data_parallel or 1) if self.data_attention == "True" else 1
        return (self.state_blocks or 0) // groups

    @property
    def release(self):
        """The second number of vLLM's version; None where the log does not say it."""
        release = re.match(r"v?0\.(\d{1,3})(?!\d)", self.version or "")
        if release:
            return int(release[1])
        return UNSAID if re.match(r"v?[1-9]\d?\.", self.version or "") else None

    @property
    def engine_id(self):
        """The row of presets/engines.csv that fits best, "" where no engine was recognised."""
        if self.dialect in ("ascend", "kt"):
            return "vllm-ascend" if self.dialect == "ascend" else "ktransformers"
        if self.engine == "vllm":
            # Only early versions print blocks, or tokens that are not concurrency times length;
            # without either sign one of the newer is meant.
            early = self.blocks is not None or self.groups_counted
            unsaid = EARLY if early else UNSAID
            minor = unsaid if self.release is None else self.release
            return next(id for since, id in VLLM if minor >= since)
        if self.engine == "llama.cpp":
            device = (self.device or "").lower()
            if self.dialect == "ik":
                return "ik_llama.cpp"
            if self.dialect == "ollama" and not device.startswith("vulkan"):
                return "ollama-metal" if device.startswith(("metal", "mtl")) else "ollama-cuda"
            if device.startswith(("metal", "mtl", "vulkan")):
                return "llama.cpp-vulkan" if device.startswith("vulkan") else "llama.cpp-metal"
            off = self.flash in ("0", "off", "disabled", "false")
            return "llama.cpp-cuda-nofa" if off else "llama.cpp-cuda"
        return self.engine

    @property
    def engine_name(self):
        """What the engine calls itself."""
        return DIALECTS[self.dialect][1] if self.dialect else NAMES.get(self.engine, "")

    @property
    def groups_counted(self):
        """Whether the printed tokens are those of one group of a hybrid model's blocks."""
        if not (self.tokens and self.concurrency and self.max_model_len):
            return False
        return abs(self.tokens / self.max_model_len / self.concurrency - 1) > 0.1

    @property
    def is_set(self):
        """Whether somebody fixed the pool, so that its size follows from nothing."""
        return any((self.set_pool_gib, self.set_blocks, self.set_tokens))

    def missing(self):
        """What the comparison needs and this log does not say, a plain sentence each."""
        if self.silent:
            return (
                f"{self.silent} prints no figures of its memory at start, so there is nothing to"
                " compare. A plan with it as the engine says what to expect.",
            )
        if not self.engine:
            known = ", ".join(NAMES.values())
            return (f"No line that {known} print at start was found. Paste the log from the top.",)
        return tuple(
            f"{what} is not in this log. Look for a line with {where}."
            for names, what, where in NEEDED
            if all(getattr(self, name) is None for name in names)
        )


FIGURES = tuple(each.name for each in fields(LogReading) if each.default is None)

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


def read_log(text: str | bytes) -> LogReading:
    """Read a start-up log of one of `NAMES` or `DIALECTS`. Never raises.

    The engine is the one most of whose lines are there. Of several starts the last that came to a
    pool counts, of several ranks the one whose pool is least, as engines do: its terms are taken
    together. Tokens, blocks and concurrency are the least of all ranks.
    """
    text = clean.decode(text) if isinstance(text, bytes) else text
    found = clean.lines(text)
    text = "\n".join(line.text for line in found)
    counted = sum(bool(line.text.strip()) for line in found)
    places = Places(text)
    own = {engine: [] for engine in (*NAMES, "any")}
    for index, template in enumerate(TABLE):
        for each in hits(text, template):
            own[template.engine].append((index, template.take, each))
    settled = len(TABLE)
    for argument in arguments(text):
        for engine, hit in templates.argument_hits(argument):
            rank = settled + KINDS.index(argument.kind)
            own[engine].append((rank, "each", [hit]))
    engine = max(NAMES, key=lambda each: len({hit.name for *_, row in own[each] for hit in row}))
    if not any(index < settled for index, *_ in own[engine]):
        silent = next((name for name, words in SILENT.items() if words.search(text)), "")
        if silent or not own[engine]:
            return LogReading(silent=silent, line_count=counted)
    # What any engine says in words of its own counts before what looks like a setting.
    rows = own[engine] + [(settled + len(KINDS) + index, *rest) for index, *rest in own["any"]]
    chosen, starts = chosen_start(rows, places)
    kept = kept_hits(rows, places, chosen)
    _count_devices(rows, places, kept)
    _hear_dialect(engine, text, kept)
    _derive(kept)
    names = [name for name in FIGURES if name in kept]
    return LogReading(
        engine=engine,
        **{name: kept[name].value for name in names},
        lines=MappingProxyType({name: _line(found, places, kept[name].place) for name in names}),
        ranks=MappingProxyType({name: places.writer(kept[name].place) for name in names}),
        line_count=counted,
        start_count=starts,
    )


def _line(found, places, place):
    line, start = found[places.number(place)], max(0, places.column(place) - 100)
    return Line(line.number, line.text[start if start > 100 else 0 :][:SHOWN].strip())


def _all_slots(slot, slots, unified):
    """The cells of all of llama.cpp's slots, which share them where they are unified."""
    return slot if unified == "true" else slot * slots


# Figures that a log gives in parts: (figure, parts, how). The last part names the line to show.
DERIVED = (
    ("fraction", ("fraction_percent",), lambda percent: percent / 100),
    ("weights_gib", ("free_gib", "after_gib"), lambda free, after: free - after),
    ("free_gib", ("weights_gib", "after_gib"), lambda weights, after: weights + after),
    ("activation_gib", ("weights_gib", "peak_torch_gib"), lambda weights, peak: peak - weights),
    ("activation_gib", ("graphs_held_gib", "step_gib"), lambda held, step: step - held),
    ("activation_gib", ("step_gib",), lambda step: step),
    ("non_torch_gib", ("weights_gib", "consumed_gib"), lambda weights, both: both - weights),
    (
        "pool_gib",
        ("window_tokens", "key_gib", "value_gib", "second_gib"),
        lambda _, key, value, second: key + value + second,
    ),
    ("pool_gib", ("key_gib", "value_gib"), lambda key, value: key + value),
    ("pool_gib", ("set_pool_gib",), lambda pool: pool),
    ("max_model_len", ("slot_tokens", "sequences", "unified"), _all_slots),
    ("state_gib", ("conv_gib", "ssm_gib"), lambda conv, state: conv + state),
    ("free_gib", ("total_gib", "peak_gib"), lambda total, peak: total - peak),
)


def _derive(kept):
    for name, parts, how in DERIVED:
        if name not in kept and all(part in kept for part in parts):
            value = how(*(kept[part].value for part in parts))
            kept[name] = Hit(name, value, kept[parts[-1]].place)


def _count_devices(rows, places, kept):
    """Devices by the ranks that write, and llama.cpp's by their buffers."""
    hits_ = [hit for *_, row in rows for hit in row]
    for kind, (count, place) in devices_of({places.writer(hit.place): hit.place for hit in hits_}):
        if count > 1:
            kept.setdefault(kind, Hit(kind, count, place))
    named = {re.sub(r"_.*", "", hit.value): hit.place for hit in hits_ if hit.name == "device"}
    numbered = {name: place for name, place in named.items() if re.search(r"\d", name)} or named
    if numbered:
        kept["device_count"] = Hit("device_count", len(numbered), max(numbered.values()))


def _hear_dialect(engine, text, kept):
    for name, (whose, _, words) in DIALECTS.items():
        heard = words.search(text) if engine == whose else None
        if heard:
            kept.setdefault("dialect", Hit("dialect", name, heard.start()))
