"""The guided path: pages in certain states, each with a question, in the order of a class.

Stops are data (presets/lesson/stops.toml); the head of that file says what each field means. A link
names the stop that it belongs to by its number, from 1.
"""

from dataclasses import dataclass
from functools import cache
from urllib.parse import parse_qsl, urlencode

from planner import files
from planner.inputs import scenario
from planner.inputs.question import SAY_LENGTH, Question, plain
from planner.lesson import plan_questions, states, views, words

PLAN = "plan"
OWN = {
    "check": "seed"
}  # what the stops of a page leave to whoever comes there: numbers of one's own
FIELDS = {
    "page": str,
    "state": str,
    "ask": list,
    "say": str,
    "tell": str,
    "minutes": int,
    "board": int,
}


@dataclass(frozen=True)
class Stop:
    """One stop. `query` is the page's state as its own link writes it, but for what is OWN."""

    number: int
    page: str
    query: str
    ask: tuple[str, ...]
    say: str
    tell: str
    minutes: int
    board: int = 1

    @property
    def title(self):
        """The page's title; the planner is a page of its own."""
        return "The planner" if self.page == PLAN else words.pages()[self.page].title

    @property
    def question(self) -> Question:
        """The stop's question, in no room."""
        return Question(self.ask, self.say, stop=self.number)


@cache
def stops() -> tuple[Stop, ...]:
    """Every stop in order; ValueError, naming it, where one is not as the head of the file says."""
    rows = files.toml("lesson/stops.toml")["stop"]
    return tuple(build(row, number) for number, row in enumerate(rows, 1))


def stop(page: str, number: int) -> Stop | None:
    """The stop of that number, where it is on that page."""
    found = stops()[number - 1] if 1 <= number <= len(stops()) else None
    return found if found and found.page == page else None


def build(row: dict, number: int) -> Stop:
    """One stop from its row."""
    name, row = f"stop {number}", {"board": 1, **row}
    if row.keys() != FIELDS.keys():
        raise ValueError(f"{name}: missing or unknown {sorted(row.keys() ^ FIELDS.keys())}")
    for field, kind in FIELDS.items():
        if not isinstance(row[field], kind):
            raise ValueError(f"{name}: {field} is of the wrong kind")
    if row["page"] != PLAN and row["page"] not in states.PAGES:
        raise ValueError(f"{name}: no page “{row['page']}”")
    query, askable, notices = _opened(row["page"], row["state"])
    if notices:
        raise ValueError(f"{name}: {notices[0].text}")
    if set(row["ask"]) - set(askable):
        raise ValueError(f"{name}: cannot ask for {sorted(set(row['ask']) - set(askable))}")
    if not row["say"] or plain(row["say"]) != row["say"]:
        raise ValueError(f"{name}: a question of one line, at most {SAY_LENGTH} characters")
    if not row["tell"] or row["minutes"] < 1:
        raise ValueError(f"{name}: a sentence to tell, and at least a minute")
    ask, say, tell = tuple(row["ask"]), row["say"], row["tell"]
    return Stop(number, row["page"], query, ask, say, tell, row["minutes"], row["board"])


def _opened(page, state):
    """A page's whole query, the figures that can be asked of it, and what was wrong."""
    if page == PLAN:
        found, notices = scenario.decode(state)
        return scenario.encode(found), plan_questions.ASKABLE, notices
    values, notices = states.decode(page, state)
    figures = views.of(page, values).figures
    query = urlencode(
        [part for part in parse_qsl(states.encode(page, values)) if part[0] != OWN.get(page)]
    )
    return query, [each.id for each in figures if each.askable], notices
