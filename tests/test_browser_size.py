"""The Size page in a real browser: a question by hand, its link in another session, and a phone."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from planner import encode
from planner.sizing import query
from planner.sizing.answer import answer, verdict
from planner.sizing.steady import deployed
from tests.browser import idle

DRAWN = ".st-key-chart-tipping svg.marks"
pytestmark = pytest.mark.browser


def shown_title(ask):
    return verdict(answer(ask))[0]


def test_a_question_by_hand_and_its_link(browse):
    page = browse("size", DRAWN)
    expect(page.locator("h1")).to_contain_text(shown_title(query.decode("")[0]))
    users = page.locator(".st-key-size-users input")
    users.fill("20000")
    users.press("Enter")
    idle(page, DRAWN)
    asked, notices = query.decode("users=20000")
    assert notices == ()
    expect(page.locator("h1")).to_contain_text(shown_title(asked))
    page.wait_for_url(f"**?{query.encode(asked)}")
    other = browse(f"size?{urlsplit(page.url).query}", DRAWN)
    expect(other.locator("h1")).to_contain_text(shown_title(asked))
    other.set_viewport_size({"width": 390, "height": 844})
    other.emulate_media(color_scheme="dark")
    assert other.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_best_opens_in_the_plan(browse):
    page = browse("size?model=llama-3.1-70b", DRAWN)
    page.get_by_role("button", name="Open in Plan").click()
    best = answer(query.decode("model=llama-3.1-70b")[0]).sizing
    page.wait_for_url(f"**?{encode(deployed(best))}")
    assert urlsplit(page.url).path == "/"
