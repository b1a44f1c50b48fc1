"""The plan: the lesson's scenarios through the one path, and the arithmetic it prints."""

import math
import re
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Plan, Scenario, decode, describe, plan
from planner.hardware.context import refusal as context_refusal
from planner.hardware.parallel import ONE_DEVICE, layouts
from planner.inputs import presets
from planner.inputs.scenario import NUMBERS
from planner.models import states
from planner.models.drafting import EAGLE, MTP, refusal
from planner.reports import arithmetic
from tests.test_model import models

# The lesson: model, requests, context -> cache in GB, TPOT in ms, and digits shown.
LESSON = [
    ("lesson-7b-mha", 1, 8192, 4.29, 18.3),
    ("lesson-7b-mha", 16, 8192, 68.7, 82.7),
    ("lesson-7b-gqa", 16, 8192, 17.2, 31.2),
    ("lesson-7b-mha", 1, 128_000, 67.1, 81.1),
    ("lesson-7b-gqa", 1, 128_000, 16.8, 30.8),
    ("lesson-7b-mha", 1, 1000, 0.524, 14.5),
    ("lesson-7b-gqa", 1, 1000, 0.131, 14.1),
    ("lesson-7b-gqa", 1, 8192, 1.07, 15.1),
    ("lesson-7b-mha", 1, 32_000, 16.8, 30.8),
    ("lesson-7b-gqa", 1, 32_000, 4.19, 18.2),
]


SETTINGS = ["", "fraction:0.5", "layer_us:60,bandwidth_efficiency:0.7", "pool_gib:20.5"]


@st.composite
def hosted(draw, model, layout):
    """What of a model may be in host memory; mostly nothing."""
    if layout.data > 1 or draw(st.integers(0, 3)):
        return {}
    layers = draw(st.integers(0, max(model.layers - layout.pipeline, 0)))
    experts = draw(st.integers(0, model.layers)) if model.experts else 0
    rates = {"host_bandwidth": draw(st.floats(1, 1000)), "host_link": draw(st.floats(0.1, 1000))}
    return {"host_layers": layers, "host_experts": experts, **rates}


def shared(model, tensor):
    """Over how many devices the tokens of a request may be shared out."""
    sizes = range(1, tensor + 1)
    return [n for n in sizes if not context_refusal(model.groups, tensor, n)]


@st.composite
def drafted(draw, model, layout):
    """Who may guess tokens for a model; mostly nobody."""
    kind = draw(st.sampled_from(["", "", "", MTP, EAGLE, "llama-3.2-1b", "qwen3-0.6b"]))
    if not kind or refusal(model, kind, layout.pipeline):
        return {}
    count = draw(st.integers(1, 16))
    return {"draft": kind, "drafted": count, "accepted": draw(st.floats(1, count + 1))}


@st.composite
def adapted(draw, model):
    """Room for adapters; mostly none."""
    if not model.width or draw(st.integers(0, 3)):
        return {}
    return {"loras": draw(st.integers(0, 64)), "lora_rank": draw(st.integers(1, 512))}


@st.composite
def stated(draw, model):
    """How recurrent states are stored; mostly as the model's file says."""
    able = [each for each in states.FORMATS if not states.refusal(model, each)]
    return {"state_format": draw(st.sampled_from(able))}


@st.composite
def scenarios(draw):
    """Any scenario that can be: every model, format, device and layout."""
    model = draw(st.sampled_from(list(presets.models())))
    devices = draw(st.sampled_from([1, 1, 1, 2, 4, 6, 8, 16, 64]))
    layout = draw(st.sampled_from(layouts(presets.model(model), devices) or (ONE_DEVICE,)))
    return Scenario(
        model=model,
        weights=draw(st.sampled_from([None, *presets.weight_formats()])),
        cache_k=draw(st.sampled_from(list(presets.caches_of(presets.model(model))))),
        cache_v=draw(st.sampled_from(list(presets.caches_of(presets.model(model))))),
        device=draw(st.sampled_from(list(presets.accelerators()))),
        tp=layout.tensor,
        pp=layout.pipeline,
        dp=layout.data,
        ep=layout.expert,
        concurrency=draw(st.integers(1, 4096)),
        context=draw(st.integers(128, 2**20)),
        bandwidth=draw(st.floats(1, 100_000)),
        memory=draw(st.floats(1, 100_000)),
        peak=draw(st.floats(0.1, 100_000)),
        engine=draw(st.sampled_from(list(presets.engines()))),
        set=draw(st.sampled_from(SETTINGS)),
        prompt=draw(st.sampled_from([0, 1, 500, 2**20])),
        prefix=draw(st.sampled_from([0, 1, 400, 2**20])),
        output=draw(st.sampled_from([0, 1, 500])),
        **draw(hosted(presets.model(model), layout)),
        **draw(drafted(presets.model(model), layout)),
        **draw(adapted(presets.model(model))),
        **draw(stated(presets.model(model))),
        dcp=draw(st.sampled_from(shared(presets.model(model), layout.tensor))),
    )


@pytest.mark.parametrize(("model", "concurrency", "context", "cache_gb", "step_ms"), LESSON)
def test_lesson(model, concurrency, context, cache_gb, step_ms):
    result = plan(Scenario(model=model, concurrency=concurrency, context=context))
    assert result.weights_bytes == 14e9
    assert describe.data(result.cache_bytes) in (f"{cache_gb:.3g} GB", f"{1e3 * cache_gb:.0f} MB")
    assert describe.duration(result.decode_step_s) == f"{step_ms} ms"


def test_lesson_rates():
    for context, rate in ((1000, 68.9), (8192, 54.7), (32_000, 32.5)):
        result = plan(Scenario(model="lesson-7b-mha", concurrency=1, context=context))
        assert describe.rate(result.tokens_per_s_per_request) == f"{rate} tokens/s"


@given(scenarios(), st.sampled_from(["concurrency", "context", "memory", "bandwidth", "peak"]))
def test_an_array_is_the_same_plan_many_times(scenario, name):
    values = np.array([getattr(scenario, name), 130, 3777])
    together = plan(scenario, **{name: values})
    for at, value in enumerate(values):
        alone = plan(scenario, **{name: value})
        for field in fields(Plan):
            one, all_ = getattr(alone, field.name), getattr(together, field.name)
            if isinstance(one, (int, float, np.generic)):
                assert np.broadcast_to(all_, values.shape)[at] == pytest.approx(one), field.name


def test_a_word_that_is_no_input_is_refused():
    with pytest.raises(TypeError, match="contxt"):
        plan(Scenario(), contxt=5)


@given(scenarios())
def test_inverses_agree_with_the_verdict(scenario):
    result = plan(scenario)
    assert result.fits == (scenario.concurrency <= result.max_concurrency)
    assert result.fits == (scenario.context <= result.max_context_tokens)
    assert result.fits == (result.memory_free_bytes >= 0)


@given(scenarios(), st.sampled_from(["concurrency", "context"]))
def test_more_load_needs_more_of_everything(scenario, name):
    more = min(getattr(scenario, name) * 2, NUMBERS[name].maximum)
    less, grown = plan(scenario), plan(scenario, **{name: more})
    assert grown.cache_bytes >= less.cache_bytes
    assert grown.decode_step_s >= less.decode_step_s
    assert grown.memory_free_bytes <= less.memory_free_bytes
    assert grown.prefill_flops >= less.prefill_flops


# --- operations -----------------------------------------------------------------------------------


def test_a_decode_step_computes_for_every_request():
    # Llama 3.1 8B: 32 layers of 32 heads of 128, 16 requests of 8,192 tokens.
    result = plan(Scenario(model="llama-3.1-8b", concurrency=16, context=8192))
    projections = 2 * 16 * (8_030_261_248 - 525_336_576)
    attention = 16 * 32 * 32 * 4 * 128 * 8192
    assert result.decode_flops == projections + attention


def test_a_window_ends_what_a_decode_step_attends_to():
    flops = plan(Scenario(model="m1~3q4k2d8w100_2q4k2d8~p1000~x"), context=np.array([50, 900]))
    pairs = np.array([5 * 50, 3 * 100 + 2 * 900])
    assert flops.decode_flops.tolist() == (16 * (2 * 1000 + 4 * 4 * 8 * pairs)).tolist()


@pytest.mark.parametrize("model", presets.models())
def test_attention_on_a_prompt_is_that_of_its_tokens_decoded_one_by_one(model):
    scenario = Scenario(model=model, concurrency=1)
    steps = plan(scenario, context=np.arange(1, 6001))
    alone = steps.decode_flops - 2 * scenario.the_model.active_parameters
    summed = np.broadcast_to(alone, 6000).sum()  # without attention it is 0, whatever the context
    assert plan(scenario, context=6000).attention_flops == pytest.approx(summed)


@pytest.mark.parametrize(
    ("parameters", "seconds"), [(10_000_000_000_000, 69_905), (4_500_000_000_000, 31_457)]
)
def test_the_work_of_the_largest_prompts_does_not_wrap_round(parameters, seconds):
    link = f"model=m1~80q64k8d128~p{parameters}~x&context=1048576&memory=100000"
    result = plan(decode(link)[0])
    assert result.ttft_s > seconds  # of the projections alone, at 300 TFLOP/s
    together = plan(result.scenario, context=np.array([2**20]), concurrency=np.array([4096]))
    assert together.prefill_flops == result.prefill_flops > 2 * parameters * 2**20
    assert together.decode_flops > 2.0 * parameters * 4096


def calculator(text):
    """Evaluate a printed equation as a person would type it: digits, signs, brackets, units."""
    text = text.replace("billion", "* 1e9").replace("⌊", "floor(").replace("⌋", ")")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"TFLOP(/s)?", "* 1e12", text)
    text = re.sub(r"GB(/s)?", "* 1e9", text)
    text = re.sub(r"\bms\b", "* 1e-3", text)
    text = re.sub(r"\b(bytes|bits|tokens|layers|heads|requests|in cache)\b|/s\b", "", text)
    text = text.replace("×", "*").replace("−", "-").replace("^", "**")
    # A quantity binds its unit before a division: 80 GB / 1 GB, not 80 GB / 1 * 1e9.
    text = re.sub(r"([\d.]+) \* (1e-?\d+)", r"(\1 * \2)", text)
    assert re.fullmatch(r"[\d\s.e+*/()\-,a-z]*", text), text
    return eval(text, {"__builtins__": {}}, {"floor": math.floor, "max": max, "min": min})


UNITS = {"bytes": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "GB/s": 1e9,
         "s": 1, "ms": 1e-3, "µs": 1e-6, "min": 60, "h": 3600, "tokens": 1,
         "tokens/s": 1, "TFLOP": 1e12,
         "%": 0.01, "": 1}  # fmt: skip


def printed(result):
    """A printed result as a number in SI units."""
    number, _, unit = result.partition(" ")
    return float(number.replace(",", "")) * UNITS[unit]


@given(scenarios())
def test_printed_arithmetic_gives_the_printed_result(scenario):
    result = plan(scenario)
    titles = set()
    for each in arithmetic.arithmetic(result):
        typed = calculator(each.numbers)
        assert typed == pytest.approx(each.value, rel=1e-9), each
        assert typed == pytest.approx(printed(each.result), rel=5.001e-3), each
        titles.add(each.title)
    assert {"Cache", "Time per output token (TPOT)", "TTFT of a prompt alone"} <= titles


@given(models())
def test_the_arithmetic_of_any_model_gives_its_numbers(model):
    result = plan(Scenario(), model=model)
    for each in arithmetic.arithmetic(result):
        assert calculator(each.numbers) == pytest.approx(each.value, rel=1e-6), each


@pytest.mark.parametrize(
    ("groups", "lines"),
    [
        # Heads without a width keep nothing; an indexer alone keeps its key, in its window.
        ("2q8k1w16_2q8k1d64", ["2 × 2 layers × 1 heads × 64 × 2 bytes"]),
        (
            "2q8w16x4_2q8k1d64",
            ["2 × 2 layers × 1 heads × 64 × 2 bytes", "2 layers × 4 bytes"],
        ),
        (
            "2q8x4r2w16_2q8k1d64",
            ["(2 layers × 4 bytes) / 2 + 2 × 2 layers × 1 heads × 64 × 2 bytes"],
        ),
    ],
)
def test_layers_that_store_next_to_nothing_have_their_arithmetic(groups, lines):
    result = plan(Scenario(model=f"m1~{groups}~p1000000~x"))
    found = [each for each in arithmetic.arithmetic(result) if "Cache per token" in each.title]
    assert [each.numbers for each in found] == lines


def test_arithmetic_reads_as_the_lesson_does():
    lines = {each.title: each for each in arithmetic.arithmetic(plan(Scenario()))}
    token = lines["Cache per token"]
    assert token.numbers == "2 × 32 layers × 8 heads × 128 × 2 bytes"
    assert token.result == "131,072 bytes"
    assert lines["Time per output token (TPOT)"].numbers == "(14 GB + 17.179869184 GB) / 1,000 GB/s"
    assert lines["Time per output token (TPOT)"].result == "31.2 ms"
    assert lines["Max concurrent requests"].result == "61"
