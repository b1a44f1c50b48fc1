"""The charts: they draw the plan's numbers, on axes that hold still."""

import json
from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, evaluate, plan
from planner.charts import bars, lines, loads, of_plan
from planner.charts.axes import (
    CONCURRENCIES,
    CONTEXTS,
    MEMORY_UNITS,
    TIME_UNITS,
    axis,
    ceiling,
)
from planner.charts.labelled import pair
from planner.units import GB

SCENARIOS = [
    Scenario(),
    Scenario(model="lesson-7b-mha"),
    Scenario(model="lesson-7b-mha", concurrency=4096, context=2**20),
    Scenario(concurrency=1, context=128, memory=2),
    Scenario(device="jetson-orin-nano-8", bandwidth=1),
    Scenario(bandwidth=100_000, memory=100_000),
    Scenario("deepseek-v3", device="h200-sxm", tp=4, pp=2, concurrency=64),
    Scenario("qwen3.5-27b", device="h100-sxm", context=131_072),
    Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200),
    Scenario("deepseek-v3", device="h200-sxm", tp=8, engine="sglang", concurrency=4096),
    Scenario(set="bandwidth_efficiency:0.7"),
]


def shown(scenario):
    """A scenario's plan and what it is held against, as pictures show them."""
    return pair(evaluate(scenario))


def marks(spec, above=None):
    """The layers that draw something, each with the data and encodings it inherits."""
    above = above or {"encoding": {}}
    own = {**above, **spec, "encoding": {**above["encoding"], **spec.get("encoding", {})}}
    if "layer" not in spec:
        return [own]
    own.pop("layer")
    return [mark for layer in spec["layer"] for mark in marks(layer, own)]


def holds_together(picture, dark):
    """Everything that a picture's chart names is in its data, and can be seen in light and dark."""
    spec = picture.specification(dark)
    json.dumps(spec)
    for layer in marks(spec):
        frame = picture.frames[layer["data"]["name"]]
        encodings = layer["encoding"].values()
        channels = [c for e in encodings for c in (e if isinstance(e, list) else [e])]
        fields = {channel["field"] for channel in channels if "field" in channel}
        assert fields <= set(frame.columns), layer["mark"]
        numbers = frame.select_dtypes("number").to_numpy()
        assert picture.id == "fit" or np.isfinite(numbers).all()
        mark = layer["mark"]
        if mark["type"] in ("rule", "text", "line", "tick"):  # else black, and gone in the dark
            assert mark.get("color") or mark.get("stroke")
    for name, texts in picture.told.items():
        assert len(texts) == len(picture.frames[name])
    assert picture.alt.endswith(".")
    assert len(picture.table())


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_data_set_and_field_of_a_chart_is_there(scenario, dark):
    pictures = list(of_plan.pictures(evaluate(scenario)))
    assert len({picture.id for picture in pictures}) == len(pictures) >= 4
    for picture in pictures:
        holds_together(picture, dark)


MANY = Scenario("deepseek-v3", device="h200-sxm", tp=8, engine="vllm")


@pytest.mark.parametrize(
    ("scenario", "ids"),
    [
        (Scenario(), "memory latency fit step"),
        (Scenario(engine="vllm"), "engine_memory engine_latency fit engine_step engine_first"),
        (MANY, "engine_memory engine_latency fit engine_step engine_first devices experts"),
    ],
)
def test_an_id_is_an_address_and_stays(scenario, ids):
    assert [picture.id for picture in of_plan.pictures(evaluate(scenario))] == ids.split()


SIZES = {"GB": 1e9, "TB": 1e12, "PB": 1e15, "ms": 1e-3, "s": 1, "h": 3600}


def in_si(picture):
    """The rows of a bar chart in bytes or seconds, and how long each part is."""
    rows, size = picture.frames["rows"], SIZES[picture.bounds[1]]
    return rows.assign(size=(rows.end - rows.start) * size, end=rows.end * size)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bars_add_up_to_the_plan(scenario):
    _, both = shown(scenario)
    parts = in_si(bars.memory("memory", "Memory", both))
    steps = in_si(bars.step("step", both))
    waits = in_si(bars.first("first", both))
    for each in both:
        served = each.evaluation
        needed = served.plan.memory_needed_bytes
        if not served.ideal:
            needed = needed + served.reserve.overhead_bytes
        bar = parts[parts.variant == each.label]
        assert bar[bar.part != "free"]["size"].sum() == pytest.approx(needed)
        if served.ideal:
            beyond = bar[bar.part == "does not fit"]["size"].sum()
            assert beyond == pytest.approx(max(-served.plan.memory_free_bytes, 0))
        step = steps[steps.variant == each.label]
        assert step.end.max() == pytest.approx(served.step_s.value)
        assert step["size"].sum() == pytest.approx(served.step_s.value)
        # Beside an engine the ideal one is the bound: every product at its format's own peak.
        first = served.ttft_bound_s if served.ideal else served.ttft_s.value
        assert waits[waits.variant == each.label].end.max() == pytest.approx(first)


def test_an_engine_s_bar_ends_where_its_pool_does():
    own, both = shown(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm"))
    limits = bars.memory("engine_memory", "Memory", both).frames["limits"].set_index("bar")["at"]
    held = own.evaluation.reserve
    assert limits["ideal"] * GB == pytest.approx(own.evaluation.plan.memory_usable_bytes)
    room = held.weights_bytes + held.overhead_bytes + held.pool_bytes
    assert limits[own.label] * GB == pytest.approx(room)


def test_new_prompts_have_a_bar_of_their_own():
    own, both = shown(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200))
    rows = in_si(bars.step("engine_step", both))
    assert list(dict.fromkeys(rows.variant)) == ["ideal", own.label, "with new prompts"]
    mixed = rows[rows.variant == "with new prompts"]
    assert mixed.end.max() == pytest.approx(own.evaluation.mixed_s.value)
    assert "prompts" in set(mixed.part)


def test_parts_end_to_end():
    sizes = {"weights": 3.0, "cache": np.array([1.0, 4.0, 9.0])}
    laid = bars.end_to_end(sizes, limit=7.0)
    assert list(laid) == ["weights", "cache", "free", "does not fit"]
    ends = {part: np.broadcast_to(high, 3).tolist() for part, (_, high) in laid.items()}
    assert ends == {
        "weights": [3, 3, 3],
        "cache": [4, 7, 7],
        "free": [7, 7, 7],
        "does not fit": [7, 7, 12],
    }
    starts = {part: np.broadcast_to(low, 3).tolist() for part, (low, _) in laid.items()}
    assert starts["free"] == [4, 7, 7]
    assert starts["does not fit"] == [7, 7, 7]
    assert list(bars.end_to_end(sizes)) == ["weights", "cache"]


def test_each_device_s_bar_is_what_it_holds():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=2, pp=2, dp=2, ep=4, concurrency=5)
    own = evaluate(scenario)
    drawn = in_si(bars.devices(own))
    used = drawn[drawn.part != "free"].groupby("variant", sort=False)["size"].sum()
    assert len(used) == 8
    assert used.max() == pytest.approx(own.plan.memory_needed_bytes)
    weights = drawn[drawn.part == "weights"].groupby("variant", sort=False)["size"].sum()
    assert weights.max() == pytest.approx(max(stage.weights_bytes for stage in own.plan.stages))


def test_no_chart_says_that_a_load_fits_where_the_verdict_says_that_it_does_not():
    full = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", tp=2)
    most = int(evaluate(full).max_concurrency)
    for count in (1, most, most + 1, 2 * most):
        evaluation = evaluate(replace(full, concurrency=count))
        own, both = shown(evaluation.plan.scenario)
        fits = count <= most
        assert evaluation.fits == fits
        for picture in (bars.memory("engine_memory", "Memory", [own]), bars.devices(evaluation)):
            assert ("does not fit" in set(picture.frames["rows"].part)) != fits, picture.id
        words = loads.fit(both, own).frames["words"]
        assert set(words[words.fontWeight == "bold"].label) == {loads.FITS[fits]}
        assert (own.longest >= full.context) == fits


def test_an_axis_is_in_the_unit_that_suits_it():
    assert axis(82e9, MEMORY_UNITS) == (100, 1e9, "GB")
    assert axis(2.2e15, MEMORY_UNITS) == (3000, 1e12, "TB")
    assert axis(0.18, TIME_UNITS) == (200, 1e-3, "ms")
    assert axis(90, TIME_UNITS) == (100, 1, "s")


def test_lines_are_plans():
    scenario = Scenario(context=10_007)
    own, both = shown(scenario)
    models = {each.label: each.evaluation.plan.model for each in both}
    picture = lines.latency("latency", both, own)
    rows = picture.frames["rows"]
    assert picture.bounds[1] == "ms"
    assert 10_007 in set(rows.context)
    for row in rows.itertuples():
        alone = plan(scenario, model=models[row.variant], context=row.context)
        assert row.step == pytest.approx(alone.decode_step_s * 1e3)
        assert row.weights + row.cache == pytest.approx(row.step)
        assert row.rate == pytest.approx(alone.tokens_per_s_per_request)
    edges = loads.fit(both, own).table()
    for row in edges.itertuples(index=False):
        variant, concurrency, longest = row
        assert plan(scenario, model=models[variant], concurrency=concurrency, context=longest).fits


def test_an_engine_is_a_line_like_any_other():
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200)
    own, both = shown(scenario)
    picture = lines.latency("engine_latency", both, own)
    rows = picture.frames["rows"]
    assert list(dict.fromkeys(rows.variant)) == ["ideal", own.label]
    for row in rows.itertuples():
        alone = evaluate(scenario, context=row.context)
        band = alone.tpot_s
        if row.variant == "ideal":
            assert row.step == row.low == row.high
            assert row.step == pytest.approx(alone.plan.decode_step_s * 1e3)
        else:
            assert (row.low, row.step, row.high) == pytest.approx(
                (1e3 * band.low, 1e3 * band.value, 1e3 * band.high)
            )
    areas = picture.frames["areas"]
    assert set(areas.part) == set(picture.bounds[2]) >= {"weights", "cache", "prompts"}
    tops = areas.groupby("context")["end"].max()
    engine = rows[rows.variant == own.label].set_index("context")["step"]
    assert np.allclose(tops, engine[tops.index])
    (full,) = picture.frames["full"].context
    assert evaluate(scenario, context=full).fits
    assert not evaluate(scenario, context=full + 1).fits


def test_where_it_fits_is_the_engine_s_own_answer():
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm")
    own, both = shown(scenario)
    picture = loads.fit(both, own)
    rows = picture.table()
    assert list(dict.fromkeys(rows.variant)) == ["ideal", own.label]
    engine = rows[rows.variant == own.label].iloc[::6]
    for _, concurrency, longest in engine.itertuples(index=False):
        for context, fits in ((longest, True), (longest + 1, False)):
            if context >= 1:
                alone = evaluate(scenario, concurrency=concurrency, context=context)
                assert alone.fits == fits
    (here,) = rows[(rows.variant == own.label) & (rows["concurrency (requests)"] == 16)].iloc[:, 2]
    assert f"{here:,.0f} tokens at this concurrency" in picture.alt
    assert set(picture.frames["words"].label) >= {"fits", "does not fit", "ideal", own.line}


def test_the_longest_context_of_many_loads_is_found_at_once():
    counts = np.array([1.0, 16, 300, 4096])
    for scenario in SCENARIOS:
        for each in shown(scenario)[1]:
            together = each.longest_at(counts)
            for count, most in zip(counts, together, strict=True):
                assert each.longest_at(count) == most


@pytest.mark.parametrize("engine", ["ideal", "vllm"])
def test_the_lines_of_many_stops_are_worked_out_at_once(engine):
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine=engine, output=200)
    own, _ = shown(scenario)
    stops = np.array([1.0, 7, 64, 4096])
    many = lines.times(own.swept(concurrency=stops[:, None], context=CONTEXTS[None]), 1e-3)
    for place, stop in enumerate(stops):
        alone = lines.times(own.swept(concurrency=stop, context=CONTEXTS), 1e-3)
        assert many.keys() == alone.keys()
        for name, values in alone.items():
            assert many[name].shape == (len(stops), len(CONTEXTS))
            assert np.array_equal(many[name][place], values), name


def test_experts_read_are_the_plan_s():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=8, concurrency=64)
    rows = loads.experts(evaluate(scenario)).frames["rows"]
    assert list(rows["read"]) == sorted(rows["read"])
    one = Scenario("deepseek-v3", device="h200-sxm", concurrency=64)
    here = rows[rows.concurrency == 64]["read"].item()
    assert here * GB == pytest.approx(plan(one).weights_read_bytes)


def test_the_lesson_s_two_models_are_each_other_s_counterpart():
    pairs = [shown(Scenario(model=f"lesson-7b-{kind}")) for kind in ("mha", "gqa")]
    for _, both in pairs:
        assert [each.label for each in both] == ["MHA, 32 KV heads", "GQA, 8 KV heads"]
    (mha, first), (gqa, second) = pairs
    assert (mha, gqa) == (first[0], second[1])
    assert [each.ink for each in first + second] == [0, 1, 1, 0]
    caches = [[each.evaluation.plan.cache_bytes for each in both] for both in (first, second)]
    assert caches[0] == caches[1]


def test_a_model_without_heads_stands_alone():
    own, both = shown(Scenario("m1~2q8s1000~p1000000~x"))
    assert both == [own]


@pytest.mark.parametrize(
    "model", ["m1~1q16k2v8a0o0~p1000~x", "m1~2k1d64~p1000~x", "m1~4q8s9~p1000~x"]
)
def test_a_model_is_drawn_alone_where_its_counterpart_has_no_other_name(model):
    scenario = Scenario(model=model)
    own, shown = pair(evaluate(scenario))
    assert shown == [own]
    assert [each.alt for each in of_plan.pictures(own.evaluation)]


def test_an_axis_moves_seldom():
    ends = {ceiling(value) for value in np.linspace(100, 1000, 1000)}
    assert len(ends) <= 9
    assert all(ceiling(value) >= value for value in np.linspace(0.01, 1000, 999))
    assert ceiling(100) == 100


def test_a_line_has_at_most_a_hundred_points():
    assert len(CONTEXTS) <= 100
    assert len(CONCURRENCIES) <= 100
