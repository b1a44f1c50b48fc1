"""What it costs: cache bytes to scale, lever by lever."""

from planner.lesson import views_serving
from planner.pages import learn

visit = learn.opened("cost", views_serving.cost)
learn.moved(visit, "heads", "bits", "window")
learn.closed(visit, learn.shown(visit))
