"""Speculative decoding: a drafter's weights and cache, the time per token, and where it loses."""

import json
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, answer, decode, encode, evaluate, plan
from planner.inputs import presets
from planner.models.drafting import drafter
from planner.reports import arithmetic, commands, plan_report
from planner.units import GB

LLAMA = Scenario("llama-3.1-8b", device="h100-sxm", concurrency=8, context=4096)
EAGLE = replace(LLAMA, draft="eagle", drafted=3, accepted=2.3)
TOKEN = 131_072  # bytes of 32 layers
# Published gains of vLLM on an H100, Llama 3 8B with an EAGLE head, one request: drafted tokens,
# acceptance length, tokens per second without and with.
# Source: https://github.com/vllm-project/vllm/pull/16035
PUBLISHED = [(2, 1.89, 128.64, 175.49), (4, 2.08, 128.64, 165.65)]


@pytest.mark.parametrize(
    ("model", "kind", "billion", "within"),
    [
        # Parameters of a head that stands on the hub: 850 MB at 16 bits.
        ("llama-3.1-8b", "eagle", 0.425, 0.01),
        # The report has 11.5 billion in the module besides embedding and head.
        ("deepseek-v3", "mtp", 11.5, 0.05),
    ],
)
def test_a_head_is_as_large_as_published(model, kind, billion, within):
    owned = presets.model(model)
    found = drafter(owned, kind)
    own = found.model.parameters - (owned.head_parameters if found.shares_head else 0)
    assert own / 1e9 == pytest.approx(billion, rel=within)


def test_a_drafter_takes_room_for_its_weights_and_its_cache():
    plain, found = plan(LLAMA), plan(EAGLE)
    assert found.draft_cache_bytes == 8 * 4096 * TOKEN / 32  # one layer like the model's own 32
    more = found.memory_needed_bytes - plain.memory_needed_bytes
    assert more == pytest.approx(found.draft_weights_bytes + found.draft_cache_bytes)
    assert found.max_concurrency < plain.max_concurrency
    assert found.weights_bytes == plain.weights_bytes


def test_another_model_brings_all_its_weights():
    found = plan(replace(LLAMA, model="llama-3.1-70b", tp=4, draft="llama-3.2-1b"))
    small = plan(Scenario("llama-3.2-1b", concurrency=8, context=4096))
    assert found.draft_weights_bytes == pytest.approx(small.weights_bytes)
    assert found.draft_cache_bytes == small.cache_bytes
    assert found.draft.stage.weights_bytes == pytest.approx(small.weights_bytes / 4)


def test_a_step_reads_the_model_once_and_the_drafter_for_each_guess():
    plain, found = plan(LLAMA), plan(EAGLE)
    guess = (0.4246816e9 * 2 + 8 * 4096 * TOKEN / 32) / (3350 * GB)
    assert found.draft_read_s == pytest.approx(3 * guess, rel=1e-3)
    assert found.decode_step_s == pytest.approx((plain.decode_step_s + 3 * guess) / 2.3, rel=1e-3)
    assert found.tokens_per_s_total == pytest.approx(8 / found.decode_step_s)


def test_guesses_draw_experts_of_their_own():
    own = Scenario("gpt-oss-120b", device="h200-sxm", concurrency=1, draft="eagle", drafted=3)
    assert plan(own).experts_read == pytest.approx(1 - (1 - 4 / 128) ** 4)


@pytest.mark.parametrize("engine", ["vllm-0.34", "sglang", "llama.cpp-cuda"])
def test_engines_gain_less_the_more_requests_there_are(engine):
    gains = [
        float(evaluate(replace(EAGLE, engine=engine, concurrency=count, memory=1e5)).draft_gain())
        for count in (1, 1024)
    ]
    assert 1 < gains[1] < gains[0] < 2.3


def test_the_gain_is_that_of_the_two_plans():
    own = replace(EAGLE, engine="vllm-0.34", set="layer_us:20")  # set, so no measurement pulls
    plain, found = (evaluate(each) for each in (replace(own, draft=""), own))
    ratio = plain.tpot_s.value / found.tpot_s.value
    assert found.draft_gain() == pytest.approx(ratio)


def test_where_it_stops_to_gain_is_found():
    own = replace(EAGLE, model="llama-3.1-70b", tp=4, engine="vllm-0.34", accepted=1.3)
    found = evaluate(own)
    most = found.drafts_up_to()
    assert 1 < most < 4096
    at = replace(own, memory=100_000)
    assert evaluate(replace(at, concurrency=int(most))).draft_gain() > 1
    assert evaluate(replace(at, concurrency=int(most) + 1)).draft_gain() <= 1
    assert f"up to a concurrency of {most:,.0f}" in answer.verdict(found)[1]


def test_guesses_that_are_never_right_never_gain():
    found = evaluate(replace(EAGLE, engine="vllm-0.34", accepted=1))
    assert found.draft_gain() < 1
    assert found.drafts_up_to() == 0
    assert "gains at no concurrency" in answer.verdict(found)[1]


@pytest.mark.parametrize(("drafted", "accepted", "without", "measured"), PUBLISHED)
def test_published_gains_lie_in_the_range(drafted, accepted, without, measured):
    own = replace(LLAMA, engine="vllm", concurrency=1, context=512)
    plain = evaluate(own).tpot_s
    found = evaluate(replace(own, draft="eagle", drafted=drafted, accepted=accepted)).tpot_s
    assert 1 / plain.value == pytest.approx(without, rel=0.15)
    assert 1 / found.high < measured < 1 / found.low


@given(st.integers(1, 200), st.integers(1, 8), st.floats(0, 1), st.sampled_from(["ideal", "vllm"]))
def test_more_accepted_is_faster_and_nothing_beats_the_bound(requests, drafted, part, engine):
    load = {"concurrency": requests, "drafted": drafted, "accepted": 1, "memory": 1000}
    own = replace(EAGLE, engine=engine, **load)
    less = evaluate(own)
    more = evaluate(replace(own, accepted=1 + part * drafted))
    assert more.tpot_s.value <= less.tpot_s.value * (1 + 1e-12)
    assert more.tpot_s.low >= more.estimate.least_step_s * (1 - 1e-12)
    assert more.plan.decode_step_s == pytest.approx(float(more.estimate.least_step_s))


def test_a_loaded_step_has_the_same_prompts():
    own = replace(EAGLE, engine="vllm-0.34", output=500, set="layer_us:20")
    plain, found = (evaluate(each) for each in (replace(own, draft=""), own))
    assert found.mixed.prompts_s == pytest.approx(plain.mixed.prompts_s)
    assert found.mixed.alone.total_s < plain.mixed.alone.total_s


@pytest.mark.parametrize(
    ("query", "name", "used"),
    [
        ("model=llama-3.1-8b&draft=mtp", "draft", ""),
        ("model=llama-3.1-8b&draft=eagle&pp=2", "draft", ""),
        ("model=llama-3.1-8b&draft=horse", "draft", ""),
        ("model=llama-3.1-8b&draft=eagle&drafted=2&accepted=5", "accepted", 3),
        ("drafted=0", "drafted", 1),
    ],
)
def test_what_cannot_be_is_named_and_mended(query, name, used):
    scenario, notices = decode(query)
    assert [each.parameter for each in notices][:1] == [name]
    assert getattr(scenario, name) == used
    assert decode(encode(scenario)) == (scenario, ())


def test_a_scenario_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="draft: the model has no multi-token"):
        Scenario("llama-3.1-8b", draft="mtp")
    with pytest.raises(ValueError, match="accepted"):
        Scenario("llama-3.1-8b", draft="eagle", drafted=1, accepted=3)


@pytest.mark.parametrize(
    ("model", "draft", "said"),
    [
        ("deepseek-v3", "mtp", {"method": "mtp", "num_speculative_tokens": 2}),
        ("qwen3-32b", "qwen3-0.6b",
         {"method": "draft_model", "model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 2}),
    ],
)  # fmt: skip
def test_engines_are_told(model, draft, said):
    own = Scenario(model, draft=draft, drafted=2)
    words = shlex.split(commands.command(own, presets.engine("vllm-0.34")).text)
    assert json.loads(words[words.index("--speculative-config") + 1]) == said
    sglang = commands.command(own, presets.engine("sglang")).text
    assert "--speculative-num-steps 2 --speculative-eagle-topk 1" in sglang
    assert "--speculative-num-draft-tokens 3" in sglang
    other = commands.command(own, presets.engine("llama.cpp-cuda"))
    assert "Drafter: " in " ".join(other.notes)


def test_the_report_and_the_arithmetic_have_it():
    report = plan_report.as_dict(evaluate(replace(EAGLE, engine="vllm-0.34")))
    assert report["draft"] == "eagle"
    assert report["draft_gain"] > 1
    assert report["draft_gain_calibrated"] > 1
    assert report["draft_gains_up_to"] is None or report["draft_gains_up_to"] > 1
    plain = plan_report.as_dict(evaluate(LLAMA))
    assert plain["draft_gain"] is None
    assert plain["draft_weights_bytes"] == 0
    token = next(each for each in arithmetic.arithmetic(plan(EAGLE)) if "TPOT" in each.title)
    assert token.numbers.endswith("/ 2.3")


def test_by_counting_alone_a_dense_model_gains_while_reading_is_longer_than_computing():
    found = evaluate(replace(EAGLE, model="llama-3.1-70b", tp=8, context=128))
    most = found.drafts_up_to()
    assert not math.isinf(most)
    counts = np.array([most, most + 1])
    gains = evaluate(found.plan.scenario, concurrency=counts).draft_gain()
    assert (gains > 1).tolist() == [True, False]
