"""LoRA adapters: their size against published counts, and what room for them takes."""

from dataclasses import replace

import pytest

from planner import Scenario, decode, encode, evaluate, plan
from planner.hardware import adapters
from planner.hardware.parallel import Layout
from planner.inputs import presets
from planner.logs.from_log import plan_of
from planner.logs.parse import read_log
from planner.reports import commands

# Trainable parameters of adapters of rank 16 on every matrix of the layers, as PEFT prints them
# (print_trainable_parameters) in public notebooks on these models.
PUBLISHED = {
    "llama-3.1-8b": 41_943_040,
    "llama-2-7b": 39_976_960,
    "llama-3.2-1b": 11_272_192,
    "llama-3.1-70b": 207_093_760,
    "qwen2.5-7b": 40_370_176,
    "qwen2.5-14b": 68_812_800,
    "qwen2.5-0.5b": 8_798_208,
    "qwen3-8b": 43_646_976,
    "gemma-2-9b": 54_018_048,
    "mistral-7b": 41_943_040,
}
OWN = Scenario("llama-3.1-8b", device="rtx-4090", engine="vllm-0.34", concurrency=4)


@pytest.mark.parametrize("model", [id for id in PUBLISHED if id in presets.models()])
def test_a_slot_has_the_parameters_that_peft_counts(model):
    own = presets.model(model)
    found = adapters.slot_bytes(own, Layout(), own.layers, 16) / 2
    assert found == pytest.approx(PUBLISHED[model], rel=2e-3)


def test_most_of_the_published_ones_are_presets():
    assert len([id for id in PUBLISHED if id in presets.models()]) >= 8


def test_devices_share_the_longer_side_alone():
    own = presets.model("llama-3.1-70b")
    one = adapters.slot_bytes(own, Layout(), own.layers, 16)
    four = adapters.slot_bytes(own, Layout(tensor=4), own.layers, 16)
    whole = 2 * 16 * 7 * own.layers * own.width
    assert four == pytest.approx((one - whole) / 4 + whole)
    halves = [adapters.slot_bytes(own, Layout(pipeline=2), own.layers // 2, 16)] * 2
    assert sum(halves) == pytest.approx(one)


def test_every_expert_has_adapters():
    own = presets.model("qwen3-30b-a3b")  # 48 layers of 128 experts, 2048 to 768
    dense_parameters = own.parameters - own.expert_parameters
    bare = replace(
        own, parameters=dense_parameters, expert_parameters=0, experts=0, experts_per_token=0
    )
    dense = adapters.slot_bytes(bare,
                                Layout(), own.layers, 16)  # fmt: skip
    found = adapters.slot_bytes(own, Layout(), own.layers, 16) - dense
    assert found > 2 * 16 * 48 * 128 * 3 * (2048 + 768) * 0.99


def test_room_is_taken_from_the_pool_and_reading_from_the_time():
    more = replace(OWN, loras=8, lora_rank=64)
    without, found = evaluate(OWN), evaluate(more)
    held = 8 * adapters.slot_bytes(OWN.the_model, Layout(), 32, 64)
    assert found.plan.adapter_bytes == pytest.approx(held)
    taken = without.reserve.pool_bytes - found.reserve.pool_bytes
    assert taken == pytest.approx(held)
    assert found.max_concurrency < without.max_concurrency
    # Four requests use four of the eight slots.
    read = found.plan.weights_read_bytes - without.plan.weights_read_bytes
    assert read == pytest.approx(held / 2)
    assert found.tpot_s.value > without.tpot_s.value


def test_none_is_what_links_have_always_meant():
    scenario, notices = decode("model=llama-3.1-8b&device=rtx-4090")
    assert (scenario.loras, notices) == (0, ())
    assert "lora" not in encode(scenario)
    assert plan(scenario).adapter_bytes == 0
    again, notices = decode(encode(replace(OWN, loras=3)))
    assert (again.loras, again.lora_rank, notices) == (3, 16, ())


def test_a_model_without_a_width_has_no_adapters():
    own = "m1~16q32k8d64~p1235814400.h262668288.c131072~Mine"
    scenario, notices = decode(f"model={own}&loras=2")
    assert scenario.loras == 0
    assert [each.parameter for each in notices] == ["loras"]
    with pytest.raises(ValueError, match="loras: the width"):
        Scenario(own, loras=2)


def test_the_command_says_how_many_and_of_which_rank():
    asked = replace(OWN, loras=8, lora_rank=20)
    text = commands.of(evaluate(asked))[0].text
    assert "--enable-lora --max-loras 8 --max-lora-rank 32" in text  # the next that vLLM takes
    text = commands.of(evaluate(replace(asked, engine="sglang")))[0].text
    assert "--enable-lora --max-loras-per-batch 8 --max-lora-rank 20" in text
    notes = commands.of(evaluate(replace(asked, engine="llama.cpp-cuda")))[0].notes
    assert any(note.startswith("LoRA adapters: ") for note in notes)


def test_a_log_says_how_many():
    text = (
        "INFO vLLM API server version 0.31.0\n"
        "non-default args: {'model': 'meta-llama/Llama-3.1-8B-Instruct', 'enable_lora': True, "
        "'max_loras': 4, 'max_lora_rank': 64}\n"
    )
    reading = read_log(text)
    assert (reading.lora_on, reading.loras, reading.lora_rank) == ("True", 4, 64)


def test_a_log_with_adapters_is_planned_with_them():
    text = (
        "INFO vLLM API server version 0.31.0\n"
        "non-default args: {'model': 'meta-llama/Llama-3.1-8B-Instruct', 'enable_lora': True, "
        "'max_model_len': 8192}\n"
        "INFO Available KV cache memory: 3.5 GiB\n"
    )
    found = plan_of(text, device="rtx-4090")
    assert (found.scenario.loras, found.scenario.lora_rank) == (1, 16)
