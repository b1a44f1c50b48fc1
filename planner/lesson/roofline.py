"""Two phases: prefill and decode on a device's roofline, and the time line of one request.

Everything comes from plans of a scenario, with its ideal engine or another; batch and prompt vary.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner import formulas
from planner.inputs.scenario import Scenario
from planner.models.model import Model
from planner.plan import plan

PREFILL, DECODE = "prefill", "decode"
MEMORY, COMPUTE = "memory", "compute"
LOWEST, HIGHEST = 0.1, 1e6  # FLOPs per byte: a step of one request, and the longest of prompts


def ridge(scenario: Scenario) -> float:
    """FLOPs per byte at which memory and arithmetic take equally long: peak / BW."""
    device = plan(scenario)
    return formulas.arithmetic_intensity(device.peak_flops, device.bandwidth_bytes_per_s)


def roof(scenario: Scenario, points=200) -> pd.DataFrame:
    """The roof itself: `intensity`, over LOWEST to HIGHEST, and `attainable` FLOP/s."""
    device = plan(scenario)
    intensity = np.union1d(np.geomspace(LOWEST, HIGHEST, points), ridge(scenario))
    attainable = formulas.attainable_flops(
        intensity, device.bandwidth_bytes_per_s, device.peak_flops
    )
    return pd.DataFrame({"intensity": intensity, "attainable": attainable})


def phases(scenario: Scenario, prompt_tokens, batch, *, model: Model | None = None) -> pd.DataFrame:
    """Where prefill and decode sit under the roof, for each prompt length and batch given.

    prompt_tokens and batch may be numbers or arrays that broadcast. Prefill reads `batch` prompts
    in one pass; decode is the step after it, one token for each of `batch` requests. Bytes moved
    are the weights once, and the caches: written in prefill, read in decode.

    Columns: `phase`, `prompt_tokens`, `batch`, `flops`, `moved_bytes`, `intensity`, `attainable`
    (FLOP/s), `share_of_peak` (0 to 1), `seconds` at that rate, `bound` (MEMORY or COMPUTE).
    """
    prompt, batch = (np.ravel(a) for a in np.broadcast_arrays(prompt_tokens, batch))
    prompt = prompt.astype(float)
    now = plan(scenario, model=model, context=prompt, concurrency=batch)
    # What one more token costs is what the next longer pass costs more.
    one_more = plan(scenario, model=model, context=prompt + 1, concurrency=batch)
    flops = {
        PREFILL: batch * now.prefill_flops,
        DECODE: batch * (one_more.prefill_flops - now.prefill_flops),
    }
    # Tokens of a prompt ask for weights as so many requests would: all of a dense model's, and the
    # more experts of a mixture the more tokens pass at once.
    as_requests = plan(scenario, model=model, context=prompt, concurrency=batch * prompt)
    weights = {PREFILL: as_requests.weights_read_bytes, DECODE: now.weights_read_bytes}
    tables = []
    for phase, work in flops.items():
        moved = weights[phase] + now.cache_bytes
        intensity = formulas.arithmetic_intensity(work, moved)
        attainable = formulas.attainable_flops(intensity, now.bandwidth_bytes_per_s, now.peak_flops)
        table = {
            "phase": phase,
            "prompt_tokens": prompt.astype(int),
            "batch": batch,
            "flops": work,
            "moved_bytes": moved,
            "intensity": intensity,
            "attainable": attainable,
            "share_of_peak": attainable / now.peak_flops,
            "seconds": formulas.compute_seconds(work, attainable),
            "bound": np.where(attainable < now.peak_flops, MEMORY, COMPUTE),
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class RequestTimes:
    """One request from its arrival to its last token, in seconds.

    The first token comes with the end of prefill, so N tokens take N − 1 decode steps. `tpot_s` is
    their mean, 0 where there are none. `prefill_s` and `weights_s` are what TTFT is the longer of.
    """

    ttft_s: float
    prefill_s: float
    weights_s: float
    steps_s: np.ndarray
    total_s: float

    @property
    def tpot_s(self):
        return float(self.steps_s.mean()) if len(self.steps_s) else 0.0


def request_times(scenario: Scenario, prompt_tokens, new_tokens, *, model=None) -> RequestTimes:
    """Work out one request while `scenario.concurrency` requests of its kind decode at once.

    Each step reads caches that are one token longer: the step that writes token k+1 reads
    prompt + k tokens of every request. Nobody else's prefill or queue is counted.
    """
    first = plan(scenario, model=model, context=prompt_tokens)
    as_requests = plan(scenario, model=model, context=prompt_tokens, concurrency=prompt_tokens)
    context = prompt_tokens + np.arange(1, new_tokens, dtype=float)
    steps = np.broadcast_to(
        plan(scenario, model=model, context=context).decode_step_s, context.shape
    )
    return RequestTimes(
        ttft_s=float(first.ttft_s),
        prefill_s=float(first.prefill_s),
        weights_s=float(as_requests.weights_read_s),
        steps_s=steps,
        total_s=float(first.ttft_s + steps.sum()),
    )


def timeline(scenario, prompt_tokens, new_tokens, *, model=None, bars=200) -> pd.DataFrame:
    """The time line as bars: `phase`, `first_token`, `last_token`, `start_s`, `end_s`, `step_s`.

    Prefill is one bar and gives token 1. Decode steps are joined evenly where there are more than
    `bars`; `step_s` is their mean. Bars touch, and the last one ends at the request's total.
    """
    times = request_times(scenario, prompt_tokens, new_tokens, model=model)
    rows = [(PREFILL, 1, 1, 0.0, times.ttft_s, times.ttft_s)]
    start, token = times.ttft_s, 2
    for part in np.array_split(times.steps_s, min(bars, len(times.steps_s)) or 1):
        if len(part):
            end = start + float(part.sum())
            rows.append((DECODE, token, token + len(part) - 1, start, end, float(part.mean())))
            start, token = end, token + len(part)
    columns = ["phase", "first_token", "last_token", "start_s", "end_s", "step_s"]
    return pd.DataFrame(rows, columns=columns)
