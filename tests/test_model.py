"""Models of every kind of attention: their cache, their parameters, and their word in a link."""

from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, decode, encode, formulas, plan
from planner.evidence import measurements
from planner.evidence import memory as memory_accuracy
from planner.files import PRESETS
from planner.inputs import presets
from planner.inputs.choices import published
from planner.maintain import models as maker
from planner.models.model import LIMITS, LayerGroup, Model
from planner.models.notation import MAX_TEXT, PREFIX, model_from_text, model_to_text

GIB = 2**30


def cache_bytes(model, tokens):
    return model.fixed_bytes + sum(each * min(tokens, most) for each, most in model.stores())


# --- the cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "tokens", "gib"),
    [
        ("llama-3.1-8b", 8_192, 1.0),
        ("llama-3.1-70b", 8_192, 2.5),
        ("gemma-3-27b", 131_072, 10.4),  # 62 if its windows were overlooked
        ("deepseek-v3", 8_192, 8_192 * 70_272 / GIB),  # 71 times as much as plain attention
    ],
)
def test_cache_of_known_models(preset, tokens, gib):
    assert cache_bytes(presets.model(preset), tokens) / GIB == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(
    ("preset", "kinds", "attention"),
    [
        ("llama-2-7b", {"full"}, "MHA"),
        ("falcon-7b", {"full"}, "MQA"),
        ("gemma-3-27b", {"window", "full"}, "GQA"),
        ("deepseek-v3.2", {"latent"}, "MLA"),
        ("kimi-linear-48b-a3b", {"latent", "recurrent"}, "MLA"),
        ("deepseek-v4-pro", {"compressed"}, "MLA"),
        ("nemotron-3-nano-30b-a3b", {"recurrent", "none", "full"}, "GQA"),
    ],
)
def test_kinds_of_layers(preset, kinds, attention):
    model = presets.model(preset)
    assert {group.kind for group in model.groups} == kinds
    assert model.attention == attention


def test_layers_that_read_another_layers_cache_store_nothing_but_compute():
    shared = LayerGroup(4, 8, 0, 256, 256)
    assert shared.kind == "shared"
    assert shared.stores() == []
    assert formulas.attention_flops(4, 8, shared.query_dim, shared.output_dim, 10) > 0


def test_the_state_of_a_hybrid_as_engines_print_it():
    """Qwen3.5 27B: 144.00 MiB of state a request as llama.cpp prints, and the convolutions."""
    state = 48 * 48 * 128 * 128 * 4
    tail = 48 * (2 * 16 * 128 + 48 * 128) * 4 * 2
    assert state == 144 * 2**20
    assert presets.model("qwen3.5-27b").fixed_bytes == state + tail


@pytest.mark.parametrize("row", measurements.rows("kv_logs.csv"), ids=lambda row: row["id"])
def test_bytes_per_token_that_engines_printed(row):
    """Readings of start-up logs: within 1 % of the model, those that disagree off as explained."""
    off = memory_accuracy.token_bytes(row) / float(row["bytes_per_token"]) - 1
    if row["agrees"] == "yes":
        assert abs(off) < 0.01
    else:
        assert 0.01 < abs(off) < 0.04
        assert row["note"]


# --- parameters ---------------------------------------------------------------------------------


def test_experts_covered():
    assert formulas.experts_covered(256, 8, 1) == pytest.approx(8)
    assert formulas.experts_covered(8, 2, 2) == pytest.approx(3.5)  # 8 · (1 − (3/4)²)
    assert formulas.experts_covered(256, 8, 10**6) == pytest.approx(256)
    assert formulas.experts_covered(16, 16, 1) == 16


@pytest.mark.parametrize(
    ("preset", "total", "active"),
    [
        ("mixtral-8x7b", 46_702_792_704, 12_879_925_248 - 131_072_000),
        ("qwen3-30b-a3b", 30_532_122_624, 3_353_032_704 - 311_164_928),
        ("deepseek-v3", 671_026_404_352, 37_552_282_624 - 926_679_040),
        ("nemotron-3-nano-30b-a3b", 31_577_937_344, 3_580_073_408 - 352_321_536),
        ("gemma-3-4b", 4_300_079_472, 3_880_263_168),  # tied: the matrix is the head, and counts
    ],
)
def test_active_parameters_leave_out_what_is_only_looked_up(preset, total, active):
    """Counts of the models built without weights, less the input embedding and the tower."""
    model = presets.model(preset)
    assert model.parameters == pytest.approx(total, rel=1e-6)
    assert model.active_parameters == pytest.approx(active, rel=1e-4)


def test_a_step_reads_the_experts_that_its_batch_covers():
    scenario = Scenario(model="qwen3-30b-a3b", memory=1000)
    steps = plan(scenario, concurrency=np.array([1, 2, 8, 64, 4096]))
    model = scenario.the_model
    resident = 2 * (model.parameters - model.embedding_parameters)
    assert np.all(np.diff(steps.weights_read_bytes) > 0)
    assert steps.weights_read_bytes[0] == pytest.approx(2 * model.active_parameters)
    assert steps.weights_read_bytes[-1] == pytest.approx(resident, rel=1e-6)
    assert steps.weights_bytes == 2 * model.parameters  # memory holds every expert


# --- the plan of any model ----------------------------------------------------------------------


@pytest.mark.parametrize("group", ["4q8k1d8", "4q8k1v8", "4q8s8", "4q8x8", "4q8k1d8r4w2"])
def test_a_model_that_stores_anything_at_all_plans(group):
    found = plan(Scenario(model=f"m1~{group}_4q8~p1000~x"))
    assert found.cache_bytes > 0


def test_lesson_models_are_as_they_were():
    models = presets.models()
    assert list(models)[:2] == ["lesson-7b-gqa", "lesson-7b-mha"]
    for name, step_ms in (("lesson-7b-mha", 18.3), ("lesson-7b-gqa", 15.1)):
        found = plan(Scenario(model=name, concurrency=1, context=8192))
        assert found.weights_bytes == 14e9
        assert round(found.decode_step_s * 1000, 1) == step_ms
    assert models["lesson-7b-mha"].parameters == 7 * 10**9


@pytest.mark.parametrize("preset", presets.models())
def test_every_preset_plans_and_its_inverses_hold(preset):
    scenario = Scenario(model=preset, concurrency=2, context=4096, memory=5000)
    grid = plan(scenario, concurrency=np.array([[1], [64]]), context=np.array([128, 4096, 10**6]))
    assert np.all(np.diff(grid.cache_bytes_per_request) >= 0)
    assert np.shape(grid.decode_step_s + grid.prefill_s + grid.ttft_s) == (2, 3)
    assert grid.prefill_s == pytest.approx(
        np.array([plan(scenario, context=n).prefill_s for n in (128, 4096, 10**6)])
    )
    found = plan(scenario)
    longest = found.max_context_tokens
    if np.isfinite(longest):
        assert plan(scenario, context=longest).fits
        assert not plan(scenario, context=longest + 2).fits
    most = found.max_concurrency
    assert plan(scenario, concurrency=most).fits
    assert not plan(scenario, concurrency=most + 1).fits


def test_at_least_sixty_presets_each_with_a_source():
    models = presets.models()
    assert len(models) >= 60
    assert all(model.source for model in models.values())
    seen = {}
    for model in models.values():
        shape = replace(model, id="", name="any", source="")
        # Models of one shape have rows of their own where they are published under names of their
        # own, which start commands need.
        name = published(model.source)
        assert not {"", name} & seen.setdefault(shape, set()), f"{model.id} is there twice"
        seen[shape].add(name)


@pytest.mark.parametrize("row", maker.rows("variants.csv"), ids=lambda row: row["preset_id"])
def test_variants_have_the_published_total(row):
    model = presets.model(row["preset_id"])
    assert model.parameters == pytest.approx(int(row["published_parameters"]), rel=1e-6)


def test_the_committed_presets_are_what_the_script_writes():
    assert (PRESETS / "models.csv").read_text(encoding="utf-8") == maker.table()
    assert (maker.HERE / "outcomes.csv").read_text(encoding="utf-8") == maker.outcomes()


# --- the notation -------------------------------------------------------------------------------


def number(name):
    least, most = LIMITS[name]
    return st.integers(least, most)


WIDTHS = ("query_heads", "kv_heads", "key_dim", "value_dim", "stride", "state_bytes", "index_bytes")
groups = st.builds(
    LayerGroup,
    layers=number("layers"),
    **{name: number(name) for name in WIDTHS},
    window=st.none() | number("window"),
    query_dim=st.none() | number("query_dim"),
    output_dim=st.none() | number("output_dim"),
)
names = st.text(min_size=1, max_size=80).filter(str.isprintable)


def store_something(drawn):
    return any(group.stores() or group.fixed_bytes for group in drawn)


@st.composite
def models(draw):
    parts = {
        name: draw(st.integers(0, 10**12))
        for name in ("embedding_parameters", "head_parameters", "vision_parameters")
    }
    experts = draw(st.integers(0, 65_536))
    taken = draw(st.integers(1, experts)) if experts else 0
    routed = draw(st.integers(1, 10**14)) if experts else 0
    return Model(
        id="drawn",
        name=draw(names),
        groups=tuple(draw(st.lists(groups, min_size=1, max_size=8).filter(store_something))),
        parameters=draw(st.integers(1, 10**12)) + sum(parts.values()) + routed,
        expert_parameters=routed,
        experts=experts,
        experts_per_token=taken,
        draft_layers=draw(number("draft_layers")),
        max_context=draw(st.none() | number("max_context")),
        file_bytes=draw(st.none() | number("file_bytes")),
        dtype=draw(st.sampled_from(list(presets.weight_formats()))),
        **parts,
    )


@given(models())
def test_a_model_comes_back_from_its_word(model):
    text = model_to_text(model)
    assert quote(text, safe="") == text  # it stands in an address as it is
    if len(text) <= MAX_TEXT:
        assert model_from_text(text) == replace(model, id=text)


@given(models())
def test_a_link_carries_a_model(model):
    scenario = Scenario(model=model_to_text(model))
    again, notices = decode(encode(scenario))
    assert (again, notices) == (scenario, ())
    assert again.the_model == replace(model, id=scenario.model)


@given(st.text(max_size=60) | st.from_regex(r"[0-9a-z_.~]{0,60}", fullmatch=True))
def test_no_text_crashes_the_notation(text):
    for attempt in (text, PREFIX + text, f"{PREFIX}32q32k8d128~{text}~x", f"{PREFIX}{text}~p9~x"):
        try:
            model = model_from_text(attempt)
        except ValueError:
            continue
        assert model_from_text(model_to_text(model)).groups == model.groups


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("m1~", "three parts"),
        ("m1~32q32k8d128~~x", "numbers"),
        ("m1~32q32k8d128~e5~x", "parameters"),
        ("m1~32q32k8d128~p5.e6~x", "more parameters than the whole"),
        ("m1~32q32k8d128z1~p5~x", "z1"),
        ("m1~32q32q8~p5~x", "q8"),
        ("m1~4q8~p1000~x", "no layer stores anything"),
        ("m1~4q8k8_4q8d8~p1000~x", "no layer stores anything"),
        ("m1~0q1~p5~x", "layers"),
        ("m1~9999q1~p5~x", "layers"),
        ("m1~32q32k8d128~p5.p6~x", "twice"),
        ("m1~32q32k8d128~p" + "9" * 5000 + "~x", "characters"),
        ("m1~32q32k8d128~p99999999999999999999~x", "18 digits"),
        ("m1~32q32k8d128~p5.n4.k9.x1~x", "experts"),
        ("m1~32q32k8d128~p5.tBF16~x", "format"),
        ("m1~32q32k8d128~p5~", "name"),
        ("m1~32q32k8d128~p5~a b", "name"),
        ("m1~32q32k8d128~p5~~ff", "name"),
        ("m1~32q32k8d128~p5~~e2~80~ae", "name"),  # turns the direction of writing
        ("m1~" + "_".join(["1q1k1d1"] * 65) + "~p5~x", "64"),
    ],
)
def test_a_bad_word_is_named(text, names):
    with pytest.raises(ValueError, match=names):
        model_from_text(text)
    scenario, notices = decode({"model": [text], "context": ["1000"]})
    assert scenario.model == "lesson-7b-gqa"
    assert scenario.context == 1000
    assert [notice.parameter for notice in notices] == ["model"]


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": 0},
        {"parameters": float("nan")},
        {"parameters": 1.5},
        {"parameters": True},
        {"parameters": "7"},
        {"groups": ()},
        {"name": ""},
        {"name": "a\nb"},
        {"dtype": "no such"},
        {"experts_per_token": 2},
        {"expert_parameters": 5},
    ],
)
def test_an_impossible_model_is_refused(change):
    sound = presets.model("lesson-7b-gqa")
    with pytest.raises(ValueError):  # noqa: PT011 - what it says is tested with the notation
        replace(sound, **change)
