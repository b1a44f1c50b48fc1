"""Films: the stage at each of a slider's stops, worked out at once and kept for whoever asks next.

A film covers `STOPS_A_FILM` neighbouring stops of one slider, and depends on all else of a
scenario, not on where the slider stands: a class that opens one link asks for the same films.
"""

import gzip
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from planner import ways
from planner.charts.axes import CONCURRENCIES, CONTEXTS
from planner.charts.labelled import Labelled, pair
from planner.figures import BY_KEY
from planner.inputs.scenario import Scenario
from planner.serving import Evaluation, evaluate
from planner.stage import cut
from planner.stage.packed import pack
from planner.stage.scene import Shot, pictures, scene
from planner.stage.stops import STOPS

STOPS_A_FILM = 16
KEPT = 256  # films, of some 20 kB each


@dataclass(frozen=True, eq=False)
class Still(Labelled):
    """One plan of many that were worked out at once, its sweeps too.

    along: over the contexts of its line. frontier: its longest contexts at the concurrencies of its
    map.
    """

    along: Evaluation | None = None
    frontier: np.ndarray | None = None

    def swept(self, **_):
        return self.along

    def longest_at(self, concurrency):
        return self.frontier


def film(scenario: Scenario, slider: str, part: int) -> dict:
    """The stage at the stops of one part of a slider, packed; ValueError where there is no such."""
    start = part * STOPS_A_FILM
    own = STOPS.get(slider, [])[start : start + STOPS_A_FILM]
    if start < 0 or not own:
        raise ValueError(f"there is no part {part} of a slider “{slider}”")
    shots = shots_of(scenario, slider, own)
    return {"stops": own, **pack([scene(each, pictures(each)) for each in shots])}


def shots_of(scenario: Scenario, slider: str, stops: list[float]) -> list[Shot]:
    """The plans at some stops of a slider, with all that their scenes need, worked out at once."""
    values = np.array(stops, float)
    scenarios = [replace(scenario, **{slider: each}) for each in stops]
    whole = evaluate(scenario, **{slider: values})
    whole.max_context_tokens  # noqa: B018  worked out for all, and kept
    plans = _cut(whole, scenarios)
    most = cut.apart(BY_KEY["max_concurrency"].band(whole), cut.stops(len(stops)), len(stops))
    remedies = _remedies(scenario, slider, values, np.broadcast_to(whole.fits, values.shape))

    first_own, first_shown = pair(plans[0])
    columns = [
        _stills(each, plans if each is first_own else None, slider, values, scenarios)
        for each in first_shown
    ]
    own = first_shown.index(first_own)
    rows = zip(plans, zip(*columns, strict=True), most, remedies, strict=True)
    return [Shot(plan, shown[own], list(shown), *rest) for plan, shown, *rest in rows]


def _cut(whole, scenarios):
    """An evaluation over the stops as one each."""
    found = cut.apart(whole, cut.stops(len(scenarios)), len(scenarios))
    return [_as_of(each, scenario) for each, scenario in zip(found, scenarios, strict=True)]


def _as_of(evaluation: Evaluation, scenario: Scenario) -> Evaluation:
    """An evaluation as of another scenario, what it has worked out kept."""
    return cut.copied(evaluation, plan=cut.copied(evaluation.plan, scenario=scenario))


def _remedies(scenario, slider, values, fits):
    """What would make each stop fit; None where it does."""
    found = [None] * len(values)
    short = np.flatnonzero(~fits)
    if len(short):
        varied = {slider: values[short]}
        whole = ways.remedies(evaluate(scenario, **varied), **varied)
        parts = cut.apart(whole, cut.stops(len(short)), len(short))
        for place, each in zip(short, parts, strict=True):
            found[place] = each
    return found


def _stills(each, plans, slider, values, scenarios):
    """One plan of a picture at every stop. plans: where they are worked out already."""
    own = [replace(each.scenario, **{slider: getattr(one, slider)}) for one in scenarios]
    if plans is None:
        whole = evaluate(each.scenario, **{**each.changes, slider: values})
        whole.max_context_tokens  # noqa: B018
        plans = _cut(whole, own)
    lines = _lines(each, slider, values)
    frontiers = _frontiers(each, slider, values)
    return [
        Still(each.label, plan, each.changes, each.ink, each.bar, each.line, along, frontier)
        for plan, along, frontier in zip(plans, lines, frontiers, strict=True)
    ]


def _lines(each, slider, values):
    """The sweep over the contexts of one plan's line, at every stop."""
    count = len(values)
    if slider == "context":
        contexts = np.union1d(CONTEXTS, values)
        places = [np.searchsorted(contexts, np.union1d(CONTEXTS, stop)) for stop in values]
        return cut.apart(each.swept(context=contexts), cut.chosen(places, len(contexts)), count)
    contexts = np.union1d(CONTEXTS, each.scenario.context)[None]
    whole = each.swept(**{slider: values[:, None], "context": contexts})
    return cut.apart(whole, cut.grid(count), count)


def _frontiers(each, slider, values):
    """The longest contexts of one plan at the concurrencies of its map, at every stop."""
    if slider == "concurrency":
        counts = np.union1d(CONCURRENCIES, values)
        most = each.longest_at(counts)
        places = [np.searchsorted(counts, np.union1d(CONCURRENCIES, stop)) for stop in values]
        return [most[place] for place in places]
    counts = np.union1d(CONCURRENCIES, each.scenario.concurrency)
    if slider != "memory":  # the only other number that it depends on
        return [each.longest_at(counts)] * len(values)
    return list(each.longest_at(counts[None], memory=values[:, None]))


# --- kept -----------------------------------------------------------------------------------------


class Films:
    """Films as they are sent, compressed; the least asked for goes first."""

    def __init__(self, most: int = KEPT):
        self.most, self._kept, self._lock = most, OrderedDict(), threading.Lock()

    def of(self, scenario: Scenario, slider: str, part: int) -> bytes:
        """A film as compressed JSON, the same wherever its slider stands; ValueError as `film`."""
        stops = STOPS.get(slider)
        if not stops:
            raise ValueError(f"there is no slider “{slider}”")
        key = replace(scenario, **{slider: stops[0]}), slider, part
        with self._lock:  # one at a time: who asks for the same meanwhile need not work it out
            if key not in self._kept:
                text = json.dumps(film(*key), allow_nan=False, separators=(",", ":"))
                self._kept[key] = gzip.compress(text.encode(), 5)
                if len(self._kept) > self.most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]


FILMS = Films()
