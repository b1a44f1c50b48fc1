"""Link, Python, terminal, HTTP and page are ways to one plan: the same numbers, to the digit."""

import asyncio
import json
import math
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from planner import Scenario, decode, describe, encode, evaluate
from planner.__main__ import main
from planner.compare.comparison import decode as decode_comparison
from planner.compare.comparison import encode as encode_comparison
from planner.inputs.scenario import as_link
from planner.reports import comparison_report, images, plan_html, plan_report
from planner.web import api
from tests.browser import ROOT
from tests.scenes import figures, shown
from tests.test_comparison import BAD_LINKS as BAD_COMPARISONS
from tests.test_comparison import comparisons as some_comparisons
from tests.test_page import opened
from tests.test_plan import scenarios
from tests.test_scenario import BAD_LINKS

SOME = [
    Scenario(),
    Scenario(model="lesson-7b-mha", memory=40, engine="vllm"),
    Scenario(model="gemma-3-27b", device="h100-sxm", engine="sglang", context=32_768, output=500),
    Scenario(
        model=Scenario(model="llama-3.1-8b").the_model.counterpart().id, engine="llama.cpp-cuda"
    ),
]


@pytest.fixture(scope="module")
def client():
    with TestClient(Starlette(routes=api.routes())) as started:
        yield started


def of(scenario):
    return plan_report.as_dict(evaluate(scenario))


def as_json(scenario):
    """The scenario as JSON whose numbers are numbers."""
    values = {field.name: getattr(scenario, field.name) for field in fields(Scenario)}
    return {name: value for name, value in values.items() if name in as_link(scenario)}


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(scenarios(), st.sampled_from(["GET", "POST", "terminal"]))
def test_a_thousand_scenarios_come_out_the_same_whichever_way(client, scenario, way):
    found, query = of(scenario), encode(scenario)
    assert decode(query) == (scenario, ())
    if way == "terminal":
        out = StringIO()
        with redirect_stdout(out):
            status = main([f"?{query}", "--json"])
        assert json.loads(out.getvalue()) == found
        assert status == (0 if found["fits"] else 1)
    elif way == "GET":
        assert client.get(f"/api/plan?{query}").json() == found
    else:
        assert client.post("/api/plan", json=as_json(scenario)).json() == found


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(some_comparisons.filter(lambda each: each.variants), st.sampled_from(["GET", "terminal"]))
def test_comparisons_come_out_the_same_whichever_way(client, comparison, way):
    found, query = comparison_report.as_dict(comparison), encode_comparison(comparison)
    if way == "GET":
        assert client.get(f"/api/compare?{query}").json() == found
    else:
        out = StringIO()
        with redirect_stdout(out):
            status = main([f"http://localhost:8501/compare?{query}", "--json"])
        assert json.loads(out.getvalue()) == found
        assert status == (0 if found["fits"] else 1)


@pytest.mark.parametrize("scenario", SOME, ids=lambda scenario: scenario.model[:12])
def test_the_running_app_the_program_and_the_page_agree(app, scenario):
    found, query = of(scenario), encode(scenario)
    with urllib.request.urlopen(f"{app}/api/plan?{query}&present=1") as response:
        assert json.load(response) == found
    program = [sys.executable, "-m", "planner", f"{app}/?{query}", "--json"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert json.loads(done.stdout) == found
    assert done.returncode == (0 if found["fits"] else 1)
    shows(opened(query), found)


@pytest.fixture(scope="module")
def page():
    return opened()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_the_page_shows_the_same(page, scenario):
    page.query_params.clear()
    page.query_params.update(parse_qsl(encode(scenario)))
    page.session_state["at"] = ""  # as if the page were come to anew
    page.run()
    assert not page.exception
    shows(page, of(scenario))


def first_token(found):
    """Under load where that is known: near saturation its range, beyond it without end."""
    low, high = (found[f"ttft_loaded_calibrated_{end}_s"] for end in ("low", "high"))
    if low is None:
        ending = "_s" if found["fits_calibrated"] is None else "_calibrated_s"
        return describe.duration(found[f"ttft{ending}"])
    if found["load_calibrated"] == "saturated":
        return "unbounded"
    if found["load_calibrated"] == "near saturation":
        return f"{describe.duration(low)} – {describe.duration(high)}"
    return describe.duration(found["ttft_loaded_calibrated_s"])


def shows(page, found):
    """The page's answer and figures are those of a report, as they are written."""
    ending = "_s" if found["fits_calibrated"] is None else "_calibrated_s"
    assert shown(page)["title"] == found["verdict"]
    served = ending.removesuffix("_s")
    speed, most = (
        found[f"{key}{served}"] for key in ("tokens_per_s_per_request", "max_concurrency")
    )
    assert figures(page) == {
        "Speed per user": describe.rate(speed),
        "Max concurrent requests": describe.whole(math.inf if most is None else most),
        "Weights": describe.data(found["weights_bytes"]),
        "Cache": describe.data(found["cache_bytes"]),
        "Cache per token": describe.data(found["cache_bytes_per_token"]),
        "Time per output token": describe.duration(found[f"decode_step{ending}"]),
        "Time to first token": first_token(found),
        "Throughput (tokens/s)": describe.significant(
            found["tokens_per_s_total" + ending.removesuffix("_s")]
        ),
    }


@pytest.mark.parametrize("query", [query for query, _, _ in BAD_LINKS], ids=lambda q: q[:40])
def test_bad_input_is_refused_with_every_problem_named(client, query):
    answered = client.get(f"/api/plan?{query}")
    assert answered.status_code == 400
    problems = answered.json()["problems"]
    _, notices = decode(query)
    assert len(problems) >= len(notices) >= 1
    assert {each.parameter for each in notices} <= {each["parameter"] for each in problems}
    assert not any("used instead" in each["problem"] for each in problems)


@pytest.mark.parametrize("query", ["", *[query for query, _, _ in BAD_COMPARISONS]])
def test_a_bad_comparison_is_refused_with_every_problem_named(client, query):
    for path in ("compare", "compare/card.png"):
        answered = client.get(f"/api/{path}?{query}")
        assert answered.status_code == 400
        named = {each["parameter"] for each in answered.json()["problems"]}
        assert {each.parameter for each in decode_comparison(query)[1]} <= named


def without_clips(svg):
    """An SVG without the names of its clips, which are counted up from one to the next."""
    return re.sub(r"clip\d+", "clip", svg)


def test_charts_are_pictures_over_http(client):
    query = encode(SOME[2])
    _, pictures, origin = plan_html.pictured(SOME[2], "/")
    for picture in pictures:
        answered = client.get(f"/api/plan/{picture.id}.svg?{query}")
        assert answered.headers["content-type"] == "image/svg+xml"
        spec = images.framed(picture, origin)
        assert without_clips(answered.text) == without_clips(images.svg(spec, origin.signed))
    assert client.get(f"/api/plan/card.png?{query}").content.startswith(b"\x89PNG")
    assert client.get("/api/compare/overlaid_memory.png?a=").content.startswith(b"\x89PNG")
    for path, status in (
        ("plan/memory.png", 404),  # with an engine the chart of memory is another
        ("plan/memory.gif", 404),
        ("plans/card.png", 404),
        ("compare/card.png", 400),
        ("plan/memory", 404),
        ("plans", 404),
        ("plan/", 404),
    ):
        answered = client.get(f"/api/{path}?{query}")
        assert answered.status_code == status, path
        assert answered.json()["problems"]
    assert client.get("/api/plan/card.png?context=1").status_code == 400


def test_an_answer_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(api, "ANSWER_S", 0.05)
    monkeypatch.setattr(api, "evaluate", lambda found: time.sleep(0.5) or evaluate(found))
    with TestClient(Starlette(routes=api.routes())) as client:
        answered = client.get("/api/plan")
    assert answered.status_code == 504
    assert answered.json()["problems"]


def test_below_a_base_path():
    with TestClient(Starlette(routes=api.routes("/planner/"))) as client:
        assert client.get("/planner/api/plan").json() == of(Scenario())
        assert client.get("/api/plan").status_code == 404


def test_a_body_is_bounded_and_must_be_an_object(client):
    for body, status in (
        (b"x" * (api.MAX_BODY + 1), 413),
        (b"[" * 60_000, 400),
        (b"", 400),
        (b"[]", 400),
        (b"\xff\x00", 400),
        (b'{"context": 4096, "context": 8192}', 400),
        (b'{"context": 4096}', 200),
    ):
        answered = client.post("/api/plan", content=body)
        assert answered.status_code == status, body[:20]
        assert status == 200 or answered.json()["problems"]
    assert client.post("/api/plan?context=4096", json={}).status_code == 400
    assert client.put("/api/plan").status_code == 405
    assert client.get("/api/plan?" + urlencode({"model": "x" * 20_000})).status_code == 400


def test_a_slow_body_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(api, "BODY_S", 0.05)
    said = []

    async def receive():
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message):
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/plan",
        "query_string": b"",
        "headers": [],
    }
    app = Starlette(routes=api.routes())
    # In a thread of its own: the browser tests leave an event loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    assert said[0]["status"] == 408


def test_a_name_from_outside_is_json_and_nothing_else(client):
    name = "m1~32q32k8d128~p8030261248~~3cscript~3ealert~281~29~3c~2fscript~3e"
    answered = client.get("/api/plan", params={"model": name})
    assert answered.json()["model_name"] == "<script>alert(1)</script>"
    assert answered.headers["content-type"] == "application/json"
    refused = client.get("/api/plan", params={"model": "<script>alert(1)</script>"})
    assert refused.headers["content-type"] == "application/json"


def test_the_running_app_refuses_too(app):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{app}/api/plan?context=x&concurrency=0")
    assert refused.value.code == 400
    problems = json.load(refused.value)["problems"]
    assert [each["parameter"] for each in problems] == ["concurrency", "context"]


def test_the_description_holds_what_is_answered(client):
    described = client.get("/api/schema").json()
    assert described["openapi"].startswith("3.1")
    held = described["components"]["schemas"]["Report"]["properties"]
    for scenario in SOME:
        found = of(scenario)
        assert held.keys() == found.keys()
    names = {each["name"] for each in described["paths"]["/api/plan"]["get"]["parameters"]}
    assert names == {"v"} | {field.name for field in fields(Scenario)}
