"""The lesson's words: every reference leads somewhere, every figure named is the formulas' own."""

import re
import subprocess
import sys

import pytest

from planner import files
from planner.inputs.scenario import Scenario
from planner.lesson import allocation, levers, questions, streaming, words

KINDS = (
    words.pages, words.sources, words.glossary, words.misconceptions, words.takeaways,
    words.objectives, words.reasons, words.remedies, words.measures,
)  # fmt: skip
LEARN = [page for page in words.pages() if page not in ("lesson", "check")]


def test_pages_are_in_the_order_of_the_lesson():
    taught = ["why", "stored", "past", "proof", "phases", "cost", "managing", "speed"]
    assert list(words.pages()) == ["lesson", *taught, "fit", "diagnose", "knee", "check"]


def test_enough_of_everything():
    assert len(words.glossary()) >= 40
    assert len(words.misconceptions()) >= 10
    assert len(words.objectives()) == 4
    assert len(words.reasons()) == 3
    for symptom in words.PHASES:
        assert len([r for r in words.remedies().values() if r.symptom == symptom]) >= 3
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
        *(entry.source for entry in words.remedies().values()),
        *(entry.source for entry in words.measures().values()),
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


def test_what_stands_beside_a_question_holds_no_result():
    for page in words.pages().values():
        assert not re.search(r"\d", page.see)
        assert not re.search(r"\d+\.\d|GB|millionth", page.lead + page.move)


def test_the_program_prints_what_the_page_shows():
    path = files.PRESETS / "lesson" / "program.py"
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert done.stdout == files.text("lesson/program.txt")
    for result in ("496", "240", "2.07", "610.66", "524,288", "68.72 GB", "17.18 GB", "67.11 GB",
                   "14.5 ms", "18.3 ms", "30.8 ms", "14.1 ms", "15.1 ms", "18.2 ms"):  # fmt: skip
        assert result in done.stdout


def test_a_term_is_explained_by_its_own_meaning():
    """Longer terms win: the width of a head is not that of the model, nor one weight another."""
    assert ("attention weights", words.meaning("attention weight")) in words.explained(
        "Its attention weights are not stored."
    )
    texts = [text for page in words.pages().values() for text in (page.lead, page.see, page.move)]
    texts += [entry.text for entry in words.takeaways().values() if entry.page != "why"]
    assert not any(
        re.search(r"\bwidth\b", text) for text in texts if "width of the model" not in text
    )


def test_texts_are_plain():
    """No markup and no stray spaces: pages show the texts as they are."""
    prose = ("title", "lead", "move", "see", "what", "term", "meaning", "claim", "truth", "text",
             "why", "risk", "gain")  # fmt: skip
    entries = [entry for kind in KINDS for entry in kind().values()]
    texts = [getattr(e, field) for e in entries for field in prose if hasattr(e, field)]
    for question in questions.numbers(0):
        texts += [question.text, question.note, question.slip, question.hint, *question.worked]
    for question in questions.choices(0):
        texts += [question.text, question.hint, *(o.text for o in question.options)]
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
