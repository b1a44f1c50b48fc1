"""A cache pool of a size set by hand (vLLM's --kv-cache-memory-bytes): what then follows from it.

Llama 3.1 8B stores 128 KiB a token, so a pool of 8 GiB holds 65,536 tokens, 8 requests of 8,192.
"""

from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, answer, decode, encode, evaluate
from planner.inputs import presets
from planner.logs.from_log import plan_of
from planner.reports import plan_report
from planner.units import GIB

LOAD = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26", concurrency=8)
LOG = """\
INFO non-default args: {'model': 'meta-llama/Llama-3.1-8B', 'kv_cache_memory_bytes': 8589934592}
INFO Initializing a V1 LLM engine (v0.26.0)
INFO GPU KV cache size: 65,536 tokens
INFO Maximum concurrency for 8,192 tokens per request: 8.00x
"""


@pytest.mark.parametrize("engine", ["ideal", "vllm-0.34", "vllm-0.26", "vllm", "vllm-0.20"])
def test_the_pool_is_what_was_given_and_the_rest_follows(engine):
    found = evaluate(replace(LOAD, engine=engine, set="pool_gib:8,fraction:0.3"))
    assert found.reserve.pool_bytes == 8 * GIB
    assert (found.max_concurrency, found.max_context_tokens) == (8, 8192)
    assert found.fits
    assert not evaluate(replace(LOAD, engine=engine, set="pool_gib:7.99")).fits


def test_what_the_pool_does_not_admit_waits():
    found = evaluate(replace(LOAD, concurrency=12, set="pool_gib:8"))
    assert (found.running, found.waiting) == (8, 4)
    assert "Running: 8, waiting: 4" in answer.verdict(found)[1]
    assert found.tpot_s == evaluate(replace(LOAD, set="pool_gib:8")).tpot_s


def test_a_pool_that_finds_no_room_does_not_start_and_says_by_how_much():
    own = evaluate(LOAD).reserve
    room = (own.total_bytes - own.weights_bytes - own.overhead_bytes) / GIB
    assert evaluate(replace(LOAD, set=f"pool_gib:{room - 0.01}")).fits
    found = evaluate(replace(LOAD, set=f"pool_gib:{room + 2}"))
    assert found.max_concurrency == found.running == found.max_context_tokens == 0
    detail = answer.verdict(found)[1]
    assert "2.00 GiB more than is left" in detail
    assert "the pool that the engine takes by itself" in detail


def test_the_memory_that_would_do_is_enough():
    found = evaluate(replace(LOAD, set="pool_gib:100"))
    memory = np.array([150.0, 100.0])
    fits = evaluate(found.plan.scenario, memory=memory).fits
    assert fits.tolist() == [True, False]


def test_it_travels_in_the_link_and_the_report():
    scenario = replace(LOAD, set="pool_gib:6.5")
    assert decode(encode(scenario)) == (scenario, ())
    report = plan_report.as_dict(evaluate(scenario))
    assert report["cache_pool_calibrated_bytes"] == 6.5 * GIB
    assert report["cache_pool_calibrated_low_bytes"] == 6.5 * GIB  # given, so without a band
    assert report["engine_set"] == "pool_gib:6.5"


def test_a_log_that_states_the_size_is_planned_with_it():
    found = plan_of(LOG, device="h100-sxm")
    assert found.scenario.set == "pool_gib:8"
    assert [(row.quantity, row.predicted) for row in found.rows] == [
        ("tokens", 65_536),
        ("concurrency", 8),
    ]
    assert not any(each.name == "fraction" for each in found.assumed)


def test_without_it_no_engine_has_a_fixed_pool():
    assert {each.pool_gib for each in presets.engines().values()} == {0.0}
