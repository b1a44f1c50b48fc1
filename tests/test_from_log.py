"""A start-up log becomes a scenario, notes and rows, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, decode, encode
from planner.files import PRESETS
from planner.inputs import presets
from planner.logs import from_log, identify, told
from planner.logs.from_log import plan_of
from planner.logs.parse import read_log

EXAMPLES = {example.id: example for example in from_log.examples()}
LOGS = {path.stem: path.read_text("utf-8") for path in PRESETS.glob("logs/*.log")}


def of_example(id):
    example = EXAMPLES[id]
    return plan_of(example.text, model=example.model, device=example.device)


def off(rows):
    return {(row.quantity, row.how.startswith("the log's own")): row.percent for row in rows}


def test_a_plain_log_is_predicted_within_one_percent():
    scenario, notes, rows, *_ = of_example("vllm-0.31")
    assert notes == ()
    assert [row.quantity for row in rows] == [
        "weights",
        "budget",
        "pool",
        "pool",
        "tokens",
        "concurrency",
    ]
    assert all(abs(row.percent) < 1 for row in rows)
    assert (scenario.model, scenario.device, scenario.concurrency) == (
        "llama-3.1-8b",
        "h100-sxm",
        3,
    )
    assert scenario.context == 131_072
    assert scenario.memory == pytest.approx(79.25 * 2**30 / 1e9, abs=1e-3)


def test_a_hybrid_is_read_and_predicted_from_its_name_alone():
    scenario, notes, rows, *_ = of_example("vllm-kimi-linear")
    assert (scenario.model, scenario.weights, scenario.tp) == (
        "kimi-linear-48b-a3b",
        "int4-g128",
        2,
    )
    assert {row.quantity: (row.predicted, row.printed) for row in rows}["tokens"] == (75840, 75840)
    assert any("does not tell its device" in note for note in notes)


@pytest.mark.parametrize(
    ("id", "most"),
    [("trtllm-engine", 0.05), ("llama-cpp-sliding", 0.01), ("llama-cpp-hybrid", 0.01)],
)
def test_pools_of_other_engines(id, most):
    rows = of_example(id).rows
    assert {row.quantity for row in rows} == {"pool"}
    assert all(abs(row.percent) < most for row in rows)


def test_vllms_first_engine_profiled_one_whole_request():
    scenario, notes, rows, assumed, *_ = of_example("vllm-v0-old")
    assert any("a step of 20,000 tokens" in each.text for each in assumed)
    assert abs(off(rows)["pool", False]) < 4
    assert scenario.device == "rtx-3090"
    assert any("It could also be GeForce RTX 4090" in note for note in notes)


def test_what_is_far_off_is_doubted_in_words():
    scenario, notes, rows, *_ = of_example("sglang-rocm")
    assert scenario.model == "qwen3-30b-a3b"
    assert abs(off(rows)["weights", False]) < 1
    assert any(note.startswith("The printed pool is 153 GiB where 205") for note in notes)
    wrong = plan_of(EXAMPLES["vllm-0.31"].text, model="qwen3-32b")
    assert any("the model, or the format" in note for note in wrong.notes)


def test_without_a_model_what_needs_none_is_still_compared():
    log = LOGS["vllm-v1"].replace("llava-v1.6-mistral-7b-hf", "llava-onevision-qwen2-7b-ov-hf")
    scenario, notes, rows, *_ = plan_of(log)
    assert [row.quantity for row in rows] == ["budget", "pool"]
    assert all(abs(row.percent) < 0.01 for row in rows)
    assert any("llava-onevision" in note and "not in the list" in note for note in notes)
    assert "Choose the model to see what depends on it." in notes
    assert scenario.concurrency == 110


def test_without_device_or_total_no_pool_is_predicted():
    rows = plan_of("Available KV cache memory: 2.30 GiB\nModel loading took 15 GiB", model="phi-4")[
        2
    ]
    assert [row.quantity for row in rows] == ["weights"]


@pytest.mark.parametrize("id", LOGS)
def test_every_log_gives_a_scenario_that_a_link_holds(id):
    for model in ("", "llama-3.1-8b", "kimi-k2", "nemotron-h-8b", "gpt2"):
        found = plan_of(LOGS[id], model=model)
        scenario, notes, rows = found[:3]
        assert decode(encode(scenario)) == (scenario, ())
        assert all(note.endswith(".") for note in notes)
        assert len(told.table(rows)) == len(rows)
        reading = read_log(LOGS[id])
        assert len(told.said(reading, found)) == len(reading.lines)
        assert told.answer(LOGS[id], reading, rows)
        assert told.summary(reading, scenario)


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("unsloth/meta-llama-3.1-8b-instruct-unsloth-bnb-4bit", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen2.5-72b"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "qwen3-coder-30b-a3b"),
        ("unsloth/Llama-3.2-1B-Instruct-FP8-Block", "llama-3.2-1b"),
        ("/models/Qwen3-32B-Q4_K_M.gguf", "qwen3-32b"),
        ("moonshotai/Kimi-K2-Thinking", "kimi-k2-thinking"),
        ("mistralai/Codestral-22B-v0.1", "codestral-22b"),
        ("01-ai/Yi-1.5-9B-Chat", "yi-9b"),
        ("microsoft/phi-1_5", "phi-1.5"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("llava-hf/llava-v1.6-mistral-7b-hf", "llava-1.6-mistral-7b"),
        ("llava-hf/llava-onevision-qwen2-7b-ov-hf", None),
        ("someone/Llama-3.1-8B-medusa", None),
        ("../../etc/passwd", None),
        ("", None),
    ],
)
def test_models_are_known_by_their_names(name, preset):
    assert identify.model_names().get(identify.plain(name)) == preset


def test_every_published_preset_is_known_by_its_own_id():
    known = identify.model_names()
    for id in presets.models():
        assert known[identify.plain(id)] == id
    for row in presets.rows("model_aliases.csv"):
        assert row["model"] in presets.models()
        assert known[identify.plain(row["name"])] == row["model"]


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes", "rtx-4090"),
        ("ggml_metal_init: GPU name:   Apple M2 Ultra", "apple-m2-ultra"),
        ("GPU: AMD Instinct MI300X", "mi300x"),
        ("NVIDIA L4, 23034MiB", "l4"),
        ("a cuddly L4 of nothing", ""),
    ],
)
def test_a_device_is_known_by_its_name(line, device):
    text = f"{line}\nllama_kv_cache: size = 3072.00 MiB (131072 cells, 12 layers)\n"
    assert identify.device(read_log(text), line, []) == device


def test_of_devices_of_one_name_the_memory_decides():
    for line, device in (("A100-SXM4-80GB", "a100-80-sxm"), ("H100 80GB HBM3", "h100-sxm")):
        text = f"{LOGS['vllm-0.31']}\nNVIDIA {line}"
        assert plan_of(text, model="llama-3.1-8b").scenario.device == device


@pytest.mark.parametrize(
    ("dtype", "model", "format"),
    [
        ("Q4_K - Medium", None, "q4_k_m"),
        ("Q8_0", None, "q8_0"),
        ("bfloat16", "x/y-AWQ", "int4-g128"),
        ("bfloat16", "x/y-FP8", "fp8"),
        (None, "x/y-bnb-4bit", "nf4"),
        (None, "x/y", "published"),
    ],
)
def test_formats_of_weights_are_read(dtype, model, format):
    reading = read_log("")
    object.__setattr__(reading, "dtype", dtype)
    object.__setattr__(reading, "model", model)
    assert identify.weights(reading, "published").format == format


def test_a_text_that_is_no_log_has_no_scenario():
    scenario, notes, rows, *_ = plan_of("hello " * 1000)
    assert (scenario, rows) == (None, ())
    assert "No line that vLLM" in notes[0]


def test_a_wrong_choice_is_the_callers_mistake():
    with pytest.raises(ValueError, match="nope"):
        plan_of(LOGS["vllm-v1"], model="nope")


def test_a_layout_that_cannot_be_is_named():
    text = LOGS["vllm-v1"].replace("tensor_parallel_size=1", "tensor_parallel_size=7")
    scenario, notes, *_ = plan_of(text, model="llama-3.1-8b")
    assert isinstance(scenario, Scenario)
    assert any(note.startswith("tp: ") for note in notes)


ODD = st.sampled_from(["0", "-1", "0.0", "1", "1e9", "99999999999", "-0.94", "nan", "7.5", "<b>"])


@given(
    st.lists(
        st.tuples(st.sampled_from(presets.log_lines()), st.lists(ODD, min_size=6, max_size=6))
    ),
    st.sampled_from(["", "llama-3.1-8b", "qwen3.5-27b", "gpt-oss-20b"]),
    st.text(max_size=100),
)
def test_no_log_raises(lines, model, junk):
    text = junk
    for row, numbers in lines:
        line = row.line
        for number in numbers:
            start, end = line.find("<"), line.find(">")
            if 0 <= start < end:
                line = line[:start] + number.replace("<", "").replace(">", "") + line[end + 1 :]
        text += line.replace("~", " ").replace("≈", "=").replace("…", " ") + "\n"
    scenario, _, rows, *_ = plan_of(text, model=model)
    assert scenario is None or decode(encode(scenario)) == (scenario, ())
    told.table(rows)


def test_a_megabyte_of_junk_around_a_log_changes_nothing():
    example = EXAMPLES["vllm-0.31"]
    junk = "NVIDIA H10 NVIDIA RTX \x1b[31m " * 40_000
    given = {"model": example.model, "device": example.device}
    assert (
        plan_of(junk + "\n" + example.text + junk, **given).notes
        == plan_of(example.text, **given).notes
    )


def test_another_model_than_the_log_names_is_said():
    text = EXAMPLES["vllm-kimi-linear"].text
    own = identify.model(read_log(text), [])
    named = "cyankiwi/Kimi-Linear-48B-A3B-Instruct-AWQ-4bit"
    said = f"The log names “{named}”; Mistral 7B v0.1 was chosen."
    assert said in plan_of(text, model="mistral-7b-v0.1").notes
    for kept in ("", own):
        assert not any("was chosen" in each for each in plan_of(text, model=kept).notes)


def test_layers_that_a_log_leaves_to_the_host_are_planned_there():
    text = (
        "llm_load_print_meta: general.name     = Llama 3.1 8B\n"
        "load_tensors: offloaded 21/33 layers to GPU\n"
        "llama_context: n_ctx = 8192\n"
    )
    found = plan_of(text, model="llama-3.1-8b", device="rtx-4090", weights="q4_k_m")
    assert found.scenario.host_layers == 12
    whole = plan_of(text.replace("21/33", "33/33"), model="llama-3.1-8b", device="rtx-4090")
    assert whole.scenario.host_layers == 0


def test_prediction_layers_that_a_log_drafts_with_are_in_the_plan():
    text = (
        "INFO non-default args: {'model': 'deepseek-ai/DeepSeek-V3', 'tensor_parallel_size': 8, "
        "'speculative_config': {'method': 'deepseek_mtp', 'num_speculative_tokens': 1}}\n"
        "INFO Initializing a V1 LLM engine (v0.26.0)\n"
    )
    found = plan_of(text, device="h200-sxm")
    scenario = found.scenario
    assert (scenario.draft, scenario.drafted, scenario.accepted) == ("mtp", 1, 2)
    assert any("2 tokens a step" in each.text for each in found.assumed)
    given = plan_of(text, device="h200-sxm", accepted="1.7")
    assert given.scenario.accepted == 1.7
    assert not given.contradictions
    assert not any("tokens a step" in each.text for each in given.assumed)
