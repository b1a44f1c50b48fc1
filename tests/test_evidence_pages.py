"""The Accuracy and the Log page: without a browser for what they say, in one for what they do."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect
from streamlit.testing.v1 import AppTest

from planner import Scenario, decode
from planner.charts.style import INK
from planner.evidence import accuracy, scatter, summary
from planner.logs import from_log, told
from planner.logs.parse import read_log
from tests.browser import ROOT, idle
from tests.scenes import drawn
from tests.test_evidence import BAD


def opened(page, query=""):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    # A page of its own has no address here, so its parameters are there from the first run.
    for name, value in parse_qsl(query, keep_blank_values=True):
        app.query_params[name] = [*app.query_params.get(name, []), value]
    app = app.switch_page(f"planner/pages/{page}.py")
    return app.run()


# --- Accuracy -----------------------------------------------------------------------------------


def test_accuracy_starts_with_its_headline_errors():
    page = opened("accuracy")
    assert not page.exception
    assert (page.title[0].value, page.markdown[0].value) == summary.answer()
    assert {each.label: each.value for each in page.metric} == {
        name: value for name, (value, _, _) in summary.headlines().items()
    }
    points = drawn(page, "Predicted over measured")["rows"]
    assert len(points) == len(accuracy.selected(accuracy.View()))
    assert set(points.basis) == {accuracy.LEFT_OUT, accuracy.NEVER}


@pytest.mark.parametrize("quantity", accuracy.QUANTITIES)
def test_every_quantity_has_its_page(quantity):
    page = opened("accuracy", f"quantity={quantity}")
    assert not page.exception
    assert not page.text
    ideal = accuracy.selected(accuracy.View(quantity))["ideal"].notna().any()
    assert len(page.get("vega_lite_chart")) == (3 if ideal else 2)


def test_filters_narrow_and_fall_back_with_the_quantity():
    page = opened("accuracy")
    page.selectbox(key="view-engine").set_value("mlc").run()
    page.selectbox(key="view-rows").set_value("left-out").run()
    assert page.session_state.view == accuracy.View(engine="mlc", rows="left-out")
    assert len(drawn(page, "Predicted over measured")["rows"]) == 16
    page.session_state["rows-box"] = True
    page.run()
    table = next(each.value for each in page.dataframe if "source" in each.value)
    assert len(table) == 16
    assert table["source"].str.startswith("https://").all()
    page.selectbox(key="view-quantity").set_value("capacity").run()
    assert not page.exception
    assert page.session_state.view == accuracy.View("capacity")


@pytest.mark.parametrize(("query", "parameter"), BAD, ids=[query for query, _ in BAD])
def test_a_bad_link_of_the_accuracy_page_is_explained(query, parameter):
    page = opened("accuracy", query)
    assert not page.exception
    assert len(page.text) == 1
    assert page.text[0].value.startswith(f"{parameter}: " if parameter else "Not a parameter")


def test_both_errors_of_the_pools_stand_together():
    page = opened("accuracy", "quantity=pool")
    rows = accuracy.selected(accuracy.View("pool"))
    texts = [each.value for each in page.markdown]
    said = next(text for text in texts if text.startswith("28 left out of the fit: median error"))
    assert "; 28 in sample: median error" in said
    assert scatter.aside(rows) in texts
    assert summary.headlines()["Cache pool"][0] in said
    # One of the two alone needs no word on the other.
    page = opened("accuracy", "quantity=pool&rows=in-sample")
    assert all("twice" not in each.value for each in page.markdown)


def test_a_view_without_measurements_says_so():
    page = opened("accuracy", "quantity=serving&engine=sglang&device=mi300x&by=device")
    rows = accuracy.selected(page.session_state.view)
    assert not page.exception
    assert bool(len(rows)) == bool(page.get("vega_lite_chart"))


# --- Log ----------------------------------------------------------------------------------------


def test_the_log_page_starts_empty():
    page = opened("log")
    assert not page.exception
    assert page.title[0].value.startswith("Paste a start-up log")
    assert not page.dataframe
    assert not page.text


@pytest.mark.parametrize("example", from_log.examples(), ids=lambda example: example.id)
def test_an_example_log_is_held_against_its_prediction(example):
    page = opened("log")
    page.button(key=f"log-{example.id}").click().run()
    assert not page.exception
    found = from_log.plan_of(example.text, model=example.model, device=example.device)
    tables = [table.value for table in page.dataframe]
    assert len(tables) == 2
    assert tables[0].to_dict("records") == told.table(found.rows)
    if found.notes:
        assert page.text[1].value == "\n".join(found.notes)
    link = [each.proto.body for each in page.get("html")]
    known = not {"model", "weights"} & {*found.asked}
    assert bool(link) == known
    if known:
        query = re.search(r'href="\./\?([^"]*)"', link[0])[1].replace("&amp;", "&")
        assert decode(query) == (found.scenario, ())


def test_a_model_chosen_for_a_log_counts():
    page = opened("log")
    page.button(key="log-trtllm-engine").click().run()
    rows = len(page.dataframe[0].value)
    page.selectbox(key="log_model").set_value("llama-3.1-70b").run()
    assert not page.exception
    assert len(page.dataframe[0].value) > rows


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "GPU KV cache size: " * 50_000,
        "<script>alert(1)</script> ![x](http://z.example/a.png) **b**",
        "\x00\ud7ff\u202e [1m",
    ],
    ids=["long", "again", "hostile", "odd"],
)
def test_junk_is_answered_with_what_is_missing(text):
    page = opened("log")
    page.text_area(key="log").set_value(text).run()
    assert not page.exception
    assert page.title[0].value == "This is no start-up log that can be read."
    assert page.text[0].value.startswith("No line that vLLM")
    assert all("script" not in each.value for each in page.markdown)


def test_what_a_log_says_stays_text():
    name = "a/<img/src=x>![y](http://z.example/b.png)"
    page = opened("log")
    text = f"with config: model='{name}'\nAvailable KV cache memory: 2.30 GiB"
    page.text_area(key="log").set_value(text).run()
    assert not page.exception
    assert any("<img/src=x>" in each.value for each in page.text)
    shown = [each.value for each in [*page.markdown, *page.caption, *page.title]]
    assert all("z.example" not in each for each in shown)
    assert not page.get("html")


# --- in a browser -------------------------------------------------------------------------------

SCATTER = ".st-key-chart-predicted [data-testid=stHtml] p"


@pytest.mark.browser
def test_accuracy_is_filtered_and_its_address_reopens_it(browse):
    page = browse("accuracy?quantity=serving", SCATTER)
    expect(page.locator("h1")).to_have_text(summary.answer()[0])
    page.locator(".st-key-view-engine").get_by_role("combobox").fill("SGLang")
    page.get_by_role("option", name="SGLang").click()
    page.get_by_role("radio", name="Requests at once").click()
    idle(page, SCATTER)
    view = accuracy.View("serving", engine="sglang", by="batch")
    assert urlsplit(page.url).query == accuracy.encode(view)
    label = page.locator(SCATTER).inner_text()
    counts = accuracy.selected(view)["basis"].value_counts()
    assert counts.size == 2  # some left out of the fit, some never fitted
    assert all(f"{count} {basis}: median error" in label for basis, count in counts.items())
    points = page.locator('.st-key-chart-predicted path[aria-roledescription="point"]')
    assert points.count() == len(accuracy.selected(view))
    other = browse(f"accuracy?{urlsplit(page.url).query}", SCATTER)
    idle(other, SCATTER)
    assert other.locator(SCATTER).inner_text() == label
    assert other.url == page.url
    other.set_viewport_size({"width": 390, "height": 844})
    other.emulate_media(color_scheme="dark")
    ink = INK[True]
    expect(other.locator(f'.st-key-chart-predicted path[stroke="{ink}"]').first).to_be_visible()
    assert other.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.browser
def test_a_log_is_pasted_and_opened_in_the_planner(browse):
    page = browse("log", "textarea")
    example = next(each for each in from_log.examples() if each.id == "vllm-kimi-linear")
    area = page.get_by_role("textbox", name="Start-up log")
    area.fill("<b>junk</b>\n" * 1000 + example.text)
    area.press("Control+Enter")
    expect(page.locator("h1")).to_contain_text("of vLLM are predicted within 1 %")
    page.get_by_role("link", name="Open this in the planner").click()
    page.wait_for_url(re.compile("model="))
    idle(page, ".st-key-chart-engine_step svg.marks")
    scenario, notices = decode(urlsplit(page.url).query)
    assert (scenario, notices) == (from_log.plan_of(example.text).scenario, ())
    page.go_back()
    expect(page.get_by_role("textbox", name="Start-up log")).to_be_visible()


# --- Can I trust this for my plan? ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (Scenario(), "has no engine: memory is exact, times are lower bounds"),
        (
            Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34"),
            "Llama 3.1 8B on H100 SXM5 80GB with vLLM since 0.34: TPOT ",
        ),
    ],
)
def test_accuracy_answers_for_the_plan_of_the_session(scenario, said):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["scenario"] = scenario
    app.switch_page("planner/pages/accuracy.py").run()
    assert not app.exception
    assert any(said in each.value for each in app.text)


def test_a_log_without_a_model_claims_nothing_of_one():
    text = "llama_kv_cache: size = 256.00 MiB (  4096 cells,  32 layers,  1/1 seqs)\n"
    reading = read_log(text)
    found = from_log.plan_of_reading(reading, text)
    assert "model" in found.asked
    said = told.answer(text, reading, found.rows, found.asked)
    assert "predicted within" not in said


@pytest.mark.parametrize("example", from_log.examples(), ids=lambda example: example.id)
def test_every_line_of_a_log_is_listed_with_what_was_understood(example):
    reading = read_log(example.text)
    listed = told.by_line(example.text, reading)
    understood = {each["line"] for each in listed if each["understood"]}
    assert understood == {f"{line.number}" for line in reading.lines.values()}
    written = [line.strip() for line in example.text.splitlines() if line.strip()]
    assert [each["text"] for each in listed] == written
