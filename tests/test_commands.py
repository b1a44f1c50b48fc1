"""Start commands: read back they give the scenario, and no name gets out of its quotes.

data/flags.csv has what each flag takes, as the engine's own parser has it: int, float, str, flag
(no value), or the choices. A name without dashes is a variable of ollama or a key of the file that
TensorRT-LLM is configured by.
"""

import csv
import json
import re
import shlex
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, evaluate
from planner.inputs import overrides, presets, support
from planner.models import states
from planner.reports import command_parts, commands
from tests.test_plan import scenarios
from tests.test_report import NAMES, named

# For each engine: flags of length, requests, fraction, step, tensor, pipeline.
FLAGS = {
    "vllm-0.26": (
        "--max-model-len --max-num-seqs --gpu-memory-utilization --max-num-batched-tokens "
        "--tensor-parallel-size --pipeline-parallel-size"
    ),
    "sglang": (
        "--context-length --max-running-requests --mem-fraction-static --chunked-prefill-size "
        "--tp-size --pp-size"
    ),
    "tensorrt-llm": (
        "--max_seq_len --max_batch_size --kv_cache_free_gpu_memory_fraction --max_num_tokens "
        "--tp_size --pp_size"
    ),
}
CACHE = {"fp8_e4m3": "fp8", "int8_per_token_head": "int8", "f16": "fp16"}
CACHE["fp8_ds_mla"] = "fp8-ds-mla"  # of DeepSeek-V4 too, whose entries are of another width
ROWS = list(
    csv.DictReader((Path(__file__).parent / "data/flags.csv").read_text("utf-8").splitlines())
)
TYPES = {"int": int, "float": float, "str": str}


def flags(text):
    """A command's flags by name, read as its engine would; True where there is no value.

    Variables that stand before it count as flags, without dashes.
    """
    words, found = shlex.split(text), {}
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            found[word] = True if after.startswith("--") else after
        elif re.fullmatch(r"[A-Z_]+=\S*", word):
            name, _, found_value = word.partition("=")
            found[name] = found_value
    return found


def keys(config):
    """What a configuration file sets, by name with its section in front."""
    found, section = {}, ""
    for line in config.splitlines():
        name, _, value = line.partition(":")
        section = section if line.startswith(" ") else ""
        if value:
            found[section + name.strip()] = value.strip()
        else:
            section = f"{name}."
    return found


def rows(engine):
    """The rows of an engine; llama.cpp and ollama have one parser for all their backends."""
    own = engine.partition("-")[0] if engine.startswith(("llama.cpp", "ollama")) else engine
    return [row for row in ROWS if row["engine"] == own]


def takes(engine):
    """What each flag of an engine takes."""
    return {row["flag"]: row["takes"] for row in rows(engine)}


def is_taken(value, by):
    """Whether a parser that takes so much takes the value."""
    if by == "flag" or value is True:
        return by == "flag" and value is True
    if by not in TYPES:
        return value in by.split("|")
    try:
        return bool(str(TYPES[by](value)))
    except ValueError:
        return False


def has_values(scenario):
    """Whether the model's cache has values beside its keys, as one of latents has not."""
    return any(group.value_dim for group in scenario.the_model.groups)


def is_copied(scenario, engine):
    """Whether data-parallel groups are started apart, each with its own command."""
    return scenario.dp > 1 and engine == "tensorrt-llm" and not attention(scenario, engine)


def attention(scenario, engine):
    """Whether the groups share a stage's devices, so that the engine counts these as one."""
    shared = scenario.dp > 1 and scenario.the_model.experts > 0
    return shared and (engine == "sglang" or (engine == "tensorrt-llm" and scenario.tp == 1))


@given(scenarios(), st.sampled_from(list(FLAGS)))
def test_a_command_read_back_gives_the_scenario(scenario, id):
    engine = presets.engine(id)
    made = commands.command(scenario, engine)
    found, notes = flags(made.text), " ".join(made.notes)
    names = FLAGS[id].split()
    values = [float(found.get(name, 1)) for name in names]
    shared = id == "sglang" and attention(scenario, id)
    requests = values[1] / scenario.dp if shared else values[1]  # of a group
    assert values[0] == scenario.context
    assert (requests - 1) * scenario.dp < scenario.concurrency <= requests * scenario.dp
    assert ("Step: " in notes) == shared
    assert values[2] == engine.fraction
    assert values[3] == max(engine.batched_tokens, values[1] if id == "vllm-0.26" else 1)
    spread = scenario.dp if attention(scenario, id) else 1
    assert values[4:] == [scenario.tp * spread, scenario.pp]
    assert is_copied(scenario, id) == ("Data parallel: start" in notes)
    names = ("--data-parallel-size", "--dp-size", "--attn-dp-size")
    data = [int(found[name]) for name in names if name in found]
    assert id == "tensorrt-llm" or data == [scenario.dp] * (scenario.dp > 1)
    cache = found.get("--kv-cache-dtype", keys(made.config).get("kv_cache_config.dtype", "fp16"))
    assert cache != "int8_per_token_head" or "adds a scale" in notes
    said = CACHE.get(cache, cache)
    stored = {scenario.cache_k, scenario.cache_v} if has_values(scenario) else {scenario.cache_k}
    stored = {each.replace("fp8-ds-v4", "fp8-ds-mla") for each in stored}
    assert stored == {said} or "Cache: " in notes
    if "--enable-expert-parallel" in found:
        assert scenario.ep == scenario.tp * scenario.dp or "Experts: " in notes
    elif id != "vllm-0.26":
        said = int(found.get("--ep-size", found.get("--ep_size", 1)))
        assert said == scenario.ep or "Experts: " in notes
        assert values[4] % said == 0
    chunked = "--enable_chunked_prefill" in found
    assert id != "tensorrt-llm" or chunked == (scenario.context > values[3])
    own = scenario.the_model.dtype
    kept = scenario.weights == own or {scenario.weights, own} <= {"fp16", "fp32"}
    assert (
        kept or "Weights: " in notes or found["--quantization"] in command_parts.ONLINE[id].values()
    )


@given(scenarios())
def test_llama_cpp_read_back_gives_the_scenario(scenario):
    made = commands.command(scenario, presets.engine("llama.cpp-cuda"))
    found, notes = flags(made.text), " ".join(made.notes)
    slots = int(found["--parallel"])
    assert int(found["--ctx-size"]) == slots * scenario.context
    assert (slots - 1) * scenario.dp < scenario.concurrency <= slots * scenario.dp
    assert scenario.dp == 1 or f"start {scenario.dp} of these" in notes
    assert slots <= 256 or "at most 256" in notes
    values = scenario.cache_v if has_values(scenario) else scenario.cache_k
    for flag, own in (("k", scenario.cache_k), ("v", values)):
        said = found.get(f"--cache-type-{flag}")
        assert CACHE.get(said, said) == own or "Cache: " in notes
    kept = min(int(found["--n-gpu-layers"]), scenario.the_model.layers + 1)
    assert scenario.host_layers == scenario.the_model.layers + 1 - kept
    assert scenario.host_experts == int(found.get("--n-cpu-moe", 0))
    devices = scenario.tp * scenario.pp
    assert (found["--split-mode"] == "none") == (devices == 1)
    assert re.fullmatch(r"\./[\w.-]+\.gguf", found["--model"])
    stored = presets.weight_format(scenario.weights).name
    assert "GGUF" in stored or "16-bit" in stored or "FP32" in stored or "Weights: " in notes


def each_way(id):
    """Commands of an engine: every format, with and without experts, groups and set figures."""
    for model, layout, set, weights, cache in product(
        ("llama-3.1-8b", "mixtral-8x7b"),
        ({}, {"tp": 2, "pp": 2}, {"dp": 2}, {"dp": 2, "ep": 2}, {"tp": 16, "dcp": 2}),
        ("", "block_tokens:64,batched_tokens:4096.5,pool_gib:3.7"),
        presets.weight_formats(),
        presets.caches_of(presets.model("llama-3.1-8b")),
    ):
        if model.startswith("mixtral") or "ep" not in layout:
            formats = {"weights": weights, "cache_k": cache, "cache_v": cache}
            # Experts in host memory, of which only some engines have a word.
            left = int(model.startswith("mixtral") and "dp" not in layout)
            draft = {"": "llama-3.2-1b"}.get(set, "eagle") if "pp" not in layout else ""
            more = {"host_experts": left, "draft": draft, "loras": 2 * left}
            scenario = Scenario(model=model, **layout, **formats, set=set, **more)
            engine = overrides.apply_engine(presets.engine(id), overrides.read(set))
            yield commands.command(scenario, engine)
    for format in states.FORMATS:
        scenario = Scenario("granite-4.0-h-small", dp=2, set="state_blocks:7", state_format=format)
        yield commands.command(scenario, presets.engine(id).changed(state_blocks=7))


@pytest.mark.parametrize("id", commands.KINDS)
def test_every_flag_is_one_that_the_engine_takes(id):
    known, used = takes(id), set()
    for made in each_way(id):
        said = {**flags(made.text), **keys(made.config)}
        assert set(said) <= set(known)
        for name, value in said.items():
            assert is_taken(value, known[name]), f"{name} {value}"
        used |= set(said)
    assert used == set(known)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['engine']} {row['flag']}")
def test_what_a_flag_takes_was_read_somewhere(row):
    assert row["takes"] in (*TYPES, "flag") or "|" in row["takes"]
    assert row["version"].split()[-1] in row["source"]


@pytest.mark.parametrize("id", commands.KINDS)
def test_a_script_names_the_version_of_its_flags(id):
    engine = presets.engine(id)
    script = commands.command(Scenario(), engine).script()
    assert script.startswith(f"# {engine.name} (flags as of {engine.flags})\n")
    # Keys of a file come from another parser than flags, and may be of another version.
    said = {row["version"] for row in rows(id) if row["flag"].startswith(("--", "OLLAMA"))}
    assert said == {engine.flags}


@pytest.mark.parametrize(
    ("weights", "said"),
    [("q4_k_m", "reads no GGUF"), ("nf4", "reads no 4-bit"), ("int8", "give a checkpoint")],
)
def test_a_checkpoint_that_vllm_cannot_read_is_not_asked_for(weights, said):
    scenario = Scenario(model="llama-3.1-8b", weights=weights)
    notes = commands.command(scenario, presets.engine("vllm-0.26")).notes
    assert [said in note for note in notes] == [True]


@pytest.mark.parametrize(
    ("id", "flag", "note"),
    [
        ("vllm-0.20", None, "vLLM 0.6 to 0.19 has no"),
        ("vllm", "int8_per_token_head", "adds a scale"),
        ("vllm-0.26", "int8_per_token_head", "adds a scale"),
        ("vllm-0.34", "int8_per_token_head", "adds a scale"),
    ],
)
def test_each_version_of_vllm_has_its_own_cache_types(id, flag, note):
    scenario = Scenario(model="llama-3.1-8b", cache_k="int8", cache_v="int8")
    made = commands.command(scenario, presets.engine(id))
    assert flags(made.text).get("--kv-cache-dtype") == flag
    assert note in " ".join(made.notes)


def test_llama_cpp_has_a_batch_no_smaller_than_its_step():
    for tokens, batch in ((512, None), (2048, None), (4096, "4096")):
        engine = presets.engine("llama.cpp-cuda").changed(batched_tokens=tokens)
        found = flags(commands.command(Scenario(), engine).text)
        assert (found.get("--batch-size"), found["--ubatch-size"]) == (batch, str(tokens))


@given(scenarios())
def test_the_engine_chosen_has_its_own_command(scenario):
    made = commands.of(evaluate(scenario))
    own = [each.engine.id for each in made] == [scenario.engine]
    offered = support.offered(scenario.device)
    others = [each for each in support.SUGGESTED if each in offered][: support.MOST_SUGGESTED]
    assert own or [each.engine.id for each in made] == others
    if own and "fraction:0.5" in scenario.set:
        assert " 0.5 " in made[0].text or "Memory fraction: " in " ".join(made[0].notes)


@pytest.mark.parametrize("name", [*NAMES, "a'; touch /tmp/owned; '", "$(id)", "`id`", "--help"])
@pytest.mark.parametrize("engine", support.SUGGESTED)
def test_a_name_stays_one_word_of_the_shell(name, engine):
    made = commands.command(Scenario(model=named(name)), presets.engine(engine))
    shown = "import json, sys; print(json.dumps(sys.argv[1:]))"
    line = f"{shlex.join(['python3', '-c', shown])} {made.text}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(made.words)
    assert not any(word == name for word in made.words if name.startswith("-"))
    assert all(line.startswith("# ") for line in made.script().splitlines()[:-1])


@pytest.mark.parametrize("id", commands.KINDS)
def test_a_script_says_how_to_measure_the_plan(id):
    scenario = Scenario(
        "llama-3.1-8b", concurrency=24, context=3000, prompt=2000, output=300, prefix=500
    )
    made = commands.command(scenario, presets.engine(id))
    line = next(each for each in made.script().splitlines() if "to measure it: " in each)
    said = flags(line.partition("measure it: ")[2])
    assert said["--max-concurrency"] == "24"
    assert said["--num-prompts"] == "240"
    assert said["--random-output-len"] == "300"
    prompt = int(said["--random-input-len"]) + int(said.get("--random-prefix-len", 0))
    assert prompt == 2000
    assert said["--model"] == "meta-llama/Llama-3.1-8B"
    assert ("sglang.bench_serving" in line) == (id == "sglang")
    assert ("--base-url" in said) == (id.startswith("llama") or id == "tensorrt-llm")


def test_a_plan_without_answers_is_measured_with_some():
    made = commands.command(Scenario(context=4096), presets.engine("vllm-0.34"))
    said = flags(shlex.join(made.benchmark))
    assert (said["--random-input-len"], said["--random-output-len"]) == ("3840", "256")
