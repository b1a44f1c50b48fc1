"""Plans over a range, as tidy pandas frames: what each chart draws and the table behind it."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from planner import parallel, presets, words
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
    """What one chart needs: named frames, where its axis ends, and itself in words.

    The frame called `rows` is the chart's table; `columns` names what of it a person reads.
    """

    frames: dict[str, pd.DataFrame]
    bounds: tuple[float, ...]
    columns: dict[str, str]
    alt: str

    def table(self) -> pd.DataFrame:
        """The rows behind the chart, in columns that say their unit."""
        return self.frames["rows"][list(self.columns)].rename(columns=self.columns)


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
    return pair[label_of(pair)]


def label_of(pair: dict[str, Plan]) -> str:
    """The label of the scenario's own model among its variants."""
    return next(label for label, each in pair.items() if each.model == each.scenario.the_model)


def memory(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant in GB: weights, cache, what is beyond the memory, what stays free."""
    parts, sentences = [], []
    for label, each in pair.items():
        usable, needed = each.memory_usable_bytes, each.memory_needed_bytes
        sentence = (
            f"{label}: {words.data(each.device_weights_bytes)} weights + "
            f"{words.data(each.device_cache_bytes)} cache = "
            f"{words.data(needed)} of {words.data(usable)} "
            f"({words.gib(needed)} of {words.gib(usable)})"
        )
        sentences.append(sentence)
        parts += _segments(label, each.device_weights_bytes, needed, usable, sentence)
    usable = own_of(pair).memory_usable_bytes
    mark = pd.DataFrame({"at": [usable / GB], "label": [words.data(usable)]})
    text = "Memory at this load. " + ". ".join(sentences) + "."
    return _bars(parts, "GB", text, mark=mark)


def _segments(label, weights, needed, usable, sentence):
    """A bar's parts in GB: weights and cache as far as they fit, what does not, what is free."""
    parts, edges = [], (0, weights, needed)
    for part, start, end in zip(("weights", "cache"), edges, edges[1:], strict=False):
        if min(end, usable) > start:
            parts.append((label, part, start / GB, min(end, usable) / GB, sentence))
        if end > usable:
            parts.append((label, "does not fit", max(start, usable) / GB, end / GB, sentence))
    if needed <= usable:
        parts.append((label, "free", needed / GB, usable / GB, sentence))
    return parts


def step(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant in ms: reading the weights, reading the caches."""
    parts, sentences = [], []
    for label, each in pair.items():
        sentence = _step_sentence(label, each.decode_step_s, each.cache_share_of_step)
        sentences.append(sentence)
        weights, end = each.weights_read_s * 1e3, each.decode_step_s * 1e3
        parts += [
            (label, "weights", 0.0, weights, sentence),
            (label, "cache", weights, end, sentence),
        ]
    text = "What a decode step is made of. " + ". ".join(sentences) + "."
    return _bars(parts, "ms", text)


def devices(own: Plan) -> Drawing:
    """One bar a device in GB: its weights and the cache of its requests."""
    usable = own.memory_usable_bytes
    held = parallel.device_memory(
        own.scenario.layout, own.stages, own.concurrency, own.context_tokens
    )
    parts = []
    for each in held:
        needed = each.weights_bytes + each.cache_bytes
        label = f"device {each.device + 1}"
        sentence = (
            f"{label}, stage {each.stage + 1}, group {each.group + 1}: "
            f"{words.data(each.weights_bytes)} weights + {words.data(each.cache_bytes)} cache of "
            f"{words.requests(each.requests)}"
        )
        parts += _segments(label, each.weights_bytes, needed, usable, sentence)
    mark = pd.DataFrame({"at": [usable / GB], "label": [words.data(usable)]})
    most = max(own.memory_needed_bytes, usable)
    text = f"Memory on each of {len(held)} devices. The fullest needs {words.data(most)}."
    drawing = _bars(parts, "GB", text, mark=mark)
    return replace(drawing, bounds=(*drawing.bounds, len(held)))


def experts(scenario: Scenario) -> Drawing:
    """What a step reads of a mixture of experts over the concurrency, in GB, on all devices."""
    whole = replace(scenario, tp=1, pp=1, dp=1, ep=1)

    def sentence(count, read, share):
        share = words.significant(100 * share)
        return f"{words.requests(count)} read {words.data(read)}, {share} % of the experts"

    swept, now = plan(whole, concurrency=CONCURRENCIES), plan(whole)
    read = swept.weights_read_bytes
    rows = pd.DataFrame(
        {
            "concurrency": CONCURRENCIES,
            "read": read / GB,
            "sentence": [
                sentence(*each)
                for each in zip(CONCURRENCIES, read, swept.experts_read, strict=True)
            ],
        }
    )
    here = sentence(now.concurrency, now.weights_read_bytes, now.experts_read)
    where = {"concurrency": now.concurrency, "read": now.weights_read_bytes / GB}
    return Drawing(
        {"rows": rows, "point": _point(here, words.data(now.weights_read_bytes), **where)},
        (ceiling(now.weights_bytes / GB),),
        {"concurrency": "concurrency (requests)", "read": "weights read in a step (GB)"},
        f"Weights that a step reads, over the concurrency. {here}.",
    )


def _bars(parts, unit, alt, **frames):
    rows = pd.DataFrame(parts, columns=["variant", "part", "start", "end", "sentence"])
    columns = {
        "variant": "variant",
        "part": "part",
        "start": f"from ({unit})",
        "end": f"to ({unit})",
    }
    return Drawing({"rows": rows, **frames}, (ceiling(rows.end.max()),), columns, alt)


def _step_sentence(label, seconds, cache_share):
    share = words.significant(100 * cache_share, 2)
    return f"{label}: {words.duration(seconds)} a token, {share} % of it reading cache"


def _stack(pair, columns):
    """The rows of all variants as one column each. `columns` makes those of one from its plan."""
    found = {label: columns(label, each) for label, each in pair.items()}
    own = label_of(pair)
    stacked = {name: np.concatenate([f[name] for f in found.values()]) for name in found[own]}
    stacked["variant"] = np.repeat(list(found), len(found[own]["sentence"]))
    stacked["own"] = stacked["variant"] == own
    return stacked


def latency(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """Decode step in ms over the context, a line a variant; for the own one, what it is made of."""
    load = words.requests(scenario.concurrency)

    def columns(label, each):
        swept = plan(scenario, model=each.model, context=CONTEXTS)
        weights, step = swept.weights_read_s * 1e3, swept.decode_step_s * 1e3
        steps = zip(CONTEXTS, swept.decode_step_s, swept.cache_share_of_step, strict=True)
        return {
            "context": CONTEXTS,
            "weights": np.full_like(step, weights),
            "cache": step - weights,
            "step": step,
            "rate": swept.tokens_per_s_per_request,
            "sentence": [
                f"{n:,.0f} tokens, {load}. {_step_sentence(label, seconds, share)}"
                for n, seconds, share in steps
            ],
        }

    rows = _stack(pair, columns)
    own, label = own_of(pair), label_of(pair)
    now = own.decode_step_s
    most = ceiling(max(1.05 * SLOWEST_READING_MS, 2e3 * now))
    sentence = f"{scenario.context:,} tokens, {load}. " + _step_sentence(
        label, now, own.cache_share_of_step
    )
    full = own.max_context_tokens
    visible = [float(full)] if SHORTEST <= full <= LONGEST else []
    return Drawing(
        {
            "rows": pd.DataFrame(rows),
            "ends": _ends(rows, rows["step"] <= 0.8 * most, "context", "step"),
            "point": _point(
                sentence, words.duration(now), context=scenario.context, step=now * 1e3
            ),
            "speeds": _speeds(most),
            "full": pd.DataFrame({"context": visible, "label": ["memory full"] * len(visible)}),
        },
        (most,),
        {
            "variant": "variant",
            "context": "context (tokens)",
            "weights": "reading weights (ms)",
            "cache": "reading cache (ms)",
            "step": "time per token (ms)",
            "rate": "tokens/s per request",
        },
        f"Time per token over the context. At {sentence}.",
    )


def fit(scenario: Scenario, pair: dict[str, Plan]) -> Drawing:
    """The longest context that fits at each concurrency, a line a variant."""

    def columns(label, each):
        longest = plan(scenario, model=each.model, concurrency=CONCURRENCIES).max_context_tokens
        seen = (longest >= SHORTEST) & (longest <= LONGEST)
        return {
            "concurrency": CONCURRENCIES,
            "longest": longest,
            "line": np.where(seen, longest, np.nan),
            "edge": longest.clip(SHORTEST, LONGEST),
            "sentence": [
                f"{label}: {words.requests(count)} of up to {words.whole(n)} tokens fit"
                for count, n in zip(CONCURRENCIES, longest, strict=True)
            ],
        }

    rows = _stack(pair, columns)
    named = ~np.isnan(rows["line"]) & (rows["concurrency"] <= np.sqrt(MOST))
    own = own_of(pair)
    load = f"{words.requests(scenario.concurrency)} of {scenario.context:,} tokens"
    here = "fits" if own.fits else "does not fit"
    where = {"line": scenario.context, "concurrency": scenario.concurrency}
    return Drawing(
        {
            "rows": pd.DataFrame(rows).assign(least=SHORTEST, greatest=LONGEST),
            "ends": _ends(rows, named, "line", "concurrency"),
            "point": _point(f"{load}: {here}", here, **where),
        },
        (),
        {
            "variant": "variant",
            "concurrency": "concurrency (requests)",
            "longest": "longest context (tokens)",
        },
        f"Where a load fits, by concurrency and context. {load}: {here}; at most "
        f"{words.whole(own.max_concurrency)} requests of this context, or "
        f"{words.whole(own.max_context_tokens)} tokens at this concurrency.",
    )


def _point(sentence, label, **where):
    return pd.DataFrame([{**where, "label": label, "sentence": sentence}])


def _speeds(most):
    """A line at each reading speed; a name only where the one below leaves room for it."""
    rows, room = [], 0
    for speed, name in sorted(READING_SPEEDS.items(), reverse=True):
        at = 1e3 / speed
        rows.append((at, f"{name}, {speed} tokens/s" if at - room >= most / 10 else ""))
        room = at if rows[-1][1] else room
    return pd.DataFrame(rows, columns=["step", "label"])


def _ends(rows, shown, x, y):
    """Where each line's name goes: at its last row that is shown, outside of the two lines."""
    last = {label: at for at, label in enumerate(rows["variant"]) if shown[at]}
    rightmost = max((rows[x][at] for at in last.values()), default=0)
    ends = []
    for label, at in last.items():
        left = rows[x][at] < rightmost or rows[x][at] > LONGEST / 16
        side = ("right", -8) if left else ("left", 8)
        ends.append((label, rows[x][at], rows[y][at], *side))
    return pd.DataFrame(ends, columns=["variant", x, y, "align", "shift"])


def layers(own: Plan) -> pd.DataFrame:
    """The model's groups of layers, and what each keeps of one request at this precision."""
    scenario = own.scenario
    widths = [presets.cache_format(each).bytes for each in (scenario.cache_k, scenario.cache_v)]
    rows = [
        {
            "layers": group.layers,
            "kind": group.kind,
            "query heads": group.query_heads,
            "KV heads": group.kv_heads,
            "key width": group.key_dim,
            "value width": group.value_dim,
            "window (tokens)": group.window,
            "bytes per token": group.bytes_per_token(*widths),
            "fixed bytes": group.fixed_bytes,
        }
        for group in own.model.groups
    ]
    return pd.DataFrame(rows).astype({"window (tokens)": "Int64"})
