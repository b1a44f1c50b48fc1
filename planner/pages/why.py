"""Why a cache: multiply-adds per step and summed, with a cache and without."""

from planner.lesson import operations
from planner.pages import learn

STATES = {
    "width 4, 3 steps": {"width": operations.FIRST_WIDTH, "steps": operations.FIRST_STEPS},
    "width 128, 1,000 steps": {"width": operations.LATER_WIDTH, "steps": operations.LATER_STEPS},
}

visit = learn.opened("why")
learn.moved(visit, "steps", "width")
learn.shortcuts(visit, STATES)
learn.closed(visit, learn.shown(visit))
