"""A start-up log -> the scenario it speaks of, and predicted against printed, row by row.

The log is a text from outside: nothing here raises on it, and what it does not say is named.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from planner import describe
from planner.files import PRESETS, rows
from planner.hardware import parallel
from planner.inputs import overrides, presets
from planner.inputs.scenario import NUMBERS, Scenario, decode
from planner.logs import identify
from planner.logs.parse import NAMES, LogReading, read_log
from planner.logs.reconcile import Row, reconcile
from planner.models.notation import shorten
from planner.plan import weights_of
from planner.serving import cache_layers
from planner.units import GB, GIB

CACHES = {  # what engines call a cache's format, where the presets call it otherwise
    **dict.fromkeys(("auto", "bfloat16", "float16", "half", "f16", "bf16", "fp16"), "fp16"),
    **dict.fromkeys(("fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2"), "fp8"),
}
FAR = 0.1  # from which difference on a row's model or format is doubted
CLOSE = 1  # percent


class FromLog(NamedTuple):
    """What a log comes to. scenario: None where no engine was recognised. notes: plain sentences on
    what was taken, what is missing and what is odd. rows: predicted against printed.
    """

    scenario: Scenario | None
    notes: tuple[str, ...]
    rows: tuple[Row, ...]


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


def plan_of(text: str, *, model: str = "", device: str = "", weights: str = "") -> FromLog:
    """The scenario that a start-up log speaks of, notes on it, and predicted against printed.

    model, device and weights, ids of presets, count before what the log says. Never raises on any
    text; ValueError where an id is not known.
    """
    return plan_of_reading(read_log(text), text, model=model, device=device, weights=weights)


def plan_of_reading(
    reading: LogReading, text: str = "", *, model: str = "", device: str = "", weights: str = ""
) -> FromLog:
    """`plan_of` for a log that has been read; `text` is looked through for the device's name."""
    if not reading.engine:
        return FromLog(None, reading.missing(), ())
    notes = []
    link = {
        "model": model or identify.model(reading, notes),
        "device": device or identify.device(reading, text, notes),
    }
    if model and reading.model and identify.model(reading, []) != model:
        chosen = presets.model(model).name
        notes.append(f"The log names “{shorten(reading.model, 80)}”; {chosen} was chosen.")
    if link["model"]:
        link["weights"] = weights or identify.stored(reading, presets.model(link["model"]).dtype)
    link |= _cache(reading, notes) | _load(reading) | _layout(reading)
    link |= {"engine": reading.engine_id, "set": _set(reading)}
    if reading.total_gib is not None and reading.engine != "llama.cpp":
        link["memory"] = f"{reading.total_gib * GIB / GB:.3f}"
    given = {name: [str(value)] for name, value in link.items() if value}
    scenario, wrong = decode(given)
    notes += [f"{each.parameter}: {each.text}" for each in wrong]
    engine = presets.engines()[reading.engine_id]
    total = scenario.memory * GB if link["device"] else None
    reading = _with_step(reading, notes)
    if link["model"]:
        rows = reconcile(reading, engine, total_bytes=total, **model_of(scenario, reading))
    else:
        notes.append("Choose the model to see what depends on it.")
        rows = _without_model(reading, engine)
    notes += _doubts(rows)
    return FromLog(scenario, (*notes, *reading.missing()), rows)


def said(reading: LogReading) -> list[dict[str, str]]:
    """What a log says: figure, value, number of its line, and the line it was read from."""
    units = {"_gib": " GiB", "_tokens": " tokens", "_len": " tokens"}
    found = []
    for name, line in reading.lines.items():
        value = getattr(reading, name)
        unit = next((word for end, word in units.items() if name.endswith(end)), "")
        shown = f"{value:,.6g}" if isinstance(value, float) else value
        shown = f"{value:,}" if isinstance(value, int) else shown
        label = name.removesuffix("_gib").replace("_", " ")
        found.append(
            {
                "figure": label,
                "value": f"{shown}{unit}",
                "line": f"{line.number}",
                "text": line.text,
            }
        )
    return found


def _cache(reading, notes):
    if reading.cache_dtype is None:
        return {}
    said = reading.cache_dtype.lower().removeprefix("torch.")
    found = CACHES.get(said, said)
    if found not in presets.cache_formats():
        said = shorten(reading.cache_dtype)
        notes.append(f"The cache type “{said}” is not known; 16 bits is used.")
        return {}
    return {"cache_k": found, "cache_v": found}


def _load(reading):
    """Context and concurrency: the longest request, and how many of them fit."""
    sequences = reading.sequences or 1 if reading.engine == "llama.cpp" else 1
    context = (reading.max_model_len or 0) // sequences
    fits = sequences if reading.concurrency is None else int(reading.concurrency)
    limits = NUMBERS["context"], NUMBERS["concurrency"]
    context = limits[0].nearest(context) if context else 0
    return {"context": context, "concurrency": limits[1].nearest(fits)}


def _set(reading):
    """The engine's figures that the log states itself."""
    stated = {"fraction": reading.fraction, "block_tokens": reading.block_tokens}
    return overrides.write(
        {
            name: value
            for name, value in stated.items()
            if value and overrides.KNOWN[name].nearest(value) == value
        }
    )


def _layout(reading):
    return {"tp": reading.tensor_parallel, "pp": reading.pipeline_parallel}


# --- the model's own bytes ------------------------------------------------------------------------


def model_of(scenario: Scenario, reading: LogReading) -> dict:
    """What `reconcile` needs of the model: bytes, layers and sizes of one device's share."""
    model = scenario.the_model
    key_bytes, value_bytes = scenario.cache_widths
    weights = weights_of(model, scenario.weights)
    stage = parallel.stages(
        scenario.layout, model.groups, weights, key_bytes=key_bytes, value_bytes=value_bytes
    )[0]
    held = stage.weights_bytes
    if reading.engine == "llama.cpp":
        held -= weights.embedding  # which stays with the processor
    layers = cache_layers(scenario, stage)
    return {
        "bytes_per_token": sum(each.layers * each.token_bytes for each in layers) or 1.0,
        "layers": layers,
        "weights_bytes": held,
        "width": model.width,
        "vocabulary": model.vocabulary,
        "query_heads": max(group.query_heads for group in model.groups) // scenario.tp,
    }


def _without_model(reading, engine):
    """The rows that come out the same whatever the model is."""
    small, large = (
        reconcile(reading, engine, bytes_per_token=size, width=width, vocabulary=width)
        for size, width in ((50_000.0, 1_000), (170_000.0, 9_000))
    )
    return tuple(a for a, b in zip(small, large, strict=True) if a.predicted == b.predicted)


def _with_step(reading, notes):
    """vLLM's first engine profiled one whole request where it did not print the size of a step.

    Beyond 32k tokens it cut prompts into pieces by default.
    """
    length = reading.max_model_len or 0
    if reading.batched_tokens or reading.engine != "vllm" or reading.blocks is None:
        return reading
    if not 2048 < length <= 32_768:
        return reading
    notes.append(f"Tokens of the largest step: taken as {length:,}, the longest request.")
    return replace(reading, batched_tokens=length)


DOUBTS = {
    "weights": "the model, or the format of its weights, is probably another",
    "pool": "a limit was set, another process held memory, or the log is of another version",
}


def _doubts(rows):
    for row in rows:
        if row.quantity in DOUBTS and abs(row.percent) > 100 * FAR:
            yield (
                f"The printed {row.quantity} is {describe.significant(row.printed)} GiB where "
                f"{describe.significant(row.predicted)} were predicted: {DOUBTS[row.quantity]}."
            )


def table(rows) -> list[dict[str, str]]:
    """Predicted against printed as a person reads it: a dict of texts for each row."""
    found = []
    for row in rows:
        line = row.line
        found.append(
            {
                "quantity": row.quantity,
                "unit": row.unit,
                "predicted": f"{row.predicted:,.4f}".rstrip("0").rstrip("."),
                "printed": f"{row.printed:,.4f}".rstrip("0").rstrip("."),
                "off (%)": f"{_zero(row.percent, 2):+.2f}",
                "off (GiB)": f"{_zero(row.difference_gib, 3):+.3f}",
                "predicted from": row.how,
                "line": f"{line.number}" if line else "",
            }
        )
    return found


def _zero(value, digits):
    """The value, or a plain 0 where it would be printed as −0."""
    return value if abs(value) >= 0.5 * 10**-digits else 0.0


# --- in words -------------------------------------------------------------------------------------


def knows_model(reading: LogReading, chosen: str = "") -> bool:
    """Whether the model is known: chosen, or named in the log and in the list."""
    return bool(chosen or identify.model(reading, []))


def answer(text: str, reading: LogReading, rows) -> str:
    """The page's first sentence."""
    if not text.strip():
        return "Paste a start-up log: what it says, against what is predicted."
    if not reading.engine:
        return "This is no start-up log that can be read."
    name = NAMES[reading.engine]
    if not rows:
        return f"{name}: the log says too little to compare."
    worst = max(rows, key=lambda row: abs(row.percent))
    close = sum(abs(row.percent) <= CLOSE for row in rows)
    told = f"{close} of {len(rows)} figures of {name} are predicted within {CLOSE} %"
    if close == len(rows):
        return f"{told}."
    return f"{told}; farthest: {worst.quantity}, {worst.percent:+,.3g} %."


def summary(reading: LogReading, scenario: Scenario) -> str:
    """What the log sets, in one line."""
    engine = presets.engines()[reading.engine_id]
    load = f"{describe.requests(scenario.concurrency)} × {describe.whole(scenario.context)} tokens"
    parts = (engine.name, scenario.the_model.name, describe.precision(scenario), load)
    device = f"{scenario.layout.devices} × {scenario.the_device.name}"
    return " · ".join((*parts, device, describe.layout(scenario.layout)))
