"""The plan at rest as the stage shows it, worked out once for all who look at the same plan."""

from dataclasses import dataclass
from functools import lru_cache

from planner.charts.picture import Picture
from planner.inputs.scenario import Scenario
from planner.serving import Evaluation, evaluate
from planner.stage import scene
from planner.stage.packed import pack
from planner.stage.scene import Shot

KEPT = 64  # plans, of some 250 kB each: a class that opens one link moves few sliders


@dataclass(frozen=True, eq=False)
class Rest:
    """One plan with its pictures. It is shared: nothing in it may be changed."""

    shot: Shot
    pictures: tuple[Picture, ...]

    @property
    def evaluation(self) -> Evaluation:
        return self.shot.evaluation


@lru_cache(maxsize=KEPT)
def rest(scenario: Scenario) -> Rest:
    """A scenario worked out, with its pictures."""
    shot = scene.shot(evaluate(scenario))
    return Rest(shot, tuple(scene.pictures(shot)))


@lru_cache(maxsize=KEPT)
def sent(scenario: Scenario, hidden: frozenset[str], waiting: frozenset[str]) -> tuple[dict, dict]:
    """What goes to the browser: the film of one stop, and what is told at rest only.

    hidden: ids of figures that a question keeps back. waiting: ids of pictures that wait with them.
    """
    now = rest(scenario)
    film = pack([scene.scene(now.shot, now.pictures, hidden, waiting)])
    return film, scene.at_rest(now.evaluation, now.pictures, hidden, waiting)
