"""Predict first: what a link asks, what is hidden meanwhile, how a guess is held to the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario, evaluate
from planner.figures import headlines
from planner.inputs import question
from planner.inputs.question import FITS, NOT, SAY_LENGTH, Figure, Question
from planner.lesson import plan_questions

STEP = Figure("step", "Time per output token", "31.2 ms", value=31.2, unit="ms", also=("total",))
TOTAL = Figure("total", "All requests", "513 tok/s", value=513, unit="tok/s", also=("step",))
CACHE = Figure("cache", "Cache", "17.2 GB", value=17.2, unit="GB")
FIGURES = (STEP, TOTAL, CACHE)
NAMES = [figure.id for figure in FIGURES]


def test_a_link_says_what_is_asked():
    asked, notices = question.decode({"ask": ["cache,step"], "say": [" How long? "]}, NAMES)
    assert (asked, notices) == (Question(("step", "cache"), "How long?"), ())
    assert asked.parameters() == {"ask": "step,cache", "say": "How long?"}
    assert Question().parameters() == {}


def test_what_cannot_be_asked_is_named():
    asked, notices = question.decode({"ask": ["step,price,<b>"]}, NAMES)
    assert asked.ask == ("step",)
    assert [each.parameter for each in notices] == ["ask"]
    assert "“price”, “<b>”" in notices[0].text


def test_a_long_sentence_is_cut_and_said_to_be():
    asked, notices = question.decode({"say": ["x" * 500]}, NAMES)
    assert len(asked.say) <= SAY_LENGTH
    assert [each.parameter for each in notices] == ["say"]
    assert question.decode({"say": ["x" * SAY_LENGTH]}, NAMES)[1] == ()


@given(st.dictionaries(st.sampled_from(["ask", "say"]), st.lists(st.text(max_size=200))))
def test_any_text_is_a_question_and_reopens(query):
    asked, _ = question.decode(query, NAMES)
    again, notices = question.decode({k: [v] for k, v in asked.parameters().items()}, NAMES)
    assert (again, notices) == (asked, ())
    assert len(asked.say) <= SAY_LENGTH
    assert asked.say.isprintable()


def test_what_says_the_same_is_hidden_too_until_the_guess():
    asked = Question(("step", "cache"))
    assert asked.hidden(FIGURES) == {"step", "total", "cache"}
    asked = asked.guessed("step", 40.0)
    assert asked.hidden(FIGURES) == {"cache"}
    assert asked.guessed("cache", 1.0).hidden(FIGURES) == frozenset()


def test_an_unknown_figure_hides_nothing():
    assert Question(("price",)).hidden(FIGURES) == frozenset()


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        (31.2, "within 5 %"),
        (31, "within 5 %"),
        (62.4, "2 times too much"),
        (15.6, "2 times too little"),
        (0, "Your guess: 0 ms."),
        (-3, "Your guess: -3 ms."),
    ],
)
def test_guess_and_answer_stand_side_by_side(guess, says):
    said = question.compared(STEP, guess)
    assert said.startswith("Time per output token: 31.2 ms. Your guess: ")
    assert says in said


def test_a_choice_is_held_to_the_answer():
    fits = Figure("fits", "Fits or not", FITS, options=(FITS, NOT))
    assert question.compared(fits, FITS) == "Fits or not: fits; as you said."
    assert question.compared(fits, NOT) == "Fits or not: fits; you said: does not fit."


def test_a_guess_beyond_the_axis_stands_at_its_end_and_says_so():
    assert question.mark(40, 0, 200) == question.Mark(40, "your guess: 40")
    assert question.mark(400, 0, 200) == question.Mark(200, "your guess: 400 (off the axis)")


def test_split_leaves_a_page_its_own():
    own, shared = question.split({"ask": ["a"], "present": ["1"], "x": ["2"]}, ("present",))
    assert (own, shared) == ({"x": ["2"]}, {"ask": ["a"], "present": ["1"]})


# --- the Plan page ---


def test_every_headline_figure_of_a_plan_can_be_asked_for():
    result = evaluate(Scenario())
    figures = plan_questions.asked(result)
    assert figures[1:] == headlines(result)
    assert tuple(each.id for each in figures) == plan_questions.ASKABLE
    assert all(each.askable for each in figures)
    by_id = {each.id: each for each in figures}
    assert by_id["fits"].text == FITS
    assert by_id["step"].value == pytest.approx(31.179869184)
    assert by_id["cache"].value == pytest.approx(17.179869184)
    assert by_id["total"].value == pytest.approx(513.15, rel=1e-4)
    for each in figures[1:]:  # the unit of a guess is the unit on screen
        assert float(each.text.split()[0]) == pytest.approx(each.value, rel=5e-3)
        assert each.text.partition(" ")[2] == each.unit
    assert {name for gives in plan_questions.GIVES.values() for name in gives} <= set(by_id)


def test_guesses_stand_on_the_plan_s_charts():
    result = evaluate(Scenario())
    guesses = {"cache": 20.0, "step": 250.0}
    (cache,) = plan_questions.marks(result, "memory", guesses, 100, "GB")
    assert cache == question.Mark(34, "your guess: 20")  # after 14 GB of weights
    (step,) = plan_questions.marks(result, "latency", guesses, 200, "ms")
    assert (step.at, step.label) == (200, "your guess: 250 (off the axis)")
    (step,) = plan_questions.marks(result, "latency", guesses, 10, "s")
    assert step.at == pytest.approx(0.25)
    assert plan_questions.marks(result, "fit", guesses) == ()
