"""Pools that are cut unlike plain paging, held against what engines printed."""

from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, evaluate, plan, ways
from planner.engines.memory import Engine, reserve
from planner.engines.paging import PAGINGS, CacheLayers
from planner.files import PRESETS
from planner.inputs import presets
from planner.logs.parse import read_log
from planner.logs.reconcile import reconcile
from planner.models.config import read_config
from planner.models.notation import model_to_text
from planner.pools import cache_layers
from planner.units import GIB

VLLM, NEWER, SGLANG = (presets.engine(id) for id in ("vllm", "vllm-0.26", "sglang"))

# --- DeepSeek-V4 in vLLM -------------------------------------------------------------------------

V4_FLASH = [  # 43 layers: 21 with entries of 4 tokens, 20 of 128, all with a window
    CacheLayers(43, 584, window=128),
    CacheLayers(21, (584 + 132) / 4, stride=4, key_dim=512, index_dim=128),
    CacheLayers(20, 584 / 128, stride=128, key_dim=512),
]


def cut(engine, gib, layers, context, step, **changed):
    return PAGINGS[engine.paging](engine.changed(**changed), layers, gib * GIB, context, step)


@pytest.mark.parametrize(("context", "gib"), [(30_000, 6.66), (13_528, 5.44)])
def test_v4_needs_what_0_22_asks_for_one_request(context, gib):
    # Two GH200, 16,384 tokens in a step: the small caches of the step, whatever the length.
    found = cut(VLLM, 20, V4_FLASH, context, 16_384)
    assert found.block_bytes == 1_051_776
    assert found.per_request * found.block_bytes / GIB == pytest.approx(gib, abs=0.005)
    assert found.groups == 5


def test_v4_holds_what_0_26_prints():
    # Two H20, 8,192 tokens in a step and two steps under way: 7.7 GiB = 1.24 x 121,344.
    found = cut(NEWER, 7.7, V4_FLASH, 121_344, 8192, compressed_blocks="weighed")
    assert found.block_bytes == 1_039_680
    assert found.concurrency == pytest.approx(1.24, abs=0.005)


def test_v4_holds_what_a_packed_pool_prints():
    # Four RTX PRO 5000: 12.39 GiB = 1.89 x 33,792; its version is not printed.
    found = cut(NEWER, 12.39, V4_FLASH, 33_792, 8192, compressed_blocks="packed")
    assert found.concurrency == pytest.approx(1.89, abs=0.02)


def test_v4_of_today_has_blocks_as_wide_as_its_widest_group():
    assert cut(NEWER, 10, V4_FLASH, 8192, 8192).block_bytes == 1_002_240


def test_a_smaller_step_is_what_makes_room_for_v4():
    needs = {step: cut(VLLM, 20, V4_FLASH, 30_000, step).per_request for step in (2048, 16_384)}
    assert needs == {2048: 858 + 118, 16_384: 6682 + 118}


CONFIG = """{"model_type": "deepseek_v4", "expert_dtype": "fp4", "hc_mult": 4, "head_dim": 512,
"hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64, "max_position_embeddings": 1048576,
"moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
"num_attention_heads": 64, "num_experts_per_tok": 6, "num_hidden_layers": 43, "num_hash_layers": 3,
"num_key_value_heads": 1, "num_nextn_predict_layers": 1, "o_groups": 8, "o_lora_rank": 1024,
"q_lora_rank": 1024, "qk_rope_head_dim": 64, "sliding_window": 128, "tie_word_embeddings": false,
"vocab_size": 129280,
"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
"compress_ratios": [0, 0%s, 4, 0]}""" % (", 4, 128" * 20)  # fmt: skip


def test_the_plan_of_a_v4_config_counts_its_groups():
    model = read_config(CONFIG).model
    scenario = Scenario(
        model_to_text(model),
        weights="mxfp4-experts",
        cache_k="fp8",
        cache_v="fp8",
        device="h20",
        tp=2,
        engine="vllm-0.26",
        concurrency=1,
        context=131_072,
    )
    found = evaluate(scenario)
    # Counting bytes alone says four times as many; vLLM printed 1.24 requests of 121,344 tokens.
    assert found.plan.max_concurrency > 3 * found.max_concurrency == 3
    layers = cache_layers(scenario, plan(scenario).stages[0])
    assert [(each.stride, each.key_dim, each.index_dim) for each in layers if each.stride > 1] == [
        (4, 512, 128),
        (128, 512, 0),
    ]
    assert (
        found.reserve.blocks_per_request
        == 6682 + 512
        == cut(NEWER, 8, V4_FLASH, 131_072, 8192).per_request
    )


def test_a_smaller_step_is_offered_where_it_makes_room():
    model = model_to_text(read_config(CONFIG).model)
    scenario = Scenario(
        model, weights="mxfp4-experts", device="h20", tp=2, engine="vllm-0.26", concurrency=3
    )
    found = evaluate(scenario)
    assert not found.fits
    assert "at most 2,048 batched tokens" in [way.text for way in ways.ways(found)]
    assert evaluate(ways.with_small_step(scenario)).fits


# --- recurrent states in vLLM --------------------------------------------------------------------


def test_a_state_takes_two_slots_where_prefixes_are_kept():
    # vLLM on Qwen3.5-35B-A3B: 40 layers in groups of 10, blocks of 2,096 tokens: 300 blocks hold
    # 569,878 tokens of requests of 131,072.
    layers = [
        CacheLayers(10, 1024),
        CacheLayers(30, 0, state_bytes=32 * 128 * 128 * 4 + 8192 * 3 * 2),
    ]
    block = cut(NEWER, 6, layers, 131_072, 8192)
    assert block.block_tokens == 2096
    found = cut(NEWER, 300 * block.block_bytes / GIB, layers, 131_072, 8192)
    assert found.per_request == 63 + 3 * 2
    assert np.floor(found.concurrency * 131_072) == 569_878


def test_a_drafter_adds_a_slot_for_each_token():
    # vLLM 0.20.1 on Qwen3.6-27B, prefixes kept, three tokens drafted, 17 layers a group.
    layers = [CacheLayers(17, 2048), CacheLayers(51, 0, state_bytes=1600 * 2048)]
    engine = VLLM.changed(state_slots=2 + 3)
    found = PAGINGS["grouped"](engine, layers, 426 * 17 * 1600 * 2048, 262_144, 2048)
    assert found.blocks == 426
    assert found.per_request == 164 + 3 * 5
    assert round(found.concurrency, 2) == 2.38


# --- SGLang --------------------------------------------------------------------------------------

MIMO = [CacheLayers(9, 640), CacheLayers(39, 1280, window=128)]  # one of four devices


def test_sglang_s_window_pool_is_a_share_of_the_full_one():
    # MiMo-V2-Flash: full layers 375,360 tokens in 2.01 GiB, windows 300,288 in 13.96 GiB.
    pool = (375_360 * 9 * 640 + 300_288 * 39 * 1280 + 1) / GIB
    assert pool == pytest.approx(2.01 + 13.96, abs=0.01)
    found = cut(SGLANG, pool, MIMO, 8192, 8192, block_tokens=64)
    assert found.blocks * found.block_tokens == 375_360
    assert np.floor(found.concurrency) == 45  # requests of 8,192 tokens


def test_long_windows_limit_the_requests_of_sglang():
    # Windows of 4,096 in four of five layers: in 0.8 · F tokens less a step, as many as fit.
    layers = [CacheLayers(10, 4096), CacheLayers(40, 4096, window=4096)]
    found = cut(SGLANG, 40, layers, 4096, 2048)
    tokens = np.floor(40 * GIB / (10 * 4096 + 0.8 * 40 * 4096))
    assert found.blocks == tokens
    assert found.concurrency == pytest.approx((0.8 * tokens - 2048) / 4096)
    # Of long requests the full layers hold fewer.
    assert cut(SGLANG, 40, layers, 65_536, 2048).concurrency == pytest.approx(tokens / 65_536)


@pytest.mark.parametrize(
    ("cache_gib", "slots", "state", "running"),
    [
        # Qwen3.8-27B on an H100: 20.16 GiB of cache, 124 slots of states.
        (20.16, 124, 48 * (48 * 128 * 128 * 4 + 10_240 * 3 * 2), 41),
        # Ling-3.0-tiny: 12.45 GiB, 614 slots in 10.81 + 0.38 GiB.
        (12.45, 614, 11.19 * GIB / 615, 204),
    ],
)
def test_sglang_shares_the_pool_between_cache_and_states(cache_gib, slots, state, running):
    pool = cache_gib + (slots + 1) * state / GIB
    layers = [CacheLayers(16, 4096), CacheLayers(48, 0, state_bytes=state / 48)]
    found = cut(SGLANG, pool, layers, 128, 8192)
    assert found.apart_bytes / state == pytest.approx(slots + 1)
    left = pool * GIB - found.apart_bytes
    assert left / GIB == pytest.approx(cache_gib, abs=0.005)
    assert found.blocks == np.floor(left / (16 * 4096))
    # Three slots a running request; for long ones the cache is the limit.
    assert np.floor(found.concurrency * (1 + 1e-12)) == running
    long = cut(SGLANG, pool, layers, 131_072, 8192)
    assert long.concurrency == pytest.approx(found.blocks / 131_072)
    assert cut(SGLANG, pool, layers, 128, 8192, state_slots=1).concurrency == slots


def test_sglang_cuts_a_plain_model_into_tokens():
    layers = [CacheLayers(32, 4096)]
    found, plain = (
        cut(SGLANG, 40, layers, 8192, 8192),
        cut(SGLANG, 40, layers, 8192, 8192, paging="paged"),
    )
    assert found == plain


def test_a_pool_too_small_for_a_state_runs_nothing():
    layers = [CacheLayers(16, 4096), CacheLayers(48, 0, state_bytes=10**9)]
    found = cut(SGLANG, 10, layers, 8192, 8192)
    assert found.concurrency == 0
    assert found.apart_bytes <= 10 * GIB
    alone = cut(SGLANG, 10, [CacheLayers(48, 0, state_bytes=10**6)], 8192, 8192)
    assert alone.concurrency == pytest.approx(alone.blocks / 3, abs=1)


def test_contexts_and_pools_may_be_arrays():
    contexts = np.array([128, 8192, 131_072])
    for engine in (VLLM, NEWER, SGLANG):
        for layers in (
            V4_FLASH,
            MIMO,
            [CacheLayers(16, 4096), CacheLayers(48, 0, state_bytes=10**6)],
        ):
            found = cut(engine, np.array([[10.0], [40.0]]), layers, contexts, 8192)
            assert found.concurrency.shape == (2, 3)
            assert (np.diff(found.concurrency, axis=1) <= 0).all()
            assert (np.diff(found.concurrency, axis=0) > 0).all()


# --- what an engine keeps free -------------------------------------------------------------------


@pytest.mark.parametrize(("peak_gib", "kept_gib"), [(0.4, 1.0), (4.0, 3.0)])
def test_vllm_0_34_keeps_the_larger_of_a_gib_and_three_quarters_of_a_step(peak_gib, kept_gib):
    engine = presets.engine("vllm-0.34").changed(logit_rows=0.0, batched_tokens=8192.0)
    width = peak_gib * GIB / (engine.activation_per_width * 8192)
    found = reserve(
        engine,
        total_bytes=80 * GIB,
        weights_bytes=15 * GIB,
        layers=[CacheLayers(32, 4096)],
        context_tokens=8192,
        width=width,
    )
    assert found.headroom_bytes / GIB == pytest.approx(kept_gib)
    kept = engine.non_torch_gib + engine.graphs_gib + peak_gib + kept_gib
    assert found.pool_bytes / GIB == pytest.approx(80 - 15 - kept)
    assert found.left_bytes == pytest.approx(0, abs=1)


@pytest.mark.parametrize(("context", "step"), [(256, 2048), (8192, 8192), (40_000, 2048)])
def test_the_first_vllm_took_a_whole_prompt_in_one_step(context, step):
    engine = Engine(
        "first", "", activation_per_width=1, batched_tokens=2048, whole_prompt_tokens=32_768
    )
    found = reserve(
        engine,
        total_bytes=80 * GIB,
        weights_bytes=0,
        layers=[CacheLayers(32, 4096)],
        context_tokens=context,
        width=1000,
    )
    assert found.activation_bytes == 1000 * step


def test_a_hybrid_log_of_sglang_agrees_pool_by_pool():
    # One of two devices: 22.93 GiB free at start, 8.85 of weights, a fraction of 0.8; 186 slots of
    # states in 4.48 GiB, 327,310 tokens in 5.00 GiB.
    reading = read_log((PRESETS / "logs" / "sglang-hybrid.log").read_text("utf-8"))
    reading = replace(reading, fraction=0.8, max_model_len=32_768)
    layers = [CacheLayers(8, 2048), CacheLayers(24, 0, state_bytes=4.48 * GIB / 187 / 24)]
    engine = SGLANG.changed(non_torch_gib=0.0, activation_per_width=0.0)
    found = {
        row.quantity: row
        for row in reconcile(
            reading,
            engine,
            bytes_per_token=16_384,
            layers=layers,
            total_bytes=22.93 * GIB,
            weights_bytes=8.85 * GIB,
        )
    }
    assert abs(found["pool"].percent) < 0.5
    assert abs(found["tokens"].percent) < 0.2
