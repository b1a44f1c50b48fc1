"""A plan with an engine: the ideal one is the plan itself, the others are data."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, answer, decode, evaluate, explain, figures, plan, ways
from planner.charts import of_plan, tables
from planner.engines.calibration import timings
from planner.engines.memory import TERMS
from planner.engines.passes import pass_time
from planner.engines.timing import serving_engines
from planner.inputs import overrides, presets
from planner.inputs.scenario import NUMBERS
from planner.models.model import LayerGroup, Model
from planner.models.notation import model_to_text
from planner.pools import cache_layers, most_requests, reserve
from planner.reports import arithmetic, plan_report
from planner.serving import capacities, parts
from tests.test_plan import calculator, printed, scenarios


@given(scenarios())
def test_the_ideal_engine_is_the_plan(scenario):
    served = evaluate(replace(scenario, engine="ideal", set="", output=0))
    own = served.plan
    assert served.ideal
    assert served.step.total_s == pytest.approx(own.decode_step_s)
    assert served.step_s.low == served.step_s.high == served.step_s.value
    assert served.ttft_s.value == pytest.approx(own.ttft_s)
    assert (served.fits, served.max_concurrency) == (own.fits, own.max_concurrency)
    assert served.max_context_tokens == own.max_context_tokens
    if np.isfinite(own.max_concurrency):
        held = most_requests(served.reserve, own.scenario)
        assert abs(held - own.max_concurrency) <= own.scenario.dp


@given(scenarios())
def test_what_an_engine_adds_is_never_less_than_ideal(scenario):
    served = evaluate(scenario)
    if overrides.of_time(overrides.read(scenario.set)):
        return
    # Of the requests that run; batches of experts in llama.cpp read less than independent draws.
    runs = plan(scenario, concurrency=max(served.running, 1))
    if served.timing.covered_power == 1:
        assert served.step_s.low >= runs.decode_step_s * (1 - 1e-9)
    assert served.step_s.low >= served.estimate.least_step_s * (1 - 1e-9)
    assert served.ttft_s.low >= served.ttft_bound_s * (1 - 1e-9)
    assert served.step_s.low <= served.step_s.value <= served.step_s.high
    assert served.ttft_s.low <= served.ttft_s.value <= served.ttft_s.high
    if served.ttft_loaded_s:
        assert served.ttft_loaded_s.low >= served.ttft_bound_s * (1 - 1e-9)
        assert served.ttft_loaded_s.low <= served.ttft_loaded_s.high
    assert sum(seconds for _, seconds in parts(served.step)) == pytest.approx(served.step.total_s)
    if served.mixed:
        # Measurements pull a load with new prompts and a fixed batch each by their own.
        assert served.mixed.prompts_s >= 0
        assert served.mixed_s.high >= served.step_s.low
    assert (served.mixed is None) == (scenario.output == 0)


@given(scenarios(), st.sampled_from(["concurrency", "context"]))
def test_arrays_are_loops(scenario, name):
    values = np.array([200, 1000, 3777])
    together = evaluate(scenario, **{name: values})
    for at, value in enumerate(values):
        alone = evaluate(scenario, **{name: value})
        assert np.broadcast_to(together.step_s.value, 3)[at] == pytest.approx(alone.step_s.value)
        assert np.broadcast_to(together.ttft_s.value, 3)[at] == pytest.approx(alone.ttft_s.value)
        assert np.broadcast_to(together.max_concurrency, 3)[at] == alone.max_concurrency
        for amount in ("weights_bytes", "pool_bytes", "blocks", "tokens", "printed_tokens"):
            held = np.broadcast_to(getattr(together.reserve, amount), 3)[at]
            assert held == pytest.approx(getattr(alone.reserve, amount)), amount


@given(scenarios(), st.sampled_from(list(NUMBERS)), st.sampled_from([0.3, 2]))
def test_a_number_given_apart_is_the_scenario_s_own(scenario, name, times):
    value = NUMBERS[name].nearest(times * getattr(scenario, name))
    apart = evaluate(scenario, **{name: value})
    own = evaluate(replace(scenario, **{name: value}))
    assert apart.step == own.step
    assert apart.mixed_s == own.mixed_s
    assert (apart.ttft_s, apart.reserve) == (own.ttft_s, own.reserve)
    assert (apart.fits, apart.plan.fits) == (own.fits, own.plan.fits)


def test_a_peak_given_apart_counts_where_no_source_has_the_ordinary_units():
    scenario = Scenario("llama-3.1-8b", engine="llama.cpp-cuda", peak=300)
    assert scenario.the_device.vector_tflops is None
    apart = evaluate(scenario, peak=600).step
    assert apart == evaluate(replace(scenario, peak=600)).step
    assert apart.weights_s < evaluate(scenario).step.weights_s


# --- what a pool holds ----------------------------------------------------------------------------


def held_by_the_pool(own):
    """Whole requests that the pool of a plan's engine holds, of the ideal one too."""
    return most_requests(reserve(own, own.scenario.the_engine), own.scenario)


@given(scenarios())
def test_no_engine_holds_more_than_an_ideal_device(scenario):
    own = plan(scenario, context=np.array([128, 5000, 70_001, 2**20]))
    assert np.all(held_by_the_pool(own) <= own.max_concurrency)


@pytest.mark.parametrize("engine", ["vllm-0.26", "sglang", "llama.cpp-cuda"])
@pytest.mark.parametrize("pp", [2, 3, 8])
def test_no_model_in_a_pipeline_holds_more_than_on_ideal_devices(engine, pp):
    contexts = np.array([128, 4096, 32_768, 2**17])
    deep = [id for id, each in presets.models().items() if each.layers >= pp]
    assert len(deep) > 60
    for model in deep:
        own = plan(Scenario(model, device="h100-sxm", pp=pp, engine=engine), context=contexts)
        assert np.all(held_by_the_pool(own) <= own.max_concurrency), model


@pytest.mark.parametrize(
    ("query", "ideal", "most"),
    [
        ("model=qwen2.5-7b&device=h100-sxm&pp=8&context=32768&engine=vllm", 309, 263),
        ("model=qwen3-4b&device=h100-sxm&pp=8&context=4096&engine=vllm-0.26", 1000, 883),
    ],
)
def test_the_fullest_stage_of_a_pipeline_binds_the_engine_too(query, ideal, most):
    # 28 layers on 8 stages are 3 and 4 each: the last holds the head, those before it most cache.
    served = evaluate(decode(query)[0])
    assert (served.plan.max_concurrency, served.max_concurrency) == (ideal, most)
    held = served.reserve
    assert held.blocks == held.pool_bytes // held.block_bytes
    assert held.concurrency == held.blocks / held.blocks_per_request
    alone = [
        held_by_the_pool(replace(served.plan, stages=(stage,))) for stage in served.plan.stages
    ]
    assert served.max_concurrency == min(alone) < max(alone)


@pytest.mark.parametrize("pp", [1, 2, 3, 8])
def test_the_stages_of_an_engine_store_what_the_model_stores(pp):
    deep = [each for each in presets.models().values() if each.layers >= pp]
    for model in deep:
        scenario = Scenario(model.id, pp=pp, cache_v="fp8")
        stages = plan(scenario).stages
        stored = [layers for stage in stages for layers in cache_layers(scenario, stage)]
        for context in (128, 100_000):
            bytes_ = sum(
                each.layers * (each.state_bytes + each.token_bytes * min(context, each.window))
                for each in stored
            )
            assert bytes_ == pytest.approx(plan(scenario, context=context).cache_bytes_per_request)


def test_a_stage_that_stores_nothing_binds_by_its_weights_alone():
    reads = LayerGroup(3, 8, 0, 64, 64)  # the cache of another layer
    stores = LayerGroup(1, 8, 8, 64, 64)
    model = Model("", "x", (reads, stores), 4 * 10**9, 10**9)
    scenario = Scenario(model_to_text(model), pp=4, engine="vllm", memory=80)
    own = plan(scenario, memory=np.array([1, 80]))
    assert [len(cache_layers(scenario, stage)) for stage in own.stages] == [0, 0, 1, 0]
    most = held_by_the_pool(own)
    assert most[0] == own.max_concurrency[0] == 0
    (storing,) = own.stages[2:3]
    assert most[1] == held_by_the_pool(replace(own, stages=(storing,)))[1] > 0
    # Where only the first stage, with the embedding, has too little room for its weights.
    tight = plan(scenario, memory=(own.stages[0].weights_bytes / 1e9) * 0.99)
    assert (tight.max_concurrency, held_by_the_pool(tight)) == (0, 0)


def test_every_engine_has_its_memory_and_its_time():
    assert set(presets.engines()) <= {*timings(), *serving_engines()}
    assert not {*timings()} & {*serving_engines()}


def test_a_figure_that_is_set_counts_and_is_marked():
    plain = evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm"))
    half = replace(plain.plan.scenario, set="fraction:0.5,layer_us:500")
    assert plain.estimate.pull(np.inf) != 1
    changed = evaluate(half)
    # Half of the device, less what the whole fraction took: by hand from the two budgets.
    total = plain.plan.memory_usable_bytes
    assert changed.reserve.budget_bytes == pytest.approx(total / 2)
    assert changed.reserve.pool_bytes == pytest.approx(plain.reserve.pool_bytes - 0.42 * total)
    # What a person sets counts as it is: no measurement pulls it.
    before = plain.timing.decode(plain.estimate.work, 16)
    more = 32 * 500e-6 - before.launches_s
    assert changed.step.total_s - before.total_s == pytest.approx(more)
    table = tables.engine(changed).set_index("figure")
    assert table.kind["fraction"] == table.kind["layer_us"] == "given"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fraction:2", "not from 0.01 to 1"),
        ("horses:4", "sets no figure"),
        ("fraction", "sets no figure"),
        ("fraction:abc", "not a number"),
        ("block_tokens:1.5", "not from"),
    ],
)
def test_settings_that_cannot_be_are_refused(text, why):
    with pytest.raises(ValueError, match=why):
        overrides.read(text)


@given(
    st.dictionaries(st.sampled_from(list(overrides.KNOWN)), st.floats(0, 1), max_size=4).map(
        lambda d: {k: overrides.KNOWN[k].nearest(v) for k, v in d.items()}
    )
)
def test_settings_come_back(figures):
    again = overrides.read(overrides.write(figures))
    assert list(again) == list(figures)
    assert list(again.values()) == pytest.approx(list(figures.values()))


def test_a_cached_prefix_spares_its_work():
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", prompt=8000)
    whole, half = plan(scenario), plan(replace(scenario, prefix=4000))
    assert half.projection_flops == whole.projection_flops / 2
    # The second half of a causal triangle: 3/4 of it, and a hair.
    assert half.attention_flops / whole.attention_flops == pytest.approx(0.75, abs=1e-3)
    assert evaluate(half.scenario).ttft_s.value < evaluate(scenario).ttft_s.value
    assert plan(replace(scenario, prefix=9000)).new_prompt_tokens == 1


def test_a_mix_pays_for_the_prompts_that_arrive():
    scenario = Scenario(
        "llama-3.1-8b",
        device="h100-sxm",
        engine="vllm",
        prompt=4000,
        output=200,
        set="batched_tokens:2048",
    )
    served = evaluate(scenario)
    # A prompt of 4,000 tokens in two passes of at most 2,048 each time one of 15 others ends.
    part = 15 / 200 * 2
    assert served.mixed.part == pytest.approx(part)
    timing, work = served.timing, served.estimate.work
    alone = timing.decode(work, 16).total_s
    shared = pass_time(work, timing.kernels, timing.host, 16 + 2000, 16, 0.5).total_s
    shared = max(shared, 32 * timing.host.pass_layer_us * 1e-6)
    pulled = served.estimate.pull(200)
    assert served.mixed.prompts_s == pytest.approx(part * (shared - alone) * pulled)


def test_computing_overtakes_reading_where_the_crossover_says():
    own = plan(Scenario("llama-3.1-8b", device="h100-sxm", context=128))
    count = own.crossover_concurrency
    assert 100 < count < 4096
    there = plan(own.scenario, concurrency=count)
    # To within one request: a device holds whole requests only.
    assert there.decode_flops / there.peak_flops == pytest.approx(there.decode_step_s, rel=1e-3)
    long = plan(Scenario("llama-3.1-8b", device="h100-sxm", context=100_000))
    assert np.isinf(long.crossover_concurrency)


@given(scenarios())
def test_printed_arithmetic_of_the_engine_gives_the_printed_result(scenario):
    served = evaluate(scenario)
    if served.ideal:
        return
    for each in arithmetic.with_engine(served):
        typed = calculator(each.numbers)
        assert typed == pytest.approx(each.value, rel=1e-6), each
        assert typed == pytest.approx(printed(each.result), rel=5.001e-3), each


@given(scenarios())
def test_the_verdict_and_figures_of_any_engine_are_words(scenario):
    served = evaluate(scenario)
    verdict, detail = answer.verdict(served)
    assert verdict.endswith(".")
    assert detail.endswith(".")
    assert len(figures.headlines(served)) == 6
    for picture in of_plan.pictures(served):
        assert picture.alt
        assert len(picture.table())


def test_an_engine_s_link_says_what_it_means():
    scenario, notices = decode(
        "model=llama-3.1-8b&device=h100-sxm&engine=vllm&set=fraction:0.95&prompt=1,000&output=200"
    )
    assert notices == ()
    assert (scenario.the_engine.fraction, scenario.prompt, scenario.output) == (0.95, 1000, 200)


def test_the_ideal_engine_changed_is_an_engine_like_any_other():
    own = evaluate(Scenario())
    changed = evaluate(Scenario(set="bandwidth_efficiency:0.7"))
    assert own.ideal
    assert not changed.ideal
    found = plan_report.as_dict(changed)
    assert found["decode_step_s"] == own.plan.decode_step_s
    assert found["decode_step_calibrated_s"] == pytest.approx(own.plan.decode_step_s / 0.7)
    assert {each.note for each in figures.headlines(changed)[3:]} == {"as set"}
    kinds = {each.key: each.kind for each in figures.entries(changed)}
    assert kinds["decode_step_calibrated_s"] == "as set"
    assert "to 22.5" not in answer.verdict(changed)[1]
    assert "that you changed" in " ".join(answer.limits(changed))
    assert "that you changed" not in " ".join(answer.limits(own))
    # Prompts that arrive cost the ideal engine nothing, so that counting is all there too.
    assert evaluate(Scenario(output=500)).ideal


@given(scenarios())
def test_each_way_to_fit_that_an_engine_s_verdict_names_does(scenario):
    own = evaluate(scenario)
    if own.fits or own.ideal:
        return
    every = ways.ways(own, ways.remedies(own))
    single = [way.text for way in every if " and " not in way.text]
    detail = ", or ".join(single)
    assert not single or detail in answer.verdict(own)[1]
    for pattern, change in (
        (r"([\d,]+) requests?", lambda found: {"concurrency": int(found.replace(",", ""))}),
        (r"([\d,]+) tokens", lambda found: {"context": int(found.replace(",", ""))}),
        (r"([\d.,]+) GB of memory", lambda found: {"memory": float(found.replace(",", ""))}),
        (r"([\d.,]+) TB of memory", lambda found: {"memory": 1e3 * float(found.replace(",", ""))}),
    ):
        for found in re.findall(pattern, detail):
            assert evaluate(replace(scenario, **change(found))).fits, detail
    if "batched tokens" in detail:
        assert evaluate(ways.with_small_step(scenario)).fits
    if "an 8-bit cache" in detail:
        assert evaluate(ways.with_small_cache(scenario)).fits
    for way in every:
        assert evaluate(replace(scenario, **way.changes)).fits, way.text


def test_what_an_engine_lacks_is_named_for_the_engine():
    said, detail = answer.verdict(
        evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26", context=65_536))
    )
    assert said == "Does not fit: vLLM 0.26 to 0.33 holds 6 requests of 65,536 tokens."
    assert "It would fit with 6 requests, or 28,480 tokens each, or 4 devices, or " in detail


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26"),
            "80 GB on the label, which are GiB (85.9 GB). 84.9 GB (79.1 GiB) can be allocated: the "
            "total an engine reported. vLLM 0.26 to 0.33 may fill 78.1 GB (72.8 GiB): 0.92 of the "
            "total memory.",
        ),
        (
            Scenario("llama-3.1-8b", device="apple-m4-max"),
            "128 GB on the label. 103 GB (96.0 GiB) can be allocated: the total the driver "
            "reported.",
        ),
        (
            Scenario("llama-3.1-8b", device="h100-sxm", memory=50, tp=2, engine="llama.cpp-cuda"),
            "50.0 GB (46.6 GiB) can be allocated: as given. Of each device. llama.cpp CUDA, flash "
            "attention may fill 50.0 GB (46.6 GiB): all of the total memory.",
        ),
    ],
)
def test_the_three_capacities_of_a_device_in_words(scenario, said):
    assert explain.memory_help(evaluate(scenario)) == said


@pytest.mark.parametrize("engine", presets.engines())
def test_an_engine_fills_no_more_than_it_may_within_its_fraction(engine):
    served = evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine=engine))
    held, sizes = served.reserve, capacities(served)
    on_top = sum(
        float(getattr(held, f"{term}_bytes"))
        for term in TERMS
        if getattr(served.engine, f"{term}_charged") == "on top"
    )
    assert sizes.allocatable - held.left_bytes - on_top == pytest.approx(sizes.engine)
    assert sizes.engine <= sizes.allocatable < sizes.label * 1.08
