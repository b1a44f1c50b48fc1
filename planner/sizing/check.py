"""A sizing checked by simulation: one of its replicas, request by request.

A replica gets its share of the load: of a stream, requests at random; of users, its own. What comes
while it still fills up is simulated and not counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.sizing import queueing
from planner.sizing.arrivals import Requests, drawn
from planner.sizing.simulate import Simulation, simulate
from planner.sizing.steady import Sizing

REQUESTS = 10_000
FILLING = 0.1  # part of the requests that come first, in which it fills up


@dataclass(frozen=True)
class Check:
    """A replica's simulation. ttft_s, tpot_s: of the requests that count, in seconds, unsorted."""

    sizing: Sizing
    simulation: Simulation
    ttft_s: np.ndarray
    tpot_s: np.ndarray

    def tail(self, name: str) -> float:
        """A measure at the promise's percentile; NaN where no request was served."""
        values = getattr(self, name)
        return (
            float(np.percentile(values, self.sizing.promise.percentile)) if len(values) else np.nan
        )

    @property
    def keeps(self) -> bool:
        """Whether the simulated replica keeps the promise."""
        promise = self.sizing.promise
        return self.tail("ttft_s") <= promise.ttft_s and self.tail("tpot_s") <= promise.tpot_s


def check(
    own: Sizing,
    count: int = REQUESTS,
    seed: int = 0,
    progress: Callable[[float], bool] | None = None,
    trace: Requests | None = None,
) -> Check:
    """Simulate one replica of a sizing for so many requests, or for its share of a trace.

    progress: as `simulate` has it.
    """
    load = share(own, count, seed) if trace is None else share_of(own, trace, seed)
    count = len(load)
    found = simulate(
        own.found,
        load,
        users=users(own),
        think_s=thinking(own, count, seed),
        site=own.workload.site,
        progress=progress,
    )
    first = 0 if trace is not None else int(FILLING * count)
    counted = found.served & (np.arange(len(found.served)) >= first)
    tpot = found.tpot_s[counted]
    return Check(own, found, found.ttft_s[counted], tpot[np.isfinite(tpot)])


def groups(own: Sizing) -> int:
    """Among how many the load is shared: data-parallel groups of all replicas."""
    return own.replicas * own.scenario.dp


def users(own: Sizing) -> int:
    """Users of each group; 0 of a stream."""
    return max(round(own.workload.users / groups(own)), 1) if own.workload.closed else 0


def thinking(own: Sizing, count: int, seed: int = 0) -> np.ndarray:
    """Times that users think before each request, exponential: else they come to ask together."""
    return np.random.default_rng((seed, 1)).exponential(own.workload.think_s, count)


def share(own: Sizing, count: int, seed: int = 0) -> Requests:
    """The requests that one group gets."""
    load, parts = own.workload, groups(own)
    if load.closed:
        # As fast as those who only think come the first of each user, and the others by themselves.
        rate, burst = users(own) / max(load.think_s, 1.0), 1.0
    else:
        rate = load.rate / parts
        burst = np.sqrt(queueing.divided_burst(load.burst**2, parts))
    made = drawn(
        count,
        rate=rate,
        burst=float(burst),
        prompt=(load.prompt.median, load.prompt.p95, load.prompt.mean),
        output=(load.output.median, load.output.p95, load.output.mean),
        prefix_tokens=int(load.prefix),
        hit_rate=load.hit_rate,
        output_cap=int(load.output_cap),
        seed=seed,
    )
    if not load.closed:
        return made
    last = made.arrival_s[min(users(own), count) - 1]
    return replace(made, arrival_s=np.minimum(made.arrival_s, last))


def share_of(own: Sizing, trace: Requests, seed: int = 0) -> Requests:
    """The requests of a trace that one group gets, as fast as the workload has them."""
    here = np.flatnonzero(np.random.default_rng(seed).random(len(trace)) < 1 / groups(own))
    here = here if len(here) else np.array([0])
    span = trace.arrival_s[-1]
    own_rate = (len(trace) - 1) / span if span else 0.0
    scale = own_rate / own.workload.rate if own_rate and own.workload.rate else 1.0
    return trace.taken(here, trace.arrival_s * scale)
