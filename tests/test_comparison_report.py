"""A comparison to take along: each plan's report, link and version, and texts that stay text."""

import csv
import io
import json
import re

import pytest
from hypothesis import given, settings

from planner import Scenario, __version__, describe, evaluate
from planner.compare.comparison import Comparison, Variant, encode
from planner.compare.mistakes import evaluated
from planner.reports import comparison_html, comparison_report, document, plan_html, plan_report
from tests.test_comparison import LESSON, comparisons
from tests.test_differences import FOUR
from tests.test_report import NAMES, named
from tests.test_report_page import Seen

APP = "http://localhost:8501/compare"
NOTHING = Comparison()


def as_markdown(comparison, address=""):
    return document.markdown(comparison_report.document(comparison, address))


def called(name):
    """A comparison whose name, sentence and model are somebody's text."""
    evil = Variant(Scenario(model=named(name)), name[:30].strip())
    return Comparison((Variant(Scenario()), evil), name)


@settings(max_examples=30)
@given(comparisons.filter(lambda each: each.variants))
def test_each_plan_has_its_own_report(comparison):
    found = comparison_report.as_dict(comparison)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["link"] == encode(comparison)
    assert found["app_version"] == __version__
    right = [each["fits"] for each in found["plans"] if not each["mistake"]]
    assert found["fits"] == (bool(right) and all(right))
    for letter, each, variant in zip("ABCD", found["plans"], comparison.variants, strict=False):
        assert (each["letter"], each["name"]) == (letter, variant.title)
        own = plan_report.as_dict(evaluated(variant.scenario, variant.mistake))
        assert {key: each[key] for key in own} == own
    table = list(csv.DictReader(io.StringIO(comparison_report.as_csv(comparison))))
    for letter, each in zip("ABCD", found["plans"], strict=False):
        rows = {row["key"]: row for row in table if row["plan"] == letter}
        assert float(rows["decode_step_s"]["value"]) == each["decode_step_s"]
        assert rows["weights_bytes"]["reckoned"].startswith("wrong" if each["mistake"] else "right")
        assert {row["unit"] for row in rows.values()} >= {"bytes", "s", "tokens/s"}


def test_markdown_says_what_differs_and_carries_link_and_version():
    written = as_markdown(LESSON, APP)
    assert written.startswith("# GQA on fits; GQA off does not.\n\nsame model, GQA off\n")
    assert "| Model | Lesson 7B, MHA | Lesson 7B, GQA |" in written
    assert "| Cache | 68.7 GB | 17.2 GB | ×0.250 better |" in written
    assert "| Time per output token (TPOT) | ideal | 82.7 ms | 31.2 ms |" in written
    assert f"`{APP}?{encode(LESSON)}`" in written
    assert __version__ in written
    widths = {line.count(" | ") for line in written.splitlines() if line.startswith("| ")}
    assert widths == {2, 3}


def test_what_is_wrong_is_called_wrong_in_every_form():
    wrong = FOUR.variants[3]
    assert wrong.mistake
    kept = Comparison((FOUR.variants[0], wrong))
    assert "(wrong)" in comparison_report.as_csv(kept)
    for made in (as_markdown(kept), comparison_html.as_html(kept)):
        assert "Wrong on purpose" in made
        assert "wrong" in made.split("Results")[1]


@pytest.mark.parametrize("name", NAMES)
def test_texts_from_outside_stay_texts(name):
    found = called(name)
    for row in csv.reader(io.StringIO(comparison_report.as_csv(found))):
        for each in row:
            assert not each.startswith(("=", "+", "@", "|", "%", "＝")), each
            assert re.fullmatch(r"-[\d.e+]+", each) or not each.startswith("-"), each
    written = as_markdown(found).rpartition("`?")[0]
    assert f"\n{describe.as_text(found.say)}\n" in written
    assert not re.search(r"(?<!\\)[<\[]|https?:(?!\u2060)", written)
    page = comparison_html.as_html(found, "javascript:alert(1)//")
    assert "<script" not in page
    assert "href" not in page
    seen = Seen(page)
    assert seen.text.count(name[:30].strip()) >= 4  # the sentence, and the head of each table
    assert not {"script", "link", "iframe", "a"} & set(seen.tags)


def test_the_page_loads_nothing_and_holds_both_charts():
    page = comparison_html.as_html(FOUR, APP)
    seen = Seen(page)
    assert seen.tags.count("img") == 2
    assert all(each.startswith("data:image/svg+xml;base64,") for each in seen.loads)
    assert f"{APP}?{encode(FOUR)}" in seen.text
    assert __version__ in seen.text


def test_nothing_compared_is_an_error():
    for made in (as_markdown, comparison_html.as_html):
        with pytest.raises(ValueError, match="nothing is compared"):
            made(NOTHING)


@pytest.mark.browser
def test_the_page_opens_without_a_network_and_fits_a_phone(chromium, tmp_path):
    (tmp_path / "comparison.html").write_text(comparison_html.as_html(FOUR, APP), "utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 1100, "height": 900})
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "comparison.html").as_uri())
    drawn = page.evaluate("[...document.images].map(i => i.complete ? i.naturalWidth : 0)")
    assert len(drawn) == 2
    assert min(drawn) > 300
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert said == []
    context.close()


@pytest.mark.browser
def test_a_page_is_as_wide_as_its_screen(chromium):
    long = Scenario(model=named("W" * 80), concurrency=4096, context=2**20, engine="vllm-0.26")
    four = Comparison(tuple(Variant(long, letter * 30) for letter in "WMWM"), "W" * 140)
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    for made in (comparison_html.as_html(four), plan_html.as_html(evaluate(long))):
        page.set_content(made)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.close()
