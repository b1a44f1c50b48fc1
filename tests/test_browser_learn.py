"""The Learn pages in a real browser: questions, history, presenter view, paper, accessibility."""

import re
import urllib.parse
from importlib.resources import files

import pytest
from playwright.sync_api import expect

from planner import Scenario, encode
from planner.lesson import states, words
from tests.browser import idle, metrics, number
from tests.test_learn import CHARTS

pytestmark = pytest.mark.browser

PAGES = list(words.pages())
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
HEAD = "h1"
DRAWN = dict.fromkeys(PAGES, ".st-key-tools button") | {"": ".st-key-share"}


@pytest.fixture
def open_page(browse):
    """Open a path and its query at a projector's size, and wait for its address."""

    def opened(path, query="", **options):
        size = {"viewport": {"width": 1280, "height": 720}}
        page = browse(f"{path}?{query}", DRAWN[path], **{**size, **options})
        page.wait_for_url(re.compile(r"[?&]v=1\b"))  # the page has written its address
        return page

    return opened


def query_of(page):
    return urllib.parse.urlsplit(page.url).query


def path_of(page):
    return urllib.parse.urlsplit(page.url).path.strip("/")


def exact(page, key):
    return page.locator(f".st-key-{key} input[type=text]")


def charts_drawn(page, path):
    """Wait for every chart of a Learn page."""
    expect(page.locator("svg.marks")).to_have_count(CHARTS.get(path, 0))


def serious_findings(page):
    """What axe-core calls serious or critical; Streamlit's own list of pages is left to it."""
    page.evaluate(AXE)
    nav = "[data-testid=stSidebarNav]"  # on a phone: sections stand as div in a ul (1.67)
    found = page.evaluate(f"axe.run({{exclude: ['{nav}']}}).then((result) => result.violations)")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("path", ["", *PAGES])
def test_a_page_is_accessible_in_light_and_dark_and_fits_a_phone(open_page, path):
    page = open_page(path)
    if path:
        charts_drawn(page, path)
    assert serious_findings(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    idle(page, DRAWN[path])
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for box in page.locator("svg.marks").all():
        assert box.bounding_box()["width"] <= 390
    assert serious_findings(page) == []


@pytest.mark.parametrize(
    ("path", "query"),
    [("why", "ask=ratio&say=And+now%3F"), ("cost", "present=1&heads=x"), ("", "present=1")],
)
def test_a_question_and_the_presenter_view_are_accessible(open_page, path, query):
    assert serious_findings(open_page(path, query)) == []


def test_a_slider_moves_figures_and_address(open_page):
    page = open_page("why")
    assert metrics(page)["With a cache"] == "240"
    steps = exact(page, "why-steps")
    steps.fill("1000")
    steps.press("Enter")
    exact(page, "why-width").fill("128")
    exact(page, "why-width").press("Enter")
    idle(page, DRAWN["why"])
    assert metrics(page)["Times as much"] == "611 times"
    values = {**states.start("why"), "steps": 1000, "width": 128}
    assert query_of(page) == states.encode("why", values)
    page.reload()
    idle(page, DRAWN["why"])
    assert metrics(page)["Times as much"] == "611 times"


def test_pages_keep_their_state_and_back_agrees_with_the_address(open_page):
    page = open_page("", "concurrency=5")
    plan = query_of(page)
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("menuitem", name="Why a cache").click()
    expect(page.locator(HEAD)).to_have_text("Why a cache")
    idle(page, DRAWN["why"])
    exact(page, "why-steps").fill("7")
    exact(page, "why-steps").press("Enter")
    idle(page, DRAWN["why"])
    why = query_of(page)
    assert "steps=7" in why
    page.locator(".st-key-next a").click()
    expect(page.locator(HEAD)).to_have_text("What is stored")
    idle(page, DRAWN["stored"])
    assert query_of(page) == states.encode("stored", states.start("stored"))

    page.go_back()
    expect(page.locator(HEAD)).to_have_text("Why a cache")
    idle(page, DRAWN["why"])
    assert (path_of(page), query_of(page)) == ("why", why)
    expect(exact(page, "why-steps")).to_have_value("7")
    page.go_back()
    expect(page.locator(HEAD)).to_contain_text("Fits")
    idle(page)
    assert (path_of(page), query_of(page)) == ("", plan)
    expect(exact(page, "slider-concurrency")).to_have_value("5")
    page.go_forward()
    expect(page.locator(HEAD)).to_have_text("Why a cache")
    idle(page, DRAWN["why"])
    assert (path_of(page), query_of(page)) == ("why", why)
    page.get_by_role("link", name="Plan").first.click()
    expect(page.locator(HEAD)).to_contain_text("Fits")
    idle(page)
    assert query_of(page) == plan


def test_back_and_forward_pressed_fast_end_where_the_address_says(open_page):
    page = open_page("why")
    for title in ("What is stored", "Edit the past", "What it costs"):
        page.get_by_role("button", name="Learn").click()
        page.get_by_role("menuitem", name=title).click()
        expect(page.locator(HEAD)).to_have_text(title)
        page.wait_for_timeout(300)
    for way in ["back"] * 3 + ["forward"] * 3 + ["back", "forward"] * 4 + ["back"] * 2:
        page.evaluate(f"history.{way}()")
        page.wait_for_timeout(60)
    expect(page.locator(HEAD)).to_have_text("What is stored")
    idle(page, DRAWN["stored"])
    assert path_of(page) == "stored"
    assert page.get_by_text("Cached ForwardMsg").count() == 0
    page.get_by_role("link", name="Plan").first.click()
    expect(page.locator(HEAD)).to_contain_text("Fits")


def test_a_question_on_the_plan_page_hides_and_reveals(open_page):
    page = open_page("", "context=32000&ask=step,cache&say=Twice+%3Cb%3Eas%3C/b%3E+slow%3F")
    say = page.get_by_text("Twice <b>as</b> slow?")
    expect(say).to_be_visible()
    shown = page.locator("[data-testid=stMain]").inner_text()
    for answer in ("67.1 GB", "81.1 ms", "tokens/s."):
        assert answer not in shown
    assert metrics(page)["Time per output token"] == metrics(page)["Throughput (tokens/s)"] == "?"
    for name in ("memory", "latency", "step"):
        assert page.locator(f".st-key-chart-{name} svg.marks").count() == 0
    kept = query_of(page)
    assert "ask=cache,step" in kept

    page.get_by_label("Time per output token (ms)").fill("40")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_text("Your guess: 40 ms, 2.03 times too little.")).to_be_visible()
    assert metrics(page)["Time per output token"] == "81.1 ms"
    assert metrics(page)["Cache"] == "?"
    assert page.locator(".st-key-chart-memory svg.marks").count() == 0
    drawn = page.locator(".st-key-chart-latency svg.marks")
    expect(drawn).to_contain_text("your guess: 40")

    page.get_by_label("Cache (GB)").fill("much")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_text("Write a number, without its unit")).to_be_visible()
    page.get_by_label("Cache (GB)").fill("67")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".st-key-chart-memory svg.marks")).to_contain_text("your guess")
    idle(page)
    assert metrics(page)["Cache"] == "67.1 GB"
    assert query_of(page) == kept  # the link stays a question for whoever opens it next
    page.reload()
    idle(page, DRAWN[""])
    assert metrics(page)["Cache"] == "?"


def test_a_question_on_a_learn_page_hides_and_reveals(open_page):
    page = open_page("why", "steps=3&width=4&ask=without")
    assert metrics(page) == {"Without a cache": "?", "With a cache": "240", "Times as much": "?"}
    assert page.locator("svg.marks").count() == 0
    page.locator(".st-key-arithmetic summary").click()
    idle(page, DRAWN["why"])
    assert "496" not in page.locator("[data-testid=stMain]").inner_text()
    page.get_by_label("Without a cache (multiply-adds)").fill("300")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_text("1.65 times too little")).to_be_visible()
    expect(page.locator(".st-key-chart-work_so_far svg.marks")).to_contain_text("your guess: 300")
    assert metrics(page)["Without a cache"] == "496"


def test_a_question_is_made_on_the_page(open_page):
    page = open_page("cost", "heads=8")
    page.locator(".st-key-share summary").click()
    page.get_by_label("Hide until there is a guess").click()
    page.get_by_role("option", name="All requests").click()
    page.keyboard.press("Escape")
    page.get_by_label("Say (plain text)").fill("How much?")
    page.get_by_label("Say (plain text)").press("Enter")
    link = page.locator(".st-key-share code")
    expect(link).to_contain_text("say=How+much")
    made = urllib.parse.urlsplit(link.inner_text().strip())
    other = open_page("cost", made.query)
    assert made.path.strip("/") == "cost"
    expect(other.get_by_text("How much?")).to_be_visible()
    assert metrics(other)["All requests"] == "?"
    assert metrics(other)["One token"] == "131 kB"


def test_mistakes_are_made_on_the_page(open_page):
    page = open_page("proof")
    assert 1e-8 < number(metrics(page)["Largest difference"]) < 5e-6
    page.locator(".st-key-proof-mistake").get_by_role("combobox").click()
    page.get_by_role("option", name="Forget the mask").click()
    expect(page.locator("[data-testid=stMetricValue]").first).to_have_text("2.26")
    page.get_by_text("64 bits", exact=True).first.click()
    expect(page.locator("[data-testid=stMetricValue]").nth(1)).to_contain_text("10⁻¹")
    idle(page, DRAWN["proof"])
    assert query_of(page) == "v=1&mistake=no_mask&precision=float64&seed=0"


def test_text_streams_at_the_predicted_speed(open_page):
    page = open_page("speed", "context=32000")
    page.get_by_role("button", name="Start").click()
    counts = page.locator(".st-key-stream .count")
    expect(counts.first).to_contain_text("in 8.0 s", timeout=15_000)
    words_shown = [int(text.split()[0]) for text in counts.all_inner_texts()]
    # 8 s at 32.49, 54.96 and 5.29 tokens a second, 0.75 words a token.
    assert words_shown == [194, 329, 31]


def test_the_presenter_s_keys_turn_the_pages(open_page):
    page = open_page("why", "present=1")
    assert root_size(page) >= 20
    expect(page.locator(".st-key-why-steps")).to_be_in_viewport(ratio=1)
    assert page.locator("[data-testid=stExpander]").count() == 0  # nothing is there but closed
    expect(page.locator(".st-key-chart-work_so_far svg.marks")).to_be_in_viewport(ratio=0.9)
    for key, title in [("ArrowRight", "What is stored"), ("PageDown", "Edit the past"),
                       ("ArrowLeft", "What is stored"), ("PageUp", "Why a cache")]:  # fmt: skip
        page.keyboard.press(key)
        expect(page.locator(HEAD)).to_have_text(title)
        idle(page, DRAWN["why"])
        assert "present=1" in query_of(page)
    page.locator(".st-key-present-switch label").click()
    expect(page.locator(".st-key-why-steps")).to_be_visible()
    idle(page, DRAWN["why"])
    assert "present" not in query_of(page)


def test_arrow_keys_step_through_the_tokens_before_they_turn_the_page(open_page):
    page = open_page("stored", "step=5&prompt=4&present=1")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("step=6"))
    expect(page.locator(HEAD)).to_have_text("What is stored")
    page.keyboard.press("ArrowRight")
    expect(page.locator(HEAD)).to_have_text("Edit the past")


@pytest.mark.parametrize("lines", [1080, 2160])
def test_a_room_s_type_grows_with_its_screen(open_page, lines):
    view = {"viewport": {"width": lines * 16 // 9, "height": lines}}
    page = open_page("why", "present=1", **view)
    assert root_size(page) == pytest.approx(24 * lines / 1080, abs=0.1)
    chart = page.locator(".st-key-chart-work_so_far svg.marks")
    expect(chart).to_be_in_viewport(ratio=1)
    page.wait_for_timeout(500)
    assert chart.bounding_box()["height"] > 0.35 * lines


def root_size(page):
    size = page.evaluate("getComputedStyle(document.documentElement).fontSize")
    return float(size.removesuffix("px"))


def test_the_plan_is_presented_with_its_sliders_and_keeps_that_in_its_link(open_page):
    page = open_page("", "context=4096&present=1")
    assert root_size(page) >= 20
    # The first row of pictures is on screen, and nothing is cut off for the size of the type.
    expect(page.locator(".st-key-chart-memory svg.marks")).to_be_in_viewport(ratio=0.5)
    cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length"
    for part in ("stMetricLabel", "stMetricValue", "stMetricDelta"):
        assert page.locator(f"[data-testid=stMain] [data-testid={part}]").evaluate_all(cut) == 0
    assert page.locator(".stSidebar .top label").evaluate_all(cut) == 0
    exact(page, "slider-context").fill("10,007")
    exact(page, "slider-context").press("Enter")
    idle(page)
    assert query_of(page) == f"{encode(Scenario(context=10_007))}&present=1"
    page.reload()
    idle(page)
    assert query_of(page) == f"{encode(Scenario(context=10_007))}&present=1"
    assert metrics(page)["Cache"] == "21.0 GB"
    page.get_by_role("link", name="A robot").click()
    page.wait_for_url(re.compile("jetson.*present=1"))
    idle(page)
    assert root_size(page) >= 20
    # On the way to the lesson and back, the view stays.
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("menuitem", name="Why a cache").click()
    expect(page.locator(HEAD)).to_have_text("Why a cache")
    idle(page, DRAWN["why"])
    assert "present=1" in query_of(page)
    page.go_back()
    idle(page)
    page.locator(".st-key-present-switch label").click()
    idle(page)
    assert root_size(page) == 16
    assert "present" not in query_of(page)


def test_a_phone_that_opens_a_presenter_s_link_keeps_its_own_type(open_page):
    page = open_page("", "present=1", viewport={"width": 390, "height": 844})
    assert root_size(page) == 16
    expect(page.locator(".stage .inputs")).to_contain_text("16 requests × 8,192 tokens")
    expect(page.locator(".stage .inputs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


MAIN_CONTROL = {
    "why": "steps", "stored": "step", "proof": "mistake", "phases": "batch", "cost": "heads",
    "managing": "tick", "speed": "context",
}  # fmt: skip


@pytest.mark.parametrize("path", MAIN_CONTROL)
def test_on_a_phone_a_control_is_seen_with_what_it_changes(open_page, path):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    page = open_page(path, **phone)
    charts_drawn(page, path)
    control = page.locator(f".st-key-{path}-{MAIN_CONTROL[path]}")
    expect(control).to_be_in_viewport(ratio=1)
    for figure in page.locator("[data-testid=stMetric]").all():
        expect(figure).to_be_in_viewport(ratio=1)
    # Wherever a picture has been scrolled to, the control stands above it and not on it.
    held, head = page.locator(".st-key-controls"), 60  # the page's own head stands above
    for picture in page.locator("svg.marks").all():
        above = head + held.bounding_box()["height"] + 20
        page.mouse.move(200, 800)
        page.mouse.wheel(0, picture.bounding_box()["y"] - above)
        page.wait_for_timeout(300)
        expect(control).to_be_in_viewport(ratio=1)
        expect(picture).to_be_in_viewport(ratio=1)
        box = held.bounding_box()
        assert head <= box["y"]
        assert box["y"] + box["height"] <= picture.bounding_box()["y"]


def test_the_questions_are_read_without_controls_above_them(open_page):
    page = open_page("check", viewport={"width": 390, "height": 844})
    page.locator(".st-key-tools").scroll_into_view_if_needed()
    expect(page.locator(".st-key-check-seed")).not_to_be_in_viewport()


def test_paper_carries_the_link_and_no_controls(open_page):
    page = open_page("cost", "heads=8")
    link = page.locator(".on-paper")
    expect(link).to_be_hidden()
    page.emulate_media(media="print")
    expect(link).to_be_visible()
    assert link.inner_text() == page.url
    for hidden in (".to-move", ".st-key-controls", ".st-key-tools", "header", ".st-key-share"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator("svg.marks").first).to_be_visible()
    # The whole page is on paper: nothing scrolls inside a box.
    pdf = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) in (1, 2)


def test_an_answer_is_marked_and_solved(open_page):
    page = open_page("check", "seed=1&topic=stored")
    question = page.locator(".st-key-question-why_no_query")
    for option in ("They are too large", "They change at every step"):
        expect(question.get_by_text("Row i of the attention grid")).to_have_count(0)
        question.locator("label").filter(has_text=option).click()
        question.get_by_role("button", name="Answer").click()
        expect(question.get_by_text("Not right.").last).to_be_visible()
        idle(page, DRAWN["check"])
    expect(question.get_by_text("Row i of the attention grid")).to_be_visible()
    idle(page, DRAWN["check"])
    assert metrics(page)["Answered"].startswith("1 of")
    assert metrics(page)["Right"].startswith("0 of")
