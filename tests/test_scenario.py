"""Links: complete, exact, and never an error, whatever is in them."""

import csv
from dataclasses import fields
from pathlib import Path
from urllib.parse import parse_qs, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, decode, encode, plan
from planner.inputs import presets
from planner.inputs.scenario import ADDED, FIND, NUMBERS
from tests.test_plan import scenarios

OLD_LINKS = list(csv.DictReader(Path(__file__).with_name("links.csv").read_text().splitlines()))

# Query, the parameter that is wrong ("" for one that is none of ours), and what is used instead.
BAD_LINKS = [
    ("concurrency=-1", "concurrency", 1),
    ("concurrency=0", "concurrency", 1),
    ("concurrency=5000", "concurrency", 4096),
    ("concurrency=1e99", "concurrency", 4096),
    ("concurrency=1e999", "concurrency", 4096),
    ("concurrency=" + "9" * 5000, "concurrency", 4096),
    ("concurrency=3.7", "concurrency", 4),
    ("concurrency=abc", "concurrency", 16),
    ("concurrency=", "concurrency", 16),
    ("concurrency=%20", "concurrency", 16),
    ("concurrency=nan", "concurrency", 16),
    ("concurrency=inf", "concurrency", 16),
    ("concurrency=-inf", "concurrency", 16),
    ("concurrency=0x10", "concurrency", 16),
    ("concurrency=1_000", "concurrency", 16),
    ("concurrency=1,00", "concurrency", 16),
    ("memory=16,5", "memory", 80),
    ("concurrency=4&concurrency=5&concurrency=6", "concurrency", 4),
    ("concurrency=١٢", "concurrency", 16),
    ("concurrency=½", "concurrency", 16),
    ("concurrency=4&concurrency=5", "concurrency", 4),
    ("concurrency=true", "concurrency", 16),
    ("concurrency=%00", "concurrency", 16),
    ("concurrency=%FF", "concurrency", 16),
    ("concurrency=[16]", "concurrency", 16),
    ("concurrency='; DROP TABLE", "concurrency", 16),
    ("concurrency=<script>alert(1)</script>", "concurrency", 16),
    ("concurrency=" + quote("**bold** [x](http://x.example)"), "concurrency", 16),
    ("context=127", "context", 128),
    ("context=1048577", "context", 1_048_576),
    ("context=8192.5", "context", 8192),
    ("context=-8192", "context", 128),
    ("bandwidth=0", "bandwidth", 1),
    ("bandwidth=-1000", "bandwidth", 1),
    ("bandwidth=1e300", "bandwidth", 100_000),
    ("bandwidth=fast", "bandwidth", 1000),
    ("memory=0", "memory", 1),
    ("memory=80GB", "memory", 80),
    ("memory=1e7", "memory", 100_000),
    ("peak=0", "peak", 0.1),
    ("peak=NaN", "peak", 300),
    ("model=gpt-99", "model", "lesson-7b-gqa"),
    ("model=", "model", "lesson-7b-gqa"),
    ("model=m1~4q8~p1000~x", "model", "lesson-7b-gqa"),  # stores nothing
    ("model=" + "x" * 10_000, "model", "lesson-7b-gqa"),
    ("model=../../etc/passwd", "model", "lesson-7b-gqa"),
    ("device=abacus", "device", "lesson"),
    ("device=__class__", "device", "lesson"),
    ("engine=steam", "engine", "ideal"),
    ("set=fraction:2", "set", ""),
    ("set=horses:4", "set", ""),
    ("set=fraction", "set", ""),
    ("output=-5", "output", 0),
    ("prompt=1e9", "prompt", 1_048_576),
    ("v=2", "v", None),
    ("v=", "v", None),
    ("v=one", "v", None),
    ("colour=blue", "", None),
    ("__proto__=1", "", None),
    ("&".join(f"x{n}=1" for n in range(1000)), "", None),
]


@pytest.mark.parametrize(("query", "parameter", "used"), BAD_LINKS)
def test_a_bad_value_is_named_and_replaced_and_costs_nothing_else(query, parameter, used):
    # Something good beside it must survive.
    other = "context=1000" if parameter == "concurrency" else "concurrency=7"
    scenario, notices = decode(f"{query}&{other}")
    assert [notice.parameter for notice in notices] == [parameter]
    name, value = other.split("=")
    assert getattr(scenario, name) == int(value)
    if used is not None:
        assert getattr(scenario, parameter) == used
        shown = f"{used:,}" if isinstance(used, (int, float)) else name_of(parameter, used)
        assert shown in notices[0].text
    assert len(notices[0].text) < 300


def name_of(parameter, key):
    return FIND[parameter](key).name if parameter in FIND else "the engine's own"


def test_there_are_enough_bad_links():
    assert len(BAD_LINKS) >= 40


@given(st.text(max_size=200))
def test_any_text_is_a_link(text):
    scenario, _ = decode(text)
    assert decode(encode(scenario)) == (scenario, ())


names = st.sampled_from(["v", "model", "device", *NUMBERS, "other", ""])
values = st.one_of(st.text(max_size=12), st.floats().map(str), st.integers().map(str))


@given(st.dictionaries(names, st.lists(values, max_size=3)))
def test_any_parameters_are_a_link(query):
    scenario, _ = decode(query)
    assert decode(encode(scenario)) == (scenario, ())


@given(scenarios())
def test_a_link_reopens_exactly(scenario):
    assert decode(encode(scenario)) == (scenario, ())


@given(scenarios())
def test_a_link_is_complete_on_its_own(scenario):
    given = parse_qs(encode(scenario), keep_blank_values=True)
    left_out = {name for name, value in ADDED.items() if getattr(scenario, name) == value}
    assert set(given) == {"v", *(field.name for field in fields(Scenario))} - left_out


def test_what_came_later_means_by_its_absence_what_it_always_meant():
    # These may grow; a value in them may never change.
    formats = {"cache_k": "fp16", "cache_v": "fp16"}
    layout = {"tp": 1, "pp": 1, "dp": 1, "ep": 1, "dcp": 1}
    engine = {"engine": "ideal", "set": "", "prompt": 0, "prefix": 0, "output": 0}
    host = {"host_layers": 0, "host_experts": 0, "host_bandwidth": 89.6, "host_link": 32}
    draft = {"draft": "", "drafted": 3, "accepted": 2}
    lora = {"loras": 0, "lora_rank": 16}
    state = {"state_format": "auto"}
    assert {**formats, **layout, **engine, **host, **draft, **lora, **state} == ADDED


@pytest.mark.parametrize("old", OLD_LINKS, ids=[row["query"][:60] for row in OLD_LINKS])
def test_an_old_link_keeps_its_numbers(old):
    scenario, notices = decode(old["query"])
    assert notices == ()
    result = plan(scenario)
    for name, figure in old.items():
        if name != "query":
            assert getattr(result, name) == pytest.approx(float(figure), rel=1e-12), name


@pytest.mark.parametrize("example", presets.examples(), ids=lambda example: example.id)
def test_examples_are_complete_links_of_this_version(example):
    scenario, notices = decode(example.query)
    assert notices == ()
    assert encode(scenario) == example.query


def test_thousands_may_be_separated_as_the_page_writes_them():
    scenario, notices = decode("context=1,048,576&concurrency= 16 &model=lesson-7b-mha%20")
    assert notices == ()
    assert scenario == Scenario("lesson-7b-mha", context=1_048_576)


def test_a_short_link_takes_the_device_s_own_numbers():
    scenario, notices = decode("device=h100-sxm&memory=40")
    assert notices == ()
    assert (scenario.bandwidth, scenario.memory, scenario.peak) == (3350, 40, 989.4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "gpt-99"},
        {"device": "abacus"},
        {"concurrency": 0},
        {"concurrency": 1.5},
        {"concurrency": "16"},
        {"concurrency": True},
        {"context": 127},
        {"bandwidth": float("nan")},
        {"memory": float("inf")},
        {"peak": -1},
    ],
)
def test_a_scenario_of_bad_values_cannot_be_made(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Scenario(**wrong)
