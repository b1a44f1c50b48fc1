"""Logs of people who do this job, rebuilt from public threads (tests/data/logs).

For each: what the log prints, and what comes of it; a figure that cannot be predicted from what is
there is marked or asked for.
"""

import json

import pytest

from planner.inputs import presets
from planner.logs import defaults, from_log, identify, templates, told
from planner.logs.from_log import plan_of
from planner.logs.parse import FIGURES, NAMES, read_log
from tests.browser import ROOT

LOGS = {path.stem: path.read_text("utf-8") for path in (ROOT / "tests" / "data" / "logs").iterdir()}


def rows(found):
    return {row.quantity: row for row in found.rows}


def off(found, quantity):
    return abs(rows(found)[quantity].percent)


def test_the_length_stands_in_the_arguments_alone():
    found = plan_of(LOGS["nd"], model="qwen3.5-35b-a3b", device="rtx-5090", weights="nvfp4")
    assert off(found, "tokens") < 1
    assert rows(found)["tokens"].printed == 569_878
    assert (found.scenario.context, found.scenario.cache_k, found.scenario.tp) == (
        131_072,
        "fp8",
        1,
    )
    assert found.scenario.concurrency == 4
    assert {"memory", "fraction", "step"} <= {*rows(found)["pool"].assumed}


def test_a_wrapped_log_is_read_whole():
    found = plan_of(LOGS["vllm-0.31.wrap"], model="llama-3.1-8b", device="h100-sxm")
    assert all(abs(row.percent) < 1 for row in found.rows)
    assert {row.printed for row in found.rows} >= {460_496, 3.51, 56.21, 72.91}
    reading = read_log(LOGS["vllm-0.31.wrap"])
    assert told.counted(reading, found).startswith("Of 6 lines with text 5 were understood")


def test_a_namespace_names_model_and_devices():
    found = plan_of(LOGS["qwen3-30b-a10x4-docker"], device="a10")
    assert (found.scenario.model, found.scenario.tp) == ("qwen3-30b-a3b", 4)
    assert (found.scenario.concurrency, found.asked) == (24, ())
    # The log has no pool: what it holds is held against the predicted one, and says so.
    assert rows(found)["tokens"].printed == 198_784
    assert rows(found)["tokens"].how.startswith("predicted pool")
    assert {"weights", "cache", "memory"} <= {*rows(found)["tokens"].assumed}


def test_one_request_that_does_not_fit():
    found = plan_of(
        LOGS["kverr2"], model="qwen3-coder-480b-a35b", device="mi300x", weights="fp8-block"
    )
    assert off(found, "needed for one request") < 0.01
    longest = rows(found)["longest request"]
    assert (longest.predicted, longest.printed) == (205_728, 205_728)
    assert found.scenario.context == 262_144
    # One device would not hold the weights, and the log prints a pool.
    assert found.asked == ("tp",)
    reading = read_log(LOGS["kverr"])
    assert (reading.needed_gib, reading.pool_gib, reading.longest_len) == (4.76, 1.56, 15_984)


def test_sixteen_bits_that_leave_no_pool_are_asked_about():
    found = plan_of(LOGS["kverr"], device="rtx-5090")
    assert found.asked == ("weights",)
    assert "pool" not in rows(found)
    assert "no drafter" in rows(found)["needed for one request"].assumed
    again = plan_of(LOGS["kverr"], device="rtx-5090", weights="int4-g128")
    assert again.asked == ()
    assert rows(again)["pool"].predicted > 0


def test_keys_and_values_have_formats_of_their_own():
    found = plan_of(LOGS["lcpp-kv-mixed2"], device="rtx-4090")
    assert (found.scenario.cache_k, found.scenario.cache_v) == ("q8_0", "q4_0")
    assert off(found, "pool") < 0.01
    assert found.scenario.weights == "q4_k_m"


def test_a_dialect_is_read_and_an_unknown_format_asked_about():
    found = plan_of(LOGS["ik-mla"], device="rtx-4090", model="deepseek-v3")
    assert off(found, "pool") < 0.01
    assert found.asked == ("weights",)
    assert "Choose the format of the weights: the format “IQ4_K” is not known." in found.notes
    assert read_log(LOGS["ik-mla"]).engine_name == "ik_llama.cpp"


def test_what_llama_cpp_prints_today():
    reading = read_log(LOGS["lcpp-fit"])
    read = (reading.total_gib, reading.weights_gib, reading.context_gib, reading.activation_gib)
    assert [round(each * 1024) for each in read] == [24_080, 13_169, 38, 985]
    assert round(reading.projected_gib * 1024) == 14_943
    found = plan_of(LOGS["lcpp-fit"], device="rtx-4090", model="qwen3-8b")
    assert "context" in rows(found)["cache and states"].assumed
    assert found.asked == ("weights",)


def test_ollama_s_own_engine():
    found = plan_of(LOGS["ollama-new"], device="rtx-4090", model="mistral-small-24b")
    assert rows(found)["weights"].printed == pytest.approx(11.9 + 11.5)
    assert off(found, "weights") < 4  # the log's model has a part for pictures
    assert (found.scenario.weights, found.scenario.layout.devices) == ("q8_0", 2)


def test_a_model_of_one_layout_with_another_is_known():
    found = plan_of(LOGS["qwen38-27b-fp8-2x5090"], device="rtx-5090")
    assert (found.scenario.model, found.scenario.weights) == ("qwen3.5-27b", "fp8")
    # Its states alone take more than one a request: a drafter that this excerpt leaves out.
    assert rows(found)["tokens"].assumed == ("prefix caching", "no drafter")
    assert any("may leave out a drafter" in note for note in found.notes)


def test_an_embedding_model():
    found = plan_of(LOGS["qwen3-embed"], device="rtx-4090")
    assert found.scenario.model == "qwen3-0.6b"
    assert off(found, "tokens") < 0.05


def test_a_drafter_s_layer_and_states_count():
    found = plan_of(LOGS["qwen36-27b-2x3090-mtp"], device="rtx-3090")
    assert found.scenario.weights == "int4-g128"
    assert off(found, "tokens") < 0.5
    assert off(found, "concurrency") < 0.5
    assert off(found, "pool") < 3
    assert any(note.startswith("Speculative decoding (mtp)") for note in found.notes)


def test_a_drafter_of_unknown_layers_is_named():
    text = LOGS["qwen36-27b-2x3090-mtp"].replace("'mtp'", "'dflash'")
    found = plan_of(text, device="rtx-3090")
    assert "drafter's cache" in rows(found)["tokens"].assumed


def test_an_engine_that_refuses_is_predicted_to():
    found = plan_of(LOGS["sgl-oom"], device="h200-sxm")
    pool = rows(found)["pool"]
    assert pool.printed is None
    assert -5 < pool.predicted < -3
    reading = read_log(LOGS["sgl-oom"])
    assert told.answer("x", reading, found.rows).startswith("SGLang would not start: 3.4")
    assert [row["printed"] for row in told.table(found.rows)][-1] == "would not start"


def test_two_pools_of_one_rank():
    reading = read_log(LOGS["sgl-mimo"])
    assert reading.pool_gib == pytest.approx(8.38 + 5.59 + 1.21 + 0.81)
    assert (reading.tokens, reading.window_tokens) == (375_360, 300_288)
    assert (reading.tensor_parallel, reading.fraction) == (4, 0.7)


# --- kinds of their own ---------------------------------------------------------------------------


def test_a_negative_pool_is_said_in_words():
    text = (
        "Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen3-14B', "
        "speculative_config=None, dtype=torch.bfloat16, max_seq_len=40960, quantization=None, "
        "tensor_parallel_size=1, kv_cache_dtype=auto\n"
        "Model loading took 27.5185 GiB and 4 seconds\nAvailable KV cache memory: -7.05 GiB\n"
    )
    found = plan_of(text, device="rtx-4090")
    (row,) = (each for each in told.table(found.rows) if each["quantity"] == "pool")
    assert row["printed"] == "would not start: 7.05 GiB short"
    assert row["predicted"].startswith("would not start: 7.")
    assert row["off (%)"] == ""
    assert abs(float(row["off (GiB)"])) < 1


RANKS = [
    (0, 32.89, 2.50, 0.78, 35.10),
    (1, 32.90, 2.45, 1.72, 34.20),
    (2, 32.89, 2.50, 0.80, 35.08),
]


def ranked(order):
    lines = [
        "(EngineCore pid=9) INFO Initializing a V1 LLM engine (v0.11.0) with config: "
        "model='meta-llama/Llama-3.1-70B', dtype=torch.bfloat16, max_seq_len=32768, "
        "tensor_parallel_size=4, quantization=None, kv_cache_dtype=auto"
    ]
    for rank, weights, activation, other, pool in RANKS:
        who = f"(Worker_TP{rank} pid=2{rank})"
        lines += [
            f"{who} INFO Model loading took {weights} GiB and 40 seconds",
            f"{who} INFO Available KV cache memory: {pool} GiB",
            f"{who} INFO Free memory on device (78.5/79.19 GiB) on startup. Desired GPU memory "
            f"utilization is (0.9, 71.27 GiB). Actual usage is {weights} GiB for weight, "
            f"{activation} GiB for peak activation, {other} GiB for non-torch memory, and 1.2 GiB "
            "for CUDAGraph memory.",
        ]
    return "\n".join(lines[at] for at in order)


@pytest.mark.parametrize("order", [range(10), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], [0, 6, 2, 5, 1, 9]])
def test_the_least_pool_of_all_ranks_decides_with_its_own_terms(order):
    reading = read_log(ranked(order))
    pools = [RANKS[(at - 1) // 3][4] for at in order if at % 3 == 2]
    assert reading.pool_gib == min(pools)
    own = next(each for each in RANKS if each[4] == min(pools))
    assert (reading.weights_gib, reading.activation_gib, reading.non_torch_gib) == own[1:4]
    terms = [row for row in plan_of(ranked(order)).rows if row.how.startswith("the log's own")]
    assert len(terms) == 1
    assert abs(terms[0].percent) < 0.1


def test_terms_of_one_rank_are_not_held_against_another_s_pool():
    reading = read_log(ranked([0, 1, 3, 5]))  # the pool of rank 1, the terms of rank 0
    assert (reading.pool_gib, reading.weights_gib) == (34.20, 32.89)
    rows_ = plan_of(ranked([0, 1, 3, 5])).rows
    assert not any(row.how.startswith("the log's own") for row in rows_)


def test_ranks_that_write_tell_how_many_devices_there_are():
    text = "\n".join(f"(Worker_TP{rank} pid=1) Available KV cache memory: 9 GiB" for rank in (0, 3))
    assert read_log(text).tensor_parallel == 4
    assert (
        read_log("[2026-01-01 10:00:00 TP7] Load weight begin. avail mem=9 GB").tensor_parallel == 8
    )


def test_of_several_starts_the_last_that_came_to_a_pool_counts():
    text = (
        "vLLM API server version 0.11.0\nnon-default args: {'model': 'Qwen/Qwen3-8B', "
        "'max_model_len': 40960}\nAvailable KV cache memory: 1.10 GiB\n"
        "vLLM API server version 0.11.0\nnon-default args: {'model': 'Qwen/Qwen3-8B', "
        "'max_model_len': 8192}\nAvailable KV cache memory: 2.20 GiB\n"
        "GPU KV cache size: 16,016 tokens\nvLLM API server version 0.11.0\n"
    )
    reading = read_log(text)
    assert (reading.pool_gib, reading.max_model_len, reading.start_count) == (2.2, 8192, 3)
    found = plan_of(text, device="rtx-4090")
    assert any("holds 3 starts" in note for note in found.notes)
    assert off(found, "tokens") < 0.1


def test_a_pool_that_was_set_is_not_predicted():
    text = (
        "with config: model='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, "
        "quantization=None, tensor_parallel_size=1, kv_cache_dtype=auto\n"
        "Initial free memory 78.1 GiB, reserved 20.0 GiB memory for KV Cache as specified by "
        "kv_cache_memory_bytes config and skipped memory profiling.\n"
        "GPU KV cache size: 145,632 tokens\n"
    )
    found = plan_of(text, device="h100-sxm")
    assert "pool" not in rows(found)
    assert off(found, "tokens") < 0.01


def test_what_only_one_of_two_gpus_prints_is_summed_over_both():
    text = (
        "srv    load_model: loading model '/models/Qwen3-32B-Q4_K_M.gguf'\n"
        "| memory breakdown [MiB]  | total   free     self   model   context   compute    other|\n"
        "|   - CUDA0 (RTX 4090)    | 24080 = 436 + (14193 =  9469 +  4352 +  372) +     451 |\n"
        "|   - CUDA1 (RTX 4090)    | 24080 = 436 + (14193 =  9069 +  4352 +  385) +     451 |\n"
        "|   - Host                |                  697 =   666 +     0 +   30            |\n"
        "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 34816, kv_unified = 'true'\n"
    )
    found = plan_of(text)
    assert (found.scenario.device, found.scenario.pp, found.asked) == ("rtx-4090", 2, ())
    assert (found.scenario.weights, found.scenario.concurrency) == ("q4_k_m", 1)
    assert off(found, "cache and states") < 0.01
    assert off(found, "weights") < 1


def test_tensorrt_s_old_lines():
    text = (
        "[TensorRT-LLM][INFO] Engine version 0.9.0 found in the config file\n"
        "[TensorRT-LLM][INFO] Loaded engine size: 15317 MiB\n"
        "[TensorRT-LLM][INFO] Max tokens in paged KV cache: 410624. Allocating 53821308928 bytes.\n"
    )
    found = plan_of(text, model="llama-3.1-8b", device="h100-sxm")
    assert off(found, "tokens") < 0.01
    assert off(found, "weights") < 0.1


def test_a_back_end_fits_its_device():
    text = "print_info: file type = Q8_0\nllama_context: n_ctx = 8192\n"
    assert (
        plan_of(text, model="qwen3-8b", device="apple-m4-max").scenario.engine == "llama.cpp-metal"
    )


@pytest.mark.parametrize(
    ("method", "dtype", "model", "format"),
    [
        ("None", "bfloat16", "x/y", "fp16"),
        ("fp8", "bfloat16", "x/y", "fp8-block"),  # as published
        ("modelopt_fp4", "bfloat16", "x/y", "nvfp4"),
        ("awq_marlin", "float16", "x/y", "int4-g128"),
        ("auto-round", "float16", "x/y", "int4-g128"),
        ("compressed-tensors", "bfloat16", "x/y-W4A16", "int4-g128"),
        ("compressed-tensors", "bfloat16", "x/y", ""),
        ("quark", "bfloat16", "x/y", ""),
        (None, "Q3_K_XL", "x/y", ""),
        (None, None, "/m/Qwen3-8B-Q5_K_M.gguf", "q5_k_m"),
        (None, None, "x/y", "fp8-block"),
    ],
)
def test_the_log_s_own_format_counts_before_the_published_one(method, dtype, model, format):
    reading = read_log("")
    for name, value in (("quantization", method), ("dtype", dtype), ("model", model)):
        object.__setattr__(reading, name, value)
    assert identify.weights(reading, "fp8-block").format == format


def test_an_unknown_format_of_the_cache_is_asked_about():
    text = LOGS["lcpp-kv-mixed2"].replace("q4_0", "q5_1")
    found = plan_of(text, device="rtx-4090")
    assert found.asked == ("cache_v",)
    assert rows(found) == {}
    assert any("the cache type “q5_1” is not known" in note for note in found.notes)


def test_a_link_fills_what_the_log_leaves_out_and_only_contradicts_where_both_speak():
    given = {"model": "qwen3-coder-480b-a35b", "device": "mi300x", "weights": "fp8-block"}
    found = plan_of(LOGS["kverr2"], **given, pp="2", tp="4", context="262144")
    assert found.contradictions == {}
    assert (found.scenario.tp, found.scenario.pp) == (4, 2)
    against = plan_of(LOGS["kverr2"], **given, context="8192").contradictions
    assert against == {"context": "the link says 8192, the log 262144"}


@pytest.mark.parametrize("text", ["", "hello", "[]", "model=", "vllm serve and so on", "\x00" * 99])
def test_junk_in_a_sentence_out(text):
    found = plan_of(text)
    assert found.scenario is None
    assert found.notes[0].endswith(".")


def test_the_tables_of_arguments_and_defaults_are_whole():
    for row in presets.rows("log_arguments.csv"):
        name, _ = templates.value_of(
            row["figure"], "True" if row["figure"] in templates.WORDS else "1"
        )
        assert name in FIGURES, row
        assert row["engine"] in NAMES
        assert row["names"].split()
    rows_ = defaults.table()
    assert (rows_[-1].since, rows_[-1].device, rows_[-1].least_gib) == (0, "", 0)
    for row in rows_:
        assert row.source.startswith("https://")
        assert not row.device or row.device in presets.accelerators()


def test_no_alias_leads_nowhere():
    for row in presets.rows("model_aliases.csv"):
        assert row["model"] in presets.models()


def test_figures_of_a_log_as_data():
    text = LOGS["qwen3-embed"]
    reading = read_log(text)
    found = from_log.plan_of_reading(reading, text, device="rtx-4090")
    figures = told.understood(reading, found)
    assert [each.line for each in figures] == sorted(each.line for each in figures)
    pool = next(each for each in figures if each.figure == "pool")
    assert (pool.value, pool.line, pool.mattered) == ("23.81 GiB", 2, True)
    assert json.dumps(told.said(reading, found))
    for each in found.assumed:
        assert each.text


@pytest.mark.parametrize(
    ("said", "format"),
    [
        ("IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("IQ3_S mix - 3.66 bpw", "iq3_m"),
        ("Q4_K - Medium (guessed)", "q4_k_m"),
        ("all F32", "fp32"),
        ("MXFP4 MoE", "mxfp4-gguf"),
        ("IQ9_X - 9.9 bpw", ""),
    ],
)
def test_llama_cpp_names_its_formats_with_bits_behind(said, format):
    text = f"print_info: file type   = {said}\nllama_context: n_ctx = 8192\n"
    found = plan_of(text, model="llama-3.1-8b", device="rtx-4090")
    assert ("weights" in found.asked) == (not format)
    assert found.scenario.weights == (format or "fp16")


def test_experts_left_to_the_processor_are_told_by_the_size_of_the_rest():
    text = (
        "llama_model_loader: loaded meta data with 35 key-value pairs and 687 tensors from "
        "/m/gpt-oss-120b-mxfp4-00001-of-00003.gguf (version GGUF V3 (latest))\n"
        "print_info: file type   = MXFP4 MoE\n"
        "tensor blk.0.ffn_gate_exps.weight buffer type overriden to CPU\n"
        "load_tensors:   CPU_Mapped model buffer size = 51180.00 MiB\n"
        "load_tensors:        CUDA0 model buffer size = 21000.00 MiB\n"
        "llama_context: n_ctx = 131072\n"
    )
    found = plan_of(text, device="rtx-3090")
    assert found.scenario.model == "gpt-oss-120b"
    assert 20 < found.scenario.host_experts < 36
    assert "host memory" in {each.name for each in found.assumed}
    assert "weights" not in rows(found)
    said = plan_of("llama-server -m gpt-oss-120b-mxfp4.gguf --n-cpu-moe 30 -c 8192\n" + text,
                   device="rtx-3090")  # fmt: skip
    assert said.scenario.host_experts == 30


def test_ollamas_dump_of_keys_names_the_model():
    text = (
        "llama_model_loader: - kv   2:                    general.name str              = "
        "Meta Llama 3.1 8B Instruct\n"
        "print_info: file type   = Q4_K - Medium\n"
        "llama_context: n_ctx         = 8192\n"
    )
    assert plan_of(text, device="rtx-3060-12").scenario.model == "llama-3.1-8b"


def _wrapped(text):
    """The ways in which containers, journals and pages hand on a log, one after another."""
    lines = text.splitlines()
    yield "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in lines)
    yield "".join(f"2026-05-12T10:01:22.123456789Z stderr F {line}\n" for line in lines)
    yield "".join(f"May 12 10:01:22 gpu01 vllm[1234]: {line}\n" for line in lines)
    yield "".join(f"[pod/vllm-0/vllm] {line}\n" for line in lines)
    yield "".join(f"> {line}\n" for line in lines)
    yield json.dumps({"lines": text})
    yield text.replace("'", "&#39;").replace(">", "&gt;")
    yield text.replace("\n", " ")


def test_whatever_hands_a_log_on_its_figures_stay():
    text = LOGS["nd"]
    asked = {"model": "qwen3.5-35b-a3b", "device": "rtx-5090", "weights": "nvfp4"}
    plain = plan_of(text, **asked)
    for number, each in enumerate(_wrapped(text)):
        found = plan_of(each, **asked)
        assert rows(found)["tokens"].printed == 569_878, number
        assert found.scenario == plain.scenario, number


def test_a_tag_behind_a_hub_s_name_is_the_format():
    text = (
        "$ ./llama-server -hf unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q5_K_M -c 65536\n"
        "llama_context: n_ctx = 65536\n"
    )
    found = plan_of(text, device="rtx-3090")
    assert (found.scenario.model, found.scenario.weights) == ("qwen3-coder-30b-a3b", "q5_k_m")
    assert found.asked == ()


def test_a_start_refused_without_a_printed_pool_is_no_error():
    text = (
        "server_args=ServerArgs(model_path='Qwen/Qwen3-32B', tp_size=1, mem_fraction_static=0.6)\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    found = plan_of(text, device="h100-sxm")
    pool = rows(found)["pool"]
    assert pool.predicted < 0
    assert pool.printed is None
    assert "weights" in pool.assumed
