"""What an engine does where nobody told it: figures that a log leaves out, by version and device.

presets/log_defaults.csv has them for vLLM, whose step and number of requests follow from the
version, the memory of the device and for some devices from their name. The first row that fits
counts; rows of one version stand together, the newest first.
"""

from functools import cache
from typing import NamedTuple

from planner.files import rows
from planner.logs.parse import LogReading
from planner.units import GB, GIB

LARGEST_UNCUT = 32_768  # tokens; vLLM's first engine cuts longer prompts by default
SMALLEST_STEP = 2048
V0_SINCE = 8  # the last versions of vLLM 0.x whose only engine was the first one come before
RELEASES = {"vllm-0.5": 5, "vllm-0.20": 19, "vllm": 25, "vllm-0.26": 33, "vllm-0.34": 34}
KEPT_PREFIXES = 26  # vLLM 0.x that keeps prefixes of hybrid models by default


class Default(NamedTuple):
    """One row of presets/log_defaults.csv."""

    engine: str
    since: int
    device: str
    least_gib: float
    batched_tokens: int
    sequences: int
    source: str


@cache
def table() -> tuple[Default, ...]:
    """Every row, in the order of the file."""
    return tuple(
        Default(
            row["engine"],
            int(row["since"]),
            row["device"],
            float(row["least_gib"]),
            int(row["batched_tokens"]),
            int(row["sequences"]),
            row["source"],
        )
        for row in rows("log_defaults.csv")
    )


def step(reading: LogReading, release: int, device: str, memory_gb: float) -> Default | None:
    """How many tokens and requests a step of vLLM holds on this device; None for other engines.

    release: the second number of its version. device: its id, or “”. memory_gb: of the device.
    """
    if reading.engine != "vllm":
        return None
    gib = max(memory_gb, 0) * GB / GIB
    return next(
        row
        for row in table()
        if row.since <= release and row.device in ("", device) and row.least_gib <= gib
    )


def is_first_engine(reading: LogReading) -> bool:
    """Whether vLLM's first engine wrote this, which profiled a whole prompt in one step."""
    if reading.engine != "vllm":
        return False
    old = reading.release is not None and reading.release < V0_SINCE
    return old or reading.blocks is not None or reading.first_engine is not None


def whole_prompt(length: int) -> int:
    """Tokens of a step of vLLM's first engine: the longest request, as long as it is not cut."""
    return max(length, SMALLEST_STEP) if length <= LARGEST_UNCUT else SMALLEST_STEP


def state_slots(reading: LogReading, release: int) -> int:
    """Recurrent states that vLLM keeps of a request: its own, one a drafted token, and its prefix.

    Source: https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/v1/kv_cache_interface.py
    """
    kept = reading.prefix_caching
    kept = release >= KEPT_PREFIXES if kept is None else kept == "True"
    drafted = (reading.drafted or 0) if (reading.drafting or "none") != "none" else 0
    return 1 + drafted + kept


def release(reading: LogReading, engine: str) -> int:
    """The second number of vLLM's version; of the row that stands in where the log is silent."""
    if reading.release is not None:
        return reading.release
    return RELEASES.get(engine, max(RELEASES.values()))
