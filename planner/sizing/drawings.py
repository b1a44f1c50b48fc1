"""The pictures of a sizing: what deployments can do, and where one of them tips over."""

from datetime import date

import numpy as np

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.labels import Labels
from planner.charts.picture import Picture, by_column
from planner.sizing import charts, published, queueing
from planner.sizing import curve as curves
from planner.sizing.answer import Answer
from planner.sizing.levers import Lever
from planner.sizing.report import name
from planner.sizing.steady import Sizing
from planner.sizing.view import stale

POINTS = 60  # of a line
SHOWN = 6  # deployments marked beside the front, of as many devices
BEYOND = 4  # times the promise that an axis of times shows
PROMISED = "promise kept"
LEAST = 0.25  # times today's rate, where the axis of changes begins


def front(found: Answer, today: date) -> Picture:
    """What any deployment here can do at best, and where the best of each device would run.

    Rings are of prices that are out of date. Across: tokens per second of one user; up: output
    tokens per second of one device.
    """
    ranked, promised = found.ranked, found.ask.speed
    speed, tokens = ranked.front
    rows = _thinned(speed, tokens)
    sentences = [
        f"{name(ranked.front_rows.scenario(row))}: {_speed(speed[row])}, {_tokens(tokens[row])}"
        for row in rows
    ]
    best = ranked.varied(SHOWN)
    marked = [
        (1 / ranked.tpot_s[each], ranked.tokens[each], place == 0, stale(found, each, today))
        for place, each in enumerate(best)
    ]
    said = [
        f"{describe.whole(ranked.devices[each])} × {name(ranked.scenario(each))}: "
        f"{_speed(1 / ranked.tpot_s[each])}, {_tokens(ranked.tokens[each])}"
        f"{', its price out of date' if old else ''}"
        for each, (*_, old) in zip(best, marked, strict=True)
    ]
    across = ceiling(max([2 * promised, *speed[rows], *(x for x, *_ in marked)]))
    up = ceiling(max([1.0, *tokens[rows], *(y for _, y, *_ in marked)]))
    line = (speed[rows], tokens[rows])
    words = Labels(
        lambda x: np.divide(x, across),
        lambda y: np.divide(y, up),
        [line] if len(rows) > 1 else [(np.zeros(2), np.zeros(2))],
        [(x, y) for x, y, *_ in marked],
    )
    words.write(f"{PROMISED}: {promised:g} tokens/s", [(promised, 0.97 * up)], ((1, -1),))
    for (x, y, first, _), each in zip(marked, best, strict=True):
        label = ranked.scenario(each).the_device.name.partition(" (")[0]
        words.write(label, [(x, y)], weight="bold" if first else "normal", optional=not first)
    return Picture(
        "front",
        "Throughput against speed: the best there is",
        charts.front,
        (across, up),
        {
            "rows": by_column(list(zip(*line, strict=True)), "speed", "tokens"),
            "points": by_column(marked, "speed", "tokens", "best", "stale"),
            "promise": {"speed": [promised], "end": [across]},
            "words": words.columns("speed", "tokens"),
        },
        {"speed": "speed per user (tokens/s)", "tokens": "throughput per device (tokens/s)"},
        "Throughput of a device against the speed of one user, the best of "
        f"{describe.whole(ranked.tried)} deployments. "
        f"{'; '.join(said) or 'None keeps the promise'}.",
        {"rows": sentences, "points": said},
    )


def _thinned(speed, tokens):
    """Some 40 rows of the front, even along its speeds; its ends are among them."""
    if not len(speed):
        return np.zeros(0, int)
    wanted = np.linspace(speed[0], speed[-1], 40)
    return np.unique(np.abs(speed[None] - wanted[:, None]).argmin(1))


def _speed(value):
    return f"{describe.significant(value)} tokens/s a user"


def _tokens(value):
    return f"{describe.significant(value)} tokens/s a device"


def tipping(own: Sizing) -> Picture:
    """Time to first token of a deployment over its load: the mean, and the promise's percentile.

    Rings are means that were measured on one such replica, at as many times its rate.
    """
    workload, promise, count = own.workload, own.promise, own.replicas
    burst = queueing.divided_burst(workload.burst**2, count)
    most = float(own.own.asked[-1])
    asked = np.linspace(0, most, POINTS + 1)[1:-1]
    states = [
        curves.steady(each, asked, promise, burst) for each in (own.own, own.fast_own, own.slow_own)
    ]
    state, fast, slow = states
    rate = state.rate * count
    top = ceiling(BEYOND * promise.ttft_s)
    wide = ceiling(max(rate[-1], own.rate) * 1.02)
    lines = {
        "mean": state.ttft_s,
        charts.percentile(promise.percentile): state.ttft_tail_s,
    }
    rows = [
        (line, x, min(y, 10 * top))
        for line, values in lines.items()
        for x, y in zip(rate.tolist(), values.tolist(), strict=True)
        if np.isfinite(y)
    ]
    said = [f"{x:.3g} requests/s, {line}: {describe.duration(y)}" for line, x, y in rows]
    band = list(
        zip(
            rate.tolist(),
            np.minimum(fast.ttft_tail_s, 10 * top).tolist(),
            np.minimum(slow.ttft_tail_s, 10 * top).tolist(),
            strict=True,
        )
    )
    words = Labels(
        lambda x: np.divide(x, wide),
        lambda y: np.divide(y, top),
        [(rate, np.minimum(values, 2 * top)) for values in lines.values()],
    )
    near = [each for each in published.runs(own) if each.rate * count <= wide]
    near = [each for each in near if each.ttft_s <= top]
    rings = [(each.rate * count, each.ttft_s) for each in near]
    times = f". Drawn at {count} times its rate" if count > 1 else ""
    words.write(f"your load: {own.rate:.3g} requests/s", [(own.rate, 0.95 * top)])
    words.write(f"promise: {promise.ttft_s:g} s", [(0.0, promise.ttft_s)], ((1, 1),))
    for line, values in lines.items():
        words.name(line, rate, np.where(values < top, values, np.nan))
    if rings:
        words.write("measured", rings, optional=True)
    return Picture(
        "tipping",
        "Where it tips over: time to first token",
        charts.tipping,
        (wide, top, charts.percentile(promise.percentile)),
        {
            "rows": by_column(rows, "line", "rate", "ttft"),
            "band": by_column(band, "rate", "low", "high"),
            "load": {"rate": [own.rate]},
            "promise": {"ttft": [promise.ttft_s]},
            "measured": by_column(rings, "rate", "ttft"),
            "words": words.columns("rate", "ttft"),
        },
        {"line": "line", "rate": "requests per second", "ttft": "time to first token (s)"},
        f"Time to first token over the load. At {own.rate:.3g} requests per second the "
        f"{charts.percentile(promise.percentile)} is {describe.duration(own.ttft_s.low)} to "
        f"{describe.duration(own.ttft_s.high)}; {own.highest_rate:.3g} keep the promise."
        f"{f' {len(near)} published runs stand beside it.' if near else ''}",
        {"rows": said, "measured": [each.sentence + times for each in near]},
    )


def tornado(own: Sizing, made: list[Lever]) -> Picture:
    """What each change does to the highest rate that keeps the promise."""
    factors = [each.rate_factor(own) for each in made]
    high = max([2.0, *(2 ** np.ceil(np.log2(each)) for each in factors if each > 0)])
    shown = np.clip(factors, LEAST, high)
    said = [
        f"{each.label}{f' ({each.note})' if each.note else ''}: "
        f"{_times(factor)} as many requests keep the promise"
        for each, factor in zip(made, factors, strict=True)
    ]
    rows = [
        (each.label, float(factor), 1.0, bool(factor >= 1))
        for each, factor in zip(made, shown, strict=True)
    ]
    return Picture(
        "levers",
        "What would change it: the highest rate, one change at a time",
        charts.tornado,
        (LEAST, float(high), len(made)),
        {"rows": by_column(rows, "label", "factor", "today", "better")},
        {"label": "change", "factor": "highest rate, times today's"},
        f"What single changes do to the highest rate. {'; '.join(said)}.",
        {"rows": said},
    )


def _times(factor):
    return "none" if not factor else f"{describe.significant(factor)} times"
