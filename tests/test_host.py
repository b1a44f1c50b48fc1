"""Layers and experts in host memory: what is left on the device, and how long a step then takes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, answer, decode, encode, evaluate, plan, ways
from planner.hardware.host import Placed, split_groups, stages
from planner.hardware.parallel import Layout
from planner.inputs import presets
from planner.models.precision import Weights
from planner.plan import weights_of
from planner.reports import commands, plan_report
from planner.units import GB

# Llama 3.1 8B at 16 bits: 32 layers of 436,224,000 bytes, head and embedding of 1,050,673,152 each.
DENSE = Scenario("llama-3.1-8b", concurrency=4, context=4096, host_bandwidth=100)
LAYER, HEAD, TOKEN = 436_224_000, 1_050_673_152, 131_072
# Published with the layers of experts in host memory, on a GeForce RTX 3090: tokens of a pass,
# those layers, prompt, and tokens per second of the prompt and of what is written.
# Source: https://ai-maestro.online/drastically-improve-prompt-processing-speed-for-n-cpu-moe-
# partially-offloaded-models-8/
PUBLISHED = [
    (256, 25, 4096, 240.03, 33.14),
    (512, 26, 4096, 380.27, 32.29),
    (2048, 25, 4096, 1112.54, 32.96),
    (4096, 26, 4096, 1682.47, 32.38),
    (8192, 28, 8192, 2090.68, 30.05),
]


def test_layers_leave_with_their_weights_and_their_cache():
    whole, found = plan(DENSE), plan(replace(DENSE, host_layers=12))
    assert found.host_weights_bytes == pytest.approx(12 * LAYER, rel=1e-3)
    assert found.host_cache_bytes == 4 * 4096 * TOKEN * 12 / 32
    assert found.weights_bytes == whole.weights_bytes
    assert found.cache_bytes == whole.cache_bytes
    assert found.device_weights_bytes + found.host_weights_bytes == pytest.approx(
        whole.device_weights_bytes
    )
    assert found.device_cache_bytes + found.host_cache_bytes == whole.device_cache_bytes
    assert found.memory_free_bytes > whole.memory_free_bytes


def test_a_step_reads_the_device_s_share_and_then_the_host_s():
    found = plan(replace(DENSE, host_layers=12))
    device = (20 * LAYER + HEAD + 4 * 4096 * TOKEN * 20 / 32) / (1000 * GB)
    host = 12 * (LAYER + 4 * 4096 * TOKEN / 32) / (100 * GB)
    assert found.host_read_s == pytest.approx(host, rel=1e-3)
    assert found.decode_step_s == pytest.approx(device + host, rel=1e-3)


def test_experts_leave_alone_and_a_step_reads_those_that_it_takes():
    # gpt-oss 120B: 36 layers, 4 of 128 experts a token.
    own = Scenario("gpt-oss-120b", device="rtx-3090", concurrency=1, host_experts=27)
    found, experts = plan(own), weights_of(own.the_model, own.weights).experts
    assert found.host_weights_bytes == pytest.approx(experts * 27 / 36)
    assert found.host_cache_bytes == 0
    assert found.host_read_bytes == pytest.approx(experts * 27 / 36 * 4 / 128)
    assert not plan(replace(own, host_experts=0)).fits
    assert found.fits


@given(st.sampled_from(list(presets.models())), st.integers(0, 20), st.integers(0, 80), st.data())
def test_nothing_is_lost_and_nothing_is_twice(model, layers, experts, data):
    owned = presets.model(model)
    placed = Placed(min(layers, owned.layers - 1), min(experts, owned.layers))
    pipeline = data.draw(st.integers(1, min(4, owned.layers - placed.layers)))
    weights = Weights(100.0, 60.0, 7.0, 9.0, 3.0, 179.0, 179.0, measured=False)
    made, host = stages(
        Layout(pipeline=pipeline), owned.groups, weights, placed, key_bytes=2, value_bytes=2
    )
    assert sum(each.weights_bytes for each in made) + host.weights_bytes == pytest.approx(
        weights.total
    )
    assert sum(each.layers for each in made) + host.layers == owned.layers
    requests = [each.request_bytes(5000) for each in (*made, host)]
    whole = owned.cache_shape().request_bytes(5000)
    assert sum(requests) == pytest.approx(whole)


@given(st.sampled_from(list(presets.models())), st.floats(0, 1))
def test_kinds_of_layers_leave_evenly(model, part):
    groups = presets.model(model).groups
    total = sum(group.layers for group in groups)
    ours, rest = split_groups(groups, int(part * total))
    assert sum(group.layers for group in ours) == int(part * total)
    assert sum(group.layers for group in (*ours, *rest)) == total
    for group in groups:
        alike = [replace(each, layers=group.layers) for each in ours]
        count = sum(each.layers for each, same in zip(ours, alike, strict=True) if same == group)
        several = sum(other == replace(group, layers=other.layers) for other in groups)
        assert abs(count - group.layers * int(part * total) / total) <= 1.5 * several


@pytest.mark.parametrize(("step", "layers", "prompt", "read", "written"), PUBLISHED)
def test_published_runs_with_experts_on_the_host(step, layers, prompt, read, written):
    own = Scenario(
        "gpt-oss-120b",
        device="rtx-3090",
        engine="llama.cpp-cuda",
        set=f"batched_tokens:{step}",
        concurrency=1,
        context=prompt,
        prompt=prompt,
        host_experts=layers,
    )
    found = evaluate(own)
    assert prompt / found.ttft_s.value == pytest.approx(read, rel=0.25)
    assert 1 / found.tpot_s.value == pytest.approx(written, rel=0.15)
    assert found.tpot_s.low < 1 / written < found.tpot_s.high


def test_the_range_is_wider_by_what_is_assumed_of_the_host():
    own = Scenario("llama-3.1-8b", device="rtx-4090", engine="llama.cpp-cuda", concurrency=1)
    widths = [
        float(found.high / found.low)
        for layers in (0, 8, 24)
        for found in [evaluate(replace(own, host_layers=layers)).tpot_s]
    ]
    assert widths == sorted(widths)
    assert widths[2] > 1.5 * widths[0]
    assert "assumed" in dict_of(evaluate(replace(own, host_layers=8)))["decode_step_calibrated_s"]


def dict_of(evaluation):
    """Sources of a report's numbers by their key."""
    return {each["key"]: each["source"] for each in plan_report.with_sources(evaluation)["numbers"]}


@given(st.integers(0, 31), st.sampled_from(["ideal", "llama.cpp-cuda", "llama.cpp-vulkan"]))
def test_more_on_the_host_frees_the_device_and_costs_time(layers, engine):
    own = Scenario("llama-3.1-8b", device="rtx-4090", engine=engine, concurrency=2, context=2048)
    less, more = (evaluate(replace(own, host_layers=count)) for count in (layers // 2, layers))
    assert more.plan.memory_free_bytes >= less.plan.memory_free_bytes
    assert more.max_concurrency >= less.max_concurrency
    assert more.tpot_s.value >= less.tpot_s.value
    assert more.tpot_s.value >= more.estimate.least_step_s * (1 - 1e-12)
    if engine == "ideal":
        assert more.tpot_s.value == pytest.approx(more.plan.decode_step_s)


def test_a_step_with_a_fast_host_is_that_of_the_device_alone():
    fast = replace(DENSE, host_layers=12, host_bandwidth=1000)
    assert plan(fast).decode_step_s == pytest.approx(plan(DENSE).decode_step_s)


def test_no_bandwidth_of_the_device_makes_up_for_a_slow_host():
    slow = plan(replace(DENSE, host_layers=30, host_bandwidth=1))
    assert math.isinf(slow.reading_bandwidth_bytes_per_s)


@pytest.mark.parametrize(
    ("query", "name", "used"),
    [
        ("model=llama-3.1-8b&host_layers=32", "host_layers", 31),
        ("model=llama-3.1-8b&host_layers=-1", "host_layers", 0),
        ("model=llama-3.1-8b&host_experts=4", "host_experts", 0),
        ("model=gpt-oss-20b&host_experts=25", "host_experts", 24),
        ("model=llama-3.1-8b&dp=2&host_layers=4", "host_layers", 0),
        ("model=llama-3.1-8b&pp=4&host_layers=30", "host_layers", 28),
        ("host_bandwidth=fast", "host_bandwidth", 89.6),
    ],
)
def test_what_cannot_be_is_named_and_the_nearest_is_used(query, name, used):
    scenario, notices = decode(query)
    assert [each.parameter for each in notices] == [name]
    assert getattr(scenario, name) == used
    assert decode(encode(scenario)) == (scenario, ())


def test_a_scenario_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="host_layers: a device of each stage keeps"):
        Scenario("llama-3.1-8b", host_layers=32)


def test_llama_cpp_is_told_and_others_are_not():
    own = Scenario("qwen3-30b-a3b", device="rtx-4090", host_layers=3, host_experts=20)
    made = commands.command(own, presets.engine("llama.cpp-cuda"))
    layers = own.the_model.layers
    assert f"--n-gpu-layers {layers + 1 - 3} --n-cpu-moe 20" in made.text
    vllm = replace(own, engine="vllm-0.34")
    assert "leaves no layers there" in " ".join(commands.of(evaluate(vllm))[0].notes)
    assert "hypothetical" in answer.engine_warning(evaluate(vllm))
    assert not answer.engine_warning(evaluate(own))


def test_the_verdict_says_what_would_have_to_leave():
    own = Scenario("gpt-oss-120b", device="rtx-3090", engine="llama.cpp-cuda", concurrency=1)
    detail = answer.verdict(evaluate(own))[1]
    way = ways.with_on_host(own, ways.least_on_host(evaluate(own)))
    assert f"in host memory experts of {way.host_experts} layers" in detail
    assert evaluate(way).fits
    assert not evaluate(replace(way, host_experts=way.host_experts - 1)).fits
    assert "In host memory: " in answer.verdict(evaluate(way))[1]


def test_a_report_has_its_numbers():
    report = plan_report.as_dict(evaluate(replace(DENSE, host_layers=12)))
    assert report["host_weights_bytes"] == pytest.approx(12 * LAYER, rel=1e-3)
    assert report["host_bandwidth_bytes_per_s"] == 100e9
    assert plan_report.as_dict(evaluate(DENSE))["host_weights_bytes"] == 0


def test_arrays_are_many_plans():
    own = replace(DENSE, host_layers=12)
    together = plan(own, concurrency=np.array([1, 4, 9])).host_read_s
    alone = [plan(replace(own, concurrency=count)).host_read_s for count in (1, 4, 9)]
    assert together.tolist() == alone
