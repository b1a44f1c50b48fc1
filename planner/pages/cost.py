"""What it costs: cache bytes to scale, lever by lever."""

from planner.pages import learn

visit = learn.opened("cost")
learn.moved(visit, "heads", "bits", "window")
asked = learn.shown(visit, learn.measures("cost"))
learn.closed(visit, asked)
