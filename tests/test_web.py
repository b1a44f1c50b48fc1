"""A public address: what each answer carries, what stays closed, what an operator may open."""

import asyncio
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import httpx2
import pytest
from packaging.requirements import Requirement
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from planner.web import api
from planner.web.guard import METRICS, Guard
from planner.web.options import Options, read
from tests.browser import ROOT

FIELD = {"PLANNER_ADDRESS": "https://plan.example/below", "PLANNER_EMBED": "https://a.example"}


def guarded(options=Options(), base="below"):  # noqa: B008  (frozen)
    everything = Route("/{path:path}", lambda request: PlainTextResponse(request.url.path))
    routes = [*api.routes(base, options), everything]
    return TestClient(Guard(Starlette(routes=routes), options, base))


def test_every_answer_says_what_a_browser_may_do():
    for path in ("/below/", "/below/api/plan", "/below/api/none", "/elsewhere"):
        headers = guarded().get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in headers["content-security-policy"]
        assert "object-src 'none'" in headers["content-security-policy"]


def test_sites_that_are_named_may_frame_it():
    headers = guarded(Options(embed=("https://a.example",))).get("/below/").headers
    assert headers["content-security-policy"].endswith("frame-ancestors 'self' https://a.example")
    assert "x-frame-options" not in headers


def test_the_metrics_are_closed_unless_opened():
    for path in (METRICS, f"/below{METRICS}", f"/below{METRICS}/"):
        assert guarded().get(path).status_code == 404
        assert guarded(Options(metrics=True)).get(path).text == path


@pytest.mark.parametrize("path", ["/API/plan", "/Api/plan", "/api/plan"])
def test_however_it_is_written_it_is_the_api(path):
    assert guarded().get(f"/below{path}").json()["max_concurrency"] == 61
    assert guarded(base="").get(path).json()["max_concurrency"] == 61


def test_the_api_without_a_name_answers_as_an_api():
    for path in ("/below/api", "/below/api/", "/below/API"):
        answered = guarded().get(path)
        assert answered.status_code == 404
        assert answered.json()["problems"][0]["problem"].startswith("There are /api/plan")
    assert guarded().get("/below/apis").text == "/below/apis"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/plan", "GET, HEAD, POST"),
        ("OPTIONS", "/api/plan", "GET, HEAD, POST"),
        ("POST", "/api/compare", "GET, HEAD"),
        ("PUT", "/api/schema", "GET, HEAD"),
        ("POST", "/api/plan/memory.png", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(method, path, allowed):
    answered = guarded().request(method, f"/below{path}")
    assert answered.status_code == 405
    assert answered.headers["allow"] == allowed
    assert answered.json()["problems"][0]["problem"].startswith(f"{method} is not possible here")


def test_a_burst_is_refused_at_once_and_leaves_nothing_behind():
    line, hold, done = api.Line(waiting=24), threading.Event(), []

    def work():
        hold.wait(10)
        done.append(1)
        return JSONResponse({})

    async def asked(request):
        return await line.answered(request, work)

    async def burst():
        app = Starlette(routes=[Route("/", asked)])
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            waiting = [asyncio.create_task(client.get("/")) for _ in range(200)]
            await asyncio.sleep(0.3)
            refused = sum(task.done() for task in waiting)
            hold.set()
            codes = [(await task).status_code for task in waiting]
            return refused, codes, (await client.get("/")).status_code

    refused, codes, after = asyncio.run(burst())
    assert refused == codes.count(503) == 200 - 26
    assert codes.count(200) == 26
    assert (after, line.inside, len(done)) == (200, 0, 27)


def test_whoever_has_gone_is_not_served():
    line, done = api.Line(waiting=3), []

    class Gone:
        async def is_disconnected(self):
            return True

    async def left():
        return await line.answered(Gone(), done.append, 1)

    assert asyncio.run(left()).status_code == 400
    assert (done, line.inside) == ([], 0)


def test_pictures_carry_the_address_that_is_named():
    named = guarded(Options("https://plan.example/below/"))
    drawn = named.get("/below/api/plan/memory.svg", headers={"host": "evil.example"})
    assert "https://plan.example/below/?" in drawn.text
    assert "evil" not in drawn.text
    unnamed = guarded().get("/below/api/plan/memory.svg", headers={"host": "evil.example"})
    assert "evil" not in unnamed.text
    assert "/below/?" in unnamed.text
    assert unnamed.headers["vary"] == "host"


def test_options_are_read_from_the_environment():
    assert read({}) == Options()
    found = read({**FIELD, "PLANNER_METRICS": "1", "PLANNER_HUB_TOKEN": "0"})
    assert found == Options("https://plan.example/below/", ("https://a.example",), True, False)
    assert read({"PLANNER_EMBED": "*"}).embed == ("*",)


@pytest.mark.parametrize(
    "given",
    [
        {"PLANNER_ADDRESS": "plan.example"},
        {"PLANNER_ADDRESS": "https://plan.example/?a=1"},
        {"PLANNER_ADDRESS": "https://[::1/"},
        {"PLANNER_ADDRESS": "https://plan.example:x/"},
        {"PLANNER_ADDRESS": 'https://plan.example/"onload'},
        {"PLANNER_EMBED": "https://a.example/page"},
        {"PLANNER_EMBED": "a.example; script-src *"},
        {"PLANNER_METRICS": "yes"},
        {"PLANNER_HUB_TOKEN": "true"},
    ],
)
def test_a_bad_option_is_named(given):
    with pytest.raises(ValueError, match=f"^{next(iter(given))}: “.*” is n"):
        read(given)


def test_the_running_app_is_guarded(app):
    with urllib.request.urlopen(app) as answered:
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'self'" in answered.headers["content-security-policy"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{app}{METRICS}")
    assert refused.value.code == 404


def test_a_bad_option_ends_the_start_with_its_sentence():
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true"]
    env = {**os.environ, "PLANNER_METRICS": "perhaps"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "PLANNER_METRICS: “perhaps” is neither 1 nor 0." in done.stdout + done.stderr


def test_the_lock_holds_every_requirement_in_its_range():
    lock = (ROOT / ".deploy" / "requirements.lock").read_text()
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock, re.MULTILINE))
    asked = [line.partition("#")[0] for line in (ROOT / "requirements.txt").read_text().split("\n")]
    asked = [Requirement(text) for text in asked if text.strip()]
    assert len(asked) > 5
    for each in asked:
        assert pinned[each.name.replace("_", "-")] in each.specifier, each
    assert lock.count("--hash=sha256:") > len(pinned) > 30
