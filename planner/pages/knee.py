"""Find the knee: how far a batch is nearly free, predicted, and measured by those who published."""

from planner.pages import learn

visit = learn.opened("knee")
learn.moved(visit, "batch", "series", "dots")
learn.closed(visit, learn.shown(visit))
