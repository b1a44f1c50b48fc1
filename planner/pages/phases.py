"""Two phases: prefill and decode under the roof, and one request in time."""

from planner.lesson import views_serving
from planner.pages import learn

visit = learn.opened("phases", views_serving.phases)
learn.moved(visit, "batch", "prompt")
learn.closed(visit, learn.shown(visit))
