"""A question as shared: its answer is nowhere before there is a guess, in nothing that is sent.

Everything that the browser gets is searched: each message of the page as it stands, on each board
of a presenter's screen too, and over HTTP what the link itself can be asked for.
"""

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from planner import evaluate
from planner.inputs.scenario import decode
from planner.lesson import path, states, views
from planner.lesson import plan_questions as plan_page
from planner.lesson.path import PLAN
from planner.web import api, preview, stage
from tests.browser import ROOT
from tests.test_path import come_to

BOARDS = 6  # as many as a page has, and one that none has
ASKED = [stop for stop in path.stops() if stop.ask]
named = pytest.mark.parametrize("stop", ASKED, ids=lambda stop: f"{stop.number}-{stop.page}")


def answers(stop):
    """What the figures asked for say, with their unit: “68.7 GB”, “2.07 times”."""
    if stop.page == PLAN:
        figures = plan_page.asked(evaluate(decode(stop.query)[0]))
    else:
        figures = views.of(stop.page, states.decode(stop.page, stop.query)[0]).figures
    found = [figure for figure in figures if figure.id in stop.ask]
    assert len(found) == len(stop.ask)
    return [with_unit(each) for each in found]


def with_unit(figure):
    return figure.text if figure.unit in figure.text else f"{figure.text} {figure.unit}"


def messages(block):
    """All that is sent of a page, as text: chart data too, whose texts stand in it as they are."""
    for each in block.children.values():
        if hasattr(each, "children"):
            yield from messages(each)
        if (proto := getattr(each, "proto", None)) is not None:
            yield proto.SerializeToString().decode("utf-8", "ignore")


def everything(page):
    return "\n".join(messages(page._tree))


def told(answer, text):
    return re.search(rf"(?<![\d.,]){re.escape(answer)}(?!\d)", text)


@named
@pytest.mark.parametrize("board", range(BOARDS + 1))
def test_no_message_of_the_page_has_the_answer(stop, board):
    page = come_to(stop, f"&present=1&board={board}" if board else "")
    assert not page.exception
    for answer in answers(stop):
        assert not told(answer, everything(page)), answer


@named
def test_the_answer_would_be_found(stop):
    page = come_to(stop, "&present=1")
    page.button(key=f"reveal-{stop.page}").click().run()
    # A whole number of pairs stands alone under its unit, where it is no text that can be found.
    alone = [metric.value for metric in page.metric]
    for answer in answers(stop):
        assert told(answer, everything(page)) or answer.split()[0] in alone, answer


@pytest.fixture(scope="module")
def client():
    app = Starlette(routes=[*api.routes(), *stage.routes()])
    with TestClient(app) as made:
        yield made


@pytest.mark.parametrize(
    "address", ["api/plan", "api/plan/card.png", "api/plan/memory.svg", "film", "api/size"]
)
def test_nothing_over_http_answers_a_link_that_asks(client, address):
    stop = next(each for each in ASKED if each.page == PLAN)
    more = "&slider=concurrency&part=0" if address == "film" else ""
    reply = client.get(f"/{address}?{stop.query}&ask=fits{more}")
    assert reply.status_code == 400
    assert "fit" not in reply.text.replace("ask=fits", "").lower()


@named
def test_the_preview_of_the_link_asks_and_does_not_answer(stop):
    page = "" if stop.page == PLAN else stop.page
    made = preview.of(page, f"{stop.query}&ask={','.join(stop.ask)}")
    for answer in answers(stop):
        assert not told(answer, f"{made.title} {made.description}")
    assert not made.picture


def test_a_plan_s_page_reads_the_question_of_its_own_link_only():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    page.query_params["ask"] = "fits"
    assert "Fits" not in everything(page.run()).replace("Fits or not", "")
