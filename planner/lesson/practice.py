"""Fit it and diagnose: tasks and cards, which are data, and what the planner makes of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from urllib.parse import parse_qsl

from planner import files
from planner.inputs import scenario
from planner.inputs.scenario import Scenario
from planner.lesson import words
from planner.plan import Plan, plan

TASK_FIELDS = {"id": str, "text": str, "start": str, "speed": int, "lever": list}
LEVER_FIELDS = {"id": str, "text": str, "set": str, "price": str}
CARD_FIELDS = {"id": str, "title": str, "text": str, "symptom": str, "why": str}
REMEDIES = 2  # to be named on a card


@dataclass(frozen=True)
class Pull:
    """A lever of a task. `set` holds the values of a plan's link that it replaces."""

    id: str
    text: str
    set: str
    price: str


@dataclass(frozen=True)
class Outcome:
    """A task with some levers pulled: the plan, and which of its goals are met."""

    plan: Plan
    fits: bool
    fast: bool

    @property
    def solved(self):
        return self.fits and self.fast


@dataclass(frozen=True)
class Task:
    """A load, a device and a goal. `speed`: tokens/s each user must get, 0 for no demand."""

    id: str
    text: str
    start: str
    speed: int
    levers: tuple[Pull, ...]

    def scenario(self, pulled: Iterable[str]) -> Scenario:
        """The plan's inputs with the levers of those ids pulled, in the order of the task."""
        values = dict(parse_qsl(self.start))
        for lever in self.levers:
            if lever.id in pulled:
                values |= dict(parse_qsl(lever.set))
        found, notices = scenario.decode({name: [text] for name, text in values.items()})
        if notices:
            raise ValueError(f"{self.id}: {notices[0].text}")
        return found

    def outcome(self, pulled: Iterable[str]) -> Outcome:
        """What the planner makes of it."""
        own = plan(self.scenario(pulled))
        return Outcome(own, bool(own.fits), bool(own.tokens_per_s_per_request >= self.speed))


@dataclass(frozen=True)
class Card:
    """What users see. The remedies of its symptom are the right ones."""

    id: str
    title: str
    text: str
    symptom: str
    why: str

    @property
    def phase(self):
        return words.PHASES[self.symptom]

    def right(self, remedies: Iterable[str]) -> bool:
        """Whether REMEDIES were named and all of them act on the card's phase."""
        named = [words.remedies()[each] for each in remedies]
        return len(named) == REMEDIES and all(each.symptom == self.symptom for each in named)


@cache
def tasks() -> dict[str, Task]:
    """Every task by id."""
    found = {}
    for row in files.toml("lesson/tasks.toml")["task"]:
        _validate(row, TASK_FIELDS)
        for lever in row["lever"]:
            _validate(lever, LEVER_FIELDS)
        levers = tuple(Pull(**lever) for lever in row["lever"])
        found[row["id"]] = Task(row["id"], row["text"], row["start"], row["speed"], levers)
    return found


@cache
def fewest(task: str) -> tuple[tuple[str, ...], ...]:
    """Every way to solve a task with as few levers as it can be."""
    own = tasks()[task]
    names = [lever.id for lever in own.levers]
    for count in range(len(names) + 1):
        found = [each for each in combinations(names, count) if own.outcome(each).solved]
        if found:
            return tuple(found)
    return ()


@cache
def cards() -> dict[str, Card]:
    """Every card by id."""
    found = {}
    for row in files.toml("lesson/cards.toml")["card"]:
        _validate(row, CARD_FIELDS)
        if row["symptom"] not in words.PHASES:
            raise ValueError(f"{row['id']}: no symptom “{row['symptom']}”")
        found[row["id"]] = Card(**row)
    return found


def _validate(row, fields):
    name = row.get("id", "an entry without an id")
    if row.keys() != fields.keys():
        raise ValueError(f"{name}: fields {sorted(row.keys() ^ fields.keys())} missing or unknown")
    for field, kind in fields.items():
        if not isinstance(row[field], kind) or row[field] == "":
            raise ValueError(f"{name}: {field} is empty or of the wrong kind")
