"""Reads presets/: models, accelerators, engines and named scenarios. Each file is read once."""

import csv
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from planner.accelerator import Accelerator
from planner.engine import Engine, Figure
from planner.model import LayerGroup, Model

FOLDER = Path(__file__).resolve().parent.parent / "presets"


def _rows(name):
    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def models() -> dict[str, Model]:
    """Every model of presets/models.csv by its id, in the order of the file."""
    found = {}
    for row in _rows("models.csv"):
        group = LayerGroup(
            layers=int(row["layers"]),
            query_heads=int(row["query_heads"]),
            kv_heads=int(row["kv_heads"]),
            key_dim=int(row["head_dim"]),
            value_dim=int(row["head_dim"]),
        )
        found[row["id"]] = Model(
            id=row["id"],
            name=row["name"],
            groups=(group,),
            parameters=float(row["parameters"]),
            source=row["source"],
        )
    return found


@cache
def accelerators() -> dict[str, Accelerator]:
    """Every device of presets/accelerators.csv by its id, in the order of the file."""
    numbers = [field.name for field in fields(Accelerator) if field.type is not str]
    found = {}
    for row in _rows("accelerators.csv"):
        figures = {name: float(row[name]) if row[name] else None for name in numbers}
        found[row["id"]] = Accelerator(**{**row, **figures})
    return found


@cache
def engines() -> dict[str, Engine]:
    """Every engine of presets/engines.csv by its id, in the order of the file.

    The file has a row for each figure; what an engine does not state is the ideal engine's.
    """
    kinds = {field.name: field.type for field in fields(Engine)}
    stated = {}
    for row in _rows("engines.csv"):
        values, figures = stated.setdefault(row["engine"], ({}, {}))
        values[row["figure"]] = kinds[row["figure"]](row["value"])
        low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
        figures[row["figure"]] = Figure(low, high, row["kind"], row["source"])
    return {
        id: Engine(id=id, **values, figures=figures) for id, (values, figures) in stated.items()
    }


@dataclass(frozen=True)
class LogLine:
    """A kind of line in a start-up log: whose, which of several to take, and its words.

    The rows' order is their rank: where two name one figure, the upper one counts.
    """

    engine: str
    take: str
    line: str


@cache
def log_lines() -> tuple[LogLine, ...]:
    """Every kind of line of presets/log_lines.csv, in the order of the file."""
    return tuple(LogLine(**row) for row in _rows("log_lines.csv"))


@dataclass(frozen=True)
class Example:
    """A named scenario: its link and the sentence that says what to look at."""

    id: str
    title: str
    query: str
    sentence: str


@cache
def examples() -> tuple[Example, ...]:
    """Every named scenario of presets/scenarios.csv, in the order of the file."""
    return tuple(Example(**row) for row in _rows("scenarios.csv"))
