"""The stage: scenes are the plan's own words and numbers; a film's frames are scenes at rest."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from planner import Scenario, answer, encode, evaluate
from planner.charts import bars
from planner.figures import BY_KEY, headlines
from planner.inputs.scenario import NUMBERS
from planner.stage import scene
from planner.stage.film import STOPS_A_FILM, Films, film
from planner.stage.packed import pack
from planner.stage.stops import STOPS
from planner.web import stage, static
from tests import scenes
from tests.test_plan import scenarios

SERVED = Scenario("llama-3.1-70b", device="h100-sxm", engine="vllm", tp=2, output=300)
SOME = [
    Scenario(),
    Scenario("lesson-7b-mha", memory=20),
    SERVED,
    Scenario("deepseek-v3", device="h200-sxm", tp=4, pp=2, concurrency=64),
    Scenario("deepseek-v3", device="h200-sxm", tp=8, engine="sglang", concurrency=600),
    Scenario("qwen3.5-27b", device="h100-sxm", context=131_072),
    Scenario(set="bandwidth_efficiency:0.7"),
]


def at_rest(scenario):
    """The scene of one plan, as the page sends it."""
    shot = scene.shot(evaluate(scenario))
    return scenes.at(json.loads(json.dumps(pack([scene.scene(shot, scene.pictures(shot))]))), 0)


def plain(value):
    """A scene in which two are equal where they are to the last bit."""
    if isinstance(value, np.ndarray):
        return value.tobytes() if len(value) else []
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def same(scenario, slider, part, places):
    found = json.loads(json.dumps(film(scenario, slider, part)))
    for place in places:
        if place < len(found["stops"]):
            stop = found["stops"][place]
            alone = at_rest(replace(scenario, **{slider: stop}))
            assert plain(scenes.at(found, place)) == plain(alone), (slider, stop)


def parts(slider):
    return math.ceil(len(STOPS[slider]) / STOPS_A_FILM)


@pytest.mark.parametrize("slider", STOPS)
@pytest.mark.parametrize("scenario", SOME, ids=encode)
def test_every_frame_is_the_plan_at_rest(scenario, slider):
    for part in {0, parts(slider) // 2, parts(slider) - 1}:
        same(scenario, slider, part, range(STOPS_A_FILM))


@pytest.mark.parametrize("slider", STOPS)
@settings(max_examples=12)
@given(scenario=scenarios(), data=st.data())
def test_a_frame_of_any_scenario_is_the_plan_at_rest(slider, scenario, data):
    part = data.draw(st.integers(0, parts(slider) - 1))
    places = data.draw(st.lists(st.integers(0, STOPS_A_FILM - 1), min_size=1, max_size=4))
    same(scenario, slider, part, places)


def test_every_stop_is_in_one_film():
    for slider, stops in STOPS.items():
        found = [film(Scenario(), slider, part)["stops"] for part in range(parts(slider))]
        assert [stop for each in found for stop in each] == stops
        spec = NUMBERS[slider]
        assert all(spec.nearest(stop) == stop for stop in stops)


@pytest.mark.parametrize("scenario", SOME, ids=encode)
def test_a_scene_says_what_the_plan_says(scenario):
    evaluation = evaluate(scenario)
    shown = at_rest(scenario)
    assert (shown["title"], shown["detail"].partition(" Running")[0]) == (
        answer.stated(evaluation)[0],
        answer.stated(evaluation)[1],
    )
    known = {each.id: (each.text, each.note) for each in headlines(evaluation)}
    figures = {each["id"]: each for each in [*shown["cards"], *shown["quiet"]]}
    for name, (text, note) in known.items():
        assert (figures[name]["value"], figures[name]["note"]) == (text, note)
    assert figures["most"]["value"] == BY_KEY["max_concurrency"].shown(evaluation)
    assert all(each["at"] is None or 0 <= each["at"] <= 1 for each in figures.values())
    assert (shown["state"] == "not") == (not evaluation.fits) == shown["dim"]
    assert bool(shown["ways"]) <= (not evaluation.fits)


@pytest.mark.parametrize("scenario", SOME, ids=encode)
def test_the_meter_is_the_memory(scenario):
    evaluation = evaluate(scenario)
    needs, limit = bars.memory_parts(evaluation)
    meter = scene.meter(evaluation)
    shares = {each["id"]: each["share"] for each in meter["parts"]}
    whole = max(sum(needs.values()), limit)
    assert sum(shares.values()) == pytest.approx(sum(needs.values()) / whole, abs=1e-3)
    assert bool(shares["does-not-fit"]) == (sum(needs.values()) > limit)
    assert meter["end"] == pytest.approx(limit / whole, abs=1e-4)


@pytest.mark.parametrize("scenario", SOME, ids=encode)
def test_each_way_out_leads_to_a_plan_that_fits(scenario):
    tight = replace(scenario, concurrency=4096, context=131_072)
    for way in scene.scene(scene.shot(evaluate(tight)), [])["ways"]:
        changed = replace(tight, **way["changes"])
        assert evaluate(changed).fits, way


def test_what_is_hidden_is_in_no_scene():
    evaluation = evaluate(SERVED)
    shot = scene.shot(evaluation)
    pictures = list(scene.pictures(shot))
    for figure in headlines(evaluation):
        hidden = frozenset({figure.id, *figure.also})
        found = scene.scene(shot, [], hidden)
        rest = scene.at_rest(evaluation, pictures, hidden, {each.id for each in pictures})
        assert answer.stated(evaluation)[0] not in json.dumps(found)
        assert found["meter"] is None
        shown = {each["id"]: each for each in [*found["cards"], *found["quiet"]]}
        assert {shown[name]["value"] for name in hidden} == {"?"}
        assert hidden.isdisjoint(rest["help"])
        assert rest["alt"] == rest["sentences"] == {}


# --- over HTTP ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    return TestClient(Starlette(routes=stage.routes()))


def test_a_film_is_one_wherever_its_slider_stands(client):
    asked = [f"/film?{encode(Scenario(context=n))}&slider=context&part=3" for n in (8192, 300)]
    here, there = (client.get(each) for each in asked)
    assert here.status_code == 200
    assert here.json() == there.json() == json.loads(json.dumps(film(Scenario(), "context", 3)))
    assert int(here.headers["content-length"]) < 300_000


@pytest.mark.parametrize(
    "query",
    [
        "slider=context&part=3&ask=step",
        "slider=context&part=3&context=many",
        "slider=context&part=99",
        "slider=context&part=-1",
        "slider=context&part=x",
        "slider=context",
        "slider=nothing&part=0",
        "part=0",
    ],
)
def test_a_film_that_cannot_be_is_refused_in_a_sentence(client, query):
    answered = client.get(f"/film?{query}")
    assert answered.status_code == 400
    assert answered.text
    assert "content-encoding" not in answered.headers


def test_films_are_kept_and_the_least_asked_for_goes_first(monkeypatch):
    made = []
    monkeypatch.setattr("planner.stage.film.film", lambda *key: made.append(key) or {})
    films = Films(most=2)
    for part in (0, 1, 0, 2, 0, 1):
        films.of(Scenario(context=1000 + part), "context", part)
    assert [part for _, _, part in made] == [0, 1, 2, 1]


def test_scripts_are_kept_by_the_browser(client):
    for address in (static.address("stage"), static.address("transport", "player")):
        answered = client.get(f"/{address}")
        assert answered.status_code == 200
        assert "immutable" in answered.headers["cache-control"]
        assert "export default function" in answered.text
        assert "export function mount" in answered.text
        raw = client.get(f"/{address}", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in raw.headers
        assert raw.content == answered.content


@pytest.mark.parametrize(
    "name", ["stage-000000000000.js", "..%2Fapi.py", "nothing-000000000000.js", "stage.js"]
)
def test_no_other_file_is_sent(client, name):
    assert client.get(f"/files/{name}").status_code == 404
