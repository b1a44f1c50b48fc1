"""What a log leaves out and a prediction needs: filled from what an engine does by itself.

Nothing is filled in silence: each such figure is an `Assumed`, with the reason, and with another
value that it might have. A row is marked with those that change it, found by trying.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.inputs import presets
from planner.logs import defaults, identify
from planner.logs.parse import LogReading
from planner.logs.predicted import ONE_LAYER, Setup
from planner.logs.reconcile import Row
from planner.models.notation import shorten
from planner.units import GB

MOVES = 1e-3  # by what part a row changes that is said to depend on a figure
OLLAMA_CONTEXT = 4096  # tokens; https://docs.ollama.com/faq


@dataclass(frozen=True)
class Assumed:
    """A figure that the log does not give. name: a few words; text: a clause with value and reason.

    vary: the same set-up with another value, None where it only makes the plan.
    """

    name: str
    text: str
    vary: Callable[[Setup], Setup] | None = None


def fill(reading: LogReading, link: dict, given: dict, asked: list[str], notes: list[str]):
    """The reading and the link's missing values as the engine has them, and what was assumed.

    link: what log and link say. asked: grows by what nothing tells, notes by why.
    """
    found, filled = [], {}
    model = presets.model(link["model"]) if link["model"] else None
    _formats(reading, given, model, filled, found, asked, notes)
    engine = link.get("engine") or reading.engine_id
    if not link.get("engine"):
        engine = _engine(reading, link["device"])
        found.append(_of_engine(reading, engine))
    filled["engine"] = engine
    device = presets.accelerator(link["device"] or "lesson")
    memory = float(link.get("memory") or device.memory_gb)
    if reading.total_gib is None and link["device"] and "memory" not in given:
        text = f"{memory:,.4g} GB a device, as {device.name} has; the log does not say its memory"
        found.append(Assumed("memory", text, _memory))
    reading = _length(reading, link, model, filled, found, asked, notes)
    reading = _step(reading, engine, link["device"], memory, found)
    reading = _layout(reading, link, found)
    _unsaid(reading, presets.engine(engine), found)
    _drafter(reading, engine, model, found)
    if "concurrency" not in link:
        filled["concurrency"] = 1
        found.append(
            Assumed("requests", "1 request in the plan; the log does not say how many fit")
        )
    return reading, filled, tuple(found)


def marked(setup: Setup, predict, assumed) -> tuple[Row, ...]:
    """The rows, each with the names of what it depends on and the log does not say."""
    rows = predict(setup)
    names = [[] for _ in rows]
    for each in assumed:
        if each.vary is None:
            continue
        other = predict(each.vary(setup))
        # Rows that come or go with a figure depend on it as a whole.
        same = [row.quantity for row in other] == [row.quantity for row in rows]
        for index, row in enumerate(rows):
            moved = not same or _moved(row.predicted, other[index].predicted)
            names[index] += [each.name] if moved else []
    return tuple(replace(row, assumed=tuple(own)) for row, own in zip(rows, names, strict=True))


def _moved(first, second):
    return abs(first - second) > MOVES * max(abs(first), abs(second))


# --- one by one -----------------------------------------------------------------------------------


def _formats(reading, given, model, filled, found, asked, notes):
    """How weights and cache are stored."""
    if "weights" not in given and model:
        stored = identify.weights(reading, model.dtype, model.source)
        if not stored.format:
            asked.append("weights")
            notes.append(f"Choose the format of the weights: {stored.assumed}.")
        elif stored.assumed:
            name = presets.weight_format(stored.format).name
            found.append(Assumed("weights", f"weights in {name}, {stored.assumed}", _weights))
        filled["weights"] = stored.format
    for name, stored in identify.cache(reading).items():
        said = reading.cache_dtype or reading.cache_k or reading.cache_v
        if name in given and said is None:
            continue
        filled[name] = stored.format
        if not stored.format:
            asked.append(name)
            notes.append(f"Choose the format of the cache: {stored.assumed}.")
        elif stored.assumed and name == "cache_k":
            found.append(Assumed("cache", f"a cache of {stored.assumed}", _cache))


def _weights(setup):
    other = "int8" if setup.scenario.weights != "int8" else "fp16"
    return setup._replace(scenario=replace(setup.scenario, weights=other))


def _cache(setup):
    return setup._replace(scenario=replace(setup.scenario, cache_k="int8", cache_v="int8"))


def _memory(setup):
    return setup._replace(scenario=replace(setup.scenario, memory=setup.scenario.memory * 0.9))


def _engine(reading, device):
    """The row of the engine that serves this device, where the log does not tell which."""
    if reading.engine != "llama.cpp" or not device:
        return reading.engine_id
    vendor = presets.accelerator(device).vendor
    rows = {"Apple": "llama.cpp-metal", "Intel": "llama.cpp-vulkan"}
    if reading.dialect:
        rows = {"Apple": "ollama-metal"} if reading.dialect == "ollama" else {}
    return rows.get(vendor, reading.engine_id)


def _of_engine(reading, engine):
    name = presets.engine(engine).name
    others = ("vllm-0.26", "vllm-0.20") if reading.engine == "vllm" else ("llama.cpp-vulkan",)
    other = next(row for row in others if row != engine)

    def vary(setup):
        known = setup.scenario.engine_as_is(other, setup.scenario.memory * GB)
        return setup._replace(engine=known)

    what = "back end" if reading.engine == "llama.cpp" else "version"
    return Assumed("version", f"{name}; the log does not say the {what}", vary)


def _length(reading, link, model, filled, found, asked, notes):
    """The longest request: the link's, else what the engine takes from the model."""
    if reading.max_model_len is not None:
        return reading
    if link.get("context"):
        text = f"{int(float(link['context'])):,} tokens a request, as the link says"
        length = int(float(link["context"]))
    elif reading.dialect == "ollama":
        length = OLLAMA_CONTEXT
        text = f"{length:,} tokens a request, ollama's default on small devices"
    elif reading.trained_len or (model and model.max_context):
        length = reading.trained_len or model.max_context
        text = f"{length:,} tokens a request, the model's own length, as {reading.engine_name} does"
    else:
        asked.append("context")
        notes.append(
            "The log does not say the longest request, nor is the model's own length known."
        )
        filled["context"] = 0
        return reading
    filled["context"] = min(max(length, 128), 1_048_576)

    def vary(setup):
        half = max(1, setup.reading.max_model_len // 2)
        return setup._replace(reading=replace(setup.reading, max_model_len=half))

    found.append(Assumed("context", f"{text}; the log does not say it", vary))
    return replace(reading, max_model_len=length)


def _step(reading, engine, device, memory, found):
    """How many tokens and requests a step holds."""
    release = defaults.release(reading, engine)
    default = defaults.step(reading, release, device, memory)
    if default is None:
        return reading
    own = f"vLLM's default below {LARGE_GIB} GiB" if default.sequences < 1024 else "vLLM's default"

    def vary(setup):
        more = replace(
            setup.reading,
            batched_tokens=4 * (setup.reading.batched_tokens or 1),
            sequences=4 * (setup.reading.sequences or 1),
        )
        return setup._replace(reading=more)

    texts = []
    if not reading.batched_tokens:
        tokens = default.batched_tokens
        if defaults.is_first_engine(reading) and reading.max_model_len:
            tokens = defaults.whole_prompt(reading.max_model_len)
        texts.append(f"{tokens:,} tokens")
        reading = replace(reading, batched_tokens=tokens)
    if not reading.sequences:
        texts.append(f"{default.sequences:,} requests")
        reading = replace(reading, sequences=default.sequences)
    if texts:
        text = f"a step of {' and '.join(texts)}, {own} on such a device"
        found.append(Assumed("step", text, vary))
    return reading


LARGE_GIB = 70


def _layout(reading, link, found):
    """One device where nothing says that there are more."""
    if reading.engine == "llama.cpp":
        return reading
    if link.get("tp"):
        if reading.tensor_parallel is None:
            reading = replace(reading, tensor_parallel=int(float(link["tp"])))
        return reading

    def vary(setup):
        try:
            scenario = replace(setup.scenario, tp=2 * setup.scenario.tp)
        except ValueError:  # a model that cannot be cut in two has no other layout
            return setup
        return setup._replace(scenario=scenario)

    text = f"1 tensor-parallel device, {reading.engine_name}'s default"
    found.append(Assumed("tensor parallel", text, vary))
    return reading


def _unsaid(reading, engine, found):
    """The share of memory and the size of a block."""
    if reading.fraction is None and engine.fraction < 1 and not reading.set_pool_gib:

        def less(setup):
            return setup._replace(engine=setup.engine.changed(fraction=0.9 * engine.fraction))

        text = f"a memory fraction of {engine.fraction:g}, {engine.name}'s default"
        found.append(Assumed("fraction", text, less))
    if not reading.block_tokens and engine.block_tokens > 1:

        def longer(setup):
            other = 4 * setup.engine.block_tokens
            return setup._replace(engine=setup.engine.changed(block_tokens=other))

        text = f"blocks of {engine.block_tokens} tokens, {engine.name}'s default"
        found.append(Assumed("block", text, longer))


NO_CACHE = ("none", "ngram", "suffix", "ngram_gpu")  # ways of drafting without a model
DRAFTED = 3  # tokens that a drafter might draft


def _drafter(reading, engine, model, found):
    """What a drafter keeps, and how many states of a request, where vLLM's settings do not say."""
    method = (reading.drafting or "").lower()
    if reading.engine == "vllm" and method and not method.endswith((*ONE_LAYER, *NO_CACHE)):

        def one_more(setup):
            return setup._replace(reading=replace(setup.reading, drafting="eagle"))

        unknown = f"no cache for the drafter ({shorten(method)}), whose layers are not known"
        found.append(Assumed("drafter's cache", unknown, one_more))
    if reading.engine != "vllm" or not model or not model.fixed_bytes:
        return
    if reading.prefix_caching is None:
        kept = defaults.release(reading, engine) >= defaults.KEPT_PREFIXES

        def other(setup):
            return setup._replace(reading=replace(setup.reading, prefix_caching=f"{not kept}"))

        text = f"prefix caching {'on' if kept else 'off'}, vLLM's default for such a model"
        found.append(Assumed("prefix caching", text, other))
    if reading.drafting:
        return

    def drafting(setup):
        more = replace(setup.reading, drafting="mtp", drafted=DRAFTED)
        return setup._replace(reading=more)

    text = "no drafter, whose states would count as well; the log does not say"
    found.append(Assumed("no drafter", text, drafting))
