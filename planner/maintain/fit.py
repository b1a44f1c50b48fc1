"""Fits the constants of local and older engines (`calibration.Timing`) to published measurements.

Step time is a sum of terms, each linear in one constant (see `TERMS`). The constants make the sum
of |log(predicted / measured)| small: least squares on relative differences, repeated with weights
that let no outlier pull (iteratively reweighted least squares). A source with n rows counts as
much as n to the power of a half or a quarter, lest one large table decide. A ridge pulls constants
that few rows speak of towards those of the whole group, and the group's towards START.

Against the plain form (bytes / (0.83 · BW) + L · (65 µs + 55 µs if tensor parallel) for every
engine: 10 % median, 39 % at the 90th percentile on the optimised engines' decode steps) two things
made the difference: what a byte costs on the vector units (the devices with much bandwidth and
little arithmetic, such as an A100 under llama.cpp, were off by half), and an overhead that grows
with the root of a device's slowness.

Two groups. "local": engines built for one user, on graphics cards and Macs; each its own set.
"older": versions of 2023 and 2024, kept because so much was published about them; each its own
set, held near what serving engines' steps of those years give in the same terms.
"""

import numpy as np

from planner import formulas
from planner.engines.calibration import PEAKS
from planner.engines.passes import REFERENCE_VECTOR_FLOPS
from planner.maintain.rows import Rows

GROUPS = {
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
        "ollama-cuda",
        "ollama-metal",
        "ik_llama.cpp",
        "exllamav3",
        "mlx",
    ),
    "older": ("other", "vllm-0.5", "deepspeed-mii", "deepspeed-habana", "fastertransformer"),
}
GROUP = {engine: group for group, engines in GROUPS.items() for engine in engines}

# Four and five rows: their group's constants predict a left-out source better than their own.
TOO_FEW = ("llama.cpp-vulkan", "transformers", "mlx")

# Without a measurement: the constants are those of the engine that each starts, or comes from.
TAKEN_AS = {
    "ollama-cuda": "llama.cpp-cuda",
    "ollama-metal": "llama.cpp-metal",
    "ik_llama.cpp": "llama.cpp-cuda",
    "exllamav3": "exllamav2",
}
# Its prompts are like those of the other engine on Macs, with experts or without: Qwen3 4B and
# 30B-A3B in 4 bits take 1.26 and 1.17 s of 2,048 tokens on an M4 Max, where that makes 1.35 and 1.1
# (https://github.com/ml-explore/mlx-lm/blob/d78bf58/mlx_lm/BENCHMARKS.md).
PREFILL_TAKEN_AS = TAKEN_AS | {"mlx": "llama.cpp-metal"}
EXPERTS_AS_DENSE = ("mlx",)
UNMEASURED = ("mlx", *TAKEN_AS)

# Compared with the published ideal figure, "optimised" leaves these out with the older group.
NOT_OPTIMISED = {*GROUPS["older"], "transformers"}

# The experts that B requests read with llama.cpp are those of B ** 0.75 independent ones, and above
# one request a layer with experts takes longer (vectors become matrices). Both were chosen on the
# steps of one source on one device (DGX Spark), in sample: from B ** 0.7 to B ** 0.8 errors are
# alike, while with independent requests the bandwidth's part leaves the possible.
COVERED_POWER = dict.fromkeys(("llama.cpp-cuda", "ollama-cuda", "ik_llama.cpp"), 0.75)
BATCH_TERM = "batch_expert_layer"

# Of which peak a prefill's part is; llama.cpp sends four pieces of a prompt through split layers.
PREFILL_PEAK = {
    **dict.fromkeys(GROUPS["older"], "own format"),
    "llama.cpp-cuda": "16-bit sums",
    "llama.cpp-cuda-nofa": "16-bit sums",
    "ollama-cuda": "16-bit sums",
    "ik_llama.cpp": "16-bit sums",
}
PIECES_UNDER_WAY = {
    name: 4 for name in GROUPS["local"] if TAKEN_AS.get(name, name).startswith("llama.cpp")
}

# Where each constant starts: a plausible value, how far from it it may go before the ridge is felt
# as much as one wholly wrong row, and its least: no efficiency is above 1. Seconds, FLOPs, bytes.
START = {
    "read": (1.2, 1.2, 1.0),  # 1 / bandwidth efficiency
    "vector": (3.0, 3.0, 0.0),  # FP32 FLOPs a byte
    "compute": (1.8, 1.8, 1.0),  # 1 / compute efficiency
    "layer": (60e-6, 60e-6, 0.0),
    "device_layer": (60e-6, 60e-6, 0.0),
    "expert_layer": (50e-6, 50e-6, 0.0),
    "batch_expert_layer": (0.2e-3, 0.2e-3, 0.0),
    "tensor_layer": (50e-6, 50e-6, 0.0),
    "pass_layer": (0.4e-3, 0.4e-3, 0.0),
    "prefill": (1.8, 1.8, 1.0),  # 1 / prefill efficiency
    "link": (1.5, 1.5, 1.0),  # 1 / link efficiency
    "floor": (1.0, 1.0, 0.0),  # in decode steps of one token
}
# Engines of one user meet graphics cards without fast links; one request at a time does not show
# what arithmetic costs, so that constant hardly leaves its start.
LOCAL_START = START | {"tensor_layer": (100e-6, 100e-6, 0.0), "compute": (1.8, 0.3, 1.0)}
SERVING_TERMS = ("read", "compute", "layer", "expert_layer", "tensor_layer", "pass_layer")
LOCAL_TERMS = ("read", "vector", "compute", "device_layer", "expert_layer", "tensor_layer")
TERMS = {
    "serving": SERVING_TERMS,
    "local": LOCAL_TERMS,
    "older": SERVING_TERMS,
    "llama.cpp-cuda": (*LOCAL_TERMS, BATCH_TERM),
}
PREFILL_TERMS = ("prefill", "link", "floor")
FLOOR_TERMS = ("read", "vector", "layer", "device_layer", "expert_layer", "tensor_layer")

# Chosen where errors of left-out sources are flat: a factor of 3 moves the medians by under 1 %.
GROUP_PULL = 10.0  # of the start on a group
ENGINE_PULL = 0.03  # of a group on an engine
PREFILL_PULL = 0.3
OUTLIER = 0.05  # relative difference from which on a row counts by its size, not its square


def powers(rows: Rows) -> np.ndarray:
    """The power of B by which each row's engine covers experts."""
    return np.array([COVERED_POWER.get(name, 1.0) for name in rows["engine"]])


def step_columns(rows: Rows) -> dict[str, np.ndarray]:
    """What each constant of a step multiplies, seconds per unit of the constant; one per row."""
    work, tokens = rows.work, rows.requests
    read = work.read_bytes(tokens ** powers(rows)) + tokens * work.cache_bytes
    part, piece = formulas.prompt_passes(
        tokens, rows.output_tokens, work.prompt_tokens, rows.pass_tokens
    )
    flops = tokens * (2 * work.parameters + work.attention_flops)
    flops = flops + part * piece / work.prompt_tokens * work.prefill_flops
    columns = _overheads(work)
    return columns | {
        "read": formulas.read_seconds(read, work.bandwidth),
        "vector": formulas.compute_seconds(read, work.vector_flops),
        "compute": formulas.compute_seconds(flops, work.peak16),
        BATCH_TERM: columns["expert_layer"] * (tokens > 1),
        "pass_layer": work.layers * part,
    }


def _overheads(work):
    return {
        "layer": work.layers,
        "device_layer": formulas.device_scaled_seconds(
            work.layers, work.vector_flops, REFERENCE_VECTOR_FLOPS
        ),
        "expert_layer": work.layers * (work.experts > 0),
        "tensor_layer": work.layers * (work.devices > 1),
    }


def prefill_columns(rows: Rows, step_constants) -> dict[str, np.ndarray]:
    """What each constant of a prefill multiplies, seconds per unit of the constant.

    The floor is what a decode step of one token costs beside arithmetic: every weight read once,
    every layer started once.
    """
    prompts, engines = rows["prompts"], rows["engine"]
    work, one = rows.work.together(prompts), rows.work.read_bytes(1)
    floor = _overheads(work) | {
        "read": formulas.read_seconds(one, work.bandwidth),
        "vector": formulas.compute_seconds(one, work.vector_flops),
    }
    peak = np.zeros(len(rows))
    for kind, name in PEAKS.items():
        here = np.array([PREFILL_PEAK.get(engine, "16 bit") == kind for engine in engines])
        peak[here] = getattr(work, name)[here]
    most = np.array([PIECES_UNDER_WAY.get(engine, 1) for engine in engines])
    pieces = np.clip(np.ceil(work.prompt_tokens / rows.pass_tokens), 1, most)
    busy = formulas.pipelined_devices(work.stages, pieces)
    sent = formulas.all_reduce_bytes(work.layers, work.width, work.prompt_tokens, work.devices)
    return {
        "prefill": formulas.compute_seconds(work.prefill_flops, peak * busy),
        "link": formulas.read_seconds(sent, work.link),
        "floor": predict(floor, engines, step_constants),
    }


def least_relative(design, measured, weights, start, width, least, pull):
    """Constants θ ≥ `least` that keep |log(design θ / measured)| small, pulled towards `start`.

    design: rows × constants, seconds per unit. Solved by reweighted least squares with a ridge;
    a constant that would fall below its least is held there.
    """
    predicted = np.maximum(design @ start, 1e-9)
    ridge = pull / width**2
    floor = design @ least
    for _ in range(40):
        off = np.maximum(np.abs(np.log(predicted / measured)), OUTLIER)
        row = np.sqrt(weights / off / (predicted * measured))
        scaled, target = design * row[:, None], (measured - floor) * row
        normal = scaled.T @ scaled + np.diag(ridge)
        right = scaled.T @ target + ridge * (start - least)
        free = np.ones(len(start), bool)
        while True:
            above = np.zeros(len(start))
            above[free] = np.linalg.solve(normal[np.ix_(free, free)], right[free])
            if np.all(above >= 0):
                break
            free[np.argmin(above)] = False
        predicted = np.maximum(design @ (least + above), 1e-9)
    return least + above


def _evenly(sources, power):
    """A weight for each row, so that a source of n rows weighs n^(1 − power)."""
    _, place, count = np.unique(sources, return_inverse=True, return_counts=True)
    return count[place] ** -power


def fit_steps(rows: Rows, use, earlier: Rows, use_earlier) -> dict[str, dict[str, float]]:
    """Constants of a step for every engine, fitted on the rows where `use` is true.

    earlier: steps of serving engines, near whose constants those of older engines are held.
    """
    columns, engine, source = step_columns(rows), rows["engine"], rows["source"]

    def fit(among, terms, group, centre, pull, weights, of=columns, measured=rows.measured_s):
        table = LOCAL_START if group == "local" else START
        start, width, least = np.array([table[term] for term in terms]).T
        centre = start if centre is None else np.array([centre.get(t, table[t][0]) for t in terms])
        design = np.stack([of[term][among] for term in terms], axis=1)
        theta = least_relative(design, measured[among], weights, centre, width, least, pull)
        return dict(zip(terms, theta, strict=True))

    even = _evenly(earlier["source"][use_earlier], 0.75)
    shared = fit(
        use_earlier,
        TERMS["serving"],
        "serving",
        None,
        GROUP_PULL,
        even,
        of=step_columns(earlier),
        measured=earlier.measured_s,
    )
    local = use & np.isin(engine, GROUPS["local"])
    each = np.char.add(engine[local], source[local])
    centre = fit(local, LOCAL_TERMS, "local", None, GROUP_PULL, _evenly(each, 1.0))
    found = {}
    for group, middle in (("local", centre), ("older", shared)):
        whole, *engines = GROUPS[group]
        found[whole] = middle
        for name in engines:
            own = use & (engine == name)
            found[name] = found.get(TAKEN_AS.get(name), middle)
            if name not in (*TOO_FEW, *TAKEN_AS):
                terms = TERMS.get(name, TERMS[group])
                weights = _evenly(source[own], 0.5)
                found[name] = fit(own, terms, group, middle, ENGINE_PULL, weights)
    return found


def fit_prefills(rows: Rows, use, columns) -> dict[str, dict[str, float]]:
    """Constants of a prefill: one set for all older engines, one for each engine of one user."""
    engine, source = rows["engine"], rows["source"]
    design = np.stack([columns[term] for term in PREFILL_TERMS], axis=1)
    start, width, least = np.array([START[term] for term in PREFILL_TERMS]).T

    def fit(among, centre):
        weights = _evenly(source[among], 0.5)
        theta = least_relative(
            design[among], rows.measured_s[among], weights, centre, width, least, PREFILL_PULL
        )
        return dict(zip(PREFILL_TERMS, theta, strict=True))

    is_local = np.isin(engine, GROUPS["local"])
    older = fit(use & ~is_local, start)
    middle = fit(use & is_local, start)
    found = dict.fromkeys(GROUPS["older"], older)
    for name in GROUPS["local"]:
        own = use & (engine == name)
        taken = found.get(PREFILL_TAKEN_AS.get(name))
        found[name] = taken or fit(own, np.array(list(middle.values())))
    return found


def predict(columns, engine, constants) -> np.ndarray:
    """Seconds for every row from its engine's constants; 0 for a term the engine does not have."""
    return sum(
        column * np.array([constants[name].get(term, 0.0) for name in engine])
        for term, column in columns.items()
    )


def fit(steps, prefills, earlier, without=None, by="source"):
    """(step constants, prefill constants) of every engine, leaving a source or publisher out."""
    used = [rows.fitted & (rows[by] != without) for rows in (steps, earlier, prefills)]
    of_steps = fit_steps(steps, used[0], earlier, used[1])
    return of_steps, fit_prefills(prefills, used[2], prefill_columns(prefills, of_steps))


def out_of_fold(steps, prefills, earlier, by="source") -> tuple[np.ndarray, np.ndarray]:
    """Every row predicted by constants fitted without its source: seconds of steps, of prefills."""
    step_s, prefill_s = np.empty(len(steps)), np.empty(len(prefills))
    columns = step_columns(steps)
    for left_out in np.union1d(steps[by], prefills[by]):
        of_steps, of_prefills = fit(steps, prefills, earlier, left_out, by)
        here = steps[by] == left_out
        step_s[here] = predict(columns, steps["engine"], of_steps)[here]
        here = prefills[by] == left_out
        prefill_s[here] = predict(
            prefill_columns(prefills, of_steps), prefills["engine"], of_prefills
        )[here]
    return step_s, prefill_s
