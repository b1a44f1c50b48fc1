"""The guided path: 50 minutes; each stop opens with its question and keeps its answer."""

from urllib.parse import parse_qsl, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from planner.lesson import path
from planner.lesson.path import PLAN
from tests import scenes
from tests.browser import ROOT
from tests.test_learn import metrics, opened

STOPS = path.stops()
ROW = {"page": "why", "state": "steps=3&width=4", "ask": ["ratio"], "say": "How many?",
       "tell": "So many.", "minutes": 3}  # fmt: skip
named = pytest.mark.parametrize("stop", STOPS, ids=lambda stop: f"{stop.number}-{stop.page}")


def come_to(stop, more=""):
    link = f"{stop.query}&{urlencode(stop.question.parameters())}{more}"
    if stop.page != PLAN:
        return opened(stop.page, link)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in parse_qsl(link):
        app.query_params[name] = value
    return app.run()


def test_the_path_fills_a_class():
    assert sum(stop.minutes for stop in STOPS) == 50
    assert 18 <= len(STOPS) <= 22


@named
def test_a_stop_opens_with_its_question_and_its_place(stop):
    page = come_to(stop)
    assert not page.exception
    assert any(text.value == stop.say for text in page.text)
    shown = [each.proto.body for each in page.get("html")]
    assert any(f"<b>{stop.number} of {len(STOPS)}</b>" in text for text in shown)
    if stop.page != PLAN:
        assert list(metrics(page).values()).count("?") >= len(stop.ask)
    if stop.ask:
        assert stop.tell not in [each.value for each in page.markdown]


@named
def test_what_is_told_comes_with_the_reveal(stop):
    page = come_to(stop, "&present=1")
    page.button(key=f"reveal-{stop.page}").click().run()
    assert stop.tell in [each.value for each in page.markdown]
    figures = scenes.figures(page) if stop.page == PLAN else metrics(page)
    assert "?" not in figures.values()


@named
def test_the_next_stop_is_a_button_away(stop):
    page = come_to(stop)
    forward = next(each for each in page.button if each.label == "Next")
    if stop.number == len(STOPS):
        assert forward.disabled
        return
    forward.click().run()
    assert not page.exception
    assert any(text.value == STOPS[stop.number].say for text in page.text)


def test_everybody_has_other_numbers_at_the_last_stop():
    seeds = {come_to(STOPS[-1]).session_state["learn-check"]["seed"] for _ in range(3)}
    assert len(seeds) == 3
    before = come_to(STOPS[-2])
    next(each for each in before.button if each.label == "Next").click().run()
    assert before.session_state["learn-check"]["seed"] not in seeds


@pytest.mark.parametrize(
    ("change", "says"),
    [({"page": "nowhere"}, "no page"), ({"state": "steps=x"}, "stop 4"),
     ({"ask": ["x"]}, "ask for"), ({"say": "x" * 141}, "140"),
     ({"say": ""}, "one line"), ({"minutes": 0}, "a minute"),
     ({"minutes": "3"}, "wrong kind"), ({"more": 1}, "more")],
)  # fmt: skip
def test_a_bad_row_is_named(change, says):
    with pytest.raises(ValueError, match=says) as problem:
        path.build({**ROW, **change}, 4)
    assert "stop 4" in str(problem.value)
