"""A picture: one chart of any page, with all that is shown, sent, saved or asked of it.

A chart is prepared once for its axes and fed new data afterwards, since building one costs ten
times what sending its data does. So a chart is a function of its bounds on *named* data, its
Vega-Lite specification is kept, and a page sends that with the data of the picture.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pandas as pd

from planner.charts.style import INK, PAPER

USUAL = 14  # size of words beside which lines and dots have the size they are drawn with
TYPE = 12  # size of words as charts are drawn
# What grows with the words; a dot's size is its area.
GROWS = {"strokeWidth": 1, "dx": 1, "dy": 1, "size": 2}
OFFSETS = ("datum.dx", "datum.dy")
GUESS = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 2, "aria": False}
ONE_VIEW = ("data", "mark", "encoding")  # what a specification of a single mark has


@dataclass(frozen=True)
class Picture:
    """One chart under its title.

    id: its address, its file's name, its key in the page's style, what questions call it; once
    used it keeps its meaning. chart: makes the Altair chart of `*bounds, dark`. bounds: where its
    axes end and in what unit, and whatever else of the data changes the chart and not only what it
    shows; some of them, whose places `moving` has by name, are parameters of the specification, so
    that an axis can end elsewhere without a new chart. data: named columns, all of one length, by
    the name of each data set of the chart; those of `rows` are its table too. sentences: what shows
    under the pointer, a text a row, by data set; apart, because they are needed at rest only, and
    where a function makes them made when asked for. columns: what of `rows` a person reads, by
    name, each with its heading. alt: the picture in words.

    gives: ids of figures that it would give away. axes: for a figure whose guess can stand on the
    chart, the ends of its axis, in the figure's unit. channel: the axis along which guesses stand.
    """

    id: str
    title: str
    chart: Callable
    bounds: tuple
    data: Mapping[str, Mapping[str, Sequence] | pd.DataFrame]
    columns: Mapping[str, str]
    alt: str
    sentences: Mapping[str, Sequence[str] | Callable] = field(default_factory=dict)
    gives: tuple[str, ...] = ()
    axes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    channel: str = "y"
    moving: Mapping[str, int] = field(default_factory=dict)

    def specification(self, dark: bool) -> dict:
        """Its Vega-Lite specification, without its data."""
        spec, values = _prepared(self.chart, self._held, dark), self.parameters
        if not values:
            return spec
        moved = [
            {**each, "value": values[each["name"]]} if each["name"] in values else each
            for each in spec["params"]
        ]
        return {**spec, "params": moved}

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters of its specification, by name."""
        return {name: self.bounds[place] for name, place in self.moving.items()}

    @property
    def shape(self) -> str:
        """What its specification is, but for its parameters: alike where that can be kept."""
        return f"{self.chart.__module__}.{self.chart.__qualname__}{self._held}"

    @property
    def _held(self):
        """The bounds, 1 for those that are parameters: what they are is written in afterwards."""
        moving = self.moving.values()
        return tuple(1.0 if at in moving else each for at, each in enumerate(self.bounds))

    @cached_property
    def told(self) -> dict[str, Sequence[str]]:
        """The sentences of its rows, by data set."""
        return {name: each() if callable(each) else each for name, each in self.sentences.items()}

    @property
    def datasets(self) -> dict[str, Mapping[str, Sequence] | pd.DataFrame]:
        """Every data set by its name, with the sentences of its rows."""
        found = dict(self.data)
        for name, texts in self.told.items():
            if isinstance(found[name], pd.DataFrame):
                found[name] = found[name].assign(sentence=texts)
            else:
                found[name] = {**found[name], "sentence": texts}
        return found

    @cached_property
    def frames(self) -> dict[str, pd.DataFrame]:
        """Every data set by its name, as a frame. Making one takes longer than what is in it."""
        return {name: pd.DataFrame(columns) for name, columns in self.datasets.items()}

    def table(self) -> pd.DataFrame:
        """The rows behind the chart, in columns that say their unit."""
        return self.frames["rows"][list(self.columns)].rename(columns=self.columns)


@lru_cache(maxsize=256)
def _prepared(chart, held, dark) -> dict:
    """A specification, kept for all values of its parameters."""
    return chart(*held, dark).to_dict()


def by_column(rows: Sequence[tuple], *names: str) -> dict[str, list]:
    """Rows as columns by name; empty ones where there are no rows."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, map(list, columns), strict=True))


def stacked(parts: Sequence[Mapping[str, Sequence]]) -> dict[str, np.ndarray]:
    """Several data sets of the same columns as one, one below the other."""
    return {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}


# --- a specification, changed for who looks at it -----------------------------------------------


def marked(spec: dict, marks: Sequence[Mapping], channel: str, dark: bool) -> dict:
    """A specification with guesses on it: rules across an axis, a text beside each.

    spec is left as it is. marks: rows with `at` and `label`. channel: the axis, x or y.
    """
    layers = spec.get("layer") or [{key: spec[key] for key in ONE_VIEW}]
    rest = {key: value for key, value in spec.items() if key not in ("layer", *ONE_VIEW)}
    at = {channel: {"field": "at", "type": "quantitative"}}
    start = {"y" if channel == "x" else "x": {"value": 4}}
    above = {"dy": 6, "baseline": "top"} if channel == "x" else {"dy": -6}
    text = {"type": "text", "align": "left", "dx": 4, "fontWeight": "bold", "aria": False, **above}
    halo = {"stroke": PAPER[dark], "strokeWidth": 4, "color": PAPER[dark]}
    ink = {"color": INK[dark]}
    encoding = {**at, **start, "text": {"field": "label"}}
    over = [
        {"mark": {**GUESS, **ink}, "encoding": at},
        {"mark": {**text, **halo}, "encoding": encoding},
        {"mark": {**text, **ink}, "encoding": encoding},
    ]
    return {**rest, "layer": [*layers, *({**each, "data": {"values": marks}} for each in over)]}


def fixed(spec: dict, parameters: Mapping[str, float]) -> dict:
    """A specification with its parameters written in, as a part of a larger one must have it."""
    inside = _written(spec, parameters)
    return {name: part for name, part in inside.items() if name != "params"}


def _written(part, values):
    if isinstance(part, list):
        return [_written(each, values) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("expr") in values:
        return values[part["expr"]]
    if "expr" in part and values:
        named = rf"\b({'|'.join(values)})\b"
        return {"expr": re.sub(named, lambda found: str(values[found[0]]), part["expr"])}
    return {name: _written(each, values) for name, each in part.items()}


def enlarged(spec: dict, text: int, height: int) -> dict:
    """A specification in type that is read from the back of a room.

    text: size of words on it. height: how high its plot is to be.
    """
    sizes = {"labelFontSize": text, "titleFontSize": text, "labelLimit": 16 * text}
    config = {"axis": sizes, "legend": sizes, "text": {"fontSize": text}}
    return {
        **_grown(spec, text),
        "height": height,
        "config": {**spec.get("config", {}), **config},
    }


def _grown(part, size):
    """A part of a specification, with lines, dots and distances as much larger as its words.

    So are legends that have a size of their own, and how far words placed by `charts.labels` stand
    from their places.
    """
    if isinstance(part, list):
        return [_grown(each, size) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("expr") in OFFSETS:
        return {"expr": f"{part['expr']} * {size / TYPE:.4g}"}
    part = {name: _grown(each, size) for name, each in part.items()}
    for name, power in GROWS.items():
        if isinstance(part.get(name), int | float):
            part[name] = round(part[name] * (size / USUAL) ** power, 1)
    if isinstance(part.get("strokeDash"), list):
        part["strokeDash"] = [round(each * size / USUAL, 1) for each in part["strokeDash"]]
    if "labelFontSize" in (part.get("legend") or {}):
        part["legend"] = {**part["legend"], "columns": 2, "labelFontSize": size}
    return part
