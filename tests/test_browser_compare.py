"""Comparing in a real browser: pin, change, compare, take the link along, find the same."""

import urllib.parse

import pytest
from playwright.sync_api import expect

from planner import Scenario, encode
from planner.compare.comparison import Comparison, Variant
from planner.compare.comparison import encode as encode_comparison
from tests.browser import idle
from tests.test_browser_learn import serious_findings
from tests.test_differences import FOUR

pytestmark = pytest.mark.browser

COMPARED = ".st-key-chart-overlaid_latency svg.marks"
CHARTS = ("overlaid_memory", "overlaid_latency")


def seen(page):
    """Headline, every cell of the tables, and what each chart says of itself."""
    said = [page.locator(f".st-key-chart-{name} [data-testid=stHtml] p") for name in CHARTS]
    return (
        page.locator("h1").inner_text(),
        page.locator("table.compared td, table.compared th").all_inner_texts(),
        [each.inner_text() for each in said],
    )


def query_of(page):
    return urllib.parse.urlsplit(page.url).query


def test_pin_change_compare_and_take_the_link_along(app, chromium):
    errors = []

    def visit():
        context = chromium.new_context(
            viewport={"width": 1440, "height": 1000},
            permissions=["clipboard-read", "clipboard-write"],
        )
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    page = visit()
    page.goto(app)
    idle(page)
    page.get_by_role("button", name="Pin", exact=True).click()
    idle(page)
    context = page.locator(".st-key-slider-context input[type=text]")
    context.fill("32,768")
    context.press("Enter")
    idle(page)
    page.get_by_role("link", name="Compare 1 pinned and this one").click()
    idle(page, COMPARED)
    found = Comparison((Variant(Scenario()), Variant(Scenario(context=32_768))))
    assert query_of(page) == encode_comparison(found)
    assert page.locator("h1").inner_text() == "8,192 tokens fits; 32,768 tokens does not."
    name = page.get_by_label("Name of B")
    name.fill("four times the context")
    name.press("Enter")
    idle(page, COMPARED)
    found = found.renamed(1, "four times the context")
    assert query_of(page) == encode_comparison(found)
    there = seen(page)
    assert "B: four times the context" in there[1]
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url

    other = visit()
    other.goto(link)
    idle(other, COMPARED)
    assert other.url == link
    assert seen(other) == there
    other.reload()
    idle(other, COMPARED)
    assert (other.url, seen(other)) == (link, there)

    # One opens in the planner; Back, and the comparison is as it was.
    other.get_by_role("button", name="Open B").click()
    idle(other)
    assert query_of(other).partition("&pins=")[0] == encode(Scenario(context=32_768))
    other.go_back()
    idle(other, COMPARED)
    assert (other.url, seen(other)) == (link, there)
    for each in (page, other):
        each.context.close()
    assert errors == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_four_are_accessible_and_fit_a_phone(app, chromium, scheme, width):
    page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.goto(f"{app}/compare?{encode_comparison(FOUR)}")
    idle(page, COMPARED)
    page.get_by_text("Why does another calculator").click()
    idle(page, COMPARED)
    assert serious_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for box in page.locator("svg.marks").all():
        place = box.bounding_box()
        assert place["x"] + place["width"] <= width
    page.close()
