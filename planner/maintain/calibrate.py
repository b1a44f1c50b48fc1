"""Makes presets/calibration.csv, the constants and error bands of every engine.

    python -m planner.maintain.calibrate

fits (see fit.py), predicts every measurement with its source left out, writes the rows and
presets/measurements/out_of_fold.csv, and prints how far off the left-out measurements were.
"""

import csv
from dataclasses import fields, replace

import numpy as np

from planner.engines.timing import IDEAL, Timing
from planner.evidence import measurements
from planner.files import PRESETS
from planner.maintain import fit

BAND = 0.8  # share of the measurements that a band holds
ENOUGH = 20  # rows that an engine needs for a band of its own


def band(engine, rows, predicted, name) -> tuple[float, float, str]:
    """(1 / q, q, whose): q is what measured / predicted or its inverse exceeds in 1 of 5 rows.

    Symmetric, since the constants shipped are fitted on the very rows that were left out here: they
    lie in the middle, at a distance that the next source may repeat on either side. The engine's
    own rows where it has ENOUGH, else its group's, else those of all engines.
    """
    use = rows["fitted"] & (measurements.band_names(rows) == name)
    for whose, names in (
        (engine, (engine,)),
        (fit.GROUP[engine], fit.GROUPS[fit.GROUP[engine]]),
        ("all", ()),
    ):
        here = use & (np.isin(rows["engine"], names) if names else True)
        if np.count_nonzero(here) >= ENOUGH:
            far = np.abs(np.log(rows["measured_s"][here] / predicted[here]))
            q = np.exp(np.quantile(far, BAND))
            return 1 / q, q, whose
    raise ValueError(f"no {name} rows to make a band of")


def calibrate(steps, prefills, step_s, prefill_s) -> list[Timing]:
    """The rows of presets/calibration.csv; step_s and prefill_s are the out-of-fold predictions."""
    of_steps, of_prefills = fit.fit(steps, prefills)
    shared_pass = of_steps["vllm"]["pass_layer"]
    found = [IDEAL]
    for engine, group in fit.GROUP.items():
        step, prefill = of_steps[engine], of_prefills[engine]
        us = {term: step.get(term, 0.0) * 1e6 for term in step if term.endswith("layer")}
        decode = band(engine, steps, step_s, "decode")
        mix = band(engine, steps, step_s, "mix")
        mix_experts = band(engine, steps, step_s, "mix_experts")
        alone = band(engine, prefills, prefill_s, "prefill")
        own = _fitted(steps, (engine,)), _fitted(prefills, (engine,))
        found.append(
            Timing(
                engine=engine,
                group=group,
                bandwidth_efficiency=1 / step["read"],
                vector_flops_per_byte=step.get("vector", 0.0),
                compute_efficiency=1 / step["compute"],
                layer_us=us.get("layer", 0.0),
                device_layer_us=us.get("device_layer", 0.0),
                expert_layer_us=us["expert_layer"],
                tensor_layer_us=us["tensor_layer"],
                pass_layer_ms=step.get("pass_layer", shared_pass) * 1e3,
                prefill_efficiency=1 / prefill["prefill"],
                prefill_floor_steps=prefill["floor"],
                link_efficiency=1 / prefill["link"],
                decode_low=decode[0],
                decode_high=decode[1],
                decode_band_from=decode[2],
                mix_low=mix[0],
                mix_high=mix[1],
                mix_band_from=mix[2],
                mix_experts_low=mix_experts[0],
                mix_experts_high=mix_experts[1],
                mix_experts_band_from=mix_experts[2],
                prefill_low=alone[0],
                prefill_high=alone[1],
                prefill_band_from=alone[2],
                step_rows=own[0][0],
                step_sources=own[0][1],
                prefill_rows=own[1][0],
                prefill_sources=own[1][1],
                fitted_on=_fitted_on(engine, group, steps),
            )
        )
    return [_rounded(row) for row in found]


def _fitted_on(engine, group, steps):
    """Whose steps stand behind an engine's constants, in words."""
    if group == "local" and engine not in (fit.GROUPS[group][0], *fit.TOO_FEW):
        return "own steps, held near those of all local engines"
    if group == "older" and engine != fit.GROUPS[group][0]:
        return "own steps, held near those of all serving engines"
    shared = "local" if group == "local" else "serving"
    rows, sources = _fitted(steps, fit.GROUPS[shared])
    return f"all {shared} engines: {rows} steps of {sources} sources"


def _fitted(rows, engines):
    here = rows["fitted"] & np.isin(rows["engine"], engines)
    return int(np.count_nonzero(here)), len(np.unique(rows["source"][here]))


def _rounded(row):
    """Four digits: more than the data bear, few enough to read."""
    figures = {
        field.name: float(f"{getattr(row, field.name):.4g}")
        for field in fields(Timing)
        if field.type is float
    }
    return replace(row, **figures)


def write(rows, steps, prefills, step_s, prefill_s):
    """Writes presets/calibration.csv and presets/measurements/out_of_fold.csv."""
    with open(PRESETS / "calibration.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [f.name for f in fields(Timing)], lineterminator="\n")
        table.writeheader()
        table.writerows(_cells(row) for row in rows)
    with open(PRESETS / "measurements/out_of_fold.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "predicted_ms"])
        for rows_, seconds in ((steps, step_s), (prefills, prefill_s)):
            table.writerows(
                [name, f"{value * 1e3:.5g}"]
                for name, value in zip(rows_["id"], seconds, strict=True)
            )


def _cells(row):
    values = ((field.name, getattr(row, field.name)) for field in fields(Timing))
    return {name: f"{v:g}" if isinstance(v, float) else v for name, v in values}


def in_stated_band(rows, predicted, timings) -> np.ndarray:
    """Whether each row lies in the band that its engine's row of the calibration states."""
    names = measurements.band_names(rows)
    low, high = (
        np.array(
            [
                getattr(timings[engine], f"{name}_{end}")
                for engine, name in zip(rows["engine"], names, strict=True)
            ]
        )
        for end in ("low", "high")
    )
    ratio = rows["measured_s"] / predicted
    return (ratio >= low) & (ratio <= high)


def in_others_band(rows, predicted) -> np.ndarray:
    """Whether each fitted row lies in a band made of the rows of other sources alone."""
    inside = np.zeros(len(rows["id"]), bool)
    names, fitted = measurements.band_names(rows), rows["fitted"]
    for engine, name, source in {
        *zip(rows["engine"][fitted], names[fitted], rows["source"][fitted], strict=True)
    }:
        others = rows | {"fitted": fitted & (rows["source"] != source)}
        low, high, _ = band(engine, others, predicted, name)
        here = (rows["engine"] == engine) & (names == name) & (rows["source"] == source)
        ratio = rows["measured_s"][here] / predicted[here]
        inside[here] = (ratio >= low) & (ratio <= high)
    return inside


def report(steps, prefills, predicted, timings, engines=True) -> str:
    """A table of |predicted / measured − 1| over the fitted rows; predicted: (steps, prefills).

    "stated": share of rows inside the band of the calibration; "others": inside a band made
    without their own source.
    """
    optimised = ~np.isin(steps["engine"], list(fit.NOT_OPTIMISED))
    experts = steps["experts"] > 0
    decode, serving = steps["phase"] == "decode", steps["phase"] == "serving"
    local = np.isin(prefills["engine"], fit.GROUPS["local"])
    kinds = [
        ("decode, optimised engines", 0, decode & optimised),
        ("decode, all engines", 0, decode),
        ("under load (serving benchmarks)", 0, serving),
        ("    dense models", 0, serving & ~experts),
        ("    mixtures of experts", 0, serving & experts),
        ("prefill, engines that serve", 1, ~local),
        ("prefill, engines of one user", 1, local),
    ]
    if engines:
        for which, rows in ((0, steps), (1, prefills)):
            kinds += [
                (f"    {phase}: {engine}", which, (rows["phase"] == phase) & of)
                for phase in np.unique(rows["phase"][rows["fitted"]])
                for engine in fit.GROUP
                for of in [(rows["engine"] == engine) & rows["fitted"]]
                if np.any(of & (rows["phase"] == phase))
            ]
    tables = []
    for rows, seconds in zip((steps, prefills), predicted, strict=True):
        off = np.abs(seconds / rows["measured_s"] - 1)
        ideal = np.abs(measurements.ideal_seconds(rows) / rows["measured_s"] - 1)
        stated = in_stated_band(rows, seconds, timings)
        tables.append((rows, off, ideal, stated, in_others_band(rows, seconds)))
    lines = [f"{'':36}rows sources  median   90th  stated  others |  ideal   90th"]
    for name, table, here in kinds:
        rows, off, ideal, stated, others = tables[table]
        here = here & rows["fitted"]
        sources = len(np.unique(rows["source"][here]))
        lines.append(
            f"{name:36}{np.count_nonzero(here):4d} {sources:7d}"
            f"  {np.median(off[here]):6.1%} {np.quantile(off[here], 0.9):6.1%}"
            f" {np.mean(stated[here]):6.0%} {np.mean(others[here]):7.0%}"
            f"  | {np.median(ideal[here]):6.1%} {np.quantile(ideal[here], 0.9):6.1%}"
        )
    return "\n".join(lines)


def main():
    """Fit, write, print."""
    steps, prefills = measurements.steps(), measurements.prefills()
    predicted = fit.out_of_fold(steps, prefills)
    rows = calibrate(steps, prefills, *predicted)
    write(rows, steps, prefills, *predicted)
    timings = {row.engine: row for row in rows}
    print("Each source (one page or file) predicted without itself")
    print(report(steps, prefills, predicted, timings))
    print("\nEach publisher (all pages of one repository or site) predicted without itself")
    apart = fit.out_of_fold(steps, prefills, by="publisher")
    print(report(steps, prefills, apart, timings, engines=False))


if __name__ == "__main__":
    main()
