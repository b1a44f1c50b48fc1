"""Plans over a range, as tidy pandas frames: what each chart draws and the table behind it."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from planner import describe
from planner.inputs.scenario import NUMBERS, Scenario
from planner.plan import Plan, plan
from planner.serving import Evaluation, evaluate, parts
from planner.units import GB

# Tokens a second at about 0.75 words a token: some 270, 500 and 850 words a minute.
READING_SPEEDS = {6: "reading", 11: "fast reading", 19: "skimming"}

SHORTEST, LONGEST = NUMBERS["context"].minimum, NUMBERS["context"].maximum
MOST = NUMBERS["concurrency"].maximum
CONTEXTS = np.geomspace(SHORTEST, LONGEST, 53).round()  # four an octave
FINE = np.geomspace(SHORTEST, LONGEST, 105).round()  # eight an octave
CONCURRENCIES = np.unique(np.geomspace(1, MOST, 49).round())

SLOWEST_READING_S = 1 / min(READING_SPEEDS)
# What an axis is written in, from the least value at which it is: 10,000 GB are 10 TB.
MEMORY_UNITS = ((1e16, 1e15, "PB"), (1e13, 1e12, "TB"), (0, 1e9, "GB"))
TIME_UNITS = ((36e3, 3600, "h"), (10, 1, "s"), (0, 1e-3, "ms"))
LADDER = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Drawing:
    """What one chart needs: named frames, where its axis ends, and itself in words.

    The frame called `rows` is the chart's table; `columns` names what of it a person reads. data:
    the frames, or their columns, all of one length, by name: making a frame takes longer than
    computing what is in it, and a moving slider needs none.
    """

    data: dict[str, pd.DataFrame | dict]
    bounds: tuple[float, ...]
    columns: dict[str, str]
    alt: str

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        """Every frame by name."""
        return {name: pd.DataFrame(held) for name, held in self.data.items()}

    def table(self) -> pd.DataFrame:
        """The rows behind the chart, in columns that say their unit."""
        return self.frames["rows"][list(self.columns)].rename(columns=self.columns)


def ceiling(value: float) -> float:
    """The next round number at or above a value: where an axis ends, so that it moves seldom."""
    size = 10 ** math.floor(math.log10(value))
    return next(step for step in LADDER if step * size >= value * 0.999999) * size


def axis(most: float, units) -> tuple[float, float, str]:
    """Where an axis ends that must hold a value, the size of its unit, and the unit."""
    size, unit = next((size, unit) for least, size, unit in units if most >= least)
    return ceiling(most / size), size, unit


def variants(scenario: Scenario) -> dict[str, Plan]:
    """The plan and its counterpart by label, the one with the larger cache first."""
    own = plan(scenario)
    other = plan(scenario, model=own.model.counterpart())
    pair = sorted((own, other), key=lambda each: -each.cache_bytes)
    return {describe.variant(each.model): each for each in pair}


def own_of(pair: dict[str, Plan]) -> Plan:
    """The plan of the scenario's own model among its variants."""
    return pair[label_of(pair)]


def label_of(pair: dict[str, Plan]) -> str:
    """The label of the scenario's own model among its variants."""
    return next(label for label, each in pair.items() if each.model == each.scenario.the_model)


def step_sentence(label, seconds, cache_share):
    share = describe.significant(100 * cache_share, 2)
    return f"{label}: {describe.duration(seconds)} a token, {share} % of it reading cache"


def experts(scenario: Scenario) -> Drawing:
    """What a step reads of a mixture of experts over the concurrency, in GB, on all devices."""
    whole = replace(scenario, tp=1, pp=1, dp=1, ep=1)
    counts = np.union1d(CONCURRENCIES, scenario.concurrency)

    def sentence(count, read, share):
        share = describe.significant(100 * share)
        return f"{describe.requests(count)} read {describe.data(read)}, {share} % of the experts"

    swept, now = plan(whole, concurrency=counts), plan(whole)
    read = swept.weights_read_bytes
    rows = {
        "concurrency": counts,
        "read": read / GB,
        "sentence": [
            sentence(*each) for each in zip(counts, read, swept.experts_read, strict=True)
        ],
    }
    here = sentence(now.concurrency, now.weights_read_bytes, now.experts_read)
    where = {"concurrency": now.concurrency, "read": now.weights_read_bytes / GB}
    label = describe.data(now.weights_read_bytes)
    return Drawing(
        {"rows": rows, "point": _point(here, label, now.concurrency / MOST < 0.01, **where)},
        (ceiling(now.weights_bytes / GB),),
        {"concurrency": "concurrency (requests)", "read": "weights read in a step (GB)"},
        f"Weights that a step reads, over the concurrency. {here}.",
    )


def _stack(pair, made):
    """The rows of all variants as one column each. `made` makes those of one from its plan."""
    found = {label: made(label, each) for label, each in pair.items()}
    own = label_of(pair)
    stacked = {name: np.concatenate([f[name] for f in found.values()]) for name in found[own]}
    stacked["variant"] = np.repeat(list(found), len(found[own]["sentence"]))
    stacked["own"] = stacked["variant"] == own
    return stacked


def latency(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """Decode step over the context, a line a variant; for the own one, what it is made of."""
    load = describe.requests(scenario.concurrency)
    contexts = np.union1d(CONTEXTS, scenario.context)
    own, label = own_of(pair), label_of(pair)
    most, size, unit = axis(max(1.05 * SLOWEST_READING_S, 2 * own.decode_step_s), TIME_UNITS)

    def lines(label, each):
        swept = plan(scenario, model=each.model, context=contexts)
        steps = zip(contexts, swept.decode_step_s, swept.cache_share_of_step, strict=True)
        return {
            "context": contexts,
            "weights": np.full_like(swept.decode_step_s, swept.weights_read_s / size),
            "cache": np.broadcast_to(swept.cache_read_s / size, contexts.shape),
            "step": swept.decode_step_s / size,
            "rate": swept.tokens_per_s_per_request,
            "sentence": [
                f"{n:,.0f} tokens, {load}. {step_sentence(label, seconds, share)}"
                for n, seconds, share in steps
            ],
        }

    rows = _stack(pair, lines)
    sentence = f"{scenario.context:,} tokens, {load}. " + step_sentence(
        label, own.decode_step_s, own.cache_share_of_step
    )
    full = own.max_context_tokens
    low = [rows["step"] <= level * most for level in (0.92, 0.75)]
    where = {"context": scenario.context, "step": own.decode_step_s / size}
    return Drawing(
        {
            "rows": rows,
            "ends": _names(rows, pair, low, "context", "step"),
            "point": _point(
                sentence,
                describe.duration(own.decode_step_s),
                along(scenario.context) < 0.2,
                **where,
            ),
            "speeds": speeds(most, size),
            "full": _full(full),
        },
        (most, unit),
        {
            "variant": "variant",
            "context": "context (tokens)",
            "weights": f"reading weights ({unit})",
            "cache": f"reading cache ({unit})",
            "step": f"time per token ({unit})",
            "rate": "tokens/s per request",
        },
        f"Time per token over the context. At {sentence}.",
    )


def engine_latency(served: Evaluation) -> Drawing:
    """Decode step over the context as the engine does it: its parts, its band, the ideal line."""
    scenario, own = served.plan.scenario, served.plan
    contexts = np.union1d(CONTEXTS, scenario.context)
    now = served.tpot_s
    most, size, unit = axis(max(1.05 * SLOWEST_READING_S, 2 * now.value), TIME_UNITS)
    swept = evaluate(scenario, context=contexts)
    step, band = swept.mixed or swept.step, swept.tpot_s
    rows, top = {"context": contexts}, np.zeros(len(contexts))
    for name, seconds in parts(step):
        top = top + seconds / size
        rows[name] = top
    rows |= {"low": band.low / size, "high": band.high / size, "step": band.value / size}
    rows["ideal"] = np.broadcast_to(swept.plan.decode_step_s / size, contexts.shape)
    load = describe.requests(scenario.concurrency)

    def sentence(context, each, low, high):
        return (
            f"{context:,.0f} tokens, {load}. {served.engine.name}: {describe.duration(each)} a "
            f"token ({describe.duration(low)} to {describe.duration(high)})"
        )

    times = zip(contexts, band.value, band.low, band.high, strict=True)
    rows["sentence"] = [sentence(*each) for each in times]
    here = sentence(scenario.context, now.value, now.low, now.high)
    ideal = describe.duration(own.decode_step_s)
    names, short = [], served.engine.name.partition(",")[0]
    for name, column, level in ((short, "step", 0.92), ("ideal", "ideal", 0.75)):
        at = np.flatnonzero(rows[column] <= level * most)
        if len(at):
            context = contexts[at[-1]]
            left = column == "step" or along(context) > 0.8
            side = ("right", -8) if left else ("left", 8)
            names.append((name, context, rows[column][at[-1]], *side))
    full = longest(evaluate(scenario, context=FINE).fits)
    where = {"context": scenario.context, "step": now.value / size}
    label = describe.duration(now.value)
    return Drawing(
        {
            "rows": rows,
            "ends": by_column(names, "variant", "context", "step", "align", "shift"),
            "point": _point(here, label, along(scenario.context) < 0.2, **where),
            "speeds": speeds(most, size),
            "full": _full(full),
        },
        (most, unit),
        {
            "context": "context (tokens)",
            "step": f"time per token ({unit})",
            "low": f"80 % band from ({unit})",
            "high": f"to ({unit})",
            "ideal": f"ideal ({unit})",
        },
        f"Time per token over the context. At {here}; ideal {ideal}.",
    )


def longest(fits) -> float:
    """The longest of the contexts `FINE` at which a load fits, told for each of them; 0: none."""
    return float(FINE[fits].max()) if np.any(fits) else 0.0


def fit(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """The longest context that fits at each concurrency, a line a variant."""
    counts = np.union1d(CONCURRENCIES, scenario.concurrency)

    def lines(label, each):
        longest = plan(scenario, model=each.model, concurrency=counts).max_context_tokens
        seen = (longest >= SHORTEST) & (longest <= LONGEST)
        return {
            "concurrency": counts,
            "longest": longest,
            "line": np.where(seen, longest, np.nan),
            "edge": longest.clip(SHORTEST, LONGEST),
            "least": np.full(len(counts), SHORTEST),
            "greatest": np.full(len(counts), LONGEST),
            "sentence": [
                f"{label}: {describe.requests(count)} of up to {describe.whole(n)} tokens fit"
                for count, n in zip(counts, longest, strict=True)
            ],
        }

    rows = _stack(pair, lines)
    seen = ~np.isnan(rows["line"])
    # Names stand away from the present point's own words.
    near = 16 <= scenario.concurrency <= 256
    levels = (512, 4) if near else (64, 8)
    low = [seen & (rows["concurrency"] <= level) for level in levels]
    own = own_of(pair)
    load = f"{describe.requests(scenario.concurrency)} of {scenario.context:,} tokens"
    here = "fits" if own.fits else "does not fit"
    where = {"line": scenario.context, "concurrency": scenario.concurrency}
    return Drawing(
        {
            "rows": rows,
            "ends": _names(rows, pair, low, "line", "concurrency"),
            "point": _point(f"{load}: {here}", here, along(scenario.context) < 0.2, **where),
            "corners": _corners(scenario, own),
        },
        (),
        {
            "variant": "variant",
            "concurrency": "concurrency (requests)",
            "longest": "longest context (tokens)",
        },
        f"Where a load fits, by concurrency and context. {load}: {here}; at most "
        f"{describe.whole(own.max_concurrency)} requests of this context, or "
        f"{describe.whole(own.max_context_tokens)} tokens at this concurrency.",
    )


def _corners(scenario, own):
    """What the map's areas are, said in the corners of the smallest and the greatest load."""
    ends = [(SHORTEST, 1, "left", 8, -10), (LONGEST, MOST, "right", -8, 14)]
    said = [
        "fits" if plan(scenario, model=own.model, context=n, concurrency=b).fits else "does not fit"
        for n, b, *_ in ends
    ]
    return {**by_column(ends, "line", "concurrency", "align", "shift", "lift"), "label": said}


def along(context):
    """Where a context lies on the logarithmic axis, 0 to 1."""
    return math.log(context / SHORTEST) / math.log(LONGEST / SHORTEST)


def _point(sentence, label, at_left, **where):
    side = {"align": "left", "shift": 10} if at_left else {"align": "right", "shift": -10}
    point = {**where, **side, "label": label, "sentence": sentence}
    return {name: [value] for name, value in point.items()}


def _full(context):
    """Where memory is full, as far as the axis goes; its words stay inside the plot."""
    side = ("right", -5) if context > LONGEST / 8 else ("left", 5)
    rows = [(float(context), "memory full", *side)] if SHORTEST <= context <= LONGEST else []
    return by_column(rows, "context", "label", "align", "shift")


def by_column(rows, *names):
    """Rows as columns by name; empty ones where there are no rows."""
    held = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, map(list, held), strict=True))


def speeds(most, size):
    """A line at each reading speed; a name only where the one below leaves room for it."""
    rows, room = [], 0
    for speed, name in sorted(READING_SPEEDS.items(), reverse=True):
        at = 1 / speed / size
        rows.append((at, f"{name}, {speed} tokens/s" if at - room >= most / 10 else ""))
        room = at if rows[-1][1] else room
    count = len(rows)
    return {**by_column(rows, "step", "label"), "align": ["left"] * count, "shift": [4] * count}


def _names(rows, pair, shown, x, y):
    """Where each line's name goes: at its last row that is shown, away from the other line.

    The first line is the one with the larger cache and lies to the left; `shown` has a mask for
    each, so that the two names stand at different heights.
    """
    names = []
    for place, (label, mask) in enumerate(zip(pair, shown, strict=False)):
        at = np.flatnonzero(mask & (rows["variant"] == label))
        if place and len(at):  # a line that never rises: its name further in, not over the first
            at = at[_before(rows[x][at], 0.75)]
        if len(at):
            context = rows[x][at[-1]]
            left = along(context) > (0.65 if place else 0.35)
            side = ("right", -8) if left else ("left", 8)
            names.append((label, context, rows[y][at[-1]], *side))
    return by_column(names, "variant", x, y, "align", "shift")


def _before(contexts, most):
    return [along(each) <= most for each in contexts]
