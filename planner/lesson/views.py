"""What each Learn page shows, by the page: its values in, its view out."""

from collections.abc import Callable, Mapping

from planner.lesson import (
    views_attention,
    views_memory,
    views_practice,
    views_proof,
    views_serving,
)
from planner.lesson.view import View

VIEWS: dict[str, Callable[[Mapping], View]] = {
    "why": views_attention.why,
    "stored": views_attention.what_is_stored,
    "past": views_proof.edit_the_past,
    "proof": views_proof.proof,
    "phases": views_serving.phases,
    "cost": views_serving.cost,
    "managing": views_memory.managing,
    "speed": views_memory.speed,
    "fit": views_practice.fit,
    "knee": views_practice.find_the_knee,
}


def of(page: str, values: Mapping) -> View:
    """What a page shows for its values; nothing where it has words alone."""
    return VIEWS[page](values) if page in VIEWS else View((), ())
