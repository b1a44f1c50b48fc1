"""Plans over a range, as tidy pandas frames: what each chart draws and the table behind it."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner import words
from planner.accelerator import GB
from planner.plan import Plan, plan
from planner.scenario import NUMBERS, Scenario

# Tokens a second at about 0.75 words a token: some 270, 500 and 850 words a minute.
READING_SPEEDS = {6: "reading", 11: "fast reading", 19: "skimming"}

SHORTEST, LONGEST = NUMBERS["context"].minimum, NUMBERS["context"].maximum
MOST = NUMBERS["concurrency"].maximum
CONTEXTS = np.geomspace(SHORTEST, LONGEST, 53).round()  # four an octave
CONCURRENCIES = np.unique(np.geomspace(1, MOST, 49).round())

SLOWEST_READING_MS = 1e3 / min(READING_SPEEDS)
LADDER = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Drawing:
    """What one chart needs: named frames, where its axis ends, its table, and itself in words."""

    frames: dict[str, pd.DataFrame]
    bounds: tuple[float, ...]
    table: pd.DataFrame
    alt: str


def ceiling(value: float) -> float:
    """The next round number at or above a value: where an axis ends, so that it moves seldom."""
    size = 10 ** math.floor(math.log10(value))
    return next(step for step in LADDER if step * size >= value * 0.999999) * size


def variants(scenario: Scenario) -> dict[str, Plan]:
    """The plan and its counterpart by label, the one with the larger cache first."""
    own = plan(scenario)
    other = plan(scenario, model=own.model.counterpart())
    pair = sorted((own, other), key=lambda each: -each.cache_bytes)
    return {words.variant(each.model): each for each in pair}


def own_of(pair: dict[str, Plan]) -> Plan:
    """The plan of the scenario's own model among its variants."""
    return next(each for each in pair.values() if each.model == each.scenario.the_model)


def memory(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant in GB: weights, cache, what is beyond the memory, what stays free."""
    rows, sentences = [], []
    for label, each in pair.items():
        usable, needed = each.memory_usable_bytes, each.memory_needed_bytes
        sentence = (
            f"{label}: {words.data(each.weights_bytes)} weights + {words.data(each.cache_bytes)} "
            f"cache = {words.data(needed)} of {words.data(usable)} "
            f"({words.gib(needed)} of {words.gib(usable)})"
        )
        sentences.append(sentence)
        edges = (0, each.weights_bytes, needed)
        for part, start, end in zip(("weights", "cache"), edges, edges[1:], strict=False):
            if min(end, usable) > start:
                rows.append((label, part, start / GB, min(end, usable) / GB, sentence))
            if end > usable:
                rows.append((label, "does not fit", max(start, usable) / GB, end / GB, sentence))
        if each.fits:
            rows.append((label, "free", needed / GB, usable / GB, sentence))
    parts = pd.DataFrame(rows, columns=["variant", "part", "start", "end", "sentence"])
    usable = own_of(pair).memory_usable_bytes
    mark = pd.DataFrame({"at": [usable / GB], "label": [words.data(usable)]})
    return Drawing(
        {"parts": parts, "mark": mark},
        (ceiling(parts.end.max()),),
        _lengths(parts, "GB"),
        "Memory at this load. " + ". ".join(sentences) + ".",
    )


def step(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant in ms: reading the weights, reading the caches."""
    rows, sentences = [], []
    for label, each in pair.items():
        sentence = _step_sentence(label, each.decode_step_s, each.cache_share_of_step)
        sentences.append(sentence)
        weights, end = each.weights_read_s * 1e3, each.decode_step_s * 1e3
        rows += [
            (label, "weights", 0.0, weights, sentence),
            (label, "cache", weights, end, sentence),
        ]
    parts = pd.DataFrame(rows, columns=["variant", "part", "start", "end", "sentence"])
    return Drawing(
        {"parts": parts},
        (ceiling(parts.end.max()),),
        _lengths(parts, "ms"),
        "What a decode step is made of. " + ". ".join(sentences) + ".",
    )


def _lengths(parts, unit):
    table = parts.assign(size=parts.end - parts.start)[["variant", "part", "size"]]
    return table.rename(columns={"size": f"size ({unit})"})


def _step_sentence(label, seconds, cache_share):
    share = words.significant(100 * cache_share, 2)
    return f"{label}: {words.duration(seconds)} a token, {share} % of it reading cache"


def latency(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """Decode step in ms over the context, a line a variant; for the own one, what it is made of."""
    frames = []
    load = words.requests(scenario.concurrency)
    for label, each in pair.items():
        swept = plan(scenario, model=each.model, context=CONTEXTS)
        steps = zip(CONTEXTS, swept.decode_step_s, swept.cache_share_of_step, strict=True)
        frame = pd.DataFrame(
            {
                "variant": label,
                "own": each.model == scenario.the_model,
                "context": CONTEXTS,
                "weights": swept.weights_read_s * 1e3,
                "step": swept.decode_step_s * 1e3,
                "sentence": [
                    f"{n:,.0f} tokens, {load}. {_step_sentence(label, step, share)}"
                    for n, step, share in steps
                ],
            }
        )
        frames.append(frame)
    lines = pd.concat(frames, ignore_index=True)
    own = own_of(pair)
    now = own.decode_step_s
    most = ceiling(max(1.05 * SLOWEST_READING_MS, 2e3 * now))
    sentence = f"{scenario.context:,} tokens, {load}. " + _step_sentence(
        words.variant(own.model), now, own.cache_share_of_step
    )
    full = own.max_context_tokens
    visible = [float(full)] if SHORTEST <= full <= LONGEST else []
    table = lines.assign(cache=lines.step - lines.weights, rate=1e3 / lines.step)
    names = {
        "context": "context (tokens)",
        "weights": "reading weights (ms)",
        "cache": "reading cache (ms)",
        "step": "time per token (ms)",
        "rate": "tokens/s per request",
    }
    return Drawing(
        {
            "own": lines[lines.own],
            "lines": lines,
            "ends": _ends(lines[lines.step <= 0.8 * most], "context"),
            "point": _point(
                sentence, words.duration(now), context=scenario.context, step=now * 1e3
            ),
            "speeds": pd.DataFrame(
                {
                    "step": [1e3 / speed for speed in READING_SPEEDS],
                    "label": [
                        f"{name}, {speed} tokens/s" for speed, name in READING_SPEEDS.items()
                    ],
                }
            ),
            "full": pd.DataFrame({"context": visible, "label": ["memory full"] * len(visible)}),
        },
        (most,),
        table[["variant", *names]].rename(columns=names),
        f"Time per token over the context. At {sentence}.",
    )


def fit(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """The longest context that fits at each concurrency, a line a variant."""
    frames = []
    for label, each in pair.items():
        swept = plan(scenario, model=each.model, concurrency=CONCURRENCIES)
        longest = swept.max_context_tokens
        frame = pd.DataFrame(
            {
                "variant": label,
                "own": each.model == scenario.the_model,
                "concurrency": CONCURRENCIES,
                "longest": longest,
                "sentence": [
                    f"{label}: {words.requests(count)} of up to {words.whole(n)} tokens fit"
                    for count, n in zip(CONCURRENCIES, longest, strict=True)
                ],
            }
        )
        frames.append(frame)
    table = pd.concat(frames, ignore_index=True)
    lines = table[table.longest.between(SHORTEST, LONGEST)]
    area = table[table.own].assign(least=SHORTEST, greatest=LONGEST)
    own = own_of(pair)
    load = f"{words.requests(scenario.concurrency)} of {scenario.context:,} tokens"
    here = "fits" if own.fits else "does not fit"
    names = {"concurrency": "concurrency (requests)", "longest": "longest context (tokens)"}
    return Drawing(
        {
            "own": area.assign(longest=area.longest.clip(SHORTEST, LONGEST)),
            "lines": lines,
            "ends": _ends(lines[lines.concurrency <= np.sqrt(MOST)], "longest"),
            "point": _point(
                f"{load}: {here}",
                here,
                longest=scenario.context,
                concurrency=scenario.concurrency,
            ),
        },
        (),
        table[["variant", *names]].rename(columns=names),
        f"Where a load fits, by concurrency and context. {load}: {here}; at most "
        f"{words.whole(own.max_concurrency)} requests of this context, or "
        f"{words.whole(own.max_context_tokens)} tokens at this concurrency.",
    )


def _speeds(most):
    """A line at each reading speed; a name only where the one below leaves room for it."""
    rows, room = [], 0
    for speed, name in sorted(READING_SPEEDS.items(), reverse=True):
        at = 1e3 / speed
        rows.append((at, f"{name}, {speed} tokens/s" if at - room >= most / 10 else ""))
        room = at if rows[-1][1] else room
    return pd.DataFrame(rows, columns=["step", "label"])


def _point(sentence, label, **where):
    return pd.DataFrame(
        {**{k: [v] for k, v in where.items()}, "label": [label], "sentence": sentence}
    )


def _ends(lines, across):
    """Where each line's name goes: to the left of the left line, to the right of the right one."""
    ends = lines.groupby("variant", sort=False).tail(1).sort_values(across)
    left = (ends[across] < ends[across].max()) | (ends[across] > LONGEST / 16)
    return ends.assign(align=np.where(left, "right", "left"), shift=np.where(left, -8, 8))
