"""A comparison in a link: complete, exact, and never an error, whatever is in it."""

from urllib.parse import parse_qs, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario
from planner.compare import mistakes
from planner.compare.comparison import Comparison, Variant, decode, encode, plain
from planner.inputs.question import plain as plain_say
from planner.inputs.scenario import encode as encode_scenario
from tests.test_plan import scenarios

names = st.text(max_size=40).map(plain)
variants = st.builds(Variant, scenarios(), names, st.sampled_from(["", *mistakes.KNOWN]))
comparisons = st.builds(
    Comparison, st.lists(variants, max_size=4).map(tuple), st.text(max_size=160).map(plain_say)
)
LESSON = Comparison(
    (
        Variant(Scenario("lesson-7b-mha"), "GQA off"),
        Variant(Scenario("lesson-7b-gqa"), "GQA on"),
    ),
    "same model, GQA off",
)
LESSON_LINK = (
    "v=1&a=v%3D1%26model%3Dlesson-7b-mha%26weights%3Dfp16%26device%3Dlesson%26concurrency%3D16"
    "%26context%3D8192%26bandwidth%3D1000%26memory%3D80%26peak%3D300&an=GQA+off"
    "&b=v%3D1%26model%3Dlesson-7b-gqa%26weights%3Dfp16%26device%3Dlesson%26concurrency%3D16"
    "%26context%3D8192%26bandwidth%3D1000%26memory%3D80%26peak%3D300&bn=GQA+on"
    "&say=same+model,+GQA+off"
)

# Query, the parameters that are named, and how many scenarios are compared nevertheless.
BAD_LINKS = [
    ("a=concurrency%3D-1", ["a, concurrency"], 1),
    ("a=concurrency%3Dx%26context%3Dy&b=memory%3D0", ["a, concurrency", "a, context", "b, memory"],
     2),
    ("a=model%3Dnone&b=", ["a, model"], 2),
    ("a=colour%3Dred", ["a"], 1),
    ("a=v%3D7", ["a, v"], 1),
    ("a=&b=&c=&d=&e=", [""], 4),
    ("a=&am=no-such", ["am"], 1),
    ("a=&bn=lost&cm=doubled", ["bn", "cm"], 1),
    ("a=&an=" + "n" * 31, ["an"], 1),
    ("a=&say=" + "s" * 141, ["say"], 1),
    ("a=context%3D500&a=context%3D600", ["a"], 1),
    ("v=9&a=", ["v"], 1),
    ("model=lesson-7b-mha", [""], 0),
    ("a=%00%FF&an=%00", ["a"], 1),
    ("a=" + quote("<script>alert(1)</script>=1"), ["a"], 1),
    ("a=" + quote("a=" + quote("a=context=1")), ["a"], 1),
]  # fmt: skip


@given(comparisons)
def test_a_link_gives_back_what_it_was_made_of(comparison):
    query = encode(comparison)
    assert decode(query) == (comparison, ())
    assert decode("?" + query) == (comparison, ())
    assert decode(parse_qs(query, keep_blank_values=True)) == (comparison, ())


@given(st.text(max_size=300))
def test_no_text_is_too_much_for_it(text):
    found, _ = decode(text)
    assert decode(encode(found)) == (found, ())


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "d", "e", "an", "bm", "dn", "say", "v", "x"]),
        st.lists(st.text(max_size=60), max_size=3),
    )
)
def test_no_values_are_too_much_for_it(values):
    found, _ = decode(values)
    assert len(found.variants) <= 4
    assert decode(encode(found)) == (found, ())


@pytest.mark.parametrize(("query", "named", "count"), BAD_LINKS, ids=lambda each: str(each)[:40])
def test_what_cannot_be_taken_is_named(query, named, count):
    found, notices = decode(query)
    assert [each.parameter for each in notices] == named
    assert all(each.text.endswith(".") for each in notices)
    assert len(found.variants) == count


def test_an_old_link_keeps_its_meaning():
    assert encode(LESSON) == LESSON_LINK
    assert decode(LESSON_LINK) == (LESSON, ())
    wrong = decode("v=1&a=model%3Ddeepseek-v3&b=model%3Ddeepseek-v3&bm=mla-as-mha")[0]
    assert [each.mistake for each in wrong.variants] == ["", "mla-as-mha"]


def test_letters_left_out_are_closed_up():
    found, notices = decode("b=context%3D500&bn=first&d=context%3D600")
    assert [each.scenario.context for each in found.variants] == [500, 600]
    assert found.labels() == ("A: first", "B: 600 tokens")
    assert notices == ()


def test_swapping_removing_renaming():
    a, b, c = (Variant(Scenario(context=n)) for n in (1000, 2000, 3000))
    three = Comparison().added(a).added(b, c)
    assert three.swapped(1).variants == (b, a, c)
    assert three.swapped(2).variants == (a, c, b)
    assert three.removed(0).variants == (b, c)
    assert three.removed(2).variants == (a, b)
    assert three.renamed(1, " much\nlonger ").labels() == (
        "A: 1,000 tokens",
        "B: much�longer",
        "C: 3,000 tokens",
    )
    assert three.holds(Scenario(context=2000))
    assert not three.holds(Scenario(context=4000))
    assert not Comparison((Variant(Scenario(), mistake="doubled"),)).holds(Scenario())


def test_a_plan_without_a_name_goes_by_its_model():
    found = Comparison((Variant(Scenario(), "mine"), Variant(Scenario("lesson-7b-mha"))))
    assert found.labels() == ("A: mine", "B: Lesson 7B, MHA")
    assert found.named() == ("A: mine", "B: Lesson 7B, MHA")


def test_four_are_compared_and_no_more():
    four = Comparison((Variant(Scenario()),) * 4)
    assert four.full
    with pytest.raises(ValueError, match="at most 4"):
        four.added(Variant(Scenario()))


def test_a_wrong_variant_says_so_whatever_it_is_called():
    assert Comparison((Variant(Scenario(), "", "doubled"),)).labels() == (
        "A: K and V doubled twice (wrong)",
    )
    assert Variant(Scenario(), "mine", "doubled").title == "mine (wrong)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Variant(Scenario(), "n" * 31),
        lambda: Variant(Scenario(), "two\nlines"),
        lambda: Variant(Scenario(), mistake="none"),
        lambda: Comparison(say="s" * 141),
    ],
)
def test_what_no_link_could_hold_is_refused(make):
    with pytest.raises(ValueError, match=r"at most|not known"):
        make()


def test_a_comparison_of_the_largest_scenarios_is_still_a_link():
    most = Variant(Scenario("deepseek-v3", device="h200-sxm", tp=4, dp=4, ep=16), "n" * 30)
    assert len(encode(Comparison((most,) * 4, "s" * 140))) < 2000
    assert encode_scenario(most.scenario) in parse_qs(encode(Comparison((most,))))["a"]
