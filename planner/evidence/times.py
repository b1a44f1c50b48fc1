"""Times predicted against measured: every timing the project carries, as one tidy frame."""

from functools import cache

import numpy as np
import pandas as pd

from planner import formulas
from planner.engines.timing import timings
from planner.evidence import measurements

# How a prediction stands to the fit: see `evidence.MEANING`.
LEFT_OUT, IN_SAMPLE, NEVER = "source left out", "in sample", "never fitted"
PLAIN = ("transformers",)  # not optimised, though not old either
SHOWN = [
    "id",
    "phase",
    "engine",
    "version",
    "model",
    "weights",
    "device",
    "device_name",
    "devices",
    "split",
    "requests",
    "context_tokens",
    "quality",
    "fitted",
    "source_name",
    "publisher",
    "address",
    "note",
]


@cache
def measured() -> pd.DataFrame:
    """One row per timing, seconds.

    measured_s; ideal_s: the lesson's formula; predicted_s: the engine's row of the calibration,
    with its band low_s to high_s; out_of_fold_s: predicted without the row's source, for those that
    constants were fitted on. `fitted` says which these are; the others were never fitted on, and
    out_of_fold_s of theirs is predicted_s. optimised: the engines that the published ideal figure
    counts as such.
    """
    steps, prefills, first = measurements.steps(), measurements.prefills(), _first_tokens()
    parts = [
        _part(steps, _step_seconds(steps)),
        _part(prefills, _prefill_seconds(prefills)),
        _part(first, _prefill_seconds(first)),
    ]
    frame = pd.concat(parts, ignore_index=True)
    without = frame["id"].map(measurements.out_of_fold())
    frame["out_of_fold_s"] = without.where(frame["fitted"], frame["predicted_s"])
    frame["group"] = frame["engine"].map({name: row.group for name, row in timings().items()})
    frame["optimised"] = (frame["group"] != "older") & ~frame["engine"].isin(PLAIN)
    return frame


def _part(rows, predicted):
    names = measurements.band_names(rows)
    low, high = (
        np.array(
            [
                getattr(timings()[engine], f"{name}_{end}")
                for engine, name in zip(rows["engine"], names, strict=True)
            ]
        )
        for end in ("low", "high")
    )
    part = pd.DataFrame({name: rows[name] for name in SHOWN})
    part["measured_s"] = rows["measured_s"]
    part["ideal_s"] = measurements.ideal_seconds(rows)
    part["predicted_s"] = predicted
    part["low_s"], part["high_s"] = predicted * low, predicted * high
    return part


def _each_engine(rows, seconds):
    """Seconds of every row by its engine's timing: `seconds` is called once per engine."""
    predicted = np.empty(len(rows["id"]))
    for engine in np.unique(rows["engine"]):
        here = rows["engine"] == engine
        part = {name: column[here] for name, column in rows.items()}
        predicted[here] = seconds(timings()[engine], part)
    return predicted


def _step(timing, rows, cache_bytes, flops):
    return timing.step(
        weights_bytes=rows["weights_bytes"],
        cache_bytes=cache_bytes,
        flops=flops,
        layers=rows["layers"],
        bandwidth=rows["bandwidth"],
        peak_flops=rows["peak_flops"],
        vector_flops=rows["vector_flops"],
        devices=rows["workers"],
        experts=rows["experts"],
        tensor_parallel=rows["tensor_parallel"],
    )


def _step_seconds(rows):
    def seconds(timing, part):
        step = _step(timing, part, part["cache_bytes"], part["flops"])
        mixed = timing.mix(
            step,
            requests=part["requests"],
            output_tokens=part["output_tokens"],
            prompt_flops=part["prompt_flops"],
            layers=part["layers"],
            peak_flops=part["peak_flops"],
            devices=part["workers"],
        )
        return np.where(part["phase"] == "serving", mixed.total_s, step.total_s)

    return _each_engine(rows, seconds)


def _prefill_seconds(rows):
    def seconds(timing, part):
        return timing.prefill(
            part["flops"],
            floor=_step(timing, part, 0.0, 0.0),
            peak_flops=part["prefill_peak_flops"],
            devices=part["prefill_workers"],
            link_bytes=part["link_bytes"],
            link=part["link"],
        ).total_s

    return _each_engine(rows, seconds)


def _first_tokens():
    """The serving rows of one request at a time, as the prefills their first tokens are."""
    steps = measurements.steps()
    alone = ~np.isnan(steps["ttft_ms"])
    rows = {name: column[alone] for name, column in steps.items()}
    sent = formulas.all_reduce_bytes(
        rows["layers"], rows["width"], rows["prompt_tokens"], rows["workers"]
    )
    eight_bit = np.where(rows["weights"] == "fp8", 2, 1)
    return rows | {
        "id": np.char.add(rows["id"], "-ttft"),
        "phase": np.full(len(rows["id"]), "ttft"),
        "quality": np.full(len(rows["id"]), "held out"),
        "fitted": np.zeros(len(rows["id"]), bool),
        "cache_bytes": np.zeros(len(rows["id"])),
        "flops": rows["prompt_flops"],
        "prefill_peak_flops": rows["peak_flops"] * eight_bit,
        "prefill_workers": rows["workers"],
        "link_bytes": np.where(rows["tensor_parallel"], sent, 0.0),
        "measured_s": rows["ttft_ms"] * 1e-3,
    }
