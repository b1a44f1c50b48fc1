"""Sparse attention by what it reads, and the cache formats of latents as engines store them."""

from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, answer, decode, encode, evaluate, plan
from planner.inputs import presets
from planner.models.config import read_config
from planner.models.model import LayerGroup
from planner.reports import commands
from planner.units import GB

V32 = Scenario("deepseek-v3.2", device="h200-sxm", tp=8, concurrency=1, context=131_072)
# Bytes of a token that SGLang printed for DeepSeek-V3.2-Exp, rounded as its log is, and of one
# layer: 656 of the latent and 132 of the indexer's key.
# Source: https://github.com/sgl-project/sglang/pull/11309
PRINTED, ENTRY, KEY, LAYERS = 48_071.7, 656, 132, 61


def test_a_token_takes_what_an_engine_printed():
    found = plan(replace(V32, cache_k="fp8-ds-mla"))
    assert found.cache_bytes_per_token == pytest.approx(LAYERS * (ENTRY + KEY))
    assert found.cache_bytes_per_token == pytest.approx(PRINTED, rel=1e-3)


def test_at_16_bits_it_is_what_it_was():
    assert plan(V32).cache_bytes_per_token == LAYERS * (576 * 2 + 128 * 2)


def test_an_entry_of_the_next_generation_takes_584_bytes():
    group = next(g for g in presets.model("deepseek-v4-flash").groups if g.index_bytes)
    stored = presets.cache_format("fp8-ds-v4")
    window, far = group.stores(stored.bytes, stored.bytes, stored.index_bytes)
    assert window == (group.layers * 584, 128)
    assert far == (pytest.approx(group.layers * (584 + 132) / 4), np.inf)


def test_a_step_reads_the_best_entries_and_every_short_key():
    found = plan(V32)
    read = LAYERS * (2048 * 576 * 2 + 131_072 * 128 * 2)
    assert found.cache_read_bytes == read
    assert found.cache_read_s == read / (4800 * GB)
    assert found.cache_bytes == LAYERS * 131_072 * (576 * 2 + 128 * 2)  # all of it is stored


def test_a_short_context_is_read_whole():
    found = plan(replace(V32, context=2048))
    assert found.cache_read_bytes == found.cache_bytes


def test_entries_of_several_tokens_are_chosen_too():
    group = LayerGroup(1, 4, 1, 8, 0, window=16, stride=4, index_bytes=4, top_k=10)
    assert group.reads() == [(16, 16), (4, 40), (1, np.inf)]
    assert group.stores() == [(16, 16), (5, np.inf)]
    assert replace(group, top_k=None).reads() == group.stores()


@pytest.mark.parametrize(
    "model", [id for id, each in presets.models().items() if any(g.top_k for g in each.groups)]
)
def test_reading_grows_with_the_keys_alone_once_enough_is_stored(model):
    own, most = presets.model(model), np.array([200_000, 300_000])
    found = plan(Scenario(model, concurrency=1), context=most)
    keys = sum(g.layers * g.index_bytes / g.stride for g in own.groups if g.top_k)
    others = sum(each for g in own.groups if not g.top_k for each, w in g.stores() if w == np.inf)
    assert np.diff(found.cache_read_bytes)[0] == pytest.approx((keys + others) * 100_000)


def test_all_that_read_sparsely_are_known():
    sparse = {id for id, each in presets.models().items() if any(g.top_k for g in each.groups)}
    assert {"deepseek-v3.2", "glm-5", "glm-5.2", "deepseek-v4-flash", "deepseek-v4-pro"} <= sparse


@pytest.mark.parametrize("engine", ["vllm-0.34", "sglang"])
def test_engines_wait_for_what_is_read(engine):
    own = replace(V32, engine=engine, context=100_000)
    model = own.the_model
    whole = replace(model, groups=tuple(replace(group, top_k=None) for group in model.groups))
    sparse, dense = evaluate(own), evaluate(own, model=whole)
    assert sparse.step.cache_s < 0.5 * dense.step.cache_s
    assert sparse.max_concurrency == dense.max_concurrency
    assert "the best of the rest" in " ".join(answer.limits(sparse))


def test_a_config_says_how_many_are_read():
    text = (
        '{"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"], '
        '"hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, '
        '"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, '
        '"v_head_dim": 128, "q_lora_rank": 1536, "index_head_dim": 128, "index_n_heads": 64, '
        '"index_topk": 1024, "vocab_size": 129280, "intermediate_size": 18432, '
        '"moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8, '
        '"n_shared_experts": 1, "first_k_dense_replace": 3}'
    )
    found = read_config(text)
    assert {group.top_k for group in found.model.groups} == {1024}
    assert any("1,024 best" in note for note in found.notes)


@pytest.mark.parametrize("name", ["cache_k", "cache_v"])
def test_a_format_of_latents_is_for_latents_of_its_width(name):
    scenario, notices = decode(f"model=llama-3.1-8b&{name}=fp8-ds-mla")
    assert [each.parameter for each in notices] == [name]
    assert getattr(scenario, name) == "fp16"
    with pytest.raises(ValueError, match=f"{name}: this format is of latents"):
        Scenario("llama-3.1-8b", **{name: "fp8-ds-mla"})
    scenario, notices = decode("model=deepseek-v3&cache_k=fp8-ds-mla")
    assert notices == ()
    assert decode(encode(scenario)) == (scenario, ())


def test_engines_are_told_of_the_format():
    made = commands.command(replace(V32, cache_k="fp8-ds-mla"), presets.engine("vllm-0.34"))
    assert "--kv-cache-dtype fp8_ds_mla" in made.text
