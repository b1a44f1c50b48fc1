"""Reads presets/measurements/: published timings as NumPy columns, with device and model joined.

A step is one decode step of a batch (phase "decode"), the mean time between tokens of a serving
benchmark ("serving") or a step of a fixed batch that no constant was fitted on ("batched").
Quality A is published as such, B derived from another published figure, C and "held out" are shown
but never fitted.
"""

from functools import cache

import numpy as np

from planner import files, formulas
from planner.units import GB, GIGA, TERA

FOLDER = "measurements"  # below presets/


def rows(name: str) -> list[dict[str, str]]:
    """One file of presets/measurements/, a dict of texts a row."""
    return files.rows(f"{FOLDER}/{name}")


def site(address: str) -> str:
    """Whose an address is: the repository or site; “” where it is none."""
    return "/".join(address.split("/")[2:5]) if address.startswith("http") else ""


def _table(name):
    """Columns of a file as arrays: numbers where every filled cell is one, else text."""
    read = rows(name)
    return {column: _array([row[column] for row in read]) for column in read[0]}


def _array(cells):
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)


def _joined(rows, name, key):
    """The rows of another table, one for each value of `key`."""
    table = _table(name)
    place = {value: index for index, value in enumerate(table["id"])}
    at = np.array([place[value] for value in rows[key]])
    return {column: values[at] for column, values in table.items() if column != "id"}


def _with_figures(rows):
    """Adds the model's and the source's figures, and those of the devices that work at once."""
    rows |= _joined(rows, "models.csv", "model")
    source = _joined(rows, "sources.csv", "source")
    rows |= {"source_name": source["name"], "address": source["address"]}
    rows["publisher"] = source["publisher"]
    device = _joined(rows, "devices.csv", "device")
    rows["device_name"] = device["name"]
    rows["tensor_parallel"] = rows["split"] == "tensor"
    # Layers on several devices are worked through one device after another.
    rows["workers"] = np.where(rows["split"] == "layers", 1, rows["devices"])
    rows["bandwidth"] = device["bandwidth_gb_s"] * GB
    rows["peak_flops"] = device["fp16_tflops"] * TERA
    rows["half_sum_flops"] = device["fp16_sum_tflops"] * TERA
    # Where no figure is known no engine needs it: these are matrix units, not graphics cards.
    vector = np.where(np.isnan(device["vector_tflops"]), np.inf, device["vector_tflops"])
    rows["vector_flops"] = vector * TERA
    rows["link"] = np.where(np.isnan(device["link_gb_s"]), np.inf, device["link_gb_s"]) * GB
    rows["fitted"] = np.isin(rows["quality"], ["A", "B"])
    return rows


@cache
def steps() -> dict[str, np.ndarray]:
    """Decode steps: bytes read, FLOPs, requests, prompts that share the step, measured seconds."""
    rows = _with_figures(_table("steps.csv"))
    rows["weights_bytes"] = rows["weights_read_gb"] * GB
    rows["cache_bytes"] = rows["cache_read_gb"] * GB
    rows["flops"] = formulas.projection_flops(rows["active_parameters_b"] * GIGA, rows["requests"])
    rows["measured_s"] = rows["step_ms"] * 1e-3
    serving = rows["phase"] == "serving"
    rows["prompt_flops"] = np.where(serving, rows["prompt_tflop"], 0.0) * TERA
    rows["prompts"] = np.where(
        serving, formulas.prompts_per_step(rows["requests"], rows["output_tokens"]), 0.0
    )
    return rows


@cache
def prefills() -> dict[str, np.ndarray]:
    """Prefills: FLOPs, bytes sent between tensor-parallel devices, measured seconds."""
    rows = _with_figures(_table("prefills.csv"))
    rows["phase"] = np.full(len(rows["id"]), "prefill")
    rows["requests"] = np.ones(len(rows["id"]))
    rows["context_tokens"] = rows["tokens"] + rows["depth_tokens"]
    rows["flops"] = rows["tflop"] * TERA
    rows["weights_bytes"] = rows["weights_read_gb"] * GB
    # llama.cpp sends a prompt through split layers in pieces of 512 tokens, four under way at most.
    pieces = np.minimum(np.ceil(rows["tokens"] / 512), 4)
    piped = formulas.pipelined_devices(rows["devices"], pieces)
    rows["prefill_workers"] = np.where(rows["split"] == "layers", piped, rows["workers"])
    # 8-bit weights are multiplied at 8 bit, at twice the rate. llama.cpp adds up at 16 bit, which
    # graphics cards sold to gamers do at twice their rate for 32-bit sums.
    eight_bit = np.where(rows["weights"] == "fp8", 2, 1)
    half_sums = np.char.startswith(rows["engine"], "llama.cpp-cuda")
    rows["prefill_peak_flops"] = np.where(
        half_sums, rows["half_sum_flops"], rows["peak_flops"] * eight_bit
    )
    rows["measured_s"] = rows["ttft_ms"] * 1e-3
    sent = formulas.all_reduce_bytes(rows["layers"], rows["width"], rows["tokens"], rows["workers"])
    rows["link_bytes"] = np.where(rows["tensor_parallel"], sent, 0.0)
    return rows


@cache
def out_of_fold() -> dict[str, float]:
    """Seconds predicted for each measurement, by its id, when its source was left out of the fit.

    Written by `python -m planner.maintain.calibrate`.
    """
    table = _table("out_of_fold.csv")
    return dict(zip(table["id"].tolist(), table["predicted_ms"] * 1e-3, strict=True))


def band_names(rows) -> np.ndarray:
    """Which band of the calibration speaks for each row: decode, mix, mix_experts or prefill."""
    phase = rows["phase"]
    mix = np.where(rows["experts"] > 0, "mix_experts", "mix")
    alone = {"batched": "decode", "ttft": "prefill"}
    other = np.array([alone.get(each, each) for each in phase])
    return np.where(phase == "serving", mix, other)


def ideal_seconds(rows) -> np.ndarray:
    """The lesson's formula for every row: reading at full bandwidth; of a prompt the larger of
    its arithmetic at full peak and one reading of the weights."""
    read = rows["weights_bytes"] + rows.get("cache_bytes", 0.0)
    reading = formulas.read_seconds(read, rows["bandwidth"] * rows["workers"])
    if "prefill_peak_flops" not in rows:
        return reading
    peak = rows["prefill_peak_flops"] * rows["prefill_workers"]
    return formulas.time_to_first_token_seconds(
        formulas.compute_seconds(rows["flops"], peak), reading
    )
