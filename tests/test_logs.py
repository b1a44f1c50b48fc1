"""The reader of start-up logs: real lines of every engine (presets/logs), junk, and nonsense."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engines.memory import CacheLayers
from planner.files import PRESETS
from planner.inputs import presets
from planner.logs.parse import FIGURES, MOST, TABLE, LogReading, read_log
from planner.logs.reconcile import reconcile

LOGS = {path.stem: path.read_text("utf-8") for path in PRESETS.glob("logs/*.log")}
ENGINES = presets.engines()

SAID = {
    "vllm-v0-old": {
        "engine_id": "vllm-0.20",
        "total_gib": 23.58,
        "fraction": 0.9,
        "weights_gib": 14.9888,
        "activation_gib": 17.06 - 14.9888,
        "non_torch_gib": 0.35,
        "pool_gib": 3.81,
        "blocks": 1952,
        "max_model_len": 20000,
        "concurrency": 1.56,
    },
    "vllm-v0": {
        "total_gib": 22.07,
        "fraction": 0.9,
        "budget_gib": 19.86,
        "weights_gib": 14.9888,
        "activation_gib": 0.22,
        "non_torch_gib": 0.05,
        "pool_gib": 4.60,
        "blocks": 2356,
        "tokens": 37696,
        "concurrency": 0.29,
    },
    "vllm-v0-columns": {
        "total_gib": 79.22,
        "fraction": 0.9,
        "budget_gib": 71.29,
        "weights_gib": 14.96,
        "activation_gib": 1.26,
        "non_torch_gib": 1.79,
        "pool_gib": 53.29,
    },
    "vllm-v1": {
        "engine_id": "vllm-0.20",
        "version": "0.10.2",
        "model": "llava-hf/llava-v1.6-mistral-7b-hf",
        "dtype": "float16",
        "cache_dtype": "auto",
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "fraction": 0.9,
        "batched_tokens": 16384,
        "max_model_len": 4096,
        "total_gib": 79.19,
        "free_gib": 78.66,
        "budget_gib": 71.27,
        "weights_gib": 14.0786,
        "activation_gib": 1.97,
        "non_torch_gib": 0.07,
        "graphs_gib": 0.67,
        "pool_gib": 55.15,
        "tokens": 451744,
        "concurrency": 110.29,
    },
    "vllm-v1-debug": {
        "fraction": 0.9,
        "budget_gib": 39.88,
        "activation_gib": 0.45,
        "non_torch_gib": 0.02,
        "weights_gib": 2.32,
        "pool_gib": 37.10,
        "tokens": 1215552,
        "concurrency": 9.27,
    },
    "vllm-0.31": {
        "engine_id": "vllm-0.26",
        "version": "0.31.0-ubuntu2404",
        "weights_gib": 15.0,
        "non_torch_gib": 0.26,
        "activation_gib": 1.44,
        "graphs_gib": 0.23,
        "pool_gib": 56.21,
        "tokens": 460496,
        "max_model_len": 131072,
        "concurrency": 3.51,
        "fraction": 0.92,
    },
    "vllm-kimi-linear": {
        "model": "cyankiwi/Kimi-Linear-48B-A3B-Instruct-AWQ-4bit",
        "fraction": 0.95,
        "tensor_parallel": 2,
        "batched_tokens": 64000,
        "pool_gib": 2.30,
        "tokens": 75840,
        "concurrency": 2.48,
    },
    "sglang": {
        "engine_id": "sglang",
        "dtype": "bfloat16",
        "cache_dtype": "bfloat16",
        "free_gib": 78.43,
        "weights_gib": 0.98,
        "pool_gib": 0.24,
        "tokens": 20480,
        "graphs_gib": 0.07,
        "batched_tokens": 8192,
        "sequences": 128,
        "max_model_len": 32768,
    },
    "sglang-old": {
        "weights_gib": 22.76 - 8.37,
        "pool_gib": 5.64,
        "tokens": 105531,
        "max_model_len": 131072,
    },
    "sglang-rocm": {
        "fraction": 0.911,
        "weights_gib": 56.98,
        "free_gib": 287.18,
        "pool_gib": 152.88,
        "tokens": 1669816,
    },
    "sglang-hybrid": {"state_gib": 4.48, "pool_gib": 5.0, "tokens": 327310, "weights_gib": 8.85},
    "trtllm-engine": {
        "engine_id": "tensorrt-llm",
        "version": "0.12.0.dev2024073000",
        "cache_dtype": "FP8",
        "fraction": 0.99,
        "weights_gib": 6166 / 1024,
        "total_gib": 79.10,
        "free_gib": 63.62,
        "blocks": 4607,
        "block_tokens": 64,
        "pool_gib": 62.99,
        "tokens": 294848,
    },
    "trtllm-pytorch": {
        "engine_id": "tensorrt-llm",
        "fraction": 0.85,
        "tensor_parallel": 8,
        "total_gib": 139.81,
        "free_gib": 48.35,
        "pool_gib": 41.11,
        "batched_tokens": 16384,
        "max_model_len": 131072,
    },
    "trtllm-max-tokens": {
        "version": "1.1.0rc3",
        "fraction": 0.8999999761581421,
        "block_tokens": 32,
        "pool_gib": 0.56,
        "tokens": 8224,
        "batched_tokens": 8192,
        "max_model_len": 8224,
    },
    "llama-cpp-2024": {
        "engine_id": "llama.cpp-cuda-nofa",
        "weights_gib": 7317.71 / 1024,
        "activation_gib": 105 / 1024,
        "max_model_len": 512,
        "batched_tokens": 512,
        "pool_gib": 180 / 1024,
        "cache_k": "f16",
        "cache_v": "f16",
    },
    "llama-cpp-two-devices": {
        "engine_id": "llama.cpp-cuda",
        "weights_gib": (5434.38 + 13989.53) / 1024,
        "pool_gib": 5.0,
    },
    "llama-cpp-sliding": {"pool_gib": 3090 / 1024, "max_model_len": 131072},
    "llama-cpp-hybrid": {
        "engine_id": "llama.cpp-cuda",
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "max_model_len": 131072,
        "pool_gib": 4.25,
        "state_gib": 598.5 / 1024,
        "activation_gib": 495 / 1024,
    },
    "llama-cpp-vulkan": {
        "engine_id": "llama.cpp-vulkan",
        "weights_gib": 6637.63 / 1024,
        "activation_gib": 541.07 / 1024,
        "max_model_len": 8192,
        "pool_gib": 2.0,
    },
}


@pytest.mark.parametrize("name", LOGS)
def test_reads_what_is_said(name):
    reading = read_log(LOGS[name])
    for figure, said in SAID[name].items():
        read = getattr(reading, figure)
        assert read == (pytest.approx(said) if isinstance(said, float) else said), figure


@pytest.mark.parametrize("name", LOGS)
def test_every_figure_names_the_line_it_was_read_from(name):
    text = LOGS[name]
    reading = read_log(text)
    assert set(reading.lines) == {each for each in FIGURES if getattr(reading, each) is not None}
    for line in reading.lines.values():
        assert line.text in text.splitlines()[line.number - 1]


@pytest.mark.parametrize("name", LOGS)
def test_colours_prefixes_and_junk_change_nothing(name):
    plain = read_log(LOGS[name])
    dressed = "".join(
        f"\x1b[32m2026-05-14T12:43:21Z worker-7 | \x1b[0m{line}\x1b[1;31m\x1b[0m\r\n"
        for line in LOGS[name].splitlines()
    )
    junk = "Loading shards:  50% | ████▌ | 1/2 [00:41<00:42]\r" * 50 + "\n{'a': [1, 2}\n"
    read = read_log(junk + dressed + junk)
    for figure in FIGURES:
        assert getattr(read, figure) == getattr(plain, figure), figure


def test_the_least_pool_of_all_ranks_counts():
    text = "\n".join(
        f"(Worker_TP{rank} pid=9) [gpu_worker.py:1] Available KV cache memory: {gib} GiB"
        for rank, gib in enumerate((19.27, 17.14, 18.00))
    )
    assert read_log(text).pool_gib == 17.14


def test_an_engine_file_has_the_size_of_its_weights():
    # https://github.com/NVIDIA/TensorRT-LLM/pull/4028
    assert read_log("[TensorRT-LLM][INFO] Loaded engine size: 240 MiB").weights_gib == 240 / 1024


def test_negative_room_is_read_as_printed():
    assert read_log("Available KV cache memory: -0.94 GiB").pool_gib == -0.94


# --- what is missing ----------------------------------------------------------------------------


def test_a_text_that_is_no_log_says_so():
    for text in ("", "hello", "x" * 100_000, "GPU memory", LOGS["vllm-v1"][:5]):
        reading = read_log(text)
        assert reading == LogReading()
        (sentence,) = reading.missing()
        assert "vLLM, SGLang, TensorRT-LLM, llama.cpp" in sentence


def test_a_log_that_says_too_little_is_told_what():
    missing = read_log("Available KV cache memory: 55.15 GiB").missing()
    assert [sentence.split(" is not")[0] for sentence in missing] == [
        "The memory of the device",
        "The size of the weights",
        "What the pool holds",
    ]
    assert read_log(LOGS["vllm-v1"]).missing() == ()


# --- hostile text -------------------------------------------------------------------------------

FIRST_WORDS = [first for _, _, first, _ in TABLE]
MEGABYTES = 10


@pytest.mark.parametrize(
    "unit",
    ["a", "\n", "1", "\x1b[", "[1;1;", "GPU KV cache size: ", "load_tensors: " + " " * 60],
    ids=repr,
)
def test_ten_megabytes_of_junk_end(unit):
    # A pattern that could backtrack without bound would not return here.
    text = unit * (MEGABYTES * 10**6 // len(unit))
    assert read_log(text).pool_gib is None


@pytest.mark.parametrize("tail", ["1" * 900, " " * 900, "(" * 900, "1," * 450, "= '\""], ids=repr)
def test_every_first_word_again_and_again(tail):
    block = "".join(first + tail for first in FIRST_WORDS)
    read_log(block * (4 * 10**6 // len(block)))


def test_figures_are_found_after_much_junk():
    text = "error: nothing to see\n" * 400_000 + LOGS["vllm-v1"]
    assert read_log(text).pool_gib == 55.15
    assert MOST >= 1000


@given(st.text(max_size=300), st.sampled_from(FIRST_WORDS), st.text(max_size=300))
def test_no_text_raises(before, first, after):
    reading = read_log(before + first + after)
    assert isinstance(reading.missing(), tuple)


# --- predicted against printed ------------------------------------------------------------------


def by_quantity(name, engine, **model):
    reading = read_log(LOGS[name])
    return {row.quantity: row for row in reconcile(reading, ENGINES[engine], **model)}


def test_a_plain_vllm_log_agrees_row_by_row():
    reading = read_log(LOGS["vllm-v1"])
    rows = reconcile(
        reading, ENGINES[reading.engine_id], bytes_per_token=131072, width=4096, vocabulary=32064
    )
    assert [row.quantity for row in rows] == ["budget", "pool", "pool", "tokens", "concurrency"]
    budget, pool, terms, tokens, concurrency = rows
    assert abs(budget.percent) < 0.01
    assert abs(pool.percent) < 1
    assert abs(terms.percent) < 0.02
    assert abs(tokens.percent) < 0.02
    assert abs(concurrency.percent) < 0.02
    assert pool.difference_gib == pytest.approx(pool.predicted - pool.printed)
    assert tokens.difference_gib == pytest.approx(0.004, abs=0.002)
    assert "451,744" in tokens.line.text


def test_the_newest_vllm_log():
    rows = by_quantity(
        "vllm-0.31", "vllm-0.26", bytes_per_token=131072, width=4096, vocabulary=128256
    )
    assert abs(rows["tokens"].percent) < 0.1
    assert abs(rows["concurrency"].percent) < 0.2


@pytest.mark.parametrize(
    ("version", "engine"),
    [
        ("0.8.5", "vllm-0.20"),
        ("0.19.1", "vllm-0.20"),
        ("0.20.0", "vllm"),
        ("0.25.1", "vllm"),
        ("0.26.0rc1", "vllm-0.26"),
        ("0.33.0", "vllm-0.26"),
        ("1.0.0", "vllm-0.26"),
    ],
)
def test_the_version_of_the_log_names_the_engine(version, engine):
    assert read_log(f"LLM engine (v{version}) with config").engine_id == engine
    assert read_log("GPU KV cache size: 75,840 tokens").engine_id == "vllm-0.26"


def test_0_20_0_prints_tokens_by_groups_and_0_20_1_does_not():
    layers = [CacheLayers(18, 512), CacheLayers(18, 512, window=128)]  # gpt-oss-120b, one of four
    text = (
        "LLM engine (v0.20.0)\nmax_num_batched_tokens=2048\nAvailable KV cache memory: 45.32 GiB\n"
        "GPU KV cache size: {} tokens\nMaximum concurrency for 16,384 tokens per request: 284.25x"
    )
    for tokens in ("2,640,144", "4,657,152"):
        reading = read_log(text.format(tokens))
        rows = reconcile(reading, ENGINES[reading.engine_id], bytes_per_token=512, layers=layers)
        assert [abs(row.percent) < 0.02 for row in rows] == [True, True]


def test_since_0_27_a_step_s_peak_is_printed_with_the_graphs_held():
    # vLLM 0.28 on one device of 80 GiB, a hybrid of 27B parameters.
    text = (
        "Model loading took 51.1 GiB memory\nAvailable KV cache memory: 19.54 GiB\n"
        "CUDA graph pool memory: 0.71 GiB (actual), 1.55 GiB (estimated), difference: 0.84 GiB\n"
        "Free memory on device (79.99/80.0 GiB) on startup. Desired GPU memory utilization is "
        "(0.92, 73.6 GiB). Actual usage is 51.66 GiB for consumed memory (weights + non-torch), "
        "2.4 GiB for peak activation, and 0.71 GiB for CUDAGraph memory."
    )
    reading = read_log(text)
    assert reading.graphs_held_gib == 1.55
    assert reading.activation_gib == pytest.approx(2.4 - 1.55)
    assert reading.lines["activation_gib"].number == 4
    rows = reconcile(reading, ENGINES[reading.engine_id], bytes_per_token=65536)
    own = next(row for row in rows if row.how.startswith("the log's own"))
    assert own.predicted == pytest.approx(19.54, abs=0.005)


def test_old_vllm_blocks():
    rows = by_quantity("vllm-v0", "vllm-0.20", bytes_per_token=131072)
    assert abs(rows["blocks"].percent) < 0.1
    assert abs(rows["tokens"].percent) < 0.1


def test_a_hybrid_log_needs_its_layers():
    layers = [
        CacheLayers(layers=7, token_bytes=1152),
        CacheLayers(layers=20, token_bytes=0, state_bytes=16 * 128 * 128 * 4 + 3 * 2048 * 3 * 2),
    ]
    engine = ENGINES["vllm-0.20"].changed(block_tokens=64)
    reading = read_log(LOGS["vllm-kimi-linear"])
    rows = {
        row.quantity: row
        for row in reconcile(reading, engine, bytes_per_token=7 * 1152, layers=layers)
    }
    assert rows["tokens"].predicted == 75840
    assert abs(rows["concurrency"].percent) < 0.5


def test_tensorrt_pools_and_blocks():
    rows = by_quantity("trtllm-engine", "tensorrt-llm", bytes_per_token=229376)
    assert abs(rows["pool"].percent) < 0.05
    rows = by_quantity("trtllm-pytorch", "tensorrt-llm", bytes_per_token=35136)
    assert abs(rows["pool"].percent) < 0.1


def test_sglang_tokens_and_its_over_wide_pool():
    rows = by_quantity("sglang-rocm", "sglang", bytes_per_token=98304)
    assert abs(rows["tokens"].percent) < 0.01
    # This build took a share of the budget for attention buffers: 152.88 of 204.63 GiB.
    assert rows["pool"].predicted == pytest.approx(204.63, abs=0.02)
    assert rows["pool"].percent == pytest.approx(33.9, abs=0.1)


def test_llama_cpp_allocates_what_was_asked():
    layers = [
        CacheLayers(layers=12, token_bytes=2048),
        CacheLayers(layers=12, token_bytes=2048, window=128),
    ]
    rows = by_quantity("llama-cpp-sliding", "llama.cpp-cuda", bytes_per_token=24576, layers=layers)
    assert rows["pool"].percent == pytest.approx(0, abs=0.01)
    rows = by_quantity("llama-cpp-hybrid", "llama.cpp-cuda", bytes_per_token=34816)
    assert rows["pool"].percent == pytest.approx(0, abs=0.01)
    # Gemma-4-12B, four slots: 8,192 cells of 8 layers and, padded, 4 · 1,024 + 2,048 of 40.
    layers = [
        CacheLayers(layers=8, token_bytes=2048),
        CacheLayers(layers=40, token_bytes=8192, window=1024),
    ]
    reading = replace(read_log(LOGS["llama-cpp-vulkan"]), sequences=4, batched_tokens=2048)
    (row,) = reconcile(reading, ENGINES["llama.cpp-vulkan"], bytes_per_token=0, layers=layers)
    assert (row.predicted, row.printed) == (2.0, 2.0)


def test_weights_are_compared_where_the_model_is_known():
    rows = by_quantity("vllm-v0", "vllm-0.20", bytes_per_token=131072, weights_bytes=8030261248 * 2)
    assert abs(rows["weights"].percent) < 0.3


def test_a_log_without_a_pool_gives_no_pool_rows():
    reading = read_log("Model loading took 14.0786 GiB and 10 seconds")
    assert reconcile(reading, ENGINES["vllm"], bytes_per_token=131072) == ()


ODD = st.sampled_from(["0", "-1", "0.0", "1", "16", "1e9", "99999999999", "-0.94", "nan", "7.5"])


@given(st.lists(st.tuples(st.sampled_from(TABLE), st.lists(ODD, min_size=9, max_size=9))))
def test_odd_numbers_can_be_compared_too(lines):
    text = ""
    for row in lines:
        (_, _, first, _), numbers = row
        parts = iter(numbers)
        template = next(each.line for each in presets.log_lines() if each.line.startswith(first))
        filled = re.sub(r"<\w+>", lambda _, parts=parts: next(parts), template)
        text += filled.replace("~", " ").replace("≈", "=").replace("…", " ") + "\n"
    reading = read_log(text)
    for engine in ENGINES.values():
        for row in reconcile(
            reading, engine, bytes_per_token=131072, total_bytes=80e9, weights_bytes=16e9
        ):
            assert isinstance(row.percent, float)
            assert isinstance(row.difference_gib, float)
