"""A class that guesses together: guesses in memory, without names, gone after an hour.

A room is a word. A guess belongs to a room, a question (a page in a certain state) and a figure of
it, and to a browser, by a random mark that says nothing of who sits before it.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

KEPT_S = 3600
MOST_QUESTIONS = 1000  # of all rooms; the stalest makes room for a new one
MOST_GUESSES = 1000  # at one question
FIRST = ("amber", "blue", "calm", "early", "green", "ivory", "quiet", "silver", "swift", "warm")
SECOND = ("anchor", "bridge", "comet", "forest", "harbour", "island", "lantern", "otter", "river")


@dataclass
class _Record:
    """One question in one room: when it began, each browser's guesses, and whether it is open."""

    since: float
    guesses: dict[str, dict[str, float | str]] = field(default_factory=dict)
    revealed: bool = False


class Rooms:
    """All rooms of a server. Every method may be called from any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._lock = threading.Lock()
        self._records: dict[tuple[str, str], _Record] = {}
        self._stops: dict[str, tuple[float, int]] = {}  # room -> since when, and the stop

    def guess(self, room: str, question: str, who: str, figure: str, value: float | str) -> bool:
        """Take a guess; the first of a browser counts. False where it came too late or is one more.

        who: the browser's mark. value: a number, or one of the figure's options.
        """
        with self._lock:
            record = self._record(room, question)
            full = who not in record.guesses and len(record.guesses) >= MOST_GUESSES
            if record.revealed or full or figure in record.guesses.get(who, ()):
                return False
            record.guesses.setdefault(who, {})[figure] = value
            return True

    def guesses(self, room: str, question: str, figure: str) -> list[float | str]:
        """All guesses at a figure, in no order that says who made them."""
        with self._lock:
            found = self._record(room, question).guesses.values()
            values = [each[figure] for each in found if figure in each]
        return sorted(values, key=lambda value: (isinstance(value, str), value))

    def own(self, room: str, question: str, who: str) -> dict[str, float | str]:
        """What one browser has guessed, by figure."""
        with self._lock:
            return dict(self._record(room, question).guesses.get(who, {}))

    def count(self, room: str, question: str) -> int:
        """How many browsers have guessed."""
        with self._lock:
            return len(self._record(room, question).guesses)

    def reveal(self, room: str, question: str):
        """Open a question for all who are in the room."""
        with self._lock:
            self._record(room, question).revealed = True

    def revealed(self, room: str, question: str) -> bool:
        """Whether a question is open."""
        with self._lock:
            return self._record(room, question).revealed

    def lead(self, room: str, stop: int):
        """Say at which stop of the path the presenter is; the room follows."""
        with self._lock:
            self._forget()
            if len(self._stops) < MOST_QUESTIONS or room in self._stops:
                self._stops[room] = (self._now(), stop)

    def stop(self, room: str) -> int:
        """Where the presenter of a room is, 0 where that is not known."""
        with self._lock:
            self._forget()
            return self._stops.get(room, (0, 0))[1]

    def _record(self, room, question):
        self._forget()
        key = (room, question)
        if key not in self._records:
            if len(self._records) >= MOST_QUESTIONS:
                stalest = min(self._records, key=lambda each: self._records[each].since)
                del self._records[stalest]
            self._records[key] = _Record(self._now())
        return self._records[key]

    def _forget(self):
        """Drop what began more than an hour ago."""
        before = self._now() - KEPT_S
        for key in [key for key, record in self._records.items() if record.since < before]:
            del self._records[key]
        for room in [room for room, (since, _) in self._stops.items() if since < before]:
            del self._stops[room]


def word(rng: random.Random | None = None) -> str:
    """A word for a new room, easy to say: “calm-otter-41”."""
    rng = rng or random.SystemRandom()
    return f"{rng.choice(FIRST)}-{rng.choice(SECOND)}-{rng.randrange(10, 100)}"


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram, from `low` to below `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Histogram:
    """Guesses in bars of equal width, on a logarithmic axis where they span more than a decade."""

    bins: tuple[Bin, ...]
    log: bool

    def place(self, value: float) -> float:
        """Where a value lies along the bars, 0 to 1; at an end where it lies beyond."""
        low, high = self.bins[0].low, self.bins[-1].high
        if self.log:
            value, low, high = (math.log10(max(each, low)) for each in (value, low, high))
        return min(max((value - low) / (high - low), 0.0), 1.0)


def histogram(values: Sequence[float], truth: float | None = None, bars: int = 12) -> Histogram:
    """Bars over all guesses, and over the truth where it may be shown; at least one value."""
    reach = [*values, *([] if truth is None else [truth])]
    low, high = min(reach), max(reach)
    log = low > 0 and high / low > 10
    if log:
        low, high = math.log10(low), math.log10(high)
    room = (high - low) * 0.02 or abs(high) * 0.1 or 1.0  # so that the largest lies inside
    low, high = low - room, high + room
    edges = [low + (high - low) * at / bars for at in range(bars + 1)]
    counts = [0] * bars
    for value in values:
        at = (math.log10(value) if log else value) - low
        counts[min(int(bars * at / (high - low)), bars - 1)] += 1
    if log:
        edges = [10**edge for edge in edges]
    return Histogram(tuple(map(Bin, edges, edges[1:], counts)), log)
