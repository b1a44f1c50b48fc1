"""What fills a bar: memory and time by their parts, as tidy frames; and the model's layers."""

from dataclasses import replace

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.curves import (
    MEMORY_UNITS,
    TIME_UNITS,
    Drawing,
    axis,
    by_column,
    own_of,
    step_sentence,
)
from planner.hardware import parallel
from planner.inputs import presets
from planner.inputs.overrides import TIME, read
from planner.plan import Plan
from planner.serving import Evaluation, parts
from planner.units import GIB


def memory(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant: weights, cache, what is beyond the memory, what stays free."""
    parts, sentences = [], []
    for label, each in pair.items():
        usable, needed = each.memory_usable_bytes, each.memory_needed_bytes
        sentence = (
            f"{label}: {describe.data(each.device_weights_bytes)} weights + "
            f"{describe.data(each.device_cache_bytes)} cache = "
            f"{describe.data(needed)} of {describe.data(usable)} "
            f"({describe.gib(needed)} of {describe.gib(usable)})"
        )
        sentences.append(sentence)
        pieces = ("weights", each.device_weights_bytes), ("cache", each.device_cache_bytes)
        parts += [(label, *piece, sentence) for piece in cut(pieces, usable)]
    text = "Memory at this load. " + ". ".join(sentences) + "."
    return _bars(parts, MEMORY_UNITS, text, mark=own_of(pair).memory_usable_bytes)


def cut(pieces, limit):
    """Pieces of a part and its size laid end to end, cut at a limit: part, start and end of each.

    What lies beyond the limit does not fit; what is left up to it is free.
    """
    rows, start = [], 0.0
    for part, size in pieces:
        end = start + size
        if min(end, limit) > start:
            rows.append((part, start, min(end, limit)))
        if end > max(start, limit):
            rows.append(("does not fit", max(start, limit), end))
        start = end
    return rows + ([("free", start, limit)] if start < limit else [])


def step(pair: dict[str, Plan]) -> Drawing:
    """One bar a variant: reading the weights, reading the caches."""
    parts, sentences = [], []
    for label, each in pair.items():
        sentence = step_sentence(label, each.decode_step_s, each.cache_share_of_step)
        sentences.append(sentence)
        weights = each.weights_read_s
        parts += [
            (label, "weights", 0, weights, sentence),
            (label, "cache", weights, each.decode_step_s, sentence),
        ]
    text = "What a decode step is made of. " + ". ".join(sentences) + "."
    return _bars(parts, TIME_UNITS, text)


def engine_memory(served: Evaluation) -> Drawing:
    """Two bars of one device: what the model and load need, and what the engine does with it."""
    own, held = served.plan, served.reserve
    usable = own.memory_usable_bytes
    need = (
        f"needed: {describe.data(own.device_weights_bytes)} weights + "
        f"{describe.data(own.device_cache_bytes)} cache"
    )
    pieces = ("weights", own.device_weights_bytes), ("cache", own.device_cache_bytes)
    rows = [("needed", *piece, need) for piece in cut(pieces, usable)]
    name = served.engine.name
    taken = (
        f"{name}: {describe.gib(held.weights_bytes)} weights, {describe.gib(held.overhead_bytes)} "
        f"for itself, {describe.gib(held.pool_bytes)} cache pool"
    )
    pieces = (
        ("weights", held.weights_bytes),
        ("overhead", held.overhead_bytes),
        ("cache", held.pool_bytes),
    )
    rows += [(name, *piece, taken) for piece in cut(pieces, usable)]
    text = f"Memory of one device. {need}. {taken}, of {describe.data(usable)}."
    return _bars(rows, MEMORY_UNITS, text, mark=usable)


def engine_step(served: Evaluation) -> Drawing:
    """What a step is made of: ideal, with the engine, and where new prompts arrive meanwhile."""
    own = served.plan
    bars = [("ideal", [("weights", own.weights_read_s), ("cache", own.cache_read_s)], None)]
    bars.append((served.engine.name, parts(served.step), served.step_s))
    if served.mixed:
        bars.append(("with new prompts", parts(served.mixed), served.mixed_s))
    return _stacked(bars, "What a step is made of")


def engine_first(served: Evaluation) -> Drawing:
    """What the first token waits for: ideal, and with the engine."""
    plan, first = served.plan, served.first
    bars = [
        ("ideal", [("compute", plan.prefill_s), ("weights", plan.ttft_s - plan.prefill_s)], None),
        (
            served.engine.name,
            [("compute", first.compute_s), ("overhead", first.floor_s), ("link", first.link_s)],
            served.ttft_s,
        ),
    ]
    return _stacked(bars, "What the first token waits for")


def _stacked(bars, title):
    """Bars of a label, its parts in seconds and its band (None where it has none)."""
    rows, sentences = [], []
    for label, pieces, band in bars:
        total = sum(seconds for _, seconds in pieces)
        sure = f" ({describe.duration(band.low)} to {describe.duration(band.high)})" if band else ""
        named = ", ".join(f"{describe.duration(s)} {name}" for name, s in pieces if s > 0)
        sentence = f"{label}: {describe.duration(total)}{sure}: {named}"
        sentences.append(sentence)
        start = 0.0
        for name, seconds in pieces:
            if seconds > 0:
                rows.append((label, name, start, start + seconds, sentence))
            start += seconds
    return _bars(rows, TIME_UNITS, f"{title}. " + ". ".join(sentences) + ".")


def devices(own: Plan) -> Drawing:
    """One bar a device: its weights and the cache of its requests."""
    usable = own.memory_usable_bytes
    held = parallel.device_memory(
        own.scenario.layout, own.stages, own.concurrency, own.context_tokens
    )
    parts = []
    for each in held:
        label = f"device {each.device + 1}"
        sentence = (
            f"{label}, stage {each.stage + 1}, group {each.group + 1}: "
            f"{describe.data(each.weights_bytes)} weights + "
            f"{describe.data(each.cache_bytes)} cache of {describe.requests(each.requests)}"
        )
        pieces = ("weights", each.weights_bytes), ("cache", each.cache_bytes)
        parts += [(label, *piece, sentence) for piece in cut(pieces, usable)]
    needed = describe.data(own.memory_needed_bytes)
    text = f"Memory on each of {len(held)} devices. The fullest needs {needed}."
    drawing = _bars(parts, MEMORY_UNITS, text, mark=usable)
    return replace(drawing, bounds=(*drawing.bounds, len(held)))


def _bars(parts, units, alt, mark=None):
    """Bars of parts in SI units, drawn in the unit that suits the longest."""
    rows = by_column(parts, "variant", "part", "start", "end", "sentence")
    most, size, unit = axis(max(rows["end"]), units)
    data = {"rows": {**rows, **{end: np.divide(rows[end], size) for end in ("start", "end")}}}
    if mark is not None:
        data["mark"] = {"at": [mark / size], "label": [describe.data(mark)]}
    columns = {
        "variant": "variant",
        "part": "part",
        "start": f"from ({unit})",
        "end": f"to ({unit})",
    }
    return Drawing(data, (most, unit), columns, alt)


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


def reserve_table(served: Evaluation) -> pd.DataFrame:
    """What the engine does with one device, term by term, in GiB as its log prints it."""
    held = served.reserve
    fraction = f"{served.engine.fraction:g} of the {served.engine.fraction_of}"
    rows = [
        ("device", held.total_bytes, "what can be allocated"),
        ("budget", held.budget_bytes, fraction),
        ("weights", held.weights_bytes, served.plan.weights.basis),
        ("libraries and buffers", held.non_torch_bytes, _charged(served, "non_torch")),
        ("activations at their peak", held.activation_bytes, _charged(served, "activation")),
        ("captured graphs", held.graphs_bytes, _charged(served, "graphs")),
        ("cache pool", held.pool_bytes, f"{describe.whole(held.blocks)} blocks"),
        ("one block", held.block_bytes, f"{describe.whole(held.block_tokens)} tokens"),
    ]
    table = [(name, round(float(count) / GIB, 3), note) for name, count, note in rows]
    return pd.DataFrame(table, columns=["term", "GiB", "what it is"])


def _charged(served, term):
    when = getattr(served.engine, f"{term}_charged")
    return {"inside": "inside the budget", "before": "taken before the fraction"}.get(when, when)


def engine_table(served: Evaluation) -> pd.DataFrame:
    """The engine's figures: value, band, kind and source."""
    rows = [
        (name, str(getattr(served.engine, name)), each.low, each.high, each.kind, each.source)
        for name, each in served.engine.figures.items()
        if name != "name"
    ]
    for name in TIME:
        rows.append(
            (name, f"{getattr(served.timing, name):g}", None, None, *_timing_source(served, name))
        )
    return pd.DataFrame(rows, columns=["figure", "value", "from", "to", "kind", "source"])


def _timing_source(served, name):
    if name in read(served.plan.scenario.set):
        return "given", ""
    return "calibrated", served.timing.fitted_on
