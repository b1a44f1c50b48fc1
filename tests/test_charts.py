"""The charts: they draw the plan's numbers, on axes that hold still."""

import json

import numpy as np
import pytest

from planner import Scenario, charts, plan, sweep
from planner.accelerator import GB

CHARTS = {
    "memory": (charts.memory, lambda scenario, pair: sweep.memory(pair)),
    "latency": (charts.latency, sweep.latency),
    "fit": (charts.fit, sweep.fit),
    "step": (charts.step, lambda scenario, pair: sweep.step(pair)),
}
SCENARIOS = [
    Scenario(),
    Scenario(model="lesson-7b-mha"),
    Scenario(model="lesson-7b-mha", concurrency=4096, context=2**20),
    Scenario(concurrency=1, context=128, memory=2),
    Scenario(device="jetson-orin-nano-8", bandwidth=1),
    Scenario(bandwidth=100_000, memory=100_000),
]


def marks(spec, above=None):
    """The layers that draw something, each with the data and encodings it inherits."""
    above = above or {"encoding": {}}
    own = {**above, **spec, "encoding": {**above["encoding"], **spec.get("encoding", {})}}
    if "layer" not in spec:
        return [own]
    own.pop("layer")
    return [mark for layer in spec["layer"] for mark in marks(layer, own)]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_named_frame_and_field_of_a_chart_is_there(scenario, name, dark):
    chart, draw = CHARTS[name]
    drawing = draw(scenario, sweep.variants(scenario))
    spec = charts.prepared(chart, *drawing.bounds, dark)
    json.dumps(spec)
    for layer in marks(spec):
        frame = drawing.frames[layer["data"]["name"]]
        encodings = layer["encoding"].values()
        channels = [c for e in encodings for c in (e if isinstance(e, list) else [e])]
        fields = {channel["field"] for channel in channels if "field" in channel}
        assert fields <= set(frame.columns), layer["mark"]
        assert name == "fit" or np.isfinite(frame.select_dtypes("number").to_numpy()).all()
        mark = layer["mark"]
        if mark["type"] in ("rule", "text", "line"):  # else black, and gone in the dark
            assert mark.get("color") or mark.get("stroke")
    assert drawing.alt.endswith(".")
    assert len(drawing.table())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bars_add_up_to_the_plan(scenario):
    pair = sweep.variants(scenario)
    parts = sweep.memory(pair).frames["rows"]
    for label, each in pair.items():
        bar = parts[parts.variant == label]
        used = bar[bar.part != "free"]
        assert (used.end - used.start).sum() == pytest.approx(each.memory_needed_bytes / GB)
        beyond = bar[bar.part == "does not fit"]
        missing = max(-each.memory_free_bytes, 0) / GB
        assert (beyond.end - beyond.start).sum() == pytest.approx(missing)
    steps = sweep.step(pair).frames["rows"]
    for label, each in pair.items():
        assert steps[steps.variant == label].end.max() == pytest.approx(each.decode_step_s * 1e3)


def test_lines_are_plans():
    scenario = Scenario()
    pair = sweep.variants(scenario)
    lines = sweep.latency(scenario, pair).frames["rows"]
    for row in lines.itertuples():
        alone = plan(scenario, model=pair[row.variant].model, context=row.context)
        assert row.step == pytest.approx(alone.decode_step_s * 1e3)
    edges = sweep.fit(scenario, pair).table()
    for row in edges.itertuples(index=False):
        variant, concurrency, longest = row
        assert plan(
            scenario, model=pair[variant].model, concurrency=concurrency, context=longest
        ).fits


def test_the_lesson_s_two_models_are_each_other_s_counterpart():
    pairs = [sweep.variants(Scenario(model=f"lesson-7b-{kind}")) for kind in ("mha", "gqa")]
    assert list(pairs[0]) == list(pairs[1]) == ["MHA, 32 KV heads", "GQA, 8 KV heads"]
    assert [p.cache_bytes for p in pairs[0].values()] == [p.cache_bytes for p in pairs[1].values()]


def test_an_axis_moves_seldom():
    ends = {sweep.ceiling(value) for value in np.linspace(100, 1000, 1000)}
    assert len(ends) <= 9
    assert all(sweep.ceiling(value) >= value for value in np.linspace(0.01, 1000, 999))
    assert sweep.ceiling(100) == 100


def test_a_line_has_at_most_a_hundred_points():
    assert len(sweep.CONTEXTS) <= 100
    assert len(sweep.CONCURRENCIES) <= 100
