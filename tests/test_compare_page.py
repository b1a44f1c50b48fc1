"""The Compare page without a browser: it shows what is in its link and survives any."""

from urllib.parse import parse_qsl, quote_plus

import pytest
from streamlit.testing.v1 import AppTest

from planner import Scenario
from planner.compare.comparison import Comparison, Variant, decode, encode
from planner.inputs import presets
from tests.browser import ROOT
from tests.scenes import shown
from tests.test_comparison import BAD_LINKS, LESSON
from tests.test_differences import FOUR
from tests.test_page import choose

PAGE = "planner/pages/compare.py"


def opened(query=""):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    page.switch_page(PAGE)
    for name, value in parse_qsl(query, keep_blank_values=True):
        page.query_params[name] = [*page.query_params.get(name, []), value]
    return page.run()


def html(page):
    return "".join(each.proto.body for each in page.get("html"))


def held(page):
    return page.session_state.comparison


def pin(page):
    return page.button(key="pin").click().run()


def test_pinning_changing_comparing():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    pin(page)
    assert page.button(key="pin").disabled
    choose(page, "model", "lesson-7b-mha")
    assert not page.button(key="pin").disabled
    page.switch_page(PAGE).run()
    assert not page.exception
    assert held(page) == Comparison((Variant(Scenario()), Variant(Scenario("lesson-7b-mha"))))
    assert page.title[0].value == "Lesson 7B, GQA fits; Lesson 7B, MHA does not."
    # Only the first is met by the present plan of itself; the next is pinned.
    page.switch_page("planner/pages/plan.py").run()
    choose(page, "device", "h200-sxm")
    page.switch_page(PAGE).run()
    assert len(held(page).variants) == 2
    page.button(key="add").click().run()
    assert held(page).variants[2].scenario == Scenario("lesson-7b-mha", device="h200-sxm")


def test_pins_are_in_the_planner_s_address_and_come_back_with_it():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    assert "pins=" not in html(page)
    pin(page)
    choose(page, "model", "lesson-7b-mha")
    pinned = Comparison((Variant(Scenario()),))
    assert f"pins={quote_plus(encode(pinned))}" in html(page)  # the examples keep what is pinned
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    again.query_params["model"] = "lesson-7b-mha"
    again.query_params["pins"] = encode(pinned)
    again.run()
    assert not again.exception
    assert not again.warning
    assert again.session_state.scenario == Scenario("lesson-7b-mha")
    assert held(again) == pinned
    assert not again.button(key="pin").disabled


def test_a_bad_pin_is_named_and_the_plan_stands():
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    page.query_params["context"] = "4096"
    page.query_params["pins"] = "a=context%3D-5&z=1"
    page.run()
    assert not page.exception
    assert page.session_state.scenario == Scenario(context=4096)
    assert [each.problem for each in page.session_state.notices] == [
        "Pinned: Not a parameter of this page: “z”",
        "Pinned: “-5” is less than 128",
    ]


def test_the_start_says_how_to_begin():
    page = opened()
    assert not page.exception
    assert page.title[0].value == "Compare up to four plans side by side"
    assert not page.get("vega_lite_chart")


def test_the_presenter_view_is_no_part_of_what_is_compared():
    page = opened(f"{encode(LESSON)}&present=1")
    assert not page.exception
    assert not [each for each in page.text if "present" in each.value]
    assert held(page) == LESSON
    assert "&amp;present=1" in html(page)
    page.toggle(key="present-switch").set_value(False).run()
    assert held(page) == LESSON
    assert "present=1" not in html(page)


@pytest.mark.parametrize("comparison", [LESSON, FOUR], ids=["two", "four"])
def test_a_link_opens_the_whole_comparison(comparison):
    page = opened(encode(comparison))
    assert not page.exception
    assert held(page) == comparison
    assert len(page.get("vega_lite_chart")) == 2
    assert all(each.proto.alt for each in page.get("vega_lite_chart"))
    for label in comparison.labels():
        assert f"<th>{label}</th>" in html(page)
    page.session_state["mistakes"] = page.session_state["numbers"] = True
    page.run()
    assert not page.exception
    assert len(page.dataframe) == 3
    assert all(each.disabled for each in page.button if each.label == "Full")


@pytest.mark.parametrize(("query", "named", "count"), BAD_LINKS, ids=lambda each: str(each)[:40])
def test_a_bad_link_is_explained_and_the_page_is_whole(query, named, count):
    page = opened(query)
    assert not page.exception
    said = [each.value for each in page.text]
    assert sum(len(each.splitlines()) == len(named) for each in said) >= 1
    assert len(page.get("vega_lite_chart")) == (2 if count else 0)
    assert len(held(page).variants) == count


def test_rename_swap_remove_and_say():
    page = opened(encode(LESSON))
    page.text_input(key="name-0").set_value("  wide ").run()
    assert held(page).labels() == ("A: wide", "B: GQA on")
    page.button(key="swap-1").click().run()
    assert held(page).labels() == ("A: GQA on", "B: wide")
    assert page.text_input(key="name-0").value == "GQA on"
    page.text_input(key="compare-say").set_value("look at the cache").run()
    assert page.text[0].value == "look at the cache"
    page.button(key="remove-0").click().run()
    assert held(page).labels() == ("A: wide",)
    page.button(key="remove-0").click().run()
    assert page.title[0].value == "Compare up to four plans side by side"
    assert not page.exception


def test_one_opens_in_the_planner_and_the_comparison_stays():
    page = opened(encode(FOUR))
    page.button(key="open-2").click().run()
    assert not page.exception
    assert page.session_state.scenario == FOUR.variants[2].scenario
    assert shown(page)["title"].startswith("Fits: vLLM")
    assert page.button(key="pin").disabled
    assert held(page) == FOUR


def test_a_mistake_is_shown_as_b_and_labelled_wrong():
    scenario = Scenario("deepseek-v3", device="h200-sxm", tp=8)
    page = opened(encode(Comparison((Variant(scenario),))))
    page.session_state["mistakes"] = True
    page.run()
    assert "no-window" not in {each.key for each in page.button}
    assert any("×24.9" in each.value for each in page.markdown)
    page.button(key="wrong-mla-as-mha").click().run()
    assert not page.exception
    assert held(page).variants[1] == Variant(scenario, mistake="mla-as-mha")
    assert "<th>B: MLA as MHA (wrong)</th>" in html(page)


def test_what_a_link_says_stays_text():
    name, say = "<b>x</b>![y](http://z.example)", "**bold** <script>alert(1)</script>"
    model = "m1~32q32k8d128~p7000000000~~21~5bx~5d~28http~3a~2f~2fz.example~2fa.png~29"
    page = opened(encode(Comparison((Variant(Scenario(model), name), Variant(Scenario())), say)))
    assert not page.exception
    assert page.text[0].value == say
    assert "<b>x" not in html(page)
    assert "&lt;b&gt;x" in html(page)
    assert all("z.example" not in each.value for each in [*page.markdown, *page.caption])


@pytest.mark.parametrize("example", presets.comparisons(), ids=lambda each: each.id)
def test_an_example_is_what_its_link_says(example):
    page = opened(example.query)
    assert not page.exception
    assert encode(held(page)) == encode(decode(example.query)[0]) == example.query
