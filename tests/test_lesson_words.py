"""The lesson's words: every reference leads somewhere, every figure named is the formulas' own."""

import re

import pytest

from planner.inputs.scenario import Scenario
from planner.lesson import allocation, levers, questions, streaming, words

KINDS = (words.pages, words.sources, words.glossary, words.misconceptions, words.takeaways)
LEARN = [page for page in words.pages() if page != "check"]


def test_pages_are_in_the_order_of_the_lesson():
    assert LEARN == ["why", "stored", "proof", "phases", "cost", "managing", "speed"]


def test_enough_of_everything():
    assert len(words.glossary()) >= 40
    assert len(words.misconceptions()) >= 10
    assert {entry.page for entry in words.misconceptions().values()} == set(LEARN)
    assert {entry.page for entry in words.takeaways().values()} == set(LEARN)


@pytest.mark.parametrize("term", words.glossary().values(), ids=lambda term: term.id)
def test_a_meaning_is_one_short_sentence(term):
    assert len(term.meaning) <= 140
    assert term.meaning.endswith(".")
    assert ". " not in term.meaning
    assert term.meaning[0].isupper() or term.meaning[0].isdigit()


def test_meaning_by_word():
    assert words.meaning("TTFT") == words.meaning("time to first token")
    assert words.glossary()["ttft"].heading == "Time to first token (TTFT)"
    assert words.glossary()["prompt"].heading == "Prompt"
    with pytest.raises(KeyError):
        words.meaning("nonsense")


def test_no_word_means_two_things():
    spelled = [w.casefold() for t in words.glossary().values() for w in (t.term, t.short) if w]
    assert len(set(spelled)) == len(spelled)


def test_sources_are_known_and_used():
    used = {
        *(entry.source for entry in words.glossary().values()),
        *(entry.source for entry in words.misconceptions().values()),
        *(lever.source for lever in levers.LEVERS),
        streaming.READING_SOURCE,
    } - {""}
    assert used == set(words.sources())
    for source in words.sources().values():
        assert re.fullmatch(r"https://[\w./-]+", source.url)
        assert str(source.year) in source.id
    for needed in ("vaswani-2017", "shazeer-2019", "kwon-2023", "ainslie-2023", "pope-2022"):
        assert needed in used
    assert words.sources()["pope-2022"].cited == "Pope et al. 2022"


def test_figures_in_the_words():
    """Texts state some results; they must be those that the pages compute."""
    believed = words.misconceptions()
    table = levers.compare(8192, 16).set_index("id")["load_bytes"]
    assert f"{table['mha'] / 1e9:.1f} GB" in believed["weights_only"].truth
    speeds = streaming.speeds(Scenario(model="lesson-7b-mha", device="lesson", concurrency=1))
    mha = speeds.query("attention == 'MHA'").set_index("context_tokens")["tokens_per_s"]
    for context in (1_000, 32_000):
        assert f"{mha[context]:.1f}" in believed["one_speed"].truth
    assert f"{streaming.READING_WORDS_PER_MINUTE} English" in words.meaning("reading speed")
    assert round(streaming.READING_TOKENS_PER_SECOND) == 5
    assert f"{allocation.BLOCK_TOKENS} tokens" in words.meaning("block")
    for context in streaming.LESSON_CONTEXTS:
        assert f"{context:,}" in words.pages()["speed"].move


def test_texts_are_plain():
    """No markup and no stray spaces: pages show the texts as they are."""
    prose = ("title", "lead", "move", "see", "what", "term", "meaning", "claim", "truth", "text")
    entries = [entry for kind in KINDS for entry in kind().values()]
    texts = [getattr(e, field) for e in entries for field in prose if hasattr(e, field)]
    for question in questions.numbers(0):
        texts += [question.text, question.note, question.slip, *question.worked]
    for question in questions.choices(0):
        texts += [question.text, *(o.text for o in question.options)]
        texts += [option.note for option in question.options]
    for text in texts:
        assert text == text.strip()
        assert not re.search(r"[*_`<>{}|\\$]|  |\n", text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"page": "nowhere"}, "no page"),
        ({"source": "nobody-1900"}, "no source"),
        ({"extra": "x"}, "unknown"),
        ({"claim": 3}, "claim is of the wrong kind"),
    ],
)
def test_schema(change, says):
    row = {"id": "x", "page": "why", "claim": "c", "truth": "t", **change}
    with pytest.raises(ValueError, match=says):
        words.build(row, words.Misconception)


def test_a_missing_field_is_named():
    with pytest.raises(ValueError, match="truth"):
        words.build({"id": "x", "page": "why", "claim": "c"}, words.Misconception)
