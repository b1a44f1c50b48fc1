"""Reads presets/: models, accelerators, engines and named scenarios. Each file is read once."""

from dataclasses import dataclass, fields, replace
from functools import cache

from planner.engines.memory import Engine, Figure
from planner.files import rows
from planner.hardware.accelerator import Accelerator
from planner.models import drafting
from planner.models.model import Model
from planner.models.notation import PREFIX, model_from_text, shorten
from planner.models.precision import CacheFormat, WeightFormat


@cache
def models() -> dict[str, Model]:
    """Every model of presets/models.csv by its id, in the order of the file."""
    return {
        row["id"]: replace(model_from_text(row["model"]), id=row["id"], source=row["source"])
        for row in rows("models.csv")
    }


def model(choice: str) -> Model:
    """A preset by its id, or the model that a notation states. ValueError where it is neither."""
    if isinstance(choice, str) and choice.startswith(PREFIX):
        found = model_from_text(choice)
        weight_format(found.dtype)
        return found
    return _known(models(), choice)


def draft_model(choice: str) -> Model | None:
    """The model that drafts, by its id or notation; None where it is a part of the model itself.

    ValueError where it is neither.
    """
    return None if choice in drafting.NAMES else model(choice)


@cache
def accelerators() -> dict[str, Accelerator]:
    """Every device of presets/accelerators.csv by its id, in the order of the file."""
    numbers = [field.name for field in fields(Accelerator) if field.type is not str]
    rates = {row["id"]: row["vector_tflops"] for row in rows("vector_rates.csv")}
    found = {}
    for row in rows("accelerators.csv"):
        row["vector_tflops"] = rates.get(row["id"], "")
        figures = {name: float(row[name]) if row[name] else None for name in numbers}
        found[row["id"]] = Accelerator(**{**row, **figures})
    return found


def accelerator(choice: str) -> Accelerator:
    """A device by its id. ValueError where there is none such."""
    return _known(accelerators(), choice)


def engine(choice: str) -> Engine:
    """An engine by its id. ValueError where there is none such."""
    return _known(engines(), choice)


def weight_format(choice: str) -> WeightFormat:
    """A format of weights by its id. ValueError where there is none such."""
    return _known(weight_formats(), choice)


def cache_format(choice: str) -> CacheFormat:
    """A format of keys and values by its id. ValueError where there is none such."""
    return _known(cache_formats(), choice)


def _known(presets, choice):
    if choice not in presets:
        raise ValueError(f"“{shorten(str(choice))}” is not known")
    return presets[choice]


@cache
def weight_formats() -> dict[str, WeightFormat]:
    """Every format of weights in presets/precisions.csv by its id, in the order of the file."""
    return _formats("weights", WeightFormat)


@cache
def cache_formats() -> dict[str, CacheFormat]:
    """Every format of keys and values in presets/precisions.csv by its id, likewise."""
    return _formats("cache", CacheFormat)


def caches_of(model: Model) -> dict[str, CacheFormat]:
    """The formats in which a model's keys and values can be stored, by their ids."""
    widths = {0, *(group.key_dim for group in model.groups if not group.value_dim)}
    return {id: each for id, each in cache_formats().items() if each.latent_dim in widths}


def _formats(use, kind):
    found = {}
    for row in rows("precisions.csv"):
        if row["use"] != use:
            continue
        row["bits"] = row["body_bits"]
        values = {
            field.name: float(row[field.name]) if field.type is float else row[field.name]
            for field in fields(kind)
        }
        found[row["id"]] = kind(**values)
    return found


@cache
def engines() -> dict[str, Engine]:
    """Every engine of presets/engines.csv by its id, in the order of the file.

    The file has a row for each figure; what an engine does not state is the ideal engine's.
    """
    kinds = {field.name: field.type for field in fields(Engine)}
    stated = {}
    for row in rows("engines.csv"):
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
    return tuple(LogLine(**row) for row in rows("log_lines.csv"))


@dataclass(frozen=True)
class Example:
    """A named scenario or comparison: its link and the sentence that says what to look at.

    start: for whom it is a starting point, in words; “” where it is none.
    """

    id: str
    title: str
    query: str
    sentence: str
    start: str = ""


@cache
def examples() -> tuple[Example, ...]:
    """Every named scenario of presets/scenarios.csv, in the order of the file."""
    return tuple(Example(**row) for row in rows("scenarios.csv"))


@cache
def comparisons() -> tuple[Example, ...]:
    """Every named comparison of presets/comparisons.csv, in the order of the file."""
    return tuple(Example(**row) for row in rows("comparisons.csv"))
