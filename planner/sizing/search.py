"""Search: of every deployment that can be had, those that keep a promise, cheapest first."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from planner.inputs.scenario import Scenario
from planner.sizing import curve as curves
from planner.sizing import prices, queueing
from planner.sizing.batch import CHUNK, Tables, curves_of
from planner.sizing.curve import GRID, Curve
from planner.sizing.space import Choices, Space, choices
from planner.sizing.steady import Sizing, size
from planner.sizing.workload import Promise, Workload

COST, DEVICES = "cost", "devices"
RANKS = {COST: "cost", DEVICES: "number of devices"}
ALONE = GRID[:2]  # a grid of no request and of one


@dataclass(frozen=True)
class Ranked:
    """Deployments that keep a promise, best first; arrays of one figure for each.

    rows: what they are. replicas: the fewest, spares not counted. devices: of all replicas, spares
    too. usd: an hour of them, NaN where a device has no price. rate: requests per second of the
    whole deployment; utilisation, ttft_s, tpot_s (at the percentile) of one replica. tokens:
    output tokens per second and device. tried: deployments looked at, each at any number of
    replicas; refused: those of them whose pool holds none of the longest requests; slow: those that
    miss the promise with one request alone, by its first token (slow_first) or by the others
    (slow_tokens), some by both. front: the best
    that any deployment can do, (output tokens per second of one user, and of one device), by
    falling speed; its deployments are `front_rows`.
    """

    workload: Workload
    promise: Promise
    rows: Choices
    replicas: np.ndarray = field(repr=False)
    devices: np.ndarray = field(repr=False)
    usd: np.ndarray = field(repr=False)
    rate: np.ndarray = field(repr=False)
    utilisation: np.ndarray = field(repr=False)
    ttft_s: np.ndarray = field(repr=False)
    tpot_s: np.ndarray = field(repr=False)
    tokens: np.ndarray = field(repr=False)
    tried: int
    refused: int
    slow: int
    slow_first: int
    slow_tokens: int
    front: np.ndarray = field(repr=False)
    front_rows: Choices = field(repr=False)

    def __len__(self):
        return len(self.rows)

    def scenario(self, place: int) -> Scenario:
        """The deployment at a place of the ranking, 0 the best."""
        return self.rows.scenario(place)

    def sizing(self, place: int) -> Sizing:
        """The same with all its figures."""
        return size(self.workload, self.promise, self.scenario(place))

    def varied(self, count: int, limit: int = 1) -> list[int]:
        """Places of the best, so many, at most `limit` of each device."""
        found, seen = [], {}
        for place, device in enumerate(self.rows.device.tolist()):
            if seen.setdefault(device, 0) < limit:
                seen[device] += 1
                found.append(place)
            if len(found) == count:
                break
        return found


def search(
    workload: Workload,
    promise: Promise,
    space: Space,
    usd: dict[str, float] | None = None,
    rank: str = COST,
    progress: Callable[[float], None] = lambda _: None,
) -> Ranked:
    """Rank every deployment of a space that keeps a promise.

    usd: a device's price an hour, by its id; the median of its offers where nothing is said. rank:
    by cost or by devices; the other breaks ties. progress: called with the part done, 0 to 1.

    >>> from planner.sizing.search import search
    >>> from planner.sizing.space import Space
    >>> from planner import Promise, Workload
    >>> space = Space("llama-3.1-8b", devices=("h100-sxm", "l4"), engines=("vllm-0.34",))
    >>> found = search(Workload(rate=2, prompt=1000, output=200), Promise(), space)
    >>> found.scenario(0).device, int(found.devices[0])
    ('h100-sxm', 1)
    """
    every = choices(space)
    tables = Tables(every, workload, promise)
    most = tables.most(every) if len(every) else np.zeros(0)
    held = np.flatnonzero(most >= 1)
    found, fronts, done, slow = [], [], 0, np.zeros(3, int)
    for engine in range(len(every.engines)):
        own = held[every.engine[held] == engine]
        for start in range(0, len(own), CHUNK):
            part = own[start : start + CHUNK]
            done += len(part)
            first, tokens = _too_slow(tables, every.only(part), most[part])
            slow += [np.sum(first | tokens), np.sum(first), np.sum(tokens)]
            able = part[~(first | tokens)]
            if len(able):
                rows = every.only(able)
                curve = curves_of(tables, rows, most[able])
                found.append((able, *_figures(curve, rows, workload, promise)))
                fronts.append(_points(curve, rows, workload, promise, able))
            progress(done / len(held))
    counts = (len(every), len(every) - len(held), *slow.tolist())
    return _ranked(every, workload, promise, found, fronts, _usd(every, usd), rank, counts)


def _too_slow(tables, rows, most):
    """Which rows miss the promise for one request alone: by the first token, and by the others."""
    own, promise = curves_of(tables, rows, most, ALONE), tables.promise
    alone = curves.state_at(own, np.zeros(len(rows)), promise, 1.0)
    return alone.ttft_tail_s > promise.ttft_s, alone.tpot_tail_s > promise.tpot_s


def _figures(curve: Curve, rows, workload, promise):
    """(replicas, rate, utilisation, ttft_s, tpot_s) of each row in its steady state."""
    needed = curves.replicas(curve, promise)
    count = np.where(np.isfinite(needed), needed, 1.0)
    burst = queueing.divided_burst(workload.burst**2, count)
    state = curves.steady(curve, workload.asked / count, promise, burst)
    return needed, state.rate * count, state.utilisation, state.ttft_tail_s, state.tpot_tail_s


def _points(curve: Curve, rows, workload, promise, able):
    """What each row can do at each number of running requests: speed, tokens a device, whose."""
    running = curve.running[:, 1:]
    speed = 1 / curve.tpot_s[:, 1:]
    written = workload.written.mean
    tokens = curve.rate[:, 1:] * written / rows.layout_devices[:, None]
    in_time = curve.tail_s[:, 1:] <= promise.ttft_s
    own = np.broadcast_to(able[:, None], running.shape)
    return _front(np.stack([speed[in_time], tokens[in_time], own[in_time]]))


def _front(points):
    """Of points (speed, tokens, …) those that no other beats in both, by falling speed."""
    order = np.lexsort((-points[1], -points[0]))
    points = points[:, order]
    best = np.maximum.accumulate(points[1])
    keep = np.diff(best, prepend=-np.inf) > 0
    return points[:, keep]


def _usd(every, usd):
    """The price of each device of the table; NaN where there is none."""
    known = {device: each.usd for device, each in prices.priced().items()} if usd is None else usd
    return np.array([known.get(device, np.nan) for device in every.devices])


def _ranked(every, workload, promise, found, fronts, usd, rank, counts):
    columns = [np.concatenate(each) for each in zip(*found, strict=True)] if found else []
    if not columns:
        columns = [np.zeros(0, int), *(np.zeros(0) for _ in range(5))]
    able, needed, *rest = columns
    kept = np.isfinite(needed)
    able, needed, rest = able[kept], needed[kept], [each[kept] for each in rest]
    rows = every.only(able)
    devices = (needed + promise.spares) * rows.layout_devices
    cost = devices * usd[rows.device]
    first = {COST: (rest[1], devices, cost), DEVICES: (rest[1], cost, devices)}[rank]
    order = np.lexsort(first)
    rate, utilisation, ttft, tpot = (each[order] for each in rest)
    front = _front(np.concatenate(fronts, axis=1)) if fronts else np.zeros((3, 0))
    return Ranked(
        workload=workload,
        promise=promise,
        rows=rows.only(order),
        replicas=needed[order],
        devices=devices[order],
        usd=cost[order],
        rate=rate,
        utilisation=utilisation,
        ttft_s=ttft,
        tpot_s=tpot,
        tokens=rate * workload.written.mean / devices[order],
        **dict(zip(("tried", "refused", "slow", "slow_first", "slow_tokens"), counts, strict=True)),
        front=front[:2],
        front_rows=every.only(front[2].astype(int)),
    )
