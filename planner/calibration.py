"""Fits the constants of presets/calibration.csv and says how far off they are.

    python -m planner.calibration

reads presets/measurements/, fits, predicts every measurement with its source left out, writes
presets/calibration.csv and presets/measurements/out_of_fold.csv, and prints the errors.

Step time is a sum of terms, each linear in one constant (see `TERMS`). The constants make the sum
of |log(predicted / measured)| small: least squares on relative differences, repeated with weights
that let no outlier pull (iteratively reweighted least squares). A source with n rows counts as
much as n to the power of a half or a quarter, lest one large table decide. A ridge pulls constants
that few rows speak of towards those of the whole group, and the group's towards START.

Three groups. "serving": the data do not tell these engines apart once model, device and load are
accounted for (constants of their own predict a left-out source worse), so they share one set.
"local": engines built for one user, on graphics cards and Macs; each its own set. "older":
versions of 2023 and 2024, kept because so much was published about them; each its own set.
"""

import csv
from dataclasses import fields, replace

import numpy as np

from planner import formulas, measurements
from planner.latency import FILE, IDEAL, REFERENCE_VECTOR_FLOPS, Timing

GROUPS = {
    "serving": ("other-serving", "vllm", "vllm-0.20", "sglang", "tensorrt-llm", "lmdeploy"),
    "local": (
        "other-local",
        "llama.cpp-cuda",
        "llama.cpp-cuda-nofa",
        "llama.cpp-metal",
        "llama.cpp-vulkan",
        "mlc",
        "exllamav2",
        "gpt-fast",
        "tinychat",
        "transformers",
    ),
    "older": ("other", "vllm-0.5", "deepspeed-mii", "deepspeed-habana", "fastertransformer"),
}
GROUP = {engine: group for group, engines in GROUPS.items() for engine in engines}

# Compared with the published ideal figure, "optimised" leaves these out with the older group.
NOT_OPTIMISED = {*GROUPS["older"], "transformers"}

# What each constant multiplies, and where it starts: a plausible value, and how far from it a
# constant may go before the ridge is felt as much as one wholly wrong row. Seconds, FLOPs, bytes.
START = {
    "read": (1.2, 1.2),  # 1 / bandwidth efficiency
    "vector": (3.0, 3.0),  # FP32 FLOPs a byte
    "compute": (1.8, 1.8),  # 1 / compute efficiency
    "layer": (60e-6, 60e-6),
    "device_layer": (60e-6, 50e-6),
    "expert_layer": (50e-6, 50e-6),
    "tensor_layer": (50e-6, 50e-6),
    "pass_layer": (0.4e-3, 0.4e-3),
    "prefill": (1.8, 1.8),  # 1 / prefill efficiency
    "link": (1.5, 1.5),  # 1 / link efficiency
    "floor": (1.0, 1.0),  # in decode steps of one token
}
LOCAL_START = START | {
    "read": (1.15, 0.15),
    "compute": (2.0, 1.0),
    "tensor_layer": (100e-6, 80e-6),
    "expert_layer": (50e-6, 40e-6),
}
SERVING_TERMS = ("read", "compute", "layer", "expert_layer", "tensor_layer", "pass_layer")
LOCAL_TERMS = ("read", "vector", "compute", "device_layer", "expert_layer", "tensor_layer")
TERMS = {"serving": SERVING_TERMS, "local": LOCAL_TERMS, "older": SERVING_TERMS}
PREFILL_TERMS = ("prefill", "link", "floor")
FLOOR_TERMS = ("read", "vector", "layer", "device_layer", "expert_layer", "tensor_layer")

# Chosen where the errors of left-out sources are flat (a factor of 3 moves them by 0.005).
GROUP_PULL = 10.0  # of the start on a group
ENGINE_PULL = 0.03  # of a group on an engine
PREFILL_PULL = 0.3
OUTLIER = 0.05  # relative difference from which on a row counts by its size, not its square
BAND = (0.1, 0.9)
ENOUGH = 20  # rows that an engine needs for a band of its own


def step_columns(rows) -> dict[str, np.ndarray]:
    """What each constant of a step multiplies, seconds per unit of the constant; one per row."""
    together = rows["workers"]
    read = rows["weights_bytes"] + rows["cache_bytes"]
    prompts = rows["prompts"]
    flops = rows["flops"] + prompts * rows["prompt_flops"]
    layers = rows["layers"]
    return {
        "read": formulas.read_seconds(read, rows["bandwidth"] * together),
        "vector": formulas.compute_seconds(read, rows["vector_flops"] * together),
        "compute": formulas.compute_seconds(flops, rows["peak_flops"] * together),
        "layer": layers,
        "device_layer": formulas.device_scaled_seconds(
            layers, rows["vector_flops"], REFERENCE_VECTOR_FLOPS
        ),
        "expert_layer": layers * rows["experts"],
        "tensor_layer": layers * rows["tensor_parallel"],
        "pass_layer": layers * np.minimum(prompts, 1),
    }


def prefill_columns(rows, step_constants) -> dict[str, np.ndarray]:
    """What each constant of a prefill multiplies, seconds per unit of the constant.

    The floor is what a decode step of one token costs beside arithmetic: every weight read once,
    every layer started once.
    """
    floor = step_columns(rows | {"cache_bytes": 0.0, "prompts": 0.0, "prompt_flops": 0.0})
    floor = {term: floor[term] for term in FLOOR_TERMS}
    return {
        "prefill": formulas.compute_seconds(
            rows["flops"], rows["prefill_peak_flops"] * rows["workers"]
        ),
        "link": formulas.read_seconds(rows["link_bytes"], rows["link"]),
        "floor": predict(floor, rows["engine"], step_constants),
    }


def least_relative(design, measured, weights, start, width, pull):
    """Constants θ ≥ 0 that keep |log(design θ / measured)| small, pulled towards `start`.

    design: rows × constants, seconds per unit. Solved by reweighted least squares with a ridge;
    a constant that would be negative is held at 0.
    """
    predicted = np.maximum(design @ start, 1e-9)
    ridge = pull / width**2
    for _ in range(40):
        off = np.maximum(np.abs(np.log(predicted / measured)), OUTLIER)
        row = np.sqrt(weights / off / (predicted * measured))
        scaled, target = design * row[:, None], measured * row
        normal = scaled.T @ scaled + np.diag(ridge)
        right = scaled.T @ target + ridge * start
        free = np.ones(len(start), bool)
        while True:
            theta = np.zeros(len(start))
            theta[free] = np.linalg.solve(normal[np.ix_(free, free)], right[free])
            if np.all(theta >= 0):
                break
            free[np.argmin(theta)] = False
        predicted = np.maximum(design @ theta, 1e-9)
    return theta


def _evenly(sources, power):
    """A weight for each row, so that a source of n rows weighs n^(1 − power)."""
    _, place, count = np.unique(sources, return_inverse=True, return_counts=True)
    return count[place] ** -power


def fit_steps(rows, use) -> dict[str, dict[str, float]]:
    """Constants of a step for every engine, fitted on the rows where `use` is true."""
    columns, engine, source = step_columns(rows), rows["engine"], rows["source"]
    measured = rows["measured_s"]

    def fit(among, group, centre, pull, weights):
        terms = TERMS[group]
        table = LOCAL_START if group == "local" else START
        start, width = np.array([table[term] for term in terms]).T
        centre = start if centre is None else np.array([centre[term] for term in terms])
        design = np.stack([columns[term][among] for term in terms], axis=1)
        theta = least_relative(design, measured[among], weights, centre, width, pull)
        return dict(zip(terms, theta, strict=True))

    def of(engines):
        return use & np.isin(engine, engines)

    found = {}
    serving = of(GROUPS["serving"])
    shared = fit(serving, "serving", None, GROUP_PULL, _evenly(source[serving], 0.75))
    found |= dict.fromkeys(GROUPS["serving"], shared)

    local = of(GROUPS["local"])
    each = np.char.add(engine[local], source[local])
    centre = fit(local, "local", None, GROUP_PULL, _evenly(each, 1.0))
    for group, middle in (("local", centre), ("older", shared)):
        whole, *engines = GROUPS[group]
        found[whole] = middle
        for name in engines:
            own = of([name])
            found[name] = fit(own, group, middle, ENGINE_PULL, _evenly(source[own], 0.5))
    return found


def fit_prefills(rows, use, columns) -> dict[str, dict[str, float]]:
    """Constants of a prefill: one set for all that serve, one for each engine of one user."""
    engine, source = rows["engine"], rows["source"]
    design = np.stack([columns[term] for term in PREFILL_TERMS], axis=1)
    start, width = np.array([START[term] for term in PREFILL_TERMS]).T

    def fit(among, centre):
        weights = _evenly(source[among], 0.5)
        theta = least_relative(
            design[among], rows["measured_s"][among], weights, centre, width, PREFILL_PULL
        )
        return dict(zip(PREFILL_TERMS, theta, strict=True))

    is_local = np.isin(engine, GROUPS["local"])
    served = fit(use & ~is_local, start)
    middle = fit(use & is_local, start)
    found = dict.fromkeys((*GROUPS["serving"], *GROUPS["older"]), served)
    for name in GROUPS["local"]:
        found[name] = fit(use & (engine == name), np.array(list(middle.values())))
    return found


def predict(columns, engine, constants) -> np.ndarray:
    """Seconds for every row from its engine's constants; 0 for a term the engine does not have."""
    return sum(
        column * np.array([constants[name].get(term, 0.0) for name in engine])
        for term, column in columns.items()
    )


def fit(steps, prefills, without=None):
    """(step constants, prefill constants) of every engine, leaving one source out if named."""
    of_steps = fit_steps(steps, steps["fitted"] & (steps["source"] != without))
    columns = prefill_columns(prefills, of_steps)
    use = prefills["fitted"] & (prefills["source"] != without)
    return of_steps, fit_prefills(prefills, use, columns)


def out_of_fold(steps, prefills) -> tuple[np.ndarray, np.ndarray]:
    """Every row predicted by constants fitted without its source: seconds of steps, of prefills."""
    step_s, prefill_s = np.empty(len(steps["id"])), np.empty(len(prefills["id"]))
    columns = step_columns(steps)
    for source in np.union1d(steps["source"], prefills["source"]):
        of_steps, of_prefills = fit(steps, prefills, without=source)
        here = steps["source"] == source
        step_s[here] = predict(columns, steps["engine"], of_steps)[here]
        here = prefills["source"] == source
        prefill_s[here] = predict(
            prefill_columns(prefills, of_steps), prefills["engine"], of_prefills
        )[here]
    return step_s, prefill_s


def band(engine, rows, predicted, phase) -> tuple[float, float, str]:
    """Measured / predicted at the ends of BAND, and whose rows these are.

    The engine's own where it has ENOUGH, else its group's, else those of all engines.
    """
    use = rows["fitted"] & (rows["phase"] == phase)
    for whose, names in ((engine, (engine,)), (GROUP[engine], GROUPS[GROUP[engine]]), ("all", ())):
        here = use & (np.isin(rows["engine"], names) if names else True)
        if np.count_nonzero(here) >= ENOUGH:
            ratio = rows["measured_s"][here] / predicted[here]
            return *np.quantile(ratio, BAND), whose
    raise ValueError(f"no {phase} rows to make a band of")


def calibrate(steps, prefills, step_s, prefill_s) -> list[Timing]:
    """The rows of presets/calibration.csv; step_s and prefill_s are the out-of-fold predictions."""
    of_steps, of_prefills = fit(steps, prefills)
    shared_pass = of_steps["vllm"]["pass_layer"]
    found = [IDEAL]
    for engine, group in GROUP.items():
        step, prefill = of_steps[engine], of_prefills[engine]
        us = {term: step.get(term, 0.0) * 1e6 for term in step if term.endswith("layer")}
        decode = band(engine, steps, step_s, "decode")
        mix = band(engine, steps, step_s, "serving")
        alone = band(engine, prefills, prefill_s, "prefill")
        own = _fitted(steps, (engine,)), _fitted(prefills, (engine,))
        whole = _fitted(steps, GROUPS[group])
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
                prefill_low=alone[0],
                prefill_high=alone[1],
                prefill_band_from=alone[2],
                step_rows=own[0][0],
                step_sources=own[0][1],
                prefill_rows=own[1][0],
                prefill_sources=own[1][1],
                fitted_on=f"{group} engines: {whole[0]} steps of {whole[1]} sources",
            )
        )
    return [_rounded(row) for row in found]


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
    with open(FILE, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [f.name for f in fields(Timing)], lineterminator="\n")
        table.writeheader()
        table.writerows(_cells(row) for row in rows)
    with open(measurements.OUT_OF_FOLD, "w", newline="", encoding="utf-8") as file:
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


def report(steps, prefills, step_s, prefill_s) -> str:
    """Errors of the left-out sources as a table: |predicted / measured − 1|, and band coverage."""
    lines = [f"{'':44}rows sources median    90th   in band"]
    optimised = ~np.isin(steps["engine"], list(NOT_OPTIMISED))
    moe = steps["experts"] > 0
    decode, serving = steps["phase"] == "decode", steps["phase"] == "serving"
    local = np.isin(prefills["engine"], GROUPS["local"])
    kinds = [
        ("decode, optimised engines", steps, step_s, decode & optimised),
        ("decode, all engines", steps, step_s, decode),
        ("under load (serving benchmarks)", steps, step_s, serving),
        ("    dense models", steps, step_s, serving & ~moe),
        ("    mixtures of experts", steps, step_s, serving & moe),
        ("prefill, engines that serve", prefills, prefill_s, ~local),
        ("prefill, engines of one user", prefills, prefill_s, local),
    ]
    kinds += [
        (f"    {phase}: {engine}", steps, step_s, (steps["phase"] == phase) & of)
        for phase in ("decode", "serving")
        for engine in GROUP
        for of in [steps["engine"] == engine]
        if np.any(of & steps["fitted"] & (steps["phase"] == phase))
    ]
    for name, rows, seconds, which in kinds:
        which = which & rows["fitted"]
        off = np.abs(seconds[which] / rows["measured_s"][which] - 1)
        sources = len(np.unique(rows["source"][which]))
        inside = np.mean(_inside(rows, seconds)[which])
        lines.append(
            f"{name:44}{len(off):4d} {sources:7d}  {np.median(off):5.1%}  "
            f"{np.quantile(off, 0.9):6.1%}  {inside:7.0%}"
        )
    return "\n".join(lines)


def _inside(rows, predicted):
    """Whether each row lies in the band made of the rows of other sources alone."""
    inside = np.zeros(len(rows["id"]), bool)
    kinds = np.char.add(np.char.add(rows["engine"], " "), rows["phase"])
    fitted = {"fitted": rows["fitted"]}
    for kind in np.unique(kinds[rows["fitted"]]):
        engine, phase = kind.split(" ")
        for source in np.unique(rows["source"][kinds == kind]):
            left_out = rows["source"] == source
            others = rows | {"fitted": fitted["fitted"] & ~left_out}
            low, high, _ = band(engine, others, predicted, phase)
            here = left_out & (kinds == kind)
            ratio = rows["measured_s"][here] / predicted[here]
            inside[here] = (ratio >= low) & (ratio <= high)
    return inside


def main():
    """Fit, write, print."""
    steps, prefills = measurements.steps(), measurements.prefills()
    step_s, prefill_s = out_of_fold(steps, prefills)
    rows = calibrate(steps, prefills, step_s, prefill_s)
    write(rows, steps, prefills, step_s, prefill_s)
    print(report(steps, prefills, step_s, prefill_s))


if __name__ == "__main__":
    main()
