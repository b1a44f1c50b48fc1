"""Known mistakes of calculators: each is off by what the field has seen, on real models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, describe, evaluate, plan
from planner.compare import mistakes
from planner.inputs import presets
from planner.models.notation import model_to_text
from tests.test_model import models
from tests.test_plan import scenarios

# Mistake, scenario, factor on its figure, tolerance. MLA, windows, grouped and hybrid layers are
# off by the 25, 6, 8 and 4 times that bug reports of calculators tell of.
OFF = [
    ("no-gqa", Scenario("llama-3.1-70b"), 8, 1e-9),
    ("no-gqa", Scenario("lesson-7b-gqa"), 4, 1e-9),
    ("mla-as-mha", Scenario("deepseek-v3"), 2 * 7168 / 576, 1e-9),  # 24.9
    ("no-window", Scenario("gemma-3-27b", context=131_072), 62.0 / 10.4, 0.01),
    ("all-layers", Scenario("qwen3-next-80b-a3b", context=131_072), 4, 0.03),
    ("head-dim", Scenario("qwen3-4b"), (2560 / 32) / 128, 1e-9),
    ("head-dim", Scenario("mistral-nemo-12b"), (5120 / 32) / 128, 1e-9),
    ("doubled", Scenario("lesson-7b-mha"), 2, 1e-9),
    ("doubled", Scenario("deepseek-v3"), 2, 1e-9),
    ("gb-as-gib", Scenario(device="h100-sxm"), 2**30 / 1e9, 1e-9),
    ("activation-once", Scenario("llama-3.1-70b", tp=4, engine="vllm"), 1 / 4, 1e-9),
    ("sparse-peak", Scenario("lesson-7b-gqa"), 1 / 2, 1e-9),
    ("active-only", Scenario("deepseek-v3"), 37 / 671, 0.05),
    ("active-only", Scenario("mixtral-8x7b"), 12.9 / 46.7, 0.02),
]
NONE = [
    ("no-gqa", Scenario("lesson-7b-mha")),
    ("no-gqa", Scenario("deepseek-v3")),
    ("mla-as-mha", Scenario("lesson-7b-mha")),
    ("no-window", Scenario("llama-3.1-8b")),
    ("no-window", Scenario("gemma-3-27b", context=512)),
    ("all-layers", Scenario("llama-3.1-8b")),
    ("head-dim", Scenario("llama-3.1-8b")),
    ("activation-once", Scenario("llama-3.1-70b", tp=4)),
    ("activation-once", Scenario("llama-3.1-8b", engine="vllm")),
    ("active-only", Scenario("llama-3.1-8b")),
]


def case(row):
    return f"{row[0]}-{row[1].model}"


@pytest.mark.parametrize("row", OFF, ids=case)
def test_a_mistake_is_off_by_what_the_field_has_seen(row):
    name, scenario, factor, tolerance = row
    found = mistakes.effect(scenario, name)
    assert found.factor == pytest.approx(factor, rel=tolerance)
    assert describe.factor(found.factor) in found.sentence


@pytest.mark.parametrize("row", NONE, ids=case)
def test_a_mistake_that_cannot_be_made_changes_nothing(row):
    name, scenario = row
    assert mistakes.effect(scenario, name) is None
    right, wrong = mistakes.evaluated(scenario), mistakes.evaluated(scenario, name)
    assert wrong.plan.cache_bytes == right.plan.cache_bytes
    assert wrong.max_concurrency == right.max_concurrency


def test_without_a_mistake_it_is_the_plan():
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", output=200)
    assert mistakes.evaluated(scenario) == evaluate(scenario)


def test_a_mistake_spoils_what_follows_from_it_and_nothing_else():
    scenario = Scenario("llama-3.1-70b", device="h100-sxm", tp=4)
    right, wrong = (mistakes.evaluated(scenario, name).plan for name in ("", "no-gqa"))
    assert wrong.cache_read_s > 7 * right.cache_read_s
    assert wrong.max_concurrency < right.max_concurrency
    assert wrong.weights_bytes == right.weights_bytes
    assert wrong.prefill_s == right.prefill_s
    sparse = mistakes.evaluated(scenario, "sparse-peak").plan
    assert sparse.decode_step_s == right.decode_step_s
    assert sparse.cache_bytes == right.cache_bytes


def test_the_headlines_of_the_field():
    gemma = Scenario("gemma-3-27b", concurrency=1, context=131_072)
    gib = 2**30
    assert mistakes.evaluated(gemma).plan.cache_bytes / gib == pytest.approx(10.4, abs=0.05)
    wrong = mistakes.evaluated(gemma, "no-window").plan
    assert wrong.cache_bytes / gib == pytest.approx(62.0, abs=0.05)
    # One that is far too small fits where the model does not.
    moe = Scenario("deepseek-v3", device="h200-sxm", concurrency=1)
    assert not plan(moe).fits
    assert mistakes.evaluated(moe, "active-only").plan.fits


@pytest.mark.slow
@pytest.mark.parametrize("model", presets.models())
def test_every_mistake_can_be_tried_on_every_model(model):
    for scenario in (Scenario(model), Scenario(model, engine="vllm", output=100)):
        for each in mistakes.MISTAKES:
            found = mistakes.effect(scenario, each.id)
            assert found is None or (found.factor > 0 and found.factor != 1)
            swept = mistakes.evaluated(scenario, each.id, context=np.array([1000.0, 100_000.0]))
            assert np.all(swept.step_s.value > 0)


@given(scenarios(), st.sampled_from(list(mistakes.KNOWN)))
def test_every_mistake_can_be_tried_on_every_scenario(scenario, name):
    wrong = mistakes.evaluated(scenario, name)
    assert wrong.step_s.value > 0
    assert wrong.plan.memory_needed_bytes > 0
    mistakes.effect(scenario, name)


@given(models(), st.sampled_from(list(mistakes.KNOWN)))
def test_every_mistake_can_be_tried_on_any_model(model, name):
    scenario = Scenario(model_to_text(model), engine="vllm")
    assert mistakes.evaluated(scenario, name).step_s.value > 0
    mistakes.effect(scenario, name)


def test_experts_of_few_parameters_can_be_miscounted_too():
    found = mistakes.effect(Scenario("m1~2q8k1d64~p2000.x1.n16.k1~x"), "active-only")
    assert found is None  # nothing to see: one parameter is the least that can be left


def test_experts_dealt_out_over_many_devices_can_be_miscounted_too():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=4, dp=4, ep=16, engine="sglang")
    for each in mistakes.MISTAKES:
        assert np.isfinite(mistakes.evaluated(scenario, each.id).step_s.value)


def test_every_mistake_says_why_and_what_it_needs():
    assert len(mistakes.KNOWN) == len(mistakes.MISTAKES)
    for each in mistakes.MISTAKES:
        assert each.why.endswith(".")
        assert each.needs
        assert len(each.label) <= 30
