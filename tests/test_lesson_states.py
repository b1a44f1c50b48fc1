"""The state of a Learn page: any link opens it, its own link reopens it, old links keep theirs."""

import csv
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.link import Named
from planner.lesson import words
from planner.lesson.states import PAGES, Choice, decode, encode, start
from planner.lesson.views import VIEWS
from tests.browser import ROOT

with open(ROOT / "tests" / "lesson_links.csv", newline="", encoding="utf-8") as file:
    OLD_LINKS = list(csv.DictReader(file))


def allowed(kind):
    if isinstance(kind, Choice):
        return st.sampled_from(list(kind.options))
    if isinstance(kind, Named):
        return st.sampled_from(["", "gqa", "cache8,gqa"])
    return st.integers(int(kind.minimum), int(kind.maximum))


anywhere = st.sampled_from(list(PAGES))
anything = st.one_of(st.text(max_size=12), st.floats().map(str), st.integers().map(str))


def test_every_page_has_its_table():
    assert list(PAGES) == list(words.pages())


@pytest.mark.parametrize("page", PAGES)
def test_the_start_is_allowed_and_what_an_empty_link_opens(page):
    assert decode(page, "") == (start(page), ())
    assert decode(page, encode(page, start(page))) == (start(page), ())


@given(st.data(), anywhere)
def test_a_link_reopens_exactly_and_is_complete(data, page):
    values = {name: data.draw(allowed(kind)) for name, (kind, _) in PAGES[page].items()}
    link = encode(page, values)
    assert decode(page, link) == (values, ())
    assert set(parse_qs(link, keep_blank_values=True)) == {"v", *PAGES[page]}


@given(anywhere, st.text(max_size=200))
def test_any_text_is_a_link(page, text):
    values, _ = decode(page, text)
    assert decode(page, encode(page, values)) == (values, ())


@given(st.data(), anywhere)
def test_any_parameters_are_a_link(data, page):
    names = st.sampled_from(["v", "other", *PAGES[page]])
    query = data.draw(st.dictionaries(names, st.lists(anything, max_size=3)))
    values, _ = decode(page, query)
    assert decode(page, encode(page, values)) == (values, ())


@pytest.mark.parametrize(
    ("page", "query", "parameter", "used"),
    [
        ("why", "steps=0", "steps", 1),
        ("why", "steps=1e9", "steps", 100_000),
        ("why", "steps=2.4", "steps", 2),
        ("why", "width=wide", "width", 4),
        ("why", "axes=polar", "axes", "linear"),
        ("stored", "step=7", "step", 6),
        ("proof", "mistake=<b>", "mistake", "none"),
        ("proof", "seed=-1", "seed", 0),
        ("phases", "device=abacus", "device", "lesson"),
        ("phases", "model=", "model", "lesson-7b-gqa"),
        ("cost", "heads=7", "heads", "32"),
        ("managing", "leak=100", "leak", 50),
        ("speed", "context=1", "context", 128),
        ("check", "topic=everything", "topic", "all"),
        ("check", "v=9", "v", None),
        ("check", "colour=blue", "", None),
    ],
)
def test_a_bad_value_is_named_and_replaced(page, query, parameter, used):
    values, notices = decode(page, query)
    assert [notice.parameter for notice in notices] == [parameter]
    assert len(notices[0].text) < 200
    if used is not None:
        assert values == {**start(page), parameter: used}


@pytest.mark.parametrize(
    "old", OLD_LINKS, ids=[f"{o['page']}?{o['query']}"[:60] for o in OLD_LINKS]
)
def test_an_old_link_keeps_its_numbers(old):
    values, notices = decode(old["page"], old["query"])
    assert notices == ()
    found = {figure.id: figure.value for figure in VIEWS[old["page"]](values).figures}
    for pair in old["figures"].split(";"):
        name, value = pair.split("=")
        assert found[name] == pytest.approx(float(value), rel=1e-6), name
