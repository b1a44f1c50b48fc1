"""Makes presets/calibration.csv: the constants and error bands of local and older engines."""

from dataclasses import fields, replace

import numpy as np

from planner.engines.calibration import IDEAL, Timing
from planner.maintain import fit
from planner.maintain.rows import Rows

BAND = 0.8  # share of the measurements that a band holds
ENOUGH = 20  # rows that an engine needs for a band of its own


def band(engine, rows: Rows, predicted, use) -> tuple[float, float, str]:
    """(1 / q, q, whose): q is what measured / predicted or its inverse exceeds in 1 of 5 rows.

    Symmetric, since the constants shipped are fitted on the very rows that were left out here: they
    lie in the middle, at a distance that the next source may repeat on either side. The engine's
    own rows where it has ENOUGH, else its group's, else those of all engines.
    """
    for whose, names in (
        (engine, (engine,)),
        (fit.GROUP[engine], fit.GROUPS[fit.GROUP[engine]]),
        ("all", tuple(fit.GROUP)),
    ):
        here = use & np.isin(rows["engine"], names)
        if np.count_nonzero(here) >= ENOUGH:
            far = np.abs(np.log(rows.measured_s[here] / predicted[here]))
            q = np.exp(np.quantile(far, BAND))
            return 1 / q, q, whose
    raise ValueError(f"{engine}: no rows to make a band of")


def stranger_band(rows: Rows, predicted, use) -> tuple[float, float, str]:
    """The same for an engine that nobody measured, from local ones that were left out whole.

    Every engine counts as much as another, however many rows it has.
    """
    here = use & np.isin(rows["engine"], fit.GROUPS["local"])
    far = np.abs(np.log(rows.measured_s[here] / predicted[here]))
    _, place, count = np.unique(rows["engine"][here], return_inverse=True, return_counts=True)
    order, weights = np.argsort(far), 1 / count[place]
    share = np.cumsum(weights[order]) / np.sum(weights)
    q = np.exp(far[order][np.searchsorted(share, BAND)])
    return 1 / q, q, "local engines left out"


def expert_prefill(prefills: Rows, predicted) -> tuple[float, tuple[str, ...]]:
    """How many times as long prompts of models with experts took as engines without such rows
    make of them, and the local engines that have some."""
    local = np.isin(prefills["engine"], fit.GROUPS["local"])
    here = prefills.fitted & local & (prefills.work.experts > 0)
    off = np.median(np.log(prefills.measured_s[here] / predicted[here]))
    return float(np.exp(off)), tuple(np.unique(prefills["engine"][here]).tolist())


def timings(steps: Rows, prefills: Rows, earlier: Rows, by_source, by_engine) -> list[Timing]:
    """The rows of presets/calibration.csv.

    by_source, by_engine: steps and prefills, seconds, as `fit.out_of_fold` predicts them.
    """
    step_s, prefill_s = by_source
    of_steps, of_prefills = fit.fit(steps, prefills, earlier)
    shared_pass = of_steps["other"]["pass_layer"]
    routed, knowing = expert_prefill(prefills, by_engine[1])
    knowing += fit.EXPERTS_AS_DENSE
    knowing += tuple(name for name, taken in fit.TAKEN_AS.items() if taken in knowing)
    found = [IDEAL]
    for engine, group in fit.GROUP.items():
        step, prefill = of_steps[engine], of_prefills[engine]
        us = {term: step.get(term, 0.0) * 1e6 for term in fit.START if term.endswith("layer")}
        decode = band(engine, steps, step_s, steps.fitted)
        if engine in fit.UNMEASURED:
            decode = stranger_band(steps, by_engine[0], steps.fitted)
        alone = band(engine, prefills, prefill_s, prefills.fitted)
        if group == "local" and not _counted(prefills, (engine,))[0]:
            alone = stranger_band(prefills, by_engine[1], prefills.fitted)
        own = _counted(steps, (engine,)), _counted(prefills, (engine,))
        found.append(
            Timing(
                engine=engine,
                group=group,
                bandwidth_efficiency=1 / step["read"],
                vector_flops_per_byte=step.get("vector", 0.0),
                compute_efficiency=1 / step["compute"],
                layer_us=us["layer"],
                device_layer_us=us["device_layer"],
                expert_layer_us=us["expert_layer"],
                batch_expert_layer_us=us[fit.BATCH_TERM],
                covered_power=fit.COVERED_POWER.get(engine, 1.0),
                tensor_layer_us=us["tensor_layer"],
                pass_layer_ms=step.get("pass_layer", shared_pass) * 1e3,
                prefill_efficiency=1 / prefill["prefill"],
                prefill_floor_steps=prefill["floor"],
                prefill_peak=fit.PREFILL_PEAK.get(engine, "16 bit"),
                expert_prefill_factor=1.0 if engine in knowing or group != "local" else routed,
                link_efficiency=1 / prefill["link"],
                pieces_under_way=fit.PIECES_UNDER_WAY.get(engine, 1),
                decode_low=decode[0],
                decode_high=decode[1],
                decode_band_from=decode[2],
                prefill_low=alone[0],
                prefill_high=alone[1],
                prefill_band_from=alone[2],
                step_rows=own[0][0],
                step_sources=own[0][1],
                prefill_rows=own[1][0],
                prefill_sources=own[1][1],
                fitted_on=_fitted_on(engine, group, steps, earlier),
            )
        )
    return [_rounded(row) for row in found]


def _fitted_on(engine, group, steps, earlier):
    """Whose steps stand behind an engine's constants, in words."""
    if engine in fit.TAKEN_AS:
        return f"taken as {fit.TAKEN_AS[engine]}: no measurement of its own"
    if group == "local" and engine not in (fit.GROUPS[group][0], *fit.TOO_FEW):
        return "own steps, held near those of all local engines"
    if group == "older" and engine != fit.GROUPS[group][0]:
        return "own steps, held near those of serving engines of their years"
    if group == "local":
        rows, sources = _counted(steps, fit.GROUPS[group])
        return f"all local engines: {rows} steps of {sources} sources"
    rows, sources = _counted(earlier, np.unique(earlier["engine"]))
    return f"serving engines of their years: {rows} steps of {sources} sources"


def _counted(rows, engines):
    here = rows.fitted & np.isin(rows["engine"], engines)
    return int(np.count_nonzero(here)), len(np.unique(rows["source"][here]))


def _rounded(row):
    """Four digits: more than the data bear, few enough to read."""
    figures = {
        field.name: float(f"{getattr(row, field.name):.4g}")
        for field in fields(Timing)
        if field.type is float
    }
    return replace(row, **figures)


def cells(row: Timing) -> dict:
    """A row as the file has it."""
    values = ((field.name, getattr(row, field.name)) for field in fields(Timing))
    return {name: f"{v:g}" if isinstance(v, float) else v for name, v in values}
