"""What the Accuracy page shows: every measurement, the part of them asked for, and its errors."""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cache

import numpy as np
import pandas as pd

from planner import describe
from planner.evidence import memory as memory_accuracy
from planner.evidence import times as accuracy
from planner.evidence.times import IN_SAMPLE, LEFT_OUT, NEVER
from planner.inputs import presets
from planner.inputs.link import Choice, Notice, collect, write
from planner.units import GIB

ALL = "all"
ROWS = {"left-out": LEFT_OUT, "in-sample": IN_SAMPLE, "never": NEVER}
MEANING = {
    LEFT_OUT: "constants were fitted on these; each is predicted without its source, or where one "
    "source has thousands, without its model",
    IN_SAMPLE: "constants were made from these very logs, so the error is flattering",
    NEVER: "no constant has seen these",
}
BATCHES = ([0, 1, 8, 32, 128, np.inf], ["1", "2–8", "9–32", "33–128", "over 128"])
CONTEXTS = ([0, 512, 2048, 8192, np.inf], ["up to 512", "513–2,048", "2,049–8,192", "over 8,192"])
GROUPINGS = {
    "engine": ("Engine", "engine_name"),
    "generation": ("Generation", "generation"),
    "model": ("Model", "model"),
    "device": ("Device", "device_name"),
    "batch": ("Requests at once", "batch"),
    "context": ("Context", "context"),
}


@dataclass(frozen=True)
class Quantity:
    """One kind of measurement: its name, its unit on an axis, and whether a model was fitted."""

    name: str
    unit: str
    size: float  # of the unit, in seconds or bytes
    what: str


QUANTITIES = {
    "decode": Quantity("Decode step", "ms", 1e-3, "time between tokens, fixed batches"),
    "serving": Quantity("Step under load", "ms", 1e-3, "time between tokens while prompts arrive"),
    "first": Quantity("TTFT under load", "ms", 1e-3, "time to first token in a closed loop"),
    "prefill": Quantity("Prefill", "ms", 1e-3, "time to the first token, no queue"),
    "batched": Quantity("Fixed batches, held out", "ms", 1e-3, "time between tokens"),
    "ttft": Quantity(
        "Time to first token, held out", "ms", 1e-3, "time to the first token of a server"
    ),
    "pool": Quantity("Cache pool", "GiB", GIB, "what the engine leaves for the cache"),
    "capacity": Quantity("What a pool holds", "GiB", GIB, "bytes of the tokens that fit"),
    "token": Quantity("Cache of a token", "kB", 1e3, "bytes that one token adds"),
    "activation": Quantity("Peak activation memory", "GiB", GIB, "activations of the largest step"),
}
LABELS = " ".join(f"*{name.capitalize()}*: {text}." for name, text in MEANING.items())
MEMORY = ("pool", "capacity", "token", "activation")
OTHER_NAMES = {
    "vllm-any": "vLLM",
    "llama.cpp-any": "llama.cpp and kin",
    "other-serving": "Other serving engines",
    "other-local": "Other local engines",
    "other": "Other older engines",
    "vllm-0.5": "vLLM 0.4–0.5",
    "deepspeed-mii": "DeepSpeed-MII",
    "deepspeed-habana": "DeepSpeed, Gaudi",
    "fastertransformer": "FasterTransformer",
    "gpt-fast": "gpt-fast",
    "tinychat": "TinyChat",
}


@cache
def measurements() -> pd.DataFrame:
    """Every measurement of time and memory, one a row; seconds or bytes by its phase.

    basis: one of MEANING. measured, predicted (without the row's source where it was fitted on),
    ideal (the lesson's formula; NaN where it has none), low and high: the stated band around what
    is predicted. error, ideal_error: predicted / measured − 1; setup_error, sweep_error: without
    the row's set-up or its sweep alone, NaN where that was not tried. generation: of the engine, a
    value of `times.GENERATIONS`. sentence: the row in words.
    """
    time = accuracy.measured()
    time = time.assign(
        basis=np.where(time["fitted"], LEFT_OUT, NEVER),
        measured=time["measured_s"],
        predicted=time["out_of_fold_s"],
        ideal=time["ideal_s"],
        low=time["low_s"],
        high=time["high_s"],
        setup_error=time["setup_out_s"] / time["measured_s"] - 1,
        sweep_error=time["sweep_out_s"] / time["measured_s"] - 1,
        said="",
    )
    frame = pd.concat([time, memory_accuracy.measured()], ignore_index=True)
    for name, of in (("error", "predicted"), ("ideal_error", "ideal")):
        frame[name] = frame[of] / frame["measured"] - 1
    inside = frame["measured"].between(frame["low"], frame["high"])
    frame["in_band"] = inside.astype(float).where(frame["low"].notna())
    frame["optimised"] = frame["optimised"].eq(True)
    for name, of, (edges, labels) in (
        ("batch", "requests", BATCHES),
        ("context", "context_tokens", CONTEXTS),
    ):
        frame[name] = pd.cut(frame[of], edges, labels=labels)
    known = {id: engine.name for id, engine in presets.engines().items()} | OTHER_NAMES
    frame["engine_name"] = frame["engine"].map(known)
    frame["sentence"] = [_sentence(row) for row in frame.itertuples()]
    kept = [name for name in frame if not name.endswith("_s")]
    return frame[kept]


def _shown(phase, value):
    if phase == "token":
        return f"{value:,.0f} bytes"
    return describe.gib(value) if phase in MEMORY else describe.duration(value)


def _sentence(row):
    device = f"{row.devices:.0f} × {row.device_name}" if row.devices > 1 else row.device_name
    load = f"{describe.requests(row.requests)}" if row.requests > 0 else ""
    context = f"{row.context_tokens:,.0f} tokens" if row.context_tokens > 0 else ""
    head = ", ".join(filter(None, (row.engine_name, row.model, device.strip(), load, context)))
    ideal = f", ideal {_shown(row.phase, row.ideal)}" if row.ideal > 0 else ""
    said = row.said or (
        f"measured {_shown(row.phase, row.measured)}, "
        f"predicted {_shown(row.phase, row.predicted)} ({percent(row.error, sign=True)}){ideal}"
    )
    return f"{head}: {said}. {row.basis.capitalize()}. {row.source_name}"


def percent(share: float, sign: bool = False) -> str:
    """A share in words: 8.4 %, +12 %, 0.08 %; – where there is none."""
    if math.isnan(share):
        return "–"
    mark = ("+" if share > 0 else "−" if share < 0 else "") if sign else ""
    size = abs(100 * share) if sign else 100 * share
    if abs(size) < 0.005:
        return f"{mark if size else ''}0 %"
    return f"{mark}{describe.significant(size, 2 if abs(size) < 1000 else 3)}\N{NO-BREAK SPACE}%"


# --- what is asked for ----------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """One state of the page. engine, device: ids or ALL; rows: a key of ROWS or ALL."""

    quantity: str = "decode"
    engine: str = ALL
    device: str = ALL
    rows: str = ALL
    by: str = "engine"


@cache
def choices(quantity: str) -> dict[str, dict[str, str]]:
    """For each input of a View that a quantity limits: its values and their names."""
    frame = measurements().query("phase == @quantity")
    engines = frame.groupby("engine")["engine_name"].first().sort_values(key=_lower)
    devices = frame[frame["device"] != ""].groupby("device")["device_name"].first()
    bases = {key: name for key, name in ROWS.items() if frame["basis"].eq(name).any()}
    groupings = {
        key: label
        for key, (label, column) in GROUPINGS.items()
        if key == "engine" or frame[column].replace("", np.nan).nunique() > 1
    }
    return {
        "quantity": {key: each.name for key, each in QUANTITIES.items()},
        "engine": {ALL: "All engines", **engines},
        "device": {ALL: "All devices", **devices.sort_values(key=_lower)},
        "rows": {ALL: "All measurements", **bases},
        "by": groupings,
    }


def _lower(names):
    return names.str.lower()


def encode(view: View) -> str:
    """The query string that holds the whole view."""
    return write(asdict(view))


def decode(query) -> tuple[View, tuple[Notice, ...]]:
    """The view that a link holds, and what in it could not be taken. Never raises."""
    names = [field.name for field in fields(View)]
    given, notices = collect(query, set(names))
    view = View()
    for name in names:  # what may be asked for depends on the quantity, which comes first
        kind = Choice(name, choices(view.quantity)[name])
        value, wrong = kind.read(name, given.get(name), getattr(view, name))
        notices += wrong
        view = replace(view, **{name: value})
    return view, tuple(notices)


def selected(view: View) -> pd.DataFrame:
    """The measurements that a view asks for; there may be none."""
    frame = measurements()
    keep = frame["phase"] == view.quantity
    for name in ("engine", "device"):
        if getattr(view, name) != ALL:
            keep &= frame[name] == getattr(view, name)
    if view.rows != ALL:
        keep &= frame["basis"] == ROWS[view.rows]
    return frame[keep]


# --- errors ---------------------------------------------------------------------------------------


def errors(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Of |error|: median and 90th percentile, those of the ideal formula, share inside the band."""

    def p90(values):
        return values.quantile(0.9)

    sizes = frame.assign(off=frame["error"].abs(), ideal_off=frame["ideal_error"].abs())
    return (
        sizes.groupby(by, observed=True, sort=False)
        .agg(
            count=("off", "size"),
            sources=("source_name", "nunique"),
            median=("off", "median"),
            p90=("off", p90),
            ideal_median=("ideal_off", "median"),
            ideal_p90=("ideal_off", p90),
            in_band=("in_band", "mean"),
        )
        .reset_index()
    )


def overall(frame: pd.DataFrame) -> pd.Series:
    """The errors of all of a frame."""
    return errors(frame.assign(all=""), ["all"]).iloc[0]


SHOWN = {
    "count": "measurements",
    "sources": "sources",
    "median": "median error (%)",
    "p90": "90 % are within (%)",
    "ideal_median": "ideal: median (%)",
    "ideal_p90": "ideal: 90 % within (%)",
    "in_band": "inside the band (%)",
}


def readable(table: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """A table of errors in columns that say their unit; `names` are those of its first columns."""
    shares = ["median", "p90", "ideal_median", "ideal_p90", "in_band"]
    # Two digits where they are few: errors of counting are hundredths of a percent.
    rounded = {
        name: [float(f"{100 * each:.3g}") if each == each else None for each in table[name]]
        for name in shares
    }
    names = names | SHOWN
    return table.assign(**rounded)[list(names)].rename(columns=names)


NAMED = 10  # measurements that a group needs to be named


def generations(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors of one quantity's fitted rows by generation of engine, the worst first."""
    fitted = rows[(rows["basis"] == LEFT_OUT) & rows["generation"].notna()]
    table = errors(fitted, ["generation"]).sort_values("median", ascending=False)
    return readable(table, {"generation": "engines"})


def weakest(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors of one quantity's rows by engine and model, the worst first, as a frame of errors.

    Groups of at least NAMED measurements.
    """
    fitted = rows[(rows["basis"] == LEFT_OUT) & (rows["model"].fillna("") != "")]
    table = errors(fitted, ["engine_name", "model"])
    return table[table["count"] >= NAMED].sort_values("median", ascending=False)


@cache
def overview() -> pd.DataFrame:
    """One row for each quantity and basis: the headline errors, in the order of QUANTITIES."""
    frame = measurements()
    table = errors(frame, ["phase", "basis"])
    order = {phase: place for place, phase in enumerate(QUANTITIES)}
    table = table.sort_values("phase", key=lambda phases: phases.map(order), kind="stable")
    table["quantity"] = table["phase"].map({key: each.name for key, each in QUANTITIES.items()})
    return readable(table, {"quantity": "quantity", "basis": "how"})


COLUMNS = {
    "engine_name": "engine",
    "version": "version",
    "model": "model",
    "weights": "weights",
    "device_name": "device",
    "devices": "devices",
    "requests": "requests",
    "context_tokens": "context (tokens)",
}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Measurements of one quantity as a person reads them, in columns that say their unit."""
    quantity = QUANTITIES[rows["phase"].iloc[0]]
    shown = rows[[name for name in COLUMNS if rows[name].replace("", np.nan).notna().any()]]
    shown = shown.rename(columns=COLUMNS)
    for name in ("measured", "predicted", "ideal", "low", "high"):
        if rows[name].notna().any():
            shown[f"{name} ({quantity.unit})"] = rows[name] / quantity.size
    shown["error (%)"] = 100 * rows["error"]
    rest = rows[["basis", "note", "address"]]
    return shown.join(rest.rename(columns={"basis": "how", "address": "source"}))
