"""Numbers in words, and the sentence that answers."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, answer, describe, evaluate, plan, ways
from planner.hardware.parallel import Layout, layouts
from planner.inputs import presets
from tests.test_plan import scenarios


@pytest.mark.parametrize(
    ("value", "text"),
    [(31.18, "31.2"), (14.0, "14.0"), (0.99961, "1.00"), (99.96, "100"), (1234.5, "1,230"),
     (0.001234, "0.00123"), (0, "0"), (-2.5, "-2.50"), (999_999, "1,000,000"), (math.inf, "∞")],
)  # fmt: skip
def test_three_significant_digits(value, text):
    assert describe.significant(value) == text


def test_a_number_is_written_alike_whoever_made_it():
    # NumPy multiplies, rounds and divides: 1.58; the nearest of 1.575 is 1.57.
    assert describe.significant(np.float64(1.575)) == describe.significant(1.575) == "1.57"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (131_072, "131 kB"),
        (14e9, "14.0 GB"),
        (999.8e6, "1.00 GB"),
        (5.6e12, "5.60 TB"),
        (7, "7.00 B"),
    ],
)
def test_bytes(count, text):
    assert describe.data(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.03118, "31.2 ms"),
        (1.5, "1.50 s"),
        (0.00002, "20.0 µs"),
        (1200, "20.0 min"),
        (7200, "2.00 h"),
    ],
)
def test_durations(seconds, text):
    assert describe.duration(seconds) == text


def test_an_engine_s_unit():
    assert describe.gib(8 * 2**30) == "8.00 GiB"


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("(W + C) / BW: 16-bit, 17.2 GB", "(W + C) / BW: 16-bit, 17.2 GB"),
        ("[x](y) <b> `z` *a* a_b |", r"\[x\](y) \<b\> \`z\` \*a\* a\_b \|"),
        (":red[x] :smile: $y$ &lt;", r"\:red\[x\] \:smile: \$y\$ \&lt;"),
        ("- a", r"\- a"),
        ("--- ", r"\--- "),
        ("12. a", r"12\. a"),
        ("1) a", r"1\) a"),
        ("https://x.example www.x", "https\\:\u2060//x.example www\u2060.x"),
    ],
)
def test_a_text_from_outside_is_markdown_that_shows_it(words, written):
    assert describe.as_text(words) == written


@given(st.floats(1e-9, 1e18))
def test_no_number_is_ever_in_scientific_notation(value):
    assert "e" not in describe.significant(value)


def test_the_verdict_that_fits():
    assert answer.verdict(evaluate(Scenario())) == (
        "Fits, with 48.8 GB to spare.",
        "Up to 61 requests of 8,192 tokens; with 16, each sees 32.1 tokens/s.",
    )


def test_the_verdict_that_does_not_fit_says_what_would():
    said, detail = answer.verdict(evaluate(Scenario(model="lesson-7b-mha")))
    assert said == "Does not fit: 2.72 GB too much."
    assert detail == (
        "The cache needs 68.7 GB and has 66.0 GB beside the weights; up to 15 requests fit. "
        "It would fit with 15 requests, or 7,867 tokens each, or an 8-bit cache, or 2 devices, "
        "or 82.8 GB of memory."
    )


def test_the_verdict_where_the_weights_alone_are_too_much():
    said, detail = answer.verdict(evaluate(Scenario(memory=8)))
    assert said == "Does not fit: 23.2 GB too much."
    assert detail.startswith("The weights alone need 14.0 GB")


@given(scenarios())
def test_every_way_out_that_the_verdict_names_does_fit(scenario):
    scenario = replace(scenario, engine="ideal", set="")
    result = evaluate(scenario)
    said, detail = answer.verdict(result)
    assert said.startswith("Fits") == result.fits == result.plan.fits
    if result.fits:
        return
    for way in ways.ways(result, ways.remedies(result)):
        assert way.text in detail
        changed = replace(scenario, **way.changes)
        assert evaluate(changed).fits, way
        if "memory" in way.changes:
            number, unit = re.search(r"([\d.,]+) (GB|TB|PB) of memory", way.text).groups()
            memory = float(number.replace(",", "")) * {"GB": 1, "TB": 1e3, "PB": 1e6}[unit]
            assert plan(scenario, memory=memory).fits
        if "concurrency" in way.changes:
            assert describe.requests(changed.concurrency) in way.text
        if "context" in way.changes:
            assert f"{changed.context:,} tokens" in way.text
        if "tp" in way.changes:
            assert f"{changed.layout.devices} devices" in way.text
        if "cache_k" in way.changes:
            assert "an 8-bit cache" in way.text
            assert changed == replace(ways.with_small_cache(scenario), **way.changes)


def test_what_is_needed_is_rounded_up():
    assert describe.enough(82.719e9) == "82.8 GB"
    assert describe.enough(313e9) == "313 GB"
    assert describe.enough(312_912_345_678) == "313 GB"
    assert describe.enough(1000e9) == "1.00 TB"
    assert describe.enough(999.1e9) == "1.00 TB"


def test_a_verdict_over_several_devices_says_so():
    scenario = Scenario("llama-3.1-70b", device="h100-sxm", concurrency=64)
    assert answer.verdict(evaluate(scenario)) == (
        "Does not fit: 228 GB too much.",
        "The weights alone need 141 GB. It would fit with 4 devices, or 313 GB of memory.",
    )
    said, _ = answer.verdict(evaluate(replace(scenario, tp=4)))
    # By hand: 84.933 − 141.107 / 4 − 64 · 8192 · 327,680 / 4 / 10⁹ = 84.933 − 35.277 − 42.950.
    assert said == "Fits, with 6.71 GB to spare on each of 4 devices."


def test_the_devices_that_a_verdict_asks_for_are_enough_and_no_more_than_needed():
    scenario = Scenario("llama-3.1-70b", device="h100-sxm", concurrency=64)
    assert ways.more_devices(scenario) == (4, 0)
    assert not plan(replace(scenario, tp=2)).fits
    assert plan(replace(scenario, tp=4)).fits
    assert ways.more_devices(replace(scenario, context=2**20, concurrency=4096)) == (0, 0)


@given(scenarios())
def test_each_way_that_a_verdict_names_makes_it_fit(scenario):
    own = evaluate(scenario)
    if own.fits:
        return
    for way in ways.ways(own, ways.remedies(own)):
        assert evaluate(replace(scenario, **way.changes)).fits, way


def test_all_layouts_are_tried_and_an_unusual_one_is_named():
    # A latent cache is stored by every device of a tensor group, so groups must share the requests.
    scenario = Scenario("deepseek-v3", device="h100-sxm", concurrency=64, context=131_072)
    count, which = ways.more_devices(scenario)
    assert which > 0
    laid = ways.layouts(scenario, count)[which]
    assert evaluate(replace(scenario, **laid)).fits
    for fewer in [each for each in ways.DEVICE_COUNTS if each < count]:
        for each in ways.layouts(scenario, fewer):
            assert not evaluate(replace(scenario, **each)).fits
    assert f"{count} devices ({describe.layout(replace(scenario, **laid).layout)})" in (
        ways.ways_to_fit(evaluate(scenario))
    )


def test_two_changes_are_named_where_none_alone_helps():
    # By hand: 64 devices of 14 GB hold the weights and some 86 GB of cache, 167,000 tokens of
    # 516 kB; two requests of 131,072 need twice the room, or half of it at 8 bits.
    scenario = Scenario("llama-3.1-405b", memory=14, concurrency=2, context=131_072)
    named = ways.ways_to_fit(evaluate(scenario))
    assert named[0].startswith("an 8-bit cache and 64 devices")
    assert any(each.startswith("64 devices") and "and 1 request" in each for each in named), named


def test_the_usual_layout_comes_first():
    dense = presets.model("llama-3.1-70b")
    assert layouts(dense, 4)[0] == Layout(tensor=4)
    assert layouts(dense, 16)[0] == Layout(tensor=8, pipeline=2)
    assert layouts(dense, 64)[0] == Layout(tensor=8, pipeline=8)


@pytest.mark.parametrize(
    ("model", "label"),
    [("lesson-7b-mha", "MHA, 32 KV heads"), ("santacoder-1.1b", "MQA, 1 KV head"),
     ("deepseek-v3", "MLA, one latent"), ("gemma-4-31b", "GQA, 4–16 KV heads")],
)  # fmt: skip
def test_variants(model, label):
    assert describe.variant(presets.model(model)) == label
