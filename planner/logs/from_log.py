"""A start-up log -> the scenario it speaks of, and predicted against printed, row by row.

The log is a text from outside: nothing here raises on it. What it does not say is taken from the
link, from what the engine does by itself, or asked for; each is named, and a row that depends on it
says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from planner import describe
from planner.files import PRESETS, rows
from planner.inputs import overrides, presets
from planner.inputs.scenario import ADDED, DRAFT, NUMBERS, Scenario, decode
from planner.logs import identify
from planner.logs.assumed import Assumed, fill, marked
from planner.logs.parse import LogReading, read_log
from planner.logs.predicted import Setup, predicted, without_model
from planner.logs.reconcile import Row
from planner.models import drafting, states
from planner.models.notation import shorten
from planner.plan import weights_of
from planner.units import GB, GIB

CHOSEN = ("model", "device", "weights")  # which count before what the log says
ASKED = ("model", "device", "weights", "cache_k", "cache_v", "context", "tp")
NUMBERS_DRAFTED = DRAFT["drafted"]
FAR = 0.1  # from which difference on a row's model or format is doubted


class FromLog(NamedTuple):
    """What a log comes to. scenario: None where no engine was recognised. notes: plain sentences on
    what was taken, what is missing and what is odd. rows: predicted against printed. assumed: what
    the log does not say. asked: names of a link whose values nothing tells. contradictions: where
    a link and the log say different things, by the link's name.
    """

    scenario: Scenario | None
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    assumed: tuple[Assumed, ...] = ()
    asked: tuple[str, ...] = ()
    contradictions: Mapping[str, str] = {}


@dataclass(frozen=True)
class LogExample:
    """A start-up log of presets/logs/. model, device: what it does not name itself, if anything."""

    id: str
    title: str
    model: str
    device: str
    text: str
    source: str


@cache
def examples() -> tuple[LogExample, ...]:
    """Every log of presets/log_examples.csv, in the order of the file."""
    found = []
    for row in rows("log_examples.csv"):
        path = PRESETS / "logs" / f"{row['id']}.log"
        head, text = path.read_text("utf-8").split("\n", 1)
        found.append(LogExample(**row, text=text, source=head.removeprefix("# ")))
    return tuple(found)


def plan_of(text: str | bytes, **given: str) -> FromLog:
    """The scenario that a start-up log speaks of, notes on it, and predicted against printed.

    given: values of a link. The model, the device and the format of the weights count before what
    the log says; all others fill what it leaves out. Never raises on any text; ValueError where an
    id is not known.
    """
    return plan_of_reading(read_log(text), text, **given)


def plan_of_reading(reading: LogReading, text: str | bytes = "", **given: str) -> FromLog:
    """`plan_of` for a log that has been read; `text` is looked through for the device's name."""
    if not reading.engine:
        return FromLog(None, reading.missing(), ())
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    given = {name: value for name, value in given.items() if value}
    notes, asked = [], []
    link = _named(reading, text, given, notes)
    said = _said(reading, link, notes)
    against = {
        name: f"the link says {given[name]}, the log {said[name]}"
        for name in said.keys() & given.keys()
        if not _alike(said[name], given[name])
    }
    notes += [f"{name}: {clause}." for name, clause in against.items()]
    link |= given | said
    reading, filled, assumed = fill(reading, link, given, asked, notes)
    link |= filled
    experts = _experts_by_size(reading, link)
    if experts and "host_experts" not in given:
        link["host_experts"] = experts
        text = f"experts of {experts} layers in host memory, by the size of what is on devices"
        assumed += (Assumed("host memory", text),)
    if link.get("draft") and "accepted" not in given:
        text = f"{ADDED['accepted']:g} tokens a step with the drafter; a start-up log does not say"
        assumed += (Assumed("acceptance length", text),)
    scenario, wrong = decode({name: [str(value)] for name, value in link.items() if value})
    notes += [f"{each.parameter}: {each.text}" for each in wrong]
    setup = Setup(
        reading,
        scenario,
        scenario.engine_as_is(scenario.engine, scenario.memory * GB),
        known=bool(link["device"]),
        weights_known="weights" not in asked,
        cache_known=not {"cache_k", "cache_v"} & {*asked},
    )
    if link["model"]:
        found = marked(setup, predicted, assumed)
    else:
        notes.append("Choose the model to see what depends on it.")
        asked.append("model")
        found = marked(setup, without_model, assumed)
    asked += [] if link["device"] else ["device"]
    found, beside_the_point = _possible(found, asked)
    notes += [*beside_the_point, *_starts(reading), *_beside(reading), *_doubts(found)]
    asked = tuple(name for name in ASKED if name in asked)
    return FromLog(scenario, (*notes, *reading.missing()), found, assumed, asked, against)


def _named(reading, text, given, notes):
    """Model and device: chosen, named in the log, or told by its memory."""
    link = {
        "model": given.get("model") or identify.model(reading, notes),
        "device": given.get("device") or identify.device(reading, text, notes),
    }
    named = next(iter(identify.names(reading)), "")
    if given.get("model") and named and identify.model(reading, []) != given["model"]:
        chosen = presets.model(given["model"]).name
        notes.append(f"The log names “{shorten(named, 80)}”; {chosen} was chosen.")
    return link


def _possible(found, asked):
    """The rows without a pool that only what was assumed makes impossible, and notes on it.

    An engine that printed a pool had one; weights or devices are other than assumed then.
    """
    kept, notes = [], []
    for row in found:
        wrong = next((name for name in ("weights", "tensor parallel") if name in row.assumed), "")
        had = row.quantity == "pool" and row.printed is not None and row.printed >= 0
        if not (had and row.predicted < 0 and wrong):
            kept.append(row)
            continue
        asked.append("tp" if wrong == "tensor parallel" else wrong)
        what = "on more devices" if wrong == "tensor parallel" else "stored in fewer bits"
        notes.append(
            f"The log prints a pool of {describe.significant(row.printed)} GiB where as assumed "
            f"nothing would be left: the weights are probably {what}."
        )
    return tuple(kept), notes


# --- what the log says, in a link's words ---------------------------------------------------------


def _said(reading, link, notes):
    """Values of a link that the log states; those that it leaves out are not there."""
    model = presets.model(link["model"]) if link["model"] else None
    found = {**_layout(reading, model), **_load(reading), "engine": _engine(reading)}
    found |= {**_left(reading, model), **_draft(reading, model), **_adapters(reading)}
    found |= _states(reading, model)
    if reading.total_gib is not None and reading.engine != "llama.cpp":
        found["memory"] = f"{reading.total_gib * GIB / GB:.3f}"
    found["set"] = _set(reading)
    return {name: value for name, value in found.items() if value}


def _left(reading, model):
    """What llama.cpp left to the host: layers, beside the output head, and experts of others."""
    if not model or reading.engine != "llama.cpp":
        return {}
    found = {}
    if reading.all_layers and reading.offloaded_layers is not None:
        left = min(reading.all_layers - reading.offloaded_layers, model.layers - 1)
        found["host_layers"] = max(left, 0)
    experts = reading.host_expert_layers or 0
    if reading.cpu_moe == "True":
        experts = model.layers
    if model.experts and experts:
        found["host_experts"] = min(experts, model.layers)
    return found


def _experts_by_size(reading, link):
    """Layers whose experts are on the host, from the size of what is on devices; None: unknown.

    A log prints a line for each matrix that is left there; an excerpt may have any number of them.
    """
    unsaid = reading.overridden == "CPU" and not reading.host_expert_layers
    model = presets.model(link["model"]) if link.get("model") else None
    if not (unsaid and model and model.experts and reading.weights_gib and link.get("weights")):
        return None
    stored = weights_of(model, link["weights"])
    missing = stored.total - stored.embedding - reading.weights_gib * GIB
    layers = round(missing / stored.experts * model.layers)
    return layers if 0 < layers <= model.layers else None


def _draft(reading, model):
    """The model's own prediction layers where they draft; of another drafter no more is known."""
    method = (reading.drafting or "").lower()
    if not model or not method.endswith(("mtp", "nextn")):
        return {}
    if drafting.refusal(model, drafting.MTP, reading.pipeline_parallel or 1):
        return {}
    count = NUMBERS_DRAFTED.nearest(reading.drafted or 1)
    return {"draft": drafting.MTP, "drafted": count}


def _adapters(reading):
    """Room for adapters; what is not said of it is what vLLM and SGLang set by themselves."""
    if reading.lora_on != "True":
        return {}
    few = 8 if reading.engine == "sglang" else 1
    return {"loras": reading.loras or few, "lora_rank": reading.lora_rank or 16}


def _states(reading, model):
    """How recurrent states are stored: what is said of them alone, else of all that is kept."""
    stored = reading.state_type or reading.states_type or states.AUTO
    return {} if not model or states.refusal(model, stored) else {"state_format": stored}


def _engine(reading):
    """The row of the engine where its version is known; a link may name another version's."""
    if reading.engine == "vllm" and reading.release is None and not reading.blocks:
        return ""
    return "" if reading.engine == "llama.cpp" and not reading.device else reading.engine_id


def _load(reading):
    """Context and concurrency: the longest request, and how many of them fit."""
    found = {}
    slots = (reading.sequences or 1) if reading.engine == "llama.cpp" else 1
    length = reading.slot_tokens or (reading.max_model_len or 0) // slots
    if length:
        found["context"] = NUMBERS["context"].nearest(length)
    if reading.concurrency is not None:
        found["concurrency"] = NUMBERS["concurrency"].nearest(int(reading.concurrency))
    elif reading.tokens and reading.max_model_len and reading.engine != "llama.cpp":
        fits = reading.tokens // reading.max_model_len
        found["concurrency"] = NUMBERS["concurrency"].nearest(fits)
    elif reading.sequences and reading.engine == "llama.cpp":
        # Slots that share their cells hold fewer requests of the full length than there are slots.
        fits = reading.max_model_len // length if length and reading.max_model_len else slots
        found["concurrency"] = NUMBERS["concurrency"].nearest(min(fits, slots))
    return found


def _set(reading):
    """The engine's figures that the log states itself."""
    stated = {
        "fraction": reading.fraction,
        "pool_gib": reading.set_pool_gib,
        "block_tokens": reading.block_tokens,
        "state_blocks": reading.group_state_blocks,
    }
    return overrides.write(
        {
            name: value
            for name, value in stated.items()
            if value and overrides.KNOWN[name].nearest(value) == value
        }
    )


def _layout(reading, model):
    """Devices and how they share the work, in the link's words."""
    tensor, data = reading.tensor_parallel, reading.data_parallel
    if reading.engine == "llama.cpp":
        return {"pp": reading.device_count}  # which cuts by layers, unless told otherwise
    if reading.data_attention == "True" and tensor:
        groups = data or tensor if reading.engine == "sglang" else tensor
        tensor, data = max(1, tensor // groups), groups
    experts = reading.expert_parallel
    if reading.expert_parallel_on == "True" and model and model.experts:
        experts = (tensor or 1) * (data or 1)
    shared = {"tp": tensor, "pp": reading.pipeline_parallel, "dp": data, "ep": experts}
    return shared | {"dcp": reading.context_parallel}


def _alike(said, given):
    """Whether a link's value is what the log says; a size in GB may be rounded."""
    try:
        return abs(float(said) - float(given)) <= 0.005 * abs(float(said))
    except ValueError:
        return str(said) == str(given)


# --- notes ----------------------------------------------------------------------------------------


def _starts(reading):
    if reading.start_count > 1:
        yield (
            f"The log holds {reading.start_count} starts; the last of the first model that came "
            "to a cache was read."
        )


def _beside(reading):
    """What the engine holds that no row predicts."""
    if reading.refused or reading.needed_gib is not None:
        yield "The engine refused to start: its cache would not hold one request."
    if reading.is_set:
        yield "The size of the pool was set by hand; it is taken as given."
    if (reading.drafting or "none") != "none" or reading.draft_model:
        method = shorten(reading.drafting or reading.draft_model or "", 40)
        yield (f"Speculative decoding ({method}): the weights of its drafter are in no row here.")
    if reading.offload_gib or (reading.overridden and not reading.host_expert_layers):
        yield "Part of the weights is in host memory; their size on the device is not predicted."


DOUBTS = {
    "tokens": "the log may leave out a drafter, or how its cache is stored",
    "needed for one request": "the log may leave out a drafter, or how its cache is stored",
    "weights": "the model, or the format of its weights, is probably another",
    "pool": "a limit was set, another process held memory, or the log is of another version",
    "cache and states": "the context, the format of the cache or the model is probably another",
}


def _doubts(found):
    for row in found:
        far = abs(row.percent) > 100 * FAR
        if row.quantity in DOUBTS and far:
            printed, said = (describe.significant(each) for each in (row.printed, row.predicted))
            unit = "" if row.unit == row.quantity else f" {row.unit}"
            yield (
                f"The printed {row.quantity} is {printed}{unit} where {said} were predicted: "
                f"{DOUBTS[row.quantity]}."
            )
