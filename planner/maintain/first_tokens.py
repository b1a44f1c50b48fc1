"""Fits how long a first token waits in a closed loop, on runs below saturation.

The interface's 16 ms are held, since few rows of short prompts show them. NVIDIA's runs of
Llama 8B carry seconds of start-up in their mean, which falls with more requests, and one engine
compiles during its first runs of DeepSeek: these are predicted, never fitted on.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner import formulas
from planner.engines.passes import Host
from planner.engines.timing import constants
from planner.latency.estimate import NEAR, OVER
from planner.maintain.rows import Rows
from planner.maintain.solve import least_squares, soft

FAMILIES = ("vllm", "sglang", "tensorrt-llm")
START = np.array([1.2, 0.05, 0.5, 10.0, 5.0])  # own passes, part ahead, steps seen of each family
OUTLIER = 0.2
COMPILING_S = 5.0
WAITS = 3.0  # times what is predicted: the request has queued …
WAITS_SHARE = 0.07  # … and this part of its whole time was before the first token


@dataclass(frozen=True)
class FirstTokens:
    """Rows with a first token. clean: fitted on; judged: whose verdict counts."""

    rows: Rows
    measured_s: np.ndarray
    parts: tuple
    free: np.ndarray
    clean: np.ndarray
    judged: np.ndarray

    def predicted_s(self, found) -> np.ndarray:
        """Seconds by the five constants."""
        step, own, each = self.parts
        family = self.rows.family
        steps = np.select([family == name for name in FAMILIES], found[2:], found[2])
        return formulas.first_token_seconds(
            constants()["interface_ms"] * 1e-3,
            steps,
            step,
            found[0] * own,
            found[1],
            self.rows.requests,
            each,
        )

    def fit(self, use) -> np.ndarray:
        """The five constants that make |log(predicted / measured)| of the rows `use` small."""

        def residuals(found):
            off = np.log(np.maximum(self.predicted_s(found), 1e-4) / self.measured_s)[use]
            return soft(off, OUTLIER)

        return least_squares(residuals, START, np.zeros(len(START)))

    def left_out(self, keys) -> np.ndarray:
        """Seconds of every free row without those that share its key; NaN of the others."""
        found = np.full(len(self.rows), np.nan)
        for key in np.unique(keys[self.free]):
            here = self.free & (keys == key)
            found[here] = self.predicted_s(self.fit(self.clean & (keys != key)))[here]
        return found

    def right(self, predicted_s) -> np.ndarray:
        """Whether the verdict is right: who is said to be stable or saturated is; near counts."""
        rows, measured = self.rows, self.measured_s
        whole = measured + rows.output_tokens * rows.measured_s
        waits = (measured > WAITS * predicted_s) & (measured > WAITS_SHARE * whole)
        stable, over = rows.full < NEAR, rows.full >= OVER
        return (stable & ~waits) | (over & waits) | (~stable & ~over)


def first_tokens(rows: Rows, host: Host) -> FirstTokens:
    """What the rows' first tokens wait for, with these constants of a pass."""
    measured = rows["ttft_ms"] * 1e-3
    have = rows.reference & np.isfinite(measured)
    stable = rows.full < NEAR
    deepseek = (rows["model"] == "deepseek-v3") & (rows.family == "sglang")
    compiling = deepseek & (measured > COMPILING_S) & stable
    timing = replace(rows.timing, host=host)
    free = have & stable & ~compiling
    return FirstTokens(
        rows=rows,
        measured_s=measured,
        parts=timing.first_token_parts(rows.work, rows.requests, rows.pass_tokens),
        free=free,
        clean=free & (rows["source"] != "nvidia"),
        judged=have & ~compiling,
    )
