"""A benchmark's result against what is predicted of the same load, and the factor of the site.

The load of the benchmark is simulated: as many requests, of the mean lengths, at its rate or with
as many users. A figure that cannot be is named before it is compared.
"""

import math
from dataclasses import dataclass

import numpy as np

from planner.inputs.scenario import Scenario
from planner.latency import measured as witnesses
from planner.serving import Evaluation, evaluate
from planner.sizing.arrivals import Requests, drawn
from planner.sizing.benchmarks import Measured
from planner.sizing.simulate import NAMES, Simulation, simulate

MOST_SIMULATED = 4000  # requests; more of the same tell nothing new
# From which factor between the gaps of a stream and the time per token several come at once.
PIECES = 1.25
UNSTREAMED = 0.9  # part of the whole time from which a first token came with the last


@dataclass(frozen=True)
class Row:
    """One figure of a run, seconds: as measured, as predicted, and the ends of its band."""

    measure: str
    statistic: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def factor(self) -> float:
        """How much longer it took than predicted."""
        return self.measured / self.predicted

    @property
    def inside(self) -> bool:
        """Whether what was measured lies in the band."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Comparison:
    """A run, figure by figure. problems: what is wrong with it, in sentences; impossible: measures
    that cannot be and are not compared. site: how much longer a pass takes there than here; None
    where nothing tells."""

    run: Measured
    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    impossible: tuple[str, ...]
    site: float | None
    simulation: Simulation


def compare(scenario: Scenario, run: Measured, *, seed: int = 0) -> Comparison:
    """A run against the simulation of its load with a scenario's model, devices and engine.

    The scenario's own load does not count.
    """
    found, requests, users = evaluate(scenario), load(run, seed), run.users or 0
    simulation = simulate(found, requests, users=users)
    running = max(round(float(simulation.series.running.mean())), 1)
    # The ends of a step's band go through the same queue, so that they part where it grows.
    step = evaluate(scenario, concurrency=running).estimate.step_band(True)
    ends = [simulate(found, requests, users=users, site=float(each)).summary() for each in step]
    predicted = simulation.summary()
    impossible, problems = _problems(run, _least_tpot_s(scenario, run))
    rows = []
    for name in (each for each in NAMES if each not in impossible):
        apart = _first_token_width(found) if name == "ttft_s" else 1.0
        for statistic, value in getattr(run, name).items():
            at, low, high = (each[name][statistic] for each in (predicted, *ends))
            if np.isfinite(at):
                rows.append(Row(name, statistic, value, at, low / apart, high * apart))
    return Comparison(run, tuple(rows), problems, impossible, _site(rows), simulation)


def load(run: Measured, seed: int = 0) -> Requests:
    """The requests of a run, all of its mean lengths."""
    count = min(run.requests, MOST_SIMULATED)
    lengths = [max(round(each), 1) for each in (run.prompt_tokens, run.output_tokens)]
    rate = run.rate
    if rate is None and run.users is None:
        rate = run.requests_per_s
    if rate is None or math.isinf(rate):
        at_once = np.zeros(count)
        return Requests(at_once, *(np.full(count, each) for each in lengths))
    prompt, output = ((each, each) for each in lengths)
    return drawn(count, rate=rate, prompt=prompt, output=output, seed=seed)


def _least_tpot_s(scenario, run):
    """The lower bound of a token's time: of one request alone, at full bandwidth."""
    context = max(round(run.prompt_tokens), 1)
    return float(evaluate(scenario, concurrency=1, context=context).estimate.least_step_s)


def _problems(run, least_s):
    """(measures that cannot be, sentences)."""
    impossible, said = [], []
    tpot, ttft, whole = (getattr(run, name).get("mean") for name in ("tpot_s", "ttft_s", "e2e_s"))
    gap = run.gap_s.get("mean")
    if run.failed:
        asked = run.requests + run.failed
        said.append(f"{run.failed:,} of {asked:,} requests failed; what they took is not in it.")
    if tpot is not None and tpot < least_s and run.output_tokens > 1:
        impossible.append("tpot_s")
        said.append(
            f"A TPOT of {tpot * 1e3:.2f} ms is below the lower bound of "
            f"{least_s * 1e3:.2f} ms, in which the weights are read once: tokens were streamed in "
            "pieces, drafted, or the model or the devices are others. It is not compared."
        )
    elif gap and tpot and gap > PIECES * tpot:
        said.append(
            f"Tokens came in pieces of {gap / tpot:.1f} in the mean: the time between pieces, "
            f"{gap * 1e3:.1f} ms, is no TPOT."
        )
    if ttft and whole and run.output_tokens > 2 and ttft > UNSTREAMED * whole:
        impossible.append("ttft_s")
        said.append(
            "The first token came with the last: the answers were not streamed, so that their time "
            "to first token is that of the whole answer. It is not compared."
        )
    return tuple(impossible), tuple(said)


def _first_token_width(found: Evaluation):
    """By how much a first token may be off besides, as a factor."""
    if not found.estimate.case:
        return 1.0
    return float(np.exp(witnesses.half_width("first token", found.timing.family)))


def _site(rows):
    """Measured by predicted: of the time per token, else of the whole time; mean or median."""
    for name in ("tpot_s", "e2e_s"):
        known = {row.statistic: row.factor for row in rows if row.measure == name}
        for statistic in ("mean", "p50"):
            if statistic in known:
                return known[statistic]
    return None
