"""Check by simulation: continuous batching, request by request, with the plan's own step and pool.

Requests are admitted first come first served, where a seat and the blocks of their whole prompt are
free; a pass takes one token of each that decodes and fills up with prompts, cut where its tokens
end; where no block is left, the youngest request gives up its own and is read again later (vLLM's
scheduler: https://github.com/vllm-project/vllm/blob/v0.19.0/vllm/v1/core/sched/scheduler.py).
Engines that do not mix read prompts in passes of their own; engines that admit whole requests keep
the room of an answer from the start. Between two arrivals, prompts and finishes nothing changes but
the caches, so all steps until then are one jump. Every time is the plan's (`sizing.steps`), every
block the pool's (`sizing.blocks`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.engines.defaults import step_defaults
from planner.engines.timing import KernelTiming
from planner.inputs import overrides
from planner.inputs.scenario import NUMBERS, Scenario
from planner.serving import Evaluation, evaluate
from planner.sizing.arrivals import Requests
from planner.sizing.batching import Batching
from planner.sizing.blocks import ENDLESS, cut
from planner.sizing.steps import steps

MOST_POINTS = 600  # of a series over time
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Series:
    """Means over equal stretches of time that end at `time_s`: requests that wait and run, and the
    part of the pool that is held."""

    time_s: np.ndarray
    waiting: np.ndarray
    running: np.ndarray
    held: np.ndarray


@dataclass(frozen=True)
class Simulation:
    """What became of every request, in the order of their coming.

    scheduled_s, first_token_s, last_token_s: on the engine's clock, NaN where it did not come to
    that. seen_s: how much later its user sees a first token. refused: longer than the whole pool.
    preempted: how often requests gave up their blocks. read_tokens, reused_tokens: of prompts, read
    anew for a preempted request too, and found in the cache. passes: of the engine; events: what
    was computed for them. stopped: whether it was ended before the last request.
    """

    requests: Requests
    scheduled_s: np.ndarray
    first_token_s: np.ndarray
    last_token_s: np.ndarray
    seen_s: np.ndarray
    refused: np.ndarray
    series: Series
    blocks: int
    preempted: int
    read_tokens: int
    reused_tokens: int
    passes: int
    events: int
    stopped: bool

    @cached_property
    def served(self) -> np.ndarray:
        """Which requests have their last token."""
        return np.isfinite(self.last_token_s)

    @property
    def ttft_s(self) -> np.ndarray:
        """Time to first token of each request, as its user sees it; NaN where there is none."""
        return self.first_token_s - self.requests.arrival_s + self.seen_s

    @property
    def e2e_s(self) -> np.ndarray:
        """Time from asking to the last token."""
        return self.last_token_s - self.requests.arrival_s + self.seen_s

    @property
    def tpot_s(self) -> np.ndarray:
        """Time per output token after the first; NaN of requests with one token."""
        more = self.requests.output_tokens - 1
        return (self.last_token_s - self.first_token_s) / np.where(more > 0, more, np.nan)

    @property
    def span_s(self) -> float:
        """From the first arrival to the last token."""
        if not self.served.any():
            return 0.0
        return float(np.nanmax(self.last_token_s) - self.requests.arrival_s[0])

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens written a second, over the whole span."""
        written = self.requests.output_tokens[self.served].sum()
        return float(written / self.span_s) if self.span_s else 0.0

    def summary(self) -> dict[str, dict[str, float]]:
        """Mean and percentiles of ttft_s, tpot_s and e2e_s over the requests served."""
        return {name: spread(getattr(self, name)[self.served]) for name in NAMES}


NAMES = ("ttft_s", "tpot_s", "e2e_s")


def spread(values: np.ndarray) -> dict[str, float]:
    """Mean and `PERCENTILES` of what is known among the values; NaN where nothing is."""
    known = values[np.isfinite(values)]
    if not len(known):
        return dict.fromkeys(("mean", *(f"p{each}" for each in PERCENTILES)), float("nan"))
    found = np.percentile(known, PERCENTILES)
    return {
        "mean": float(known.mean()),
        **{f"p{each}": float(at) for each, at in zip(PERCENTILES, found, strict=True)},
    }


def simulate(
    scenario: Scenario | Evaluation,
    requests: Requests,
    *,
    blocks: int | None = None,
    seats: int | None = None,
    users: int = 0,
    think_s: float | np.ndarray = 0.0,
    site: float = 1.0,
    skip: bool = True,
    progress: Callable[[float], bool] | None = None,
) -> Simulation:
    """Serve the requests with a scenario's model, devices and engine, each as it comes.

    Of several data-parallel groups one is simulated and gets all the requests given: deal them out
    before. The scenario's own load counts nowhere. blocks: of the pool, where an engine has
    printed them. seats: most requests at once, the engine's own default where nothing is said.
    users: so many ask at once at most, and again `think_s` after their last answer (one number, or
    one before each request); 0: requests come when they come. Then requests may come in another
    order, and stand in it. site: how much longer a pass takes there than here, as a benchmark told
    (`sizing.against`). skip: whether steps alike are one jump. progress: called with the part of
    the requests that are done; where it returns True the simulation ends there.

    >>> from planner import Scenario
    >>> from planner.sizing.arrivals import drawn
    >>> from planner.sizing.simulate import simulate
    >>> load = drawn(200, rate=2, prompt=(1024, 1024), output=(128, 128))
    >>> found = simulate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34"), load)
    >>> print(found.served.all(), found.preempted)
    True 0
    """
    found = scenario if isinstance(scenario, Evaluation) else evaluate(scenario)
    seats = seats or most_seats(found)
    lengths = requests.prompt_tokens + requests.output_tokens
    prompt, output = requests.prompt_tokens.mean(), requests.output_tokens.mean()
    pool = cut(found, blocks)
    longest = lengths[~pool.refuses(lengths)].max(initial=1)
    table = steps(found, seats, int(longest), prompt, output, site)
    run = Batching(
        table,
        pool,
        requests,
        seats=seats,
        pass_tokens=int(min(found.engine.batched_tokens, ENDLESS)),
        whole=getattr(found.timing, "whole_requests", False),
        users=users,
        think_s=np.broadcast_to(np.asarray(think_s, float), len(requests)).tolist(),
        skip=skip,
        lags=found.engine.steps_in_flight > 1,
    )
    run.serve(progress)
    arrival, own_s = np.array(run.arrival), np.array(run.own_s)
    order = np.argsort(arrival, kind="stable")
    seen_s = np.zeros(len(requests))
    if isinstance(found.timing, KernelTiming):
        seen_s = found.timing.interface_ms * 1e-3 + (found.timing.own_passes - 1) * own_s
    return Simulation(
        requests=requests.taken(order, arrival),
        scheduled_s=np.array(run.scheduled)[order],
        first_token_s=np.array(run.first)[order],
        last_token_s=np.array(run.last)[order],
        seen_s=seen_s[order],
        refused=np.array(run.refused)[order],
        series=_series(run, pool.blocks),
        blocks=pool.blocks,
        preempted=run.preempted,
        read_tokens=run.read_tokens,
        reused_tokens=run.reused_tokens,
        passes=run.passes,
        events=run.events,
        stopped=run.stopped,
    )


def most_seats(found: Evaluation) -> int:
    """Requests that an engine runs at once by its own default, whatever its pool holds."""
    known = step_defaults().get(found.engine.id, ())
    given = "logit_rows" in overrides.read(found.plan.scenario.set)
    if given or any(row.requests for row in known):
        return int(found.engine.logit_rows)
    return int(NUMBERS["concurrency"].maximum)


def _series(run, blocks):
    """The states after every event as means over `MOST_POINTS` equal stretches of time."""
    times, *states = np.array(run.states, float).T
    states = np.array(states)
    ends = np.linspace(times[0], times[-1], min(MOST_POINTS, len(times)) + 1)
    lasted = np.diff(times)
    # Each state holds from the end of the event before it to that of its own.
    areas = np.concatenate([np.zeros((3, 1)), np.cumsum(states[:, 1:] * lasted, axis=1)], axis=1)
    at_ends = np.array([np.interp(ends, times, each) for each in areas])
    stretch = np.diff(ends)
    means = np.diff(at_ends, axis=1) / np.where(stretch > 0, stretch, 1.0)
    return Series(ends[1:], means[0], means[1], means[2] / blocks)
