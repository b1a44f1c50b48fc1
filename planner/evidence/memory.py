"""Memory predicted against printed, for every start-up log whose figures the project carries.

The figures are in presets/measurements/; each row names the log. Sizes are bytes of one device.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from planner import formulas
from planner.engines import defaults
from planner.engines.memory import CacheLayers, Engine, reserve
from planner.evidence.measurements import rows, site
from planner.evidence.times import IN_SAMPLE, LEFT_OUT, NEVER
from planner.hardware import parallel
from planner.inputs import overrides, presets
from planner.units import GIB

# The same cache layers for every row: what a pool may take does not depend on them.
ANY_LAYERS = (CacheLayers(layers=32, token_bytes=4096),)
AGAIN = "-left-out"  # ends the id of a row that is a second prediction of the same log
NOWHERE = "public start-up log on GitHub; address not recorded"
UNCUT_TOKENS = 32_768  # up to which vLLM's first engine took a prompt in one step
PEAKS_OF = "vllm-0.20"  # the version whose printed peaks constants were made from
VLLM, LLAMA = "vllm-any", "llama.cpp-any"
FAMILIES = {  # what a log calls its engine, by its first word
    "vLLM": VLLM,
    "SGLang": "sglang",
    "TensorRT-LLM": "tensorrt-llm",
    "llama.cpp": LLAMA,
    "ik_llama.cpp": LLAMA,
    "flash-moe": LLAMA,
}


@cache
def measured() -> pd.DataFrame:
    """One row per printed figure: measured, predicted and ideal in bytes, low and high of the band.

    phase: pool (what vLLM leaves for the cache), capacity (what a printed pool holds, as the bytes
    of that many tokens, blocks or requests), token (cache bytes of a token), activation (working
    memory of a step). basis: “in sample” where the engine's constants were made from these very
    logs, else “never fitted”. A pool that constants were made from is there twice: in sample, and
    as “source left out”, predicted by what the rule behind the constants gives without the log's
    source, with the stated band moved along. ideal and the band are NaN where there is none: a
    count has no band.
    """
    parts = [*_pools(), *_capacities(), *_token_bytes(), *_activations(), *_buffers()]
    return pd.DataFrame(parts)


def count(frame: pd.DataFrame) -> int:
    """How many measurements a frame of predictions has: a pool predicted twice is one."""
    return frame["id"].str.removesuffix(AGAIN).nunique()


def _pools():
    for number, row in enumerate(rows("pools.csv"), start=1):
        engine = pool_engine(row)
        total, weights = float(row["total_gib"]), float(row["weights_gib"])
        predicted = pool_bytes(row, engine)
        figures = {
            "engine": row["engine"],
            "device_name": f"device of {total:.1f} GiB",
            "device": f"{total:.0f}-gib",
            "devices": int(row["devices"]),
            "measured": float(row["pool_gib"]) * GIB,
            "ideal": (total - weights) * GIB,
        }
        kinds = {NEVER: predicted}
        if row["fitted"] == "yes":
            others = _without(source(row))[row["engine"]]
            without = pool_bytes(row, engine.changed(**others))
            kinds = {LEFT_OUT: without, IN_SAMPLE: predicted}
        for basis, pool in kinds.items():
            yield _row(
                row,
                f"pool-{number}{AGAIN if basis == LEFT_OUT else ''}",
                "pool",
                basis=basis,
                predicted=pool,
                low=pool_bytes(row, at_end(engine, "high")) + pool - predicted,
                high=pool_bytes(row, at_end(engine, "low")) + pool - predicted,
                **figures,
            )


def pool_engine(row: Mapping[str, str], told: bool = True) -> Engine:
    """The engine of a row of pools.csv as it set itself up, with what its start command gave it.

    On the row's device, as a plan has it; vLLM's first engine, which did not cut prompts (`chunked`
    is no), had one step for all devices and never less than the longest request. told: whether the
    command's step and requests are known, or only its fraction.
    """
    engine = presets.engine(row["engine"])
    if row["chunked"] == "no":
        engine = engine.changed(whole_prompt_tokens=UNCUT_TOKENS)
    else:
        engine = defaults.on_device(engine, row["device"], float(row["total_gib"]) * GIB)
    given = overrides.read(row["set"]) if told else {}
    return overrides.apply_engine(engine, {**given, "fraction": float(row["fraction"])})


def source(row: Mapping[str, str]) -> str:
    """Whose log it is: the repository or site; where no address is recorded, the log alone."""
    return site(row["source"]) or row["log"]


@cache
def _without(left_out: str) -> dict[str, dict[str, float]]:
    """The figures of each version of vLLM made without one source's logs."""
    found = {}
    for row in rows("pools_out_of_fold.csv"):
        if row["without"] == left_out:
            found.setdefault(row["engine"], {})[row["figure"]] = float(row["value"])
    return found


def pool_bytes(row: Mapping[str, str], engine: Engine) -> float:
    """Bytes that an engine leaves for the cache on the device of a row of pools.csv."""
    # Where a step is as long as the longest request, the row says how long that is.
    longest = float(row["length"] or 8192)
    return reserve(
        engine,
        total_bytes=float(row["total_gib"]) * GIB,
        weights_bytes=float(row["weights_gib"]) * GIB,
        layers=ANY_LAYERS,
        context_tokens=longest,
        width=float(row["width"]),
        vocabulary=float(row["vocabulary"]),
        devices=int(row["devices"]),
    ).pool_bytes


def at_end(engine: Engine, end: str) -> Engine:
    """The engine with every calibrated or assumed size of what it keeps at one end of its band."""
    sizes = ("non_torch_gib", "link_gib", "graphs_gib", "activation_per_width", "logit_bytes")
    ends = {name: getattr(engine.figures.get(name), end, None) for name in sizes}
    return engine.changed(**{name: value for name, value in ends.items() if value is not None})


def _capacities():
    for number, row in enumerate(rows("log_tokens.csv"), start=1):
        pool, token = float(row["pool_gib"]) * GIB, float(row["bytes_per_token"])
        context = float(row["max_model_len"] or 4096)
        plan = reserve(
            Engine("bare", "", block_tokens=int(row["block_tokens"] or 1)),
            total_bytes=pool,
            weights_bytes=0,
            layers=(CacheLayers(layers=1, token_bytes=token),),
            context_tokens=context,
        )
        figures = {
            "tokens": (plan.printed_tokens, token),
            "blocks": (plan.blocks, plan.block_bytes),
            "concurrency": (plan.concurrency, plan.blocks_per_request * plan.block_bytes),
        }
        for name, (predicted, size) in figures.items():
            if row[name]:
                yield _row(
                    row,
                    f"capacity-{number}-{name}",
                    "capacity",
                    engine=FAMILIES[row["engine"].split()[0]],
                    version=row["version"],
                    context_tokens=context,
                    measured=float(row[name]) * size,
                    predicted=predicted * size,
                    said=f"{name}: {predicted:,.10g} predicted, {float(row[name]):,.10g} printed",
                )


def token_bytes(row: dict[str, str]) -> float:
    """Cache bytes of one token on one device, as the model of a row of kv_logs.csv has them."""
    model = presets.model(row["model"])
    if row["part"] == "expanded":
        model = model.counterpart()
    share = int(row["tensor_parallel"])
    groups = tuple(parallel.device_group(group, share) for group in model.groups)
    shape = replace(model, groups=groups).cache_shape(
        float(row["key_bytes"]), float(row["value_bytes"])
    )
    windowed = sum(each for each, _ in shape.windowed)
    parts = {
        "all": shape.per_token + windowed,
        "full": shape.per_token,
        "window": windowed,
        "expanded": shape.per_token,
    }
    return parts[row["part"]] * float(row["times"])


def _token_bytes():
    for row in rows("kv_logs.csv"):
        yield _row(
            row | {"model": row["logged_model"]},
            row["id"].lower(),
            "token",
            engine=FAMILIES[row["engine"].split()[0]],
            version=row["engine"],
            devices=int(row["tensor_parallel"]),
            measured=float(row["bytes_per_token"]),
            predicted=token_bytes(row),
        )


def _activations():
    for number, row in enumerate(rows("activation_peaks.csv"), start=1):
        engine = presets.engines()[row["engine"]]
        predicted, least, most = (
            formulas.activation_bytes(
                each.activation_per_width,
                float(row["batched_tokens"]),
                float(row["width"]),
                each.logit_bytes,
                float(row["logit_rows"]),
                float(row["vocabulary"]),
            )
            for each in (engine, at_end(engine, "low"), at_end(engine, "high"))
        )
        yield _row(
            row,
            f"activation-{number}",
            "activation",
            basis=IN_SAMPLE if row["engine"] == PEAKS_OF else NEVER,
            engine=VLLM,
            context_tokens=float(row["batched_tokens"]),
            measured=float(row["activation_gib"]) * GIB,
            predicted=predicted,
            low=least,
            high=most,
        )


def _buffers():
    for number, row in enumerate(rows("compute_buffers.csv"), start=1):
        engine = presets.engines()[row["engine"]]
        predicted, least, most = (
            reserve(
                each,
                total_bytes=80 * GIB,
                weights_bytes=0,
                layers=ANY_LAYERS,
                context_tokens=float(row["context_tokens"]),
                width=float(row["width"]),
                vocabulary=float(row["vocabulary"]),
                query_heads=float(row["query_heads"]),
            ).activation_bytes
            for each in (engine, at_end(engine, "low"), at_end(engine, "high"))
        )
        yield _row(
            row,
            f"buffer-{number}",
            "activation",
            basis=IN_SAMPLE,
            engine=row["engine"],
            context_tokens=float(row["context_tokens"]),
            measured=float(row["mib"]) * 2**20,
            predicted=predicted,
            low=least,
            high=most,
        )


def _row(row, id, phase, *, basis=NEVER, measured, predicted, low=np.nan, high=np.nan,
         **more):  # fmt: skip
    """One row of the frame. The publisher of a log is the repository or site it stands in."""
    publisher = site(row["source"])
    return {
        "id": id,
        "phase": phase,
        "basis": basis,
        "model": row["model"],
        "version": "",
        "device": "",
        "device_name": "",
        "devices": 1,
        "requests": np.nan,
        "context_tokens": np.nan,
        "source_name": publisher.removeprefix("github.com/") or NOWHERE,
        "address": row["source"] if publisher else "",
        "note": row.get("note", ""),
        "said": "",
        "ideal": np.nan,
        "measured": measured,
        "predicted": float(predicted),
        "low": float(low),
        "high": float(high),
        **more,
    }
