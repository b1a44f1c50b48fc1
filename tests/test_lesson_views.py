"""What the Learn pages draw: the lesson's numbers, on axes that hold still, each chart in words."""

import json
import re

import pytest

from planner.charts.picture import marked
from planner.inputs.question import Mark
from planner.lesson import roofline, words
from planner.lesson.states import PAGES, start
from planner.lesson.view import count, scientific
from tests.test_lesson_states import VIEWS


def view(page, **changes):
    return VIEWS[page]({**start(page), **changes})


def value(page, figure, **changes):
    return next(each for each in view(page, **changes).figures if each.id == figure).value


def picture(page, number, **changes):
    return view(page, **changes).pictures[number]


# Each page with its controls at their ends, so that no chart meets a value it cannot draw.
ENDS = [(page, {}) for page in VIEWS]
for page in VIEWS:
    for name, (kind, _) in PAGES[page].items():
        ends = kind.options if hasattr(kind, "options") else (kind.minimum, kind.maximum)
        ENDS += [(page, {name: end}) for end in list(ends)[:6]]


@pytest.mark.parametrize(("page", "changes"), ENDS, ids=[f"{p} {c}" for p, c in ENDS])
def test_every_state_can_be_drawn(page, changes):
    shown = view(page, **changes)
    ids = [figure.id for figure in shown.figures]
    assert len(set(ids)) == len(ids)
    assert len({each.id for each in shown.pictures}) == len(shown.pictures)
    for each in shown.pictures:
        spec = each.specification(dark=False)
        used = set(re.findall(r'"data": {"name": "(\w+)"}', json.dumps(spec)))
        assert used <= set(each.frames)
        assert set(each.gives) | set(each.axes) <= set(ids)
        table = each.table()
        assert len(table) > 0
        assert len(each.alt) < 900
        assert each.alt.endswith(".")
        assert not re.search(r"nan|\binf\b|e\+", each.alt)
    for figure in shown.figures:
        assert not re.search(r"nan|inf|e\+", figure.text)
        assert set(figure.also) <= set(ids)


def test_the_lesson_s_numbers():
    assert (value("why", "without"), value("why", "cached")) == (496, 240)
    assert value("why", "ratio", width=128, steps=1000) == pytest.approx(611, rel=1e-3)
    assert value("proof", "difference") < 2e-6
    assert value("proof", "difference", precision="float64") < 1e-14
    assert value("cost", "token") == 524.288
    assert value("cost", "load", heads="8") == pytest.approx(17.18, rel=1e-3)
    assert value("cost", "load", heads="8", bits="4") == pytest.approx(17.18 / 4, rel=1e-3)
    speeds = {1000: (68.9, 70.8), 8192: (54.7, 66.3), 32_000: (32.5, 55.0)}
    for context, (mha, gqa) in speeds.items():
        assert value("speed", "mha", context=context) == pytest.approx(mha, abs=0.05)
        assert value("speed", "gqa", context=context) == pytest.approx(gqa, abs=0.05)


@pytest.mark.parametrize("mistake", ["rotate_again", "no_mask", "wrong_slot", "wrong_heads"])
def test_each_mistake_shows(mistake):
    assert value("proof", "difference", mistake=mistake) > 0.1
    assert value("proof", "right", mistake=mistake) < 2e-6


def test_done_right_the_two_figures_of_the_proof_hide_together():
    (right,) = (each for each in view("proof").figures if each.id == "right")
    assert right.also == ("difference",)


@pytest.mark.parametrize("batch", [1, 1024])
@pytest.mark.parametrize("prompt", [128, 131_072])
@pytest.mark.parametrize("model", ["lesson-7b-mha", "lesson-7b-gqa"])
def test_both_phases_stay_on_the_roof_s_axes(batch, prompt, model):
    drawing = picture("phases", 0, batch=batch, prompt=prompt, model=model)
    rows, ((low, high),) = drawing.frames["rows"], drawing.bounds
    assert rows["intensity"].between(roofline.LOWEST, roofline.HIGHEST).all()
    assert rows["attainable"].between(low, high).all()


@pytest.mark.parametrize("changes", [{}, {"width": 128, "steps": 1000}, {"width": 7, "steps": 2}])
def test_the_printed_arithmetic_comes_to_what_is_printed(changes):
    lines = view("why", **changes).lines
    for line in lines:
        text = line.numbers.replace("×", "*").replace("²", "**2").replace("³", "**3")
        assert re.fullmatch(r"[\d\s+*/().]+", text)
        assert count(eval(text)) == line.result
    steps = {**start("why"), **changes}["steps"]
    assert len(lines) == 2 * min(steps, 3) + 4


def test_axes_hold_still_while_a_slider_moves_within_them():
    still = {
        "why": ({"steps": 510}, {"steps": 590}),
        "stored": ({"step": 1}, {"step": 6}),
        "proof": ({"seed": 1}, {"mistake": "no_mask"}),
        "phases": ({"batch": 2}, {"batch": 3}),
        "cost": ({"heads": "32"}, {"heads": "1", "bits": "4", "window": "4096"}),
        "managing": ({"tick": 1}, {"arrivals": 50, "leak": 20}),
        "speed": ({"context": 200}, {"context": 100_000, "concurrency": 64}),
    }
    for page, (one, other) in still.items():
        before, after = view(page, **one), view(page, **other)
        for a, b in zip(before.pictures, after.pictures, strict=True):
            if page != "why":  # its sums grow with the cube of the steps
                assert a.bounds == b.bounds, (page, a.title)
            else:
                assert a.bounds[1] == b.bounds[1]


def test_a_guess_is_drawn_over_a_chart_and_leaves_the_chart_as_it_was():
    each = picture("why", 1)
    spec = each.specification(dark=False)
    before = json.dumps(spec)
    marks = [{"at": 300, "label": "your guess: 300"}]
    drawn = marked(spec, marks, "y", False)
    assert len(drawn["layer"]) == len(spec["layer"]) + 3
    assert drawn["layer"][-1]["encoding"]["y"]["field"] == "at"
    assert json.dumps(spec) == before
    # A chart that is one mark becomes a layer of its own.
    bars = picture("phases", 1).specification(dark=False)
    drawn = marked(bars, marks, "x", False)
    assert drawn["layer"][0]["mark"] == bars["mark"]
    assert "mark" not in drawn
    assert Mark(300, "your guess: 300").label == marks[0]["label"]


def test_numbers_in_words():
    assert [count(n) for n in (72, 9_999_999, 1.36e12)] == ["72", "9,999,999", "1.36 × 10¹²"]
    assert [scientific(n) for n in (0, 8.94e-7, 0.893, 9.999e-8)] == [
        "0", "8.94 × 10⁻⁷", "0.893", "1.00 × 10⁻⁷"]  # fmt: skip


@pytest.mark.parametrize("page", words.pages())
def test_terms_are_explained_once_and_the_text_stays_whole(page):
    entry = words.pages()[page]
    for text in (entry.lead, entry.move, entry.see):
        pieces = words.explained(text)
        assert "".join(piece for piece, _ in pieces) == text
        meanings = [meaning for _, meaning in pieces if meaning]
        assert len(set(meanings)) == len(meanings)
    believed, kept, terms = words.of_page(page)
    if page != "check":
        assert believed
        assert kept
        assert terms


def test_a_term_is_found_in_its_plural_and_not_inside_other_words():
    assert ("tokens", words.meaning("token")) in words.explained("Two tokens.")
    assert words.explained("Valueless monkeys") == [("Valueless monkeys", "")]
