"""Predict first on the Plan page: which of its figures can be asked for, and what shows them.

Figures keep the labels and texts of `planner.words`; one that the table below does not name is
shown like any other and cannot be asked for.
"""

from dataclasses import dataclass

from planner import words
from planner.accelerator import GB
from planner.plan import Plan
from planner.question import FITS, NOT, Figure, Mark, mark

VERDICT = "fits"
MS = 1e-3


@dataclass(frozen=True)
class Asked:
    """A figure of the Plan page by its label: its unit in a guess, that unit's size, its value."""

    id: str
    unit: str
    size: float
    value: str
    also: tuple[str, ...] = ()


BY_LABEL = {
    "Weights": Asked("weights", "GB", GB, "weights_bytes"),
    "Cache": Asked("cache", "GB", GB, "cache_bytes"),
    "Cache per token": Asked("token", "kB", 1e3, "cache_bytes_per_token"),
    "Time per token": Asked("step", "ms", MS, "decode_step_s", also=("total",)),
    "First token": Asked("first", "ms", MS, "ttft_s"),
    "All requests": Asked("total", "tok/s", 1, "tokens_per_s_total", also=("step",)),
}
# chart -> the figures that it would give away
GIVES = {
    "memory": ("weights", "cache", "token", VERDICT),
    "latency": ("step", "total", VERDICT),
    "fit": (VERDICT, "token", "cache"),
    "step": ("step", "total", "weights", "cache"),
}
CHANNEL = {"memory": "x", "latency": "y", "step": "x"}


def figures(plan: Plan) -> tuple[Figure, ...]:
    """The headline figures with what is needed to ask for them, and the verdict."""
    found = [
        Figure(VERDICT, "Fits or not", FITS if plan.fits else NOT, options=(FITS, NOT), also=())
    ]
    for label, text, explained in words.figures(plan):
        asked = BY_LABEL.get(label)
        if asked is None:
            found.append(Figure(label, label, text, explained))
        else:
            value = float(getattr(plan, asked.value)) / asked.size
            found.append(
                Figure(asked.id, label, text, explained, value, asked.unit, (), asked.also)
            )
    return tuple(found)


def marks(plan: Plan, chart: str, guesses, most: float) -> tuple[Mark, ...]:
    """Where guesses stand on a chart's axis, which runs from 0 to `most`.

    On the memory chart a guessed cache begins where the weights end.
    """
    stands = {}
    if chart == "memory":
        stands = {"weights": 0, "cache": plan.weights_bytes / GB}
    elif chart in ("latency", "step"):
        stands = {"step": 0}
    return tuple(
        mark(guesses[name], 0, most, start) for name, start in stands.items() if name in guesses
    )
