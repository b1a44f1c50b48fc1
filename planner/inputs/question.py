"""Predict first: a page's state shared as a question, its answer held back until there is a guess.

A link names the figures to hide (`ask=step,cache`) and may carry a sentence of the teacher's
(`say=`), plain text of at most SAY_LENGTH signs. It may say besides in which room a class guesses
(`room=`, a word) and which stop of the guided path it is (`stop=`, a number). All of this belongs
to the page as well as its state does.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.inputs.link import Notice
from planner.models.notation import shorten

PARAMETERS = ("ask", "say", "room", "stop")
SAY_LENGTH = 140
ROOM = r"[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])"  # a room's word, as a link and a teacher say it
FITS, NOT = "fits", "does not fit"
HIDDEN = "?"  # in the place of a figure


@dataclass(frozen=True)
class Figure:
    """One figure as a page shows it: what a link calls it, what it is, and the value as printed.

    value: in `unit`, the unit a guess is made in; None where the figure can only be shown. options:
    the answers to choose from where it is no number; then `text` is one of them. also: figures that
    say the same in other words, hidden with it. note: what the value is, or the ends of its band.
    """

    id: str
    label: str
    text: str
    help: str = ""
    value: float | None = None
    unit: str = ""
    options: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    note: str = ""

    @property
    def askable(self):
        return self.value is not None or bool(self.options)


@dataclass(frozen=True)
class Question:
    """What a link asks, and the guesses made so far in this session.

    room: the class's word, where guesses are gathered. stop: of the guided path, 0 for none.
    revealed: whether the answer was shown without a guess.
    """

    ask: tuple[str, ...] = ()
    say: str = ""
    guesses: Mapping[str, float | str] = field(default_factory=dict)
    room: str = ""
    stop: int = 0
    revealed: bool = False

    @property
    def waiting(self) -> tuple[str, ...]:
        """The figures that still wait for a guess."""
        return () if self.revealed else tuple(n for n in self.ask if n not in self.guesses)

    @property
    def open(self) -> tuple[str, ...]:
        """The figures whose answer is not told yet: in a room all, until it is for everybody."""
        return self.ask if self.room and not self.revealed else self.waiting

    def hidden(self, figures: Iterable[Figure]) -> frozenset[str]:
        """What must not be seen yet: open figures and those that say the same."""
        known = {figure.id: figure for figure in figures}
        return frozenset(
            each for name in self.open if name in known for each in (name, *known[name].also)
        )

    def guessed(self, name: str, value: float | str) -> "Question":
        """The question with one guess more."""
        return replace(self, guesses={**self.guesses, name: value})

    def parameters(self) -> dict[str, str]:
        """What a link needs besides the state; nothing where nothing is asked."""
        stop = str(self.stop) if self.stop else ""
        given = {"ask": ",".join(self.ask), "say": self.say, "room": self.room, "stop": stop}
        return {name: text for name, text in given.items() if text}


def split(query: Mapping[str, Sequence[str]], extra: Iterable[str] = ()):
    """A query's own parameters of a page, and those of its question (and of `extra`)."""
    shared = {*PARAMETERS, *extra}
    return (
        {name: values for name, values in query.items() if name not in shared},
        {name: values for name, values in query.items() if name in shared},
    )


def decode(
    query: Mapping[str, Sequence[str]], askable: Sequence[str]
) -> tuple[Question, tuple[Notice, ...]]:
    """The question in a link, and what of it could not be taken. Never raises."""
    notices = []
    names = [name for text in query.get("ask", ()) for name in text.split(",") if name]
    unknown = [name for name in dict.fromkeys(names) if name not in askable]
    if unknown:
        listed = ", ".join(f"“{shorten(name, 20)}”" for name in unknown[:5])
        notices.append(Notice("ask", f"Not a figure of this page: {listed}", "not asked"))
    sentence = next(iter(query.get("say", ())), "")
    say = plain(sentence)
    if len(say) < len(sentence.strip()):
        text = f"The sentence is longer than {SAY_LENGTH} signs"
        notices.append(Notice("say", text, "it was cut"))
    room = next(iter(query.get("room", ())), "").strip().lower()
    if room and not re.fullmatch(ROOM, room):
        text = f"“{shorten(room, 20)}” is no word for a room"
        notices.append(Notice("room", text, "guesses stay in this browser"))
        room = ""
    stop = next(iter(query.get("stop", ())), "")
    if stop and not re.fullmatch(r"[1-9]\d?", stop, re.ASCII):
        notices.append(Notice("stop", f"“{shorten(stop, 20)}” is no stop", "left aside"))
        stop = ""
    ask = tuple(name for name in askable if name in names)
    return Question(ask, say, room=room, stop=int(stop or 0)), tuple(notices)


def plain(sentence: str) -> str:
    """A sentence as a link may carry it: one line, printable, not too long."""
    return shorten(sentence.strip(), SAY_LENGTH).strip()


def compared(figure: Figure, guess: float | str) -> str:
    """Guess and answer side by side, in a sentence."""
    if figure.options:
        verdict = "as you said" if guess == figure.text else f"you said: {guess}"
        return f"{figure.label}: {figure.text}; {verdict}."
    shown = f"{figure.label}: {figure.text}. Your guess: {guess:,.6g} {figure.unit}".rstrip()
    if not guess or not figure.value or guess < 0 or figure.value < 0:
        return f"{shown}."
    ratio = guess / figure.value
    if math.isclose(ratio, 1, rel_tol=0.05):
        return f"{shown}, within 5 %."
    times = max(ratio, 1 / ratio)
    return f"{shown}, {times:,.3g} times too {'much' if ratio > 1 else 'little'}."


@dataclass(frozen=True)
class Mark:
    """Where a guess stands on a chart's axis, and the words beside it."""

    at: float
    label: str


def mark(guess: float, low: float, high: float, start: float = 0) -> Mark:
    """A guess on an axis from low to high; at its end, and saying so, where it lies beyond.

    start: where on the axis the guessed amount begins.
    """
    at = min(max(start + guess, low), high)
    beyond = "" if at == start + guess else " (off the axis)"
    return Mark(at, f"your guess: {guess:,.4g}{beyond}")
