"""Recurrent states: their size in each format, how many an engine holds, and logs that say so."""

from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, decode, encode, evaluate, plan
from planner.inputs import presets
from planner.logs.from_log import plan_of
from planner.logs.parse import read_log
from planner.models import states
from planner.models.config import read_config
from planner.models.notation import model_from_text, model_to_text
from planner.reports import commands

GRANITE = Scenario(
    "granite-4.0-h-small", device="h100-sxm", tp=2, engine="vllm-0.34", concurrency=16
)
WITH_STATES = [id for id in presets.models() if presets.model(id).fixed_bytes]
OF_A_CHOICE = [id for id in WITH_STATES if not states.refusal(presets.model(id), "float32")]
# Bytes of a layer's state at 32 bits and of the tail of its convolution, from the shapes in
# config.json: heads × width × N × 4; (heads × width + 2 · groups · N) × taps × 2.
BY_HAND = {
    "granite-4.0-h-small": (128 * 64 * 128 * 4, (8192 + 2 * 128) * 4 * 2),
    "qwen3-next-80b-a3b": (32 * 128 * 128 * 4, (2 * 16 * 128 + 32 * 128) * 4 * 2),
    "mamba-130m": (1536 * 16 * 4, 1536 * 4 * 2),
}


@pytest.mark.parametrize("id", BY_HAND)
def test_a_state_is_a_matrix_and_the_tail_of_a_convolution(id):
    matrix, tail = BY_HAND[id]
    own = presets.model(id)
    for format, width in (("float32", 4), ("bfloat16", 2), ("float16", 2), ("auto", 4)):
        group = next(each for each in states.stored(own, format).groups if each.state_bytes)
        assert (group.state_bytes, group.conv_bytes) == (matrix * width // 4 + tail, tail)


def test_granite_takes_what_its_36_layers_take():
    found = plan(replace(GRANITE, state_format="float32"))
    assert found.cache_fixed_bytes_per_request == 36 * 4_261_888 == plan(GRANITE).cache.fixed
    half = plan(replace(GRANITE, state_format="bfloat16"))
    assert half.cache_fixed_bytes_per_request == 36 * (2_097_152 + 67_584)


def test_a_block_stretches_to_what_vllm_says_of_states_at_16_bits():
    # https://github.com/vllm-project/vllm/issues/24280: 672 tokens for Nemotron Nano 9B v2, when
    # its states had the model's own type.
    own = Scenario("nemotron-nano-9b-v2", device="h100-sxm", engine="vllm-0.20", concurrency=1)
    assert evaluate(replace(own, state_format="bfloat16")).reserve.block_tokens == 672
    assert evaluate(own).reserve.block_tokens > 1300


def test_most_presets_with_states_give_a_choice():
    assert len(OF_A_CHOICE) > 20
    assert {presets.model(id).name for id in WITH_STATES} > {
        presets.model(id).name for id in OF_A_CHOICE
    }


@pytest.mark.parametrize("id", OF_A_CHOICE)
def test_half_the_bytes_never_hold_fewer(id):
    scenario = Scenario(id, device="h100-sxm", concurrency=4, memory=2000)
    for engine in ("vllm-0.34", "vllm-0.20", "sglang", "llama.cpp-cuda", "ideal"):
        wide, narrow, plain = (
            evaluate(replace(scenario, engine=engine, state_format=each)).max_concurrency
            for each in ("float32", "bfloat16", "auto")
        )
        assert narrow >= wide > 0
        assert plain in (narrow, wide)


@pytest.mark.parametrize("id", WITH_STATES)
def test_auto_is_the_model_as_it_is(id):
    own = presets.model(id)
    assert states.stored(own, "auto") is own
    again = states.stored(states.stored(own, "bfloat16"), "float32")
    assert again == states.stored(own, "float32")


def test_a_word_keeps_what_a_state_is_made_of():
    own = presets.model("granite-4.0-h-small")
    assert model_from_text(model_to_text(own)).groups == own.groups
    old = model_from_text("m1~36q128s4261888_4q32k8d128~p32207337984~Old")
    assert old.fixed_bytes == own.fixed_bytes
    assert "notation" in states.refusal(old, "bfloat16")
    with pytest.raises(ValueError, match="conv_bytes"):
        model_from_text("m1~36q128s10c11b4~p1~Wrong")


def test_a_file_says_the_type_of_mamba_1_too():
    text = (
        '{"model_type": "jamba", "hidden_size": 4096, "num_attention_heads": 32, %s'
        '"num_key_value_heads": 8, "num_hidden_layers": 32, "intermediate_size": 14336,'
        '"vocab_size": 65536, "attn_layer_period": 8, "attn_layer_offset": 4,'
        '"expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16,'
        '"num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,'
        '"mamba_dt_rank": 256, "tie_word_embeddings": false}'
    )
    plain = read_config(text % "").model
    half = read_config(text % '"mamba_ssm_dtype": "bfloat16",').model
    assert half.groups == states.stored(plain, "bfloat16").groups
    assert half.fixed_bytes < plain.fixed_bytes


def test_a_model_without_such_a_state_has_no_choice():
    scenario, notices = decode("model=llama-3.1-8b&state_format=bfloat16")
    assert scenario.state_format == "auto"
    assert [each.parameter for each in notices] == ["state_format"]
    with pytest.raises(ValueError, match="state_format: the model has no recurrent state"):
        Scenario("llama-3.1-8b", state_format="float32")
    with pytest.raises(ValueError, match="state_format: a state is stored as"):
        Scenario("granite-4.0-h-small", state_format="fp8")
    again, notices = decode(encode(replace(GRANITE, state_format="float16")))
    assert (again.state_format, notices) == ("float16", ())
    assert "state_format" not in encode(GRANITE)


def test_a_number_of_states_bounds_the_requests():
    asked = replace(GRANITE, engine="sglang", context=4096)
    free = evaluate(asked)
    few = evaluate(replace(asked, set="state_blocks:12"))
    assert few.max_concurrency == 4 < free.max_concurrency  # three of them for each request
    state = 36 * 4_261_888 / 2
    assert few.reserve.states_pool_bytes == pytest.approx(13 * state)  # and one that none can use
    assert few.reserve.blocks > free.reserve.blocks  # what states leave is for tokens
    bounded = evaluate(replace(asked, engine="vllm-0.34", set="state_blocks:12"))
    assert bounded.max_concurrency == 6  # two of each request
    many = evaluate(replace(asked, set="state_blocks:1000000"))
    assert many.reserve.states_pool_bytes <= many.reserve.pool_bytes


def test_more_states_never_hold_fewer_up_to_the_engines_own_number():
    asked = replace(GRANITE, engine="sglang", context=512)
    held = [
        evaluate(replace(asked, set=f"state_blocks:{count}")).max_concurrency
        for count in (3, 6, 30, 60, 120)
    ]
    assert list(np.maximum.accumulate(held)) == held


def test_the_command_says_both():
    asked = replace(GRANITE, state_format="bfloat16", set="state_blocks:48")
    made = commands.of(evaluate(asked))[0]
    assert "--mamba-ssm-cache-dtype bfloat16" in made.text
    assert any("--max-num-seqs" in note for note in made.notes)
    # Left alone, vLLM stores them in the model's own 16 bits where config.json names no type.
    plain = commands.of(evaluate(GRANITE))[0]
    assert "mamba" not in plain.text
    assert any("planned at 32 bits" in note for note in plain.notes)
    assert not any("planned at 32 bits" in note for note in made.notes)
    text = commands.of(evaluate(replace(asked, engine="sglang")))[0].text
    assert "--mamba-ssm-dtype bfloat16 --max-mamba-cache-size 48" in text
    for engine in ("vllm-0.20", "llama.cpp-cuda"):
        made = commands.of(evaluate(replace(asked, engine=engine, tp=1)))[0]
        assert "mamba" not in made.text
        assert any(note.startswith("Recurrent states: how") for note in made.notes)


def test_a_log_says_how_states_are_stored():
    text = (
        "INFO vLLM API server version 0.31.0\n"
        "non-default args: {'model': 'ibm-granite/granite-4.0-h-small', 'max_model_len': 8192, "
        "'tensor_parallel_size': 2, 'mamba_ssm_cache_dtype': 'bfloat16'}\n"
        "INFO Available KV cache memory: 30.5 GiB\n"
    )
    assert read_log(text).state_type == "bfloat16"
    assert plan_of(text, device="h100-sxm").scenario.state_format == "bfloat16"
    auto = text.replace("bfloat16", "auto")
    assert plan_of(auto, device="h100-sxm").scenario.state_format == "auto"


def test_a_log_says_how_many_states_there_are():
    # As SGLang prints its arguments and, from mem_cache/memory_pool.py, what it then holds.
    text = (
        "[2026-09-09 11:57:01] server_args=ServerArgs(model_path='ibm-granite/granite-4.0-h-small',"
        " tp_size=2, mem_fraction_static=0.85, context_length=8192, max_mamba_cache_size=96,"
        " mamba_ssm_dtype='bfloat16', mamba_full_memory_ratio=0.9)\n"
        "[2026-09-09 11:57:18 TP0] Mamba Cache is allocated. max_mamba_cache_size: 96, "
        "conv_state size: 0.11GB, ssm_state size: 3.41GB \n"
        "[2026-09-09 11:57:18 TP0] KV Cache is allocated. #tokens: 2618868, "
        "K size: 9.98 GB, V size: 9.98 GB\n"
    )
    reading = read_log(text)
    assert (reading.state_type, reading.state_blocks) == ("bfloat16", 96)
    assert (reading.states_held, reading.state_gib) == (96, pytest.approx(3.52))
    found = plan_of(text, device="h100-sxm").scenario
    assert (found.state_format, "state_blocks:96" in found.set) == ("bfloat16", True)
    unset = text.replace("=96", "=None").replace("'bfloat16'", "None")
    assert read_log(unset).state_blocks is None
    assert "state_blocks" not in plan_of(unset, device="h100-sxm").scenario.set
