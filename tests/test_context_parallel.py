"""Decode context parallelism: devices that store the same share out the tokens of a request."""

from dataclasses import replace

import pytest

from planner import Scenario, answer, decode, encode, evaluate, plan
from planner.inputs import presets
from planner.logs.from_log import plan_of
from planner.reports import commands

# DeepSeek V3: 61 layers of a latent of 576 elements, whole on each of 8 devices.
LATENT = Scenario("deepseek-v3", device="h200-sxm", tp=8, concurrency=32, context=32_768)
TOKEN = 61 * 576 * 2


def test_each_device_keeps_its_part_of_the_tokens():
    whole, found = plan(LATENT), plan(replace(LATENT, dcp=8))
    assert whole.device_cache_bytes == 32 * 32_768 * TOKEN
    assert found.device_cache_bytes == whole.device_cache_bytes / 8
    assert found.cache_bytes == whole.cache_bytes
    assert found.cache_read_s == pytest.approx(whole.cache_read_s / 8)
    assert found.max_concurrency == pytest.approx(8 * whole.max_concurrency, abs=8)


@pytest.mark.parametrize("engine", ["vllm-0.34", "vllm", "sglang"])
def test_an_engine_s_pool_holds_as_many_times_the_requests(engine):
    whole, found = (evaluate(replace(LATENT, engine=engine, dcp=size)) for size in (1, 4))
    assert found.reserve.pool_bytes == whole.reserve.pool_bytes
    assert found.max_concurrency == pytest.approx(4 * whole.max_concurrency, abs=4)
    assert found.step.cache_s < whole.step.cache_s
    assert "Decode context parallel" in " ".join(answer.limits(found))


def test_heads_that_are_stored_twice_are_shared_out():
    # Llama 3.1 70B: 8 key-value heads, so each is stored twice on 16 devices.
    own = Scenario("llama-3.1-70b", device="h100-sxm", tp=16)
    assert plan(replace(own, dcp=2)).device_cache_bytes == plan(own).device_cache_bytes / 2


@pytest.mark.parametrize(
    "query",
    [
        "model=llama-3.1-70b&tp=8&dcp=2",  # each head is stored once
        "model=deepseek-v3&tp=8&dcp=3",
        "model=deepseek-v3&tp=8&dcp=16",
        "model=gemma-3-27b&tp=32&dcp=2",  # windows
        "dcp=2",
    ],
)
def test_what_cannot_be_shared_is_named(query):
    scenario, notices = decode(query)
    assert [each.parameter for each in notices] == ["dcp"]
    assert scenario.dcp == 1


def test_it_travels_in_the_link_and_to_vllm():
    own = replace(LATENT, dcp=8)
    assert decode(encode(own)) == (own, ())
    made = commands.command(own, presets.engine("vllm-0.34"))
    assert "--decode-context-parallel-size 8" in made.text
    assert "told nothing" in " ".join(commands.command(own, presets.engine("sglang")).notes)
    with pytest.raises(ValueError, match="dcp"):
        Scenario("llama-3.1-8b", dcp=2)


def test_a_log_with_it_is_predicted():
    # 40 GiB of latents at 16 bits, shared by 8: 40 · 2³⁰ · 8 / 70,272 tokens in blocks of 16.
    text = (
        "INFO non-default args: {'model': 'deepseek-ai/DeepSeek-V3', 'tensor_parallel_size': 8, "
        "'decode_context_parallel_size': 8, 'max_model_len': 32768}\n"
        "INFO Initializing a V1 LLM engine (v0.26.0)\n"
        "INFO Available KV cache memory: 40.00 GiB\n"
        "INFO GPU KV cache size: 4,889,472 tokens\n"
    )
    found = plan_of(text, device="h200-sxm")
    assert found.scenario.dcp == 8
    row = next(row for row in found.rows if row.quantity == "tokens")
    assert row.predicted == pytest.approx(40 * 2**30 * 8 / TOKEN, rel=1e-3)
