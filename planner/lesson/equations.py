"""The equations to drag: every factor in its place, and what the result would be at each stop.

The browser has no formula. For each factor it is given a row of stops with the text and the bars
that belong to each, all other factors as they are, and shows those while a factor is dragged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner import describe, formulas
from planner.charts.axes import ceiling
from planner.inputs.scenario import Scenario
from planner.lesson import levers
from planner.lesson.states import PAGES
from planner.lesson.view import Scene
from planner.plan import plan
from planner.units import GB

STOPS = {
    "layers": (1, 2, 4, 8, 16, 24, 28, 32, 40, 48, 64, 80, 96, 126),
    "heads": (1, 2, 4, 8, 16, 32),
    "dim": (16, 32, 64, 96, 128, 192, 256, 512),
    "bits": (4, 8, 16),
    "context": (128, 256, 512, 1000, 2048, 4096, 8192, 16_384, 32_000, 65_536, 128_000),
    "concurrency": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    "bandwidth": (100, 200, 400, 800, 1000, 1600, 2000, 3350, 4800, 8000),
}
PAST_END = 1.25  # a bar's axis ends so much beyond what is shown when a drag begins


@dataclass(frozen=True)
class Outcome:
    """What an equation comes to: a text, and bars of a label, a text and parts by colour's name."""

    result: str
    bars: tuple[tuple[str, str, Mapping[str, float]], ...]

    @property
    def longest(self):
        return max(sum(parts.values()) for _, _, parts in self.bars)

    def data(self):
        return {
            "result": self.result,
            "bars": [{"label": a, "text": b, "parts": dict(parts)} for a, b, parts in self.bars],
        }


@dataclass(frozen=True)
class Fixed:
    """A part of an equation that stays as it is."""

    text: str
    label: str = ""

    def data(self):
        return {"text": self.text, "label": self.label}


@dataclass(frozen=True)
class Factor:
    """A part that can be dragged over stops, each with its text and outcome. now: the present."""

    parameter: str
    label: str
    stops: Sequence[int]
    texts: Sequence[str]
    outcomes: Sequence[Outcome]
    now: int

    @property
    def text(self):
        return self.texts[self.now]

    def data(self):
        found = zip(self.stops, self.texts, self.outcomes, strict=True)
        return {
            "parameter": self.parameter,
            "label": self.label,
            "at": self.now,
            "stops": [{"value": stop, "text": text, **each.data()} for stop, text, each in found],
        }


def factor(
    parameter: str, label: str, values: Mapping, outcomes: Callable, text=describe.whole
) -> Factor:
    """The factor of one parameter of a page, with its present value among its stops.

    outcomes: (parameter, stops) -> what the equation comes to at each; text: a stop in words.
    """
    now = int(values[parameter])
    stops = sorted({*STOPS[parameter], now})
    texts = [text(stop) for stop in stops]
    return Factor(parameter, label, stops, texts, outcomes(parameter, stops), stops.index(now))


def scene(title: str, parts: Sequence[Fixed | Factor], now: Outcome, unit: str, gives) -> Scene:
    """An equation as the component `equation` shows it. now: what it comes to at present."""
    return Scene(
        "equation",
        title,
        {
            "parts": [part.data() for part in parts],
            **now.data(),
            "unit": unit,
            "most": ceiling(PAST_END * now.longest),
        },
        f"{' '.join(part.text for part in parts)} = {now.result}.",
        gives,
    )


# --- what it costs ------------------------------------------------------------------------------


def cache_bytes(values, gives) -> Scene:
    """2 × layers × heads × dimension × bytes × tokens × requests, and the weights beside it."""
    lever = levers.chosen(values)

    def outcomes(name, stops):
        kind = type(values[name])
        return [_cache({**values, name: kind(stop)}) for stop in stops]

    def one(parameter, label, text=describe.whole):
        return factor(parameter, label, values, outcomes, text)

    if lever.heads is None:
        vectors = [Fixed(f"{levers.LATENT_WIDTH}", "one latent, numbers in it")]
    else:
        vectors = [one("heads", "key-value heads"), one("dim", "head dimension")]
    kept = "tokens" if lever.window is None else "tokens kept"
    factors = [
        *([Fixed("2", "key and value")] if lever.heads else []),
        one("layers", "layers"),
        *vectors,
        one("bits", "bytes a number", lambda bits: f"{bits / 8:g}"),
        one("context", kept, lambda tokens: describe.whole(lever.kept(tokens))),
        one("concurrency", "requests"),
    ]
    parts = [part for each in factors for part in (Fixed("×"), each)][1:]
    return scene("Cache bytes, factor by factor", parts, _cache(values), "GB", gives)


def _cache(values):
    cache = formulas.load_cache_bytes(
        float(levers.chosen(values).request_bytes(values["context"])), values["concurrency"]
    )
    bars = [("cache", describe.data(cache), {"cache": cache / GB})]
    if is_lesson_s(values):
        weights = plan(Scenario(levers.BASE)).weights_bytes
        bars.append(("weights", describe.data(weights), {"weights": weights / GB}))
    return Outcome(describe.data(cache), tuple(bars))


def is_lesson_s(values) -> bool:
    """Whether layers and head dimension are those of the lesson's 7B model."""
    return all(values[name] == PAGES["cost"][name][1] for name in ("layers", "dim"))


# --- slower as it talks -------------------------------------------------------------------------


def step_seconds(scenario: Scenario, gives) -> Scene:
    """(W + bytes a token × tokens × requests) ÷ BW for MHA, and GQA's bar beside it."""
    values = {name: getattr(scenario, name) for name in ("context", "concurrency", "bandwidth")}

    def outcomes(name, stops):
        return _steps(scenario, **{name: np.array(stops, float)})

    def one(parameter, label):
        return factor(parameter, label, values, outcomes)

    own = plan(scenario)
    parts = [
        Fixed("("),
        Fixed(describe.data(own.weights_bytes), "weights W"),
        Fixed("+"),
        Fixed(f"{describe.whole(own.cache_bytes_per_token)} bytes", "cache a token, MHA"),
        Fixed("×"),
        one("context", "tokens n"),
        Fixed("×"),
        one("concurrency", "requests"),
        Fixed(")"),
        Fixed("÷"),
        one("bandwidth", "GB/s of bandwidth BW"),
    ]
    (now,) = _steps(scenario, context=np.array([scenario.context], float))
    return scene("Time of a step: (W + C) ÷ BW", parts, now, "ms", gives)


def _steps(scenario, **varied):
    """What a step comes to for each of the values of one number: MHA, and GQA beside it."""
    (given,) = varied.values()
    columns = []
    for name, model in (("MHA", "lesson-7b-mha"), ("GQA", "lesson-7b-gqa")):
        own = plan(replace(scenario, model=model), **varied)
        seconds = (own.decode_step_s, own.weights_read_s, own.cache_read_s)
        rows = zip(*(np.broadcast_to(part, given.shape).tolist() for part in seconds), strict=True)
        columns.append([_step_bar(name, *row) for row in rows])
    return [
        Outcome(describe.duration(sum(mha[2].values()) / 1e3), (mha, gqa))
        for mha, gqa in zip(*columns, strict=True)
    ]


def _step_bar(name, step_s, weights_s, cache_s):
    text = f"{describe.duration(step_s)}, {describe.rate(1 / step_s)}"
    return name, text, {"weights": 1e3 * weights_s, "cache": 1e3 * cache_s}
