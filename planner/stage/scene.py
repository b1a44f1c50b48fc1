"""Evaluation -> scene: all that the stage shows of one plan, as plain data, every number in words.

The browser draws a scene and works nothing out. One at rest and one of a film are made here alike:
a `Shot` holds what the words and pictures need, worked out for one plan or cut from many at once.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from planner import answer, describe, explain, ways
from planner.charts import bars, of_plan
from planner.charts.labelled import Labelled, pair
from planner.charts.picture import Picture
from planner.figures import BY_KEY
from planner.inputs.question import HIDDEN
from planner.latency.estimate import Band
from planner.serving import Evaluation
from planner.ways import Remedies

TIGHT = 0.95  # of the memory, from where a load fits by a hair
OPEN = "open"  # the state while the answer waits for a guess


@dataclass(frozen=True, eq=False)
class Shot:
    """One plan, with what a scene needs besides. shown: it and what it is held against, `own` of
    them itself. remedies: None where it fits. most: its most requests, with their band.
    """

    evaluation: Evaluation
    own: Labelled
    shown: list[Labelled]
    most: Band
    remedies: Remedies | None


def shot(evaluation: Evaluation) -> Shot:
    """A plan at rest."""
    remedies = None if evaluation.fits else ways.remedies(evaluation)
    return Shot(evaluation, *pair(evaluation), BY_KEY["max_concurrency"].band(evaluation), remedies)


# --- figures --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """A figure of the stage. id: as questions call it, or its own. gives: the figures of a question
    that it would give away. label, help: its own, where the table of figures has none.
    """

    key: str
    id: str = ""
    gives: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    help: Callable[[Evaluation], str] | None = None

    @property
    def name(self) -> str:
        return self.id or BY_KEY[self.key].headline.id

    def kept(self, hidden: frozenset[str]) -> bool:
        """Whether a question keeps it back."""
        return not hidden.isdisjoint(self.gives or (self.name,))

    def shown(self, shot: Shot, hidden: frozenset[str]) -> dict:
        """The figure in words: its band and where in it it stands; only its label while hidden."""
        definition, name = BY_KEY[self.key], self.name
        label = self.label or definition.headline.label
        if self.kept(hidden):
            return {"id": name, "label": label, "value": HIDDEN, "note": "", "at": None}
        evaluation = shot.evaluation
        band = shot.most if self.key == "max_concurrency" else definition.band(evaluation)
        known = math.isfinite(band.value)
        if math.isnan(band.value):
            value = describe.between(band.low, band.high, definition.unit)
        else:
            value = definition.text(band.value)
        note = definition.note(evaluation) if evaluation.ideal or not definition.calibrated else ""
        if not note:
            note = describe.between(band.low, band.high, definition.unit)
            note = note or definition.engine_origin(evaluation)[0]
        wide = known and math.isfinite(band.high) and band.high > band.low
        at = float(f"{(band.value - band.low) / (band.high - band.low):.3g}") if wide else None
        return {"id": name, "label": label, "value": value + self.unit, "note": note, "at": at}

    def helped(self, evaluation: Evaluation) -> str:
        """What the figure consists of, and how sure it is."""
        return (self.help or BY_KEY[self.key].headline.help)(evaluation)


def _speed_help(evaluation):
    return "Tokens per second that each running request gets: one over the time per output token."


def _most_help(evaluation):
    context = describe.whole(evaluation.plan.context_tokens)
    return f"The most requests of {context} tokens that fit at once."


LEAD = (
    Card("tokens_per_s_per_request", "speed", ("step", "total"), "Speed per user", " tokens/s",
         _speed_help),
    Card("first_token_s"),
    Card("max_concurrency", "most", ("fits", "weights", "cache", "token"),
         "Max concurrent requests", help=_most_help),
    Card("tokens_per_s_total"),
)  # fmt: skip
QUIET = tuple(map(Card, ("decode_step_s", "weights_bytes", "cache_bytes", "cache_bytes_per_token")))


# --- the whole ------------------------------------------------------------------------------------


def scene(
    shot: Shot, pictures: Iterable[Picture], hidden: frozenset[str] = frozenset(), waiting=()
) -> dict:
    """All of the stage at one plan. Texts are texts; columns of numbers are arrays, 32 bits each.

    hidden: ids of figures that a question keeps back. waiting: ids of pictures that wait with them.
    """
    evaluation = shot.evaluation
    return {
        **_verdict(shot, bool(hidden)),
        "inputs": describe.inputs(evaluation.plan),
        "sure": "" if hidden else explain.certainty(evaluation),
        "meter": None if hidden else meter(evaluation),
        "cards": [card.shown(shot, hidden) for card in LEAD],
        "quiet": [card.shown(shot, hidden) for card in QUIET],
        # Figures hold for those that run; by counting alone for a load that does not fit.
        "dim": bool(not hidden and not evaluation.fits),
        "charts": [_chart(picture, picture.id in waiting) for picture in pictures],
    }


def pictures(shot: Shot) -> Iterable[Picture]:
    """The pictures of a plan, with what it is held against as it was worked out already."""
    return of_plan.pictures(shot.evaluation, (shot.own, shot.shown))


def _verdict(shot, hidden):
    evaluation = shot.evaluation
    if hidden:
        return {
            "state": OPEN,
            "title": "What do you expect?",
            "detail": "The answer shows once you have guessed.",
            "ways": [],
        }
    title, detail = answer.stated(evaluation)
    detail = " ".join(filter(None, [detail, answer.what_runs(evaluation)]))
    found = ways.ways(evaluation, shot.remedies) if shot.remedies else []
    out = [{"text": each.text, "changes": dict(each.changes)} for each in found]
    return {"state": _state(evaluation), "title": title, "detail": detail, "ways": out}


def _state(evaluation):
    if not evaluation.fits:
        return "not"
    needs, limit = bars.memory_parts(evaluation)
    return "tight" if sum(needs.values()) > TIGHT * limit else "fits"


def meter(evaluation: Evaluation) -> dict:
    """How full the fullest device is: its parts as shares of the bar, and in words."""
    needs, limit = bars.memory_parts(evaluation)
    needed = sum(needs.values())
    whole = max(needed, limit)
    laid = bars.end_to_end(needs, limit)
    parts = [
        {"id": part.replace(" ", "-"), "share": _short((high - low) / whole)}
        for part, (low, high) in laid.items()
        if part != "free"
    ]
    legend = [
        {"id": part, "text": f"{part} {describe.data(size)}"}
        for part, size in needs.items()
        if size
    ]
    full = f"{describe.significant(100 * needed / limit)} %" if limit > 0 else "no room"
    of = f"{describe.data(needed)} of {describe.data(max(limit, 0))}: {full}"
    return {"parts": parts, "end": _short(limit / whole), "legend": legend, "text": of}


def _short(share):
    """A share of a bar, to a hundredth of a per cent, which no screen shows."""
    return round(float(share), 4)


def _chart(picture, waits):
    if waits:
        return {"id": picture.id, "title": picture.title, "waits": True}
    return {
        "id": picture.id,
        "title": picture.title,
        "waits": False,
        "shape": picture.shape,
        "parameters": {name: float(value) for name, value in picture.parameters.items()},
        "data": {name: _columns(columns) for name, columns in picture.data.items()},
    }


def _columns(columns: Mapping) -> dict:
    return {name: _column(values) for name, values in columns.items()}


def _column(values):
    """A column of numbers as an array of 32 bits; one of texts as a list."""
    if isinstance(values, np.ndarray):
        return values.tolist() if values.dtype.kind in "US" else values.astype(np.float32)
    if values and not isinstance(values[0], str):
        return np.array(values, np.float32)
    return list(values)


def at_rest(
    evaluation: Evaluation,
    pictures: Iterable[Picture],
    hidden: frozenset[str] = frozenset(),
    waiting=(),
) -> dict:
    """What is told of a plan at rest only: what figures consist of, and what charts say in words,
    as a whole and under the pointer. hidden, waiting: as `scene` takes them."""
    seen = [picture for picture in pictures if picture.id not in waiting]
    open_ = [card for card in (*LEAD, *QUIET) if not card.kept(hidden)]
    return {
        "help": {card.name: card.helped(evaluation) for card in open_},
        "alt": {picture.id: picture.alt for picture in seen},
        "sentences": {picture.id: picture.told for picture in seen},
    }
