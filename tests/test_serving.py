"""A plan with an engine: the ideal one is the plan itself, the others are data."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, answer, decode, evaluate, figures, plan
from planner.charts import bars, curves
from planner.engines.timing import timings
from planner.hardware.parallel import layouts
from planner.inputs import overrides, presets
from planner.reports import arithmetic, plan_report
from planner.serving import most_requests, parts
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
    if own.scenario.pp == 1 and np.isfinite(own.max_concurrency):
        held = most_requests(served.reserve, own.scenario)
        assert abs(held - own.max_concurrency) <= own.scenario.dp


@given(scenarios())
def test_what_an_engine_adds_is_never_less_than_ideal(scenario):
    served = evaluate(scenario)
    if scenario.set:
        return
    assert served.step.total_s >= served.plan.decode_step_s * (1 - 1e-9)
    assert served.step_s.low <= served.step_s.value <= served.step_s.high
    assert sum(seconds for _, seconds in parts(served.step)) == pytest.approx(served.step.total_s)
    if served.mixed:
        assert served.mixed.total_s >= served.step.total_s
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


def test_every_engine_has_its_memory_and_its_time():
    assert set(presets.engines()) <= set(timings())


def test_a_figure_that_is_set_counts_and_is_marked():
    plain = evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm"))
    half = replace(plain.plan.scenario, set="fraction:0.5,layer_us:500")
    changed = evaluate(half)
    # Half of the device, less what the whole fraction took: by hand from the two budgets.
    total = plain.plan.memory_usable_bytes
    assert changed.reserve.budget_bytes == pytest.approx(total / 2)
    assert changed.reserve.pool_bytes == pytest.approx(plain.reserve.pool_bytes - 0.42 * total)
    more = 32 * (500 - plain.timing.layer_us) * 1e-6
    assert changed.step.total_s - plain.step.total_s == pytest.approx(more)
    table = bars.engine_table(changed).set_index("figure")
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
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", prompt=4000, output=200)
    served = evaluate(scenario)
    arriving = (scenario.concurrency - 1) / scenario.output
    timing = served.timing
    work = served.plan.prefill_flops / (timing.compute_efficiency * served.plan.peak_flops)
    fixed = 32 * timing.pass_layer_ms * 1e-3
    expected = arriving * work + min(1, arriving) * fixed
    assert served.mixed.prompts_s == pytest.approx(expected)


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
    if not served.ideal:
        for drawing in (
            curves.engine_latency(served),
            bars.engine_memory(served),
            bars.engine_step(served),
            bars.engine_first(served),
        ):
            assert drawing.alt
            assert len(drawing.table())


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
    detail = answer.verdict(own)[1]
    for pattern, change in (
        (r"([\d,]+) requests?", lambda found: {"concurrency": int(found.replace(",", ""))}),
        (r"([\d,]+) tokens", lambda found: {"context": int(found.replace(",", ""))}),
        (r"([\d.,]+) GB of memory", lambda found: {"memory": float(found.replace(",", ""))}),
        (r"([\d.,]+) TB of memory", lambda found: {"memory": 1e3 * float(found.replace(",", ""))}),
    ):
        for found in re.findall(pattern, detail):
            assert evaluate(replace(scenario, **change(found))).fits, detail
    if "an 8-bit cache" in detail:
        assert evaluate(answer.with_small_cache(scenario)).fits
    for found in re.findall(r"(\d+) devices", detail):
        able = layouts(scenario.the_model, int(found))[0]
        words = {"tp": able.tensor, "pp": able.pipeline, "dp": able.data, "ep": able.expert}
        assert evaluate(replace(scenario, **words)).fits


def test_what_an_engine_lacks_is_named_for_the_engine():
    said, detail = answer.verdict(
        evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26", context=65_536))
    )
    assert said == "Does not fit: vLLM since 0.26 holds 7 requests of 65,536 tokens."
    assert "It would fit with 7 requests, or 28,752 tokens each, or 4 devices, or " in detail
