"""Times predicted against measured: every timing the project carries, as one tidy frame.

Each measurement is predicted by the call that a plan makes (`measurements.evaluated`).
"""

from functools import cache

import numpy as np
import pandas as pd

from planner.engines.calibration import timings
from planner.evidence import measurements
from planner.inputs import presets
from planner.latency import measured as known
from planner.latency.estimate import Band, around, first_token_bound_s

# How a prediction stands to the fit: see `accuracy.MEANING`.
LEFT_OUT, IN_SAMPLE, NEVER = "left out of the fit", "in sample", "never fitted"
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
    "requests",
    "context_tokens",
    "prompt_tokens",
    "experts",
    "quality",
    "fitted",
    "source_name",
    "publisher",
    "address",
    "note",
]
GENERATIONS = {
    "serving": "serving engines, 2025 and 2026",
    "earlier": "serving engines, other runs",
    "local": "local engines",
    "older": "engines of 2023 and 2024",
}


@cache
def measured() -> pd.DataFrame:
    """One row per timing, seconds.

    measured_s; ideal_s: the lesson's formula for the requests that run; predicted_s: the plan's
    own, with what measurements say of it. out_of_fold_s: predicted without the row's model where
    requests were kept at a number, else without its source, for rows that constants were fitted on;
    of the others it is predicted_s. low_s, high_s: the band stated for that case. setup_out_s,
    sweep_out_s: without its set-up, without its sweep. `fitted` says which constants were fitted
    on. generation: a value of GENERATIONS. optimised: the engines that the published ideal figure
    counts as such.
    """
    steps, prefills = measurements.steps(), measurements.prefills()
    frame = pd.concat(
        [_steps(steps), _prefills(prefills), *_first_tokens(steps)], ignore_index=True
    )
    group = {name: row.group for name, row in timings().items()}
    frame["group"] = frame["engine"].map(group).fillna("serving")
    frame["generation"] = np.where(
        (frame["group"] == "serving") & (frame["load"] == "ran"), "earlier", frame["group"]
    )
    frame["generation"] = frame["generation"].map(GENERATIONS)
    frame["optimised"] = (frame["group"] != "older") & ~frame["engine"].isin(PLAIN)
    return frame


def _part(columns, phase=None, ending=""):
    part = pd.DataFrame({name: columns[name] for name in SHOWN}).assign(load=columns["load"])
    if phase:
        part = part.assign(phase=phase, id=[f"{id}-{ending}" for id in part["id"]])
    formats = {id: each.name for id, each in presets.weight_formats().items()}
    models = {id: model.name for id, model in known.models().items()}
    return part.assign(
        weights=part["weights"].map(formats),
        model=part["model"].map(models),
        measured_s=columns["measured_s"],
    )


def _filled(columns, bands):
    """Columns of one value a row from pairs of places and values by name."""
    found = {}
    for at, values in bands:
        for name, value in values.items():
            column = found.setdefault(name, np.full(len(columns["id"]), np.nan))
            column[at] = value
    return found


@cache
def _evaluated():
    return measurements.evaluated(measurements.steps())


def _steps(columns):
    def values(at, evaluation):
        estimate, step = evaluation.estimate, evaluation.tpot_s
        case = "model" if columns["load"][at[0]] == "asked" else "stranger"
        low, high = estimate.step_band(bool(evaluation.mixed), case)
        return {
            "predicted_s": step.value,
            "low_s": step.low,
            "high_s": step.high,
            "left_low": low,
            "left_high": high,
            "ideal_s": estimate.work.ideal_step_s(estimate.requests),
            "least_s": estimate.least_step_s,
        }

    found = _filled(columns, [(at, values(at, evaluation)) for at, evaluation in _evaluated()])
    part = _part(columns).assign(**found)
    without = measurements.out_of_fold()
    for name in ("setup", "sweep"):
        part[f"{name}_out_s"] = part["id"].map(without[f"{name}_ms"])
    left_out = part["id"].map(without["model_ms"]).fillna(part["id"].map(without["source_ms"]))
    left_out = left_out.where(part["fitted"])
    return _left_out(part, left_out)


def _left_out(part, left_out):
    """Adds what is predicted without others, and its band; the plan's own where nothing is."""
    band = around(left_out, part["left_low"], part["left_high"], part["least_s"])
    return part.assign(
        out_of_fold_s=left_out.fillna(part["predicted_s"]),
        low_s=band.low.where(left_out.notna(), part["low_s"]),
        high_s=band.high.where(left_out.notna(), part["high_s"]),
    ).drop(columns=["left_low", "left_high", "least_s"])


def _prefills(columns):
    def values(at, evaluation):
        estimate, prompts = evaluation.estimate, columns["prompts"][at]
        together = estimate.work.together(prompts)
        ideal = first_token_bound_s(estimate.timing, together)
        first = estimate.timing.prompt(together, evaluation.engine.batched_tokens)
        band = estimate.alone(first, ideal)
        return {
            "predicted_s": band.value,
            "low_s": band.low,
            "high_s": band.high,
            "ideal_s": ideal,
            "least_s": ideal,
            "left_low": estimate.timing.prefill_low,
            "left_high": estimate.timing.prefill_high,
        }

    evaluated = measurements.evaluated(columns)
    found = _filled(columns, [(at, values(at, evaluation)) for at, evaluation in evaluated])
    part = _part(columns).assign(**found)
    without = part["id"].map(measurements.out_of_fold()["source_ms"]).where(part["fitted"])
    return _left_out(part, without)


def _first_tokens(columns):
    """The steps that state a first token: of one prompt alone, and under load below saturation."""
    stated = np.isfinite(columns["ttft_ms"])
    own = columns | {"measured_s": columns["ttft_ms"] * 1e-3}
    without = measurements.out_of_fold()["first_ms"]
    for phase, which in (("ttft", lambda s: s.ttft_s), ("first", lambda s: s.ttft_loaded_s)):
        here = stated & (columns["load"] == ("ran" if phase == "ttft" else "asked"))
        if phase == "first":
            here &= columns["fitted"]  # those that are shown alone are not clean runs

        def values(evaluation, which=which):
            band: Band = which(evaluation)
            return {
                "predicted_s": np.where(np.isfinite(band.value), band.value, np.nan),
                "low_s": band.low,
                "high_s": band.high,
                "ideal_s": evaluation.ttft_bound_s,
            }

        groups = [(at, s) for at, s in _evaluated() if here[at].any() and which(s)]
        found = _filled(columns, [(at, values(evaluation)) for at, evaluation in groups])
        part = _part(own, phase, phase).assign(**found)[here]
        part = part[part["predicted_s"].notna()]
        id = part["id"].str.removesuffix(f"-{phase}")
        left_out = id.map(without) if phase == "first" else id.map({})
        scale = left_out.fillna(part["predicted_s"]) / part["predicted_s"]
        yield part.assign(
            fitted=left_out.notna(),
            out_of_fold_s=part["predicted_s"] * scale,
            low_s=part["low_s"] * scale,
            high_s=part["high_s"] * scale,
        )
