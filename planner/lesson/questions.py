"""The knowledge check: questions drawn anew from a seed, marked, with the way to the answer.

Questions are data (presets/questions); their file heads say what each field means. A question with
numbers is answered by the function of its name in `planner.lesson.answers`. The draw depends on the
seed and the question's id alone, so a link keeps its numbers when questions are added.
"""

import inspect
import math
import random
import re
import string
from dataclasses import dataclass
from functools import cache

from planner import files
from planner.lesson import answers, words

RIGHT, SLIP, WRONG = "right", "slip", "wrong"
EDITION = 2  # of the questions; a link names the one that its dozen is drawn from
TRIES = 2  # at each question


@dataclass(frozen=True)
class NumberQuestion:
    """One question of numbers.toml as drawn: text and solution are filled in, `answer` is exact."""

    id: str
    page: str
    text: str
    unit: str
    tolerance: float
    answer: float
    worked: tuple[str, ...]
    slip_answer: float
    slip: str
    note: str
    hint: str
    edition: int

    @property
    def printed(self):
        """The answer as the solution prints it, with its unit."""
        return f"{figure(self.answer)} {self.unit}"

    def mark(self, given: float) -> str:
        """RIGHT within the tolerance, SLIP where `given` is what the usual mistake leads to."""
        if self._near(given, self.answer):
            return RIGHT
        return SLIP if self._near(given, self.slip_answer) else WRONG

    def _near(self, given, target):
        return math.isclose(given, target, rel_tol=self.tolerance)


@dataclass(frozen=True)
class Option:
    """A statement to choose, whether it is right, and the note shown once it was chosen."""

    text: str
    right: bool
    note: str


@dataclass(frozen=True)
class ChoiceQuestion:
    """One question of choices.toml, its options in the order that the seed gave them."""

    id: str
    page: str
    text: str
    options: tuple[Option, ...]
    hint: str
    edition: int

    def mark(self, chosen: int) -> str:
        """RIGHT or WRONG for the option at that place."""
        return RIGHT if self.options[chosen].right else WRONG


@dataclass(frozen=True)
class Standing:
    """How a question stands after some answers: their marks, first to last."""

    marks: tuple[str, ...]

    @property
    def right(self):
        """Whether the last answer was right."""
        return self.marks[-1:] == (RIGHT,)

    @property
    def done(self):
        """Whether the solution is shown: it is right, or there is no try left."""
        return self.right or len(self.marks) >= TRIES

    @property
    def at_once(self):
        """Whether the first answer was right."""
        return self.marks[:1] == (RIGHT,)


def standing(question: NumberQuestion | ChoiceQuestion, given: list) -> Standing:
    """Marks of the answers given: texts of numbers, or places of options; others do not count."""
    return Standing(tuple(mark for each in given[:TRIES] if (mark := _mark(question, each))))


def _mark(question, given):
    """The mark of an answer as a browser kept it; None for what is no answer to this question."""
    if isinstance(question, NumberQuestion):
        try:
            return question.mark(read_number(str(given)))
        except ValueError:
            return None
    there = isinstance(given, int) and 0 <= given < len(question.options)
    return question.mark(given) if there else None


def figure(value: float) -> str:
    """A number as solutions print it: whole numbers in full, others to four digits."""
    if abs(value - round(value)) < 1e-9 * max(1, abs(value)) or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.4g}"


def read_number(text: str) -> float:
    """The number that a student typed: 1,024 or 1 024 or 4.29e9. ValueError says what is wrong."""
    plain = text.strip().replace("\u00a0", " ").replace("−", "-")
    if re.fullmatch(r"-?\d{1,3}([, ])\d{3}(\1\d{3})*(\.\d+)?", plain):
        plain = re.sub("[, ]", "", plain)
    if re.fullmatch(r"-?\d+,\d+", plain):
        raise ValueError("Write decimals with a point: 4.29")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", plain, re.ASCII):
        raise ValueError("Write a number, without its unit")
    return float(plain)


def numbers(seed: int) -> tuple[NumberQuestion, ...]:
    """Every question with a number, drawn from the seed, in the order of the file."""
    return tuple(_draw(row, seed) for row in _number_rows())


def choices(seed: int) -> tuple[ChoiceQuestion, ...]:
    """Every question with options, in the order of the file, options in an order of the seed's."""
    return tuple(_shuffle(row, seed) for row in _choice_rows())


def check(seed: int, page: str | None = None) -> tuple[NumberQuestion | ChoiceQuestion, ...]:
    """The questions of one page, or of all in the lesson's order; numbers before choices."""
    found = (*numbers(seed), *choices(seed))
    if page is not None:
        return tuple(question for question in found if question.page == page)
    return _in_lesson_order(found)


def quiz(seed: int, count: int, edition: int = EDITION):
    """So many questions of all pages, picked by the seed as evenly as may be, in lesson order.

    edition: later questions are left out, so that an old link keeps its dozen.
    """
    rng = random.Random(f"{seed}:quiz")
    left = {
        page: [question for question in check(seed, page) if question.edition <= edition]
        for page in (*pages_of(edition), "check")  # which has none; old draws counted it
    }
    picked = []
    while len(picked) < count and any(left.values()):
        for page in _in_any_order(left, rng):
            if left[page] and len(picked) < count:
                picked.append(left[page].pop(int(rng.random() * len(left[page]))))
    return _in_lesson_order(picked)


@cache
def pages_of(edition: int = EDITION) -> tuple[str, ...]:
    """The pages that have questions in an edition, in the lesson's order."""
    rows = (*_number_rows(), *_choice_rows())
    with_some = {row["page"] for row in rows if row.get("edition", 1) <= edition}
    return tuple(page for page in words.pages() if page in with_some)


def _in_lesson_order(found):
    order = list(words.pages())
    return tuple(sorted(found, key=lambda question: order.index(question.page)))


def _draw(row, seed):
    rng = random.Random(f"{seed}:{row['id']}")
    # random() alone is promised to give the same numbers in every version of Python.
    drawn = {name: values[int(rng.random() * len(values))] for name, values in row["draw"].items()}
    found = getattr(answers, row["id"])(**drawn)
    shown = {name: figure(value) for name, value in {**drawn, **found}.items()}
    return NumberQuestion(
        id=row["id"],
        page=row["page"],
        text=row["text"].format(**shown),
        unit=row["unit"],
        tolerance=row["tolerance"],
        answer=float(found["answer"]),
        worked=tuple(row["worked"].strip().format(**shown).split("\n")),
        slip_answer=float(found["slip"]),
        slip=row["slip"],
        note=row["note"],
        hint=row["hint"],
        edition=row.get("edition", 1),
    )


def _shuffle(row, seed):
    rng = random.Random(f"{seed}:{row['id']}")
    options = [Option(row["right"], True, row["why"])]
    options += [Option(wrong["text"], False, wrong["note"]) for wrong in row["wrong"]]
    options = _in_any_order(options, rng)
    return ChoiceQuestion(
        row["id"], row["page"], row["text"], options, row["hint"], row.get("edition", 1)
    )


def _in_any_order(items, rng):
    return tuple(sorted(items, key=lambda _: rng.random()))


# --- the data and its schema --------------------------------------------------------------------

NUMBER_FIELDS = {
    "id": str,
    "page": str,
    "text": str,
    "unit": str,
    "tolerance": (int, float),
    "worked": str,
    "slip": str,
    "note": str,
    "hint": str,
    "draw": dict,
}
CHOICE_FIELDS = {
    "id": str,
    "page": str,
    "text": str,
    "right": str,
    "why": str,
    "hint": str,
    "wrong": list,
}


@cache
def _number_rows():
    rows = _read("numbers.toml")
    for row in rows:
        validate_number(row)
    return rows


@cache
def _choice_rows():
    rows = _read("choices.toml")
    for row in rows:
        validate_choice(row)
    return rows


def _read(name):
    return files.toml(f"questions/{name}")["question"]


def _validate(row, fields):
    name = row.get("id", "a question without an id")
    if row.keys() - {"edition"} != fields.keys():
        raise ValueError(f"{name}: fields {sorted(row.keys() ^ fields.keys())} missing or unknown")
    if row.get("edition", EDITION) not in range(1, EDITION + 1):
        raise ValueError(f"{name}: an edition is a whole number up to {EDITION}")
    for field, kind in fields.items():
        if not isinstance(row[field], kind) or row[field] == "":
            raise ValueError(f"{name}: {field} is empty or of the wrong kind")
    if row["page"] not in words.pages():
        raise ValueError(f"{name}: no page “{row['page']}”")


def validate_number(row: dict) -> None:
    """ValueError, naming the question, where a row is not as the head of numbers.toml says."""
    _validate(row, NUMBER_FIELDS)
    name, draw = row["id"], row["draw"]
    answer = getattr(answers, name, None) if not name.startswith("_") else None
    if not inspect.isfunction(answer):
        raise ValueError(f"{name}: no function of that name answers it")
    if set(inspect.signature(answer).parameters) != set(draw):
        raise ValueError(f"{name}: what is drawn is not what its answer takes")
    for drawn, values in draw.items():
        if not values or not all(isinstance(value, int | float) for value in values):
            raise ValueError(f"{name}: {drawn} is not a list of numbers")
    used = {field for _, field, _, _ in string.Formatter().parse(row["text"]) if field}
    if used != set(draw):
        raise ValueError(f"{name}: its text must show every drawn number, and nothing else")


def validate_choice(row: dict) -> None:
    """ValueError, naming the question, where a row is not as the head of choices.toml says."""
    _validate(row, CHOICE_FIELDS)
    if not row["wrong"] or any(wrong.keys() != {"text", "note"} for wrong in row["wrong"]):
        raise ValueError(f"{row['id']}: each wrong statement has a text and a note")
    texts = [row["right"], *(wrong["text"] for wrong in row["wrong"])]
    if len(set(texts)) != len(texts):
        raise ValueError(f"{row['id']}: two statements are the same")
