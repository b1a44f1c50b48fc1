"""One replica over the requests that run on it: its times, its rate, and what it can promise.

A curve has a grid of running requests along its last axis and any rows before it, so that one
deployment and a hundred thousand of them go through the same lines.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planner.sizing import queueing
from planner.sizing.queueing import between
from planner.sizing.workload import NORMAL, P95, Promise, Workload

# Running requests at which a curve is worked out; 0 stands for an idle replica.
GRID = np.array(
    [
        0,
        1,
        2,
        3,
        4,
        6,
        8,
        12,
        16,
        24,
        32,
        48,
        64,
        96,
        128,
        192,
        256,
        384,
        512,
        768,
        1024,
        2048,
        4096,
    ],
    float,
)
MOST_RUNNING = GRID[-1]
NEAR = 0.85  # part of the highest rate from which a percentile is shown as a range only
MOST_REPLICAS = 10_000
HALVINGS = 40
LEAST_ELASTICITY = 0.05


@dataclass(frozen=True)
class Curve:
    """A replica's times; seconds, the grid along the last axis.

    running: requests, from 0 to the most that are admitted, the same in every row of `most`.
    tpot_s: mean time per token; sway_s: its standard deviation over requests. first_s: to the first
    token of a prompt for which no other waits, tail_s: that of the 95th percentile. each_s:
    what one more prompt keeps the replica busy. most: requests that are admitted at once.
    """

    workload: Workload
    running: np.ndarray
    tpot_s: np.ndarray
    sway_s: np.ndarray
    first_s: np.ndarray
    tail_s: np.ndarray
    each_s: np.ndarray
    most: np.ndarray

    def slower(self, tpot, first) -> "Curve":
        """The same with its times longer by factors: of tokens, and of first tokens."""
        return replace(
            self,
            tpot_s=self.tpot_s * tpot,
            sway_s=self.sway_s * tpot,
            first_s=self.first_s * first,
            tail_s=self.tail_s * first,
            each_s=self.each_s * first,
        )

    @cached_property
    def stay_s(self):
        """How long a request stays once admitted, on the grid: its first token, then the others."""
        return self.first_s + np.maximum(self.workload.written.mean - 1, 0) * self.tpot_s

    @cached_property
    def rate(self):
        """Requests per second that so many running ones make, by Little's law: λ = N / R.

        More of them never make fewer.
        """
        return np.maximum.accumulate(self.running / self.stay_s, axis=-1)

    @cached_property
    def asked(self):
        """What a replica takes of the workload, in its own count: requests per second, or users.

        A user is either waiting for an answer or thinking: U = N + λ · Z.
        """
        workload = self.workload
        return self.running + self.rate * workload.think_s if workload.closed else self.rate


def seen(workload: Workload, running, most):
    """Requests that one of them sees on the replica: itself and, of a stream, as many as run.

    Users who never think are on it all the time, each among the others.
    """
    others = running if not workload.closed or workload.think_s else running - 1
    return np.minimum(np.maximum(others, 0) + 1, np.maximum(most, 1))


def sway_s(workload: Workload, prompts_s, running):
    """How far requests' mean steps are apart, where prompts add so much to the mean of all."""
    variations = workload.prompt.variation, workload.written.variation
    return queueing.sway_s(prompts_s, *variations, running)


def curve(workload: Workload, running, tpot_s, sway_s, first_s, tail_s, each_s) -> Curve:
    """A curve with the least that is true of all: a replica with more to do is never faster.

    Only one more prompt may take less, since more of them share a pass, and requests may differ
    less, since all of them meet prompts all the time.
    """
    site = workload.site
    tpot, first, tail = (
        np.maximum.accumulate(site * each, axis=-1) for each in (tpot_s, first_s, tail_s)
    )
    most = running[..., -1]
    return Curve(workload, running, tpot, site * sway_s, first, tail, site * each_s, most=most)


@dataclass(frozen=True)
class State:
    """A replica in its steady state; seconds, requests, a second. Without end where overloaded.

    running, waiting: requests at once. rate: per second. utilisation: of the highest rate that it
    can take. ttft_s, tpot_s: the mean; ttft_tail_s, tpot_tail_s: at the promise's percentile.
    own_first_s, prompts_wait_s, places_wait_s: what the mean first token consists of: its own
    prompt and the step under way, prompts ahead of it, and waiting to be admitted.
    """

    running: float
    waiting: float
    rate: float
    utilisation: float
    ttft_s: float
    tpot_s: float
    ttft_tail_s: float
    tpot_tail_s: float
    own_first_s: float
    prompts_wait_s: float
    places_wait_s: float

    def keeps(self, promise: Promise):
        """Whether the promise is kept."""
        return (
            (self.utilisation < 1)
            & (self.ttft_tail_s <= promise.ttft_s)
            & (self.tpot_tail_s <= promise.tpot_s)
        )


def state_at(own: Curve, running, promise: Promise, burst) -> State:
    """The state in which so many requests run on a replica.

    burst: squared coefficient of variation of the arrivals at this replica.
    """
    workload, part = own.workload, promise.part
    tables = (own.rate, own.tpot_s, own.sway_s, own.first_s, own.tail_s, own.each_s)
    rate, tpot, sway, first, tail, each = between(own.running, running, *tables)
    ceiling = own.rate[..., -1]
    # Arrivals come unevenly, so that at times more run than in the mean; the more slowly the rate
    # grows with what runs, the longer it takes to settle, and the further it strays.
    z = NORMAL.inv_cdf(part)
    strays = np.sqrt(running * (1 + burst) / 2 / _elasticity(own, running, rate))
    # Two queues: prompts for the replica's passes, one after the other, and requests for a place
    # among those that run, where all are taken.
    prompts = queueing.wait(rate * each, 1, each, (burst + workload.prompt.variation) / 2)
    places = queueing.wait_for_place(
        queueing.above(own.most, running, strays),
        (burst + workload.written.variation) / 2,
        ceiling - rate,
    )
    behind = queueing.behind_s(tpot, rate, each, workload.prompt.variation)
    admitted = first + prompts.mean_s + behind
    # Prompts differ, and so do the waits for others and for the step under way.
    own_variance = np.square((tail - first) / P95) + np.square(tpot) / 12
    late = queueing.gamma_quantile(admitted, own_variance + prompts.variance, z)
    busiest = np.minimum(running + z * strays, own.most)
    (slowest,) = between(own.running, busiest, own.tpot_s)
    # Some requests meet more prompts than others.
    apart = np.hypot(slowest - tpot, z * sway)
    utilisation = np.maximum(_share(rate, ceiling), rate * each)
    over = utilisation >= 1
    mean = admitted + places.mean_s
    ended = late + np.maximum(places.quantile_s(part), places.mean_s)
    return State(
        running=running,
        waiting=np.where(over, np.inf, rate * np.where(over, 0.0, places.mean_s)),
        rate=rate,
        utilisation=utilisation,
        ttft_s=np.where(over, np.inf, mean),
        tpot_s=tpot,
        ttft_tail_s=np.where(over, np.inf, ended),
        tpot_tail_s=tpot + apart,
        own_first_s=first,
        prompts_wait_s=prompts.mean_s + behind,
        places_wait_s=places.mean_s,
    )


def _elasticity(own, running, rate):
    """By how many per cent the rate grows with one per cent more that runs, up to 1."""
    (less,) = between(own.running, 0.9 * np.asarray(running), own.rate)
    grown = np.where(less > 0, rate / np.where(less > 0, less, 1.0), 1 / 0.9)
    return np.clip(np.log(grown) / np.log(1 / 0.9), LEAST_ELASTICITY, 1.0)


def _share(amount, most):
    """A part of the most there can be; ∞ where there can be none."""
    return np.where(most > 0, amount / np.where(most > 0, most, 1.0), np.inf)[()]


def steady(own: Curve, asked, promise: Promise, burst) -> State:
    """The state of a replica of which so much is asked: the fixed point of Little's law.

    asked: requests per second, or users. Beyond what it can take, all that it admits run, the
    others wait without end, and the utilisation says how many times too much it is.
    """
    takes = own.asked
    (running,) = between(takes, np.minimum(asked, takes[..., -1]), own.running)
    found = state_at(own, running, promise, burst)
    over = _share(asked, takes[..., -1])
    too_much = over >= 1
    return replace(
        found,
        utilisation=np.where(too_much, np.maximum(over, found.utilisation), found.utilisation),
        waiting=np.where(too_much, np.inf, found.waiting),
        places_wait_s=np.where(too_much, np.inf, found.places_wait_s),
        ttft_s=np.where(too_much, np.inf, found.ttft_s),
        ttft_tail_s=np.where(too_much, np.inf, found.ttft_tail_s),
    )


def highest(own: Curve, promise: Promise, burst):
    """The most that a replica can be asked for and keep the promise: requests a second, or users.

    0 where not even one request alone keeps it.
    """
    low, high = np.zeros_like(own.most), np.array(own.most, float)
    able = state_at(own, low, promise, burst).keeps(promise)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        kept = state_at(own, middle, promise, burst).keeps(promise)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    (asked,) = between(own.running, low, own.asked)
    return np.where(able, asked, 0.0)[()]


def replicas(own: Curve, promise: Promise):
    """The fewest replicas that keep the promise with its head room, spares not counted; ∞: none.

    A load that is dealt to more replicas comes more evenly to each of them.
    """
    burst = own.workload.burst**2

    def enough(count):
        each = own.workload.asked / (count * (1 - promise.headroom))
        evenly = queueing.divided_burst(burst, count)
        return steady(own, each, promise, evenly).keeps(promise)

    low = np.zeros_like(own.most)
    high = np.full_like(own.most, MOST_REPLICAS)
    able = enough(high)
    while np.any(high - low > 1):
        middle = np.ceil((low + high) / 2)
        kept = enough(middle)
        low, high = np.where(kept, low, middle), np.where(kept, middle, high)
    return np.where(able, high, np.inf)[()]
