"""Reading config.json files: real ones, small ones whose caches were measured, and hostile ones."""

import copy
import csv
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner import Scenario, plan
from planner.maintain import models
from planner.models.architectures.families import FAMILIES
from planner.models.architectures.towers import PICTURES
from planner.models.config import MAX_BYTES, Refusal, read_config
from planner.models.notation import model_from_text

DATA = Path(__file__).resolve().parent / "data"
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "2000"))


def rows(name):
    folder = DATA if (DATA / name).exists() else models.HERE
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


CONFIGS = {
    row["file"]: (models.HERE / "configs" / row["file"]).read_bytes() for row in rows("configs.csv")
}
MIRRORS = json.loads((DATA / "mirrors.json").read_text())
LLAMA = json.loads(CONFIGS["meta-llama__Llama-3.1-8B.json"])


def read(**fields):
    """A Llama with some fields changed; those that are “-” left out."""
    values = {name: value for name, value in {**LLAMA, **fields}.items() if value != "-"}
    return read_config(json.dumps(values))


# --- against what was measured ------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", rows("cache_measurements.csv"), ids=lambda row: row["mirrors"] + row["transformers"]
)
def test_cache_equals_the_measured_cache_object(row):
    """Bytes of cache objects of small models built with Transformers, tokens and state apart.

    Two things are known to differ. Falcon-40B's cache holds keys and values repeated for all query
    heads; serving engines store the shared heads. Transformers 4.57 stored latent attention
    expanded: keys and values of all heads, which is the counterpart of the model.
    """
    model = read_config(json.dumps(MIRRORS[row["mirrors"]])).model
    if row["match"] == "expanded":
        model = model.counterpart()
    fixed, per_token, windowed = model.cache_shape()
    growth = per_token + sum(each for each, _ in windowed)
    if row["match"] == "no":
        query, stored = model.groups[0].query_heads, model.groups[0].kv_heads
        assert float(row["growth"]) == growth * query / stored
        return
    assert fixed == float(row["fixed"] or 0)
    assert per_token == float(row["growth_past_window"])
    if not row["growth"]:  # compressed entries come in steps, so only their rate was measured
        return
    assert growth == float(row["growth"])
    # Transformers keeps one token less than the window (MiMo keeps all), since the next one is new.
    spare = 0 if "MiMo" in row["mirrors"] else 1
    kept = sum(each * min(64, window - spare) for each, window in windowed)
    assert fixed + 64 * per_token + kept == float(row["after_64"])


COUNTED = [row for row in rows("configs.csv") if row["built_parameters"] and not row["completion"]]


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: row["file"].removesuffix(".json"))
def test_parameters_equal_the_model_built_without_weights(row):
    """Within 0.1 % of the count by building, or with a remark that says why not."""
    built = int(row["built_parameters"])
    model = read_config(CONFIGS[row["file"]]).model
    if "MiniMax-M1" in row["file"]:
        assert row["remark"]
        assert model.parameters == 456_089_655_296
        return
    assert model.parameters == pytest.approx(built, rel=0.001)
    if row["built_text_parameters"] and "Kimi-K2." not in row["file"]:
        text = model.parameters - model.vision_parameters
        trimmed = row["fidelity"] == "trimmed"
        assert trimmed or text == pytest.approx(int(row["built_text_parameters"]), rel=0.001)


PUBLISHED_TOTALS = [row for row in rows("configs.csv") if row["published_parameters"]]


@pytest.mark.parametrize("row", PUBLISHED_TOTALS, ids=lambda row: row["preset_id"])
def test_parameters_equal_the_total_on_the_model_s_page(row):
    """Within 0.01 %, or below it where the total holds draft layers or what a remark says."""
    model = read_config(CONFIGS[row["file"]]).model
    over = int(row["published_parameters"]) / model.parameters - 1
    if model.draft_layers or row["remark"]:
        assert -1e-4 < over < 0.045
    else:
        assert abs(over) < 1e-4


def test_every_family_in_use_has_a_model_that_proves_it():
    """Each architecture of the list is read from a file whose total is known."""
    proven = {json.loads(CONFIGS[row["file"]]).get("model_type") for row in PUBLISHED_TOTALS}
    asked = """minimax_m3_vl kimi_k3 hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 step3p5 bailing_moe
        bailing_hybrid lfm2 lfm2_moe ernie4_5 ernie4_5_moe laguna gemma3n gemma4 gemma4_unified
        longcat_flash longcat_flash_ngram afmoe glm4 mimo_v2 nemotron-nas qwen4_exp deepseek_v41
        glm5_next falcon_h1 bamba zamba2 granitemoe apertus exaone_moe exaone4 plamo3 phi4mm
        olmo_hybrid dots1 whisper muse_glimmer"""
    assert set(asked.split()) <= proven


@pytest.mark.parametrize(
    "file",
    [
        "meta-llama__Llama-4-Maverick-17B-128E-Instruct.json",
        "meta-llama__Llama-4-Scout-17B-16E-Instruct.json",
    ],
)
def test_a_copy_without_its_vision_tower_counts_the_text_model(file):
    row = next(row for row in rows("configs.csv") if row["file"] == file)
    reading = read_config(CONFIGS[file])
    assert reading.model.parameters == int(row["built_text_parameters"])
    assert any("vision_config" in note for note in reading.notes)


# Totals that the pages of huggingface.co/<id> show for their safetensors, and the shapes of those
# models: hidden width, layers, heads, key-value heads, feed-forward width, vocabulary.
PUBLISHED = [
    ("allenai/OLMoE-1B-7B-0924", "olmoe", (2048, 16, 16, 16, 1024, 50304), 6_919_161_856),
    ("EleutherAI/pythia-6.9b", "gpt_neox", (4096, 32, 32, 32, 16384, 50432), 6_857_302_016),
    ("microsoft/phi-2", "phi", (2560, 32, 32, 32, 10240, 51200), 2_779_683_840),
    ("bigcode/starcoder2-3b", "starcoder2", (3072, 30, 24, 2, 12288, 49152), 3_030_371_328),
    ("bigcode/starcoder2-7b", "starcoder2", (4608, 32, 36, 4, 18432, 49152), 7_173_923_840),
    ("microsoft/Phi-3.5-MoE-instruct", "phimoe", (4096, 32, 32, 8, 6400, 32064), 41_873_153_344),
    ("HuggingFaceTB/SmolLM3-3B", "smollm3", (2048, 36, 16, 4, 11008, 128256), 3_075_098_624),
    ("CohereLabs/c4ai-command-a", "cohere2", (12288, 64, 96, 8, 36864, 256000), 111_057_580_032),
    ("ByteDance-Seed/Seed-OSS-36B", "seed_oss", (5120, 64, 80, 8, 27648, 155136), 36_151_104_512),
]
BESIDE = {
    "olmoe": {"num_experts": 64, "num_experts_per_tok": 8},
    "phimoe": {"num_local_experts": 16, "num_experts_per_tok": 2},
    "seed_oss": {"head_dim": 128},
}


@pytest.mark.parametrize(
    ("name", "kind", "sizes", "total"), PUBLISHED, ids=lambda value: str(value)
)
def test_parameters_equal_the_published_total(name, kind, sizes, total):
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    names += ("intermediate_size", "vocab_size")
    config = {"model_type": kind, **dict(zip(names, sizes, strict=True)), **BESIDE.get(kind, {})}
    config |= {"sliding_window": 4096} if kind == "cohere2" else {}
    assert read_config(json.dumps(config)).model.parameters == pytest.approx(total, rel=1e-4)


def test_files_with_gaps_count_right_once_filled():
    for row in rows("configs.csv"):
        if row["fidelity"] == "trimmed" and row["completion"]:
            with pytest.raises(Refusal, match="is missing"):
                read_config(CONFIGS[row["file"]])
            values = json.loads(CONFIGS[row["file"]]) | json.loads(row["completion"])
            built = {"ibm-granite/granite-4.0-micro": 3_402_836_480}.get(row["model_id"])
            model = read_config(json.dumps(values)).model
            assert model.parameters == (built or int(row["built_parameters"]))


@pytest.mark.parametrize(
    ("file", "per_token"),
    [
        ("Qwen__Qwen3-Next-80B-A3B-Instruct", 24_576),
        ("deepseek-ai__DeepSeek-V3", 70_272),
        ("moonshotai__Kimi-K2-Instruct", 70_272),
    ],
)
def test_bytes_per_token_of_known_files(file, per_token):
    assert model_of(file).cache_shape().per_token == per_token


def test_every_config_is_read_or_refused_for_a_reason():
    """The committed table of outcomes is compared with the script's in test_model.py."""
    outcomes = rows("outcomes.csv")
    files = sorted(path.name for path in (models.HERE / "configs").iterdir())
    assert sorted(row["file"] for row in outcomes) == sorted(CONFIGS) == files
    assert len(files) >= 134
    refused = {row["file"]: row["remark"] for row in outcomes if row["outcome"] == "refused"}
    assert set(refused) == {
        "ibm-granite__granite-4.0-h-small.json",
        "ibm-granite__granite-4.0-micro.json",
    }
    assert all(refused.values())
    for row in outcomes:
        if row["percent_off"] and abs(float(row["percent_off"])) > 0.1:
            assert row["remark"]


# --- the traps ----------------------------------------------------------------------------------


def shape(file):
    return [(g.layers, g.kind, g.kv_heads, g.key_dim, g.window) for g in model_of(file).groups]


def model_of(file):
    return read_config(CONFIGS[file + ".json"]).model


@pytest.mark.parametrize(
    ("file", "groups"),
    [
        ("tiiuae__falcon-7b-instruct", [(32, "full", 1, 64, None)]),  # says 71 key-value heads
        ("Qwen__Qwen2.5-7B", [(28, "full", 4, 128, None)]),  # names a window and disables it
        ("Qwen__Qwen3-4B", [(36, "full", 8, 128, None)]),  # head_dim is not hidden / heads
        ("mistralai__Mistral-7B-v0.1", [(32, "window", 8, 128, 4096)]),
        ("mistralai__Mistral-7B-Instruct-v0.3", [(32, "full", 8, 128, None)]),
        ("openai-community__gpt2", [(12, "full", 12, 64, None)]),  # n_layer, n_head, n_embd
        ("mosaicml__mpt-7b", [(32, "full", 32, 128, None)]),  # d_model, n_heads, n_layers
        (
            "google__gemma-3-4b-it",  # nested, and leaves heads and widths to defaults
            [(29, "window", 4, 256, 1024), (5, "full", 4, 256, None)],
        ),
        (
            "nvidia__Gemma-4-31B-IT-NVFP4",  # full layers have other heads of another width
            [(50, "window", 16, 256, 1024), (10, "full", 4, 512, None)],
        ),
        (
            "meta-llama__Llama-4-Scout-17B-16E-Instruct",  # every fourth layer is not chunked
            [(36, "window", 8, 128, 8192), (12, "full", 8, 128, None)],
        ),
        (
            "moonshotai__Kimi-Linear-48B-A3B-Instruct",  # counts layers from 1; head_dim is unused
            [(20, "recurrent", 0, 0, None), (7, "latent", 1, 576, None)],
        ),
        (
            "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-FP8",  # holds Infinity; one head_dim of two
            [(40, "recurrent", 0, 0, None), (40, "none", 0, 0, None), (8, "full", 2, 128, None)],
        ),
    ],
)
def test_layers_of_files_that_mislead(file, groups):
    assert shape(file) == groups


def test_qwen2_window_where_it_is_on():
    values = json.loads(CONFIGS["Qwen__Qwen2.5-7B.json"])
    values |= {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    groups = read_config(json.dumps(values)).model.groups
    assert [(g.layers, g.window) for g in groups] == [(20, None), (8, 4096)]


def test_an_indexer_that_layers_share_is_stored_once():
    values = json.loads(CONFIGS["zai-org__GLM-5.1.json"])
    values["indexer_types"] = ["full"] * 21 + ["shared"] * 57
    groups = read_config(json.dumps(values)).model.groups
    assert [(g.layers, g.index_bytes) for g in groups] == [(21, 256), (57, 0)]


def test_draft_layers_are_told_apart():
    reading = read_config(CONFIGS["deepseek-ai__DeepSeek-V3.json"])
    assert reading.model.draft_layers == 1
    assert reading.model.layers == 61
    assert any("draft" in note for note in reading.notes)


def test_a_reading_says_what_it_used_assumed_and_ignored():
    reading = read_config(CONFIGS["google__gemma-3-4b-it.json"], name="Gemma")
    assert reading.used["text_config.num_hidden_layers"] == 34
    assert reading.used["text_config.sliding_window"] == 1024
    assert reading.used["vision_config.patch_size"] == 14
    assert "mm_tokens_per_image" in reading.ignored
    assert not set(reading.used) & set(reading.ignored)
    assert any("head_dim" in note and "256" in note for note in reading.notes)
    assert reading.model.name == "Gemma"
    assert read().model.name == "llama 8.03B"


@pytest.mark.parametrize(
    ("file", "dtype"),
    [
        ("meta-llama__Llama-3.1-8B", "fp16"),
        ("allenai__OLMo-2-1124-7B", "fp32"),
        ("deepseek-ai__DeepSeek-V3", "fp8-block"),
        ("openai__gpt-oss-20b", "mxfp4-experts"),
        ("nvidia__GLM-5.1-NVFP4", "nvfp4-experts"),
        ("nvidia__Gemma-4-31B-IT-NVFP4", "nvfp4"),
        ("Qwen__Qwen3-32B-FP8-Static-PerTensor", "fp8"),
        ("RedHatAI__Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "fp8"),
    ],
)
def test_how_weights_are_stored(file, dtype):
    assert model_of(file).dtype == dtype


def test_a_tower_that_is_not_known_is_noted():
    reading = read(vision_config={"hidden_size": 5})
    assert "vision_config" in reading.ignored
    assert any("vision_config" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("quantised", "dtype"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "nf4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 128}}},
            },
            "int4-g128",
        ),
    ],
)
def test_quantised_files(quantised, dtype):
    assert read(quantization_config=quantised).model.dtype == dtype


def test_an_unknown_quantisation_is_noted():
    reading = read(quantization_config={"quant_method": "hqq", "bits": [4]})
    assert reading.model.dtype == "fp16"
    assert any("hqq" in note for note in reading.notes)


def test_a_read_model_travels_in_a_link_and_plans():
    for text in CONFIGS.values():
        try:
            model = read_config(text).model
        except Refusal:
            continue
        assert model_from_text(model.id) == model
        assert plan(Scenario(model=model.id)).decode_step_s > 0


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"model_type": "mystery_model"}, "mystery_model"),
        ({"model_type": "-"}, "LlamaForCausalLM"),
        ({"model_type": 7}, "model_type"),
        ({"num_hidden_layers": "-"}, "num_hidden_layers"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**6}, "layers"),
        ({"num_hidden_layers": "32"}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"num_hidden_layers": [32]}, "num_hidden_layers"),
        ({"num_attention_heads": 31}, "31"),
        ({"num_key_value_heads": 64}, "64"),
        ({"hidden_size": float("nan")}, "hidden_size"),
        ({"hidden_size": float("inf")}, "hidden_size"),
        ({"hidden_size": 4096.5}, "hidden_size"),
        ({"hidden_size": -4096}, "hidden_size"),
        ({"hidden_size": 10**400}, "hidden_size"),
        ({"vocab_size": 10**9}, "vocab_size"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types"),
        ({"layer_types": ["quantum_attention"] * 32}, "quantum_attention"),
        ({"layer_types": ["linear_attention"] * 32}, "recurrent"),
        ({"layer_types": 5}, "layer_types"),
        ({"quantization_config": "fp8"}, "quantization_config"),
        ({"text_config": {"hidden_size": 5}}, "llama"),
        ({"text_config": {"model_type": "mystery_text"}}, "mystery_text"),
    ],
)
def test_a_refusal_names_what_is_wrong(fields, names):
    with pytest.raises(Refusal, match=names):
        read(**fields)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "JSON"),
        ("not json", "JSON"),
        ('{"model_type": "llama"', "JSON"),
        ("[]", "object"),
        ("null", "object"),
        ("7", "object"),
        ("[" * 100_000, "nested"),
        ('{"a":' * 100_000, "nested"),
        ('{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}", "JSON"),
        (b"\xff\xfe\xfa", "JSON"),
        (b"\x80abc", "JSON"),
        ("{" + " " * 10_000_000 + "}", "bytes"),
        (b"{" + b" " * MAX_BYTES + b"}", "bytes"),
        ('{"model_type": "\\ud800"}', "not known"),
        ("{}", "model_type"),
    ],
)
def test_hostile_text_is_refused(text, names):
    with pytest.raises(Refusal, match=names) as caught:
        read_config(text)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def test_a_mark_at_the_start_of_a_file_is_no_matter():
    text = "\ufeff" + json.dumps(LLAMA)
    assert read_config(text).model == read_config(text.encode()).model == read().model


def test_a_large_file_within_the_limit_is_read():
    padded = json.dumps({**LLAMA, "padding": "x" * 3_000_000})
    assert read_config(padded).model.layers == 32


HOSTILE = st.one_of(
    st.sampled_from([None, True, False, "", "x", "full_attention", "M*-E", "\u202e", "\ud800"]),
    st.sampled_from([0, 1, -1, 2, 3, 10**6, 10**9, 10**30, 0.5, -0.0, 1e308, 1e-9]),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), [1e400], [None], [[]], [], {}]),
    st.sampled_from([[0] * 70, [1] * 70, ["mamba"] * 70, {"model_type": "llama"}]),
    st.integers(-5, 200),
    st.text(max_size=8),
)
KNOWN = sorted({*FAMILIES, *PICTURES})
SEEDS = [json.loads(text) for text in CONFIGS.values()] + list(MIRRORS.values())
FIELDS = sorted({name for seed in SEEDS for name in (*seed, *seed.get("text_config", ()))})


@st.composite
def mutated(draw):
    """A real config with a few fields removed, replaced, moved, or taken from another one."""
    config = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 5))):
        inside = [config, *(value for value in config.values() if isinstance(value, dict))]
        target = draw(st.sampled_from(inside))
        names = list(target) or ["model_type"]
        name = draw(st.sampled_from(names) | st.sampled_from(FIELDS))
        what = draw(st.sampled_from(["replace", "replace", "remove", "swap", "type", "nest"]))
        if what == "replace":
            target[name] = copy.deepcopy(draw(HOSTILE))
        elif what == "remove":
            target.pop(name, None)
        elif what == "swap":
            target[name] = copy.deepcopy(draw(st.sampled_from(SEEDS)).get(name))
        elif what == "type":
            target["model_type"] = draw(st.sampled_from(KNOWN))
        else:
            config = {"model_type": draw(st.sampled_from(KNOWN)), "text_config": config}
    text = json.dumps(config)
    if draw(st.integers(0, 19)) == 0:
        text = text[: draw(st.integers(0, len(text)))]
    return text


@pytest.mark.slow
@settings(
    max_examples=FUZZ, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(mutated())
def test_a_mutated_config_is_read_or_refused(text):
    """FUZZ_EXAMPLES=10000 runs the long form."""
    try:
        model = read_config(text).model
    except Refusal as refusal:
        said = str(refusal)
        assert said.isprintable() and len(said) < 400  # noqa: PT018 - one sentence
        return
    assert model_from_text(model.id) == model
    found = plan(Scenario(model=model.id))
    assert found.decode_step_s > 0
    assert found.cache_bytes_per_request >= 0
