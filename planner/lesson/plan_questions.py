"""Predict first on the Plan page: which of its figures can be asked for, and what shows them."""

from planner.figures import HEADLINES, headlines
from planner.inputs.question import FITS, NOT, Figure, Mark, mark
from planner.serving import Evaluation
from planner.units import GB, TERA

VERDICT = "fits"
ASKABLE = (VERDICT, *(each.headline.id for each in HEADLINES))
SIZES = {"GB": GB, "TB": TERA, "PB": 1e15, "ms": 1e-3, "s": 1, "h": 3600}  # of an axis, in SI


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


def asked(evaluation: Evaluation) -> tuple[Figure, ...]:
    """What can be asked for: the verdict, and the headline figures."""
    fits = FITS if evaluation.fits else NOT
    verdict = Figure(VERDICT, "Fits or not", fits, options=(FITS, NOT))
    return (verdict, *headlines(evaluation))


def marks(evaluation: Evaluation, chart: str, guesses, most=0.0, unit="GB") -> tuple[Mark, ...]:
    """Where guesses stand on a chart's axis, which runs from 0 to `most` in a unit.

    On the memory chart a guessed cache begins where the weights end.
    """
    stands = {}
    if chart in ("memory", "engine_memory"):
        stands = {"weights": 0, "cache": evaluation.plan.device_weights_bytes}
    elif chart in ("latency", "engine_latency", "step", "engine_step"):
        stands = {"step": 0}
    elif chart == "engine_first":
        stands = {"first": 0}
    sizes = {each.headline.id: each.headline.size for each in HEADLINES}
    axis = SIZES.get(unit, 1)
    return tuple(
        mark(guesses[name] * sizes[name] / axis, 0, most, start / axis)
        for name, start in stands.items()
        if name in guesses
    )
