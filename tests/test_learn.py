"""The Learn pages without a browser: any link opens them, nothing breaks, answers are marked."""

import json
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from planner import Scenario, evaluate
from planner.figures import headlines
from planner.lesson import questions, words
from planner.lesson.questions import NumberQuestion
from planner.lesson.views import VIEWS
from tests import scenes
from tests.browser import ROOT, number

PAGES = list(words.pages())
CHARTS = {"why": 2, "stored": 2, "past": 1, "proof": 3, "phases": 2, "cost": 2, "managing": 2,
          "speed": 1, "fit": 1, "knee": 2}  # fmt: skip


def opened(page, query=""):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    app.switch_page(f"planner/pages/{page}.py")
    app.query_params.clear()
    for name, value in parse_qsl(query, keep_blank_values=True):
        app.query_params[name] = [*app.query_params.get(name, []), value]
    return app.run()


def metrics(page):
    return {metric.label: metric.value for metric in page.metric}


def charts(page):
    return page.get("vega_lite_chart")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens(page):
    app = opened(page)
    assert not app.exception
    assert app.title[0].value == words.pages()[page].title
    assert len(charts(app)) == CHARTS.get(page, 0)
    assert all(chart.proto.alt for chart in charts(app))
    assert not app.text


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "query",
    ["seed=-1&steps=0&step=x&batch=1e99&heads=0&context=nan&leak=%00", "v=7&ask=%3Cb%3E,x&say=" +
     "long" * 90, "present=maybe&x=1&x=2&ask=", "seed=1&seed=2&steps=1&steps=2&tick=1&tick=2"],
)  # fmt: skip
def test_a_bad_link_is_explained_and_the_page_is_whole(page, query):
    app = opened(page, query)
    assert not app.exception
    assert len(charts(app)) == CHARTS.get(page, 0)
    assert app.text or query.startswith("seed=1")


def test_a_bad_value_is_named_until_something_changes():
    app = opened("proof", "mistake=all&precision=float64")
    assert "mistake: “all” is not one of the choices; none, done right is used instead." in (
        app.text[0].value
    )
    app.selectbox(key="proof-mistake").set_value("wrong_slot").run()
    assert not app.text
    assert app.session_state["learn-proof"]["precision"] == "float64"


def test_switches_break_the_proof():
    app = opened("proof")
    right = number(metrics(app)["Largest difference"])
    assert 1e-8 < right < 5e-6  # which rounding it is depends on the processor
    app.selectbox(key="proof-mistake").set_value("rotate_again").run()
    assert 0.4 < number(metrics(app)["Largest difference"]) < 1.5
    assert number(metrics(app)["Done right"]) == right
    app.radio(key="proof-precision").set_value("float64").run()
    assert 1e-17 < number(metrics(app)["Done right"]) < 1e-13


def test_levers_are_pulled():
    app = opened("cost")
    assert metrics(app)["All requests"] == "68.7 GB"
    app.selectbox(key="cost-heads").set_value("8").run()
    app.radio(key="cost-bits").set_value("4").run()
    assert metrics(app)["All requests"] == "4.29 GB"


def test_pages_keep_their_state_apart():
    app = opened("cost", "heads=8")
    app.switch_page("planner/pages/proof.py")
    app.query_params.clear()
    app.run()
    app.selectbox(key="proof-mistake").set_value("no_mask").run()
    app.switch_page("planner/pages/cost.py").run()
    assert metrics(app)["All requests"] == "17.2 GB"
    app.switch_page("planner/pages/proof.py").run()
    assert number(metrics(app)["Largest difference"]) > 1


@pytest.mark.parametrize("page", VIEWS)
def test_every_figure_that_can_be_asked_is_hidden_and_comes_back(page):
    figures = VIEWS[page](opened(page).session_state[f"learn-{page}"]).figures
    for figure in figures:
        if not figure.askable:
            continue
        app = opened(page, f"ask={figure.id}&say=Well%3F")
        assert not app.exception
        assert app.text[0].value == "Well?"
        assert metrics(app)[figure.label] == "?"
        for label, value in metrics(app).items():
            assert value == "?" or label != figure.label
        app.text_input(key=f"guess-{page}-{figure.id}").set_value("3")
        shown = next(each for each in app.button if each.proto.form_id == f"guess-{page}")
        shown.click().run()
        assert metrics(app)[figure.label] == figure.text
        assert any(f"{figure.label}: {figure.text}" in text.value for text in app.text)
        assert len(charts(app)) == CHARTS[page]


@pytest.mark.parametrize("figure", headlines(evaluate(Scenario())), ids=lambda figure: figure.id)
def test_every_figure_of_the_plan_is_hidden_and_comes_back(figure):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["ask"] = figure.id
    app.run()
    assert not app.exception
    assert scenes.figures(app)[figure.label] == "?"
    hidden = scenes.sent(app)
    assert scenes.shown(app)["title"] == "What do you expect?"
    assert figure.text not in json.dumps(hidden)
    app.text_input(key=f"guess-plan-{figure.id}").set_value("1,000")
    app.button[0].click().run()
    assert scenes.figures(app)[figure.label] == figure.text
    assert scenes.shown(app)["title"].startswith("Fits")
    assert not any(chart["waits"] for chart in scenes.shown(app)["charts"])


def test_the_plan_s_verdict_is_a_choice():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["ask"] = "fits"
    app.query_params["memory"] = "20"
    app.run()
    assert not app.exception
    app.radio(key="guess-plan-fits").set_value("fits")
    app.button[0].click().run()
    assert app.text[0].value == "Fits or not: does not fit; you said: fits."
    assert scenes.shown(app)["title"].startswith("Does not fit")


def test_an_address_without_a_question_asks_none():
    app = opened("cost", "ask=load")
    app.switch_page("planner/pages/why.py")
    app.query_params.clear()
    app.run()
    app.switch_page("planner/pages/cost.py").run()
    assert metrics(app)["All requests"] == "?"  # come back to, it still asks
    app.switch_page("planner/pages/why.py").run()
    app.switch_page("planner/pages/cost.py")
    app.query_params["heads"] = "8"
    app.run()
    assert metrics(app)["All requests"] == "17.2 GB"


def test_nothing_on_a_page_tells_the_answer():
    app = opened("cost", "ask=load,request&context=8000&concurrency=3")
    shown = [element.value for element in (*app.markdown, *app.text, *app.caption)]
    shown += [element.proto.body for element in app.get("html")]
    for answer in ("12.6", "4.19"):
        assert not any(answer in text for text in shown)
    assert not charts(app)


def test_a_question_is_made():
    app = opened("cost", "heads=8")
    app.session_state["share"] = True
    app.run()
    app.multiselect(key="share-ask-cost").set_value(["load"])
    app.text_input(key="share-say-cost").set_value("How <b>much</b>?").run()
    link = app.code[0].value
    assert "heads=8" in link
    assert link.endswith("&ask=load&say=How+%3Cb%3Emuch%3C%2Fb%3E%3F")


def test_presenting_folds_the_text_and_stays_on_the_next_page():
    app = opened("why", "present=1")
    assert app.session_state.present is True
    app.switch_page("planner/pages/stored.py")
    app.query_params.clear()
    app.run()
    assert app.toggle(key="present-switch").value is True
    app.toggle(key="present-switch").set_value(False).run()
    assert app.session_state.present is False
    assert not app.exception


# --- the knowledge check ------------------------------------------------------------------------


def answer(app, question, given, seed):
    key = f"answer-{question.id}-{seed}"
    if isinstance(question, NumberQuestion):
        app.text_input(key=key).set_value(given)
    else:
        app.radio(key=key).set_value(given)
    at = [button.proto.form_id for button in app.button].index(f"form-{question.id}")
    return app.button[at].click().run()


def texts(app):
    return [element.value for element in (*app.markdown, *app.text, *app.code, *app.caption)]


def test_a_dozen_questions_of_all_pages():
    app = opened("check")
    assert metrics(app) == {"Right": "0 of 12", "Answered": "0 of 12"}
    assert len(app.subheader) == len(questions.pages_of())
    app = opened("check", "seed=1")
    assert len(app.subheader) == 7  # an old link, from before there was a page to edit the past


@pytest.mark.parametrize("topic", questions.pages_of())
def test_every_question_is_marked_right_and_solved_after_the_answer(topic):
    app = opened("check", f"seed=5&topic={topic}")
    found = questions.check(5, topic)
    for done, question in enumerate(found, 1):
        if isinstance(question, NumberQuestion):
            solution, given = question.worked[-1], repr(question.answer)
        else:
            given = next(at for at, option in enumerate(question.options) if option.right)
            solution = question.options[given].note
        assert solution not in texts(app)
        app = answer(app, question, given, 5)
        assert not app.exception
        assert metrics(app)["Right"] == f"{done} of {len(found)}"
        assert solution in texts(app)
    shown = next(text for text in texts(app) if text.startswith("KV cache, "))
    assert f"{len(found)} of {len(found)} right ({len(found)} at once)" in shown
    assert f"seed=5&topic={topic}" in shown


def test_wrong_answers_and_slips_are_told_apart():
    app = opened("check", "seed=5&topic=cost")
    numbers = [each for each in questions.check(5, "cost") if isinstance(each, NumberQuestion)]
    slip, wrong, *_ = numbers
    app = answer(app, slip, f"{slip.slip_answer:.10g}", 5)
    assert slip.slip in texts(app)
    assert slip.note not in texts(app)  # a second try comes before the solution
    assert any(slip.hint in text for text in texts(app))
    assert metrics(app)["Answered"].startswith("0 of")
    app = answer(app, slip, repr(slip.answer), 5)
    assert slip.note in texts(app)
    assert metrics(app)["Right"].startswith("1 of")
    for _ in range(2):
        assert wrong.note not in texts(app)
        app = answer(app, wrong, "123456789", 5)
    assert wrong.slip not in texts(app)
    assert wrong.note in texts(app)
    assert metrics(app)["Right"].startswith("1 of")
    assert metrics(app)["Answered"].startswith("2 of")


def test_a_hint_is_there_for_the_asking_and_does_not_count():
    app = opened("check", "seed=5&topic=cost")
    question = questions.check(5, "cost")[0]
    assert question.hint not in texts(app)
    app.toggle(key=f"hint-{question.id}-5").set_value(True).run()
    assert question.hint in texts(app)
    app = answer(app, question, repr(question.answer), 5)
    assert metrics(app)["Right"].startswith("1 of")


def test_questions_come_one_at_a_time():
    app = opened("check", "seed=5&topic=cost&show=one")
    found = questions.check(5, "cost")
    for place, question in enumerate(found, 1):
        shown = [text for text in texts(app) if text.startswith("**") and question.text in text]
        assert len(shown) == 1
        assert sum(any(q.text in text for q in found) for text in texts(app)) == 1
        if place < len(found):
            app.button[[b.label for b in app.button].index("Next question")].click().run()
    assert app.session_state["learn-check"]["number"] == len(found)


def test_numbers_are_one_s_own_unless_the_link_names_them():
    seeds = {opened("check", query).session_state["learn-check"]["seed"]
             for query in ("", "", "edition=2&topic=cost", "edition=2")}  # fmt: skip
    assert len(seeds) == 4
    for query, seed in (("topic=cost", 1), ("seed=7", 7), ("edition=2&seed=7", 7)):
        app = opened("check", query)
        assert app.session_state["learn-check"]["seed"] == seed
    before = app.session_state["learn-check"]["seed"]
    app.button(key="anew").click().run()
    assert app.session_state["learn-check"]["seed"] != before


def test_what_is_no_number_is_explained_and_asked_again():
    app = opened("check", "seed=5&topic=cost")
    question = next(q for q in questions.check(5, "cost") if isinstance(q, NumberQuestion))
    app = answer(app, question, "about four", 5)
    assert any("Write a number, without its unit" in text for text in texts(app))
    assert metrics(app)["Answered"].startswith("0 of")


def test_answers_stay_while_the_reader_looks_elsewhere_and_go_with_the_seed():
    app = opened("check", "seed=5&topic=cost")
    question = questions.check(5, "cost")[0]
    app = answer(app, question, repr(question.answer), 5)
    app.switch_page("planner/pages/why.py").run()
    app.switch_page("planner/pages/check.py").run()
    assert metrics(app)["Right"].startswith("1 of")
    app.session_state["learn-check"] = {**app.session_state["learn-check"], "seed": 6}
    app.run()
    assert metrics(app)["Answered"].startswith("0 of")


def test_what_is_asked_cannot_be_pinned_and_looked_up_in_a_comparison():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.query_params["ask"] = "fits"
    app.run()
    assert not [button for button in app.button if "Pin" in button.label]
    app.radio(key="guess-plan-fits").set_value("fits")
    app.button[0].click().run()
    assert [button for button in app.button if "Pin" in button.label]
