"""Predict first on the Plan page: which of its figures can be asked for, and what shows them.

Figures keep the labels and texts of `planner.answer`; one that the table below does not name is
shown like any other and cannot be asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass

from planner import answer
from planner.inputs.question import FITS, NOT, Figure, Mark, mark
from planner.serving import Served
from planner.units import GB, TERA

VERDICT = "fits"
MS = 1e-3
SIZES = {"GB": GB, "TB": TERA, "PB": 1e15, "ms": MS, "s": 1, "h": 3600}  # of an axis, in SI


@dataclass(frozen=True)
class Asked:
    """A figure of the Plan page by its label: its unit in a guess, that unit's size, its value."""

    id: str
    unit: str
    size: float
    value: Callable[[Served], float]
    also: tuple[str, ...] = ()


BY_LABEL = {
    "Weights": Asked("weights", "GB", GB, lambda served: served.plan.weights_bytes),
    "Cache": Asked("cache", "GB", GB, lambda served: served.plan.cache_bytes),
    "Cache per token": Asked("token", "kB", 1e3, lambda served: served.plan.cache_bytes_per_token),
    "Time per token": Asked("step", "ms", MS, lambda served: served.token_s.value, also=("total",)),
    "First token": Asked("first", "ms", MS, lambda served: served.first_token_value_s),
    "All, tokens/s": Asked("total", "", 1, lambda served: served.all_per_s.value, also=("step",)),
}
ASKABLE = (VERDICT, *(each.id for each in BY_LABEL.values()))
# chart -> the figures that it would give away
GIVES = {
    "memory": ("weights", "cache", "token", VERDICT),
    "engine_memory": ("weights", "cache", "token", VERDICT),
    "devices": ("weights", "cache", "token", VERDICT),
    "latency": ("step", "total", VERDICT),
    "engine_latency": ("step", "total", VERDICT),
    "fit": (VERDICT, "token", "cache"),
    "step": ("step", "total", "weights", "cache"),
    "engine_step": ("step", "total", "weights", "cache"),
    "engine_first": ("first",),
    "experts": ("weights",),
}


def figures(served: Served) -> tuple[Figure, ...]:
    """The headline figures with what is needed to ask for them, and the verdict."""
    fits = FITS if answer.fits(served) else NOT
    found = [Figure(VERDICT, "Fits or not", fits, options=(FITS, NOT), also=())]
    for label, text, _, explained in answer.figures(served):
        asked = BY_LABEL.get(label)
        if asked is None:
            found.append(Figure(label, label, text, explained))
        else:
            value = float(asked.value(served)) / asked.size
            found.append(
                Figure(asked.id, label, text, explained, value, asked.unit, (), asked.also)
            )
    return tuple(found)


def marks(served: Served, chart: str, guesses, most=0.0, unit="GB") -> tuple[Mark, ...]:
    """Where guesses stand on a chart's axis, which runs from 0 to `most` in a unit.

    On the memory chart a guessed cache begins where the weights end.
    """
    stands = {}
    if chart in ("memory", "engine_memory"):
        stands = {"weights": 0, "cache": served.plan.device_weights_bytes}
    elif chart in ("latency", "engine_latency", "step", "engine_step"):
        stands = {"step": 0}
    elif chart == "engine_first":
        stands = {"first": 0}
    sizes, axis = {each.id: each.size for each in BY_LABEL.values()}, SIZES.get(unit, 1)
    return tuple(
        mark(guesses[name] * sizes[name] / axis, 0, most, start / axis)
        for name, start in stands.items()
        if name in guesses
    )
