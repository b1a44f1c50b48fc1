"""Reads presets/measurements/: published timings as columns, and each as the plan that it is of.

A step is one decode step of a batch (phase "decode"), the mean time between tokens of a serving
benchmark ("serving") or a step of a fixed batch that no constant was fitted on ("batched").
Quality A is published as such, B derived from another published figure, C and "held out" are shown
but never fitted; `why` says why. A row is a scenario, so it is predicted by the very call that a
plan makes (`evaluated`).
"""

from dataclasses import fields, replace
from functools import cache

import numpy as np

from planner import files
from planner.hardware.accelerator import Accelerator
from planner.inputs import presets
from planner.inputs.scenario import NUMBERS, Scenario
from planner.latency import measured
from planner.models.model import Model
from planner.models.notation import model_to_text
from planner.serving import Evaluation, evaluate
from planner.units import GB

FOLDER = "measurements"  # below presets/
# What tells apart scenarios that one call cannot evaluate together.
ALIKE = [
    "engine",
    "model",
    "weights",
    "file_gb",
    "cache",
    "device",
    "tensor",
    "pipeline",
    "expert",
    "pass_tokens",
    "load",
    "phase",
    "depth_tokens",
]


def rows(name: str) -> list[dict[str, str]]:
    """One file of presets/measurements/, a dict of texts a row."""
    return files.rows(f"{FOLDER}/{name}")


def site(address: str) -> str:
    """Whose an address is: the repository or site; “” where it is none."""
    return "/".join(address.split("/")[2:5]) if address.startswith("http") else ""


@cache
def devices() -> dict[str, Accelerator]:
    """Every device that was measured, by its id: the presets, and those of devices.csv."""
    found, unknown = {}, {field.name: None for field in fields(Accelerator)}
    for row in rows("devices.csv"):
        numbers = {name: float(row[name]) if row[name] else None for name in row if "_" in name}
        found[row["id"]] = Accelerator(**unknown | row | numbers)
    return found | presets.accelerators()


def _column(cells):
    """Numbers where every filled cell is one, else text."""
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)


def _columns(read):
    columns = {name: _column([row[name] for row in read]) for name in read[0]}
    sources = {row["id"]: row for row in rows("sources.csv")}
    own = [sources[name] for name in columns["source"]]
    for name, of in (("source_name", "name"), ("address", "address"), ("publisher", "publisher")):
        columns[name] = np.array([row[of] for row in own])
    columns["device_name"] = np.array([devices()[name].name for name in columns["device"]])
    columns["devices"] = columns["tensor"] * columns["pipeline"]
    columns["experts"] = np.array([measured.models()[m].experts > 0 for m in columns["model"]])
    columns["fitted"] = np.isin(columns["quality"], ["A", "B"])
    return columns


@cache
def steps() -> dict[str, np.ndarray]:
    """Decode steps as columns, seconds in measured_s."""
    found = _columns(rows("steps.csv"))
    count = len(found["id"])
    return found | {"measured_s": found["step_ms"] * 1e-3, "depth_tokens": np.zeros(count)}


@cache
def prefills() -> dict[str, np.ndarray]:
    """Prefills as columns, seconds in measured_s; `prompts` of a batch read together."""
    found = _columns(rows("prefills.csv"))
    count = len(found["id"])
    return found | {
        "phase": np.full(count, "prefill"),
        "measured_s": found["ttft_ms"] * 1e-3,
        "requests": np.ones(count),
        "prompt_tokens": found["tokens"] + found["depth_tokens"],
        "context_tokens": found["tokens"] + found["depth_tokens"],
        "output_tokens": np.zeros(count),
        "cache": np.full(count, "fp16"),
        "expert": np.ones(count),
        "pass_tokens": np.full(count, np.nan),
        "load": np.full(count, "ran"),
    }


@cache
def out_of_fold() -> dict[str, dict[str, float]]:
    """Seconds predicted for each measurement without some of the others; see `times.measured`.

    By column of out_of_fold.csv and id. Written by planner/maintain.
    """
    table = rows("out_of_fold.csv")
    names = [name for name in table[0] if name != "id"]
    return {
        name: {row["id"]: float(row[name]) * 1e-3 for row in table if row[name]} for name in names
    }


# --- as plans -------------------------------------------------------------------------------------


def model_of(row) -> Model:
    """The model of a row, with the size of its published file where the row has it."""
    model = measured.models()[row["model"]]
    if not row["file_gb"] > 0:
        return model
    return replace(model, dtype=row["weights"], file_bytes=round(row["file_gb"] * GB))


def scenario_of(row) -> Scenario:
    """The scenario of a row, its lengths and requests apart.

    Where a row says what ran, and not what was asked, memory is no limit. A device or engine that
    cannot be chosen has the lesson's place; `evaluated` puts the real one in.
    """
    device, name = devices()[row["device"]], row["model"]
    known = device.id in presets.accelerators()
    most = NUMBERS["memory"].maximum
    pass_tokens = row["pass_tokens"]
    return Scenario(
        model=name if name in presets.models() else model_to_text(measured.models()[name]),
        weights=row["weights"],
        cache_k=row["cache"],
        cache_v=row["cache"],
        device=device.id if known else "lesson",
        bandwidth=device.bandwidth_gb_s,
        peak=device.fp16_tflops,
        memory=device.memory_gb if row["load"] == "asked" else most,
        tp=int(row["tensor"]),
        pp=int(row["pipeline"]),
        ep=int(row["expert"]),
        engine=row["engine"] if row["engine"] in presets.engines() else "ideal",
        set=f"batched_tokens:{pass_tokens:.0f}" if pass_tokens > 0 else "",
        prefix=int(row["depth_tokens"]),
    )


def evaluated(columns) -> list[tuple[np.ndarray, Evaluation]]:
    """Every row as its plan with its engine: pairs of the rows' places and the evaluation.

    Rows that differ in requests and lengths alone are one plan with arrays.
    """
    groups = {}
    for place, key in enumerate(zip(*(columns[name] for name in ALIKE), strict=True)):
        groups.setdefault(tuple(map(str, key)), []).append(place)
    found = []
    for places in groups.values():
        at = np.array(places)
        row = {name: columns[name][at[0]] for name in ALIKE}
        own = evaluate(
            scenario_of(row),
            model=model_of(row),
            device=devices()[row["device"]],
            concurrency=columns["requests"][at],
            context=columns["context_tokens"][at],
            prompt=columns["prompt_tokens"][at],
            output=columns["output_tokens"][at] if row["phase"] == "serving" else 0,
            timed_as=row["engine"],
        )
        found.append((at, own))
    return found
