"""The lesson's words: pages, glossary, misconceptions, remedies and more, read from data.

They are in presets/glossary, a file for each kind. An entry refers to a page or a source by its id;
a reference that leads nowhere is a ValueError when the file is read.
"""

import re
from dataclasses import MISSING, dataclass, fields
from functools import cache

from planner import files


@dataclass(frozen=True)
class Page:
    """A Learn page: what it says, the one thing to move and where to look.

    None of its texts holds a result, so that they can stand beside a question.
    """

    id: str
    title: str
    lead: str
    move: str
    see: str


@dataclass(frozen=True)
class Source:
    """A published work and what the lesson takes from it."""

    id: str
    title: str
    authors: str
    year: int
    url: str
    what: str

    @property
    def cited(self):
        """As a text names it: “Pope et al. 2022”."""
        return f"{self.authors} {self.year}"


@dataclass(frozen=True)
class Term:
    """A term of the field in one plain sentence, with its abbreviation and source if it has one."""

    id: str
    term: str
    meaning: str
    short: str = ""
    source: str = ""

    @property
    def heading(self):
        """“Time to first token (TTFT)”."""
        return f"{self.term} ({self.short})" if self.short else self.term


@dataclass(frozen=True)
class Misconception:
    """What is often believed, how it is, and the page that shows it."""

    id: str
    page: str
    claim: str
    truth: str
    source: str = ""


@dataclass(frozen=True)
class Takeaway:
    """What should stay of a page."""

    id: str
    page: str
    text: str


@dataclass(frozen=True)
class Objective:
    """What a learner can do at the end, and the page where it is mostly learnt."""

    id: str
    page: str
    text: str


@dataclass(frozen=True)
class Reason:
    """One reason why the cache is what inference engineering turns about."""

    id: str
    page: str
    text: str


@dataclass(frozen=True)
class Remedy:
    """What helps against a slow answer. symptom: FIRST or STREAM, what is slow without it."""

    id: str
    symptom: str
    text: str
    why: str
    risk: str
    source: str = ""

    @property
    def phase(self):
        """The phase that it acts on."""
        return PHASES[self.symptom]


@dataclass(frozen=True)
class Measure:
    """A way to shrink, share or limit the cache: what it does and what it risks."""

    id: str
    page: str
    text: str
    gain: str
    risk: str
    source: str = ""


FIRST, STREAM = "first", "stream"
PHASES = {FIRST: "prefill", STREAM: "decode"}
FRONT = "lesson"  # the front page, which has every term and no takeaway of its own
REMEDIES_ON = ("phases", "diagnose")  # the pages that show them


@cache
def pages() -> dict[str, Page]:
    """The Learn pages by id, in the lesson's order."""
    return _read("pages.toml", Page)


@cache
def sources() -> dict[str, Source]:
    """Every source by id."""
    return _read("sources.toml", Source)


@cache
def glossary() -> dict[str, Term]:
    """Every term by id, in the order in which the lesson needs them."""
    return _read("terms.toml", Term)


@cache
def misconceptions() -> dict[str, Misconception]:
    """Every misconception by id."""
    return _read("misconceptions.toml", Misconception)


@cache
def takeaways() -> dict[str, Takeaway]:
    """Every takeaway by id."""
    return _read("takeaways.toml", Takeaway)


@cache
def objectives() -> dict[str, Objective]:
    """What a learner can do at the end, by id."""
    return _read("objectives.toml", Objective)


@cache
def reasons() -> dict[str, Reason]:
    """Why the cache matters, by id."""
    return _read("reasons.toml", Reason)


@cache
def remedies() -> dict[str, Remedy]:
    """Every remedy by id, those for the first token first."""
    return _read("remedies.toml", Remedy)


@cache
def measures() -> dict[str, Measure]:
    """Every way to shrink, share or limit the cache by id."""
    return _read("measures.toml", Measure)


def meaning(word: str) -> str:
    """The sentence for a term as it stands on screen, spelled out or short; KeyError if unknown."""
    return _by_word()[word.casefold()].meaning


@cache
def _by_word():
    found = {}
    for term in glossary().values():
        for word in (term.term, term.short):
            if word:
                found[word.casefold()] = term
    return found


def explained(text: str) -> list[tuple[str, str]]:
    """A text in pieces, each with the meaning of the term it is, or "" where it is none.

    A term is explained where it first stands, in the singular or with an s. Joined again the pieces
    are the text.
    """
    pieces, seen, end = [], set(), 0
    for found in _terms_pattern().finditer(text):
        term = _by_word()[found[1].casefold()]
        if term.id not in seen:
            seen.add(term.id)
            pieces += [(text[end : found.start()], ""), (found[0], term.meaning)]
            end = found.end()
    return [*pieces, (text[end:], "")]


@cache
def of_page(page: str) -> tuple[tuple[Misconception, ...], tuple[Takeaway, ...], tuple[Term, ...]]:
    """What belongs to a page: misconceptions, takeaways, and the terms that its texts use.

    The front page has the whole glossary.
    """
    if page == FRONT:
        return (), (), tuple(glossary().values())
    believed = tuple(each for each in misconceptions().values() if each.page == page)
    kept = tuple(each for each in takeaways().values() if each.page == page)
    entry = pages()[page]
    texts = [entry.title, entry.lead, entry.move, entry.see, *(each.text for each in kept)]
    texts += [text for each in believed for text in (each.claim, each.truth)]
    texts += [t for m in measures().values() if m.page == page for t in (m.text, m.gain, m.risk)]
    if page in REMEDIES_ON:
        texts += [t for r in remedies().values() for t in (r.text, r.why, r.risk)]
    used = {_by_word()[m[1].casefold()].id for t in texts for m in _terms_pattern().finditer(t)}
    return believed, kept, tuple(term for term in glossary().values() if term.id in used)


@cache
def _terms_pattern():
    spelled = sorted((word for word in _by_word() if len(word) > 1), key=len, reverse=True)
    # Not in a unit: “tokens/s” is no place to explain a token.
    return re.compile(rf"\b({'|'.join(map(re.escape, spelled))})s?\b(?!/)", re.IGNORECASE)


def _read(name, kind):
    rows = files.toml(f"glossary/{name}")["entry"]
    found = {}
    for row in rows:
        entry = build(row, kind)
        if entry.id in found:
            raise ValueError(f"{name}: “{entry.id}” is there twice")
        found[entry.id] = entry
    return found


def build(row: dict, kind: type):
    """One entry from its row; ValueError where a field is missing, unknown or leads nowhere."""
    name = row.get("id", "an entry without an id")
    known = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if needed - row.keys() or row.keys() - known:
        raise ValueError(f"{name}: missing or unknown {sorted(row.keys() ^ needed)}")
    for field in fields(kind):
        if not isinstance(row.get(field.name, field.default), field.type):
            raise ValueError(f"{name}: {field.name} is of the wrong kind")
    if "page" in row and row["page"] not in pages():
        raise ValueError(f"{name}: no page “{row['page']}”")
    if "source" in row and row["source"] not in sources():
        raise ValueError(f"{name}: no source “{row['source']}”")
    if "symptom" in row and row["symptom"] not in PHASES:
        raise ValueError(f"{name}: no symptom “{row['symptom']}”")
    return kind(**row)
