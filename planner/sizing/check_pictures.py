"""What a simulation shows: times to first token over the closed form's, its queue, its blocks."""

import numpy as np

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.labels import Labels
from planner.charts.picture import Picture, by_column
from planner.sizing import charts_check as charts
from planner.sizing.charts import percentile
from planner.sizing.charts_check import RUNNING, WAITING
from planner.sizing.check import Check
from planner.sizing.steady import OVERLOADED

POINTS = 100  # of the line of times
BEYOND = 2.5  # times the promise that the axis of times shows at least
STRETCHES = 150  # of the lines over time


def verdict(found: Check) -> str:
    """What the simulation says, beside what the closed form says, in two or three sentences."""
    own, run = found.sizing, found.simulation
    if not len(found.ttft_s):
        return "None of the requests was served: each is longer than the whole pool."
    promise = own.promise
    name = percentile(promise.percentile)
    kept = "keeps the promise" if found.keeps else "does not keep the promise"
    closed = "without bound"
    if own.load != OVERLOADED:
        closed = f"{describe.duration(own.ttft_s.low)} to {describe.duration(own.ttft_s.high)}"
    speed, slow, fast = (1 / each for each in (found.tail("tpot_s"), *_ends(own.tpot_s)))
    said = (
        f"In the simulation of {describe.whole(len(run.requests))} requests a replica {kept}: the "
        f"{name} of the time to first token is {describe.duration(found.tail('ttft_s'))} (closed "
        f"form: {closed}), that of the speed {describe.significant(speed)} tokens/s (closed form: "
        f"{describe.significant(slow)} to {describe.significant(fast)})."
    )
    if run.refused.any():
        said += f" {describe.whole(run.refused.sum())} are longer than the whole pool."
    if run.preempted:
        said += (
            f" Requests gave up their blocks {describe.whole(run.preempted)} times and were read "
            "again: the pool is full."
        )
    return said


def _ends(band):
    return band.high, band.low


def pictures(found: Check) -> list[Picture]:
    """Times to first token, requests over time, blocks over time."""
    return [spread(found), queue(found), blocks(found)]


def spread(found: Check) -> Picture:
    """Which part of the requests have their first token by when."""
    own = found.sizing
    promise = own.promise
    parts = np.linspace(0, 100, POINTS + 1)
    times = np.percentile(found.ttft_s, parts)
    low, high = own.ttft_s.low, own.ttft_s.high
    wide = ceiling(max(BEYOND * promise.ttft_s, 1.2 * found.tail("ttft_s")))
    rows = list(zip(np.minimum(times, 2 * wide).tolist(), parts.tolist(), strict=True))
    said = [
        f"{part:.0f} % of the requests have their first token within {describe.duration(time)}"
        for time, part in zip(times, parts, strict=True)
    ]
    words = Labels(
        lambda x: np.divide(x, wide),
        lambda y: np.divide(y, 100),
        [
            (np.minimum(times, wide), parts),
            (np.array([low, min(high, wide)]), np.full(2, promise.percentile)),
        ],
    )
    words.write(f"promise: {promise.ttft_s:g} s", [(promise.ttft_s, 12.0)])
    words.write(
        f"closed form, {percentile(promise.percentile)}",
        [(min(high, wide), promise.percentile), (low, promise.percentile)],
        ((1, -1), (-1, -1), (1, 1)),
    )
    return Picture(
        "simulated",
        "Simulated: times to first token",
        charts.spread,
        (wide,),
        {
            "rows": by_column(rows, "ttft", "part"),
            "closed": {
                "low": [low], "high": [min(high, 2 * wide)], "part": [promise.percentile],
            },
            "promise": {"ttft": [promise.ttft_s]},
            "words": words.columns("ttft", "part"),
        },
        {"ttft": "time to first token (s)", "part": "requests (%)"},
        "Simulated times to first token: half of the requests within "
        f"{describe.duration(np.median(found.ttft_s))}, {promise.percentile:g} % within "
        f"{describe.duration(found.tail('ttft_s'))}.",
        {"rows": said},
    )  # fmt: skip


def queue(found: Check) -> Picture:
    """Requests that run and wait, over time."""
    time, lines = _over_time(found)
    top, wide = ceiling(max(1.0, *(each.max() for each in lines.values()))), float(time[-1])
    rows = [
        (name, at, count)
        for name, counts in lines.items()
        for at, count in zip(time.tolist(), counts.tolist(), strict=True)
    ]
    said = [f"at {at:,.0f} s {count:.1f} requests {name}" for name, at, count in rows]
    words = Labels(
        lambda x: np.divide(x, wide),
        lambda y: np.divide(y, top),
        [(time, each) for each in lines.values()],
    )
    for name, counts in lines.items():
        words.name(name, time, counts)
    series = found.simulation.series
    return Picture(
        "simulated-queue",
        "Simulated: requests that run and wait",
        charts.queue,
        (wide, top),
        {
            "rows": by_column(rows, "line", "time", "requests"),
            "words": words.columns("time", "requests"),
        },
        {"line": "line", "time": "time (s)", "requests": "requests"},
        f"Requests over time: {series.running.mean():.1f} run and {series.waiting.mean():.1f} wait "
        f"in the mean; at most {series.running.max():.0f} run and {series.waiting.max():.0f} wait.",
        {"rows": said},
    )


def blocks(found: Check) -> Picture:
    """The part of the pool that is held, over time."""
    time, held = _thinned(found.simulation.series, "held")
    rows = list(zip(time.tolist(), (100 * held).tolist(), strict=True))
    return Picture(
        "simulated-blocks",
        "Simulated: blocks of the pool",
        charts.blocks,
        (float(time[-1]),),
        {"rows": by_column(rows, "time", "held")},
        {"time": "time (s)", "held": "blocks held (%)"},
        f"Blocks held over time: {100 * held.mean():.0f} % of the pool in the mean, "
        f"{100 * held.max():.0f} % at most.",
        {"rows": [f"at {at:,.0f} s {part:.0f} % of the blocks" for at, part in rows]},
    )


def _over_time(found):
    time, running = _thinned(found.simulation.series, RUNNING)
    return time, {RUNNING: running, WAITING: _thinned(found.simulation.series, WAITING)[1]}


def _thinned(series, name):
    """Means over fewer stretches, from the first arrival on."""
    values = getattr(series, name)
    size = max(len(values) // STRETCHES, 1)
    count = len(values) // size
    start = 2 * series.time_s[0] - series.time_s[1] if len(values) > 1 else 0.0
    ends = series.time_s[size - 1 :: size][:count] - start
    return ends, values[: count * size].reshape(count, size).mean(1)
