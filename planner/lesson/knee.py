"""Find the knee: published steps of one model, device and engine at growing batches, and predicted.

Up to the knee a step takes hardly longer for more requests, because most of it is reading weights.
"""

from dataclasses import dataclass
from functools import cache

import pandas as pd

from planner.evidence import measurements, times

# The knee is the largest batch whose step takes at most so many times that of one request.
LONGER = 1.5


@dataclass(frozen=True)
class Series:
    """One published series of decode steps, and how it is named here."""

    id: str
    name: str
    engine: str
    model: str
    device: str
    devices: int
    context: int


SERIES = {
    each.id: each
    for each in (
        Series(
            "gpt-20b", "GPT 20B, FasterTransformer on four A100",
            "fastertransformer", "GPT 20B (FasterTransformer)", "a100-80-sxm", 4, 180,
        ),
        Series(
            "llama-405b", "Llama 3.1 405B, vLLM on eight MI300X",
            "vllm-0.20", "Llama 3.1 405B", "mi300x", 8, 3072,
        ),
        Series(
            "qwen3-30b", "Qwen3 30B-A3B (MoE), llama.cpp on a DGX Spark",
            "llama.cpp-cuda", "Qwen3 30B-A3B", "dgx-spark", 1, 528,
        ),
    )
}  # fmt: skip
MOST_BATCH = 256


@cache
def steps(series: str) -> pd.DataFrame:
    """A series by its id: `batch`, `measured_s`, `predicted_s` and, at these, tokens/s of all.

    The rates are `measured_rate` and `predicted_rate`. One row a batch, rising; `site` says
    whose publication it is.
    """
    own = SERIES[series]
    table = times.measured()
    rows = table[
        (table["phase"] == "decode")
        & (table["engine"] == own.engine)
        & (table["model"] == own.model)
        & (table["device"] == own.device)
        & (table["devices"] == own.devices)
        & (table["context_tokens"] == own.context)
    ].sort_values("requests")
    found = pd.DataFrame(
        {
            "batch": rows["requests"].astype(int).to_numpy(),
            "measured_s": rows["measured_s"].to_numpy(),
            "predicted_s": rows["predicted_s"].to_numpy(),
            "site": [measurements.site(address) for address in rows["address"]],
        }
    )
    for kind in ("measured", "predicted"):
        found[f"{kind}_rate"] = found["batch"] / found[f"{kind}_s"]
    return found


def knee(table: pd.DataFrame, kind: str) -> int:
    """The knee of a series by its `measured` or its `predicted` steps."""
    seconds = table[f"{kind}_s"]
    return int(table["batch"][seconds <= LONGER * seconds.iloc[0]].max())


def at(table: pd.DataFrame, batch: int) -> int:
    """The place of the largest batch of a series that is not above the one given."""
    return int((table["batch"] <= batch).sum()) - 1
