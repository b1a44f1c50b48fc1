"""The charts: they draw the plan's numbers, on axes that hold still."""

import json

import numpy as np
import pytest

from planner import Scenario, plan
from planner.charts import bars, charts, curves
from planner.units import GB

CHARTS = {
    "memory": (charts.memory, lambda scenario, pair: bars.memory(pair)),
    "latency": (charts.latency, curves.latency),
    "fit": (charts.fit, curves.fit),
    "step": (charts.step, lambda scenario, pair: bars.step(pair)),
    "devices": (charts.devices, lambda scenario, pair: bars.devices(curves.own_of(pair))),
}
SCENARIOS = [
    Scenario(),
    Scenario(model="lesson-7b-mha"),
    Scenario(model="lesson-7b-mha", concurrency=4096, context=2**20),
    Scenario(concurrency=1, context=128, memory=2),
    Scenario(device="jetson-orin-nano-8", bandwidth=1),
    Scenario(bandwidth=100_000, memory=100_000),
    Scenario("deepseek-v3", device="h200-sxm", tp=4, pp=2, concurrency=64),
    Scenario("qwen3.5-27b", device="h100-sxm", context=131_072),
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
    drawing = draw(scenario, curves.variants(scenario))
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


SIZES = {"GB": 1e9, "TB": 1e12, "PB": 1e15, "ms": 1e-3, "s": 1, "h": 3600}


def in_si(drawing):
    """The rows of a bar chart in bytes or seconds, and how long each part is."""
    rows, size = drawing.frames["rows"], SIZES[drawing.bounds[1]]
    return rows.assign(size=(rows.end - rows.start) * size, end=rows.end * size)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bars_add_up_to_the_plan(scenario):
    pair = curves.variants(scenario)
    parts, steps = in_si(bars.memory(pair)), in_si(bars.step(pair))
    for label, each in pair.items():
        bar = parts[parts.variant == label]
        assert bar[bar.part != "free"]["size"].sum() == pytest.approx(each.memory_needed_bytes)
        beyond = bar[bar.part == "does not fit"]["size"].sum()
        assert beyond == pytest.approx(max(-each.memory_free_bytes, 0))
        assert steps[steps.variant == label].end.max() == pytest.approx(each.decode_step_s)


def test_each_device_s_bar_is_what_it_holds():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=2, pp=2, dp=2, ep=4, concurrency=5)
    own = plan(scenario)
    drawn = in_si(bars.devices(own))
    used = drawn[drawn.part != "free"].groupby("variant", sort=False)["size"].sum()
    assert len(used) == 8
    assert used.max() == pytest.approx(own.memory_needed_bytes)
    weights = drawn[drawn.part == "weights"].groupby("variant", sort=False)["size"].sum()
    assert weights.max() == pytest.approx(max(stage.weights_bytes for stage in own.stages))


def test_an_axis_is_in_the_unit_that_suits_it():
    assert curves.axis(82e9, curves.MEMORY_UNITS) == (100, 1e9, "GB")
    assert curves.axis(2.2e15, curves.MEMORY_UNITS) == (3000, 1e12, "TB")
    assert curves.axis(0.18, curves.TIME_UNITS) == (200, 1e-3, "ms")
    assert curves.axis(90, curves.TIME_UNITS) == (100, 1, "s")


def test_lines_are_plans():
    scenario = Scenario(context=10_007)
    pair = curves.variants(scenario)
    drawing = curves.latency(scenario, pair)
    lines = drawing.frames["rows"]
    assert drawing.bounds[1] == "ms"
    assert 10_007 in set(lines.context)
    for row in lines.itertuples():
        alone = plan(scenario, model=pair[row.variant].model, context=row.context)
        assert row.step == pytest.approx(alone.decode_step_s * 1e3)
        assert row.weights + row.cache == pytest.approx(row.step)
    edges = curves.fit(scenario, pair).table()
    for row in edges.itertuples(index=False):
        variant, concurrency, longest = row
        model = pair[variant].model
        assert plan(scenario, model=model, concurrency=concurrency, context=longest).fits


def test_experts_read_are_the_plan_s():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=8, concurrency=64)
    rows = curves.experts(scenario).frames["rows"]
    assert list(rows["read"]) == sorted(rows["read"])
    one = Scenario("deepseek-v3", device="h200-sxm", concurrency=64)
    here = rows[rows.concurrency == 64]["read"].item()
    assert here * GB == pytest.approx(plan(one).weights_read_bytes)


def test_the_lesson_s_two_models_are_each_other_s_counterpart():
    pairs = [curves.variants(Scenario(model=f"lesson-7b-{kind}")) for kind in ("mha", "gqa")]
    assert list(pairs[0]) == list(pairs[1]) == ["MHA, 32 KV heads", "GQA, 8 KV heads"]
    assert [p.cache_bytes for p in pairs[0].values()] == [p.cache_bytes for p in pairs[1].values()]


@pytest.mark.parametrize(
    "model", ["m1~1q16k2v8a0o0~p1000~x", "m1~2k1d64~p1000~x", "m1~4q8s9~p1000~x"]
)
def test_a_model_is_drawn_alone_where_its_counterpart_has_no_other_name(model):
    scenario = Scenario(model=model)
    pair = curves.variants(scenario)
    assert [each.model for each in pair.values()] == [scenario.the_model]
    assert curves.latency(scenario, pair).alt


def test_an_axis_moves_seldom():
    ends = {curves.ceiling(value) for value in np.linspace(100, 1000, 1000)}
    assert len(ends) <= 9
    assert all(curves.ceiling(value) >= value for value in np.linspace(0.01, 1000, 999))
    assert curves.ceiling(100) == 100


def test_a_line_has_at_most_a_hundred_points():
    assert len(curves.CONTEXTS) <= 100
    assert len(curves.CONCURRENCIES) <= 100
