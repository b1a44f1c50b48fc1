"""Back undoes the last settled change, Forward makes it again; however fast they are pressed."""

import pytest

from planner import Scenario, decode
from tests.browser import idle
from tests.test_browser import field, figures, query_of, shown, slider

pytestmark = pytest.mark.browser

STEP_MS = 60  # as fast as a key is pressed


def steps(page, *moves):
    """Go back (-1) and forward (1), fast."""
    for move in moves:
        page.evaluate(f"history.go({move})")
        page.wait_for_timeout(STEP_MS)
    idle(page)


def check(page, scenario):
    """The page shows a scenario all over."""
    assert decode(query_of(page)) == (scenario, ())
    assert figures(page) == shown(scenario)
    for name in ("context", "concurrency"):
        assert field(page, name).input_value() == f"{getattr(scenario, name):,}"


def test_back_undoes_a_settled_change_and_forward_redoes_it(browse):
    page = browse("?", viewport={"width": 1440, "height": 1000})
    start = page.evaluate("history.length")
    slider(page, "context").focus()
    for _ in range(8):  # stops of one drag
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(120)
    idle(page)
    for requests in ("20", "30"):
        page.wait_for_timeout(1100)
        field(page, "concurrency").fill(requests)
        field(page, "concurrency").press("Enter")
        idle(page)
    assert page.evaluate("history.length") == start + 3
    steps(page, -1)
    check(page, Scenario(context=16_384, concurrency=20))
    steps(page, -1, -1, 1, -1, 1, 1, 1)
    check(page, Scenario(context=16_384, concurrency=30))
    steps(page, -1, -1, -1)
    check(page, Scenario())
    page.evaluate("history.go(2)")
    idle(page)
    check(page, Scenario(context=16_384, concurrency=20))
    # Over to another page and back: the planner, then its change before.
    page.get_by_role("link", name="Compare", exact=True).click()
    page.wait_for_url("**/compare**")
    idle(page, ".stHeading h1")
    steps(page, -1, -1)
    check(page, Scenario(context=16_384))
