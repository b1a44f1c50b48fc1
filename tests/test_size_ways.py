"""Sizing by link, Python, terminal and HTTP: the same numbers, to the digit; and its links."""

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from planner import __version__, decode, evaluate, size
from planner.__main__ import main
from planner.inputs.link import Choice, Number
from planner.sizing import query, report
from planner.sizing.answer import answer, counted, named, question, verdict
from planner.sizing.query import Ask, Preset, encode, narrowed, workloads
from planner.sizing.workload import Lengths
from planner.web import api, openapi, preview

SOME = [
    "",
    "model=llama-3.1-70b&users=200&think=45&ttft=1&speed=25",
    "model=gpt-oss-20b&workload=agent&rate=12&rank=devices&where=hyperscaler&spares=1",
    "model=llama-3.1-8b&device=l4&tp=2&engine=vllm-0.34&weights=fp8&cache=fp8&rate=50&replicas=1",
    "model=llama-3.1-8b&device=h100-sxm&price=2.5&rate=5&percentile=99&headroom=0",
    "model=llama-3.1-8b&device=l4&purchase=3000&years=3&tariff=0.3&rate=1",
    "model=llama-3.1-8b&ttft=0.01&speed=1000",
    "model=llama-3.1-8b&device=l4&tp=1&engine=sglang&weights=fp16&cache=fp16&rate=1",
    "model=llama-3.1-8b&device=radeon-vii&tp=1&engine=sglang&weights=fp16&cache=fp16&rate=1",
    "model=llama-3.1-70b&device=l4&tp=1&engine=sglang&weights=fp16&cache=fp16&rate=1",
    "model=llama-3.1-8b&device=l40s&draft=eagle&accepted=2.5&rate=1&set=pool_gib:10",
    "model=llama-3.1-70b&device=h100-sxm&tp=16&engine=vllm-0.34&weights=fp8&cache=fp8&dcp=2&rate=1",
]
BAD = {
    "model=x": "model",
    "rate=1&users=2": "rate",
    "users=0": "users",
    "prompt=100&prompt_p95=50": "prompt_p95",
    "tp=3": "tp",
    "price=3": "price",
    "speed=0": "speed",
    "where=moon": "where",
    "engine=ideal": "engine",
    "concurrency=3": "",
    "ttft=soon": "ttft",
    "draft=mtp": "draft",
    "accepted=9": "accepted",
    "dcp=2": "dcp",
    "host_layers=50": "host_layers",
    "set=x:1": "set",
}


@pytest.fixture(scope="module")
def client():
    with TestClient(Starlette(routes=api.routes())) as started:
        yield started


def in_terminal(*arguments):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(arguments))
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("text", SOME)
def test_every_way_gives_the_same(client, text):
    ask, notices = query.decode(text)
    assert notices == ()
    found = answer(ask)
    expected = report.as_dict(found)
    status, out, _ = in_terminal("size", text, "--json")
    assert json.loads(out) == expected
    assert status == (0 if found.keeps else 1)
    assert client.get(f"/api/size?{text}").json() == expected
    assert client.get(f"/api/size?{expected['link']}").json() == expected
    own = found.sizing
    if own is not None:
        alone = size(ask.the_workload, ask.promise, own.scenario, ask.replicas or None)
        assert expected["devices"] == alone.devices
        assert expected["rate_per_s"] == pytest.approx(alone.rate, rel=1e-12)


TRACE = "arrival_s,prompt_tokens,output_tokens\n0,100,20\n1.5,300,40\nx,1,1\n4,200,30\n"


def test_a_trace_is_sized_as_the_terminal_sizes_it(client, tmp_path):
    text = "model=llama-3.1-8b&device=l4&speed=5"
    (tmp_path / "trace.csv").write_text(TRACE)
    _, out, _ = in_terminal("size", text, "--trace", str(tmp_path / "trace.csv"), "--json")
    found = client.post(f"/api/size?{text}", content=TRACE).json()
    read = found.pop("trace")
    assert found == json.loads(out)
    assert "prompt=200" in found["link"]
    assert client.get(f"/api/size?{found['link']}").json() == found
    assert (read["requests"], read["malformed_rows"], read["format"]) == (3, 1, "plain")
    assert [each["line"] for each in read["malformed_named"]] == [4]
    described = openapi.schema()["components"]["schemas"]["SizingByTrace"]["allOf"][1]
    assert set(read) == set(described["properties"]["trace"]["properties"])


@pytest.mark.parametrize(
    ("text", "body", "status"),
    [
        ("model=x", TRACE, 400),
        ("", "", 400),
        ("", "no trace", 400),
        ("", b"\xff" * 99, 400),
        ("", "x" * (api.MAX_TRACE + 1), 413),
    ],
)
def test_a_trace_that_cannot_be_sized_is_refused_in_a_sentence(client, text, body, status):
    answered = client.post(f"/api/size?{text}", content=body)
    assert answered.status_code == status
    (problem,) = answered.json()["problems"]
    assert problem["problem"].endswith(".")


@pytest.mark.parametrize("text", SOME)
def test_a_sizing_in_words(text):
    ask, _ = query.decode(text)
    found = answer(ask)
    title, detail = verdict(found)
    status, out, _ = in_terminal("size", f"http://localhost:8501/size?{text}")
    assert out.startswith(f"{title}\n{detail}\n")
    assert status == (0 if found.keeps else 1)
    assert in_terminal(f"http://localhost:8501/size?{text}")[1] == out
    shown = preview.of("size", text)
    if text:
        assert shown.title == title
        assert question(ask) in shown.description


@pytest.mark.parametrize(("text", "name"), BAD.items())
def test_what_the_page_would_correct_is_rejected(client, text, name):
    ask, notices = query.decode(text)
    assert name in {each.parameter for each in notices}
    answered = client.get(f"/api/size?{text}")
    assert answered.status_code == 400
    assert name in {each["parameter"] for each in answered.json()["problems"]}
    status, _, problems = in_terminal("size", text)
    assert status == 2
    assert problems
    assert query.decode(encode(ask)) == (ask, ())


def any_value(kind):
    if isinstance(kind, Number):
        numbers = st.floats(kind.minimum, kind.maximum)
        return (numbers.map(round) if kind.whole else numbers).map(str)
    if isinstance(kind, Choice):
        return st.sampled_from(list(kind.options))
    return st.just("")


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={k: any_value(v) for k, v in query.PARAMETERS.items()}),
    st.dictionaries(st.sampled_from([*query.PARAMETERS, "x"]), st.text(max_size=12), max_size=3),
)
def test_any_link_is_read_and_comes_back(values, junk):
    ask, _ = query.decode({name: [text] for name, text in (values | junk).items()})
    assert query.decode(encode(ask)) == (ask, ())
    assert ask.the_workload.asked > 0
    assert ask.promise.tpot_s > 0
    assert ask.space.devices


def test_old_links_keep_their_meaning():
    ask, _ = query.decode(
        "v=1&model=llama-3.1-8b&workload=code&rate=3&prompt=2938&device=l4&price=1"
    )
    assert (ask.users, ask.prompt_p95, ask.prompt_mean) == (0, 14_630, 0)  # the spread stays
    assert (ask.output, ask.output_mean, ask.burst) == (13, 28, 13)
    assert (ask.weights, ask.cache, ask.engine, ask.tp, ask.replicas) == ("", "", "", 0, 0)
    assert (ask.ttft, ask.speed, ask.percentile, ask.headroom) == (1, 25, 95, 20)
    assert ask.usd == {"l4": 1}


def test_the_defaults_are_those_of_an_empty_link():
    assert query.decode("") == (Ask(), ())
    chat = workloads()["chat"]
    own = Ask().the_workload
    assert own.prompt == Lengths(chat.prompt, chat.prompt_p95, chat.prompt_mean)
    assert own.output == Lengths(chat.output, chat.output_p95, chat.output_mean)


def test_a_ranked_row_opens_by_itself():
    found = answer(Ask(model="llama-3.1-70b"))
    row = report.as_dict(found)["ranked"][3]
    ask, notices = query.decode(row["link"])
    assert notices == ()
    assert ask.one
    alone = answer(ask)
    assert alone.sizing.scenario == found.ranked.scenario(3) == named(ask)
    assert alone.sizing.devices == row["devices"]
    assert narrowed(found.ask, alone.sizing.scenario) == ask


def test_the_plan_of_the_best_fits():
    scenario, notices = decode(report.as_dict(answer(Ask()))["plan_link"])
    assert notices == ()
    assert evaluate(scenario).fits


def test_the_report_has_what_the_description_says():
    described = openapi.schema()["components"]["schemas"]["Sizing"]
    assert set(described["required"]) == set(report.as_dict(answer(Ask())))
    listed = openapi.schema()["paths"]["/api/size"]["get"]["parameters"]
    assert {each["name"] for each in listed} == {"v", *query.PARAMETERS}
    assert report.as_dict(answer(Ask()))["app_version"] == __version__


def test_nothing_that_keeps_says_why():
    title, detail = verdict(answer(replace(Ask(), ttft=0.01, speed=1000)))
    assert title == "Nothing here keeps the promise."
    assert re.search(r"Of [\d,]+ deployments, .*first token", detail)


def test_one_s_own_device_costs_by_its_years_and_power():
    found = answer(query.decode(SOME[5])[0])
    assert found.usd_each == pytest.approx(3000 / (3 * 8766) + 0.072 * 0.3)
    assert found.price is None
    assert found.usd_range is None


def test_a_million_tokens_cost_what_an_hour_makes():
    found = answer(Ask(model="llama-3.1-70b"))
    own = found.ask.the_workload
    tokens = found.sizing.rate * 3600 * (own.prompt.mean + own.written.mean)
    assert found.usd_per_million_tokens == pytest.approx(found.usd / tokens * 1e6)
    assert found.usd_per_million_output > found.usd_per_million_tokens


def test_counts_in_words():
    assert [counted(count, "replica") for count in (1, 2, 12)] == [
        "One replica",
        "Two replicas",
        "12 replicas",
    ]


def test_every_workload_says_where_it_is_from():
    for own in workloads().values():
        assert isinstance(own, Preset)
        assert own.kind in ("measured", "assumed")
        assert own.source
        ask, notices = query.decode(f"workload={own.id}")
        assert notices == ()
        assert ask.the_workload.prompt.mean == pytest.approx(own.prompt_mean)
        assert ask.the_workload.written.mean == pytest.approx(own.output_mean)
