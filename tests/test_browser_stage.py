"""The stage in a browser: it follows the thumb from a film, and rests on the server's answer."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from planner import Scenario, describe, encode, evaluate
from planner.stage import scene
from planner.stage.stops import STOPS
from tests.browser import idle
from tests.test_browser import field, figures, query_of, shown, slider

pytestmark = pytest.mark.browser

# A thumb is put on a stop, and what stands on the stage is read before the server can know of it.
MOVE = """([slider, at]) => {
  const parts = [...document.querySelectorAll(`.st-key-slider-${slider} *`)]
  const host = parts.find((each) => each.shadowRoot)
  const thumb = host.shadowRoot.querySelector('input[type=range]')
  thumb.value = at
  thumb.dispatchEvent(new Event('input', { bubbles: true }))
  const words = (node) => node.textContent
  return {
    title: words(document.querySelector('.stage h1')),
    told: words(document.querySelector('.stage .told')),
    figures: Object.fromEntries([...document.querySelectorAll('.stage .figure')].map(
      (each) => [words(each.querySelector('.label')), words(each.querySelector('.value'))])),
  }
}"""
FILM = "**/film?*"


@pytest.fixture
def open_page(browse):
    """Open a query on the Plan page."""
    wide = {"viewport": {"width": 1440, "height": 1000}}
    return lambda query="", **options: browse(f"?{query}", **wide, **options)


def with_film(page, name):
    """Bring the pointer to a slider, and wait until its film is there."""
    with page.expect_response(lambda answer: "/film?" in answer.url and answer.ok) as found:
        slider(page, name).hover()
    found.value.finished()
    page.wait_for_timeout(500)  # a busy machine takes its time to read it


@pytest.mark.parametrize("name", ["concurrency", "context", "bandwidth", "memory"])
def test_the_stage_shows_a_stop_before_the_server_knows_of_it(open_page, name):
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm", concurrency=64)
    page = open_page(encode(scenario), drawn=".st-key-chart-engine_first svg.marks")
    if name == "memory":
        page.locator(".st-key-memory-box summary").click()
    with_film(page, name)
    at = int(slider(page, name).input_value()) + 1
    before = page.locator(".stage .told").inner_text()
    seen = page.evaluate(MOVE, [name, at])
    moved = replace(scenario, **{name: STOPS[name][at]})
    assert {"answer": seen["title"], **seen["figures"]} == shown(moved)
    assert seen["told"] == before  # a screen reader hears of it at rest
    bold = describe.duration(evaluate(moved).tpot_s.value)
    expect(page.locator(".st-key-chart-engine_latency svg.marks")).to_contain_text(bold)
    idle(page, ".st-key-chart-engine_first svg.marks")
    assert query_of(page) == encode(moved)
    assert figures(page) == shown(moved)
    expect(page.locator(".stage .told")).to_contain_text(shown(moved)["answer"])


def test_a_drag_is_one_change_for_the_server(open_page):
    page = open_page()
    with_film(page, "context")
    addresses = []
    page.on("request", lambda request: addresses.append(request.url))
    written = page.evaluate_handle(
        "() => { window.written = -history.length; const old = history.replaceState.bind(history);"
        " history.replaceState = (...given) => { window.written += 1; old(...given) } }"
    )
    slider(page, "context").focus()
    for _ in range(7):
        page.keyboard.press("ArrowRight", delay=20)
    idle(page)
    written.dispose()
    assert page.evaluate("window.written + history.length") == 1
    assert figures(page) == shown(Scenario(context=int(STOPS["context"][55])))


def test_past_the_end_of_the_films_the_server_answers(open_page):
    page = open_page()
    with_film(page, "context")
    page.wait_for_timeout(1500)
    page.route(FILM, lambda route: route.abort())
    slider(page, "context").focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight", delay=15)
    idle(page)
    assert figures(page) == shown(Scenario(context=int(STOPS["context"][88])))


def test_a_thumb_that_is_put_back_shows_the_plan_at_rest(open_page):
    page = open_page()
    with_film(page, "context")
    slider(page, "context").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    idle(page)
    assert figures(page) == shown(Scenario())
    expect(page.locator(".st-key-chart-memory .alt")).to_contain_text("31.2 GB of 80.0 GB")
    field(page, "context").fill("9000")
    field(page, "context").press("Enter")
    idle(page)
    assert figures(page) == shown(Scenario(context=9000))


def test_without_films_the_page_is_as_it_was(open_page):
    page = open_page()
    page.route(FILM, lambda route: route.abort())
    slider(page, "context").focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    expect(field(page, "context")).to_have_value("16,384")
    idle(page)
    assert query_of(page) == encode(Scenario(context=16_384))
    assert figures(page) == shown(Scenario(context=16_384))


def test_where_something_is_hidden_there_is_no_film(open_page):
    page = open_page("ask=step", drawn=".st-key-chart-memory, .st-key-chart-fit")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    slider(page, "context").hover()
    slider(page, "context").focus()
    page.keyboard.press("ArrowRight")
    idle(page, ".stage h1")
    assert not [each for each in asked if "/film" in each]
    assert figures(page)["Time per output token"] == figures(page)["Speed per user"] == "?"
    assert page.locator("h1").inner_text() == "What do you expect?"


def test_a_way_out_is_a_button(open_page):
    tight = Scenario(concurrency=100)
    page = open_page(encode(tight))
    ways = scene.scene(scene.shot(evaluate(tight)), [])["ways"]
    chips = page.locator(".stage .chip")
    assert chips.all_inner_texts() == [each["text"] for each in ways]
    chips.first.click()
    idle(page)
    mended = replace(tight, **ways[0]["changes"])
    assert query_of(page) == encode(mended)
    assert figures(page) == shown(mended)
    assert chips.count() == 0


def test_charts_are_told_in_words_where_they_cannot_be_drawn(open_page):
    page = open_page()
    page.context.route("**/files/vega-*", lambda route: route.abort())
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".st-key-chart-memory .alt")).to_be_visible()
    assert figures(other) == shown(Scenario())


def test_what_is_printed_has_the_answer_and_no_buttons(open_page):
    page = open_page(encode(Scenario(concurrency=100)))
    page.emulate_media(media="print")
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator(".st-key-chart-step svg.marks")).to_be_visible()
    expect(page.locator(".stage .chip").first).to_be_hidden()
    expect(page.locator(".stage .help").first).to_be_hidden()


def test_a_figure_says_what_it_is(open_page):
    page = open_page()
    page.get_by_role("button", name="About Time per output token").focus()
    expect(page.get_by_role("tooltip").filter(has_text="lower bound")).to_be_visible()
