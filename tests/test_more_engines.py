"""Engines beside the usual ones: MLX, ollama, ATOM, vLLM on Ascend, KTransformers, …

Sources of their figures are in presets/engines.csv; here, what comes of them.
"""

from dataclasses import replace

import pytest

from planner import Scenario, evaluate
from planner.answer import limits
from planner.engines.calibration import timings
from planner.inputs import presets, support
from planner.logs.from_log import plan_of
from planner.logs.parse import read_log
from planner.maintain import fit
from planner.reports import commands

MEASURED = (  # model, weights, device, prompt, tokens/s of one request, source
    # https://github.com/ml-explore/mlx-lm/blob/d78bf58/mlx_lm/BENCHMARKS.md, M4 Max
    ("qwen3-4b", "fp16", "apple-m4-max", 2048, 52.47),
    ("qwen3-4b", "mlx-8", "apple-m4-max", 2048, 86.907),
    ("qwen3-4b", "mlx-4", "apple-m4-max", 2048, 134.52),
    ("qwen3-30b-a3b", "mlx-8", "apple-m4-max", 2048, 83.16),
    ("qwen3-30b-a3b", "mlx-4", "apple-m4-max", 2048, 113.33),
    # a public thread: Qwen3.6-35B-A3B, laid out as Qwen3.5-35B-A3B, 4 bits, M5 Max
    ("qwen3.5-35b-a3b", "mlx-4", "apple-m5-max", 512, 133),
    # https://github.com/raullenchai/Rapid-MLX/pull/586, M3 Ultra
    ("llama-3.1-8b", "mlx-4", "apple-m3-ultra", 512, 119.39),
)
ATOM = """
[atom] Model load done: meta-llama/Llama-3.1-8B-Instruct (weights loaded in 12.10s)
Memory budget: total_gpu=191.98GB, free=170.00GB, utilization=0.9, budget=172.78GB, \
peak_torch=19.00GB, non_torch=1.20GB, cudagraph_est=0.80GB, safety=3.84GB, \
available_for_kv=147.94GB, block_bytes=2097152, num_kvcache_blocks=75745
Concurrent capacity vs context length (max_model_len=131072, block_size=16, max_slots=512, \
pool_blocks=75745):
"""


@pytest.mark.parametrize(("model", "weights", "device", "prompt", "tokens"), MEASURED)
def test_the_wide_band_of_mlx_holds_what_was_published(model, weights, device, prompt, tokens):
    asked = Scenario(
        model, weights, device=device, engine="mlx", concurrency=1, context=prompt + 128
    )
    speed = evaluate(asked).tpot_s
    assert 1 / speed.high <= tokens <= 1 / speed.low


# From public threads: model, weights, device, engine, prompt, seconds to the first token.
PROMPTS = (
    # https://github.com/geerlingguy/ai-benchmarks/issues/21
    ("gpt-oss-20b", "mxfp4-experts", "ryzen-ai-max-395", "llama.cpp-vulkan", 512, 0.91),
    ("qwen3.5-35b-a3b", "fp8-block", "dgx-spark", "vllm-0.26", 131_072, 64.0),
    # https://github.com/ml-explore/mlx-lm/blob/d78bf58/mlx_lm/BENCHMARKS.md
    ("qwen3-4b", "mlx-4", "apple-m4-max", "mlx", 2048, 2048 / 1622),
    ("qwen3-30b-a3b", "mlx-4", "apple-m4-max", "mlx", 2048, 2048 / 1754),
)


@pytest.mark.parametrize(("model", "weights", "device", "engine", "prompt", "seconds"), PROMPTS)
def test_the_range_of_a_prompt_of_a_kind_hardly_measured_holds_what_was_published(
    model, weights, device, engine, prompt, seconds
):
    asked = Scenario(model, weights, device=device, engine=engine, concurrency=1, prompt=prompt,
                     context=prompt + 128)  # fmt: skip
    first = evaluate(asked).ttft_s
    assert first.low <= seconds <= first.high


def test_llama_cpp_on_two_cards_without_a_link_splits_layers():
    # A public thread: gemma-4-31b in Q6_K on two RTX 3090, 28.5 tokens/s, not told how to split.
    asked = Scenario("gemma-4-31b", "q6_k", device="rtx-3090", engine="llama.cpp-cuda",
                     concurrency=1, context=8192, pp=2)  # fmt: skip
    found = evaluate(asked)
    assert 1 / found.tpot_s.high <= 28.5 <= 1 / found.tpot_s.low
    split = evaluate(replace(asked, pp=1, tp=2))
    assert any("splits layers" in text for text in limits(split))
    assert not any("splits layers" in text for text in limits(found))


@pytest.mark.parametrize("id", fit.UNMEASURED)
def test_an_engine_that_nobody_measured_says_so_and_is_known_less_well(id):
    row = timings()[id]
    assert (row.step_rows, row.prefill_rows) == (0, 0)
    measured = [timings()[each] for each in ("llama.cpp-cuda", "mlc", "exllamav2")]
    assert row.decode_high > max(each.decode_high for each in measured)
    assert row.prefill_high > timings()["llama.cpp-cuda"].prefill_high


@pytest.mark.parametrize(
    ("id", "device", "other"),
    [
        ("mlx", "apple-m4-max", "h100-sxm"),
        ("ollama-metal", "apple-m4-max", "rtx-4090"),
        ("ollama-cuda", "rtx-4090", "apple-m4-max"),
        ("atom", "mi300x", "h100-sxm"),
        ("vllm-ascend", "ascend-910b3", "mi300x"),
        ("ktransformers", "rtx-4090", "mi300x"),
        ("ik_llama.cpp", "rtx-4090", "mi300x"),
        ("exllamav3", "rtx-3090", "mi300x"),
    ],
)
def test_each_runs_where_its_documents_say(id, device, other):
    assert not support.refusal(id, device)
    assert support.refusal(id, other) or support.remark(id, other)
    asked = Scenario("llama-3.1-8b", device=device, engine=id, concurrency=1)
    made = evaluate(asked)
    assert made.fits
    assert [each.engine.id for each in commands.of(made)] == [id]
    assert made.tpot_s.low < made.tpot_s.value < made.tpot_s.high


def test_atom_keeps_two_percent_of_all_memory_and_a_fifth_of_the_activations():
    engine = presets.engine("atom")
    asked = Scenario("llama-3.1-8b", device="mi300x", engine="atom")
    reserve = evaluate(asked).reserve
    kept = 0.02 * reserve.total_bytes + 0.2 * reserve.activation_bytes
    assert reserve.headroom_bytes == pytest.approx(kept)
    assert engine.fraction == 0.9


def test_experts_left_to_the_host_are_said_as_each_engine_has_it():
    asked = {"device": "rtx-4090", "host_experts": 30, "context": 4096, "concurrency": 1}
    said = {
        "ktransformers": "--kt-num-gpu-experts 48",  # 128 experts in 48 layers, 18 of them here
        "exllamav3": "--cpu-moe-offload-layers 30",
        "ik_llama.cpp": "--n-cpu-moe 30",
    }
    for id, words in said.items():
        found = commands.of(evaluate(Scenario("qwen3-30b-a3b", engine=id, **asked)))
        assert words in found[0].text


def test_a_log_of_atom_is_read():
    found = plan_of(ATOM, device="mi300x")
    assert found.scenario.engine == "atom"
    assert found.scenario.model == "llama-3.1-8b"
    pool = next(row for row in found.rows if row.quantity == "pool")
    assert pool.printed == pytest.approx(147.94)
    assert abs(pool.percent) < 5


@pytest.mark.parametrize(
    ("text", "id"),
    [
        (
            "INFO Platform plugin ascend is activated\nGPU KV cache size: 75,840 tokens",
            "vllm-ascend",
        ),
        (
            "server_args=ServerArgs(model_path='x', kt_num_gpu_experts=4, tp_size=1)",
            "ktransformers",
        ),
        ('time=x source=ggml.go:136 msg="" architecture=llama file_type=Q4_K_M', "ollama-cuda"),
        ("llama_new_context_with_model: n_ctx      = 8192\nllama: mla_attn   = 3", "ik_llama.cpp"),
    ],
)
def test_a_dialect_has_a_row_of_its_own(text, id):
    assert read_log(text).engine_id == id


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mlx_lm.server --model mlx-community/Qwen3-8B-4bit\nStarting httpd at 127.0.0.1", "MLX"),
        ("INFO: Loading model with exllamav3 backend", "ExLlamaV3"),
    ],
)
def test_an_engine_without_figures_is_named(text, name):
    (sentence,) = read_log(text).missing()
    assert sentence.startswith(name)
