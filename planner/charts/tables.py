"""Tables of what lies under a plan: its model's layers, and an engine's memory and figures."""

import pandas as pd

from planner import describe
from planner.inputs.overrides import TIME, read
from planner.plan import Plan
from planner.serving import Evaluation, time_figure
from planner.units import GIB


def layers(own: Plan) -> pd.DataFrame:
    """The model's groups of layers, and what each keeps of one request at this precision."""
    widths = own.scenario.cache_widths
    rows = [
        {
            "layers": group.layers,
            "kind": group.kind,
            "query heads": group.query_heads,
            "KV heads": group.kv_heads,
            "key width": group.key_dim,
            "value width": group.value_dim,
            "window (tokens)": group.window,
            "read at most (entries)": group.top_k,
            "bytes per token": group.bytes_per_token(*widths),
            "fixed bytes": group.fixed_bytes,
        }
        for group in own.model.groups
    ]
    return pd.DataFrame(rows).astype(
        {"window (tokens)": "Int64", "read at most (entries)": "Int64"}
    )


def reserve(evaluation: Evaluation) -> pd.DataFrame:
    """What the engine does with one device, term by term, in GiB as its log prints it."""
    held = evaluation.reserve
    fraction = f"{evaluation.engine.fraction:g} of the {evaluation.engine.fraction_of}"
    if evaluation.engine.pool_gib:
        fraction += ", left aside: the pool has a fixed size"
    rows = [
        ("device", held.total_bytes, "what can be allocated"),
        ("budget", held.budget_bytes, fraction),
        ("weights", held.weights_bytes, evaluation.plan.weights.basis),
        ("CUDA context and buffers", held.non_torch_bytes, _charged(evaluation, "non_torch")),
        ("activations at their peak", held.activation_bytes, _charged(evaluation, "activation")),
        ("CUDA graphs", held.graphs_bytes, _charged(evaluation, "graphs")),
        ("kept free", held.headroom_bytes, _charged(evaluation, "headroom")),
        ("cache pool", held.pool_bytes, f"{describe.whole(held.blocks)} blocks"),
        ("of it for states", held.states_pool_bytes, "set apart whatever the context"),
        ("one block", held.block_bytes, f"{describe.whole(held.block_tokens)} tokens"),
    ]
    seldom = ("kept free", "of it for states")
    table = [
        (name, round(float(count) / GIB, 3), note)
        for name, count, note in rows
        if count or name not in seldom
    ]
    return pd.DataFrame(table, columns=["term", "GiB", "what it is"])


def _charged(evaluation, term):
    when = getattr(evaluation.engine, f"{term}_charged")
    return {"inside": "inside the budget", "before": "taken before the fraction"}.get(when, when)


def engine(evaluation: Evaluation) -> pd.DataFrame:
    """The engine's figures: value, band, kind and source."""
    rows = [
        (name, str(getattr(evaluation.engine, name)), each.low, each.high, each.kind, each.source)
        for name, each in evaluation.engine.figures.items()
        if name != "name"
    ]
    for name in TIME:
        value = f"{time_figure(evaluation, name):.4g}"
        rows.append((name, value, None, None, *_timing_source(evaluation, name)))
    return pd.DataFrame(rows, columns=["figure", "value", "from", "to", "kind", "source"])


def _timing_source(evaluation, name):
    if name in read(evaluation.plan.scenario.set):
        return "given", ""
    return "calibrated", evaluation.timing.fitted_on
