"""Up to four scenarios side by side, and the one link that holds them all.

    ?v=1&a=<scenario>&an=<its name>&b=<scenario>&bm=<a mistake>&say=<a sentence>

Each scenario is the query of its own link, percent-encoded. As with a scenario's link, a name once
used keeps its meaning, and nothing in a link can make reading it fail.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner import describe
from planner.compare import mistakes
from planner.inputs import presets, question, scenario, strict
from planner.inputs.link import Notice, collect, write
from planner.inputs.scenario import Scenario
from planner.models.notation import shorten

LETTERS = "abcd"
NAME_LENGTH = 30
SAY_LENGTH = question.SAY_LENGTH
MAX_QUERY = 64_000  # characters; four plans, percent-encoded
# What a plan without a title is called by, as far as it is not the same in all.
TELLING = (
    lambda own: own.the_model.name,
    describe.device,
    lambda own: own.the_engine.name,
    lambda own: presets.weight_format(own.weights).name,
    lambda own: f"{describe.cache_format(own)} cache",
    lambda own: describe.requests(own.concurrency),
    lambda own: f"{describe.whole(own.context)} tokens",
    lambda own: describe.layout(own.layout),
)
PARAMETERS = {letter + kind for letter in LETTERS for kind in ("", "n", "m")} | {"say"}


def plain(name: str) -> str:
    """A name as a link may carry it: one line, printable, not too long."""
    return shorten(name.strip(), NAME_LENGTH).strip()


@dataclass(frozen=True)
class Variant:
    """A scenario in a comparison: its name, and the known mistake it is reckoned with, if any.

    Raises ValueError on a name that is not plain text or a mistake that is not known.
    """

    scenario: Scenario
    name: str = ""
    mistake: str = ""

    def __post_init__(self):
        if plain(self.name) != self.name:
            raise ValueError(f"name: at most {NAME_LENGTH} printable characters")
        if self.mistake and self.mistake not in mistakes.KNOWN:
            raise ValueError(f"mistake: “{shorten(self.mistake)}” is not known")

    @property
    def title(self) -> str:
        """What it is called: its name, or else the mistake's; plainly wrong where it is."""
        if not self.mistake:
            return self.name
        return f"{self.name or mistakes.KNOWN[self.mistake].label} (wrong)"


@dataclass(frozen=True)
class Comparison:
    """Variants A to D in their order, and a sentence on what to look at.

    Raises ValueError where there are too many, or the sentence is not plain text.
    """

    variants: tuple[Variant, ...] = ()
    say: str = ""

    def __post_init__(self):
        if len(self.variants) > len(LETTERS):
            raise ValueError(f"at most {len(LETTERS)} scenarios are compared")
        if question.plain(self.say) != self.say:
            raise ValueError(f"say: at most {SAY_LENGTH} printable characters")

    @property
    def full(self) -> bool:
        return len(self.variants) == len(LETTERS)

    def names(self) -> tuple[str, ...]:
        """What each variant is called in a sentence: its title, else what sets it apart, else A."""
        parts = [[write(each.scenario) for write in TELLING] for each in self.variants]
        apart = [place for place, told in enumerate(zip(*parts, strict=True)) if len({*told}) > 1]
        for most in range(1, len(apart) + 1):  # as few words as tell all of them apart
            told = [tuple(own[place] for place in apart[:most]) for own in parts]
            if len({*told}) == len(told):
                break
        else:
            told = [()] * len(parts)
        found = [
            each.title or shorten(", ".join(own), NAME_LENGTH) or letter.upper()
            for letter, each, own in zip(LETTERS, self.variants, told, strict=False)
        ]
        return tuple(
            name if found.count(name) == 1 else f"{letter.upper()}: {name}"
            for letter, name in zip(LETTERS, found, strict=False)
        )

    def labels(self) -> tuple[str, ...]:
        """What each variant is called beside the others: its letter and its name."""
        letters = [letter.upper() for letter in LETTERS]
        return tuple(
            name if name == letter or name.startswith(f"{letter}: ") else f"{letter}: {name}"
            for letter, name in zip(letters, self.names(), strict=False)
        )

    def named(self) -> tuple[str, ...]:
        """As `labels`, for where nothing else is seen: a plan without a name by its model."""
        return tuple(
            label if len(label) > 1 else f"{label}: {each.scenario.the_model.name}"
            for label, each in zip(self.labels(), self.variants, strict=True)
        )

    def holds(self, other: Scenario) -> bool:
        """Whether a scenario is among the variants, computed correctly."""
        return any(each.scenario == other and not each.mistake for each in self.variants)

    def added(self, *variants: Variant) -> "Comparison":
        return replace(self, variants=(*self.variants, *variants))

    def removed(self, place: int) -> "Comparison":
        return replace(self, variants=self.variants[:place] + self.variants[place + 1 :])

    def swapped(self, place: int) -> "Comparison":
        """The comparison with one variant before the one that it now follows."""
        order = list(self.variants)
        order[place - 1 : place + 1] = reversed(order[place - 1 : place + 1])
        return replace(self, variants=tuple(order))

    def renamed(self, place: int, name: str) -> "Comparison":
        order = list(self.variants)
        order[place] = replace(order[place], name=plain(name))
        return replace(self, variants=tuple(order))


def encode(comparison: Comparison) -> str:
    """The query string that holds the whole comparison."""
    given = {}
    for letter, each in zip(LETTERS, comparison.variants, strict=False):
        parts = {"": scenario.encode(each.scenario), "n": each.name, "m": each.mistake}
        given |= {letter + kind: text for kind, text in parts.items() if text}
    if comparison.say:
        given["say"] = comparison.say
    return write(given)


def decode(query: str | Mapping[str, Sequence[str]]) -> tuple[Comparison, tuple[Notice, ...]]:
    """The comparison that a link holds, and what in it could not be taken as it stands.

    Never raises. Letters that are left out are closed up. `query` is the text after the question
    mark or its values by name.
    """
    given, notices = collect(query, PARAMETERS)
    variants = []
    for letter in LETTERS:
        name, mistake = given.get(f"{letter}n", ""), given.get(f"{letter}m", "")
        if letter not in given:
            parts = {f"{letter}n": name, f"{letter}m": mistake}
            text = f"There is no scenario “{letter}” that this could belong to"
            notices += [Notice(each, text) for each, said in parts.items() if said]
            continue
        found, wrong = scenario.decode(given[letter])
        for each in wrong:
            where = f"{letter}, {each.parameter}" if each.parameter else letter
            notices.append(replace(each, parameter=where))
        if len(plain(name)) < len(name):
            text = f"Longer than {NAME_LENGTH} characters"
            notices.append(Notice(f"{letter}n", text, "it was cut"))
        if mistake and mistake not in mistakes.KNOWN:
            text = f"“{shorten(mistake)}” is no known mistake"
            notices.append(Notice(f"{letter}m", text, "the scenario is computed correctly"))
            mistake = ""
        variants.append(Variant(found, plain(name), mistake))
    said = given.get("say", "")
    if len(question.plain(said)) < len(said):
        text = f"Longer than {SAY_LENGTH} characters"
        notices.append(Notice("say", text, "it was cut"))
    return Comparison(tuple(variants), question.plain(said)), tuple(notices)


def read(query: str) -> strict.Read:
    """Read a comparison for a program: from the text after a question mark. Never raises."""
    return strict.read_query(query, _decode_some, MAX_QUERY, own=("say",))


def _decode_some(values):
    found, notices = decode(values)
    nothing = () if found.variants else (Notice("", "Nothing is compared here"),)
    return found, (*nothing, *notices)


def is_comparison(query: str) -> bool:
    """Whether a query is that of a comparison."""
    names = {part.partition("=")[0] for part in query.split("&")}
    return not names.isdisjoint(LETTERS)
