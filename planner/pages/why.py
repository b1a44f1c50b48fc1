"""Why a cache: the work of each step and of all, with a cache and without."""

from planner.lesson import views_attention
from planner.pages import learn

visit = learn.opened("why", views_attention.why)
learn.moved(visit, "steps", "width", "axes")
learn.closed(visit, learn.shown(visit))
