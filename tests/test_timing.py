"""Passes, steps and first tokens of serving engines: equations, and figures made by hand."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, evaluate, formulas
from planner.engines.passes import REFERENCE_VECTOR_FLOPS, Kernel, Work, pass_time
from planner.engines.timing import (
    KernelTiming,
    constants,
    kernel_shares,
    loaded_step,
    serving_engines,
)
from planner.files import rows as shipped_rows
from planner.hardware.parallel import Layout
from planner.inputs import overrides, presets
from planner.inputs.scenario import decode
from planner.latency.estimate import NEARLY, SATURATED, STABLE, load_state, prompt_bound_s
from planner.latency.work import Rates
from planner.serving import time_figure
from tests.test_plan import scenarios

# Llama 70B FP8 on four H100, 16 requests of 922 tokens in and out: 13.19 ms measured.
BY_HAND = Scenario(
    "llama-3.1-70b",
    weights="fp8",
    device="h100-sxm",
    tp=4,
    concurrency=16,
    context=1383,
    prompt=922,
    output=922,
    engine="vllm",
    set="batched_tokens:8192",
)


def served(**changes):
    return evaluate(replace(BY_HAND, **changes))


# --- equations ------------------------------------------------------------------------------------


def test_reading_and_arithmetic_overlap_as_their_kernel_says():
    assert formulas.joined_seconds(3.0, 4.0, 1) == pytest.approx(7)
    assert formulas.joined_seconds(3.0, 4.0, 2) == pytest.approx(5)
    assert formulas.joined_seconds(3.0, 4.0, np.inf) == pytest.approx(4)
    assert formulas.joined_seconds(3.0, 0.0, 2.3) == pytest.approx(3)
    assert formulas.joined_seconds(0.0, 0.0, 2) == 0
    both = formulas.joined_seconds(np.array([3.0, 0.0]), 4.0, np.array([2.0, 1.0]))
    assert both == pytest.approx([5, 4])


@given(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(1, 50))
def test_joined_is_between_the_longer_and_the_sum(reading, arithmetic, overlap):
    joined = formulas.joined_seconds(reading, arithmetic, overlap)
    assert max(reading, arithmetic) * (1 - 1e-12) <= joined <= (reading + arithmetic) * (1 + 1e-12)


def test_prompts_take_their_part_of_the_passes():
    # Ten others end every 100 tokens: each step a tenth of a prompt of 3,000, in two pieces.
    assert formulas.prompt_passes(11, 100, 3000, 2048) == pytest.approx((0.2, 1500))
    # More than a piece a step: every pass carries what arrives.
    assert formulas.prompt_passes(401, 100, 1000, 2048) == pytest.approx((1, 4000))
    assert formulas.prompt_passes(1, 100, 3000, 2048) == (0, 0)
    assert formulas.prompt_passes(16, np.inf, 3000, 2048) == (0, 0)
    assert formulas.mean_step_seconds(0.25, 2.0, 6.0) == 3


def test_sums_are_two_latencies_a_layer_and_a_ring():
    assert formulas.tensor_sums_seconds(80, 8192, 1000, 1, 5e-6, 450e9) == 0
    # Four devices: 160 sums, each sends 1.5 times 16.384 MB.
    took = formulas.tensor_sums_seconds(80, 8192, 1000, 4, 5e-6, 200e9)
    assert took == pytest.approx(160 * 5e-6 + 160 * 1.5 * 16_384_000 / 200e9)


def test_one_witness_pulls_half_way_where_it_is_as_unsure_as_nothing():
    assert formulas.weighted_offset(np.array([0.2]), np.array([0.0144]), 0.0144) == pytest.approx(
        0.1
    )
    assert formulas.weighted_offset(np.zeros(0), np.zeros(0), 0.0144) == 0


def test_a_first_token_waits_for_its_parts():
    took = formulas.first_token_seconds(0.016, 3, 0.010, 0.050, 0.1, 8, 0.040)
    assert took == pytest.approx(0.016 + 0.030 + 0.050 + 0.032)


# --- by hand --------------------------------------------------------------------------------------


def test_a_pass_comes_to_what_a_person_works_out():
    own = served()
    alone = own.timing.decode(own.estimate.work, 16)
    parts = {"weights": 6.98, "cache": 0.565, "sums": 0.933, "launches": 3.65, "host": 0.914}
    for name, ms in parts.items():
        assert getattr(alone, f"{name}_s") * 1e3 == pytest.approx(ms, rel=0.02), name
    assert alone.total_s * 1e3 == pytest.approx(13.05, rel=0.01)
    mean = loaded_step(own.timing, own.estimate.work, 16, 922, 8192)
    assert mean.part == pytest.approx(0.0163, rel=0.01)
    shared = own.timing.shared_s(own.estimate.work, alone, 16, 922.0)
    assert shared * 1e3 == pytest.approx(53.6, rel=0.01)
    assert own.timing.floor_s(own.estimate.work) * 1e3 == pytest.approx(39.8, rel=0.01)
    assert mean.total_s * 1e3 == pytest.approx(13.71, rel=0.01)
    # Measurements of this set-up pull it to what they say: 13.19 ms.
    assert own.mixed_s.value * 1e3 == pytest.approx(13.6, rel=0.02)
    assert own.mixed_s.low * 1e3 < 13.19 < own.mixed_s.high * 1e3


def test_a_layer_s_time_on_the_device_is_added_for_each():
    own = served(set="layer_us:100")
    plain = own.timing.decode(own.estimate.work, 16).launches_s
    slower = served(set="layer_us:100,device_layer_us:10").estimate.work
    assert plain == pytest.approx(own.estimate.work.layers * 100e-6)
    both = served(set="layer_us:100,device_layer_us:10")
    added = both.timing.decode(both.estimate.work, 16).launches_s - plain
    scaled = formulas.device_scaled_seconds(10e-6, slower.vector_flops, REFERENCE_VECTOR_FLOPS)
    assert added == pytest.approx(slower.layers * scaled)
    assert added > 0


def test_a_prompt_in_one_piece_is_on_one_stage_at_a_time():
    # Two stages: pieces that go through both at once are at best twice as fast; one piece is not.
    pieces, one = (evaluate(layer_split(engine)) for engine in ("llama.cpp-cuda", "mlc"))
    assert pieces.timing.pieces_under_way > 1 == one.timing.pieces_under_way
    for own, stages in ((pieces, 2), (one, 1)):
        work = own.estimate.work
        alone = prompt_bound_s(own.timing, replace(work, stages=1))
        assert prompt_bound_s(own.timing, work) == pytest.approx(alone / stages)


def layer_split(engine):
    return Scenario("llama-3.1-8b", device="rtx-4090", pp=2, context=4096, engine=engine)


def test_a_cache_of_8_bits_is_read_by_its_own_kernel():
    shares = kernel_shares()
    for cache, stored in (("fp8", "8"), ("fp16", "16"), ("q8_0", "16")):
        found = served(cache_k=cache, cache_v=cache).timing.kernels
        assert found.cache == shares["attention-decode-128", stored].kernel


def test_the_matrices_of_that_pass_by_the_data_sheet():
    kernel = kernel_shares()["matrix", "8"].kernel
    bytes_, flops = 68.45e9 / 4, 2 * 68.45e9 / 4 * 16
    reading = bytes_ / (kernel.bandwidth_share * 3350e9)
    arithmetic = flops / (kernel.peak_share * 1978.9e12)
    assert kernel.seconds(bytes_, flops, 3350e9, 1978.9e12) == pytest.approx(reading + arithmetic)


def test_what_does_not_fit_waits():
    # The weights leave room for some 43 whole requests of 8,192 + 1,024 tokens on one H200.
    own = served(
        device="h200-sxm", bandwidth=4800.0, memory=None, tp=1, concurrency=128, context=5120,
        prompt=1024, output=8192, engine="tensorrt-llm", cache_k="fp8", cache_v="fp8",
    )  # fmt: skip
    assert own.running == pytest.approx(43, abs=7)
    assert own.running + own.waiting == 128
    assert own.load == SATURATED
    assert own.ttft_loaded_s.value == own.ttft_loaded_s.high == np.inf
    assert own.tokens_per_s_total.value == pytest.approx(own.running / own.tpot_s.value)
    alone = served(
        device="h200-sxm", bandwidth=4800.0, memory=None, tp=1, concurrency=int(own.running),
        context=5120, prompt=1024, output=8192, engine="tensorrt-llm", cache_k="fp8", cache_v="fp8",
    )  # fmt: skip
    assert alone.tpot_s == own.tpot_s
    assert alone.waiting == 0
    # An engine that admits what fits now runs more of them at once.
    assert served(
        device="h200-sxm", bandwidth=4800.0, memory=None, tp=1, concurrency=128, context=5120,
        prompt=1024, output=8192, cache_k="fp8", cache_v="fp8",
    ).running > own.running  # fmt: skip


def test_what_no_device_holds_is_timed_as_if_one_request_did():
    none = served(weights="fp16", tp=1, concurrency=4)
    assert (none.running, none.waiting, none.fits) == (0, 4, False)
    assert none.tpot_s.value == served(weights="fp16", tp=1, concurrency=1).tpot_s.value
    assert none.tokens_per_s_total.value == 0


def test_a_load_is_stable_near_or_beyond():
    assert [load_state(each) for each in (0.1, 0.84, 0.85, 1.14, 1.15, np.inf)] == [
        STABLE,
        STABLE,
        NEARLY,
        NEARLY,
        SATURATED,
        SATURATED,
    ]


def test_near_saturation_a_first_token_is_a_range():
    most = served().max_concurrency
    near, calm = served(concurrency=int(most)), served(concurrency=int(0.8 * most))
    assert (near.load, calm.load) == (NEARLY, STABLE)
    assert np.isnan(near.ttft_loaded_s.value)
    assert 0 < near.ttft_loaded_s.low < near.ttft_loaded_s.high < np.inf
    assert calm.ttft_loaded_s.low < calm.ttft_loaded_s.value < calm.ttft_loaded_s.high
    assert calm.first_token_s == calm.ttft_loaded_s
    assert served(output=0).first_token_s == served(output=0).ttft_s


# --- whatever the load ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [id for id in serving_engines() if id in presets.engines()])
def test_a_step_grows_with_requests_context_and_prompts(engine):
    def steps(**varied):
        own = evaluate(replace(BY_HAND, engine=engine, memory=100_000.0), **varied)
        work, timing = own.estimate.work, own.timing
        return loaded_step(timing, work, own.estimate.requests, 922, 8192).total_s

    counts = np.array([1, 2, 8, 32, 128, 512])
    for grown in (
        steps(concurrency=counts),
        steps(context=np.array([500, 1383, 8000, 64_000])),
        steps(prompt=np.array([128, 922, 4000, 9000, 20_000])),
    ):
        assert np.all(np.diff(grown) > 0)


@given(scenarios())
def test_a_fixed_batch_is_a_pass(scenario):
    own = evaluate(scenario)
    if not isinstance(own.timing, KernelTiming):
        return
    work, requests = own.estimate.work, own.estimate.requests
    fixed = loaded_step(own.timing, work, requests, np.inf, own.engine.batched_tokens)
    assert fixed.total_s == own.timing.decode(work, requests).total_s
    assert fixed.part == fixed.prompts_s == 0


@given(scenarios(), st.sampled_from(list(overrides.TIME)))
def test_a_figure_set_to_what_it_stands_at_changes_nothing(scenario, name):
    own = evaluate(replace(scenario, set=""))
    if not isinstance(own.timing, KernelTiming) or name.endswith("efficiency"):
        return  # of shares the page shows that of the matrices, and sets all
    same = own.timing.changed({name: time_figure(own, name)})
    work, requests = own.estimate.work, own.estimate.requests
    before, after = own.timing.decode(work, requests), same.decode(work, requests)
    assert after.total_s == pytest.approx(before.total_s, rel=1e-6)


def test_a_bandwidth_that_is_set_counts_for_all_reading():
    own, half = served(), served(set="batched_tokens:8192,bandwidth_efficiency:0.4")
    assert half.step.reading_s == pytest.approx(
        own.timing.decode(own.estimate.work, 16).reading_s
        * own.timing.kernels.matrix.bandwidth_share
        / 0.4,
        rel=0.01,
    )
    assert half.estimate.pull(922) == 1


def test_an_engine_with_passes_of_its_own_for_prompts_waits_for_them():
    mixed, apart = served(), served(engine="sglang")
    assert mixed.timing.mixes
    assert not apart.timing.mixes
    work, alone = apart.estimate.work, apart.timing.decode(apart.estimate.work, 16)
    floor = apart.timing.floor_s(work)
    assert apart.timing.shared_s(work, alone, 16, 922.0) >= alone.total_s + floor


def test_data_parallel_groups_meet_at_the_experts():
    one = Scenario("deepseek-v3", device="h200-sxm", tp=8, engine="sglang", concurrency=64)
    many = replace(one, tp=1, dp=8, ep=8)
    work, apart = evaluate(one).estimate.work, evaluate(many).estimate.work
    # Each device has an eighth of the experts either way, and reads what all 64 tokens need.
    assert apart.expert_bytes == pytest.approx(work.expert_bytes)
    assert apart.expert_read_bytes(8) == pytest.approx(work.expert_read_bytes(64))
    assert apart.groups == 8
    own = evaluate(many)
    sums = pass_time(apart, own.timing.kernels, own.timing.host, 8, 8, 0).sums_s
    # No sum after attention, one of all tokens over all devices after the experts.
    half = formulas.tensor_sums_seconds(
        61 / 2, 7168, 64, 8, own.timing.kernels.total.launch_us * 1e-6,
        own.timing.kernels.total.bandwidth_share * 450e9,
    )  # fmt: skip
    assert sums == pytest.approx(half, rel=0.01)


def test_devices_multiply_a_format_as_they_can():
    def work(device, weights, model="llama-3.1-70b"):
        own = evaluate(Scenario(model, weights=weights, device=device, engine="vllm"))
        return own.timing.kernels, own.estimate.work

    shares = kernel_shares()
    for device, weights, kernel, peak in (
        ("h100-sxm", "fp8", "8", 1978.9e12),
        ("a100-80-sxm", "fp8", "8-weights", 312e12),
        ("b200-sxm", "nvfp4", "nvfp4", None),
        ("h100-sxm", "nvfp4", "4-weights", 989.4e12),
        ("h100-sxm", "int4-g128", "4-weights", 989.4e12),
        ("h100-sxm", "fp16", "16", 989.4e12),
    ):
        kernels, own = work(device, weights)
        assert kernels.matrix == shares["matrix", kernel].kernel
        assert own.peak == pytest.approx(peak or presets.accelerator(device).fp4_tflops * 1e12)
    kernels, own = work("h100-sxm", "mxfp4-experts", "gpt-oss-120b")
    assert kernels.experts == shares["experts", "mxfp4-16"].kernel
    assert own.expert_peak == pytest.approx(989.4e12)


def test_a_device_typed_by_hand_has_half_its_peak_at_32_bits():
    plain = presets.accelerator("rtx-4090")
    typed = Rates(replace(plain, vector_tflops=None), 1008e9, 165.2e12)
    assert typed.vector == pytest.approx(plain.vector_tflops * 1e12, rel=0.01)
    assert typed.launch_scale == 1


def test_a_link_of_a_changed_figure_still_opens():
    scenario, notices = decode("model=llama-3.1-8b&device=h100-sxm&engine=vllm&set=layer_us:60")
    assert notices == ()
    assert evaluate(scenario).step.launches_s == pytest.approx(32 * 60e-6)


# --- rows -----------------------------------------------------------------------------------------


def test_shares_are_parts_and_launches_take_time():
    for (operation, form), row in kernel_shares().items():
        kernel = row.kernel
        assert 0 < kernel.bandwidth_share <= 1, operation
        assert 0 < kernel.peak_share <= 1, operation
        assert kernel.overlap >= 1
        assert 0.5 < kernel.launch_us < 100
        assert row.peak in ("fp16", "fp8", "fp4")
        assert not row.otherwise or (operation, row.otherwise) in kernel_shares()
        assert bool(row.needs) == bool(row.otherwise), (operation, form)


def test_every_serving_engine_says_how_it_serves():
    for id, row in serving_engines().items():
        assert row["mixes"] in ("yes", "no"), id
        assert row["whole_requests"] in ("yes", "no"), id
        assert f"steps_seen {row['first_token_as']}" in constants(), id
        assert row["source"].startswith("https://") or row["source"].startswith("taken as"), id


def test_constants_of_whole_steps_are_physical():
    assert 1 <= constants()["launch_factor"] < 2
    assert 1 <= constants()["vendor_factor"] < 2
    for name, least, most in (
        ("step_us", 100, 2000),
        ("request_us", 1, 100),
        ("expert_layer_us", 0, 100),
        ("pass_layer_us", 100, 2000),
        ("own_passes", 0.8, 1.5),
        ("ahead", 0, 0.5),
    ):
        assert least <= constants()[name] <= most, name
    assert all(row["fitted_on"] for row in shipped_rows("timing.csv"))


def test_every_format_and_width_has_its_kernels():
    for stored in presets.weight_formats().values():
        assert ("matrix", stored.kernel) in kernel_shares()
        assert ("experts", stored.expert_kernel) in kernel_shares()
    for width in (64, 128, 256):
        for cache in ("8", "16"):
            assert (f"attention-decode-{width}", cache) in kernel_shares()
        assert (f"attention-prompt-{width}", "16") in kernel_shares()
    for devices in (2, 4, 8):
        for place in ("", "-pcie"):
            assert (f"all-reduce-{devices}{place}", "16") in kernel_shares()


def test_a_work_is_numbers():
    work = served().estimate.work
    assert {f.name for f in fields(Work)} == set(vars(work))
    assert all(np.all(np.isfinite(float(value))) for value in vars(work).values())
    assert Layout().devices == 1
    assert Kernel(0, 1, 1, np.inf).seconds(1e12, 0, 1e12, 1) == 1
