"""Published serving runs that stand beside a deployment's curve of latency against load.

Runs of the same model in the same weights on as many of the same devices, with prompts and outputs
of half to twice the mean lengths. Most are closed loops, which state how many requests ran and how
long each took: their rate is λ = N / R by Little's law. Nothing here is simulated or interpolated.
"""

from dataclasses import dataclass
from functools import cache

from planner import describe, files
from planner.latency import measured
from planner.sizing.steady import Sizing

MOST = 12  # the nearest; more would hide the curve
APART = 2  # times as long or as short


@dataclass(frozen=True)
class Run:
    """One measured run of one replica: requests at once, their mean tokens, their mean times."""

    running: float
    prompt_tokens: float
    output_tokens: float
    ttft_s: float
    tpot_s: float
    engine: str
    source: str

    @property
    def rate(self) -> float:
        """Requests per second: λ = N / R."""
        return self.running / (self.ttft_s + (self.output_tokens - 1) * self.tpot_s)

    @property
    def sentence(self) -> str:
        """What ran, what was measured, and who says so."""
        return (
            f"Measured on one replica: {describe.significant(self.rate)} requests/s, first token "
            f"after {describe.duration(self.ttft_s)}, {describe.duration(self.tpot_s)} a token "
            f"(means); {describe.requests(self.running)} of {describe.whole(self.prompt_tokens)} + "
            f"{describe.whole(self.output_tokens)} tokens at once, {self.engine}. "
            f"Source: {self.source}"
        )


@cache
def _first_tokens():
    """Seconds to the first token of the runs that state it, by their ids."""
    runs = files.rows("measurements/steps.csv")
    return {row["id"]: float(row["ttft_ms"]) / 1000 for row in runs if row["ttft_ms"]}


def runs(own: Sizing) -> list[Run]:
    """The published runs of such a replica, those that say most of it first; at most `MOST`.

    None of one that guesses tokens ahead or has a part of the model in host memory.
    """
    if own.scenario.draft or own.scenario.placed.any:
        return []
    workload, setup = own.workload, own.found.estimate.setup
    prompt, output = workload.prompt.mean - workload.spared, workload.written.mean
    near = measured.neighbours(setup, max(float(own.state.running), 1.0), prompt, output)
    alike, first = (setup.device, setup.weights, setup.tensor), _first_tokens()
    found = [
        Run(
            each.running,
            each.prompt_tokens,
            each.output_tokens,
            first[each.id],
            each.measured_s,
            each.engine_name,
            each.source_name,
        )
        for each in near
        if (each.device, each.weights, each.tensor) == alike
        and each.id in first
        and prompt / APART <= each.prompt_tokens <= prompt * APART
        and output / APART <= each.output_tokens <= output * APART
    ]
    return found[:MOST]
